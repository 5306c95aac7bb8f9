"""load_pipeline: the one door through which pipeline files come in."""

from __future__ import annotations

import copy
import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin

from haystack import Document, Pipeline
from haystack.core.serialization import generate_qualified_class_name

from components.converters.articles import ranks_of
from components.joiners.rank_fusion import StatuteRankFuser
from components.models.folder import find_model
from components.rankers.gate import (
    AnswerabilityGate,
    AnswerThreshold,
    ScoringStage,
    load_threshold,
)
from components.stores.sqlite import StatuteDocumentStore
from pipelines.checking import AllowList, check_definition
from pipelines.files import (
    LoadingError,
    components_in,
    did_you_mean,
    pipeline_file,
    read_pipeline_file,
)
from pipelines.stages import Outputs, stages_of

if TYPE_CHECKING:
    from components.rankers.cross_encoder import StatuteRanker
    from components.retrievers.embedding import StatuteEmbeddingRetriever
    from components.retrievers.hybrid import StatuteHybridRetriever


_Sockets = Mapping[str, Mapping[str, Any]]
_Declared = Mapping[str, Mapping[str, list[str]]]


def check_wiring(pipeline: Pipeline, declared: _Declared, where: str) -> None:
    """Check that the declared sockets are there, and that every mandatory input is fed.

    A file without inputs is run with whatever its user gives it, so nothing is checked there.

    Args:
        pipeline: built, its components connected.
        declared: `inputs` and `outputs`, each with its names and their `component.socket`s.
        where: the file, as messages name it.

    Raises:
        LoadingError: names the socket, and how to fix it.
    """
    inputs = pipeline.inputs(include_components_with_connected_inputs=True)
    outputs = pipeline.outputs(include_components_with_connected_outputs=True)
    for side, present in (("inputs", inputs), ("outputs", outputs)):
        for name, targets in declared[side].items():
            for component, socket in (target.split(".") for target in targets):
                if socket not in present.get(component, {}):
                    raise LoadingError(
                        f"{where}: {side}.{name}: {component} has no open socket "
                        f"'{socket}'{did_you_mean(socket, present.get(component, {}))}."
                    )
    for target in declared["outputs"].get("documents", []):
        component, socket = target.split(".")
        if not _is_list(outputs[component][socket]):
            raise LoadingError(
                f"{where}: outputs.documents: {target} is not a list of documents. Name the socket "
                "that hands out the articles found, such as retriever.documents."
            )
    fed = {f"{to}.{edge['to_socket'].name}" for _, to, edge in pipeline.graph.edges(data=True)}
    fed.update(target for targets in declared["inputs"].values() for target in targets)
    for component, sockets in inputs.items() if declared["inputs"] else ():
        unfed = {name: of for name, of in sockets.items() if f"{component}.{name}" not in fed}
        _check_fed(pipeline.get_component(component), component, unfed, where)


def _check_fed(instance: object, component: str, unfed: _Sockets, where: str) -> None:
    for socket, of in unfed.items():
        if of["is_mandatory"]:
            raise LoadingError(
                f"{where}: components.{component}: nothing goes into its input '{socket}'. Connect "
                f"{component}.{socket}, name it under 'inputs', or take the component out."
            )
        # A stage without its list would be an empty one.
        if isinstance(instance, StatuteRankFuser) and _is_list(of):
            raise LoadingError(
                f"{where}: {component}.stages: nothing is connected to the stage '{socket}'. Add "
                f"the connection of a list to {component}.{socket}, or take it out of the stages."
            )
    if isinstance(instance, StatuteRankFuser) and instance.full_coverage and "query" in unfed:
        raise LoadingError(
            f"{where}: {component}.full_coverage needs the question: add {component}.query to "
            "inputs.query, or take full_coverage out."
        )


def _is_list(socket: Mapping[str, Any]) -> bool:
    type_ = socket["type"]
    return get_origin(type_) is list and get_args(type_) == (Document,)


# By name: a pipeline without a model should not wait for the libraries of models.
_RANKER = "components.rankers.cross_encoder.StatuteRanker"
_DENSE = "components.retrievers.embedding.StatuteEmbeddingRetriever"
_HYBRID = "components.retrievers.hybrid.StatuteHybridRetriever"


@dataclass(frozen=True)
class Scorer:
    """The stage of a pipeline whose score means the same for every question.

    Fused scores do not: the first of a fused list has the same score whatever it is.

    Attributes:
        stage: "reranker" (0 to 1), "dense" or "answered" (both cosines).
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
        found = outputs.get(self.component, {})
        documents = found.get("best" if self.stage == "reranker" else "documents") or []
        if "evidence" in found:  # of a hybrid retriever, whose documents have fused scores
            documents = [each for each in found["evidence"] if self.stage in ranks_of(each.meta)]
        scores = [document.score for document in documents if document.score is not None]
        return max((score for score in scores if math.isfinite(score)), default=None)


def scorer_of(pipeline: Pipeline) -> Scorer:
    """The scorer of a pipeline that `load_pipeline` loaded: its last ranker, else its one retriever
    that searches vectors. If this searches answered questions too, they tell more than the vectors.

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
    dense = [
        each
        for each in components
        if kinds[each] == _DENSE or (kinds[each] == _HYBRID and components[each].model is not None)
    ]
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
    if (questions := _questions_digest(components[dense[0]])) is not None:
        return Scorer("answered", dense[0], questions)
    return Scorer("dense", dense[0], model.digest)


def threshold_by_meaning(
    retriever: StatuteEmbeddingRetriever | StatuteHybridRetriever,
) -> AnswerThreshold | None:
    """The threshold calibrated for what a retriever finds by meaning.

    It is that of the answered questions that it searches, or else that of the vectors.

    Raises:
        StoreError: the store cannot be read.
    """
    store = retriever.document_store
    if not isinstance(store, StatuteDocumentStore) or store.model is None:
        return None
    if (questions := _questions_digest(retriever)) is not None:
        known = load_threshold(store, "answered", questions)
        if known is not None:
            return known
    return load_threshold(store, "dense", store.model.digest)


def _questions_digest(retriever: StatuteEmbeddingRetriever | StatuteHybridRetriever) -> str | None:
    """Of the answered questions that a retriever searches; None if it searches none."""
    from components.retrievers.answered import recorded_questions
    from components.retrievers.hybrid import StatuteHybridRetriever

    if not isinstance(retriever, StatuteHybridRetriever) or not retriever.answered_questions():
        return None
    assert isinstance(retriever.document_store, StatuteDocumentStore)
    record = recorded_questions(retriever.document_store)
    return None if record is None else hashlib.sha256(record.encode()).hexdigest()


def _ranker_digest(ranker: StatuteRanker) -> str:
    """`ranker_digest` of its model; of a ranker that scores otherwise than by default, its own."""
    from components.models.cross_encoder import ranker_digest
    from components.models.errors import ModelError

    if ranker.model is None:
        raise ModelError("StatuteRanker.model is null. Load the pipeline with load_pipeline.")
    digest = ranker_digest(find_model(ranker.model))
    if not ranker.meta_fields:
        return digest
    named = json.dumps({"ranker": digest, "meta_fields": ranker.meta_fields}, sort_keys=True)
    return hashlib.sha256(named.encode()).hexdigest()


def fill_thresholds(pipeline: Pipeline, where: str) -> None:
    """Fill each gate whose threshold is null, where one was calibrated for store and model.

    Args:
        pipeline: built and bound.
        where: the file, as messages name it.

    Raises:
        LoadingError: a gate's stage is not the one whose score the pipeline is calibrated by, or
            it has a threshold for scores that nothing gives.
        StoreError: the store cannot be read.
    """
    components: dict[str, Any] = dict(pipeline.walk())
    stores = [getattr(each, "document_store", None) for each in components.values()]
    store = next((each for each in stores if isinstance(each, StatuteDocumentStore)), None)
    by_words = any(
        generate_qualified_class_name(type(each)) == _HYBRID and each.model is None
        for each in components.values()
    )
    for name, gate in components.items():
        if not isinstance(gate, AnswerabilityGate) or store is None:
            continue
        if gate.threshold is not None:
            if by_words and gate.stage == "dense":
                raise LoadingError(
                    f"{where}: {name}.threshold is of scores by meaning, and {store.path} holds "
                    "text alone. Index it with a model, or leave the threshold out."
                )
            continue
        if gate.stage == "dense" and store.model is None:
            continue  # vectors whose model is unknown have no threshold on record
        scorer = scorer_of(pipeline)
        by_ranker = scorer.stage == "reranker"
        if by_ranker != (gate.stage == "reranker"):
            kind = generate_qualified_class_name(type(components[scorer.component]))
            listed = {_RANKER: "best", _HYBRID: "evidence"}.get(kind, "documents")
            raise LoadingError(
                f"{where}: {name}.stage is {gate.stage!r}, and the score that tells how near the "
                f"law comes is that of {scorer.component}, {scorer.stage!r}. Write that, and "
                f"connect {scorer.component}.{listed} to {name}.scored."
            )
        known = (
            load_threshold(store, "reranker", scorer.model_digest)
            if by_ranker
            else threshold_by_meaning(components[scorer.component])
        )
        if known is not None:
            gate.stage, gate.threshold = known.stage, known.threshold


__all__ = ["LoadingError", "allow_replies", "load_pipeline"]


def load_pipeline(
    name_or_path: str | Path,
    store: str | Path | None = None,
    model: str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    allowed_classes: Iterable[type | str] = (),
) -> Pipeline:
    """Load a pipeline by name ("hybrid") or from a YAML file, checked and ready to run.

    ```python
    from pipelines.loading import load_pipeline

    pipeline = load_pipeline("hybrid", store="adgm.db")
    question = "May a fund manager delegate its duties?"
    documents = pipeline.run({"query": question})["result"]["documents"]
    ```

    The file's `inputs` and `outputs` are in the pipeline's metadata; `pipelines.asking.ask` uses
    them, and needs no names of sockets.

    Args:
        name_or_path: name of a pipeline of Lexarbor, or path of a file.
        store: the store, in place of every path that the file gives. Where the file has
            `path: null`, the default is the demo store.
        model: the model, in place of those that the file gives. Where the file has `model: null`,
            the default is the model that the store was indexed with. A pipeline that reads none,
            such as lexical, passes it over, so that several can be loaded alike.
        overrides: `{"component.parameter": value}`, in place of what the file says.
        allowed_classes: classes that the file may name besides those of `pipelines.checking`,
            as classes or as "package.module.Class"; functions that it may name, by their names.
            An allowed class may do all that its parameters let it do.

    Raises:
        LoadingError: the file is refused, or its store and model do not fit; says what, where
            and how to fix it.
        StoreError: the store's file cannot be read.
        ModelError: the model cannot be loaded.
    """
    path = pipeline_file(name_or_path)
    read = _with_one_store(_with_sides(read_pipeline_file(path)))
    definition = _overridden(read, overrides or {}, str(path))
    allowed = AllowList(
        named=frozenset(
            each if isinstance(each, str) else f"{each.__module__}.{each.__name__}"
            for each in allowed_classes
        ),
        given=frozenset(overrides or {}),
    )
    modules = check_definition(definition, str(path), allowed)
    from pipelines.binding import bind, check_models

    bind(definition, str(path), store, model)
    pipeline = _built(definition, path, modules)
    check_models(definition, pipeline, str(path))
    fill_thresholds(pipeline, str(path))
    return pipeline


@contextmanager
def allow_replies() -> Iterator[None]:
    """Let Haystack resume a snapshot of an answer pipeline, which has checked replies in it.

    ```python
    with allow_replies():
        pipeline.run({}, pipeline_snapshot=snapshot)
    ```

    Otherwise Haystack loads no class but its own from a snapshot. Resume your own snapshots only:
    Haystack allows all of its classes there.
    """
    # Haystack has no public way that ends: `allow_deserialization_module` holds for the process.
    from haystack.core.serialization_security import _deserialization_context

    from components.statutes.replies.checked import CheckedReply

    with _deserialization_context([CheckedReply.__module__]):
        yield


def _with_sides(definition: dict[str, Any]) -> dict[str, Any]:
    """With `inputs` and `outputs` where a pipeline's own `dumps()` have them: in its metadata."""
    metadata = definition.get("metadata")
    known = metadata if isinstance(metadata, dict) else {}
    return {**{side: known[side] for side in ("inputs", "outputs") if side in known}, **definition}


def _with_one_store(definition: dict[str, Any]) -> dict[str, Any]:
    """With the file's first store wherever a component's `document_store` is null."""
    parameters = [inside for _, _, inside in components_in(definition)]
    named = (inside["document_store"] for inside in parameters if inside.get("document_store"))
    first = next(named, None)
    for inside in parameters:
        if "document_store" in inside and inside["document_store"] is None and first is not None:
            inside["document_store"] = copy.deepcopy(first)
    return definition


def _overridden(
    definition: dict[str, Any], overrides: Mapping[str, Any], where: str
) -> dict[str, Any]:
    changed = copy.deepcopy(definition)
    components = changed.get("components")
    for key, value in overrides.items():
        name, _, parameter = key.partition(".")
        fields = components.get(name) if isinstance(components, dict) else None
        if not parameter or not isinstance(fields, dict):
            known = [f"{each}.{parameter}" for each in components or {}]
            raise LoadingError(
                f"{where}: override '{key}' names no component{did_you_mean(key, known)}. "
                "Write it as 'component.parameter'."
            )
        # A malformed init_parameters is reported by the checks that follow.
        parameters = fields.setdefault("init_parameters", {})
        if isinstance(parameters, dict):
            parameters[parameter] = value
    return changed


def _built(definition: dict[str, Any], path: Path, modules: list[str]) -> Pipeline:
    from haystack.core.errors import DeserializationError, PipelineError

    try:
        pipeline = Pipeline.from_dict(definition, allowed_modules=modules)
    except (PipelineError, DeserializationError) as error:
        # Haystack repeats the component's whole definition before the reason.
        head = str(error).split(" with the following data", maxsplit=1)[0]
        reason = error.__cause__ if error.__cause__ else ""
        said = " ".join(f"{head}{': ' if reason else ''}{reason}".split())
        raise LoadingError(f"{path}: {said}") from error
    declared = {
        side: {
            name: [target] if isinstance(target, str) else target
            for name, target in definition.get(side, {}).items()
        }
        for side in ("inputs", "outputs")
    }
    check_wiring(pipeline, declared, str(path))
    pipeline.metadata.update(declared)
    pipeline.metadata.setdefault("name", path.stem)
    return pipeline
