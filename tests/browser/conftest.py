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


@pytest.fixture(scope="session")
def serve_page() -> Iterator[Callable[..., str]]:
    """Serve `build_page(ask, collection)` on a free port, with a standing to show if one is given;
    gives its address."""
    from pipelines.serving.listening import address, listen
    from ui.app import build_page
    from ui.server import build_server, make_server

    servers: list[tuple[Any, threading.Thread]] = []

    def start(ask: Any, collection: Any, standing: Callable[[], Any] | None = None) -> str:
        listening = listen("127.0.0.1", 0)
        stages = ["citation", "bm25"]
        page = build_page(ask, collection, stages, learning=standing is not None)
        server = make_server(build_server(page, standing))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        servers.append((server, thread))
        return address(listening)

    yield start
    for server, thread in servers:
        server.should_exit = True
        thread.join(10)


@pytest.fixture(scope="session")
def serve_store(
    serve_page: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[list[dict[str, Any]]], str]:
    """Put articles (native format) into a store and serve the lexical pipeline over it."""

    def start(articles: list[dict[str, Any]]) -> str:
        from haystack import Document

        from components.stores.sqlite import StatuteDocumentStore
        from pipelines.asking import ask
        from pipelines.loading import load_pipeline
        from ui.collection import Collection

        path = tmp_path_factory.mktemp("store") / "law.db"
        store = StatuteDocumentStore(str(path))
        documents = []
        for position, article in enumerate(articles):
            meta = {k: v for k, v in article.items() if k not in ("id", "text")}
            meta["position"] = position
            documents.append(Document(id=article["id"], content=article["text"], meta=meta))
        store.write_documents(documents)
        collection = Collection.of(store.entries())
        pipeline = load_pipeline("lexical", store=str(path))
        return serve_page(lambda question: ask(pipeline, question), collection)

    return start


@pytest.fixture(scope="session")
def aldermere_page(
    serve_store: Callable[[list[dict[str, Any]]], str], aldermere_articles: Path
) -> str:
    """The demo law, lexically searched."""
    lines = aldermere_articles.read_text("utf-8").splitlines()
    return serve_store([json.loads(line) for line in lines])


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
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda m: faults.append(m.text) if m.type == "error" else None)
        page.goto(address)
        if wait:
            page.get_by_label("Your question").wait_for()
        return page

    yield start
    for context in contexts:
        context.close()
    assert faults == []
