"""What may enter a view's queue."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
import tiny_site
from fastapi.testclient import TestClient
from tiny_site import DATA, JOIN, call_of, events

from ui.server import build_server

ASKED: list[Any] = []


def answer(question: Any) -> str:
    ASKED.append(question)
    return f"answer to {question}"


@pytest.fixture(scope="module")
def page() -> Any:
    return tiny_site.view(answer)


@pytest.fixture(scope="module")
def client(page: Any) -> Iterator[TestClient]:
    with TestClient(build_server({"/": page}), raise_server_exceptions=False) as client:
        yield client


def trigger(page: Any) -> int:
    return int(page.config["dependencies"][0]["targets"][0][0])


def test_what_the_page_sends_is_answered(client: TestClient, page: Any):
    sent = call_of("wages", "79e1jr58d2b", trigger_id=trigger(page), event_data=None)
    assert client.post(JOIN, json=sent).status_code == 200
    stream = events(client.get(DATA, params={"session_hash": "79e1jr58d2b"}).text)
    done = next(each for each in stream if each["msg"] == "process_completed")
    assert done["output"]["data"] == ["answer to wages"]


@pytest.mark.parametrize(
    "change",
    [
        {"fn_index": index}
        for index in (-1, 1, 999, 2**70, None, "0", 0.0, True, [0], {}, float("nan"))
    ]
    + [{"session_hash": session} for session in (None, "", 1, ["s"], {}, "a b", "é", "s" * 65)]
    + [
        {"data": data}
        for data in (
            None,
            "x",
            {},
            [],
            ["x"],
            ["x", [], "x"],
            ["x", None],
            ["x", "three"],
            ["x", ["three"]],
            ["x", [1.5]],
            [{"x": 1}, []],
            [[{"path": "/etc/passwd"}], []],
            [[["x"]], []],
            [float("nan"), []],
            [float("inf"), []],
        )
    ]
    + [{"trigger_id": trigger} for trigger in (0, 999, "5", 1.5, [1], True)],
)
def test_what_no_page_sends_is_refused(client: TestClient, change: dict[str, Any]):
    before = len(ASKED)
    sent = json.dumps({**call_of(), **change})
    refused = client.post(JOIN, content=sent, headers={"Content-Type": "application/json"})
    assert refused.status_code == 400
    assert refused.json()["detail"].startswith("This question does not come")
    assert len(ASKED) == before


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"1",
        b'"x"',
        b"{",
        b"\xff",
        b"[" * 60000,
        b'{"a":' * 10000,
        b'{"data": [' + b"9" * 5000 + b"]}",
    ],
)
def test_what_is_no_json_object_is_refused(client: TestClient, body: bytes):
    assert client.post(JOIN, content=body).status_code == 400


@pytest.mark.parametrize("question", [None, "", 1, 1.5, True, 10**400, ["x"] * 100, "x" * 60_000])
def test_what_a_text_field_reads_reaches_the_handler(client: TestClient, question: object):
    ASKED.clear()
    assert client.post(JOIN, json=call_of(question, "read")).status_code == 200
    client.get(DATA, params={"session_hash": "read"})
    assert len(ASKED) == 1


def test_what_else_gradio_would_read_is_left_out(client: TestClient):
    more = {
        "event_id": "x",
        "oauth_token": "x",
        "simple_format": True,
        "batched": True,
        "event_data": {"path": "/etc/passwd"},
        "request": {},
    }
    assert client.post(JOIN, json=call_of("x", "more", **more)).status_code == 200
    stream = events(client.get(DATA, params={"session_hash": "more"}).text)
    assert stream[-1]["msg"] == "close_stream"


def test_half_a_letter_does_not_break_the_answer(client: TestClient):
    sent = b'{"data": ["a\\ud83d", []], "fn_index": 0, "session_hash": "half"}'
    assert client.post(JOIN, content=sent).status_code == 200
    stream = events(client.get(DATA, params={"session_hash": "half"}).text)
    done = next(each for each in stream if each["msg"] == "process_completed")
    assert done["output"]["data"] == ["answer to a?"]


def test_an_argument_that_names_a_file_or_an_address_fetches_neither(client: TestClient):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(1)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/x"
        for path in ("/etc/passwd", url):
            named = {"path": path, "url": path, "meta": {"_type": "gradio.FileData"}}
            for argument in (named, [named], {"value": named}):
                assert client.post(JOIN, json=call_of(argument)).status_code == 400
        with pytest.raises(TimeoutError):
            listening.accept()
