"""Draws negatives by a curriculum of difficulty, the heart of CuSINeS, and describes them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from components.models.devices import resolve_device
from components.statutes.article import Article
from components.statutes.question import Question
from components.statutes.tree import LegislativeTree
from training.negatives.curriculum import (
    CurriculumSettings,
    DynamicView,
    View,
    ViewInputs,
    allot,
    allot_of_buckets,
    bucket_edges,
    phase_of,
    phase_shares,
    random_generator,
)
from training.negatives.gold import DrawnNegatives, Gold, flattened
from training.negatives.views import VIEWS


class BucketDraws:
    """Draws places of a ranked list by the schedule, without knowing what is at a place.

    A list has the hardest negative at place 0 and as many places as its question has negatives,
    or candidates if only the hardest ones are drawn from.

    Args:
        settings: Schedule, buckets, shares and seed.
        gold: The questions.
    """

    def __init__(self, settings: CurriculumSettings, gold: Gold) -> None:
        self._settings = settings
        self._question_ids = gold.question_ids
        self._phase_shares = phase_shares(settings.schedule, settings.buckets)
        self._starts, ends = bucket_edges(settings.list_lengths(gold), settings.buckets)
        self._sizes = ends - self._starts

    def phases(self, progress: float | NDArray[np.float64]) -> NDArray[np.int64]:
        """The phase that each question is in.

        Args:
            progress: Share of training that is done, in [0, 1), one or `[n_questions]`.

        Returns:
            int64 `[n_questions]`.

        Raises:
            ValueError: A number is out of range, or there are too many or too few.
        """
        done = np.asarray(progress, dtype=np.float64)
        n_questions = len(self._question_ids)
        if done.shape not in ((), (n_questions,)) or not ((done >= 0) & (done < 1)).all():
            raise ValueError(f"progress must be in [0, 1), one number or {n_questions:,}")
        return phase_of(np.broadcast_to(done, n_questions), len(self._phase_shares))

    def places(self, epoch: int, phases: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The places drawn for each question, each at most once.

        Args:
            epoch: Each epoch draws other places, except "fixed", which takes the first.
            phases: int64 `[n_questions]`.
        """
        if self._settings.schedule == "fixed":
            hardest = np.arange(self._settings.negatives_per_question)
            return [hardest] * len(self._question_ids)
        counts = self.counts(epoch, phases)
        return [
            self._drawn(
                random_generator(self._settings.seed, "draw", epoch, question), row, counts[row]
            )
            for row, question in enumerate(self._question_ids)
        ]

    def counts(self, epoch: int, phases: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many each question draws from each bucket, int64 `[n_questions, n_buckets]`.

        The questions of one phase are apportioned together, so that an epoch in which a phase ends
        has the right shares before and after. Arguments as for `places`.
        """
        counts = np.zeros_like(self._sizes)
        for phase in np.unique(phases).tolist():
            (rows,) = np.nonzero(phases == phase)
            shares = self._phase_shares[phase]
            rng = random_generator(self._settings.seed, "allot", epoch, phase)
            if self._settings.share_of == "bucket":
                counts[rows] = allot_of_buckets(self._sizes[rows], shares, rng)
            else:
                n = self._settings.negatives_per_question
                counts[rows] = allot(len(rows), n, shares, rng)
        return counts

    def buckets_at(self, rows: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int8]:
        """The bucket of a place in a question's list, int8; 0 is the easiest.

        Args:
            rows: int64 `[n_places]`, which question.
            places: int64 `[n_places]`.
        """
        # The buckets that start after the place are the easier ones.
        easier: NDArray[np.int8] = (self._starts[rows] > places[:, None]).sum(axis=1, dtype=np.int8)
        return easier

    def _drawn(
        self, rng: np.random.Generator, row: int, counts: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        buckets = zip(
            self._starts[row].tolist(), self._sizes[row].tolist(), counts.tolist(), strict=True
        )
        return np.concatenate(
            [start + rng.choice(size, count, replace=False) for start, size, count in buckets]
        )


# Ranks negatives in each view and fuses the rankings (CuSINeS, section 3).


class TieKeys:
    """A pseudo-random key for every (question, article), from their ids and a seed.

    key(q, a) = mix(hash(seed, purpose, q) xor hash(a)): BLAKE2b for the ids, and the finaliser of
    SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) for `mix`. That is a bijection on 64 bits, so
    two articles have the same key for a question only if their ids' hashes collide.

    Args:
        seed: A different seed gives a different order.
        question_ids: Ids of the questions.
        article_ids: Ids of the articles by position.
        device: Where the keys are stored.
    """

    def __init__(
        self,
        seed: int,
        question_ids: Sequence[str],
        article_ids: Sequence[str],
        device: torch.device,
    ) -> None:
        self._seed = seed
        self._question_ids = question_ids
        self._articles = _hashes(article_ids)
        self._device = device

    def of(self, rows: NDArray[np.int64], purpose: str) -> Tensor:
        """Keys of all articles for some questions.

        Args:
            rows: int64 `[n_rows]`, which questions.
            purpose: What the keys are for; a different purpose gives a different order.

        Returns:
            int64 `[n_rows, n_articles]`.
        """
        texts = [f"{self._seed}/{purpose}/{self._question_ids[row]}" for row in rows.tolist()]
        keys = _mix(_hashes(texts)[:, None] ^ self._articles)
        return torch.from_numpy(keys.view(np.int64)).to(self._device)


def descending(scores: Tensor, keys: Tensor) -> Tensor:
    """Places by score, highest first; equal scores by key, smallest first.

    Args:
        scores: `[n_rows, n]`.
        keys: int64, same shape.

    Returns:
        int64 `[n_rows, n]`: each row is a permutation.
    """
    values, order = scores.sort(dim=1, descending=True)
    starts, ends = group_edges(values)
    # Fused scores are seldom equal, and sorting all keys would take as long as sorting the scores.
    tied = ~(starts & ends)
    group = starts.flatten().cumsum(0)[tied.flatten()]
    places = order[tied]
    by_key = keys[tied.nonzero()[:, 0], places].argsort()
    by_group = group[by_key].argsort(stable=True)
    order[tied] = places[by_key[by_group]]
    return order


def group_edges(values: Tensor) -> tuple[Tensor, Tensor]:
    """Where each group of equal values starts and ends in sorted rows.

    Args:
        values: `[n_rows, n]`, each row sorted.

    Returns:
        Two bool tensors of the same shape.
    """
    edges = torch.ones(values.shape[0], values.shape[1] + 1, dtype=torch.bool, device=values.device)
    torch.ne(values[:, 1:], values[:, :-1], out=edges[:, 1:-1])
    return edges[:, :-1], edges[:, 1:]


def _hashes(texts: Sequence[str]) -> NDArray[np.uint64]:
    digests = (hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    hashes: NDArray[np.uint64] = np.frombuffer(b"".join(digests), "<u8") ^ np.uint64(1 << 63)
    return hashes


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def fuse(ranks: Sequence[Tensor], keys: Tensor, k: int = 60) -> Tensor:
    """Reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009): sum of 1 / (k + rank).

    `components.statutes.fusion` fuses the lists of retrievers at query time by the same formula.
    It is not used here because this one fuses whole tensors of ranks on the device: every article
    has a rank, ranks may be halves (ties), and equal sums are ordered by key. Its k differs too:
    k = 60 is the published constant, and the difficulty of the whole list counts here; search
    fuses short lists, in which the first ranks should stand out, with the measured k = 10.

    Division and addition in float64 are rounded the same on every device, so the order is the same.

    Args:
        ranks: For each view float32 `[n_rows, n_articles]`, 1 is hardest, infinity where excluded.
        keys: int64 `[n_rows, n_articles]`; of equal sums the smallest key goes first.
        k: The higher, the less the first ranks stand out. Cormack et al. recommend 60; the CuSINeS
            paper gives none.

    Returns:
        int64 `[n_rows, n_articles]`: articles by fused difficulty, hardest first, the excluded
        ones last. Each row is a permutation of all articles.
    """
    score = torch.zeros_like(keys, dtype=torch.float64)
    for view in ranks:
        # Excluded articles have rank infinity and score 0, less than any negative.
        score += 1 / (view.double() + k)
    return descending(score, keys)


def mid_ranks(difficulty: Tensor, excluded: Tensor) -> Tensor:
    """Ranks in which tied negatives share the middle of the ranks that they occupy.

    A tree has a handful of distinct distances, so nearly all negatives are tied. Mid-ranks keep
    the noise of a tie-break out of the fusion.

    Args:
        difficulty: float32 `[n_rows, n_articles]`, finite; higher is harder.
        excluded: bool, same shape: what is not a negative of the row's question.

    Returns:
        float32 `[n_rows, n_articles]`: 1 is the hardest negative, whole or half numbers, infinity
        where excluded.
    """
    values, order = difficulty.masked_fill(excluded, -torch.inf).sort(dim=1, descending=True)
    starts, ends = group_edges(values)
    n = difficulty.shape[1]
    place = torch.arange(1, n + 1, dtype=torch.float32, device=difficulty.device)
    first = torch.where(starts, place, 0.0).cummax(dim=1).values
    last = torch.where(ends, place, torch.inf).flip(1).cummin(dim=1).values.flip(1)
    ranks = torch.empty_like(difficulty).scatter_(1, order, (first + last) / 2)
    return ranks.masked_fill_(excluded, torch.inf)


def permutation_ranks(difficulty: Tensor, excluded: Tensor, keys: Tensor) -> Tensor:
    """Ranks in which every negative has its own; among tied ones the smaller key goes first.

    As in the paper: each view ranks all negatives.

    Args:
        difficulty: As for `mid_ranks`.
        excluded: As for `mid_ranks`.
        keys: int64, same shape; should differ from view to view, so that a shared tie-break does
            not count as agreement.

    Returns:
        As for `mid_ranks`; whole numbers.
    """
    order = descending(difficulty.masked_fill(excluded, -torch.inf), keys)
    n = difficulty.shape[1]
    place = torch.arange(1, n + 1, dtype=torch.float32, device=difficulty.device)
    ranks = torch.empty_like(difficulty).scatter_(1, order, place.expand_as(difficulty))
    return ranks.masked_fill_(excluded, torch.inf)


class FusedRanking:
    """Ranks the negatives in each view, and fuses the rankings.

    Args:
        views: At least one.
        gold: The questions; articles that it excludes come last.
        settings: They decide how ties are ranked and how views are fused.
        device: Where the negatives are ranked.
    """

    def __init__(
        self,
        views: Sequence[View],
        gold: Gold,
        settings: CurriculumSettings,
        device: torch.device,
    ) -> None:
        self._views = views
        self._gold = gold
        self._settings = settings
        self._device = device
        self._keys = TieKeys(settings.seed, gold.question_ids, gold.article_ids, device)

    @torch.no_grad()
    def of(self, rows: NDArray[np.int64]) -> tuple[Tensor, list[Tensor]]:
        """Rank the negatives of some questions; memory grows with `n_rows * n_articles`.

        Args:
            rows: int64 `[n_rows]`, which questions.

        Returns:
            int64 `[n_rows, n_articles]`, articles, hardest negative first, then the excluded; and
            for each view float32 `[n_rows, n_articles]`, the rank of each article in it.

        Raises:
            ValueError: A view did not return finite float32 `[n_rows, n_articles]`; names it.
        """
        excluded = torch.zeros(
            len(rows), self._gold.n_articles, dtype=torch.bool, device=self._device
        )
        cells = flattened(self._gold.excluded, rows)
        excluded[tuple(torch.from_numpy(each).to(self._device) for each in cells)] = True
        ranks = [self._ranks(view, rows, excluded) for view in self._views]
        return fuse(ranks, self._keys.of(rows, "fusion"), self._settings.k), ranks

    def _ranks(self, view: View, rows: NDArray[np.int64], excluded: Tensor) -> Tensor:
        difficulty = view.difficulty(rows)
        if difficulty.dtype != torch.float32 or difficulty.shape != excluded.shape:
            raise ValueError(f"view {view.name!r} must give float32 {list(excluded.shape)}")
        # NaN would give a meaningless order; it becomes both minimum and maximum.
        if not all(map(math.isfinite, difficulty.aminmax())):
            raise ValueError(f"view {view.name!r} gave difficulties that are not finite")
        difficulty = difficulty.to(self._device)
        if self._settings.ties == "mid_rank":
            return mid_ranks(difficulty, excluded)
        keys = self._keys.of(rows, f"view {view.name}")
        return permutation_ranks(difficulty, excluded, keys)


# Questions are ranked in blocks of about this many (question, article) cells: some 100 MB.
BLOCK_CELLS = 1 << 20

_IntArray = NDArray[np.int64]


class CurriculumNegatives:
    """Draws each question's negatives for an epoch (CuSINeS, section 3).

    Every view ranks all articles except the question's positives; reciprocal rank fusion joins the
    rankings; the fused list is cut into equal buckets from easy to difficult; and the schedule says
    how many negatives come from which bucket as training advances. Within a bucket they are drawn
    at random, each at most once.

    A positive of the question is never drawn, nor one of another question with the same text, nor
    an article with the text of a positive. The same seed draws the same negatives on every device,
    however many threads there are, in every process.

    Example:
        ```python
        corpus = StatuteCorpus.read("aldermere")
        asked = [q for q in read_questions("aldermere", split="train") if q.answerable]
        negatives = CurriculumNegatives(corpus, asked)
        drawn = negatives.draw(
            epoch=0,
            progress=0.0,
            questions=model.encode_queries([q.text for q in asked]),
            articles=model.encode_articles([indexed_text(a.headings, a.text) for a in corpus]),
        )
        ids = [negatives.gold.article_ids[position] for position in drawn.of(0)]
        ```

    Args:
        articles: The corpus, in the law's order.
        questions: Questions with at least one relevant article each.
        settings: Of the curriculum; by default `CurriculumSettings()`.
        device: Where ranks are computed, such as "cuda"; by default CUDA if available, else CPU.
        changes: Fields of `CurriculumSettings` by name, in place of those of `settings`.

    Attributes:
        gold: The questions' positives, and what is never drawn.
        settings: As above, changes included.

    Raises:
        ValueError: A setting is wrong, or does not fit corpus and questions; raised before anything
            is computed.
    """

    def __init__(
        self,
        articles: Sequence[Article],
        questions: Sequence[Question],
        *,
        settings: CurriculumSettings | None = None,
        device: str | torch.device | None = None,
        **changes: Any,
    ) -> None:
        if "views" in changes:
            changes["views"] = tuple(changes["views"])
        self.settings = replace(settings or CurriculumSettings(), **changes)
        for view in self.settings.views:
            if isinstance(view, str) and view not in VIEWS:
                raise ValueError(
                    f"views: there is no view {view!r}; choose among {', '.join(sorted(VIEWS))}."
                )
        self.gold = Gold.of(articles, questions)
        self.settings.check(self.gold)
        target = resolve_device(None if device is None else str(device))
        if target.type == "mps":  # Apple's GPUs lack float64, in which ranks are fused.
            target = torch.device("cpu")
        places = np.arange(self.n_articles)
        if self.settings.permute_tree:
            places = random_generator(self.settings.seed, "leaves").permutation(self.n_articles)
        tree = LegislativeTree(articles)
        inputs = ViewInputs(self.settings, articles, questions, self.gold, tree, target, places)
        views = [VIEWS[v](inputs) if isinstance(v, str) else v for v in self.settings.views]
        self._dynamic = [view for view in views if isinstance(view, DynamicView)]
        self._ranking = FusedRanking(views, self.gold, self.settings, target) if views else None
        self._draws = BucketDraws(self.settings, self.gold)

    @property
    def n_articles(self) -> int:
        """Number of articles in the corpus."""
        return self.gold.n_articles

    @property
    def view_names(self) -> tuple[str, ...]:
        """The views, in the order of the indices in `DrawnNegatives.views`."""
        return self.settings.view_names

    @property
    def needs_vectors(self) -> bool:
        """Whether `draw` needs the vectors of questions and articles."""
        return bool(self._dynamic) and self.settings.draws_any

    def phase(self, progress: float) -> int:
        """The phase of the schedule, from 0; all draws in a phase have the same shares.

        Raises:
            ValueError: `progress` is not in [0, 1).
        """
        return int(self._draws.phases(progress)[0])

    def draw(
        self,
        epoch: int,
        progress: float | NDArray[np.float64],
        *,
        questions: Tensor | None = None,
        articles: Tensor | None = None,
    ) -> DrawnNegatives:
        """Draw the negatives of every question for one epoch.

        Args:
            epoch: Number of the epoch, from 0; each epoch draws differently.
            progress: Share of the whole training that is done when a question's turn comes, in
                [0, 1): one for all questions, or float64 `[n_questions]`.
            questions: float32 `[n_questions, dim]`, for cosine of unit length, on any device; for
                dynamic views only, such as the semantic one.
            articles: float32 `[n_articles, dim]`, likewise.

        Raises:
            ValueError: `progress` is out of range, or vectors are missing or of the wrong number or
                length.
        """
        chosen = self._draws.places(epoch, self._draws.phases(progress))
        starts = np.concatenate([[0], np.cumsum([len(each) for each in chosen])])
        places = np.concatenate(chosen)
        rows = np.repeat(np.arange(len(chosen)), np.diff(starts))
        if self.needs_vectors:
            if questions is None or articles is None:
                names = " and ".join(view.name for view in self._dynamic)
                raise ValueError(f"{names}: give draw() the vectors of questions and articles")
            for view in self._dynamic:
                view.refresh(questions, articles)
        if self._ranking is not None and self.settings.draws_any:
            drawn, views = self._from_ranking(self._ranking, rows, places)
        else:
            # Places of the corpus, leaving out the excluded articles.
            each = [self.gold.negatives_at(row, own) for row, own in enumerate(chosen)]
            drawn, views = np.concatenate(each), np.full(len(places), -1)
        buckets = self._draws.buckets_at(rows, places)
        return DrawnNegatives(drawn, starts, buckets, views.astype(np.int8))

    def _from_ranking(
        self, ranking: FusedRanking, rows: _IntArray, places: _IntArray
    ) -> tuple[_IntArray, _IntArray]:
        """The articles at places of the fused lists, and the view that ranks each hardest."""
        drawn, views = np.empty_like(places), np.empty_like(places)
        rows_at_a_time = max(1, BLOCK_CELLS // self.n_articles)
        for start in range(0, self.gold.n_questions, rows_at_a_time):
            block_rows = np.arange(start, min(start + rows_at_a_time, self.gold.n_questions))
            order, block_ranks = ranking.of(block_rows)
            here = slice(*np.searchsorted(rows, [start, start + rows_at_a_time]))
            row = torch.from_numpy(rows[here] - start).to(order.device)
            articles = order[row, torch.from_numpy(places[here]).to(order.device)]
            drawn[here] = articles.cpu().numpy()
            ranks = torch.stack([each[row, articles] for each in block_ranks])
            views[here] = ranks.cpu().numpy().argmin(axis=0)
        return drawn, views


def statistics(drawn: DrawnNegatives, negatives: CurriculumNegatives) -> dict[str, Any]:
    """Describe the negatives of an epoch; the result can be written as JSON.

    Args:
        drawn: The epoch's negatives.
        negatives: What drew them.

    Returns:
        - `drawn`: number of (question, negative) pairs.
        - `buckets`: how many came from each, from easy to difficult.
        - `views`: how many each view ranks harder than the others do; empty without views.
    """
    n_views = len(negatives.view_names)
    by_view = np.bincount(drawn.views[drawn.views >= 0], minlength=n_views).tolist()
    return {
        "drawn": len(drawn.articles),
        "buckets": np.bincount(drawn.buckets, minlength=negatives.settings.buckets).tolist(),
        "views": dict(zip(negatives.view_names, by_view, strict=True)),
    }
