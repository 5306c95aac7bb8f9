"""The gates of a pipeline get the threshold that was calibrated for its store."""

from __future__ import annotations

from typing import Any

from haystack import Pipeline

from components.rankers.gate import AnswerabilityGate, load_threshold
from components.stores.sqlite import StatuteDocumentStore
from pipelines.files import LoadingError
from pipelines.scorer import scorer_of


def fill_thresholds(pipeline: Pipeline, where: str) -> None:
    """Fill each gate whose threshold is null, where one was calibrated for store and model.

    Args:
        pipeline: built and bound.
        where: the file, as messages name it.

    Raises:
        LoadingError: a gate's stage is not the one whose score the pipeline is calibrated by.
        StoreError: the store cannot be read.
    """
    components: dict[str, Any] = dict(pipeline.walk())
    stores = [getattr(each, "document_store", None) for each in components.values()]
    store = next((each for each in stores if isinstance(each, StatuteDocumentStore)), None)
    for name, gate in components.items():
        if not isinstance(gate, AnswerabilityGate) or gate.threshold is not None or store is None:
            continue
        if gate.stage == "dense" and store.model is None:
            continue  # vectors that nobody knows the model of have no threshold on record
        scorer = scorer_of(pipeline)
        if scorer.stage != gate.stage:
            listed = "best" if scorer.stage == "reranker" else "documents"
            raise LoadingError(
                f"{where}: {name}.stage is {gate.stage!r}, and the score that tells how near the "
                f"law comes is that of {scorer.component}, {scorer.stage!r}. Write that, and "
                f"connect {scorer.component}.{listed} to {name}.scored."
            )
        known = load_threshold(store, scorer.stage, scorer.model_digest)
        if known is not None:
            gate.threshold = known.threshold
