"""The guard: who is refused, with which answer, and what never reaches Gradio."""

from __future__ import annotations

import base64
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import tiny_site
from fastapi.testclient import TestClient
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from tiny_site import DATA, JOIN, call_of, events, head_of, on_a_port, raw

from pipelines.checking import LoadingError
from pipelines.serving.limits import BODY_LIMIT, LOOPBACK
from ui import guard
from ui.guard import Guard, read_passwords
from ui.server import build_server

READER = "élise:mot de passe : é"
HOME = "http://localhost:7860"
ASKED: list[Any] = []
PAGE = {"Accept": "text/html,*/*;q=0.8"}
JSON = {"Content-Type": "application/json"}


def basic(credentials: str, scheme: str = "Basic") -> dict[str, str]:
    return {"Authorization": f"{scheme} {base64.b64encode(credentials.encode()).decode()}"}


RIGHT = basic(READER)
WRONG = basic("élise:mot de passe : e")
NO_PASSWORD = {"Authorization": None}
ADDRESSES = (f"198.51.100.{number}" for number in range(250))


def answer(question: Any) -> str:
    ASKED.append(question)
    return f"answer to {question}"


def fail(request: Request) -> PlainTextResponse:
    raise RuntimeError(request.query_params["q"])


@pytest.fixture(scope="module")
def site() -> Iterator[TestClient]:
    """A site with a password, for one reader who asks with it."""
    pages = {"/": tiny_site.view(answer), "/fr": tiny_site.view(answer)}
    app = build_server(pages, [Route("/fails", fail)], passwords=[READER], names=LOOPBACK)
    with TestClient(app, HOME, raise_server_exceptions=False, headers=RIGHT) as client:
        yield client


def attack(path: str, status: int, method: str = "GET", **options: Any) -> Any:
    """A row: a request with the right password, unless it brings headers of its own."""
    given = {"method": method, "url": f"{HOME}{path}", **options}
    shown = json.dumps({k: v for k, v in options.items() if k in ("headers", "json")}, default=repr)
    return pytest.param(given, status, id=f"{status} {method} {path} {shown}"[:90])


def asks(status: int, headers: dict[str, str] = JSON, **change: Any) -> Any:
    """A row: a call with something changed, written as JSON."""
    body = json.dumps({**call_of(), **change})
    given = {"method": "POST", "url": f"{HOME}{JOIN}", "content": body, "headers": headers}
    return pytest.param(given, status, id=f"{status} call {change} {headers}"[:90])


ATTACKS = [
    # A name on the web that leads to 127.0.0.1 (DNS rebinding)
    *(
        attack(path, 421, method, headers={"Host": host})
        for host in ("example.com", "localhost.example.com:7860", "", "192.0.2.1", "a@localhost")
        for method, path in (("GET", "/"), ("POST", JOIN))
    ),
    # No password, or a wrong one
    *(
        attack(path, 401, headers=NO_PASSWORD)
        for path in ("/", "/fr", "/lexarbor.css", "/theme.css", "/assets/x.js", "/none", DATA)
    ),
    *(
        attack("/", 401, headers=headers)
        for headers in (
            *(WRONG, basic(READER, "Bearer")),
            *map(basic, ("", ":", "élise", "élise:", "Élise:mot de passe : é", f"{READER} ")),
            *({"Authorization": f"Basic {each}"} for each in ("", "!!!!", "/////w==")),
        )
    ),
    attack(JOIN, 401, "POST", headers={**JSON, **NO_PASSWORD}, json=call_of()),
    # What no page uses
    *(
        attack(path, 404)
        for path in (
            *("/gradio_api/file=/etc/passwd", "/fr/gradio_api/proxy=https://example.com/"),
            *("/fr/gradio_api/info", "/config", "/openapi.json", JOIN),
            *(f"/assets{path}" for path in ("/../etc/passwd", "//etc/passwd", "/%5cetc%5cpasswd")),
        )
    ),
    *(attack(path, 404, "POST") for path in ("/gradio_api/upload", "/")),
    *(attack(JOIN, 404, method) for method in ("DELETE", "OPTIONS")),
    # A page of another site
    *(
        asks(403, headers={**kind, **headers})
        for kind in ({}, JSON, {"Content-Type": "text/plain"})
        for headers in (
            {"Origin": "https://example.com"},
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site", "Origin": HOME},
        )
    ),
    # Calls that no page makes
    *(
        asks(400, fn_index=each)
        for each in (-1, 99, 2**70, None, "0", 0.5, True, [0], float("nan"))
    ),
    *(asks(400, session_hash=each) for each in (None, "", 1, ["s"], "a b", "é", "s" * 65, "s\n")),
    *(asks(400, trigger_id=each) for each in ("5", 1.5, [1], True)),
    *(
        asks(400, data=each)
        for each in (
            *(None, "x", {}, [], ["x", "x"], [1], [["x"]]),
            [{"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}],
            [[{"path": "http://127.0.0.1/", "meta": {"_type": "gradio.FileData"}}]],
        )
    ),
    *(
        attack(JOIN, 400, "POST", content=each, headers=JSON)
        for each in (b"", b"null", b"[1]", b"{", b"\xff", b"[" * 60_000, b'{"a":' * 10_000)
    ),
    # Too long a body
    attack(JOIN, 413, "POST", content=b"x" * (BODY_LIMIT + 1)),
    attack(JOIN, 413, "POST", content=b"x" * 20_000_000),
    attack("/", 413, content=b"x" * (BODY_LIMIT + 1)),
    attack("/gradio_api/upload", 413, "POST", content=b"x" * 1_000_000),
    # An unexpected error
    attack("/fails?q=my+secret+question", 500),
]


@pytest.mark.parametrize(("given", "status"), ATTACKS)
def test_an_attack_is_refused(
    site: TestClient, given: dict[str, Any], status: int, caplog: pytest.LogCaptureFixture
):
    ASKED.clear()
    # From a new address each time, so that none is blocked.
    client = TestClient(site.app, raise_server_exceptions=False, client=(next(ADDRESSES), 50_000))
    headers = {**RIGHT, **given.get("headers", {})}.items()
    given = {**given, "headers": {name: value for name, value in headers if value is not None}}
    refused = client.request(**given)
    assert refused.status_code == status
    _check_headers(refused)
    assert len(refused.text) < 200
    for secret in ("passe : é", "root:", "secret question"):
        assert secret not in refused.text + caplog.text
    assert ("www-authenticate" in refused.headers) == (status == 401)
    assert ("RuntimeError" in caplog.text) == (status == 500)
    assert not ASKED


def _check_headers(response: Any) -> None:
    policy = dict(
        part.strip().partition(" ")[::2]
        for part in response.headers["content-security-policy"].split(";")
    )
    assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in policy["script-src"]
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["x-frame-options"] == "DENY"
    assert response.headers["referrer-policy"] == "same-origin"
    assert response.headers["cross-origin-resource-policy"] == "same-origin"
    assert not any(name.startswith("access-control") for name in response.headers)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        basic(READER, "bASIC"),
        basic("e\u0301lise:mot de passe : e\u0301"),
        {"Host": "[::1]:7860"},
        {"Host": "127.0.0.1"},
        {"Sec-Fetch-Site": "cross-site"},  # a link may lead here
        {"Origin": "https://example.com"},
    ],
)
def test_a_reader_is_served(site: TestClient, headers: dict[str, str]):
    for path in ("/", "/fr", "/lexarbor.css", "/theme.css", "/favicon.svg"):
        served = site.get(path, headers=headers)
        assert served.status_code == 200, path
        _check_headers(served)


@pytest.mark.parametrize("question", ["wages", "", None, "x" * 60_000, "\ufffe\u202e"])
def test_the_call_of_a_page_is_answered(site: TestClient, question: Any):
    more = {"event_data": {"path": "/etc/passwd"}, "simple_format": True, "batched": True}
    sent = call_of(question, "own", trigger_id=3, event_id="x", oauth_token="x", **more)
    for own in ({"Origin": HOME, "Sec-Fetch-Site": "same-origin"}, {"Origin": HOME}, {}):
        assert site.post(JOIN, json=sent, headers=own).status_code == 200
        stream = events(site.get(DATA, params={"session_hash": "own"}).text)
        done = next(each for each in stream if each["msg"] == "process_completed")
        assert done["output"]["data"] == [f"answer to {question}"]
        assert ASKED.pop() == question


def test_refusals_are_in_the_language_of_the_address(site: TestClient):
    assert TestClient(site.app, HOME).get("/fr/rien").text.startswith("Un nom et un mot")
    for path, title, home in (
        ("/nothing", "Page not found", "/law"),
        ("/fr/<script>", "Page introuvable", "/fr/law"),
    ):
        page = site.get(path, headers=PAGE)
        assert page.status_code == 404
        assert f"<h1>{title}</h1>" in page.text
        assert f'<a href="{home}">' in page.text
        assert "<script>" not in page.text
        _check_headers(page)


def guarded(**options: Any) -> Guard:
    return Guard(PlainTextResponse("read"), pages={}, read=["/"], **options)


def test_an_address_that_guesses_is_blocked_for_a_while(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(guard, "_BLOCKED_SECONDS", 1)
    app = guarded(passwords=[READER])

    def statuses(address: str, *sent: dict[str, str]) -> list[int]:
        client = TestClient(app, client=(address, 50_000))
        return [client.get("/", headers=each).status_code for each in sent]

    # One household has 2**64 addresses of version 6; behind a proxy, version 4 may look like it.
    for first, same, others in (
        ("192.0.2.1", "192.0.2.1", ["192.0.2.2", "::ffff:192.0.2.9"]),
        ("2001:db8::1", "2001:db8::ffff:2", ["2001:db8:0:1::1", "fe80::1%eth0", "unknown"]),
        ("::ffff:192.0.2.3", "::ffff:192.0.2.3", ["::ffff:192.0.2.4"]),
    ):
        assert statuses(first, *[WRONG] * 12, {}) == [401] * 10 + [429] * 2 + [401]
        assert statuses(same, RIGHT) == [429]
        for other in others:
            assert statuses(other, RIGHT) == [200]
    blocked = TestClient(app, client=("192.0.2.1", 1)).get("/", headers=RIGHT)
    assert blocked.headers["retry-after"] == "1"
    time.sleep(1.1)
    assert statuses("192.0.2.1", *[WRONG] * 9, RIGHT) == [401] * 9 + [200]
    for number in range(5_000):
        app._wrong[number.to_bytes(4)] = 1
    assert len(app._wrong) <= 4096


def test_a_body_that_does_not_come_holds_up_nobody():
    with on_a_port(guarded(body_seconds=0.5)) as port:
        begun = time.monotonic()
        for headers, part in (
            ({"Content-Length": "1000"}, b"x"),
            ({"Transfer-Encoding": "chunked"}, b"1\r\nx\r\n"),
        ):
            status, text = raw(port, head_of("POST", "/", headers), *[part] * 3, pause=0.1)
            assert status == 408
            assert "content-security-policy" in text
        assert time.monotonic() - begun < 5
        pieces = [b"4000\r\n" + b"x" * 0x4000 + b"\r\n"] * 5 + [b"0\r\n\r\n"]
        assert raw(port, head_of("POST", "/", headers), *pieces)[0] == 413


def test_a_password_file_is_read_or_refused(tmp_path: Path):
    path = tmp_path / "passwords"
    with pytest.raises(LoadingError, match="cannot read"):
        read_passwords(path)
    path.touch(0o600)
    for content in (
        b"",
        b"a password alone",
        b"reader:twelve letters\n:a password alone",
        b"reader:elevenchars",
        b"reader:twelve letters\nreader:twelve letters",
        b"\xff\xfereader:twelve letters",
    ):
        path.write_bytes(content)
        with pytest.raises(LoadingError, match="passwords") as refused:
            read_passwords(path)
        assert "alone" not in str(refused.value)
    path.write_text(f"\ufeffreader:twelve letters\r\n\n{READER}\n")
    for mode in (0o644, 0o640, 0o620, 0o602) if os.name == "posix" else ():
        path.chmod(mode)
        with pytest.raises(LoadingError, match="chmod 600"):
            read_passwords(path)
    path.chmod(0o400)
    assert read_passwords(path) == ["reader:twelve letters", READER]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[TestClient, Any, threading.Event]]:
    """A view that answers "slow" once the event is set, and its queue."""
    monkeypatch.setattr(guard, "_SESSIONS", 16)
    ending = threading.Event()
    page = tiny_site.view(lambda asked: str(ending.wait(60)) if asked == "slow" else asked)
    with TestClient(build_server({"/": page, "/fr": tiny_site.view()})) as client:
        yield client, page._queue, ending
        ending.set()


Slow = tuple[TestClient, Any, threading.Event]


def heard(client: TestClient, session: str) -> list[str]:
    stream = client.get(DATA, params={"session_hash": session}).text
    return [each["msg"] for each in events(stream)]


def test_a_full_queue_refuses_more(slow: Slow):
    client, _, _ = slow
    joined = [client.post(JOIN, json=call_of("slow", f"s{number}")) for number in range(90)]
    refused = [each for each in joined if each.status_code != 200]
    assert 20 <= len(refused) <= 90 - 64
    assert {each.status_code for each in refused} == {429}
    assert "Please try again" in refused[0].json()["detail"]
    assert int(refused[0].headers["retry-after"]) > 0
    assert client.post(f"/fr{JOIN}", json=call_of()).status_code == 200


def test_one_session_that_fetches_nothing_is_stopped(slow: Slow):
    client, _, _ = slow
    joined = [client.post(JOIN, json=call_of(session="one")).status_code for _ in range(30)]
    assert joined == [200] * 8 + [429] * 22
    assert client.post(JOIN, json=call_of(session="other")).status_code == 200
    assert heard(client, "one")[-1] == "close_stream"
    assert client.post(JOIN, json=call_of(session="one")).status_code == 200


def test_many_sessions_fill_no_memory_and_stop_no_queue(slow: Slow):
    client, queue, ending = slow
    for number in range(40):  # more than are remembered, and all of them wait
        question = "slow" if number < 2 else "x"
        assert client.post(JOIN, json=call_of(question, f"s{number}")).status_code == 200
    assert len(queue.pending_event_ids_session) <= 16
    assert len(queue.pending_messages_per_session) <= 16
    ending.set()
    assert client.post(JOIN, json=call_of(session="last")).status_code == 200
    assert heard(client, "last")[-2:] == ["process_completed", "close_stream"]


def test_unknown_sessions_are_refused_without_a_word_in_the_log(caplog: pytest.LogCaptureFixture):
    with on_a_port(build_server({"/": tiny_site.view(), "/fr": tiny_site.view()})) as port:
        client = httpx.Client(base_url=f"http://localhost:{port}")
        for path in (DATA, f"/fr{DATA}"):
            for session in (*(f"unknown{number}" for number in range(50)), ""):
                assert client.get(path, params={"session_hash": session}).status_code == 404
            assert client.get(path).status_code == 404
        client.post(JOIN, json=call_of(session="known"))
        # Each view has its own sessions.
        assert client.get(f"/fr{DATA}?session_hash=known").status_code == 404
        assert events(client.get(f"{DATA}?session_hash=known").text)[-1]["msg"] == "close_stream"
    assert not [each for each in caplog.records if each.name != "httpx"]
