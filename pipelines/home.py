"""Lexarbor's own files, and the demo stores among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from components.models.folder import file_digest, lexarbor_home
from components.models.locks import file_lock
from components.statutes.sources import opening
from components.stores.rows import StoreError
from pipelines.addresses import engine_address
from pipelines.files import (
    LoadingError,
    components_in,
    fills_a_store,
    names_to_ask,
    pipeline_file,
    read_pipeline_file,
    store_named_in,
)
from pipelines.model_choice import bundled_model

# Record in a demo store: the law and the questions whose answers are kept with it.
_KEPT = "demo-questions"

# Choosing what to ask; indexing has its own choice.
_MODEL_READERS = (
    "components.embedders.text.StatuteTextEmbedder",
    "components.rankers.cross_encoder.StatuteRanker",
    "components.retrievers.hybrid.StatuteHybridRetriever",
)

Say = Callable[[str], object]


def demo_store_path() -> Path:
    """The store of the demo law; the file may not be built yet."""
    return lexarbor_home() / "demo.db"


def store_to_ask(
    store: str | None, pipeline: str | None, say: Say, *, answered: bool = True
) -> Path:
    """The requested store, else the one in the pipeline's file, else the demo store.

    For a pipeline over an engine it is the engine's address, as a path.

    Args:
        store: as given by the user.
        pipeline: name or file, as given by the user.
        say: takes lines for the user while the demo store is built.
        answered: see `ensure_demo_store`.

    Raises:
        LoadingError: there is no such pipeline or it answers no questions, the demo store's folder
            cannot be made, or a pipeline over an engine has no address.
        StoreError: the demo store cannot be written.
    """
    if pipeline is not None:
        _read_to_ask(pipeline)
    address = engine_address(pipeline, store)
    if address is not None:
        return Path(address)
    if store is None and pipeline is not None:
        store = store_named_in(pipeline)
    if store is not None:
        return Path(store).expanduser()
    return ensure_demo_store(say, answered=answered)


def check_model_is_read(pipelines: Iterable[str | None], model: str | None) -> None:
    """Refuse a model if none of the pipelines reads one.

    Args:
        pipelines: names or files, as given by the user; None is chosen to fit the model.
        model: as given by the user.

    Raises:
        LoadingError: none of them reads a model, or one does not exist or answers no questions.
    """
    names = list(pipelines)
    if model == "none":
        raise LoadingError(
            "--model none is for indexing text alone. Leave --model out; the pipeline that needs "
            "no model is --pipeline lexical."
        )
    if model is None or any(name is None or _reads_model(name) for name in names):
        return
    raise LoadingError(
        f"--model {model}: no model is read by the pipeline {', '.join(map(repr, names))}. Leave "
        "--model out, or ask a pipeline that reads one (--pipeline hybrid), over a store that was "
        "indexed with it."
    )


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
    home = lexarbor_home()
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _not_writable(home, error) from error
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
    from pipelines.answered import keep_answered, read_answered

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
                say(str(keep_answered(store, encoder, *questions, say)))
                store.save_blob(_KEPT, today, b"")


@contextmanager
def _building() -> Iterator[None]:
    """One process builds; the others wait, and find it built.

    Raises:
        LoadingError: Lexarbor's home cannot be written.
    """
    with ExitStack() as locked:
        try:
            locked.enter_context(file_lock(lexarbor_home() / "demo.lock", wait=True))
        except OSError as error:
            raise _not_writable(lexarbor_home(), error) from error
        yield


def _not_writable(home: Path, error: OSError) -> LoadingError:
    return LoadingError(
        f"{home} cannot be written ({error.strerror}). Set LEXARBOR_HOME to a folder that can be "
        "written, or give a store."
    )


def _build(path: Path, say: Say) -> None:
    from pipelines.indexing import index_corpus

    def build() -> None:
        index_corpus("aldermere", path, prune=True, replace=True, say=say)

    try:
        say(f"Building the demo store {path} from the invented Statutes of Aldermere")
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


def _reads_model(pipeline: str) -> bool:
    return any(type_ in _MODEL_READERS for _, type_, _ in components_in(_read_to_ask(pipeline)))


def _read_to_ask(pipeline: str) -> dict[str, Any]:
    definition = read_pipeline_file(pipeline_file(pipeline))
    if fills_a_store(definition):
        raise LoadingError(
            f"'{pipeline}' fills a store; it does not answer questions. The names to ask are "
            f"{', '.join(names_to_ask())}."
        )
    return definition
