"""Draws negatives by a curriculum of difficulty, the heart of CuSINeS, and describes them."""

from __future__ import annotations

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
    ViewInputs,
    allot,
    allot_of_buckets,
    bucket_edges,
    phase_of,
    phase_shares,
    random_generator,
)
from training.negatives.gold import DrawnNegatives, Gold
from training.negatives.ranking import FusedRanking
from training.negatives.views import VIEWS
from training.objective import similarities


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
        if done.shape not in ((), (n_questions,)):
            raise ValueError(
                f"progress must be one number or {n_questions:,}, one per question, not of shape "
                f"{done.shape}"
            )
        if not ((done >= 0) & (done < 1)).all():
            raise ValueError("progress must be in [0, 1): the share of training that is done")
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
        tree: The tree of the corpus, never permuted.
        settings: As above, changes included.
        tie_shares: For each view, the share of negatives that it ties with another, in the last
            draw that ranked.

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
        self.tree = LegislativeTree(articles)
        self.tie_shares: dict[str, float] = {}
        target = resolve_device(None if device is None else str(device))
        if target.type == "mps":  # Apple's GPUs lack float64, in which ranks are fused.
            target = torch.device("cpu")
        permutation = None
        if self.settings.permute_tree:
            permutation = random_generator(self.settings.seed, "leaves").permutation(
                self.n_articles
            )
        inputs = ViewInputs(
            self.settings, articles, questions, self.gold, self.tree, target, permutation
        )
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
            self._refresh(questions, articles)
        if self._ranking is not None and self.settings.draws_any:
            drawn, views = self._from_ranking(self._ranking, rows, places)
        else:
            drawn, views = self._from_corpus(chosen), np.full(len(places), -1)
        buckets = self._draws.buckets_at(rows, places)
        return DrawnNegatives(drawn, starts, buckets, views.astype(np.int8))

    def _refresh(self, questions: Tensor | None, articles: Tensor | None) -> None:
        """Pass the vectors of this draw to every dynamic view."""
        if questions is None or articles is None:
            names = " and ".join(view.name for view in self._dynamic)
            raise ValueError(
                f"{names} rank by the current model: give draw() the vectors of the questions and "
                "of the articles"
            )
        for view in self._dynamic:
            view.refresh(questions, articles)

    def _from_ranking(
        self, ranking: FusedRanking, rows: _IntArray, places: _IntArray
    ) -> tuple[_IntArray, _IntArray]:
        """The articles at places of the fused lists, and the view that ranks each hardest."""
        drawn, views = np.empty_like(places), np.empty_like(places)
        n_tied = np.zeros(len(self.view_names), dtype=np.int64)
        rows_at_a_time = max(1, BLOCK_CELLS // self.n_articles)
        for start in range(0, self.gold.n_questions, rows_at_a_time):
            block_rows = np.arange(start, min(start + rows_at_a_time, self.gold.n_questions))
            block = ranking.of(block_rows)
            here = slice(*np.searchsorted(rows, [start, start + rows_at_a_time]))
            row = torch.from_numpy(rows[here] - start).to(block.order.device)
            articles = block.order[row, torch.from_numpy(places[here]).to(block.order.device)]
            drawn[here] = articles.cpu().numpy()
            ranks = torch.stack([each[row, articles] for each in block.ranks])
            views[here] = ranks.cpu().numpy().argmin(axis=0)
            n_tied += torch.stack(block.tied).sum(dim=1).cpu().numpy()
        shares = n_tied / self.gold.n_negatives.sum()
        self.tie_shares = dict(zip(self.view_names, shares.tolist(), strict=True))
        return drawn, views

    def _from_corpus(self, chosen: Sequence[_IntArray]) -> _IntArray:
        """The articles at places of the corpus, leaving out the excluded ones."""
        drawn = [self.gold.negatives_at(row, places) for row, places in enumerate(chosen)]
        return np.concatenate(drawn)


def statistics(
    drawn: DrawnNegatives,
    previous: DrawnNegatives | None,
    negatives: CurriculumNegatives,
    *,
    questions: Tensor | None = None,
    articles: Tensor | None = None,
) -> dict[str, Any]:
    """Describe the negatives of an epoch; the result can be written as JSON.

    Args:
        drawn: The epoch's negatives.
        previous: Those of the epoch before, if there was one.
        negatives: What drew them, right after the draw.
        questions: float32 `[n_questions, dim]`, for the audit.
        articles: float32 `[n_articles, dim]`, likewise.

    Returns:
        - `drawn`: number of (question, negative) pairs.
        - `buckets`: how many came from each, from easy to difficult.
        - `views`: how many each view ranks harder than the others do; empty without views.
        - `mean_tree_distance`: to the question's nearest positive, in the true tree (also where its
          leaves are permuted) and by its `cross_law`; None where nothing was drawn.
        - `overlap`: share of the pairs that were also drawn in the epoch before; None in the first.
        - `ties`: for each view, the share of all negatives that it ties with another.
        - `audit`: `above_best_positive` and `above_a_positive`, for each bucket the share of the
          drawn negatives that score above the question's best positive, or above its worst; None
          for an empty bucket. `audit` is None without vectors.
    """
    n_drawn = len(drawn.articles)
    n_buckets = negatives.settings.buckets
    overlap = None
    if previous is not None and n_drawn:
        pairs, before = (_pairs(each, negatives.n_articles) for each in (drawn, previous))
        overlap = float(np.isin(pairs, before).mean())
    audit = None
    if questions is not None and articles is not None:
        audit = _audit(drawn, negatives, questions, articles)
    return {
        "drawn": n_drawn,
        "buckets": np.bincount(drawn.buckets, minlength=n_buckets).tolist(),
        "views": {
            name: int((drawn.views == view).sum()) for view, name in enumerate(negatives.view_names)
        },
        "mean_tree_distance": _mean_tree_distance(drawn, negatives),
        "overlap": overlap,
        "ties": dict(negatives.tie_shares),
        "audit": audit,
    }


def _pairs(drawn: DrawnNegatives, n_articles: int) -> NDArray[np.int64]:
    """A unique number for each (question, article)."""
    return drawn.questions * n_articles + drawn.articles


def _mean_tree_distance(drawn: DrawnNegatives, negatives: CurriculumNegatives) -> float | None:
    if not len(drawn.articles):
        return None
    cross_law = negatives.settings.cross_law
    total = 0
    for question, positives in enumerate(negatives.gold.positives):
        distances = negatives.tree.min_distances(positives, cross_law=cross_law)
        total += int(distances[drawn.of(question)].sum())
    return total / len(drawn.articles)


def _audit(
    drawn: DrawnNegatives, negatives: CurriculumNegatives, questions: Tensor, articles: Tensor
) -> dict[str, list[float | None]]:
    above_best = np.empty(len(drawn.articles), dtype=np.bool_)
    above_a = np.empty_like(above_best)
    for question, positives in enumerate(negatives.gold.positives):
        rows = np.concatenate([positives, drawn.of(question)])
        vectors = articles[torch.from_numpy(rows).to(articles.device)].detach()
        asked = questions[question].detach().to(articles.device)
        compared = similarities(
            asked.double()[None], vectors.double(), negatives.settings.similarity
        )
        scores = compared[0].cpu().numpy()
        of_positives, of_drawn = np.split(scores, [len(positives)])
        here = slice(drawn.starts[question], drawn.starts[question + 1])
        above_best[here] = of_drawn > of_positives.max()
        above_a[here] = of_drawn > of_positives.min()
    inside = [drawn.buckets == bucket for bucket in range(negatives.settings.buckets)]

    def by_bucket(above: NDArray[np.bool_]) -> list[float | None]:
        return [float(above[each].mean()) if each.any() else None for each in inside]

    return {"above_best_positive": by_bucket(above_best), "above_a_positive": by_bucket(above_a)}
