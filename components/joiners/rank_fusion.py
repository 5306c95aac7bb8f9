"""StatuteRankFuser: fuses several ranked lists of articles into one."""

import math
from dataclasses import replace
from itertools import chain
from typing import cast

from haystack import Document, component

from components.converters.articles import headings_of, language_of, ranks_of
from components.parameters import StatuteComponent, check_number, check_numbers, checked_top_k
from components.statutes.article import indexed_text
from components.statutes.fusion import FUSION_K, fused_scores
from components.statutes.lexical import coverage, trust

CITATION = "citation"
_OTHER_INPUTS = {"pinned", "query", "top_k", "unanswerable"}


@component
class StatuteRankFuser(StatuteComponent):
    """Fuses the lists of several retrievers by their ranks, keyed by article id.

    The score is that of `components.statutes.fusion.fused_scores`, divided by the highest possible
    one, the sum of `w_s / (k + 1)` over all stages: 1 means first everywhere.

    ```python
    from haystack import Document

    from components.joiners.rank_fusion import StatuteRankFuser

    fuser = StatuteRankFuser(stages=["bm25", "dense"])
    a, b = Document(id="a"), Document(id="b")
    fuser.run(bm25=[a, b], dense=[b])["documents"][0].meta["ranks"]  # {"bm25": 2, "dense": 1}
    ```

    Each stage is an input socket of that name; a stage without input is an empty list. Another
    socket, `<stage>_weight`, takes a factor of its weight, such as a retriever's own measure of how
    far its list can be trusted. Pinned articles come before all others.

    If a question uses other words than the law, the list by words is random, and at full weight it
    pushes down the best articles by meaning. So `full_coverage` lowers a stage's weight: it counts
    in full if the stage's first article contains that share of the question's terms (headings and
    text, stems without stop words), and proportionally less otherwise.
    """

    def __init__(
        self,
        stages: list[str] | None = None,
        weights: dict[str, float] | None = None,
        k: float = FUSION_K,
        top_k: int = 10,
        full_coverage: dict[str, float] | None = None,
    ) -> None:
        """Make one input socket per stage.

        Args:
            stages: names of the lists; None means citation, bm25, dense. An article keeps the
                payload from the first of them.
            weights: weights of the stages, above 0; 1 by default.
            k: the fusion's constant: the higher, the less the first ranks stand out.
            top_k: how many to return at most.
            full_coverage: stages whose weight depends on the question, and for each the share of
                its terms, above 0 and up to 1, from which the stage has its full weight.

        Raises:
            TypeError: `top_k` is not a whole number.
            ValueError: a stage is named twice or as another input, or a number is out of range.
        """
        self.stages = stages
        self.weights = weights
        self.k = k
        self.top_k = checked_top_k("StatuteRankFuser", top_k, at_least=1)
        self.full_coverage = full_coverage
        check_number("StatuteRankFuser.k", k, lambda k: 0 <= k < math.inf, "0 or more")
        # The input sockets are fixed here; weights may be set later.
        self._stages = _checked_stages(stages)
        check_numbers(
            "StatuteRankFuser.weights",
            weights,
            self._stages,
            lambda weight: 0 < weight < math.inf,
            "above 0 (to drop a list, leave it out of the stages)",
        )
        check_numbers(
            "StatuteRankFuser.full_coverage",
            full_coverage,
            self._stages,
            lambda share: 0 < share <= 1,
            "above 0 and up to 1",
        )
        for stage in self._stages:
            component.set_input_type(self, stage, list[Document], default=[])
            component.set_input_type(self, f"{stage}_weight", float, default=1.0)

    @component.output_types(documents=list[Document])
    def run(
        self,
        pinned: list[Document] | None = None,
        top_k: int | None = None,
        query: str | None = None,
        unanswerable: bool = False,
        **lists: list[Document] | float,
    ) -> dict[str, list[Document]]:
        """Fuse ranked lists.

        Args:
            pinned: articles that come before all others, in this order, with score 1.
            top_k: how many to return at most, in place of the component's; 0 returns none.
            query: the question; only used by `full_coverage`.
            unanswerable: whether the question asks only for articles that the law lacks or that
                are left out (`CitationRetriever`): nothing is then returned.
            lists: one list per stage, best first; a repeated article counts at its best rank.
                `<stage>_weight` is a factor, 0 or more, by default 1.

        Returns:
            `documents`: each article once, without embedding, by score. `meta["ranks"]` is
            `{stage: rank}`, from 1, added to the ranks that it came with; pinned articles have
            the first ranks of "citation". Equal scores: in order of stages, then of ranks.

        Raises:
            TypeError: `top_k` is not a whole number.
            ValueError: a list of an unknown stage, a weight or a `top_k` out of range, or no
                `query` although `full_coverage` is set.
        """
        top_k = self.top_k if top_k is None else top_k
        checked_top_k("StatuteRankFuser", top_k, at_least=0)
        top_k = 0 if unanswerable else top_k
        factors = {stage: lists.pop(f"{stage}_weight", 1.0) for stage in self._stages}
        listed = cast("dict[str, list[Document]]", lists)
        if unknown := sorted(listed.keys() - set(self._stages)):
            raise ValueError(f"StatuteRankFuser.stages does not name {unknown[0]!r}.")
        weights = self._weights_for(query, listed)
        for stage, factor in factors.items():
            name = f"StatuteRankFuser.{stage}_weight"
            check_number(name, factor, lambda factor: 0 <= factor < math.inf, "0 or more")
            weights[stage] *= cast(float, factor)
        # The question's citations are one list: first the pinned ones, then those in doubt.
        above = dict.fromkeys(document.id for document in pinned or [])
        found = {stage: listed.get(stage, []) for stage in self._stages}
        documents: dict[str, Document] = {}
        ranks: dict[str, dict[str, int]] = {}
        for document in chain(pinned or [], *found.values()):
            documents.setdefault(document.id, document)
            ranks.setdefault(document.id, {}).update(ranks_of(document.meta))
        rankings = {stage: dict.fromkeys(each.id for each in found[stage]) for stage in found}
        if CITATION in rankings:
            rankings[CITATION] = above | rankings[CITATION]
        for stage, ids in [(CITATION, above), *rankings.items()]:
            for rank, id_ in enumerate(ids, start=1):
                ranks[id_][stage] = rank
        fused = fused_scores(list(rankings.values()), list(weights.values()), self.k)
        # If no stage has any weight, all scores are 0.
        highest = sum(weight / (self.k + 1) for weight in weights.values()) or 1.0
        scores = {id_: score / highest for id_, score in fused.items() if id_ not in above}
        ordered = [*above, *scores][:top_k]
        ranked = []
        for id_ in ordered:
            meta = {**documents[id_].meta, "ranks": ranks[id_]}
            document = replace(documents[id_], meta=meta, embedding=None)
            ranked.append(replace(document, score=scores.get(id_, 1.0)))
        return {"documents": ranked}

    def _weights_for(self, query: str | None, lists: dict[str, list[Document]]) -> dict[str, float]:
        """The stages' weights for a question."""
        weights = {stage: (self.weights or {}).get(stage, 1.0) for stage in self._stages}
        for stage, full in (self.full_coverage or {}).items():
            if query is None:
                raise ValueError(f"StatuteRankFuser.full_coverage of {stage} needs the `query`.")
            covered = 0.0
            if found := lists.get(stage):
                text = indexed_text(headings_of(found[0].meta), found[0].content or "")
                covered = coverage(query, text, language_of(found[0].meta))
            weights[stage] *= trust(covered, full)
        return weights


def _checked_stages(stages: list[str] | None) -> list[str]:
    names = [CITATION, "bm25", "dense"] if stages is None else stages
    distinct = len({*names, *_OTHER_INPUTS}) - len(_OTHER_INPUTS)
    if isinstance(names, str) or not names or distinct < len(names):
        raise ValueError(
            "StatuteRankFuser.stages must be names, each once and none of "
            f"{sorted(_OTHER_INPUTS)}, got {names!r}."
        )
    return list(names)
