"""An engine that is down, slow, cut off in the middle, too old or missing: one clear error."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from milvus_lite.server_manager import server_manager_instance
from qdrant_client import QdrantClient
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from components.stores.engines import engine as engine_module
from components.stores.engines.engine import tried
from components.stores.failures import StoreError
from pipelines import ask as ask_command
from pipelines.asking import ask
from pipelines.command_line import FAILED, WRONG_USE
from pipelines.engines import connecting, indexing, writing
from pipelines.engines.indexing import EngineReport, index_into_engine
from pipelines.loading import LoadingError, load_pipeline

Article = dict[str, Any]
Index = Callable[..., EngineReport]


@pytest.fixture
def short_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine has a second to answer."""
    given = connecting.default_parameters

    def impatient(kind: str) -> dict[str, Any]:
        parameters = given(kind)
        parameters["timeout"] = 1
        if "connection_args" in parameters:
            parameters["connection_args"]["timeout"] = 1
        return parameters

    monkeypatch.setattr(indexing, "default_parameters", impatient)


def free_port() -> int:
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


class Line:
    """A way to a server that can be cut and mended."""

    def __init__(self, target: int) -> None:
        self.port = free_port()
        self._target = target
        self._listening: socket.socket | None = None
        self._ends: list[socket.socket] = []
        self.mend()

    def mend(self) -> None:
        self._listening = socket.socket()
        self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listening.bind(("127.0.0.1", self.port))
        self._listening.listen()
        threading.Thread(target=self._accept, args=(self._listening,), daemon=True).start()

    def cut(self) -> None:
        assert self._listening is not None
        for each in (self._listening, *self._ends):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._ends = []

    def _accept(self, listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                here, _ = listening.accept()
                there = socket.create_connection(("127.0.0.1", self._target))
                self._ends += [here, there]
                for one, other in ((here, there), (there, here)):
                    threading.Thread(target=_carry, args=(one, other), daemon=True).start()


def _carry(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(65_536):
            other.sendall(data)
    for each in (one, other):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def line(tmp_path: Path) -> Iterator[Line]:
    """A line to a Milvus of this process."""
    uri = server_manager_instance.start_and_get_uri(str(tmp_path / "server.db"))
    line = Line(int(uri.rsplit(":", 1)[1]))
    yield line
    line.cut()


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def test_an_engine_that_is_down_at_the_start_is_said_at_once(
    engine: str, short_timeouts: None, corpus: Path, tiny_model: Path
) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    began = time.monotonic()
    for attempt in (
        lambda: index_into_engine(corpus, engine, url, model=str(tiny_model)),
        lambda: load_pipeline(engine, store=url),
    ):
        with pytest.raises(StoreError, match=rf"{url}.* does not answer .*Check that it runs"):
            attempt()
    assert time.monotonic() - began < 30


def test_an_engine_that_never_answers_is_given_up(
    engine: str, short_timeouts: None, corpus: Path, tiny_model: Path
) -> None:
    with closing(socket.socket()) as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        began = time.monotonic()
        with pytest.raises(StoreError, match="does not answer"):
            index_into_engine(corpus, engine, url, model=str(tiny_model))
        assert time.monotonic() - began < 30


def test_the_command_line_says_it_in_one_line(
    engine: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    assert ask_command.main(["Who pays?", "--pipeline", engine, "--store", url]) == FAILED
    said = capfd.readouterr().err
    assert said.startswith("error: ")
    assert url in said
    assert "Traceback" not in said


def test_a_pipeline_over_an_engine_needs_its_address(
    engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask_command.main(["Who pays?", "--pipeline", engine]) == WRONG_USE
    assert "name its address, such as --store http://localhost" in capsys.readouterr().err
    with pytest.raises(LoadingError, match="no address of the engine is named"):
        load_pipeline(engine)


def test_a_store_is_no_folder_of_an_engine(engine: str, corpus: Path, tiny_model: Path) -> None:
    store = corpus.with_name("law.db")
    store.write_bytes(b"SQLite format 3")
    for attempt in (
        lambda: index_into_engine(corpus, engine, str(store), model=str(tiny_model)),
        lambda: load_pipeline(engine, store=store),
    ):
        with pytest.raises(LoadingError, match=r"law\.db is a file.*give another name"):
            attempt()


def test_a_qdrant_that_is_too_old_is_refused() -> None:
    class Old(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"title": "qdrant", "version": "1.7.4", "commit": None}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    with serving(Old) as url, pytest.raises(StoreError, match=r"version 1\.7; 1\.10 or later"):
        load_pipeline("qdrant", store=url)


def test_a_milvus_that_is_too_old_is_refused(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pymilvus.MilvusClient.get_server_version", lambda *_, **__: "v2.4.9")
    with pytest.raises(StoreError, match=r"version v2\.4\.9; 2\.5 or later"):
        load_pipeline("milvus", store=f"http://127.0.0.1:{line.port}")


def test_what_answers_but_is_no_engine_is_refused(corpus: Path, tiny_model: Path) -> None:
    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(404)

        def log_message(self, *args: object) -> None:
            pass

    with serving(Other) as url, pytest.raises(StoreError, match="refused what it was asked"):
        index_into_engine(corpus, "qdrant", url, model=str(tiny_model))


def test_a_milvus_cut_off_in_the_middle_is_gone_on_with(
    line: Line,
    short_timeouts: None,
    corpus: Path,
    tiny_model: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writing, "block_size", lambda model: 4)
    # gRPC itself waits a while before it connects anew.
    monkeypatch.setattr(indexing, "INDEXING", (0.5, 1.0, 2.0, 4.0))
    url = f"http://127.0.0.1:{line.port}"
    blocks: list[int] = []
    embedded = writing.LawWriter._embedded

    def cutting(self: Any, changed: Any) -> Any:
        blocks.append(len(changed))
        if len(blocks) == 4:
            line.cut()
        return embedded(self, changed)

    with monkeypatch.context() as patch:
        patch.setattr(writing.LawWriter, "_embedded", cutting)
        with pytest.raises(StoreError, match=r"does not answer.*run again goes on from there"):
            index_into_engine(corpus, "milvus", url, model=str(tiny_model))
    line.mend()
    report = index_into_engine(corpus, "milvus", url, model=str(tiny_model))
    assert (report.encoded, report.articles, report.complete) == (30 - 12, 30, True)
    pipeline = load_pipeline("milvus", store=url)
    assert ask(pipeline, "Who decides on repairs?")["documents"]
    line.cut()
    with pytest.raises(StoreError, match="does not answer"):
        ask(pipeline, "Who decides on custody?")
    line.mend()
    # gRPC waits for longer each time before it connects anew, and on a busy machine for long.
    deadline = time.monotonic() + 120
    while True:
        try:
            assert ask(pipeline, "Who decides on taxes?")["documents"]
            break
        except StoreError:
            assert time.monotonic() < deadline
            time.sleep(0.5)


def test_a_qdrant_cut_off_in_the_middle_is_gone_on_with(
    corpus: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    address = str(tmp_path / "folder")
    monkeypatch.setattr(writing, "block_size", lambda model: 4)
    upsert = QdrantClient.upsert
    calls: list[str] = []

    def cut(self: Any, collection_name: str, *args: Any, **options: Any) -> Any:
        calls.append(collection_name)
        if calls.count("lexarbor") > 3:
            raise ResponseHandlingException(httpx.ConnectError("connection reset"))
        return upsert(self, collection_name, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(QdrantClient, "upsert", cut)
        with pytest.raises(StoreError, match=r"does not answer \(connection reset\), tried 3 time"):
            index_into_engine(corpus, "qdrant", address, model=str(tiny_model))
    report = index_into_engine(corpus, "qdrant", address, model=str(tiny_model))
    assert (report.encoded, report.complete) == (30 - 12, True)
    pipeline = load_pipeline("qdrant", store=address)

    def gone(self: Any, *args: Any, **options: Any) -> Any:
        raise ResponseHandlingException(httpx.ConnectError("connection refused"))

    monkeypatch.setattr(engine_module, "ASKING", ())
    with monkeypatch.context() as patch:
        patch.setattr(QdrantClient, "query_points", gone)
        with pytest.raises(StoreError, match="does not answer"):
            ask(pipeline, "Who decides on repairs?")
    assert ask(pipeline, "Who decides on repairs?")["documents"]


@pytest.mark.parametrize("times", [1, 2])
def test_a_hiccup_is_not_seen(
    times: int, corpus: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    upsert = QdrantClient.upsert
    refusals = [503, 429][:times]

    def flaky(self: Any, *args: Any, **options: Any) -> Any:
        if refusals:
            raise UnexpectedResponse(refusals.pop(), "busy", b"", httpx.Headers())
        return upsert(self, *args, **options)

    monkeypatch.setattr(QdrantClient, "upsert", flaky)
    report = index_into_engine(corpus, "qdrant", str(tmp_path / "f"), model=str(tiny_model))
    assert (report.written, report.complete, refusals) == (30, True, [])


def test_a_folder_that_another_process_holds_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "held"
    script = (
        "import sys; from qdrant_client import QdrantClient;"
        "client = QdrantClient(path=sys.argv[1]); print(1, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(StoreError, match="already accessed by another instance"):
            load_pipeline("qdrant", store=folder)
        holder.communicate(b"\n")


def test_the_pauses_between_tries_grow_and_end(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(engine_module.time, "sleep", slept.append)
    calls: list[int] = []

    def failing() -> None:
        calls.append(1)
        raise OSError("no")

    with pytest.raises(StoreError, match=r"E does not answer \(no\), tried 4 times"):
        tried(failing, "E", lambda error: True, (1.0, 2.0, 4.0))
    assert (len(calls), slept) == (4, [1.0, 2.0, 4.0])
    with pytest.raises(OSError, match="no"):  # none of the engine's: a fault of ours stays itself
        tried(failing, "E", lambda error: None, (1.0,))
    with pytest.raises(StoreError, match="E refused what it was asked: no"):
        tried(failing, "E", lambda error: False, (1.0,))
    assert len(calls) == 6


@pytest.mark.parametrize(
    ("engine_name", "missing"),
    [("qdrant", "haystack_integrations"), ("milvus", "milvus_haystack"), ("milvus", "milvus_lite")],
)
def test_without_its_packages_an_engine_says_what_to_install(
    engine_name: str, missing: str, corpus: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [each for each in sys.modules if each.split(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    address = str(tmp_path / "new.db")
    with pytest.raises(LoadingError, match=rf"pip install 'lexarbor\[{engine_name}\]'"):
        index_into_engine(corpus, engine_name, address)
    if missing != "milvus_lite":
        with pytest.raises(LoadingError, match=rf"pip install 'lexarbor\[{engine_name}\]'"):
            load_pipeline(engine_name, store=address)
