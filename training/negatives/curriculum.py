"""How many negatives come from which bucket, and when (CuSINeS, section 3).

Shares are exact fractions, so that no rounding decides how many negatives a bucket gives.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray


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
