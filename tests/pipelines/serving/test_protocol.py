"""A client that never ends its headers holds no connection."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn

from pipelines.serving import protocol
from pipelines.serving.protocol import PromptProtocol

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


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
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, http=PromptProtocol, ws="none", lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield listening.getsockname()[1]
    server.should_exit = True
    thread.join(10)


@pytest.fixture
def client(port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.5)
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        yield connection


def answered(client: socket.socket) -> bool:
    return client.recv(4096).startswith(b"HTTP/1.1 200")


def test_a_connection_on_which_nothing_comes_is_closed(client: socket.socket) -> None:
    assert client.recv(1) == b""


def test_headers_that_come_letter_by_letter_are_not_waited_for(client: socket.socket) -> None:
    start = time.monotonic()
    try:
        while time.monotonic() - start < 8:
            client.sendall(b"G")
            time.sleep(0.05)
    except OSError:
        pass
    assert time.monotonic() - start < 6


def test_the_next_request_has_its_own_time(client: socket.socket) -> None:
    for _ in range(4):
        time.sleep(0.2)
        client.sendall(REQUEST)
        assert answered(client)
    client.sendall(b"GET / HTTP/1.1\r\nHost:")
    assert client.recv(1) == b""


def test_a_body_has_more_time_than_a_head(client: socket.socket) -> None:
    client.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\n\r\nabc")
    time.sleep(1)
    client.sendall(b"def")
    assert answered(client)
