"""load_pipeline: the one door through which pipeline files come in."""

from __future__ import annotations

import copy
import hashlib
import importlib
import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from haystack import Pipeline
from haystack.core.errors import DeserializationError, PipelineError
from haystack.utils import Secret

from components.aliases import trusted_name
from components.converters.articles import ranks_of
from components.joiners.rank_fusion import StatuteRankFuser
from components.models import folder as models
from components.models.folder import ModelError, articles_digest, find_model, model_digest
from components.parameters import StatuteComponent
from components.rankers.gate import (
    AnswerabilityGate,
    AnswerThreshold,
    ScoringStage,
    load_threshold,
)
from components.statutes.corpus import StatuteCorpus
from components.statutes.languages import known_language
from components.stores.database import StoreError, missing
from components.stores.publishing import StoreModel
from components.stores.sqlite import StatuteDocumentStore
from pipelines.checking import (
    ASKS_GENERATOR,
    ENGINE_EXTRAS,
    FOLDER,
    POSTGRES_STORE,
    QDRANT_STORE,
    WRITER,
    LoadingError,
    check_definition,
    check_has_articles,
    components_in,
    fills_a_store,
    pipeline_file,
    read_pipeline_file,
    stores_in,
    with_trusted_names,
)
from pipelines.stages import Outputs, class_of, is_list, stages_of

if TYPE_CHECKING:
    from components.models.biencoder import BiEncoder
    from components.models.graph import LegislativeGraphEncoder
    from components.rankers.cross_encoder import StatuteRanker
    from components.retrievers.embedding import StatuteEmbeddingRetriever
    from components.retrievers.hybrid import StatuteHybridRetriever
    from components.stores.engines import Engine, EngineRecord

__all__ = ["LoadingError", "allow_replies", "generator_overrides", "load_pipeline"]

Say = Callable[[str], object]

# By name: a pipeline without a model should not wait for the libraries of models.
STORE = trusted_name("components.stores.sqlite.StatuteDocumentStore")
_DENSE = trusted_name("components.retrievers.embedding.StatuteEmbeddingRetriever")
_HYBRID = trusted_name("components.retrievers.hybrid.StatuteHybridRetriever")
_RANKER = trusted_name("components.rankers.cross_encoder.StatuteRanker")
_TEXT_EMBEDDER = trusted_name("components.embedders.text.StatuteTextEmbedder")
_SPARSE_EMBEDDER = trusted_name("components.embedders.sparse_text.StatuteSparseTextEmbedder")
_GRAPH_EMBEDDER = trusted_name("components.embedders.graph.LegislativeGraphEmbedder")
_DOCUMENT_EMBEDDER = trusted_name("components.embedders.document.StatuteDocumentEmbedder")
_DOCUMENT_EMBEDDERS = (_DOCUMENT_EMBEDDER, _GRAPH_EMBEDDER)
_PASSAGES = trusted_name("components.rankers.passages.StatutePassageRanker")
_GUIDES = trusted_name("components.retrievers.guides.StatuteGuideRetriever")
# Components that do without a model where the store has no vectors.
_BY_WORDS = (_PASSAGES, _GUIDES)
# Reads what its caller names; our own file may name it, one from anyone may not.
_TEXT_FILES = "haystack.components.converters.txt.TextFileToDocument"
_EMBEDDERS = (_TEXT_EMBEDDER, _HYBRID, *_DOCUMENT_EMBEDDERS)
_SEARCHES_VECTORS = (_DENSE, _HYBRID)

MODEL_READERS = (_TEXT_EMBEDDER, _HYBRID, _RANKER)
"""Components that may read the model that a question names."""


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
    where = str(path)
    definition = _completed(read_pipeline_file(path), overrides or {}, where)
    named = {
        allowed if isinstance(allowed, str) else f"{allowed.__module__}.{allowed.__name__}"
        for allowed in allowed_classes
    }
    if path.resolve() == FOLDER.resolve() / "index_text.yaml":
        named.add(_TEXT_FILES)
    modules = check_definition(definition, where, named, overrides or {})
    _bind_engine(definition, where, store, model)
    _bind_store(definition, where, store, model)
    _check_packages(definition, where)
    pipeline = _built(definition, path, modules)
    _check_models(definition, pipeline, where)
    _fill_thresholds(pipeline, where)
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

    from components.statutes.replies.quotations import CheckedReply

    with _deserialization_context([CheckedReply.__module__]):
        yield


def _completed(
    definition: dict[str, Any], overrides: Mapping[str, Any], where: str
) -> dict[str, Any]:
    """With the caller's values, and with sides and stores as our own files have them.

    A pipeline's own `dumps()` have `inputs` and `outputs` in the metadata, and the file's first
    store stands for every component's `document_store: null`, except the passage ranker's.
    """
    parameters = {name: inside for name, _, inside in components_in(definition)}
    for key, value in overrides.items():
        name, _, parameter = key.partition(".")
        if name not in parameters or not parameter:
            raise LoadingError(
                f"{where}: override '{key}' names no component. Write it as 'component.parameter'."
            )
        # A copy, as binding writes into it.
        parameters[name][parameter] = with_trusted_names(copy.deepcopy(value))
    stores = [each["document_store"] for each in parameters.values() if "document_store" in each]
    first = next(filter(None, stores), None)
    for _, kind, inside in components_in(definition):
        # Without a store passages are ranked by words.
        is_open = kind != _PASSAGES and "document_store" in inside
        if is_open and inside["document_store"] is None:
            inside["document_store"] = copy.deepcopy(first)
    metadata = definition.get("metadata")
    known = metadata if isinstance(metadata, dict) else {}
    return {side: known[side] for side in ("inputs", "outputs") if side in known} | definition


def _built(definition: dict[str, Any], path: Path, modules: list[str]) -> Pipeline:
    try:
        pipeline = Pipeline.from_dict(definition, allowed_modules=modules)
    except (PipelineError, DeserializationError) as error:
        # Haystack repeats the component's whole definition before the reason.
        head = str(error).split(" with the following data", maxsplit=1)[0]
        reason = f": {error.__cause__}" if error.__cause__ else ""
        raise LoadingError(f"{path}: {' '.join(f'{head}{reason}'.split())}") from error
    declared = {
        side: {
            name: [target] if isinstance(target, str) else target
            for name, target in definition.get(side, {}).items()
        }
        for side in ("inputs", "outputs")
    }
    _check_wiring(pipeline, declared, str(path))
    pipeline.metadata.update(declared)
    pipeline.metadata.setdefault("name", path.stem)
    return pipeline


def _check_wiring(
    pipeline: Pipeline, declared: Mapping[str, Mapping[str, list[str]]], where: str
) -> None:
    """Check that the declared sockets are there, and that every mandatory input is fed.

    A file without inputs is run with whatever its user gives it, so nothing is checked there.
    """
    inputs = pipeline.inputs(include_components_with_connected_inputs=True)
    outputs = pipeline.outputs(include_components_with_connected_outputs=True)
    fed = {f"{to}.{edge['to_socket'].name}" for _, to, edge in pipeline.graph.edges(data=True)}
    for side, present in (("inputs", inputs), ("outputs", outputs)):
        for name, targets in declared[side].items():
            for target in targets:
                component, socket = target.split(".")
                found = present.get(component, {}).get(socket)
                if found is None:
                    raise LoadingError(f"{where}: {side}.{name}: {target} is no open socket.")
                if side == "outputs" and name == "documents" and not is_list(found["type"]):
                    raise LoadingError(f"{where}: outputs.documents: {target} is no list of them.")
                fed.add(target)
    for component, sockets in inputs.items() if declared["inputs"] else ():
        instance: Any = pipeline.get_component(component)
        for socket, of_socket in sockets.items():
            needed = of_socket["is_mandatory"]
            if isinstance(instance, StatuteRankFuser):
                # A stage without its list would be an empty one.
                fills = socket == "query" and bool(instance.full_coverage)
                needed = needed or fills or is_list(of_socket["type"])
            if needed and f"{component}.{socket}" not in fed:
                raise LoadingError(
                    f"{where}: components.{component}: nothing goes into its input '{socket}'. "
                    f"Connect {component}.{socket}, or name it under 'inputs'."
                )


# The chat generator of an answer, or of searches.


def chat_generator(url: str, model: str) -> dict[str, Any]:
    """Haystack's `OpenAIChatGenerator` for a server that speaks OpenAI's protocol.

    ```python
    from pipelines.loading import chat_generator, load_pipeline

    local = chat_generator("http://localhost:11434/v1", "llama3.2")
    load_pipeline("answer_hybrid", overrides={"generator.chat_generator": local})
    ```

    The key is read from the environment when it is first asked: LEXARBOR_GENERATOR_KEY,
    or for OpenAI's own server OPENAI_API_KEY. For any other server an unset variable gets a
    placeholder, since a local server usually needs no key, but Haystack always does.

    Args:
        url: URL of the API, as "http://localhost:11434/v1".
        model: the model's name there.

    Raises:
        LoadingError: the URL is not an HTTP URL.
    """
    if not re.match(r"https?://[^/]", url, re.IGNORECASE):
        raise LoadingError(
            f"The generator's address '{url}': write it as http://localhost:11434/v1."
        )
    keys = ["LEXARBOR_GENERATOR_KEY"]
    if url.startswith("https://api.openai.com/"):
        keys.append("OPENAI_API_KEY")  # which must not be sent to any other server
    else:
        os.environ.setdefault(keys[0], "none")
    return {
        "type": "haystack.components.generators.chat.openai.OpenAIChatGenerator",
        "init_parameters": {
            "api_base_url": url,
            "model": model,
            "api_key": {"type": "env_var", "env_vars": keys, "strict": True},
            "timeout": 30.0,
            "max_retries": 1,
        },
    }


def generator_overrides(pipeline: str | Path, url: str, model: str) -> dict[str, Any]:
    """Overrides for `load_pipeline` that make a server write a pipeline's answers or searches.

    `timeout` and `max_retries` of a chat generator in the file are kept.

    Args:
        pipeline: name or file.
        url: URL of the API.
        model: its name there.

    Raises:
        LoadingError: there is no such pipeline, it asks no generator, or the URL is not HTTP.
    """
    path = pipeline_file(pipeline)
    overrides = {}
    for name, kind, parameters in components_in(read_pipeline_file(path)):
        if kind in ASKS_GENERATOR:
            generator = chat_generator(url, model)
            in_file = parameters.get("chat_generator")
            own = in_file.get("init_parameters") if isinstance(in_file, dict) else None
            given = own if isinstance(own, dict) else {}
            limits = {key: given[key] for key in ("timeout", "max_retries") if key in given}
            generator["init_parameters"] |= limits
            overrides[f"{name}.chat_generator"] = generator
    if not overrides:
        raise LoadingError(
            f"{path} asks no generator. Ask the pipeline answer_hybrid, answer or hybrid_rewritten."
        )
    return overrides


# Addresses of engines, in a document store's parameters.

OF_POSTGRES = ("postgresql://", "postgres://")
_POSTGRES_ADDRESS = "PG_CONN_STR"  # the variable that postgres.yaml names


def engine_address(definition: Mapping[str, Any], pipeline: str, store: str | None) -> str | None:
    """The engine's address if a pipeline asks one, else None.

    Args:
        definition: what the pipeline's file holds.
        pipeline: its name or file, for the message.
        store: as given by the user; the file's own address otherwise.

    Raises:
        LoadingError: it asks an engine, and nothing names an address.
    """
    for _, kind, parameters in stores_in(definition, *ENGINE_EXTRAS):
        address = store if store is not None else _address_in(kind, parameters)
        if address is None:
            raise LoadingError(f"The pipeline {pipeline} asks an engine: {_NAME_IT[kind]}")
        return address
    return None


_NAME_IT = {
    QDRANT_STORE: "name its address, such as --store http://localhost:6333 (in Python: store=URL).",
    POSTGRES_STORE: "name its address, such as --store postgresql://me@localhost/law (in Python: "
    f"store=URL), or set {_POSTGRES_ADDRESS}.",
}


def _address_in(kind: str, parameters: Mapping[str, Any]) -> str | None:
    if kind == POSTGRES_STORE:
        return os.environ.get(_POSTGRES_ADDRESS)
    places = (parameters.get(name) for name in ("url", "path", "location", "host"))
    return next((str(place) for place in places if place), None)


def engine_store(address: str) -> dict[str, Any]:
    """The document store at an address, with the parameters of `qdrant.yaml` or `postgres.yaml`."""
    kind = POSTGRES_STORE if address.startswith(OF_POSTGRES) else QDRANT_STORE
    definition = read_pipeline_file(pipeline_file(ENGINE_EXTRAS[kind]))
    _, _, parameters = next(stores_in(definition, kind))
    place_in(kind, parameters, address)
    return {"type": kind, "init_parameters": parameters}


def place_in(kind: str, parameters: dict[str, Any], address: str) -> None:
    """Put an address into the parameters of an engine's store.

    Args:
        kind: the store's class.
        parameters: changed in place.
        address: a URL, or a folder for a Qdrant within this process; with "#" and a collection to
            override the parameters' one.

    Raises:
        LoadingError: it is the address of another engine.
    """
    place, _, collection = address.partition("#")
    if place.startswith(OF_POSTGRES) != (kind == POSTGRES_STORE):
        right = "postgres" if place.startswith(OF_POSTGRES) else "qdrant"
        raise LoadingError(
            f"{without_password(place)} is not an address of this engine. Ask it with --pipeline "
            f"{right}, or give an address of the pipeline's own."
        )
    if kind == POSTGRES_STORE:
        # Not into the environment, which other pipelines share; a secret is never written out.
        parameters["connection_string"] = Secret.from_token(place)
        parameters |= {"table_name": collection} if collection else {}
        return
    for name in ("location", "url", "host", "path"):
        parameters.pop(name, None)
    if "://" in place:
        parameters["url"] = place
    else:
        parameters["path"] = str(Path(place).expanduser())
    if collection:
        parameters["index"] = collection


def without_password(address: str) -> str:
    """An address as messages may show it."""
    address = re.sub(r"(://[^/@:]*:).*@", r"\1***@", address)
    return re.sub(r"(password=)[^\s&]*", r"\1***", address)


def opened(store: dict[str, Any], *, patient: bool = False) -> Engine:
    """The engine that a document store would read.

    Args:
        store: its class and parameters, as a pipeline file has them.
        patient: wait for an engine that restarts, as indexing does.

    Raises:
        LoadingError: the engine's packages are not installed, or the address is a file.
        StoreError: the address is malformed.
    """
    kind, parameters = store["type"], store["init_parameters"]
    if (folder := parameters.get("path")) and Path(folder).expanduser().is_file():
        raise LoadingError(
            f"{folder} is a file, and the engine keeps a folder. Ask a Lexarbor store with a "
            "pipeline over stores, such as hybrid."
        )
    module, _, name = kind.rpartition(".")
    try:
        from components.retrievers.engines import engine_over

        found = getattr(importlib.import_module(module), name)
        return engine_over(found.from_dict(store), patient=patient)
    except ImportError as error:
        raise LoadingError(f"{error}: pip install 'lexarbor[{ENGINE_EXTRAS[kind]}]'.") from error


# Which model: where a recorded one is now, and which one encodes a corpus.


@dataclass
class ChosenModel:
    """A model as the store records it; loaded when the first text must be encoded."""

    record: StoreModel
    loaded: BiEncoder | None

    @property
    def encoder(self) -> BiEncoder:
        """The model itself.

        Raises:
            ModelError: it cannot be loaded.
        """
        if self.loaded is None:
            self.loaded = loaded_model(self.record.path).encoder
        return self.loaded


@dataclass(frozen=True)
class ChosenGraph:
    """A graph network over the chosen bi-encoder.

    Attributes:
        record: both, as the store records them.
        network: the graph network.
        converts: whether the store so far holds the bi-encoder's own vectors.
    """

    record: StoreModel
    network: LegislativeGraphEncoder
    converts: bool


def bundled_model() -> str | None:
    """The folder of the bundled model as a string, or None if it cannot be run here."""
    folder = models.bundled_folder() if models.can_run_models() else None
    return None if folder is None else str(folder)


def _place_now(recorded: str) -> str | None:
    """Where a recorded model is now, or None if its folder is gone.

    The bundled model moves with its Python environment, the multilingual one with Lexarbor's home;
    a name is returned unchanged.
    """
    path = Path(recorded)
    if not path.is_absolute() or path.exists():
        return recorded
    bundled = bundled_model()
    if bundled is not None:
        for own in (bundled, str(DEMO_MODEL)):
            if Path(own).parts[-3:] == path.parts[-3:]:
                return own
    if path.name == models.MULTILINGUAL_FOLDER and models.multilingual_at_hand():
        return str(models.multilingual_folder())
    return None


def choose_model(
    requested: str | None, corpus: StatuteCorpus, store: StatuteDocumentStore, say: Say
) -> ChosenModel | None:
    """The bi-encoder that encodes the corpus, or None for text alone; reports the choice.

    Args:
        requested: folder or name of a model, "none" for text alone, or None to choose.
        corpus: what will be encoded.
        store: where it will be stored; a store keeps the model that it has.
        say: takes a line for the user.

    Raises:
        StoreError: text alone is requested, but the store holds vectors.
        ModelError: the model cannot be loaded.
    """
    recorded, own = _kept_in(store)
    if requested == "none":
        if own:
            raise StoreError(
                f"{store.path} holds vectors of the model {own.path}. Leave --model none out to go "
                "on with it, or name a new store."
            )
        say("Storing text alone, as --model none asks: 'lexical' will work, 'dense' will not.")
        return None
    languages = Counter(article.language for article in corpus)
    place = model_place(requested, own, "store", languages, say)
    if place is None:
        extra = "demo" if _in_english(languages) == len(corpus) else "multilingual"
        say(
            "Storing text alone, since no model for its language is available. For vectors, run "
            f"pip install 'lexarbor[{extra}]', or name a model with --model."
        )
        return None
    if recorded is not None and recorded.question_digest == model_digest(find_model(place)):
        digest = recorded.biencoder_digest
        return ChosenModel(replace(recorded, path=place, digest=digest, biencoder=None), None)
    return loaded_model(place)


def model_place(
    requested: str | None,
    recorded: StoreModel | None,
    holder: str,
    languages: Mapping[str | None, int],
    say: Say,
) -> str | None:
    """Folder or name of the model that encodes a corpus, or None if none is available.

    Args:
        requested: folder or name, as given by the user.
        recorded: the model of the existing vectors.
        holder: what holds them, for the line to the user: "store" or "collection".
        languages: how many articles are in each; None counts as English. Law that is all English
            gets the bundled model, any other law the multilingual one. If one of the two is
            missing, the multilingual model also encodes English law, and the bundled one also law
            that is mostly English.
        say: takes a line for the user, unless the model was asked for.

    Raises:
        ModelError: the multilingual model is requested, but not available.
    """
    if requested is not None:
        return _lasting_place(requested)
    if recorded is not None:
        # A folder that is gone is kept, so that the message that it cannot be loaded names it.
        place = _place_now(recorded.path) or recorded.path
        say(f"Encoding with the {holder}'s own model, {place}.")
        return place
    english, articles = _in_english(languages), sum(languages.values())
    bundled = bundled_model()
    if (bundled is None or english < articles) and models.multilingual_at_hand():
        folder = str(models.multilingual_folder())
        say(f"Encoding with the multilingual model, multilingual-e5-small ({folder}).")
        return folder
    if bundled is None or 2 * english <= articles:
        return None
    say(f"Encoding with the installed model, all-MiniLM-L6-v2 for English ({bundled}).")
    return bundled


def loaded_model(place: str) -> ChosenModel:
    """A model that has not encoded anything yet, as it will be recorded.

    Raises:
        ModelError: it cannot be loaded.
    """
    from components.models.registry import shared_model

    encoder = shared_model(place)
    return ChosenModel(_record(place, encoder), encoder)


def choose_graph(
    requested: bool, chosen: ChosenModel | None, store: StatuteDocumentStore, say: Say
) -> ChosenGraph | None:
    """The graph network over the chosen bi-encoder, or None for the bi-encoder's own vectors.

    Args:
        requested: whether the user asks for it; a store that has such vectors keeps using it.
        chosen: what `choose_model` chose.
        store: where the vectors will be kept.
        say: takes a line for the user.

    Raises:
        ModelError: the model has no graph network, or no model is chosen.
    """
    _, recorded = _kept_in(store)
    if not requested and (recorded is None or not recorded.through_graph):
        return None
    if chosen is None:
        raise ModelError("--graph needs a model that training.graph wrote, as --model DIR.")
    plain = chosen.record
    if not requested:
        say("Going on with the graph network, as the store's vectors went through it.")
    record = _through_graph(plain)
    converts = recorded is not None and recorded.digest == plain.digest
    if converts:
        say("The store's vectors are the bi-encoder's own; all laws get new ones at the end.")
    from components.models.registry import shared_graph

    return ChosenGraph(record, shared_graph(plain.path), converts)


def _record(place: str, encoder: BiEncoder) -> StoreModel:
    articles = encoder.articles_digest
    return StoreModel(
        *(place, articles, encoder.dim, encoder.text_rule),
        similarity=encoder.similarity,
        questions=None if articles == encoder.digest else encoder.digest,
    )


def _through_graph(record: StoreModel) -> StoreModel:
    digest = models.graph_model_digest(find_model(record.path))
    return replace(record, digest=digest, biencoder=record.digest)


def _lasting_place(named: str) -> str:
    """A model as recorded: a folder by its full path, since others run elsewhere."""
    folder = Path(named).expanduser()
    if folder.is_dir():
        return str(folder.resolve())
    return str(models.multilingual_folder()) if named == models.MULTILINGUAL else named


def _kept_in(store: StatuteDocumentStore) -> tuple[StoreModel | None, StoreModel | None]:
    """The recorded model, and the same where there are vectors; does not create a missing store."""
    if not store.database.path.exists():
        return None, None
    return store.model, store.model if store.has_vectors() else None


def _in_english(languages: Mapping[str | None, int]) -> int:
    """How many articles are in English, or name no language."""
    return sum(n for tag, n in languages.items() if tag is None or known_language(tag) == "en")


# Filling a definition's open places: `path: null` by the store, `model: null` by its model.


DEMO_MODEL = Path(__file__).parent / "demo" / "model"
"""The question's tower of the demo law, over the bundled model."""


def demo_store_path() -> Path:
    """The store of the demo law; the file may not be built yet."""
    return models.lexarbor_home() / "demo.db"


@contextmanager
def store_with_articles(store: str | Path) -> Iterator[StatuteDocumentStore]:
    """The store at a path, open, to read what was indexed into it.

    Raises:
        LoadingError: there is no such store.
        StoreError: it holds no article, or its file cannot be read.
    """
    path = Path(store).expanduser()
    _check_is_there(path)
    with closing(StatuteDocumentStore(str(path))) as opened_store:
        check_has_articles(opened_store)
        yield opened_store


def article_ids(store: str | Path) -> set[str]:
    """Ids of the articles in a store.

    Raises:
        LoadingError: there is no such store.
        StoreError: it holds no article, or its file cannot be read.
    """
    with store_with_articles(store) as opened_store:
        return {id_ for id_, _, _ in opened_store.entries()}


def article_text(store: str | Path, id_: str) -> str:
    """The text of an article in a store.

    Raises:
        LoadingError: there is no such store.
        StoreError: its file cannot be read.
    """
    with store_with_articles(store) as opened_store:
        (document,) = opened_store.fetch(opened_store.keys_of([id_]))
    return document.content or ""


def _check_is_there(path: Path) -> None:
    """Refuse a store that is not there, since opening it would make an empty one."""
    if path.parts[:1] in (("postgresql:",), ("postgres:",)):  # it may hold a password
        raise LoadingError("An address of PostgreSQL is asked with --pipeline postgres.")
    if path.is_dir():
        raise LoadingError(
            f"{path} is a folder. A folder of Qdrant is asked with --pipeline qdrant."
        )
    if not path.exists():
        raise LoadingError(missing(path))


def _bind_engine(
    definition: dict[str, Any], where: str, store: str | Path | None, model: str | Path | None
) -> None:
    """Fill in address, model and languages of components over an engine, in place."""
    stores = list(stores_in(definition, *ENGINE_EXTRAS))
    for name, kind, parameters in stores:
        if store is not None:
            place_in(kind, parameters, str(store))
        elif _address_in(kind, parameters) is None:
            raise LoadingError(f"{where}: {name}: {_NAME_IT[kind]}")
    if not stores:
        return
    _, kind, first = stores[0]
    with closing(opened({"type": kind, "init_parameters": first})) as engine:
        record, at = _engine_record(engine, first), engine.where
        found = {"search_strategy": "hnsw"} if engine.is_approximate() else {}
    for _, kind, parameters in stores:
        if kind == POSTGRES_STORE:
            parameters |= {"embedding_dimension": record.model.dim, **found}
        else:
            parameters |= {"embedding_dim": record.model.dim}
            parameters |= {"use_sparse_embeddings": True, "sparse_idf": True}
    for name, kind, given in components_in(definition):
        if kind == _SPARSE_EMBEDDER and given.get("languages") is None:
            # What is not a known language, and perhaps no tag, is analysed by the neutral rules.
            known = (tag if known_language(tag) else None for tag in record.languages)
            given["languages"] = list(dict.fromkeys(known))
        elif kind == _TEXT_EMBEDDER:
            if model is not None or given.get("model") is None:
                given["model"] = str(model) if model is not None else _place_of(record.model, at)
            _check_model(f"{where}: {name}.model", given["model"], record.model, at)


def _engine_record(engine: Engine, parameters: Mapping[str, Any]) -> EngineRecord:
    """What an engine's collection was indexed with."""
    not_there = "is not there, or was not made by Lexarbor. Check the address and the collection."
    # Opening a folder that is not the engine's would make one.
    folder = parameters.get("path")
    if folder and not Path(folder).expanduser().joinpath("meta.json").is_file():
        raise LoadingError(f"{folder} {not_there}")
    record = engine.record() if engine.exists() else None
    if record is None:
        raise LoadingError(f"{engine.where} {not_there}")
    if not engine.is_complete():
        raise LoadingError(
            f"{engine.where} is not yet indexed to its end. Run the same command again."
        )
    return record


def _place_of(recorded: StoreModel, where: str) -> str:
    """Where the model on record is now."""
    place = _place_now(recorded.path)
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
    folder = find_model(place)
    if recorded.through_graph:  # which was learned with this tower
        fits = model_digest(folder) == recorded.question_digest
    else:
        fits = articles_digest(folder) == recorded.digest
    if not fits:
        raise LoadingError(
            f"{label} {place} is not the model that {where} was indexed with, {recorded.path}. "
            "Ask with that one, or index again with this one into a new store or collection."
        )


def _bind_store(
    definition: dict[str, Any], where: str, store: str | Path | None, model: str | Path | None
) -> None:
    """Fill in the path of stores and the model of their components, in place."""
    writes = fills_a_store(definition)
    paths: list[Path] = []
    for _, _, parameters in stores_in(definition, STORE):
        if store is not None:
            parameters["path"] = str(store)
        elif parameters.get("path") is None:
            if writes:
                raise LoadingError(f"{where} writes into a store: name it, as store=FILE.")
            parameters["path"] = str(demo_store_path())
        paths.append(Path(parameters["path"]).expanduser())
        if not writes:
            _check_is_there(paths[-1])
    recorded, by_words = None, ""
    if not writes:
        recorded, by_words = _recorded_model(where, definition, model)
    elif paths and paths[0].exists():
        with closing(StatuteDocumentStore(str(paths[0]))) as store_to_fill:
            recorded = store_to_fill.model

    def place_for(name: str) -> str:
        if model is not None:
            return str(model)
        if recorded is None:
            raise LoadingError(
                f"{where}: {name}.model is null, and no store says which model it was indexed "
                "with. Name one, as model=DIR."
            )
        return _place_of(recorded, str(paths[0]))

    for name, kind, parameters in components_in(definition):
        if kind not in (*_EMBEDDERS, _RANKER, *_BY_WORDS) or name == by_words:
            continue
        if kind == _GUIDES and recorded is None:
            continue  # words decide
        if kind in _BY_WORDS and (by_words or not parameters.get("document_store")):
            continue  # words decide
        for key in ("model", "biencoder"):  # `dumps()` writes folders relative to their store
            if parameters.get(key) is not None and not Path(parameters[key]).is_dir():
                near = [str(path.parent / parameters[key]) for path in paths]
                parameters[key] = next(filter(os.path.isdir, near), parameters[key])
        named = parameters.get("model")
        if named is None or (kind != _RANKER and model is not None):
            parameters["model"] = place_for(name)
        if kind != _RANKER:
            continue
        if named is None and not (find_model(parameters["model"]) / models.RANKER_PART).is_dir():
            raise LoadingError(
                f"{where}: {name}.model is null, and the model {parameters['model']} has no "
                "ranker. Train one with python -m training.ranker, or ask hybrid or answer_hybrid."
            )
        # Another's cross-encoder: the store's model chooses the passages that it reads.
        is_foreign = named is not None and not (find_model(named) / models.MANIFEST_FILE).exists()
        if is_foreign and parameters.get("biencoder") is None and (model or recorded):
            parameters["biencoder"] = place_for(name)


def _check_packages(definition: dict[str, Any], where: str) -> None:
    """Refuse at once what could not run its model at the first question."""
    for name, kind, parameters in components_in(definition):
        if kind not in (*_EMBEDDERS, _RANKER, *_BY_WORDS) or not parameters.get("model"):
            continue
        if not models.can_run_models():
            raise LoadingError(
                f"{where}: {name} runs a model: pip install 'lexarbor[models]', or ask the "
                "pipeline 'lexical', without a model."
            )


def _recorded_model(
    where: str, definition: dict[str, Any], model: str | Path | None
) -> tuple[StoreModel | None, str]:
    """The model of the store whose vectors are searched, and who searches it by words alone.

    Where no model is asked for, a hybrid retriever needs no vectors.
    """
    parts = {name: (kind, parameters) for name, kind, parameters in components_in(definition)}
    ranker_needs_one = any(
        kind == _RANKER and not parameters.get("model") for kind, parameters in parts.values()
    )
    for name, _, of_store in stores_in(definition, STORE):
        kind, parameters = parts[name]
        if kind not in _SEARCHES_VECTORS:
            continue
        with store_with_articles(of_store["path"]) as store:
            if store.has_vectors():
                return store.model, ""
        requested = model or parameters.get("model") or ranker_needs_one
        if kind == _HYBRID and not requested:
            return None, name
        raise LoadingError(
            f"{where}: {name}: {of_store['path']} holds text alone, no vectors. Index the corpus "
            "with a model (--model DIR), or use the pipeline 'lexical', without a model."
        )
    return None, ""


def _check_models(definition: dict[str, Any], pipeline: Pipeline, where: str) -> None:
    """Compare the models of a built pipeline's embedders with the record of its stores.

    A pipeline that writes puts its model on record; one that asks must use the recorded one.

    Raises:
        LoadingError: the model is not the one that the store was indexed with.
        StoreError: the pipeline writes into a store that holds another model's vectors.
        ModelError: the model cannot be had.
    """
    types = {name: kind for name, kind, _ in components_in(definition)}
    parts: dict[str, Any] = dict(pipeline.walk())
    for _, _, parameters in stores_in(definition, STORE):
        for part in parts.values():
            if isinstance(part, StatuteComponent):
                part.models_from = Path(parameters["path"]).expanduser().absolute().parent
    users = [name for name, kind in types.items() if kind in (*_SEARCHES_VECTORS, WRITER)]
    used = [parts[name].document_store for name in users]
    stores = [store for store in used if isinstance(store, StatuteDocumentStore)]
    for name, kind in types.items() if stores else ():
        part = parts[name]
        if kind in _DOCUMENT_EMBEDDERS:
            record = _record_of(part, through_graph=kind == _GRAPH_EMBEDDER)
            for store in stores:
                store.publisher.record_model(record)
        elif kind in (_TEXT_EMBEDDER, _HYBRID, *_BY_WORDS) and part.model:
            for store in stores:
                if store.model is not None:
                    _check_model(f"{where}: {name}.model", part.model, store.model, str(store.path))
            # Files and folders can be changed under a pipeline that is open.
            folder = find_model(part.model)
            digests = (model_digest(folder), articles_digest(folder))
            asked = users if kind == _TEXT_EMBEDDER else ()
            for reader in (name, *(user for user in asked if types[user] == _DENSE)):
                parts[reader].expect_model(*digests)


def _record_of(embedder: Any, *, through_graph: bool) -> StoreModel:
    from components.models.registry import shared_model

    device = embedder.device.to_torch_str() if embedder.device else None
    encoder = shared_model(embedder.model, device, embedder.dtype)
    record = _record(_lasting_place(str(embedder.model)), encoder)
    return _through_graph(record) if through_graph else record


# Which score says how near the law comes to a question, and the threshold calibrated for it.


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
    components: dict[str, Any] = {
        stage.component: pipeline.get_component(stage.component) for stage in stages_of(pipeline)
    }
    rankers = [part for part in components if class_of(components[part]) == _RANKER]
    if rankers:
        return Scorer("reranker", rankers[-1], _ranker_digest(components[rankers[-1]]))
    found = {part: _searched_model(instance) for part, instance in components.items()}
    searched = [(part, model) for part, model in found.items() if model is not None]
    if len(searched) != 1:
        raise LoadingError(
            f"The pipeline {pipeline.metadata.get('name', '')} has no one score that says how near "
            "the law comes to a question: that takes a ranker or one dense retriever over a store "
            "with a model on record."
        )
    ((part, model),) = searched
    questions = _questions_digest(components[part])
    if questions is not None:
        return Scorer("answered", part, questions)
    return Scorer("dense", part, model.scores_digest)


def _searched_model(instance: Any) -> StoreModel | None:
    """The model on record of the vectors that a retriever searches, and what asks it."""
    kind = class_of(instance)
    if kind != _DENSE and (kind != _HYBRID or instance.model is None):
        return None
    store = instance.document_store
    if not isinstance(store, StatuteDocumentStore) or (record := store.model) is None:
        return None
    asked_by = instance.asked_by if kind == _DENSE else instance.dense.asked_by
    if asked_by is None:
        return record
    other = None if asked_by == record.biencoder_digest else asked_by
    return replace(record, questions=other)


def threshold_by_meaning(
    retriever: StatuteEmbeddingRetriever | StatuteHybridRetriever,
) -> AnswerThreshold | None:
    """The threshold calibrated for what a retriever finds by meaning.

    It is that of the answered questions that it searches, or else that of the vectors.

    Raises:
        StoreError: the store cannot be read.
    """
    store, model = retriever.document_store, _searched_model(retriever)
    if not isinstance(store, StatuteDocumentStore) or model is None:
        return None
    questions = _questions_digest(retriever)
    known = None if questions is None else load_threshold(store, "answered", questions)
    return known or load_threshold(store, "dense", model.scores_digest)


def _questions_digest(retriever: Any) -> str | None:
    """Of the answered questions that a retriever searches; None if it searches none."""
    from components.retrievers.answered import recorded_questions

    if class_of(retriever) != _HYBRID or not retriever.answered_questions():
        return None
    store, asked_by = retriever.document_store, retriever.dense.asked_by
    record = recorded_questions(store, asked_by)
    if record is None and (others := recorded_questions(store)) is not None:
        record = f"{others} {asked_by}"  # with vectors of the model that asks
    return None if record is None else hashlib.sha256(record.encode()).hexdigest()


def _ranker_digest(ranker: StatuteRanker) -> str:
    """`ranker_digest` of its model; of a ranker that scores otherwise than by default, its own."""
    from components.models.cross_encoder import ranker_digest

    assert ranker.model is not None  # of a pipeline that load_pipeline loaded
    digest = ranker_digest(find_model(ranker.model))
    if not ranker.meta_fields:
        return digest
    named = json.dumps({"ranker": digest, "meta_fields": ranker.meta_fields}, sort_keys=True)
    return hashlib.sha256(named.encode()).hexdigest()


def _fill_thresholds(pipeline: Pipeline, where: str) -> None:
    """Fill each gate whose threshold is null, where one was calibrated for store and model."""
    components: dict[str, Any] = dict(pipeline.walk())
    stores = [getattr(instance, "document_store", None) for instance in components.values()]
    store = next((each for each in stores if isinstance(each, StatuteDocumentStore)), None)
    for name, gate in components.items():
        if not isinstance(gate, AnswerabilityGate) or gate.threshold is not None or store is None:
            continue
        if gate.stage == "dense" and store.model is None:
            continue  # vectors whose model is unknown have no threshold on record
        scorer = scorer_of(pipeline)
        by_ranker = scorer.stage == "reranker"
        if by_ranker != (gate.stage == "reranker"):
            raise LoadingError(
                f"{where}: {name}.stage is {gate.stage!r}, and the score that tells how near the "
                f"law comes is that of {scorer.component}, {scorer.stage!r}."
            )
        known = (
            load_threshold(store, "reranker", scorer.model_digest)
            if by_ranker
            else threshold_by_meaning(components[scorer.component])
        )
        if known is not None:
            gate.stage, gate.threshold = known.stage, known.threshold
