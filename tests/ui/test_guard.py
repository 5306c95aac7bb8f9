"""Who is let in: passwords, names, pages of other sites, slow requests."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from typing import Any

import pytest
import tiny_site
from fastapi import FastAPI
from fastapi.testclient import TestClient
from tiny_site import DATA, JOIN, call_of, head_of, on_a_port, raw

from pipelines.serving.origins import LOOPBACK
from ui.guard import Guard
from ui.password import Passwords
from ui.server import build_server

READER = "élise:mot de passe é"
RIGHT = {"Authorization": f"Basic {base64.b64encode(READER.encode()).decode()}"}
WRONG = {"Authorization": f"Basic {base64.b64encode(b'elise:mot de passe').decode()}"}


@pytest.fixture(scope="module")
def app() -> Any:
    name, _, password = READER.partition(":")
    return build_server(tiny_site.views(), passwords=Passwords([(name, password)]))


@pytest.fixture
def guarded(app: Any) -> Iterator[TestClient]:
    # Entered once a module only: Gradio's lifespan ends its queue for good.
    app.middleware_stack = None  # a new guard, which remembers no wrong tries
    yield TestClient(app)


@pytest.fixture(scope="module")
def local() -> Iterator[TestClient]:
    with TestClient(
        build_server(tiny_site.views(), names=LOOPBACK), base_url="http://localhost:7860"
    ) as client:
        yield client


EVERYTHING = [
    "/",
    "/fr",
    "/page.css",
    "/page.js",
    "/asked.js",
    "/theme.css",
    "/assets/x.js",
    "/none",
]


@pytest.mark.parametrize("path", [*EVERYTHING, f"/fr{DATA}?session_hash=x", "/favicon.ico"])
def test_without_a_password_nothing_is_read(guarded: TestClient, path: str):
    for headers in ({}, WRONG, {"Authorization": "Bearer x"}):
        answer = guarded.get(path, headers=headers)
        assert answer.status_code == 401
        challenge = answer.headers["www-authenticate"]
        assert challenge == 'Basic realm="Lexarbor", charset="UTF-8"'
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert len(answer.text) < 100
    assert guarded.post(JOIN, json=call_of()).status_code == 401
    assert guarded.get("/fr").text.startswith("Un nom et un mot de passe")


def test_with_the_password_everything_is_read(guarded: TestClient):
    assert guarded.get("/fr", headers=RIGHT).status_code == 200
    assert guarded.get("/page.css", headers=RIGHT).status_code == 200
    assert guarded.get("/none", headers=RIGHT).status_code == 404
    assert guarded.post(JOIN, json=call_of(), headers=RIGHT).status_code == 200


def test_who_guesses_is_slowed_down_and_nobody_else(app: Any, guarded: TestClient):
    answers = [guarded.get("/", headers=WRONG).status_code for _ in range(14)]
    assert answers == [401] * 10 + [429] * 4
    # The right one would tell that it is, so that it waits too.
    waiting = guarded.get("/fr", headers=RIGHT)
    assert waiting.status_code == 429
    assert 0 < int(waiting.headers["retry-after"]) <= 6
    assert "Trop de mots de passe" in waiting.text
    elsewhere = TestClient(app, client=("192.0.2.7", 5000))
    assert elsewhere.get("/", headers=RIGHT).status_code == 200


def test_no_password_stands_in_an_answer_or_in_the_log(
    guarded: TestClient, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(0)
    for headers in (WRONG, RIGHT):
        text = guarded.get("/", headers=headers).text
        assert "mot de passe é" not in text
    assert "mot de passe" not in caplog.text
    assert RIGHT["Authorization"] not in caplog.text


@pytest.mark.parametrize("host", ["example.com", "localhost.example.com:7860", "", "192.0.2.1"])
def test_a_name_that_leads_here_does_not_open_the_site(local: TestClient, host: str):
    for path in ("/", "/page.css", "/theme.css"):
        answer = local.get(path, headers={"Host": host})
        assert answer.status_code == 421
        assert "--insecure" in answer.text
    joined = local.post(JOIN, json=call_of(), headers={"Host": host})
    assert joined.status_code == 421


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:7860", "[::1]:7860"])
def test_this_machine_s_own_names_open_it(local: TestClient, host: str):
    assert local.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://example.com"},
        {"Origin": "null"},
        {"Origin": "http://localhost:8888"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost:8888"},
    ],
)
def test_a_page_of_another_site_asks_and_reads_nothing(local: TestClient, headers: dict[str, str]):
    body = b'{"data": ["x", []], "fn_index": 0, "session_hash": "s"}'
    for content in ({}, {"Content-Type": "text/plain"}, {"Content-Type": "application/json"}):
        refused = local.post(JOIN, content=body, headers={**headers, **content})
        assert refused.status_code == 403
    preflight = {**headers, "Access-Control-Request-Method": "POST"}
    for answer in (
        local.options(JOIN, headers=preflight),
        local.get("/", headers=headers),
        local.get(DATA, params={"session_hash": "none"}, headers=headers),
        local.get("/theme.css", headers=headers),
    ):
        assert not any(name.startswith("access-control") for name in answer.headers)
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


def test_a_link_from_another_site_may_lead_here(local: TestClient):
    assert local.get("/fr", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200


def test_the_site_s_own_page_asks(local: TestClient):
    own = {"Origin": "http://localhost:7860", "Sec-Fetch-Site": "same-origin"}
    assert local.post(JOIN, json=call_of(), headers=own).status_code == 200
    assert local.post(JOIN, json=call_of(), headers={"Origin": own["Origin"]}).status_code == 200


def test_a_body_that_does_not_come_gets_408_and_holds_up_nobody():
    inner = FastAPI(openapi_url=None)
    inner.add_middleware(Guard, pages=["/"], read=[], body_seconds=0.5)
    with on_a_port(inner) as port:
        begun = time.monotonic()
        head = head_of("POST", JOIN, {"Content-Length": "1000"})
        status, text = raw(port, head, *[b"x"] * 3, pause=0.1)
        assert status == 408
        assert "did not come in time" in text
        assert "content-security-policy" in text
        assert time.monotonic() - begun < 5
        chunked = head_of("POST", f"/fr{JOIN}", {"Transfer-Encoding": "chunked"})
        status, text = raw(port, chunked, *[b"1\r\nx\r\n"] * 3, pause=0.1)
        assert status == 408
