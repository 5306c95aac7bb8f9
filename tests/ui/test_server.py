"""The site over raw HTTP: what is served at which address, and under which headers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
import tiny_site
from fastapi.testclient import TestClient
from starlette.routing import Mount
from tiny_site import DATA, JOIN, PATHS, call_of, events, head_of, on_a_port, raw

from ui.language import TEXTS, language_of
from ui.server import build_server

# What a view's page uses of its Gradio.
WANTED = {
    *(("HEAD", "/"), ("GET", "/"), ("GET", "/theme.css")),
    *(("GET", "/assets/{path:path}"), ("GET", "/gradio_api/app_id"), ("GET", DATA), ("POST", JOIN)),
}


@pytest.fixture(scope="module")
def app() -> Any:
    return build_server(tiny_site.views())


@pytest.fixture(scope="module")
def client(app: Any) -> Iterator[TestClient]:
    with TestClient(app) as client:
        yield client


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with on_a_port(build_server(tiny_site.views())) as port:
        yield port


def below(path: str, inner: str) -> str:
    return path.rstrip("/") + inner


@pytest.mark.parametrize("path", PATHS)
def test_each_view_answers_at_its_address_in_its_language_with_its_own_queue(
    client: TestClient, path: str
):
    response = client.get(path, follow_redirects=False)
    assert response.status_code == 200
    assert re.search(rf'<html[^>]*\slang="{"fr" if "fr" in path else "en"}"', response.text)
    assert f'"root":"http://testserver{path.rstrip("/")}"' in response.text
    assert client.head(path).status_code == 200
    named = set(re.findall(r'<(?:script|link)[^>]* (?:src|href)="([^"]+)"', response.text))
    assert len(named) > 4
    for each in named:
        address = f"{path.rpartition('/')[0]}{each[1:]}" if each.startswith("./") else each
        assert client.get(address).status_code == 200, address
    session = f"own{len(path)}"
    joined = client.post(below(path, JOIN), json=call_of(session=session))
    assert joined.status_code == 200
    stream = client.get(below(path, DATA), params={"session_hash": session}).text
    done = next(each for each in events(stream) if each["msg"] == "process_completed")
    assert done["output"]["data"] == [f"answered at {path}"]


@pytest.mark.parametrize(
    ("asked_for", "path", "offered"), [("fr, en", "/", "/fr"), ("fr", "/fr", ""), ("nl", "/", "")]
)
def test_a_browser_is_offered_its_language(
    client: TestClient, asked_for: str, path: str, offered: str
):
    page = client.get(path, headers={"accept-language": asked_for}).text
    links = re.findall(r'<p class="offered"><a href="([^"]+)" lang="fr" hreflang="fr">', page)
    assert links == ([offered] if offered else [])


def routes_of(app: Any) -> Iterator[tuple[str, str]]:
    """Method and path of all that a Gradio application has."""
    for route in app.routes:
        if hasattr(route, "original_router"):  # a router that was included
            yield from routes_of(route.original_router)
        else:
            yield from ((method, route.path) for method in route.methods or ("GET", "POST"))


@pytest.mark.parametrize("path", PATHS)
def test_nothing_else_of_gradio_is_served_at_any_view(app: Any, client: TestClient, path: str):
    mount = next(
        each for each in app.routes if isinstance(each, Mount) and each.path == path.rstrip("/")
    )
    unwanted = [each for each in routes_of(mount.app) if each not in WANTED]
    assert len(unwanted) > 60
    for method, inner in unwanted:
        address = f"{mount.path}{inner}".replace(":path}", "}").format_map(Filled())
        response = client.request(method, address, follow_redirects=False)
        assert response.status_code == 404, (method, address)
        if method != "HEAD":  # refused by the guard, and not for want of a file
            told = TEXTS[language_of(path)].guard.not_found
            assert response.text.strip() == told, (method, address)


class Filled(dict[str, str]):
    """Something in the place of every parameter."""

    def __missing__(self, _: str) -> str:
        return "x"


CLIMBS = ["..", "%2e%2e", "%2E.", "%252e%252e", "....", "..;", "%c0%ae%c0%ae", "%00..", ".%00."]
SLASHES = ["/", "%2f", "%5c", "\\", "%252f", "//"]


def test_no_path_leads_out_of_what_is_served(port: int):
    places = [
        below(path, place)
        for path in PATHS
        for place in ("/assets/", "/static/", "/static/js/", "/file=", "/gradio_api/file=")
    ]
    paths = [f"{below(path, '/gradio_api/file=')}{target}" for path in PATHS for target in ABROAD]
    paths += [f"{place}{target}" for place in places for target in ABROAD]
    for place, slash in product(places[:5], SLASHES):
        paths += [f"{place}{(climb + slash) * 9}etc{slash}passwd" for climb in CLIMBS]
        paths += [f"{place}{(climb + slash) * 3}routes.py" for climb in CLIMBS[:2]]
    paths += ["http://example.com/", "*", "/../etc/passwd", "/fr/../compare", "/./"]
    assert len(paths) > 300
    for path in paths:
        status, text = raw(port, head_of("GET", path))
        assert status in (400, 404), path
        assert "root:" not in text
        assert "import" not in text


ABROAD = ["/etc/passwd", "%2fetc%2fpasswd", "file:///etc/passwd", "C:\\Windows\\win.ini", "~/.ssh"]


def test_every_script_of_the_document_carries_the_nonce_of_its_answer(client: TestClient):
    nonces = set()
    for path in PATHS:
        response = client.get(path)
        nonce = re.search(r"'nonce-([^']+)'", response.headers["content-security-policy"])
        assert nonce
        scripts = re.findall(r"<script[^>]*>", response.text)
        assert len(scripts) > 3
        assert all(f'nonce="{nonce[1]}"' in script for script in scripts)
        nonces.add(nonce[1])
        assert response.headers["cache-control"] == "no-store"
    assert len(nonces) == len(PATHS)


def test_the_documents_load_nothing_from_another_host(client: TestClient):
    for path in PATHS:
        document = client.get(path).text
        assert re.findall(r'<[^>]*(?:href|src|content)="(?:https?:)?//[^"]*', document) == []
        config = json.loads(
            re.search(r"window\.gradio_config = (\{.*?\});</script>", document)[1]  # type: ignore[index]
        )
        assert config["analytics_enabled"] is False
        assert config["run_history"] is False
        assert not config["stylesheets"]
    for sheet in ("/theme.css", "/lexarbor.css"):
        assert re.findall(r"@import|url\(\W*(?:https?:)?//", client.get(sheet).text) == []
