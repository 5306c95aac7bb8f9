"""All texts of a run, tokenised once, and their vectors under the weights of the moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

import numpy as np
from accelerate import Accelerator
from torch import Tensor

from components.models.biencoder import BiEncoder
from components.models.devices import resolve_dtype
from components.models.encoding import TextEncoder, TokenBudget, encode_tokenized
from components.models.tower import Passages
from components.statutes.article import indexed_text
from components.statutes.question import Question
from training.data import TrainingData
from training.frozen_states import FrozenStates
from training.gradients import Side
from training.learner import Vectors
from training.processes import gather, share

# Training keeps activations: on a CPU larger pieces than encoding's pay for the gradients' sums.
_TRAINING_TOKENS = {"cpu": 2_048, "cuda": 65_536}
_DEFAULT_TRAINING_TOKENS = 8_192
_ARTICLES_LOOKED_AT = 256


class RunTexts:
    """The articles and questions of a run as token ids.

    Args:
        model: Its tokenizers cut the texts.
        data: The texts.
        token_budget: Padded tokens a forward pass of training; None: what suits the device.
        frozen_layers: Layers of each tower that are never trained: `encode` runs them once, and
            keeps their states, up to 2 GB a tower.

    Attributes:
        articles: The articles, to be trained on.
        questions: The training questions, to be trained on.
    """

    def __init__(
        self,
        model: BiEncoder,
        data: TrainingData,
        token_budget: int | None,
        frozen_layers: int = 0,
    ) -> None:
        self.dtype = resolve_dtype(model.dtype, model.device)
        default = _TRAINING_TOKENS.get(model.device.type, _DEFAULT_TRAINING_TOKENS)
        self.budget = TokenBudget(token_budget or default)
        by_rule = [indexed_text(a.headings, a.text, model.text_rule) for a in data.corpus]
        self.articles = self._side(model.article_encoder, by_rule)
        self.questions = self._side(model.query_encoder, _texts(data.train))
        self._dev = self._side(model.query_encoder, _texts(data.dev))
        towers = {id(tower): tower for tower in (model.query, model.passage)}
        self._frozen = [
            FrozenStates(tower, frozen_layers) for tower in towers.values() if frozen_layers
        ]

    def _side(self, encoder: TextEncoder, texts: Sequence[str]) -> Side:
        return Side(encoder, encoder.tokenize(texts), self.dtype, self.budget)

    def encode(self, accelerator: Accelerator, progress: Callable[[int], None]) -> Vectors:
        """Vectors of everything under the weights of this moment; processes share the work."""
        with ExitStack() as stack:
            for states in self._frozen:
                stack.enter_context(states.replaying())
            return Vectors(
                *(
                    self._encode(accelerator, side, progress)
                    for side in (self.articles, self.questions, self._dev)
                )
            )

    def _encode(
        self, accelerator: Accelerator, side: Side, progress: Callable[[int], None]
    ) -> Tensor:
        n_texts = len(side.passages.per_text)
        own = share(accelerator, n_texts)
        passages: Passages = side.passages if len(own) == n_texts else side.passages.take(own)
        vectors = encode_tokenized(side.encoder, passages, dtype=side.dtype, progress=progress)
        return gather(accelerator, vectors, n_texts)

    def head_change(self) -> float:
        """How far the head moves the first articles from their pooled passages; see its method."""
        n_articles = len(self.articles.passages.per_text)
        some = np.arange(min(_ARTICLES_LOOKED_AT, n_articles))
        return self.articles.encoder.head_change(self.articles.passages.take(some))

    @property
    def dtype_name(self) -> str:
        """The number format of the towers, such as "bfloat16"."""
        return str(self.dtype).removeprefix("torch.")


def _texts(questions: Sequence[Question]) -> list[str]:
    return [question.text for question in questions]
