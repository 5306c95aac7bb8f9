"""AnswerabilityGate: lets nothing through when nothing found is near enough."""

import math
from dataclasses import replace
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict

from components.converters.articles import ranks_of
from components.retrievers.top_k import is_number
from components.stores.answerability import ScoringStage


@component
class AnswerabilityGate:
    """Decides whether what was found answers the question at all.

    ```python
    from haystack import Document

    from components.rankers.gate import AnswerabilityGate

    gate = AnswerabilityGate(threshold=0.5)
    near = Document(id="a", score=0.4)
    gate.run(documents=[near], scored=[near])  # documents: [], closest: {"id": "a", ...}
    ```

    It looks at the best score that one stage gave, a similarity or a re-ranker's score: fused
    ranks say nothing of how near an article is. `python -m pipelines.calibrate` finds the
    threshold on questions. What the question cites without doubt passes; so does everything where a
    re-ranker had no time to read all and nothing that it read is near enough: nobody knows what the
    rest says.
    """

    def __init__(self, threshold: float | None = None, stage: ScoringStage = "dense") -> None:
        """Keep the parameters.

        Args:
            threshold: the score from which on an article counts as an answer; None lets all
                through. In our YAML null means the one that was calibrated for the store.
            stage: whose scores `scored` has.

        Raises:
            ValueError: the threshold is no number, or there is no such stage.
        """
        self.threshold = threshold
        self.stage = stage
        if threshold is not None and not (is_number(threshold) and math.isfinite(threshold)):
            raise ValueError(f"AnswerabilityGate.threshold must be a number, got {threshold!r}.")
        if stage not in ("dense", "reranker"):
            raise ValueError(
                f"AnswerabilityGate.stage must be 'dense' or 'reranker', got {stage!r}."
            )

    def to_dict(self) -> dict[str, Any]:
        """Serialise every parameter."""
        return default_to_dict(self, threshold=self.threshold, stage=self.stage)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "AnswerabilityGate":
        """The component that `to_dict` described."""
        return default_from_dict(cls, data)

    @component.output_types(documents=list[Document], closest=dict[str, Any])
    def run(
        self,
        documents: list[Document],
        scored: list[Document],
        pinned: list[Document] | None = None,
        ranking: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Decide.

        Args:
            documents: what was found, best first.
            scored: the stage's list with its scores (of `StatuteRanker` its `best` will do); of a
                re-ranker's, what it did not read does not count.
            pinned: what the question cites without doubt.
            ranking: a re-ranker's `meta`, with `n_candidates` and the `n_ranked` of them that it
                had time for; None where it reads all.

        Returns:
            `documents`: as given, or only the pinned ones of them.
            `closest`: the best of `scored`: its `id`, `law`, `number` and `score`, with `stage`,
            `threshold`, whether it was `enough`, and `unread`, how many candidates were not read.
            Without any, {}.
        """
        read = [each for each in scored if each.score is not None and math.isfinite(each.score)]
        if self.stage == "reranker":
            read = [each for each in read if "reranker" in ranks_of(each.meta)]
        best = max(read, key=lambda each: each.score or 0.0, default=None)
        enough = self.threshold is None or (
            best is not None and (best.score or 0.0) >= self.threshold
        )
        unread = ranking["n_candidates"] - ranking["n_ranked"] if ranking else 0
        closest = {}
        if best is not None:
            closest = {
                "id": best.id,
                "law": best.meta.get("law"),
                "number": best.meta.get("number"),
                "score": best.score,
                "stage": self.stage,
                "threshold": self.threshold,
                "enough": enough,
                "unread": unread,
            }
        passes = enough or unread > 0
        named = {each.id for each in pinned or []}
        passed = [replace(each, embedding=None) for each in documents if passes or each.id in named]
        return {"documents": passed, "closest": closest}

    @component.output_types(documents=list[Document], closest=dict[str, Any])
    async def run_async(
        self,
        documents: list[Document],
        scored: list[Document],
        pinned: list[Document] | None = None,
        ranking: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """`run`, which is short enough for an event loop."""
        return self.run(documents, scored, pinned, ranking)
