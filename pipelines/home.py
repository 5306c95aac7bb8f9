"""From a command's options to what is loaded, and the demo store that stands in for no store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from components.models.folder import (
    articles_digest,
    can_run_models,
    file_digest,
    file_lock,
    lexarbor_home,
    model_digest,
)
from components.statutes.corpus import StatuteCorpus
from components.statutes.sources import opening
from components.stores.database import StoreError
from components.stores.sqlite import StatuteDocumentStore
from pipelines import checking, loading
from pipelines.checking import LoadingError, components_in
from pipelines.loading import Say

# Records in a demo store: the law and the questions whose answers are kept with it; the guides.
DEMO_QUESTIONS, DEMO_GUIDES = "demo-questions", "demo-guides"


class Plan(NamedTuple):
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
    model: str | None
    overrides: Mapping[str, Any]
    asks_engine: bool

    @property
    def place(self) -> str:
        """The store as messages may show it, without a password."""
        return loading.without_password(self.store)

    @property
    def arguments(self) -> tuple[str, str, str | None, Mapping[str, Any]]:
        """The arguments of `load_pipeline`."""
        return self[:4]


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

    Without a pipeline it is "answer_hybrid" where there is a generator, "postgres" for an address
    of PostgreSQL, "lexical" over a store of text alone or where no model can run, else "hybrid".
    Without a store it is the one that the file names, else the demo store. Whoever names a model
    asks for vectors: "hybrid" reports how to fix a store without them.

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
    overrides: dict[str, Any] = {}
    if generator is not None and generator_model is not None:
        pipeline = pipeline or "answer_hybrid"
        overrides = loading.generator_overrides(pipeline, generator, generator_model)
    if model and not any(map(_reads_model, (pipeline, *others))):
        raise LoadingError(f"--model {model}: the pipeline {pipeline!r} reads none. Leave it out.")
    if pipeline is None and store is not None and store.startswith(loading.OF_POSTGRES):
        pipeline = "postgres"
    if pipeline is not None:
        definition = _read_to_ask(pipeline)
        address = loading.engine_address(definition, pipeline, store)
        if address is not None:
            return Plan(pipeline, address, model, overrides, asks_engine=True)
        stores = checking.stores_in(definition, loading.STORE)
        paths = (parameters.get("path") for _, _, parameters in stores)
        store = store or next((each for each in paths if each and isinstance(each, str)), None)
    place = str(given_or_demo(store, say, answered=answered))
    if pipeline is None:
        with loading.store_with_articles(place) as opened_store:
            by_meaning = model is not None or opened_store.has_vectors()
        if by_meaning and model is None and not can_run_models():
            say("Search by meaning needs the extra models: pip install 'lexarbor[models]'.")
            by_meaning = False
        pipeline = "hybrid" if by_meaning else "lexical"
    return Plan(pipeline, place, model, overrides, asks_engine=False)


def _reads_model(pipeline: str | None) -> bool:
    if pipeline is None:  # hybrid
        return True
    return any(
        kind in loading.MODEL_READERS for _, kind, _ in components_in(_read_to_ask(pipeline))
    )


def given_or_demo(store: str | None, say: Say, *, answered: bool = True) -> Path:
    """The given store, else the demo store, built if need be; raises as `ensure_demo_store`."""
    if store is None:
        return ensure_demo_store(say, answered=answered)
    return Path(store).expanduser()


def _read_to_ask(pipeline: str) -> dict[str, Any]:
    definition = checking.read_pipeline_file(checking.pipeline_file(pipeline))
    if checking.fills_a_store(definition):
        raise LoadingError(
            f"'{pipeline}' fills a store; it does not answer questions. The names to ask are "
            f"{', '.join(checking.names_to_ask())}."
        )
    return definition


# The demo store, which stands in for no store.

# The vectors of the demo law, which come with the package: a first page need not wait for MiniLM.
DEMO_VECTORS = Path(__file__).parent / "demo" / "vectors.npz"


def adopt_demo_vectors(store: StatuteDocumentStore) -> None:
    """Put the shipped vectors where `index_corpus` looks for known ones, if its model made them."""
    digest = articles_digest(loading.DEMO_MODEL)
    with np.load(DEMO_VECTORS) as file:
        if file["model"] == digest:
            texts = (row.tobytes().hex() for row in file["digests"])
            vectors = file["vectors"].astype(np.float32)
            store.journal.keep(digest, dict(zip(texts, vectors, strict=True)))


def write_demo_vectors(place: str) -> None:
    """Write what `adopt_demo_vectors` reads: float16 `[n, dim]`, from a store of the demo law."""
    digest = articles_digest(loading.DEMO_MODEL)
    with closing(StatuteDocumentStore(place)) as store:
        known = store.journal.vectors(digest, sorted(store.journal.known(digest)))
    digests = [np.frombuffer(bytes.fromhex(each), np.uint8) for each in known]
    vectors = np.array(list(known.values()), np.float16)
    np.savez(DEMO_VECTORS, model=np.array(digest), digests=np.array(digests), vectors=vectors)


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
    path = loading.demo_store_path()

    def build() -> None:
        say(f"Building the demo store {path} from the invented Statutes of Aldermere")
        try:
            fill()
        except StoreError as error:
            if not path.is_file():
                raise
            say(f"{error} It is built again.")
            for suffix in ("", "-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            fill()

    def fill() -> None:
        from pipelines.indexing import index_corpus

        model = None
        if loading.bundled_model() is not None:
            model = str(loading.DEMO_MODEL)
            with closing(StatuteDocumentStore(str(path))) as store:
                adopt_demo_vectors(store)
        given: dict[str, Any] = {"model": model, "guides": opening.guides_path(), "say": say}
        index_corpus("aldermere", path, prune=True, replace=True, **given)
        with closing(StatuteDocumentStore(str(path))) as store:
            store.save_blob(DEMO_GUIDES, file_digest(opening.guides_path()), b"")

    _once(lambda: _is_current(path), build)
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
    from components.retrievers.answered import recorded_questions
    from pipelines.weights import keep_answered, read_answered

    today = f"{file_digest(opening.articles_path())} {file_digest(opening.questions_path())}"
    with closing(StatuteDocumentStore(str(path))) as store:
        model = store.model

        def is_kept() -> bool:
            kept = recorded_questions(store) is not None
            return model is None or (kept and store.load_blob(DEMO_QUESTIONS) == (today, b""))

        def keep() -> None:
            from components.models.biencoder import BiEncoder

            assert model is not None
            documents = store.fetch(store.keys_matching(None))
            texts = {each.id: each.content or "" for each in documents}
            questions = read_answered("aldermere", texts)
            say(keep_answered(store, BiEncoder.load(model.path), *questions, say))
            store.save_blob(DEMO_QUESTIONS, today, b"")

        _once(is_kept, keep)


def _once(is_done: Callable[[], bool], work: Callable[[], object]) -> None:
    """One process works; the others wait, and find it done.

    Raises:
        LoadingError: Lexarbor's home cannot be written.
    """
    if is_done():
        return
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
        if not is_done():
            work()


def _is_current(path: Path) -> bool:
    if not path.exists():
        return False
    try:
        with closing(StatuteDocumentStore(str(path))) as store:
            if store.publisher.recorded_corpus() != StatuteCorpus.read("aldermere").sha256:
                return False
            if store.load_blob(DEMO_GUIDES) != (file_digest(opening.guides_path()), b""):
                return False
            if loading.bundled_model() is None:
                return True
            model = store.model if store.has_vectors() else None
            return model is not None and model.question_digest == model_digest(loading.DEMO_MODEL)
    except StoreError:
        return False  # it is built again
