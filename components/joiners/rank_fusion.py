"""StatuteRankFuser: several ranked lists of articles into one."""

import math
from dataclasses import replace
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict

from components.converters.articles import headings_of, language_of, ranks_of
from components.parameters import checked_top_k, is_number
from components.statutes.article import indexed_text
from components.statutes.lexical import coverage, trust

CITATION = "citation"
_OTHER_INPUTS = {"pinned", "query", "top_k"}


@component
class StatuteRankFuser:
    """Fuses the lists of several retrievers by their ranks, keyed by article id.

    `score(a) = sum over stages s that found a of w_s / (k + rank_s(a))`, divided by the highest
    score there can be, the sum of `w_s / (k + 1)` over all stages: 1 is first everywhere
    (Cormack, Clarke and Buettcher, SIGIR 2009, with weights).

    ```python
    from haystack import Document

    from components.joiners.rank_fusion import StatuteRankFuser

    fuser = StatuteRankFuser(stages=["bm25", "dense"])
    a, b = Document(id="a"), Document(id="b")
    fuser.run(bm25=[a, b], dense=[b])["documents"][0].meta["ranks"]  # {"bm25": 2, "dense": 1}
    ```

    Each stage is an input socket of that name; a stage without input is an empty list. Pinned
    articles stand above all others.

    A question asked in other words than the law's makes a list by words that is chance, and at full
    weight it costs the list by meaning its first places. So `full_coverage` takes weight off a
    stage: all of it counts where the article that the stage has first holds that share of the
    question's terms (headings and text, stems without stop words), and less in proportion.
    """

    def __init__(
        self,
        stages: list[str] | None = None,
        weights: dict[str, float] | None = None,
        k: float = 10,
        top_k: int = 10,
        full_coverage: dict[str, float] | None = None,
    ) -> None:
        """Make one input socket a stage.

        Args:
            stages: names of the lists; None is citation, bm25, dense. An article keeps the payload
                that the first of them gives.
            weights: of the stages, above 0; 1 where none is given.
            k: how flat the ranks' worth is: the higher, the less the first ranks stand out.
            top_k: how many to return at most.
            full_coverage: stages whose weight hangs on the question, and the share of its terms,
                above 0 and up to 1, from which on it is whole.

        Raises:
            TypeError: `top_k` is no whole number.
            ValueError: a stage is named twice or as another input, or a number is out of range.
        """
        self.stages = stages
        self.weights = weights
        self.k = k
        self.top_k = checked_top_k("StatuteRankFuser", top_k, at_least=1)
        self.full_coverage = full_coverage
        # The input sockets are made of them once; weights may be set later.
        self._stages = list(_checked_weights(stages, weights))
        _check_coverage(full_coverage, self._stages)
        if not (is_number(k) and 0 <= k < math.inf):
            raise ValueError(f"StatuteRankFuser.k must be 0 or more, got {k!r}.")
        for stage in self._stages:
            component.set_input_type(self, stage, list[Document], default=[])

    def to_dict(self) -> dict[str, Any]:
        """Serialise every parameter."""
        return default_to_dict(
            self,
            stages=self.stages,
            weights=self.weights,
            k=self.k,
            top_k=self.top_k,
            full_coverage=self.full_coverage,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "StatuteRankFuser":
        """The component that `to_dict` described."""
        return default_from_dict(cls, data)

    @component.output_types(documents=list[Document])
    def run(
        self,
        pinned: list[Document] | None = None,
        top_k: int | None = None,
        query: str | None = None,
        **lists: list[Document],
    ) -> dict[str, list[Document]]:
        """Fuse ranked lists.

        Args:
            pinned: articles that stand above all others, in this order, with score 1.
            top_k: how many to return at most, in place of the component's; 0 returns none.
            query: the question; for `full_coverage` alone.
            lists: one a stage, best first; a repeated article counts at its best rank.

        Returns:
            `documents`: each article once, without embedding, by score. `meta["ranks"]` is
            `{stage: rank}`, from 1, added to the ranks that it came with; pinned articles have
            the first ranks of "citation". Equal scores: in order of stages, then of ranks.

        Raises:
            TypeError: `top_k` is no whole number.
            ValueError: a list of no known stage, a weight or a `top_k` out of range, or no `query`
                where there is a `full_coverage`.
        """
        top_k = self.top_k if top_k is None else top_k
        checked_top_k("StatuteRankFuser", top_k, at_least=0)
        unknown = sorted(lists.keys() - set(self._stages))
        if unknown:
            raise ValueError(
                f"StatuteRankFuser has no stage {unknown[0]!r}; its stages are "
                f"{', '.join(self._stages)}. Name it in StatuteRankFuser.stages."
            )
        weights = self._weights_for(query, lists)
        pinned_ids = dict.fromkeys(document.id for document in pinned or [])
        documents: dict[str, Document] = {}
        ranks: dict[str, dict[str, int]] = {}
        for listed in [pinned or [], *(lists.get(stage, []) for stage in self._stages)]:
            for document in listed:
                documents.setdefault(document.id, document)
                ranks.setdefault(document.id, {}).update(ranks_of(document.meta))
        for rank, id_ in enumerate(pinned_ids, start=1):
            ranks[id_][CITATION] = rank
        fused: dict[str, float] = {}
        for stage, weight in weights.items():
            # What the question cites is one list: first the pinned, then those in doubt.
            ahead = pinned_ids if stage == CITATION else {}
            ids = dict.fromkeys([*ahead, *(document.id for document in lists.get(stage, []))])
            for rank, id_ in enumerate(ids, start=1):
                ranks[id_][stage] = rank
                fused[id_] = fused.get(id_, 0.0) + weight / (self.k + rank)
        # Where nothing has any weight, all have the score 0.
        highest = sum(weight / (self.k + 1) for weight in weights.values()) or 1.0
        scores = {id_: fused[id_] / highest for id_ in fused if id_ not in pinned_ids}
        ordered = [*pinned_ids, *sorted(scores, key=lambda id_: -scores[id_])][:top_k]
        return {
            "documents": [
                replace(
                    documents[id_],
                    meta={**documents[id_].meta, "ranks": ranks[id_]},
                    score=scores.get(id_, 1.0),
                    embedding=None,
                )
                for id_ in ordered
            ]
        }

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        pinned: list[Document] | None = None,
        top_k: int | None = None,
        query: str | None = None,
        **lists: list[Document],
    ) -> dict[str, list[Document]]:
        """`run`, which is short enough for an event loop."""
        return self.run(pinned, top_k, query, **lists)

    def _weights_for(self, query: str | None, lists: dict[str, list[Document]]) -> dict[str, float]:
        """The stages' weights for a question."""
        weights = _checked_weights(self._stages, self.weights)
        for stage, full in (self.full_coverage or {}).items():
            if query is None:
                raise ValueError(
                    f"StatuteRankFuser.full_coverage needs the question, to weigh {stage}: give "
                    "the fuser its `query` too."
                )
            covered = 0.0
            if found := lists.get(stage):
                text = indexed_text(headings_of(found[0].meta), found[0].content or "")
                covered = coverage(query, text, language_of(found[0].meta))
            weights[stage] *= trust(covered, full)
        return weights


def _checked_weights(
    stages: list[str] | None, weights: dict[str, float] | None
) -> dict[str, float]:
    named = [CITATION, "bm25", "dense"] if stages is None else stages
    if (
        isinstance(named, str)
        or not named
        or len(set(named)) != len(named)
        or _OTHER_INPUTS & set(named)
    ):
        raise ValueError(
            "StatuteRankFuser.stages must be names, each once and none of "
            f"{sorted(_OTHER_INPUTS)}, got {named!r}."
        )
    _check_by_stage("weights", weights)
    for stage, weight in (weights or {}).items():
        if stage not in named:
            raise ValueError(
                f"StatuteRankFuser.weights names {stage!r}, which is none of the stages "
                f"{', '.join(named)}."
            )
        if not (is_number(weight) and 0 < weight < math.inf):
            raise ValueError(
                f"StatuteRankFuser.weights[{stage!r}] must be above 0, got {weight!r}. "
                "To do without a list, leave it out of the stages."
            )
    return {stage: (weights or {}).get(stage, 1.0) for stage in named}


def _check_coverage(full_coverage: dict[str, float] | None, stages: list[str]) -> None:
    _check_by_stage("full_coverage", full_coverage)
    for stage, share in (full_coverage or {}).items():
        if stage not in stages:
            raise ValueError(
                f"StatuteRankFuser.full_coverage names {stage!r}, which is none of the stages "
                f"{', '.join(stages)}."
            )
        if not (is_number(share) and 0 < share <= 1):
            raise ValueError(
                f"StatuteRankFuser.full_coverage[{stage!r}] must be above 0 and up to 1, got "
                f"{share!r}."
            )


def _check_by_stage(name: str, value: object) -> None:
    if not (value is None or isinstance(value, dict)):
        raise ValueError(f"StatuteRankFuser.{name} must be numbers by stage, got {value!r}.")
