"""The views that the options name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from components.statutes.article import Article
from components.statutes.question import Question
from components.statutes.tree import LegislativeTree
from training.negatives.gold import Gold
from training.negatives.options import NegativesOptions
from training.negatives.seeding import generator
from training.negatives.views.bm25 import BM25View
from training.negatives.views.run import RunView
from training.negatives.views.semantic import SemanticView
from training.negatives.views.sequence import SequenceView
from training.negatives.views.tree import TreeView
from training.negatives.views.view import View


def views_of(
    options: NegativesOptions,
    articles: Sequence[Article],
    questions: Sequence[Question],
    gold: Gold,
    tree: LegislativeTree,
    device: torch.device,
) -> list[View]:
    """The views in the order of `options.views`, each ready but for the semantic one's vectors.

    Raises:
        ValueError: BM25 or the run file do not go with the corpus.
        OSError: The run file cannot be opened.
    """
    permutation: NDArray[np.int64] | None = None
    if options.permute_tree:
        permutation = generator(options.seed, "leaves").permutation(gold.n_articles)

    def view(name: str) -> View:
        if name == "tree":
            return TreeView(
                tree, gold, device, cross_law=options.cross_law, permutation=permutation
            )
        if name == "sequence":
            return SequenceView(gold, device, permutation=permutation)
        if name == "semantic":
            return SemanticView(gold.n_questions, gold.n_articles, device)
        if name == "bm25":
            return BM25View(
                articles,
                questions,
                device,
                k1=options.bm25_k1,
                b=options.bm25_b,
                text_rule=options.text_rule,
            )
        assert options.run is not None
        return RunView(options.run, gold, device)

    return [view(name) for name in options.views]
