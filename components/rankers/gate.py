"""AnswerabilityGate: lets nothing through when nothing found is near enough."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from datetime import date
from typing import Annotated, Any, Literal, get_args

from haystack import Document, component, logging
from pydantic import AfterValidator, ConfigDict, Field, FiniteFloat
from pydantic.dataclasses import dataclass

from components.converters.articles import ranks_of
from components.parameters import StatuteComponent, check_number
from components.stores.sqlite import StatuteDocumentStore

logger = logging.getLogger(__name__)

ScoringStage = Literal["dense", "answered", "reranker"]
Unanswerable = Literal["marked", "taken out", "both"]

_FORMAT = "1"


_Text = Annotated[str, Field(min_length=1)]
_Count = Annotated[int, Field(ge=1)]
_Share = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True, slots=True, config=ConfigDict(strict=True, extra="forbid"))
class AnswerThreshold:
    """The score from which on a question counts as answered, and what it was measured by.

    A question is answered where the best score that the stage gave any article it read is
    `threshold` or more; else nothing was found. Precision and recall are of questions that the
    threshold was not chosen on; both precisions hold for `n_answerable` to `n_unanswerable`.

    Attributes:
        stage: whose score it is: "dense" (cosine, also of vectors that went through a graph
            network), "answered" (of `AnsweredQuestions`, about 0 to 1) or "reranker" (0 to 1).
        threshold: in that score.
        model_digest: what gave the scores; for "dense" the digest of the store's model, for
            "answered" that of the questions.
        questions: name of the set of questions.
        questions_sha256: its digest.
        split: which of them were asked.
        corpus_sha256: the corpus that the store held then; None where none was on record.
        n_answerable: questions with an answer.
        n_unanswerable: questions without.
        how: the questions without an answer: "marked" as such, or with their answers "taken out"
            of the candidates, or "both".
        precision: of the questions answered, the share that have an answer.
        recall: of the questions that have an answer, the share answered.
        nothing_precision: of the questions for which nothing was found, the share without answer.
        nothing_recall: of the questions without an answer, the share for which nothing was found.
        auc: chance that a question with an answer scores above one without.
        date: ISO day on which it was chosen.

    Raises:
        ValueError: a field is missing, unknown, of the wrong type or out of range; names it.
    """

    stage: ScoringStage
    threshold: FiniteFloat
    model_digest: _Text
    questions: _Text
    questions_sha256: _Text
    split: _Text
    corpus_sha256: str | None
    n_answerable: _Count
    n_unanswerable: _Count
    how: Unanswerable
    precision: _Share
    recall: _Share
    nothing_precision: _Share
    nothing_recall: _Share
    auc: _Share
    date: Annotated[str, AfterValidator(lambda day: date.fromisoformat(day).isoformat())]


def save_threshold(store: StatuteDocumentStore, threshold: AnswerThreshold) -> None:
    """Keep a threshold in the store, in place of the one of the same stage and model.

    The store's content version stays: no index is built again.

    Raises:
        StoreError: the store cannot be written.
    """
    content = json.dumps(asdict(threshold)).encode()
    store.save_blob(_name(threshold.stage, threshold.model_digest), _FORMAT, content)


def load_threshold(
    store: StatuteDocumentStore, stage: ScoringStage, model_digest: str
) -> AnswerThreshold | None:
    """The threshold that was chosen for a stage and model, or None where there is none.

    One that cannot be read, or was written in another format, counts as none, with a warning. One
    that was chosen on another state of the corpus is given, with a warning: a score means the same
    under the same model, but its precision and recall were measured on other candidates.

    Args:
        store: that it was saved in.
        stage: whose score it is about.
        model_digest: what gives the scores now.

    Raises:
        StoreError: the store cannot be read.
    """
    kept = store.load_blob(_name(stage, model_digest))
    if kept is None:
        return None
    threshold: AnswerThreshold | None = None
    fault = "is of another format, stage or model"
    try:
        read = AnswerThreshold(**json.loads(kept[1]))
        if (kept[0], read.stage, read.model_digest) == (_FORMAT, stage, model_digest):
            threshold = read
            fault = f"was chosen on {read.date}, and the law has changed since"
    except (TypeError, ValueError, RecursionError) as error:
        fault = f"cannot be read ({error})"
    if threshold is None or threshold.corpus_sha256 != store.publisher.recorded_corpus():
        logger.warning(
            "{store}: the threshold of the stage {stage} {fault}. Choose it again with "
            "python -m pipelines.calibrate.",
            store=store.path,
            stage=stage,
            fault=fault,
        )
    return threshold


def _name(stage: str, model_digest: str) -> str:
    return f"answer threshold {stage} {model_digest}"


@component
class AnswerabilityGate(StatuteComponent):
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
            stage: whose score among those of `scored` counts. With a null threshold our YAML takes
                "dense" for "answered" where the store has a threshold of answered questions.

        Raises:
            ValueError: the threshold is no number, or there is no such stage.
        """
        self.threshold = threshold
        self.stage = stage
        if threshold is not None:
            check_number("AnswerabilityGate.threshold", threshold, math.isfinite, "a number")
        if stage not in get_args(ScoringStage):
            stages = ", ".join(map(repr, get_args(ScoringStage)))
            raise ValueError(f"AnswerabilityGate.stage must be one of {stages}, got {stage!r}.")

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
        # A retriever's own list has no ranks yet, a hybrid one's evidence and a ranker's have.
        unnamed = {} if self.stage == "reranker" else {self.stage: 0}
        read = [
            each
            for each in scored
            if each.score is not None
            and math.isfinite(each.score)
            and self.stage in (ranks_of(each.meta) or unnamed)
        ]
        best = max(read, key=lambda each: each.score or 0.0, default=None)
        if best is None or self.threshold is None:
            # No answered question is about the articles searched, which proves nothing.
            enough = self.threshold is None or self.stage == "answered"
        else:
            enough = (best.score or 0.0) >= self.threshold
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
