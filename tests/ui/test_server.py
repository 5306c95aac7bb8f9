"""The site over raw HTTP: what is served at which address, under which headers, to whom."""

import json
import math
import re
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import tiny_site
from fastapi.testclient import TestClient
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from tiny_site import DATA, JOIN, PATHS, call_of, events, head_of, on_a_port, raw

from pipelines.indexing import index_corpus
from pipelines.serving.limits import BODY_LIMIT
from ui.collection import Collection
from ui.frame import STYLES
from ui.language import language_of
from ui.server import build_server
from ui.serving import Serving
from ui.site import build_site
from ui.texts.guard import TEXTS

# What a view's page uses of its Gradio.
WANTED = {
    ("HEAD", "/"),
    ("GET", "/"),
    ("GET", "/theme.css"),
    ("GET", "/favicon.ico"),
    ("GET", "/assets/{path:path}"),
    ("GET", "/gradio_api/app_id"),
    ("GET", DATA),
    ("POST", JOIN),
}


def fail(request: Request) -> PlainTextResponse:
    raise RuntimeError(request.query_params["q"])


@pytest.fixture(scope="module")
def app() -> Any:
    return build_server(tiny_site.views(), [Route("/fails", fail, methods=["GET"])])


@pytest.fixture(scope="module")
def client(app) -> Iterator[TestClient]:
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with on_a_port(build_server(tiny_site.views())) as port:
        yield port


def below(path: str, inner: str) -> str:
    return path.rstrip("/") + inner


@pytest.mark.parametrize("path", PATHS)
def test_each_view_answers_at_its_address_in_its_language(client, path):
    response = client.get(path, follow_redirects=False)
    assert response.status_code == 200
    assert re.search(rf'<html[^>]*\slang="{"fr" if "fr" in path else "en"}"', response.text)
    assert f'"root":"http://testserver{path.rstrip("/")}"' in response.text
    assert client.head(path).status_code == 200


def test_an_address_with_a_slash_too_much_leads_to_the_right_one(client):
    for path in PATHS[1:]:
        response = client.get(f"{path}/", follow_redirects=False)
        assert (response.status_code, response.headers["location"]) == (308, path)
        asked = "id=housing-12&on=2015-06-01&law=%C3%A9%0D%0A"
        response = client.get(f"{path}/?{asked}", follow_redirects=False)
        assert response.headers["location"] == f"{path}?{asked}"
    for path in ("//", "//fr/", "/none/", "//example.com/"):
        assert client.get(f"http://testserver{path}", follow_redirects=False).status_code == 404


def routes_of(app: Any) -> Iterator[tuple[str, str]]:
    """Method and path of all that a Gradio application has."""
    for route in app.routes:
        if hasattr(route, "original_router"):  # a router that was included
            yield from routes_of(route.original_router)
        else:
            yield from ((method, route.path) for method in route.methods or ("GET", "POST"))


@pytest.mark.parametrize("path", PATHS)
def test_nothing_else_of_gradio_is_served_at_any_view(app, client, path):
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
            assert response.text.strip() == TEXTS[language_of(path)].not_found, (method, address)


@pytest.mark.parametrize(
    ("path", "title", "home"),
    [
        ("/nothing", "There is no such page", "/law"),
        ("/fr/rien", "Cette page n’existe pas", "/fr/law"),
        ("//example.com/%3Cscript%3E", "There is no such page", "/law"),
        ("/gradio_api/info", "There is no such page", "/law"),
    ],
)
def test_an_address_that_leads_nowhere_is_a_page_for_who_reads(client, path, title, home):
    page = client.get(f"http://testserver{path}", headers={"Accept": "text/html,*/*;q=0.8"})
    assert page.status_code == 404
    assert page.headers["content-type"].startswith("text/html")
    assert f"<h1>{title}</h1>" in page.text
    assert f'<a href="{home}">' in page.text
    assert '<a class="skip" href="#main">' in page.text
    assert "aria-current" in page.text  # the language; and no view
    assert page.text.count("aria-current") == 1
    for part in ("example.com", "rien", "gradio_api", "<script>"):
        assert part not in page.text
    other = client.post(f"http://testserver{path}", headers={"Accept": "text/html"})
    assert other.status_code in (403, 404)
    assert "<" not in other.text


class Filled(dict[str, str]):
    """Something in the place of every parameter."""

    def __missing__(self, _: str) -> str:
        return "x"


CLIMBS = ["..", "%2e%2e", "%2E.", "%252e%252e", "....", "..;", "%c0%ae%c0%ae", "%00..", ".%00."]
SLASHES = ["/", "%2f", "%5c", "\\", "%252f", "//"]


def test_no_path_leads_out_of_what_is_served(port):
    places = [
        below(path, place)
        for path in PATHS
        for place in ("/assets/", "/static/", "/static/js/", "/file=", "/gradio_api/file=")
    ]
    paths = [f"{below(path, '/gradio_api/file=')}{target}" for path in PATHS for target in ABROAD]
    paths += [f"{place}{target}" for place in places for target in ABROAD]
    for place in places[:5]:
        paths += [
            f"{place}{slash.join([climb] * 9)}{slash}etc{slash}passwd"
            for climb in CLIMBS
            for slash in SLASHES
        ]
        paths += [
            f"{place}{slash.join([climb] * 3)}{slash}routes.py"
            for climb in CLIMBS[:2]
            for slash in SLASHES
        ]
    assert len(paths) > 300
    for path in paths:
        status, text = raw(port, head_of("GET", path))
        assert status in (400, 404), path
        assert "root:" not in text
        assert "import" not in text


ABROAD = ["/etc/passwd", "%2fetc%2fpasswd", "file:///etc/passwd", "C:\\Windows\\win.ini", "~/.ssh"]


def test_a_body_over_the_limit_gets_413_however_it_is_sent(client, port):
    def chunks() -> Iterator[bytes]:
        for _ in range(BODY_LIMIT // 1024 + 1):
            yield b"x" * 1024

    for body in (b"x" * (BODY_LIMIT + 1), b"x" * 20_000_000, chunks()):
        refused = client.post(JOIN, content=body)
        assert refused.status_code == 413
        assert "64 KiB" in refused.text
    assert "64 Kio" in client.post(f"/fr{JOIN}", content=b"x" * (BODY_LIMIT + 1)).text
    assert client.post(JOIN, content=b"x" * BODY_LIMIT).status_code == 400
    assert client.request("GET", "/", content=b"x" * (BODY_LIMIT + 1)).status_code == 413
    assert client.post("/gradio_api/upload", content=b"x" * 1_000_000).status_code == 413
    # In pieces, without a length, over a real connection.
    head = head_of("POST", JOIN, {"Transfer-Encoding": "chunked"})
    pieces = [b"4000\r\n" + b"x" * 0x4000 + b"\r\n"] * 5 + [b"0\r\n\r\n"]
    status, text = raw(port, head, *pieces)
    assert status == 413
    assert "content-security-policy" in text


def test_every_answer_carries_the_security_headers(client):
    long = b"x" * (BODY_LIMIT + 1)
    answers = {
        200: [client.get(path) for path in ("/", "/fr/compare", "/page.css", "/theme.css")],
        308: [client.get("/fr/", follow_redirects=False)],
        400: [client.post(JOIN, json={})],
        403: [client.post(JOIN, json=call_of(), headers={"Origin": "https://example.com"})],
        404: [client.get("/nothing"), client.get("/assets/none.js"), client.post("/page.css")],
        413: [client.post(JOIN, content=long), client.post("/none", content=long)],
        500: [client.get("/fails?q=x")],
    }
    for status, given in answers.items():
        for answer in given:
            assert answer.status_code == status, answer.url
            headers = answer.headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            script = re.search(r"script-src ([^;]*)", policy)
            assert script
            assert "unsafe" not in script[1]
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["x-frame-options"] == "DENY"
            assert headers["cross-origin-resource-policy"] == "same-origin"
            assert not any(name.startswith("access-control") for name in headers)


def test_a_failure_is_reported_and_logged_without_its_words(client, caplog):
    answer = client.get("/fails?q=my+wages")
    assert answer.text.startswith("Something failed")
    assert "wages" not in answer.text
    assert "RuntimeError" in caplog.text
    assert "in fail" in caplog.text
    assert "wages" not in caplog.text


def test_every_script_of_the_document_carries_the_nonce_of_its_answer(client):
    nonces = set()
    for path in PATHS:
        response = client.get(path)
        nonce = re.search(r"'nonce-([^']+)'", response.headers["content-security-policy"])
        assert nonce
        scripts = re.findall(r"<script[^>]*>", response.text)
        assert len(scripts) > 3
        assert all(f'nonce="{nonce[1]}"' in script for script in scripts)
        nonces.add(nonce[1])
        assert int(response.headers["content-length"]) == len(response.content)
        assert response.headers["cache-control"] == "no-store"
    assert len(nonces) == len(PATHS)


def test_the_documents_load_nothing_from_another_host(client):
    for path in PATHS:
        document = client.get(path).text
        assert re.findall(r'<[^>]*(?:href|src|content)="(?:https?:)?//[^"]*', document) == []
        config = json.loads(
            re.search(r"window\.gradio_config = (\{.*?\});</script>", document)[1]  # type: ignore[index]
        )
        assert config["analytics_enabled"] is False
        assert config["run_history"] is False
        assert not config["stylesheets"]
    for sheet in ("/theme.css", *(f"/{style}" for style in STYLES)):
        assert re.findall(r"@import|url\(\W*(?:https?:)?//", client.get(sheet).text) == []


def test_the_queue_is_bounded_and_one_too_many_is_reported_in_their_language():
    answering = threading.Event()

    def slow(_: Any) -> str:
        answering.wait(20)
        return "done"

    pages = {"/": tiny_site.view(slow), "/fr": tiny_site.view(slow)}
    with TestClient(build_server(pages)) as client:
        for path, words in (("/", "Please try again"), ("/fr", "Veuillez réessayer")):
            address = below(path, JOIN)
            answers = [client.post(address, json=call_of(session=f"s{n}")) for n in range(90)]
            assert answers[0].status_code == 200
            refused = [answer for answer in answers if answer.status_code == 429]
            assert 20 <= len(refused) <= 90 - 64
            assert {answer.status_code for answer in answers} == {200, 429}
            assert words in refused[0].json()["detail"]
            assert int(refused[0].headers["retry-after"]) > 0
        # The other views go on.
        assert client.get("/").status_code == 200
        answering.set()


def test_a_great_many_sessions_leave_nothing_that_grows():
    page = tiny_site.view()
    with TestClient(build_server({"/": page})) as client:
        for number in range(400):
            join(client, f"s{number}")
        assert len(page._queue.pending_event_ids_session) <= 256
        assert len(page._queue.pending_messages_per_session) <= 256
        join(client, "last")
        assert heard(client, "last")[-2:] == ["process_completed", "close_stream"]


def join(client: TestClient, session: str, question: str = "x") -> None:
    """Ask; where there is no room, once there is."""
    while client.post(JOIN, json=call_of(question, session)).status_code == 429:
        time.sleep(0.05)


def heard(client: TestClient, session: str) -> list[str]:
    stream = client.get(DATA, params={"session_hash": session}).text
    return [each["msg"] for each in events(stream)]


STRANGE: list[Any] = [None, "", "no such choice", "x" * 60_000, "\x00\u202e\ud83d", "2026-02-31"]
STRANGE += ["<script>alert(1)</script>", -1, 1.5, math.nan, math.inf, 10**400, True, {}, [[None]]]
STRANGE += [["x"] * 1_000, {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}]


@pytest.fixture(scope="module")
def whole_site(tmp_path_factory, minilm) -> Any:
    folder = tmp_path_factory.mktemp("law")
    law = "Housing Code of Aldermere (invented)"
    with (folder / "articles.jsonl").open("w") as file:
        for number in range(1, 13):
            article = {"id": f"h{number}", "law": law, "number": str(number), "headings": []}
            file.write(json.dumps({**article, "text": f"A deposit is owed; rule {number}."}) + "\n")
    index_corpus(folder / "articles.jsonl", folder / "law.db", model=minilm)
    serving = Serving("hybrid", folder / "law.db")
    return build_site(serving, lambda: Collection.of(serving.store))


@pytest.fixture(scope="module")
def whole_client(whole_site) -> Iterator[TestClient]:
    with TestClient(whole_site, raise_server_exceptions=False) as whole_client:
        yield whole_client


@pytest.fixture(scope="module")
def views(whole_site) -> dict[str, Any]:
    """The views that Gradio draws, by their address."""
    mounts = [each for each in whole_site.routes if isinstance(each, Mount)]
    return {each.path: each.app.get_blocks() for each in mounts}


def usual(function: Any) -> list[Any]:
    """What a fresh page would send."""
    return [None if each.stateful else each.postprocess(each.value) for each in function.inputs]


def calls(function: Any) -> Iterator[list[Any]]:
    """The usual arguments, each of them strange, all of them strange, too few and too many."""
    fresh = usual(function)
    yield fresh
    for strange in STRANGE:
        yield [strange] * len(fresh)
        yield from ([*fresh[:place], strange, *fresh[place + 1 :]] for place in range(len(fresh)))
    for data in (fresh[:-1], [*fresh, None], [None] * 50):
        if len(data) != len(fresh):
            yield data


def test_every_function_is_named_and_private(views):
    for page in views.values():
        for function in page.fns.values():
            if function.fn is not None:
                assert function.api_visibility == "private", function.api_name
                assert function.api_name


@pytest.mark.slow
def test_no_argument_of_any_function_breaks_the_site(whole_client, views, capfd):
    asked = refused = 0
    for path, page in views.items():
        for index, function in page.fns.items():
            for data in calls(function):
                told = (path, function.api_name, repr(data)[:200])
                call = json.dumps({"data": data, "fn_index": index, "session_hash": "fuzz"})
                joined = whole_client.post(f"{path}{JOIN}", content=call)
                if joined.status_code in (400, 413):
                    refused += 1
                    continue
                assert joined.status_code == 200, told
                stream = events(whole_client.get(f"{path}{DATA}?session_hash=fuzz").text)
                done = next(each for each in stream if each["msg"] == "process_completed")
                assert done["success"] is True, (told, done)
                assert len(done["output"]["data"]) == len(function.outputs), told
                for output, value in zip(function.outputs, done["output"]["data"], strict=True):
                    if output.get_block_name() in ("markdown", "html"):
                        assert "<script>" not in str(value), told
                asked += 1
        assert whole_client.get(path or "/").status_code == 200
    assert asked > 100
    assert refused > 100
    assert "Traceback" not in "".join(capfd.readouterr())


NAMES = ["id", "of", "in", "on", "as", "page", "q", "run", "question", "chart", "scheme", "x"]
VALUES = [
    "",
    "-1",
    "9" * 400,
    "nan",
    "h1",
    "../../etc/passwd",
    "%2e%2e%2fetc",
    "\x00",
    "2026-02-31",
]
VALUES += ["\ud83d".encode("utf-8", "surrogatepass").decode("latin-1"), '"><b>injected</b>']


@pytest.mark.slow
def test_no_parameter_of_any_address_breaks_the_site(whole_client, whole_site, caplog):
    paths = {each.path for each in whole_site.routes if type(each) is Route}
    assert {"/law", "/fr/law", "/article", "/training"} <= paths
    for path in paths:
        for name in NAMES:
            for value in VALUES:
                for query in ({name: value}, {name: [value, value]}, {"id": "h1", name: value}):
                    answer = whole_client.get(path, params=query)
                    told = (path, name, value[:100], answer.status_code)
                    assert answer.status_code < 500 or answer.status_code == 503, told
                    assert "<b>injected" not in answer.text, told
                    assert "root:" not in answer.text, told
    assert "An answer failed" not in caplog.text
