"""What a view is made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from components.statutes.article import Article
from components.statutes.question import Question
from components.statutes.tree import LegislativeTree
from training.negatives.gold import Gold
from training.negatives.options import NegativesOptions


@dataclass(frozen=True)
class Given:
    """A law, its questions and the wishes: all that a view may need.

    Attributes:
        options: What `CurriculumNegatives` was asked for.
        articles: In their order, `n_articles`.
        questions: `n_questions`.
        gold: Which articles answer which questions.
        tree: Of the law.
        device: Where difficulties are put.
        permutation: Another article's place for each, int64 `[n_articles]`; None leaves the tree as
            it is.
    """

    options: NegativesOptions
    articles: Sequence[Article]
    questions: Sequence[Question]
    gold: Gold
    tree: LegislativeTree
    device: torch.device
    permutation: NDArray[np.int64] | None
