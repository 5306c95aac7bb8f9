"""How negatives are ranked and drawn: the settings, and what a view of difficulty is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Real
from pathlib import Path
from pkgutil import iter_modules
from typing import Literal, Protocol, get_args, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from components.models.similarity import Similarity
from components.statutes.article import Article, TextRule
from components.statutes.question import Question
from components.statutes.tree import CrossLaw, LegislativeTree
from training.command_line import SettingsError
from training.negatives import views
from training.negatives.curriculum import MAX_BUCKETS, Schedule, ShareOf, phase_shares
from training.negatives.gold import Gold


@runtime_checkable
class View(Protocol):
    """A way to say how difficult an article is as a negative of a question.

    Attributes:
        name: What the view is called in settings and statistics; unique among the views in use.
    """

    name: str

    def difficulty(self, rows: NDArray[np.int64]) -> Tensor:
        """Difficulty of every article for some questions.

        A question's row must not depend on the other rows in the call: the caller may split the
        questions into blocks of any size.

        Args:
            rows: int64 `[n_rows]`, which questions.

        Returns:
            float32 `[n_rows, n_articles]` on any device, finite; higher is harder.
        """
        ...


@runtime_checkable
class DynamicView(View, Protocol):
    """A view that ranks by the current model, whose vectors it receives at each draw."""

    def refresh(self, questions: Tensor, articles: Tensor) -> None:
        """Take the vectors from which the next difficulties are computed.

        Args:
            questions: float32 `[n_questions, dim]`, for cosine of unit length, on any device.
            articles: float32 `[n_articles, dim]`, likewise.
        """
        ...


Ties = Literal["mid_rank", "permutation"]
_CHOICES = {
    "schedule": Schedule,
    "share_of": ShareOf,
    "ties": Ties,
    "cross_law": CrossLaw,
    "text_rule": TextRule,
    "similarity": Similarity,
}


@dataclass(frozen=True, kw_only=True)
class CurriculumSettings:
    """The curriculum of negatives (CuSINeS, section 3); training settings inherit it.

    Args:
        views: Where a negative's difficulty comes from: tree, sequence, semantic, bm25, or run (a
            ranking of your own, run_file); in Python also a `View`. An empty list draws uniformly
            at random. Paper: tree, sequence, semantic (static: bm25 in place of semantic; baseline:
            bm25 alone).
        negatives_per_question: Negatives drawn for each question and epoch; with 0 a batch's other
            articles are the only negatives. Paper: not given.
        buckets: Parts of the ranking of negatives, from easy to difficult, 1 to 6. Paper: 3.
        schedule: How the shares of the buckets change: curriculum, constant, reversed, or fixed
            (the hardest ones from the start, the same in every epoch). Paper: curriculum.
        share_of: What the shares .7, .2, .1 are shares of: the negatives of a question, or
            literally per cent of the articles in each bucket (negatives_per_question is then not
            used). Paper: "0.7%, 0.2%, 0.1%", which can be read as either.
        candidates: How many of the hardest articles of a question's ranking are cut into buckets
            and drawn from; default: all, as in the paper.
        ties: How equally difficult articles rank in a view: all in the middle of their ranks, or in
            a random order of each view's own. Paper: permutation.
        k: Constant of reciprocal rank fusion. Paper: not given (60 in Cormack et al.).
        cross_law: Distance in the tree between articles of two laws: farther than any two of one
            law, or that of their path over the root.
        permute_tree: A control: every article takes another one's place in the tree and the
            sequence.
        bm25_k1: Term saturation of the bm25 view. BSARD's: 2.5.
        bm25_b: Length normalisation of the bm25 view. BSARD's: 0.2.
        run_file: TREC run of the training questions (with final also of dev's) by which the view
            "run" ranks.
        text_rule: Which parts of an article are read.
        similarity: How vectors of a question and an article are compared: cosine, dot, or l2 (the
            Euclidean distance). Kept in the model's manifest. Paper: cosine.
        seed: Seed of everything that is drawn.

    Raises:
        SettingsError: A value is out of its range, or two do not fit together.
    """

    views: tuple[str | View, ...] = ("tree", "sequence", "semantic")
    negatives_per_question: int = 8
    buckets: int = 3
    schedule: Schedule = "curriculum"
    share_of: ShareOf = "negatives"
    candidates: int | None = None
    ties: Ties = "mid_rank"
    k: int = 60
    cross_law: CrossLaw = "farther"
    permute_tree: bool = False
    bm25_k1: float = 1.5
    bm25_b: float = 0.75
    run_file: str | Path | None = None
    text_rule: TextRule = "headings_text"
    similarity: Similarity = "cosine"
    seed: int = 0

    def __post_init__(self) -> None:
        known = tuple(sorted(module.name for module in iter_modules(views.__path__)))
        for view in self.views:
            if isinstance(view, str) and view not in known:
                raise SettingsError(f"views: there is no view {view!r}; {_among(known)}.")
        if len(set(self.view_names)) < len(self.views):
            raise SettingsError(f"views: {', '.join(self.view_names)}: name each view once.")
        for name, kind in _CHOICES.items():
            if (value := getattr(self, name)) not in get_args(kind):
                raise SettingsError(f"{name} is {value!r}; {_among(get_args(kind))}.")
        in_range("negatives_per_question", self.negatives_per_question, 0, whole=True)
        in_range("buckets", self.buckets, 1, MAX_BUCKETS, whole=True)
        if self.candidates is not None:
            in_range("candidates", self.candidates, 1, whole=True)
        in_range("k", self.k, 1)
        in_range("seed", self.seed, 0, whole=True)
        in_range("bm25_k1", self.bm25_k1, 0)
        in_range("bm25_b", self.bm25_b, 0, 1)
        if not self.views and (self.buckets > 1 or self.schedule == "fixed"):
            raise SettingsError(
                "views is empty, so no negative is harder than another: set buckets to 1 and "
                "schedule to curriculum (uniform random), or name views."
            )
        if ("run" in self.views) != (self.run_file is not None):
            raise SettingsError("The view run and run_file go together: give both, or neither.")
        if self.share_of == "bucket" and self.schedule == "fixed":
            raise SettingsError("share_of bucket needs shares, and schedule fixed has none.")
        if self.candidates is not None and (not self.views or self.schedule == "fixed"):
            raise SettingsError(
                f"candidates is {self.candidates}, but there are no views to rank by, or schedule "
                "is fixed: leave candidates out."
            )

    @property
    def view_names(self) -> tuple[str, ...]:
        """Names of the views."""
        return tuple(view if isinstance(view, str) else view.name for view in self.views)

    @property
    def draws_any(self) -> bool:
        """Whether any negatives are drawn; else a batch's other articles are the only ones."""
        return self.negatives_per_question > 0 or self.share_of == "bucket"

    def list_lengths(self, gold: Gold) -> NDArray[np.int64]:
        """From how many of its hardest negatives each question draws, `[n_questions]`."""
        if self.candidates is None:
            return gold.n_negatives
        return np.minimum(gold.n_negatives, self.candidates)

    def check(self, gold: Gold) -> None:
        """Refuse a corpus that does not have enough negatives.

        Raises:
            SettingsError: No question has a negative, or one has too few.
        """
        if not gold.n_questions:
            raise SettingsError("There are no questions to draw negatives for.")
        if not gold.n_negatives.any():
            raise SettingsError(
                f"Each of the {gold.n_articles:,} articles answers every question, so nothing can "
                "be learnt. Give a larger corpus."
            )
        if not self.draws_any and not gold.in_batch_negatives:
            raise SettingsError(
                "negatives_per_question is 0, and every article that answers a question answers "
                "all others: no pair has a negative. Draw some, or give more questions."
            )
        # Every bucket is in focus once, or all have the same share, so the largest share decides.
        shares = [share for phase in phase_shares(self.schedule, self.buckets) for share in phase]
        largest = max(shares, default=Fraction(0))
        lengths = self.list_lengths(gold)
        if self.share_of == "bucket":
            if largest / 100 * int(lengths.sum()) < self.buckets:
                raise SettingsError(
                    f"share_of bucket comes to less than one negative for {gold.n_questions} "
                    "questions together. Use share_of negatives."
                )
            return
        fewest = int(gold.n_negatives.argmin())
        question, available = gold.question_ids[fewest], int(gold.n_negatives[fewest])
        n = self.negatives_per_question
        if n > available:
            raise SettingsError(
                f"negatives_per_question is {n}, but question {question!r} has only {available} of "
                f"{gold.n_articles:,} articles left as negatives. Ask for fewer."
            )
        most, held = math.ceil(n * largest), int(lengths[fewest]) // self.buckets
        if most > held:
            among = "" if self.candidates is None else f", of {self.candidates} candidates,"
            raise SettingsError(
                f"negatives_per_question is {n}, so a bucket has to give up to {most}, but one of "
                f"the {self.buckets} buckets of question {question!r}{among} holds {held}. Ask for "
                "fewer, or use fewer buckets or more candidates."
            )


def in_range(
    name: str, value: float, low: int, high: float = math.inf, *, whole: bool = False
) -> None:
    """Refuse a number below `low`, above `high` or infinite, and a fraction where `whole`.

    Raises:
        SettingsError: Names the value.
    """
    if not isinstance(value, Integral if whole else Real):
        raise SettingsError(f"{name} must be a {'whole ' * whole}number, not {value!r}.")
    if not low <= value <= high or value == math.inf:
        upper = "up, and finite" if high == math.inf else f"to {high}"
        raise SettingsError(f"{name} must be from {low} {upper}, not {value}.")


def _among(names: tuple[str, ...]) -> str:
    return f"choose among {', '.join(names)}"


@dataclass(frozen=True)
class ViewInputs:
    """Inputs for building a view.

    Attributes:
        settings: Settings of the curriculum.
        articles: The law, in order, `n_articles`.
        questions: `n_questions`.
        gold: Which articles answer which questions.
        tree: Tree of the law.
        device: Where difficulties are stored.
        permutation: For each article the one whose place it takes, int64 `[n_articles]`; None
            leaves the tree as it is.
    """

    settings: CurriculumSettings
    articles: Sequence[Article]
    questions: Sequence[Question]
    gold: Gold
    tree: LegislativeTree
    device: torch.device
    permutation: NDArray[np.int64] | None
