"""python -m pipelines.serve: what it refuses, how it starts and how it ends."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from serving import served
from waiting import until

from pipelines.serve import _loaded, _parse
from pipelines.serving.limits import prompt_protocol

REPOSITORY = Path(__file__).resolve().parents[2]
Started = Callable[..., tuple["subprocess.Popen[bytes]", str, Path]]


@pytest.fixture
def start(tmp_path) -> Iterator[Started]:
    """`start(*command)`: the process, the address at which it listens, and what it says."""
    processes = []

    def run(*command: object, **environment: str) -> tuple[subprocess.Popen[bytes], str, Path]:
        said = tmp_path / "said"
        with said.open("wb") as written:
            process = subprocess.Popen(
                [sys.executable, *map(str, command)],
                cwd=REPOSITORY,
                env={**os.environ, **environment},
                stderr=written,
            )
        processes.append(process)
        while True:
            ended = process.poll() is not None
            found = re.search(r"Listening at (http://\S+/)", said.read_text())
            if found:
                return process, found[1], said
            assert not ended, said.read_text()
            time.sleep(0.05)

    yield run
    for process in processes:
        process.kill()
        process.wait()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.1"])
def test_other_machines_are_let_in_only_by_a_word_of_its_own(host, command, tmp_path):
    code, _, said = command("serve", "--host", host, "--port", 0)
    assert code == 2
    assert "neither passwords nor TLS" in said
    assert "reverse proxy" in said
    assert "--insecure" in said
    missing = tmp_path / "none.db"
    given = ("--host", host, "--port", 0, "--insecure", "--store", missing)
    code, _, said = command("serve", *given)
    assert code == 2
    assert "neither passwords" not in said


@pytest.mark.parametrize(
    "key", [None, "", "too-short", "two long words", "a-long-key-12\n", "ein-schlüssel"]
)
def test_a_key_that_is_short_or_that_no_header_can_hold_is_refused(key, command, monkeypatch):
    if key is not None:
        monkeypatch.setenv("LAW_KEY", key)
    code, _, said = command("serve", "--api-key-env", "LAW_KEY", "--port", 0)
    assert code == 2
    assert "--api-key-env LAW_KEY" in said
    assert ("12 ASCII" if key else "is not set") in said
    assert not key or key not in said


def test_a_late_generator_does_not_cost_the_articles(law_store):
    for seconds, limit in ((300, 60), (30, 15), (8, 4)):
        names = ["--pipeline", "answer_hybrid", "--pipeline", "hybrid_rewritten"]
        given = ["--store", law_store, *names, "--seconds", seconds]
        loaded = _loaded(_parse([str(each) for each in given]))
        assert loaded["answer_hybrid"].get_component("generator").time_limit == limit
        rewriter = loaded["hybrid_rewritten"].get_component("rewriter")
        assert rewriter.time_limit == min(limit, 10)


@pytest.fixture
def collector() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """A collector of traces: its address, and the paths and bodies that it got."""
    got: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", got
    server.shutdown()
    server.server_close()


TRACE = "0af7651916cd43dd8448eb211c80319c"


def test_it_answers_logs_json_and_ends_with_zero(start, text_store, collector):
    process, url, log = start(
        *("-m", "pipelines.serve", "--store", text_store, "--port", 0),
        HAYSTACK_CONTENT_TRACING_ENABLED="true",
        OTEL_EXPORTER_OTLP_ENDPOINT=collector[0],
    )
    until(lambda: httpx.get(f"{url}ready").status_code == 200)
    question = {"query": "Who decides on the rent of Mr. Unmistakable?", "top_k": 2}
    caller = {"traceparent": f"00-{TRACE}-{'b7' * 8}-01", "baggage": "q=Unmistakable"}
    answer = httpx.post(f"{url}lexical/run?q=Unmistakable", json=question, headers=caller)
    assert len(answer.json()["documents"]) == 2
    assert httpx.get(f"{url}Unmistakable").status_code == 404
    assert httpx.get(f"{url}status", headers={"Host": "Unmistakable.example"}).status_code == 421
    assert httpx.get(f"{url}status").json()["pipelines"] == ["lexical"]
    assert httpx.post(f"{url}deploy_files", json={}).status_code == 404
    assert "Unmistakable" not in httpx.get(f"{url}metrics").text
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 0
    said = log.read_text()
    assert "reverse proxy" in said
    lines = said.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("{"))
    logged = [json.loads(line) for line in lines[first:]]  # JSON to the end
    assert [each["message"] for each in logged[:2]] == ["ready", "request"]
    assert logged[1]["documents"] == 2
    assert "Unmistakable" not in said
    assert {path for path, _ in collector[1]} == {"/v1/traces"}
    traces = b"".join(body for _, body in collector[1])
    assert b"/lexical/run" in traces
    assert b"Unmistakable" not in traces
    assert bytes.fromhex(TRACE) in traces  # the caller's own


# A service whose one pipeline waits for a file.
HOLDING = """
import sys, time
from pathlib import Path
from haystack import Document, Pipeline, component
from pipelines.command_line import say
from pipelines.serving.app import build_app, serve
from pipelines.serving.limits import Limits, address, listen

folder = Path(sys.argv[1])

@component
class Held:
    @component.output_types(documents=list[Document])
    def run(self, query: str):
        (folder / "entered").touch()
        while not (folder / "released").exists():
            time.sleep(0.01)
        return {"documents": []}

sockets = {"inputs": {"query": ["held.query"]}, "outputs": {"documents": ["held.documents"]}}
pipeline = Pipeline(metadata={"name": "held", **sockets})
pipeline.add_component("held", Held())
limits = Limits(seconds=60)
app = build_app({"held": pipeline}, limits)
with listen("127.0.0.1", 0) as listening:
    say(f"Listening at {address(listening)}")
    serve(app, limits, listening)
"""


# By SIGTERM above.
def test_what_is_in_flight_ends_and_nothing_new_begins(start, tmp_path):
    process, url, _ = start("-c", HOLDING, tmp_path)
    until(lambda: httpx.get(f"{url}ready").status_code == 200)
    answers = []

    def ask() -> None:
        answers.append(httpx.post(f"{url}held/run", json={"query": "x"}, timeout=60))

    asking = threading.Thread(target=ask)
    asking.start()
    until((tmp_path / "entered").exists)
    process.send_signal(signal.SIGINT)

    def is_refused() -> bool:
        try:
            socket.create_connection(("127.0.0.1", httpx.URL(url).port)).close()
        except ConnectionRefusedError:
            return True
        return False

    until(is_refused)
    assert process.poll() is None
    (tmp_path / "released").touch()
    asking.join(timeout=60)
    assert [each.status_code for each in answers] == [200]
    assert process.wait(timeout=60) == 0


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Reads the whole body, and answers its length."""
    length, more = 0, True
    while more:
        message = await receive()
        length += len(message.get("body", b""))
        more = message.get("more_body", False)
    told = str(length).encode()
    headers = [(b"content-length", str(len(told)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": told})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    config = uvicorn.Config(app, http=prompt_protocol(), ws="none", lifespan="off", log_config=None)
    with served(uvicorn.Server(config)) as address:
        yield httpx.URL(address).port


@pytest.fixture
def client(port, monkeypatch) -> Iterator[socket.socket]:
    monkeypatch.setattr("pipelines.serving.limits.HEAD_SECONDS", 0.5)
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        yield connection


def test_headers_that_come_letter_by_letter_are_not_waited_for(client):
    start = time.monotonic()
    try:
        while time.monotonic() - start < 8:
            client.sendall(b"G")
            time.sleep(0.05)
    except OSError:
        pass
    assert time.monotonic() - start < 6


def test_a_body_has_more_time_than_a_head(client):
    client.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\n\r\nabc")
    time.sleep(1)
    client.sendall(b"def")
    assert client.recv(4096).startswith(b"HTTP/1.1 200")
