"""What `CurriculumNegatives` is asked for, checked before any work starts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from numbers import Integral, Real
from pathlib import Path
from pkgutil import iter_modules
from typing import Literal, Protocol, get_args, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from components.statutes.article import Article, TextRule
from components.statutes.question import Question
from components.statutes.tree import CrossLaw, LegislativeTree
from training.negatives.curriculum import MAX_BUCKETS, Schedule, ShareOf, phase_shares
from training.negatives.gold import Gold

# What a view is.


@runtime_checkable
class View(Protocol):
    """A way to say how difficult an article is as a negative of a question.

    Attributes:
        name: What the view is called in settings and statistics; no other view beside it has it.
    """

    name: str

    def difficulty(self, rows: NDArray[np.int64]) -> Tensor:
        """Difficulty of every article for some questions.

        A question's row must not depend on what other rows are asked for with it: the caller may
        split the questions into blocks of any size.

        Args:
            rows: int64 `[n_rows]`, which questions.

        Returns:
            float32 `[n_rows, n_articles]` on any device, finite; higher is harder.
        """
        ...


@runtime_checkable
class DynamicView(View, Protocol):
    """A view that ranks by the model as it is now: it is given the model's vectors at each draw."""

    def refresh(self, questions: Tensor, articles: Tensor) -> None:
        """Take the vectors that the next difficulties are computed from.

        Args:
            questions: float32 `[n_questions, dim]`, of unit length, on any device.
            articles: float32 `[n_articles, dim]`, of unit length, on any device.
        """
        ...


Ties = Literal["mid_rank", "permutation"]


@dataclass(frozen=True)
class NegativesOptions:
    """The parameters of `CurriculumNegatives`, described there.

    Raises:
        ValueError: A value is out of its range, or does not fit another; names it.
    """

    views: tuple[str | View, ...]
    negatives_per_question: int
    buckets: int
    schedule: Schedule
    share_of: ShareOf
    candidates: int | None
    ties: Ties
    k: int
    cross_law: CrossLaw
    bm25_k1: float
    bm25_b: float
    run: Path | None
    permute_tree: bool
    text_rule: TextRule
    seed: int

    def __post_init__(self) -> None:
        for view in self.views:
            if isinstance(view, str):
                if view not in (known := _view_names()):
                    raise ValueError(f"views: no view is called {view!r}; {_among(known)}")
            # A class has what its objects have.
            elif isinstance(view, type) or not isinstance(view, View):
                raise ValueError(
                    f"views: {view!r} is no view. Give a name, or an object with a `name` and the "
                    "method `difficulty`"
                )
        if len(set(self.view_names)) < len(self.views):
            raise ValueError(f"views: {', '.join(self.view_names)} names one twice. Name each once")
        for name, kind in (
            ("schedule", Schedule),
            ("share_of", ShareOf),
            ("ties", Ties),
            ("cross_law", CrossLaw),
            ("text_rule", TextRule),
        ):
            if getattr(self, name) not in get_args(kind):
                raise ValueError(
                    f"{name}: {getattr(self, name)!r} is none; {_among(get_args(kind))}"
                )
        in_range("negatives_per_question", self.negatives_per_question, 0, whole=True)
        in_range("buckets", self.buckets, 1, MAX_BUCKETS, whole=True)
        if self.candidates is not None:
            in_range("candidates", self.candidates, 1, whole=True)
        in_range("k", self.k, 1)
        in_range("seed", self.seed, 0, whole=True)
        in_range("bm25_k1", self.bm25_k1, 0)
        in_range("bm25_b", self.bm25_b, 0, 1)
        if not isinstance(self.permute_tree, bool):
            raise ValueError(f"permute_tree must be True or False, not {self.permute_tree!r}")
        if not self.views and (self.buckets > 1 or self.schedule == "fixed"):
            raise ValueError(
                "views is empty, so no negative is harder than another: set buckets to 1 and "
                "schedule to 'curriculum' (uniform random), or name views"
            )
        if ("run" in self.views) != (self.run is not None):
            raise ValueError(
                "views: 'run' and a run file (run; of a command: run_file) go together. Give both, "
                "or neither"
            )
        if self.share_of == "bucket" and self.schedule == "fixed":
            raise ValueError("share_of 'bucket' needs shares, and schedule 'fixed' has none")
        if self.candidates is not None and (not self.views or self.schedule == "fixed"):
            raise ValueError(
                f"candidates is {self.candidates}, but there is no ranking to take the hardest of "
                "(views is empty), or it is not drawn from (schedule 'fixed'): leave candidates out"
            )

    @property
    def view_names(self) -> tuple[str, ...]:
        """What the views are called."""
        return tuple(view if isinstance(view, str) else view.name for view in self.views)

    @property
    def draws_any(self) -> bool:
        """Whether anything is drawn, or a batch's other articles are the only negatives."""
        return self.negatives_per_question > 0 or self.share_of == "bucket"

    def list_lengths(self, gold: Gold) -> NDArray[np.int64]:
        """How many of its negatives, the hardest, each question draws from, `[n_questions]`."""
        if self.candidates is None:
            return gold.n_negatives
        return np.minimum(gold.n_negatives, self.candidates)

    def check(self, gold: Gold) -> None:
        """Refuse a corpus that cannot give the negatives.

        Raises:
            ValueError: There are no questions; no question has a negative, or none is drawn and no
                other's article is one; one has fewer than are asked for; a bucket is smaller than
                its share; or shares of buckets come to nothing.
        """
        if not gold.n_questions:
            raise ValueError("there are no questions to draw negatives for")
        if not gold.n_negatives.any():
            raise ValueError(
                f"each of the {gold.n_articles:,} articles answers every question, so none is a "
                "negative and nothing can be learnt. Give a larger corpus"
            )
        if not self.draws_any and not gold.in_batch_negatives:
            raise ValueError(
                "negatives_per_question is 0, and every article that answers a question answers "
                "all others: no pair has a negative and nothing can be learnt. Draw some, or give "
                "more questions"
            )
        # Every bucket is in focus once, or all have the same share: the largest share decides.
        shares = [share for phase in phase_shares(self.schedule, self.buckets) for share in phase]
        largest = max(shares, default=Fraction(0))
        lengths = self.list_lengths(gold)
        if self.share_of == "bucket":
            if largest / 100 * int(lengths.sum()) < self.buckets:
                raise ValueError(
                    f"share_of 'bucket' comes to less than one negative for {gold.n_questions} "
                    "questions together: too few articles to draw from. Use share_of 'negatives'"
                )
            return
        fewest = int(gold.n_negatives.argmin())
        question, available = gold.question_ids[fewest], int(gold.n_negatives[fewest])
        n = self.negatives_per_question
        if n > available:
            raise ValueError(
                f"negatives_per_question is {n}, but question {question!r} has only {available} of "
                f"{gold.n_articles:,} articles left as negatives. Ask for fewer"
            )
        most, held = math.ceil(n * largest), int(lengths[fewest]) // self.buckets
        if most > held:
            among = "" if self.candidates is None else f", of {self.candidates} candidates,"
            more = "" if self.candidates is None else ", or more candidates"
            raise ValueError(
                f"negatives_per_question is {n}, so a bucket has to give up to {most}, but one of "
                f"the {self.buckets} buckets of question {question!r}{among} holds {held}. Ask for "
                f"fewer{more}, or use fewer buckets"
            )


def in_range(
    name: str, value: float, low: int, high: float = math.inf, *, whole: bool = False
) -> None:
    """Refuse a number below `low`, above `high` or infinite, or no whole one where `whole`.

    Raises:
        ValueError: The value is refused, or no number; names it.
    """
    if not isinstance(value, Integral if whole else Real):
        raise ValueError(f"{name} must be {'a whole' if whole else 'a'} number, not {value!r}")
    if not low <= value <= high or value == math.inf:
        to = "up" if high == math.inf else f"to {high}"
        finite = " and finite" if value == math.inf else ""
        raise ValueError(f"{name} must be from {low} {to}{finite}, not {value}")


def _view_names() -> tuple[str, ...]:
    """The names of the views: each is a module in the folder `views`."""
    package = find_spec("training.negatives.views")
    assert package is not None
    return tuple(sorted(module.name for module in iter_modules(package.submodule_search_locations)))


def _among(names: tuple[str, ...]) -> str:
    return f"choose among {', '.join(names)}"


# What a view is made from.


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
