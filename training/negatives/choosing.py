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
    """The views in the order of `options.views`, each ready but for the dynamic ones' vectors.

    A name's is made by the function `of` of the module that has it; an object is one already.

    Raises:
        ValueError: BM25 or the run file do not go with the corpus; or a module makes no view.
        OSError: The run file cannot be opened.
    """
    permutation = None
    if options.permute_tree:
        permutation = generator(options.seed, "leaves").permutation(gold.n_articles)
    given = Given(options, articles, questions, gold, tree, device, permutation)
    return [_made(view, given) if isinstance(view, str) else view for view in options.views]


def _made(name: str, given: Given) -> View:
    module = import_module(f"{views.__name__}.{name}")
    if not hasattr(module, "of"):
        raise ValueError(
            f"views: {module.__file__} has no function 'of', which makes the view {name!r}. Write "
            "of(given) into it"
        )
    made = module.of(given)
    if not isinstance(made, View):
        raise ValueError(
            f"views: of(given) of {module.__file__} made {type(made).__name__}, which is no view. "
            "Return an object with a `name` and the method `difficulty`"
        )
    if made.name != name:
        raise ValueError(
            f"views: of(given) of {module.__file__} made a view with the name {made.name!r}. Call "
            f"it {name!r}, as its file"
        )
    return made
