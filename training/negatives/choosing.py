"""The views that the options name."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

import torch

from components.statutes.article import Article
from components.statutes.question import Question
from components.statutes.tree import LegislativeTree
from training.negatives import views
from training.negatives.given import Given
from training.negatives.gold import Gold
from training.negatives.options import NegativesOptions
from training.negatives.seeding import generator
from training.negatives.view import View


def views_of(
    options: NegativesOptions,
    articles: Sequence[Article],
    questions: Sequence[Question],
    gold: Gold,
    tree: LegislativeTree,
    device: torch.device,
) -> list[View]:
    """The views in the order of `options.views`, each ready but for the semantic one's vectors.

    Each is made by the function `of` of the module that has its name.

    Raises:
        ValueError: BM25 or the run file do not go with the corpus.
        OSError: The run file cannot be opened.
    """
    permutation = None
    if options.permute_tree:
        permutation = generator(options.seed, "leaves").permutation(gold.n_articles)
    given = Given(options, articles, questions, gold, tree, device, permutation)
    made = [import_module(f"{views.__name__}.{name}").of(given) for name in options.views]
    return list[View](made)
