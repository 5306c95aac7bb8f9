"""From a command's options to what is loaded, and the demo store that stands in for no store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from components.models.folder import file_digest, file_lock, lexarbor_home
from components.statutes.sources import opening
from components.stores.database import StoreError
from pipelines.checking import (
    LoadingError,
    components_in,
    fills_a_store,
    names_to_ask,
    pipeline_file,
    read_pipeline_file,
    stores_in,
)
from pipelines.loading import (
    STORE,
    bundled_model,
    demo_store_path,
    engine_address,
    generator_overrides,
    store_with_articles,
)

# Record in a demo store: the law and the questions whose answers are kept with it.
_KEPT = "demo-questions"

# Choosing what to ask; indexing has its own choice.
_MODEL_READERS = (
    "components.embedders.text.StatuteTextEmbedder",
    "components.rankers.cross_encoder.StatuteRanker",
    "components.retrievers.hybrid.StatuteHybridRetriever",
)

Say = Callable[[str], object]


@dataclass(frozen=True)
class Plan:
    """What `load_pipeline` is given for a command's options.

    Attributes:
        pipeline: name or file.
        store: the store's file, or an engine's address.
        model: folder or name; None for the one that the store records.
        overrides: the generator's, where one writes the answers.
        asks_engine: whether the store is an engine's.
    """

    pipeline: str
    store: str
    model: str | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)
    asks_engine: bool = False

    @property
    def arguments(self) -> tuple[str, str, str | None, Mapping[str, Any]]:
        """The arguments of `load_pipeline`."""
        return self.pipeline, self.store, self.model, self.overrides


def resolve(
    pipeline: str | None,
    store: str | None,
    model: str | None,
    say: Say,
    *,
    generator: str | None = None,
    generator_model: str | None = None,
    others: Sequence[str | None] = (),
    answered: bool = True,
) -> Plan:
    """Decide once what is asked: the pipeline, the store, the model and the generator.

    Without a pipeline it is "answer_hybrid" where there is a generator, else "hybrid", or "lexical"
    over a store of text alone. Without a store it is the one that the file names, else the demo
    store. Whoever names a model asks for vectors: "hybrid" reports how to fix a store without them.

    Args:
        pipeline: name or file, as given by the user.
        store: a store's file or an engine's address, as given by the user.
        model: as given by the user.
        say: takes lines for the user while the demo store is built.
        generator: URL of the server that writes the answers.
        generator_model: its model.
        others: pipelines that are loaded besides, of which one may read the model.
        answered: see `ensure_demo_store`.

    Raises:
        LoadingError: there is no such pipeline or it answers no questions, none reads the model,
            an engine has no address, or there is no such store.
        StoreError: the store holds no article, or cannot be read or written.
    """
    if model == "none":
        raise LoadingError("--model none is for indexing. Ask --pipeline lexical, without --model.")
    name, overrides, address = pipeline, {}, None
    if generator is not None and generator_model is not None:
        name = pipeline or "answer_hybrid"
        overrides = generator_overrides(name, generator, generator_model)
    definition = {} if name is None else _read_to_ask(name)
    names = [name, *others]
    if model and not any(each is None or _reads_model(_read_to_ask(each)) for each in names):
        raise LoadingError(
            f"--model {model}: no model is read by the pipeline "
            f"{', '.join(dict.fromkeys(map(repr, names)))}. Leave --model out."
        )
    if name is not None:
        address = engine_address(definition, name, store)
        named = (inside.get("path") for _, _, inside in stores_in(definition, STORE))
        store = store or next((path for path in named if isinstance(path, str)), None)
    if address is not None:
        return Plan(str(name), address, model, overrides, asks_engine=True)
    place = str(given_or_demo(store, say, answered=answered))
    if name is None:
        with store_with_articles(place) as opened:
            name = "hybrid" if model is not None or opened.has_vectors() else "lexical"
    return Plan(name, place, model, overrides)


def given_or_demo(store: str | None, say: Say, *, answered: bool = True) -> Path:
    """The given store, else the demo store, built if need be; raises as `ensure_demo_store`."""
    if store is None:
        return ensure_demo_store(say, answered=answered)
    return Path(store).expanduser()


def _reads_model(definition: Mapping[str, Any]) -> bool:
    return any(type_ in _MODEL_READERS for _, type_, _ in components_in(definition))


def _read_to_ask(pipeline: str) -> dict[str, Any]:
    definition = read_pipeline_file(pipeline_file(pipeline))
    if fills_a_store(definition):
        raise LoadingError(
            f"'{pipeline}' fills a store; it does not answer questions. The names to ask are "
            f"{', '.join(names_to_ask())}."
        )
    return definition


def ensure_demo_store(say: Say = lambda _: None, *, answered: bool = True) -> Path:
    """The demo store, built if it does not exist or the demo law has changed.

    The contents of a demo store are Lexarbor's own, so an unusable file is rebuilt.

    Args:
        say: takes lines for the user.
        answered: keep the demo's answered questions with it too, which takes the longest; the page
            calls `keep_demo_questions` in the background instead.

    Raises:
        LoadingError: the folder cannot be made.
        StoreError: the store cannot be written.
        ModelError: the model cannot be loaded.
    """
    path = demo_store_path()
    if not _is_current(path):
        with _building():
            if not _is_current(path):
                _build(path, say)
    if answered:
        keep_demo_questions(path, say)
    return path


def keep_demo_questions(path: Path, say: Say) -> None:
    """Keep the demo's answered questions with a demo store, unless it has today's.

    Args:
        path: the store.
        say: takes lines for the user.

    Raises:
        LoadingError: Lexarbor's home cannot be written.
        StoreError: the store cannot be written.
        ModelError: its model cannot be loaded.
    """
    from components.models.biencoder import BiEncoder
    from components.retrievers.answered import recorded_questions
    from components.stores.sqlite import StatuteDocumentStore
    from pipelines.weights import keep_answered, read_answered

    today = f"{file_digest(opening.articles_path())} {file_digest(opening.questions_path())}"
    with closing(StatuteDocumentStore(str(path))) as store:

        def has_them() -> bool:
            return recorded_questions(store) is not None and store.load_blob(_KEPT) == (today, b"")

        if store.model is None or has_them():
            return
        with _building():
            if not has_them():
                questions = read_answered("aldermere", [id_ for _, id_, _ in store.metas()])
                encoder = BiEncoder.load(store.model.path)
                say(keep_answered(store, encoder, *questions, say))
                store.save_blob(_KEPT, today, b"")


@contextmanager
def _building() -> Iterator[None]:
    """One process builds; the others wait, and find it built.

    Raises:
        LoadingError: Lexarbor's home cannot be written.
    """
    home = lexarbor_home()
    with ExitStack() as locked:
        try:
            home.mkdir(parents=True, exist_ok=True)
            locked.enter_context(file_lock(home / "demo.lock", wait=True))
        except OSError as error:
            raise LoadingError(
                f"{home} cannot be written ({error.strerror}). Set LEXARBOR_HOME to a folder that "
                "can be written, or give a store."
            ) from error
        yield


def _build(path: Path, say: Say) -> None:
    from pipelines.indexing import index_corpus

    def build() -> None:
        index_corpus("aldermere", path, prune=True, replace=True, say=say)

    say(f"Building the demo store {path} from the invented Statutes of Aldermere")
    try:
        build()
    except StoreError as error:
        if not path.is_file():
            raise
        say(f"{error} It is built again.")
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        build()


def _is_current(path: Path) -> bool:
    from components.statutes.corpus import StatuteCorpus
    from components.stores.sqlite import StatuteDocumentStore

    if not path.exists():
        return False
    store = StatuteDocumentStore(str(path))
    try:
        if store.publisher.recorded_corpus() != StatuteCorpus.read("aldermere").sha256:
            return False
        return store.has_vectors() or bundled_model() is None
    except StoreError:
        return False  # reported when it is rebuilt
    finally:
        store.close()
