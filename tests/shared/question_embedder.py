"""An embedder of questions for the hybrid retriever, without a model."""

from __future__ import annotations

import numpy as np
import torch


class Embedder:
    """Embeds all questions as one vector `[8]`, or each as a vector of its own."""

    digest = "b" * 64
    dense_weight = None

    def __init__(self, vector=None):
        self.query = self.tokenizer = self  # as far as a model is asked for its vocabulary
        self.vector = vector

    def loaded(self):
        return self

    def question_vector(self, question):
        own = np.random.default_rng(len(question)).normal(size=8)
        vector = own if self.vector is None else self.vector
        return torch.from_numpy(vector.astype(np.float32))

    def is_whole(self, word):
        return word == "notize"

    def knows(self, texts):
        return False
