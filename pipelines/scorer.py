"""The one score of a pipeline that says how near the law comes to a question."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from haystack import Pipeline
from haystack.core.serialization import generate_qualified_class_name

from components.models.folder import find_model
from components.rankers.gate import ScoringStage
from components.stores.sqlite import StatuteDocumentStore
from pipelines.files import LoadingError
from pipelines.stages import Outputs, stages_of

if TYPE_CHECKING:
    from components.rankers.cross_encoder import StatuteRanker

# By name: a pipeline without a model should not wait for the libraries of models.
_RANKER = "components.rankers.cross_encoder.StatuteRanker"
_DENSE = "components.retrievers.embedding.StatuteEmbeddingRetriever"


@dataclass(frozen=True)
class Scorer:
    """The stage of a pipeline whose score means the same for every question.

    Fused scores do not: the first of a fused list has the same score whatever it is.

    Attributes:
        stage: "reranker" (0 to 1) or "dense" (cosine).
        component: its name in the file.
        model_digest: what gives the scores, as `load_threshold` asks for it.
    """

    stage: ScoringStage
    component: str
    model_digest: str

    def best(self, outputs: Outputs) -> float | None:
        """The best score that it gave an article in one run; None where it read none.

        A ranker's need not stand in its list, which the order before it counts in too.
        """
        listed = "documents" if self.stage == "dense" else "best"
        documents = outputs.get(self.component, {}).get(listed) or []
        scores = [document.score for document in documents if document.score is not None]
        return max((score for score in scores if math.isfinite(score)), default=None)


def scorer_of(pipeline: Pipeline) -> Scorer:
    """The scorer of a pipeline that `load_pipeline` loaded: its last ranker, else its one dense
    retriever.

    Raises:
        LoadingError: it has neither, or several dense retrievers, or one over a store without a
            model on record; or it declares no output `documents`.
        StoreError: the store cannot be read.
        ModelError: the ranker cannot be found, or its folder is broken.
    """
    name = pipeline.metadata.get("name", "")
    components: dict[str, Any] = {
        stage.component: pipeline.get_component(stage.component) for stage in stages_of(pipeline)
    }
    kinds = {each: generate_qualified_class_name(type(components[each])) for each in components}
    rankers = [each for each in components if kinds[each] == _RANKER]
    if rankers:
        return Scorer("reranker", rankers[-1], _ranker_digest(components[rankers[-1]]))
    dense = [each for each in components if kinds[each] == _DENSE]
    if len(dense) != 1:
        found = f"{len(dense)} dense retrievers ({', '.join(dense)})" if dense else "neither"
        raise LoadingError(
            f"The pipeline {name} has no one score that says how near the law comes to a "
            "question: that takes a ranker or one dense retriever, and it has "
            f"{found}. Words shared (BM25) and fused ranks cannot say it. Take 'dense', 'hybrid' "
            "or 'hybrid_rerank', or a file with one of the two."
        )
    store = components[dense[0]].document_store
    model = store.model if isinstance(store, StatuteDocumentStore) else None
    if model is None:
        raise LoadingError(
            f"The pipeline {name}: {dense[0]}.document_store has no model on record, so nobody "
            "could tell later what its scores mean. Index the law with python -m pipelines.index."
        )
    return Scorer("dense", dense[0], model.digest)


def _ranker_digest(ranker: StatuteRanker) -> str:
    """`ranker_digest` of its model; of a ranker that scores otherwise than by default, its own."""
    from components.models.cross_encoder import ranker_digest
    from components.models.errors import ModelError

    if ranker.model is None:
        raise ModelError("StatuteRanker.model is null. Load the pipeline with load_pipeline.")
    digest = ranker_digest(find_model(ranker.model))
    otherwise = {"calibrated": ranker.calibrated, "meta_fields": ranker.meta_fields or []}
    if not any(otherwise.values()):
        return digest
    named = json.dumps({"ranker": digest, **otherwise}, sort_keys=True)
    return hashlib.sha256(named.encode()).hexdigest()
