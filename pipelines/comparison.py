"""Two pipelines on one question: what each found, what moved between them, and why."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, NamedTuple

from haystack import Document, Pipeline

from components.converters.articles import ranks_of
from components.joiners.rank_fusion import CITATION
from pipelines.asking import declared_output, found_article, run
from pipelines.stages import Outputs, Stage, ranked_last, stages_of, stopwatch

SHOWN = 10
# A place is told so far down, where the pipeline can be asked for more without working otherwise.
DEPTH = 100

Movement = Literal["same", "up", "down", "new", "gone"]


@dataclass(frozen=True, slots=True)
class StageRanking:
    """What one stage said of the articles.

    Attributes:
        name: as `pipelines.stages.Stage` has it.
        ranks: of the articles that it found, or read, by id, from 1.
        cut: the length of its list, where more may have fitted below; None for all that it found.
    """

    name: str
    ranks: Mapping[str, int]
    cut: int | None


class Lap(NamedTuple):
    """How long a component worked: a stage by its name, any other by its name in the file."""

    name: str
    ms: float


@dataclass(frozen=True, slots=True)
class Found:
    """What one pipeline found for a question.

    Attributes:
        pipeline: its name.
        articles: best first, as `pipelines.asking.found_article` makes them; more than `SHOWN`
            where the pipeline gives them.
        cut: the number of articles, where more may stand below them; None for all that it found.
        stages: whose ranks explain the places, in their order. Among them is not the one that
            only joins the others to the places themselves.
        laps: of each component, in the order in which they ran.
        took_ms: of the whole run.
        missing: articles that the question names and the law has not, as named.
    """

    pipeline: str
    articles: Sequence[Mapping[str, Any]]
    cut: int | None
    stages: Sequence[StageRanking]
    laps: Sequence[Lap]
    took_ms: float
    missing: Sequence[str] = ()

    @property
    def rest_ms(self) -> float:
        """What no component accounts for: copying between them, and their scheduling."""
        return max(0.0, self.took_ms - sum(lap.ms for lap in self.laps))


class Told(NamedTuple):
    """What a stage said of an article.

    Attributes:
        rank: from 1; None where it did not find, or read, the article.
        cut: where it did not, the length of its list if more may have fitted below.
    """

    rank: int | None
    cut: int | None


class Fact(NamedTuple):
    """What a stage said of an article on both sides; None for a side without that stage."""

    stage: str
    left: Told | None
    right: Told | None


@dataclass(frozen=True, slots=True)
class Moved:
    """One article on both sides.

    Attributes:
        article: as `pipelines.asking.found_article` makes it.
        left: its place in the left list, from 1; None where that has it nowhere.
        right: its place in the right list.
        facts: what the stages said of it; of citations only where it is cited.
    """

    article: Mapping[str, Any]
    left: int | None
    right: int | None
    facts: Sequence[Fact]

    @property
    def movement(self) -> Movement:
        """From left to right, among the first `SHOWN` of both."""
        if not _is_shown(self.left):
            return "new"
        if not _is_shown(self.right):
            return "gone"
        return "same" if self.by == 0 else "up" if self.by > 0 else "down"

    @property
    def by(self) -> int:
        """By how many places it stands higher on the right; 0 where it is not on both sides."""
        return 0 if self.left is None or self.right is None else self.left - self.right


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two pipelines on one question.

    Attributes:
        left: what the one found.
        right: what the other found.
        moved: each of the first `SHOWN` articles of either, by id.
    """

    left: Found
    right: Found
    moved: Mapping[str, Moved]

    def count(self, *movements: Movement) -> int:
        """How many articles moved in one of these ways."""
        return sum(each.movement in movements for each in self.moved.values())


def find(pipeline: Pipeline, question: str) -> Found:
    """Ask a pipeline, and note what each stage said and how long it worked.

    Args:
        pipeline: loaded by `load_pipeline`, and made ready by `pipelines.stages.time_components`.
        question: clean.

    Raises:
        LoadingError, StoreError, ModelError: as `pipelines.asking.ask`.
    """
    stages = stages_of(pipeline)
    component, socket = ranked_last(pipeline)
    declared, _ = declared_output(pipeline, "documents")
    asked = {stage.component for stage in stages}
    named, missing = "", ""
    if "missing" in pipeline.metadata["outputs"]:
        named, missing = declared_output(pipeline, "missing")
        asked.add(named)
    # A deeper list is asked for only where that reaches the last component alone.
    targets = pipeline.metadata.get("inputs", {}).get("top_k", [])
    depth = DEPTH if targets == [f"{component}.top_k"] else None
    start = time.perf_counter()
    with stopwatch() as seconds:
        outputs = run(pipeline, question, asked, top_k=depth)
    took_ms = (time.perf_counter() - start) * 1000
    names = {stage.component: stage.name for stage in stages}
    documents = outputs[component][socket]
    today = date.today()
    return Found(
        pipeline=str(pipeline.metadata.get("name", "")),
        articles=[found_article(document, today) for document in documents],
        cut=_cut(len(documents), stages[-1].top_k if depth is None else depth),
        stages=_rankings(stages, outputs, documents),
        laps=[
            Lap(names.get(name, name), each * 1000)
            for name, each in seconds.items()
            if name != declared or name == component  # `result` only hands on
        ],
        took_ms=took_ms,
        missing=outputs.get(named, {}).get(missing, ()),
    )


def compare(left: Found, right: Found) -> Comparison:
    """What moved between two rankings of one law, by article."""
    places = [
        {article["id"]: place for place, article in enumerate(side.articles, start=1)}
        for side in (left, right)
    ]
    shown = {article["id"]: article for side in (right, left) for article in side.articles[:SHOWN]}
    moved = {
        id_: Moved(article, places[0].get(id_), places[1].get(id_), _facts(id_, left, right))
        for id_, article in shown.items()
    }
    return Comparison(left, right, moved)


def _rankings(
    stages: Sequence[Stage], outputs: Outputs, documents: Sequence[Document]
) -> list[StageRanking]:
    *before, last = stages
    rankings = [_ranking(stage, outputs) for stage in before]
    if not last.takes:
        return [_ranking(last, outputs)]
    # A re-ranker says of what it has read which rank it gave; what a fuser says are the places.
    read = {
        document.id: ranks_of(document.meta)[last.name]
        for document in documents
        if last.name in ranks_of(document.meta)
    }
    if not read:
        return rankings
    # What it has not read stands below; where nothing does, it may have read more than is listed.
    cut = len(read) if documents[-1].id in read else None
    return [*rankings, StageRanking(last.name, read, cut)]


def _ranking(stage: Stage, outputs: Outputs) -> StageRanking:
    ranks = stage.ranks(outputs)
    return StageRanking(stage.name, ranks, _cut(len(ranks), stage.top_k))


def _cut(length: int, top_k: int | None) -> int | None:
    """The length of a list that may go on below; None for a whole one."""
    return length if top_k is None or length >= top_k else None


def _facts(id_: str, left: Found, right: Found) -> list[Fact]:
    lefts, rights = ({stage.name: stage for stage in side.stages} for side in (left, right))
    facts = (
        Fact(name, _told(id_, lefts.get(name)), _told(id_, rights.get(name)))
        for name in dict.fromkeys([*lefts, *rights])
    )
    return [fact for fact in facts if fact.stage != CITATION or _is_found(fact)]


def _told(id_: str, stage: StageRanking | None) -> Told | None:
    if stage is None:
        return None
    rank = stage.ranks.get(id_)
    return Told(rank, stage.cut if rank is None else None)


def _is_found(fact: Fact) -> bool:
    return any(told is not None and told.rank is not None for told in (fact.left, fact.right))


def _is_shown(place: int | None) -> bool:
    return place is not None and place <= SHOWN
