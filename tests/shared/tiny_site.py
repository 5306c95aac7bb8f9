"""A site of the smallest views that there are, on a port, and raw bytes for it."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import gradio as gr
from serving import served

from pipelines.serving.limits import prompt_server
from ui.ask import RESULTS, View
from ui.frame import Collection

PATHS = ("/", "/compare", "/fr", "/fr/compare")
JOIN = "/gradio_api/queue/join"
DATA = "/gradio_api/queue/data"


def view(answer: Callable[[Any], str] = str, max_size: int = 64) -> View:
    """A view that asks one question."""
    page = View("Lexarbor", lambda: Collection(1, ("Code",)), lambda _: RESULTS)
    with page:
        question, results = gr.Textbox(label="Your question"), gr.Markdown("", elem_id="results")
        question.submit(answer, question, results, api_name="search", api_visibility="private")
    page.queue(max_size=max_size, default_concurrency_limit=2, api_open=False)
    return page


def views() -> dict[str, View]:
    """One a view and language; each answers with its own address."""
    return {path: view(lambda _, path=path: f"answered at {path}") for path in PATHS}


def call_of(question: Any = "x", session: Any = "s", **other: Any) -> dict[str, Any]:
    """What the page of `view` sends to ask."""
    return {"data": [question], "fn_index": 0, "session_hash": session, **other}


def events(text: str) -> list[dict[str, Any]]:
    """The events of a stream."""
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]


@contextmanager
def on_a_port(app: Any) -> Iterator[int]:
    """The application behind the page's web server."""
    with served(prompt_server(app, 2, log_level="warning")) as address:
        yield int(address.rstrip("/").rpartition(":")[2])


def head_of(
    method: str, path: str, headers: Mapping[str, str] | None = None, host: str = "localhost"
) -> bytes:
    """A request's head, with nothing normalised."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def raw(port: int, *parts: bytes, pause: float = 0.0) -> tuple[int, str]:
    """Status and all that comes back for bytes sent part by part; 0: the connection was reset."""
    answer = b""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=20) as connection,
        suppress(ConnectionError),
    ):
        for part in parts:
            connection.sendall(part)
            time.sleep(pause)
        while read := connection.recv(65536):
            answer += read
    text = answer.decode("latin-1")
    return int(text.split(" ", 2)[1]) if text else 0, text
