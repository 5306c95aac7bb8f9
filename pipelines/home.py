"""Where Lexarbor keeps its own files, and the demo store there."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from pipelines.files import LoadingError, store_named_in


def lexarbor_home() -> Path:
    """LEXARBOR_HOME, or `lexarbor` in the user's cache folder; not made here."""
    chosen = os.environ.get("LEXARBOR_HOME")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        cache = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "lexarbor"


def demo_store_path() -> Path:
    """The store of the demo law, `demo.db` in `lexarbor_home()`."""
    return lexarbor_home() / "demo.db"


def store_to_ask(store: str | None, pipeline: str | None, say: Callable[[str], object]) -> Path:
    """The store asked for, else the one that the pipeline's file gives, else the demo store.

    Args:
        store: as given by the user.
        pipeline: name or file, as given by the user.
        say: takes lines for the user while the demo store is built.

    Raises:
        LoadingError: there is no such pipeline, or the demo store's folder cannot be made.
        StoreError: the demo store cannot be written.
    """
    if store is None and pipeline is not None:
        store = store_named_in(pipeline)
    return ensure_demo_store(say) if store is None else Path(store).expanduser()


def ensure_demo_store(say: Callable[[str], object] = lambda _: None) -> Path:
    """The demo store, built when it is not there or the demo law has changed.

    What stands in `demo.db` is Lexarbor's own, so a file that cannot be used is made anew.

    Args:
        say: takes lines for the user.

    Raises:
        LoadingError: the folder cannot be made.
        StoreError: the store cannot be written.
    """
    from components.stores.database import StoreError
    from pipelines.indexing import index_corpus

    path = demo_store_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LoadingError(
            f"{path.parent} cannot be made ({error.strerror}). Set LEXARBOR_HOME to a folder that "
            "can be written, or give a store."
        ) from error
    try:
        if _is_current(path):
            return path
        say(f"Building the demo store {path} from the invented Statutes of Aldermere")
        index_corpus("aldermere", path, say=say)
    except StoreError as error:
        if not path.is_file():
            raise
        say(f"{error} It is built anew.")
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        index_corpus("aldermere", path, say=say)
    return path


def _is_current(path: Path) -> bool:
    from components.statutes.corpus import StatuteCorpus
    from components.stores.sqlite import StatuteDocumentStore
    from pipelines.bundled import bundled_model

    if not path.exists():
        return False
    store = StatuteDocumentStore(str(path))
    try:
        if store.publisher.recorded_corpus() != StatuteCorpus.read("aldermere").sha256:
            return False
        return store.has_vectors() or bundled_model() is None
    finally:
        store.close()
