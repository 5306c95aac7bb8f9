"""The curriculum of negatives (CuSINeS, section 3): its settings, what a view of difficulty is, and
how many negatives come from which bucket, and when.

Shares are exact fractions, so that no rounding decides how many negatives a bucket gives.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, Protocol, get_args, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from components.models.folder import Similarity
from components.statutes.article import Article, TextRule
from components.statutes.question import Question
from components.statutes.tree import LegislativeTree
from training.command_line import SettingsError
from training.negatives.gold import Gold

# How many negatives come from which bucket.


def random_generator(seed: int, *purpose: object) -> np.random.Generator:
    """A random generator for a seed and a purpose, such as (epoch, question id).

    Counter-based (Philox, Salmon et al., SC 2011) and keyed by a digest: the numbers of one
    question do not depend on how many were drawn for others, nor on `PYTHONHASHSEED`.
    """
    text = "/".join(map(str, (seed, *purpose)))
    key = hashlib.blake2b(text.encode(), digest_size=16).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(key, "little")))


Schedule = Literal["curriculum", "constant", "reversed", "fixed"]
ShareOf = Literal["negatives", "bucket"]

MAX_BUCKETS = 6
FOCAL_SHARE = Fraction(7, 10)


def shares(n_buckets: int, phase: int) -> tuple[Fraction, ...]:
    """Share of each bucket, from easy to difficult, in the phase that focuses on bucket `phase`.

    The focal bucket takes .7; the others share the rest in proportion to 1 / |bucket - focal|. With
    three buckets these are the paper's rows .70/.20/.10, .15/.70/.15 and .10/.20/.70.
    """
    if n_buckets == 1:
        return (Fraction(1),)
    nearness = [
        Fraction(1, abs(b - phase)) if b != phase else Fraction(0) for b in range(n_buckets)
    ]
    rest = (1 - FOCAL_SHARE) / sum(nearness)
    return tuple(each * rest if each else FOCAL_SHARE for each in nearness)


def phase_shares(schedule: Schedule, n_buckets: int) -> tuple[tuple[Fraction, ...], ...]:
    """Shares of the buckets in each phase, in the order of training.

    A schedule whose shares never change has one phase; "fixed" takes the hardest negatives of the
    whole list and has one phase without shares.
    """
    if schedule == "fixed":
        return ((),)
    if schedule == "constant":
        return ((Fraction(1, n_buckets),) * n_buckets,)
    phases = [shares(n_buckets, phase) for phase in range(n_buckets)]
    return tuple(phases if schedule == "curriculum" else reversed(phases))


def phase_of(progress: NDArray[np.float64], n_phases: int) -> NDArray[np.int64]:
    """The phase of training, floor(n_phases * progress); all phases are equally long.

    Args:
        progress: Share of training that is done, in [0, 1).
        n_phases: Number of phases.

    Returns:
        int64, the shape of `progress`.
    """
    return np.floor(n_phases * progress).astype(np.int64)


def bucket_edges(
    n_negatives: NDArray[np.int64], n_buckets: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The equal parts of the fused list, which has the hardest negative first.

    Args:
        n_negatives: Length of each question's list, int64 `[n_questions]`.
        n_buckets: Number of buckets.

    Returns:
        Where each bucket starts and where it ends in the list, int64 `[n_questions, n_buckets]`;
        bucket 0 is the easiest and comes last. Sizes differ by at most one.
    """
    edges = n_negatives[:, None] * np.arange(n_buckets, -1, -1) // n_buckets
    return edges[:, 1:], edges[:, :-1]


def allot(
    n_questions: int, n: int, shares: Sequence[Fraction], rng: np.random.Generator
) -> NDArray[np.int64]:
    """How many of n negatives each question gets from each bucket.

    n * share is seldom a whole number: .70/.20/.10 of 8 is 5.6, 1.6 and .8. So some questions get
    more and some fewer, and together they get what the shares say.

    Args:
        n_questions: How many questions.
        n: Negatives of each question.
        shares: Share of each bucket; they sum to 1.
        rng: Decides which questions get more.

    Returns:
        int64 `[n_questions, n_buckets]`. Rows sum to n. Every entry is n * share rounded down or
        up. The columns sum to the apportionment of n_questions * n by largest remainder.
    """
    quotas = [n * share for share in shares]
    floors = np.array([math.floor(quota) for quota in quotas])
    totals = largest_remainder([n_questions * quota for quota in quotas])
    broken = np.array([quota.denominator > 1 for quota in quotas])
    every = (n_questions, 1)
    return _dealt(np.tile(floors, every), np.tile(broken, every), totals, rng)


def allot_of_buckets(
    sizes: NDArray[np.int64], shares: Sequence[Fraction], rng: np.random.Generator
) -> NDArray[np.int64]:
    """How many negatives each question gets if a share is a percentage of the bucket's articles.

    The paper prints "0.7%, 0.2%, 0.1%": here .7 means seven thousandths of a bucket.

    Args:
        sizes: Articles in each bucket of each question, int64 `[n_questions, n_buckets]`.
        shares: As for `allot`.
        rng: As for `allot`.

    Returns:
        int64 `[n_questions, n_buckets]`. Every entry is size * share / 100 rounded down or up. The
        columns sum to the apportionment of their sum by largest remainder.
    """
    parts = [share / 100 for share in shares]
    numerators = np.array([part.numerator for part in parts])
    denominators = np.array([part.denominator for part in parts])
    floors, remainders = np.divmod(sizes * numerators, denominators)
    whole = sizes.sum(axis=0).tolist()
    totals = largest_remainder([size * part for size, part in zip(whole, parts, strict=True)])
    return _dealt(floors, remainders > 0, totals, rng)


def largest_remainder(quotas: Sequence[Fraction]) -> list[int]:
    """Round quotas to whole numbers with the same sum (rounded, a half up).

    Each quota is rounded down; the missing units go, one each, to the largest remainders, and
    among equal ones to the first.
    """
    whole = [math.floor(quota) for quota in quotas]
    missing = math.floor(sum(quotas, Fraction(1, 2))) - sum(whole)
    by_remainder = sorted(range(len(quotas)), key=lambda b: whole[b] - quotas[b])
    for b in by_remainder[:missing]:
        whole[b] += 1
    return whole


def _dealt(
    floors: NDArray[np.int64],
    broken: NDArray[np.bool_],
    totals: Sequence[int],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Round broken quotas down or up so that the columns sum to `totals`.

    The units that are missing from the totals are dealt like cards, bucket after bucket, round and
        round a shuffled circle of the questions: no question gets a second card of a bucket, and
        where the quotas are equal all get equally many cards.
    """
    counts = floors.copy()
    circle = rng.permutation(len(counts))
    dealt = 0
    for bucket, cards in enumerate((totals - floors.sum(axis=0)).tolist()):
        seats = circle[broken[circle, bucket]]
        counts[np.take(seats, range(dealt, dealt + cards), mode="wrap"), bucket] += 1
        dealt += cards
    return counts


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
CrossLaw = Literal["farther", "path"]
_CHOICES = {
    "schedule": Schedule,
    "share_of": ShareOf,
    "ties": Ties,
    "cross_law": CrossLaw,
    "text_rule": TextRule,
    "similarity": Similarity,
}
# Whole numbers where the bounds are.
_RANGES: Mapping[str, tuple[float, float]] = {
    "negatives_per_question": (0, 10**6),
    "buckets": (1, MAX_BUCKETS),
    "candidates": (1, 10**9),
    "k": (1.0, 1e9),
    "seed": (0, 2**63),
    "bm25_k1": (0.0, 1e6),
    "bm25_b": (0.0, 1.0),
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
        if len(set(self.view_names)) < len(self.views):
            raise SettingsError(f"views: {', '.join(self.view_names)}: name each view once.")
        for name, kind in _CHOICES.items():
            if (value := getattr(self, name)) not in get_args(kind):
                choices = ", ".join(get_args(kind))
                raise SettingsError(f"{name} is {value!r}; choose among {choices}.")
        for name, (low, high) in _RANGES.items():
            number: Any = getattr(self, name)
            whole = isinstance(low, int)
            if name == "candidates" and number is None:
                continue
            fits = isinstance(number, Integral if whole else Real) and low <= float(number) <= high
            if not fits:
                which = "a whole number " if whole else ""
                raise SettingsError(f"{name} is {number!r}; it must be {which}from {low} to {high}")
        if not self.views and (self.buckets > 1 or self.schedule == "fixed"):
            raise SettingsError("views is empty: set buckets to 1 and schedule to curriculum.")
        if ("run" in self.views) != (self.run_file is not None):
            raise SettingsError("The view run and run_file go together: give both, or neither.")
        if self.share_of == "bucket" and self.schedule == "fixed":
            raise SettingsError("share_of bucket needs shares, and schedule fixed has none.")
        if self.candidates is not None and (not self.views or self.schedule == "fixed"):
            raise SettingsError("candidates needs views, and another schedule than fixed.")

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
        if not gold.n_negatives.any():
            raise SettingsError("Every article answers every question: nothing can be learnt.")
        if not self.draws_any and not gold.in_batch_negatives:
            raise SettingsError("negatives_per_question is 0, and no pair has a negative.")
        # Every bucket is in focus once, or all have the same share, so the largest share decides.
        shares = [share for phase in phase_shares(self.schedule, self.buckets) for share in phase]
        largest = max(shares, default=Fraction(0))
        lengths = self.list_lengths(gold)
        if self.share_of == "bucket":
            if largest / 100 * int(lengths.sum()) < self.buckets:
                raise SettingsError("share_of bucket comes to less than one negative a bucket.")
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
            raise SettingsError(
                f"negatives_per_question is {n}, so a bucket has to give up to {most}, but one of "
                f"the {self.buckets} buckets of question {question!r} holds {held}. Ask for fewer."
            )


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
        places: For each article the one whose place in tree and sequence it takes, int64
            `[n_articles]`: its own, or under the control `permute_tree` another one's.
    """

    settings: CurriculumSettings
    articles: Sequence[Article]
    questions: Sequence[Question]
    gold: Gold
    tree: LegislativeTree
    device: torch.device
    places: NDArray[np.int64]
