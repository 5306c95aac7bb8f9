"""The page over raw HTTP: what is served, to whom, and under which headers."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from pipelines.serving.listening import listen
from ui.app import EXAMPLES, build_page
from ui.collection import Collection
from ui.guard import BODY_LIMIT
from ui.server import build_server
from ui.standing import Standing

ALDERMERE = Collection.of([("housing-12", "Housing Code of Aldermere (invented)", "12")])
STAGES = ["citation", "bm25"]
JOIN = "/gradio_api/queue/join"


def ask(question: str) -> dict[str, Any]:
    return {"question": question, "took_ms": 1.0, "documents": []}


@pytest.fixture(scope="module")
def page() -> Any:
    return build_page(ask, ALDERMERE, STAGES)


@pytest.fixture(scope="module")
def client(page: Any) -> Iterator[TestClient]:
    # A failure inside Gradio must reach a client as a bare 500, as uvicorn sends it.
    with TestClient(build_server(page), raise_server_exceptions=False) as client:
        yield client


def endpoint(page: Any, name: str) -> int:
    return next(each["id"] for each in page.config["dependencies"] if each["api_name"] == name)


def call(client: TestClient, fn_index: int, data: list[Any]) -> dict[str, Any]:
    """The last event of one call, as a browser makes it."""
    body = {"data": data, "fn_index": fn_index, "session_hash": "test"}
    joined = client.post(JOIN, json=body)
    assert joined.status_code == 200, joined.text
    events = client.get("/gradio_api/queue/data", params={"session_hash": "test"}).text
    said = [json.loads(line[6:]) for line in events.splitlines() if line.startswith("data: ")]
    return next(event for event in said if event["msg"] == "process_completed")


@pytest.mark.parametrize(
    "path", ["/", "/page.css", "/page.js", "/favicon.svg", "/theme.css", "/nothing"]
)
def test_every_answer_carries_the_security_headers(client: TestClient, path: str):
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    script = re.search(r"script-src ([^;]*)", policy)
    assert script
    assert "unsafe" not in script[1]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"


def test_every_script_of_the_document_carries_the_nonce_of_its_answer(client: TestClient):
    nonces = set()
    for _ in range(2):
        response = client.get("/")
        nonce = re.search(r"'nonce-([^']+)'", response.headers["content-security-policy"])
        assert nonce
        scripts = re.findall(r"<script[^>]*>", response.text)
        assert len(scripts) > 3
        assert all(f'nonce="{nonce[1]}"' in script for script in scripts)
        nonces.add(nonce[1])
        assert int(response.headers["content-length"]) == len(response.content)
        assert response.headers["cache-control"] == "no-store"
    assert len(nonces) == 2


def test_the_document_loads_nothing_from_another_host(client: TestClient, page: Any):
    document = client.get("/").text
    assert re.findall(r'<[^>]*(?:href|src|content)="(?:https?:)?//[^"]*', document) == []
    for sheet in ("/theme.css", "/frame.css", "/page.css", "/results.css"):
        assert re.findall(r"@import|url\(\W*(?:https?:)?//", client.get(sheet).text) == []
    assert page.config["analytics_enabled"] is False
    assert page.config["run_history"] is False
    assert not page.config["stylesheets"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/gradio_api/upload"),
        ("GET", "/gradio_api/upload_progress?upload_id=x"),
        ("GET", "/gradio_api/file=/etc/passwd"),
        ("GET", "/gradio_api/file//etc/passwd"),
        ("GET", "/gradio_api/proxy=https://example.com/"),
        ("POST", "/gradio_api/component_server"),
        ("POST", "/gradio_api/api/search"),
        ("POST", "/gradio_api/run/search"),
        ("POST", "/gradio_api/call/search"),
        ("GET", "/gradio_api/info"),
        ("GET", "/config"),
        ("GET", "/gradio_api/heartbeat/x"),
        ("GET", "/gradio_api/runs"),
        ("GET", "/gradio_api/deep_link"),
        ("GET", "/monitoring"),
        ("POST", "/login"),
        ("GET", "/docs"),
        ("GET", "/openapi.json"),
        ("GET", "/assets/../../../../../etc/passwd"),
        ("GET", "/assets/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd"),
        ("GET", "/assets/..%2f..%2f..%2f..%2fetc%2fpasswd"),
        ("GET", "/assets/..\\..\\..\\etc\\passwd"),
        ("GET", "/assets//etc/passwd"),
        ("GET", "/static/js/%2e%2e/%2e%2e/%2e%2e/routes.py"),
        ("GET", "/static/fonts/....//....//routes.py"),
        ("PUT", "/"),
        ("DELETE", JOIN),
        ("OPTIONS", "/"),
    ],
)
def test_what_the_page_does_not_use_is_not_served(client: TestClient, method: str, path: str):
    response = client.request(method, path)
    assert response.status_code in (403, 404)
    assert "root:" not in response.text


def test_a_body_over_the_limit_gets_413_however_it_is_sent(client: TestClient):
    def chunks() -> Iterator[bytes]:
        for _ in range(BODY_LIMIT // 1024 + 1):
            yield b"x" * 1024

    for body in (b"x" * (BODY_LIMIT + 1), b"x" * 20_000_000, chunks()):
        assert client.post(JOIN, content=body).status_code == 413
    assert client.post(JOIN, content=b"x" * BODY_LIMIT).status_code == 422
    assert client.request("GET", "/", content=b"x" * (BODY_LIMIT + 1)).status_code == 413


def test_every_endpoint_is_named_and_private(page: Any):
    named = {each["api_name"]: each["api_visibility"] for each in page.config["dependencies"]}
    assert set(named.values()) == {"private"}
    assert set(named) == {"search"} | {f"example_{n}" for n in range(1, len(EXAMPLES) + 1)}


@pytest.mark.parametrize("question", [None, "", [], {}, 1.5, True, "x" * 3000, ["x"] * 100])
def test_any_question_over_http_gets_a_message(client: TestClient, page: Any, question: object):
    done = call(client, endpoint(page, "search"), [question])
    assert done["success"] is True
    status, results = done["output"]["data"]
    assert 'class="message"' in status
    assert results == ""


@pytest.mark.parametrize("data", [[], ["a", "b"], [None] * 5])
def test_a_wrong_number_of_arguments_harms_nothing(client: TestClient, page: Any, data: list[Any]):
    call(client, endpoint(page, "search"), data)
    assert call(client, endpoint(page, "search"), ["a"])["success"] is True


def test_an_unknown_endpoint_is_refused_without_a_traceback(client: TestClient):
    for fn_index in (-1, 999, None):
        body = {"data": ["x"], "fn_index": fn_index, "session_hash": "test"}
        response = client.post(JOIN, json=body)
        assert response.status_code >= 400
        assert "Traceback" not in response.text


def test_an_example_takes_no_argument_from_outside(client: TestClient, page: Any):
    question, _, _ = call(client, endpoint(page, "example_1"), [])["output"]["data"]
    assert question == EXAMPLES[0]
    injected = call(client, endpoint(page, "example_1"), ["<b>injected</b>"])
    assert "injected" not in json.dumps(injected["output"])


def test_examples_are_offered_for_the_demo_law_only():
    real = build_page(ask, Collection.of([("1", "Code civil", "1")]), STAGES)
    assert {each["api_name"] for each in real.config["dependencies"]} == {"search"}


def test_the_queue_is_bounded_and_a_client_too_many_is_told():
    answering = threading.Event()

    def slow(question: str) -> dict[str, Any]:
        answering.wait(20)
        return ask(question)

    page = build_page(slow, ALDERMERE, STAGES)
    with TestClient(build_server(page)) as client:
        body = {"data": ["x"], "fn_index": endpoint(page, "search"), "session_hash": "many"}
        answers = [client.post(JOIN, json=body) for _ in range(90)]
        answering.set()
        refused = [answer for answer in answers if answer.status_code == 503]
        assert len(refused) >= 10
        assert answers[0].status_code == 200
        assert "full" in refused[0].text


def test_how_far_the_learning_is_can_be_read_and_nothing_else_done_with_it():
    standing = [Standing("learning", 0.5, 60.0)]
    page = build_page(ask, ALDERMERE, STAGES, learning=True)
    with TestClient(build_server(page, lambda: standing[0])) as client:
        told = client.get("/learning")
        assert told.json()["share"] == "50%"
        assert told.headers["cache-control"] == "no-store"
        assert "default-src 'none'" in told.headers["content-security-policy"]
        standing[0] = Standing("learnt", 1.0)
        assert client.get("/learning").json()["state"] == "learnt"
        for method in ("POST", "PUT", "DELETE"):
            assert client.request(method, "/learning").status_code == 404
    # Nothing can be called through Gradio for it either.
    assert [each["api_name"] for each in page.config["dependencies"]].count("search") == 1
    assert len(page.config["dependencies"]) == 1 + len(EXAMPLES)


def test_a_page_that_learns_nothing_is_not_asked_how_far_it_is(client: TestClient, page: Any):
    assert client.get("/learning").status_code == 404
    assert not any(each["props"].get("elem_id") == "learning" for each in page.config["components"])


def test_a_port_in_use_cannot_be_listened_on():
    with listen("127.0.0.1", 0) as taken, pytest.raises(OSError, match="in use"):
        listen("127.0.0.1", taken.getsockname()[1])
    with listen("::1", 0) as six:
        assert six.family == socket.AF_INET6
