"""Lexarbor's own files, and the demo stores among them."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from components.models.errors import ModelError
from components.models.folder import (
    file_digest,
    lexarbor_home,
    manifest_digest,
    model_digest,
    read_manifest,
)
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

# No graph and no ranker: trained on a hundred questions they found less than the bi-encoder alone.
# With today's six thousand neither has been tried.
_MODULE, _SETTINGS = "training.cusines", "demo.yaml"

# Record in a demo store: the law and the questions whose answers are kept with it.
_KEPT = "demo-questions"

_NAME = re.compile(r"demo-[0-9a-f]{12}")
_UNUSED_SECONDS = 30 * 24 * 3600


@dataclass(frozen=True)
class TrainedModel:
    """A complete model.

    Attributes:
        folder: absolute.
        digest: as a store records it.
    """

    folder: Path
    digest: str


@dataclass(frozen=True)
class TrainedDemo:
    """The folder of the training on the demo law, and the files in it.

    The folder is named after the digest of its inputs: law, questions, base model and settings. If
    one of them changes it is another folder. So the content of a folder never becomes stale, and
    two versions of Lexarbor do not interfere.

    Attributes:
        folder: `demo-<digest>` in Lexarbor's home; may not exist yet.
        settings: the training's settings file.
    """

    folder: Path
    settings: Path

    @classmethod
    def under(cls, home: Path) -> TrainedDemo | None:
        """The demo training of this Lexarbor, or None if nothing can be trained.

        Nothing can be trained without a base model, and on Windows, which lacks the locks and the
        syncing of folders that training relies on.

        Args:
            home: folder of Lexarbor's own files.
        """
        base = bundled_model()
        if base is None or sys.platform == "win32":
            return None
        # Named, not imported: pipelines depend on components only, and train only in a process.
        settings = Path(str(files("training") / "configs" / _SETTINGS))
        parts = {
            "articles": file_digest(opening.articles_path()),
            "questions": file_digest(opening.questions_path()),
            _MODULE: file_digest(settings),
            "base": model_digest(Path(base)),
        }
        digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
        return cls(home / f"demo-{digest[:12]}", settings)

    @property
    def command(self) -> tuple[str, ...]:
        """The training's command line; run again after an interruption, it resumes."""
        config = ("--config", str(self.settings))
        return (sys.executable, "-m", _MODULE, *config, "--output", str(self.model))

    @property
    def model(self) -> Path:
        """The model's folder; it appears when the training is complete."""
        return self.folder / "model"

    @property
    def work(self) -> Path:
        """Where the training keeps what it needs to resume."""
        return self.model.with_name(f"{self.model.name}.work")

    @property
    def progress(self) -> Path:
        """The training's progress: JSON with `step` and `steps`."""
        return self.work / "progress.json"

    @property
    def store(self) -> Path:
        """The store of the demo law with the trained model."""
        return self.folder / "demo.db"

    @property
    def log(self) -> Path:
        """The output of the latest training."""
        return self.folder / "training.log"

    @property
    def lock(self) -> Path:
        """The lock of the process that trains."""
        return self.folder / "training.lock"

    @property
    def begun(self) -> bool:
        """Whether there is something to resume."""
        return not self.model.exists() and self.work.exists()

    def trained(self) -> TrainedModel | None:
        """The model, or None if it does not exist or one of its files has changed."""
        try:
            return TrainedModel(self.model.resolve(), manifest_digest(read_manifest(self.model)))
        except ModelError:
            return None

    def clear(self) -> None:
        """Remove a broken model, and what was kept for resuming."""
        for folder in (self.model, self.work):
            shutil.rmtree(folder, ignore_errors=True)

    def remove_unused(self) -> None:
        """Remove what nobody has used for 30 days."""
        for folder in self.folder.parent.iterdir():
            if folder == self.folder or not _NAME.fullmatch(folder.name):
                continue
            # Opening a store in it, even to read, updates the folder's time.
            ours = (folder / self.lock.name).is_file()
            if ours and time.time() - folder.stat().st_mtime > _UNUSED_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


# Choosing what to ask; indexing has its own choice.
_MODEL_READERS = (
    "components.embedders.text.StatuteTextEmbedder",
    "components.rankers.cross_encoder.StatuteRanker",
    "components.retrievers.hybrid.StatuteHybridRetriever",
)

Say = Callable[[str], object]


def demo_store_path(*, trained: bool = True) -> Path:
    """The current store of the demo law; the file may not be built yet.

    Args:
        trained: take the store with the model trained on the demo law, if that is complete.
    """
    demo = TrainedDemo.under(lexarbor_home()) if trained else None
    model = None if demo is None else demo.trained()
    if demo is not None and model is not None and _is_current(demo.store, model):
        return demo.store
    return lexarbor_home() / "demo.db"


def demo_to_train(store: str | None, pipeline: str | None, model: str | None) -> TrainedDemo | None:
    """The training for what a user asks for, finished or not.

    Args:
        store: as given by the user.
        pipeline: name or file, as given by the user.
        model: as given by the user.

    Returns:
        None if the user asks for anything but the demo law with Lexarbor's own choice of model, or
        if there is no base model.

    Raises:
        LoadingError: there is no such pipeline, or its file is refused.
    """
    if store is not None or not _leaves_model_open(pipeline, model):
        return None
    if pipeline is not None and store_named_in(pipeline) is not None:
        return None
    return TrainedDemo.under(lexarbor_home())


def store_to_ask(
    store: str | None,
    pipeline: str | None,
    say: Say,
    model: str | None = None,
    *,
    answered: bool = True,
) -> Path:
    """The requested store, else the one in the pipeline's file, else the demo store.

    For a pipeline over an engine it is the engine's address, as a path.

    Args:
        store: as given by the user.
        pipeline: name or file, as given by the user.
        say: takes lines for the user while the demo store is built.
        model: as given by the user; with one, the demo law is asked with its untrained model.
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
    trained = _leaves_model_open(pipeline, model)
    return ensure_demo_store(say, trained=trained, answered=answered)


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


def ensure_demo_store(
    say: Say = lambda _: None, *, trained: bool = True, answered: bool = True
) -> Path:
    """The demo store, built if it does not exist or the demo law has changed.

    The contents of a demo store are Lexarbor's own, so an unusable file is rebuilt.

    Args:
        say: takes lines for the user.
        trained: use the model trained on the demo law, if there is one.
        answered: keep the demo's answered questions with it too, which takes the longest; the page
            calls `keep_demo_questions` in the background instead.

    Raises:
        LoadingError: the folder cannot be made.
        StoreError: the store cannot be written.
        ModelError: the untrained model cannot be loaded.
    """
    home = lexarbor_home()
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _not_writable(home, error) from error
    demo = TrainedDemo.under(home) if trained else None
    model = None if demo is None else demo.trained()
    if demo is not None and model is not None:
        try:
            return _ensure(demo.store, model, say, answered=answered)
        except (LoadingError, ModelError, StoreError) as error:
            say(f"{error} The untrained model is asked instead.")
    return _ensure(home / "demo.db", None, say, answered=answered)


def _ensure(path: Path, model: TrainedModel | None, say: Say, *, answered: bool) -> Path:
    """The store, built with the model (None: the untrained one) if missing or out of date.

    Raises:
        LoadingError: Lexarbor's home cannot be written.
        StoreError: the store cannot be written.
        ModelError: the model cannot be loaded.
    """
    if not _is_current(path, model):
        with _building():
            if not _is_current(path, model):
                _build(path, model, say)
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


def _build(path: Path, model: TrainedModel | None, say: Say) -> None:
    from pipelines.indexing import index_corpus

    def build() -> None:
        folder = None if model is None else str(model.folder)
        index_corpus("aldermere", path, model=folder, prune=True, replace=True, say=say)

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


def _is_current(path: Path, model: TrainedModel | None) -> bool:
    from components.statutes.corpus import StatuteCorpus
    from components.stores.sqlite import StatuteDocumentStore

    if not path.exists():
        return False
    store = StatuteDocumentStore(str(path))
    try:
        if store.publisher.recorded_corpus() != StatuteCorpus.read("aldermere").sha256:
            return False
        if model is not None:
            recorded = store.model
            return recorded is not None and (recorded.path, recorded.digest) == (
                str(model.folder),  # the home may have been moved, and the model with it
                model.digest,
            )
        return store.has_vectors() or bundled_model() is None
    except StoreError:
        return False  # reported when it is rebuilt
    finally:
        store.close()


def _leaves_model_open(pipeline: str | None, model: str | None) -> bool:
    """Whether neither the user nor the pipeline's file names a model."""
    if model is not None or pipeline is None:
        return model is None
    definition = read_pipeline_file(pipeline_file(pipeline))
    return all(parameters.get("model") is None for _, _, parameters in components_in(definition))


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
