"""Negatives ranked by difficulty and drawn by a curriculum: the heart of CuSINeS."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from components.models.devices import resolve_device
from components.statutes.article import Article, TextRule
from components.statutes.question import Question
from components.statutes.tree import CrossLaw, LegislativeTree
from training.negatives import views
from training.negatives.curriculum import (
    Schedule,
    ShareOf,
    allot,
    allot_of_buckets,
    bucket_edges,
    generator,
    phase_of,
    phase_shares,
)
from training.negatives.gold import DrawnNegatives, Gold
from training.negatives.options import DynamicView, Given, NegativesOptions, Ties, View, in_range
from training.negatives.ranking import FusedRanking

# The views that the options name.


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


# Which places of a list ordered by difficulty are drawn in an epoch.


class BucketDraws:
    """Draws places by the schedule; what stands at a place is not known here.

    A list has the hardest negative at place 0 and as many places as its question has negatives,
    or candidates, where only the hardest ones are drawn from.

    Args:
        options: Schedule, buckets, shares and seed.
        gold: The questions.
    """

    def __init__(self, options: NegativesOptions, gold: Gold) -> None:
        self._options = options
        self._question_ids = gold.question_ids
        self._phase_shares = phase_shares(options.schedule, options.buckets)
        self._starts, ends = bucket_edges(options.list_lengths(gold), options.buckets)
        self._sizes = ends - self._starts

    def phases(self, progress: float | NDArray[np.float64]) -> NDArray[np.int64]:
        """The phase that each question is in.

        Args:
            progress: Share of training that is done, in [0, 1), one or `[n_questions]`.

        Returns:
            int64 `[n_questions]`.

        Raises:
            ValueError: A number is out of range, or they are too many or too few.
        """
        done = np.asarray(progress, dtype=np.float64)
        n_questions = len(self._question_ids)
        if done.shape not in ((), (n_questions,)):
            raise ValueError(
                f"progress must be one number or {n_questions:,}, one a question, not of shape "
                f"{done.shape}"
            )
        if not ((done >= 0) & (done < 1)).all():
            raise ValueError("progress must be in [0, 1): the share of training that is done")
        return phase_of(np.broadcast_to(done, n_questions), len(self._phase_shares))

    def places(self, epoch: int, phases: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The places drawn for each question, each at most once.

        Args:
            epoch: Another epoch, other places; but for "fixed", which takes the first.
            phases: int64 `[n_questions]`.
        """
        if self._options.schedule == "fixed":
            hardest = np.arange(self._options.negatives_per_question)
            return [hardest] * len(self._question_ids)
        counts = self.counts(epoch, phases)
        return [
            self._drawn(generator(self._options.seed, "draw", epoch, question), row, counts[row])
            for row, question in enumerate(self._question_ids)
        ]

    def counts(self, epoch: int, phases: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many each question draws from each bucket, int64 `[n_questions, n_buckets]`.

        The questions of one phase share an apportionment, so that an epoch that a phase ends in has
        the right shares before and after. Arguments as for `places`.
        """
        counts = np.zeros_like(self._sizes)
        for phase in np.unique(phases).tolist():
            (rows,) = np.nonzero(phases == phase)
            shares = self._phase_shares[phase]
            chance = generator(self._options.seed, "allot", epoch, phase)
            if self._options.share_of == "bucket":
                counts[rows] = allot_of_buckets(self._sizes[rows], shares, chance)
            else:
                n = self._options.negatives_per_question
                counts[rows] = allot(len(rows), n, shares, chance)
        return counts

    def buckets_at(self, rows: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int8]:
        """The bucket that a place of a question's list lies in, int8; 0 is the easiest.

        Args:
            rows: int64 `[n_places]`, which question.
            places: int64 `[n_places]`.
        """
        # As many buckets are easier as start behind the place.
        easier: NDArray[np.int8] = (self._starts[rows] > places[:, None]).sum(axis=1, dtype=np.int8)
        return easier

    def _drawn(
        self, chance: np.random.Generator, row: int, counts: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        buckets = zip(
            self._starts[row].tolist(), self._sizes[row].tolist(), counts.tolist(), strict=True
        )
        return np.concatenate(
            [start + chance.choice(size, count, replace=False) for start, size, count in buckets]
        )


# Questions are ranked in blocks of about so many (question, article) cells: some 100 MB.
BLOCK_CELLS = 1 << 20

_IntArray = NDArray[np.int64]


class CurriculumNegatives:
    """Draws each question's negatives for an epoch (CuSINeS, section 3).

    Every view ranks all articles but the question's positives; reciprocal ranks fuse the rankings;
    the fused list is cut into equal buckets from easy to difficult; and the schedule says how many
    negatives come from which bucket while training goes on. Within a bucket they are drawn at
    random, each at most once.

    Neither a positive of the question, nor one of another question with the same text, nor an
    article with a positive's text is ever drawn. The same seed draws the same negatives on every
    device, however many threads there are, in every process.

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
        views: Among "tree", "sequence", "semantic" (the model being trained), "bm25" and "run", and
            objects of your own (`training.negatives.options.View`); none draws uniformly at random.
        negatives_per_question: How many are drawn for each question and epoch; 0 leaves a batch's
            other articles as the only negatives. The paper gives no number.
        buckets: How many equal parts the fused list is cut into, 1 to 6; the paper has 3.
        schedule: "curriculum" goes from easy to difficult, "reversed" back; "constant" takes as
            many from each bucket; "fixed" takes the hardest of the list, the same in every epoch.
        share_of: What a share of .70 is: .70 of the `negatives_per_question`, or, as the paper
            prints it, .70% of the "bucket" (`negatives_per_question` is then not used).
        candidates: Only so many of a question's list, the hardest, are cut into buckets and drawn
            from; None takes the whole list, as the paper does.
        ties: "mid_rank" gives tied articles the middle of their ranks; "permutation" ranks them in
            an order of their own in each view.
        k: Of the reciprocal rank fusion.
        cross_law: How far articles of other laws are, as for `LegislativeTree.distances`.
        bm25_k1: Saturation of term frequency, of the view "bm25".
        bm25_b: Weight of length, of the view "bm25".
        run: TREC run file of the view "run".
        permute_tree: The control: articles change places at random in the tree and the sequence.
        text_rule: What of an article the view "bm25" indexes.
        seed: Decides ties, permutation and draws.
        device: Where ranks are made, such as "cuda"; by default CUDA where there is one, else CPU.

    Attributes:
        gold: The questions' positives, and what is never drawn.
        tree: The tree of the corpus, never permuted.
        options: The parameters.
        tie_shares: For each view, the share of negatives that it ties with another, in the last
            draw that ranked.

    Raises:
        ValueError: A parameter is wrong, or corpus and questions do not allow it; nothing has been
            computed then.
    """

    def __init__(
        self,
        articles: Sequence[Article],
        questions: Sequence[Question],
        *,
        views: Sequence[str | View] = ("tree", "sequence", "semantic"),
        negatives_per_question: int = 8,
        buckets: int = 3,
        schedule: Schedule = "curriculum",
        share_of: ShareOf = "negatives",
        candidates: int | None = None,
        ties: Ties = "mid_rank",
        k: int = 60,
        cross_law: CrossLaw = "farther",
        bm25_k1: float = 1.5,
        bm25_b: float = 0.75,
        run: str | Path | None = None,
        permute_tree: bool = False,
        text_rule: TextRule = "headings_text",
        seed: int = 0,
        device: str | torch.device | None = None,
    ) -> None:
        refuse_what_is_no_list(articles=articles, questions=questions, views=views)
        self.options = NegativesOptions(
            views=tuple(views),
            negatives_per_question=negatives_per_question,
            buckets=buckets,
            schedule=schedule,
            share_of=share_of,
            candidates=candidates,
            ties=ties,
            k=k,
            cross_law=cross_law,
            bm25_k1=bm25_k1,
            bm25_b=bm25_b,
            run=None if run is None else Path(run),
            permute_tree=permute_tree,
            text_rule=text_rule,
            seed=seed,
        )
        self.gold = Gold.of(articles, questions)
        self.options.check(self.gold)
        self.tree = LegislativeTree(articles)
        self.tie_shares: dict[str, float] = {}
        target = _ranking_device(device)
        chosen = views_of(self.options, articles, questions, self.gold, self.tree, target)
        self._dynamic = [view for view in chosen if isinstance(view, DynamicView)]
        self._ranking = (
            FusedRanking(chosen, self.gold, ties=ties, k=k, seed=seed, device=target)
            if chosen
            else None
        )
        self._draws = BucketDraws(self.options, self.gold)

    @property
    def n_articles(self) -> int:
        """Number of articles in the corpus."""
        return self.gold.n_articles

    @property
    def view_names(self) -> tuple[str, ...]:
        """The views, in the order that `DrawnNegatives.views` counts them in."""
        return self.options.view_names

    @property
    def needs_vectors(self) -> bool:
        """Whether `draw` must be given the vectors of questions and articles."""
        return bool(self._dynamic) and self.options.draws_any

    def phase(self, progress: float) -> int:
        """The phase of the schedule, from 0, in which all draws have the same shares.

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
            epoch: Number of the epoch, from 0; another epoch, other draws.
            progress: Share of the whole training that is done when a question's turn comes, in
                [0, 1): one for all questions, or float64 `[n_questions]`.
            questions: float32 `[n_questions, dim]` unit vectors, on any device; for dynamic views
                only, such as the semantic one.
            articles: float32 `[n_articles, dim]` unit vectors, likewise.

        Raises:
            ValueError: `epoch` or `progress` is out of range, or vectors are missing, no tensors,
                or of a wrong number or length.
        """
        in_range("epoch", epoch, 0, whole=True)
        chosen = self._draws.places(epoch, self._draws.phases(progress))
        starts = np.concatenate([[0], np.cumsum([len(each) for each in chosen])])
        places = np.concatenate(chosen)
        rows = np.repeat(np.arange(len(chosen)), np.diff(starts))
        if self.needs_vectors:
            self._refresh(questions, articles)
        if self._ranking is not None and self.options.draws_any:
            drawn, views = self._from_ranking(self._ranking, rows, places)
        else:
            drawn, views = self._from_corpus(chosen), np.full(len(places), -1)
        buckets = self._draws.buckets_at(rows, places)
        return DrawnNegatives(drawn, starts, buckets, views.astype(np.int8))

    def _refresh(self, questions: Tensor | None, articles: Tensor | None) -> None:
        """Give every dynamic view the vectors of this draw."""
        if questions is None or articles is None:
            names = " and ".join(view.name for view in self._dynamic)
            raise ValueError(
                f"the model as it is now decides in {names}: give draw() the vectors of the "
                "questions and of the articles"
            )
        for name, vectors in (("questions", questions), ("articles", articles)):
            if not isinstance(vectors, Tensor):
                raise ValueError(
                    f"{name} must be vectors in a tensor, not {type(vectors).__name__}. Of a NumPy "
                    "array, torch.from_numpy makes one"
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
        """The articles at places of the corpus without what is excluded."""
        drawn = [self.gold.negatives_at(row, places) for row, places in enumerate(chosen)]
        return np.concatenate(drawn)


def refuse_what_is_no_list(**arguments: object) -> None:
    """Refuse an argument that is read once, or in no order: found out in the middle, or never.

    Raises:
        ValueError: One is no sequence; names it.
    """
    for name, given in arguments.items():
        # A text and a mapping have places too, but what is meant does not stand there.
        if isinstance(given, str | Mapping) or not hasattr(given, "__getitem__"):
            raise ValueError(
                f"{name} must be a list or another sequence, not {reprlib.repr(given)}. Give them "
                "in a list, in their order"
            )


def _ranking_device(device: str | torch.device | None) -> torch.device:
    resolved = resolve_device(None if device is None else str(device))
    # Apple's GPUs have no float64, which the ranks are fused in.
    return torch.device("cpu") if resolved.type == "mps" else resolved
