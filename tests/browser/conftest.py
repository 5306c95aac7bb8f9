"""A page over a small real store, and Debian's chromium to read it with."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM_ARGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def payloads() -> list[str]:
    """Markup that would set `window.pwned`, leave the page or load a foreign file."""
    return (Path(__file__).parent / "payloads.txt").read_text("utf-8").splitlines()


# Not of the session: while it lives Playwright runs an event loop, and no test could run its own.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A running Chromium; skips where there is none."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("no chromium on the PATH (Debian: apt install chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install 'lexarbor[test]'")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=CHROMIUM_ARGS)
        yield browser
        browser.close()


# Not of the session: the queues of pages that nobody reads any more would slow down all tests.
@pytest.fixture(scope="module")
def serve_site() -> Iterator[Callable[..., str]]:
    """Serve an application on a free port; gives its address."""
    from pipelines.serving.limits import address, listen
    from ui.server import make_server

    servers: list[tuple[Any, threading.Thread]] = []

    def start(app: Any) -> str:
        listening = listen("127.0.0.1", 0)
        server = make_server(app)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        servers.append((server, thread))
        return address(listening)

    yield start
    for server, thread in servers:
        server.should_exit = True
        thread.join(10)


@pytest.fixture(scope="module")
def serve_page(serve_site: Callable[..., str]) -> Callable[..., str]:
    """Serve the view "Ask" over `ask(question)` and a collection, with a standing to show if one is
    given; gives its address."""
    from ui.ask import build_page
    from ui.language import LANGUAGES, address
    from ui.server import build_server, standing_routes

    def start(ask: Any, searched: Any, standing: Callable[[], Any] | None = None) -> str:
        pages = {
            address("/", language): build_page(
                lambda question, _: ask(question),
                searched,
                ["citation", "bm25"],
                language,
                learns=standing is not None,
            )
            for language in LANGUAGES
        }
        return serve_site(build_server(pages, standing_routes(standing) if standing else ()))

    return start


@pytest.fixture(scope="module")
def serve_store(
    serve_site: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[list[dict[str, Any]]], str]:
    """Put articles (native format) into a store and serve the whole site over it, lexically."""

    def start(articles: list[dict[str, Any]]) -> str:
        from haystack import Document

        from components.stores.sqlite import StatuteDocumentStore
        from ui.frame import Collection
        from ui.server import build_site
        from ui.serving import Serving

        path = tmp_path_factory.mktemp("store") / "law.db"
        store = StatuteDocumentStore(str(path))
        documents = []
        for position, article in enumerate(articles):
            meta = {k: v for k, v in article.items() if k not in ("id", "text")}
            meta["position"] = position
            documents.append(Document(id=article["id"], content=article["text"], meta=meta))
        store.write_documents(documents)
        return serve_site(build_site(Serving("lexical", path), lambda: Collection.of(store)))

    return start


@pytest.fixture(scope="module")
def aldermere_page(
    serve_store: Callable[[list[dict[str, Any]]], str], aldermere_articles: Path
) -> str:
    """The demo law, lexically searched."""
    lines = aldermere_articles.read_text("utf-8").splitlines()
    return serve_store([json.loads(line) for line in lines])


def listen_for_faults(page: Any, faults: list[str]) -> None:
    """Add what `page` says of errors to `faults`, but not what it says while it is being left:
    Gradio calls its own streams that the browser then cuts off errors, and nobody sees them."""
    leaving: list[Any] = []

    def heard(text: str) -> None:
        if not leaving:
            faults.append(text)

    def begun(request: Any) -> None:
        if request.is_navigation_request() and request.frame == page.main_frame:
            leaving.append(request)

    page.on("request", begun)
    page.on("requestfailed", lambda request: leaving.clear() if request in leaving else None)
    page.on("framenavigated", lambda frame: leaving.clear() if frame == page.main_frame else None)
    page.on("pageerror", lambda error: heard(str(error)))
    page.on("console", lambda message: heard(message.text) if message.type == "error" else None)


@pytest.fixture
def open_page(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Open an address in a fresh context; a script error or console error fails the test."""
    contexts: list[Any] = []
    faults: list[str] = []

    def start(address: str, wait: bool = True, **options: Any) -> Any:
        context = chromium.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        listen_for_faults(page, faults)
        page.goto(address)
        if wait:
            page.locator("#question textarea").wait_for()
            page.locator("#search").wait_for()
            page.locator(".notice").wait_for()
        return page

    yield start
    for context in contexts:
        context.close()
    assert faults == []


@pytest.fixture(scope="session")
def two_codes(tmp_path_factory, aldermere_articles, minilm) -> Path:
    """The beginnings of two of the demo's laws, with MiniLM's vectors; not to be written to."""
    from pipelines.indexing import index_corpus

    folder = tmp_path_factory.mktemp("codes")
    lines = aldermere_articles.read_text("utf-8").splitlines()
    kept = [
        line
        for law in ("housing", "family")
        for line in [each for each in lines if json.loads(each)["id"].startswith(law)][:32]
    ]
    (folder / "articles.jsonl").write_text("\n".join(kept), "utf-8")
    index_corpus(folder / "articles.jsonl", folder / "law.db", model=minilm)
    return folder / "law.db"


@pytest.fixture(scope="module")
def site(serve_site, two_codes) -> str:
    """The whole site over them."""
    from ui.frame import Collection
    from ui.server import build_site
    from ui.serving import Serving

    serving = Serving("hybrid", two_codes)
    return serve_site(build_site(serving, lambda: Collection.of(serving.store))).rstrip("/")
