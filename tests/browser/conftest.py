"""A page over a small real store, and Debian's chromium to read it with."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from indexed import indexed
from serving import served

from components.statutes.corpus import StatuteCorpus
from pipelines.serving.limits import prompt_server
from ui.ask import build_page
from ui.law import Places
from ui.server import Serving, build_server, build_site

CHROMIUM_ARGS = [
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


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
    with contextlib.ExitStack() as servers:
        yield lambda app: servers.enter_context(served(prompt_server(app, 2, log_level="warning")))


@pytest.fixture(scope="module")
def serve_page(serve_site: Callable[..., str]) -> Callable[..., str]:
    """Serve the English view "Ask" over `ask(question)` and a collection; gives its address."""

    def start(ask: Any, searched: Any) -> str:
        page = build_page(lambda question, _: [ask(question)], searched, ["citation", "bm25"])
        return serve_site(build_server({"/": page}))

    return start


@pytest.fixture(scope="module")
def serve_store(
    serve_site: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., str]:
    """Serve the whole site over these articles (native format), or over a store, by a pipeline."""

    def start(law: list[dict[str, Any]] | Path, pipeline: str = "lexical") -> str:
        store = law if isinstance(law, Path) else indexed(tmp_path_factory.mktemp("store"), law)
        serving = Serving(pipeline, store)
        return serve_site(build_site(serving, Places(serving.store)))

    return start


@pytest.fixture(scope="module")
def aldermere_page(serve_store: Callable[..., str]) -> str:
    """The demo law, lexically searched."""
    return serve_store([article.to_json() for article in StatuteCorpus.read("aldermere")])


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
            page.locator("#question").wait_for()
            page.locator("#link textarea").wait_for(state="attached")
        return page

    yield start
    for context in contexts:
        context.close()
    assert faults == []


@pytest.fixture(scope="session")
def two_codes(tmp_path_factory: pytest.TempPathFactory, minilm: str) -> Path:
    """The beginnings of two of the demo's laws, with MiniLM's vectors; not to be written to."""
    articles = [article.to_json() for article in StatuteCorpus.read("aldermere")]
    kept = [
        article
        for law in ("housing", "family")
        for article in [each for each in articles if each["id"].startswith(law)][:32]
    ]
    return indexed(tmp_path_factory.mktemp("codes"), kept, minilm)


@pytest.fixture(scope="module")
def site(serve_store: Callable[..., str], two_codes: Path) -> str:
    """The whole site over them."""
    return serve_store(two_codes, "hybrid").rstrip("/")
