"""A question that gets no answer is told politely, where answers are awaited."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tiny_site import JOIN, on_a_port

from ui.app import build_page
from ui.collection import Collection
from ui.language import LANGUAGES, address
from ui.server import build_server

pytestmark = pytest.mark.browser

SCREENSHOTS = Path(__file__).parent / "screenshots"
BUSY = {"en": "Many people are asking", "fr": "Beaucoup de personnes"}
LOST = {"en": "No answer came", "fr": "Aucune réponse"}


@pytest.fixture(scope="module")
def answering() -> threading.Event:
    return threading.Event()


@pytest.fixture(scope="module")
def pages(answering: threading.Event) -> dict[str, Any]:
    def ask(question: str, *_: Any) -> dict[str, Any]:
        answering.wait(60)
        return {"question": question, "took_ms": 1.0, "documents": []}

    collection = Collection(1, ("Code civil",))
    return {
        address("/", each): build_page(ask, lambda: collection, ["bm25"], each)
        for each in LANGUAGES
    }


@pytest.fixture(scope="module")
def site(pages: dict[str, Any], answering: threading.Event) -> Iterator[str]:
    with on_a_port(build_server(pages)) as port:
        yield f"http://127.0.0.1:{port}"
        answering.set()


def fill_the_queue(site: str, path: str, page: Any) -> None:
    search = next(each for each in page.fns.values() if each.api_name == "search")
    data = ["", "A question", *(each.postprocess(each.value) for each in search.inputs[2:])]
    with httpx.Client(base_url=site) as http:
        for number in range(100):
            call = {"data": data, "fn_index": search._id, "session_hash": f"s{number}"}
            if http.post(f"{path.rstrip('/')}{JOIN}", json=call).status_code == 429:
                return
    raise AssertionError("the queue was never full")


@pytest.mark.parametrize("language", LANGUAGES)
def test_where_everyone_asks_at_once_one_is_asked_to_try_again(
    chromium: Any, site: str, pages: dict[str, Any], answering: threading.Event, language: Any
):
    path = address("/", language)
    answering.clear()
    fill_the_queue(site, path, pages[path])
    context = chromium.new_context(viewport={"width": 800, "height": 700})
    page = context.new_page()
    page.goto(f"{site}{path}")
    question = page.locator("#question textarea, #question input")
    question.fill("A question")
    question.press("Enter")
    told = page.locator("#status .message", has_text=BUSY[language])
    told.wait_for()
    assert page.locator("#status").get_attribute("role") == "status"
    assert not page.locator(".toast-body").is_visible()
    assert not page.locator("#results .error").is_visible()
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"busy-{language}.png")
    # It stays until the next question, which is answered.
    page.wait_for_timeout(300)
    assert told.is_visible()
    answering.set()
    page.locator("#search").click()
    page.locator("#status .message", has_not_text=BUSY[language]).wait_for()
    assert told.count() == 0
    context.close()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_site_that_cannot_be_reached_is_told(chromium: Any, site: str, language: Any):
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"{site}{address('/', language)}")
    question = page.locator("#question textarea, #question input")
    question.fill("A question")
    page.route("**/queue/join*", lambda route: route.abort())
    question.press("Enter")
    page.locator("#status .message", has_text=LOST[language]).wait_for()
    assert not page.locator(".toast-body").is_visible()
    context.close()


def test_the_question_pressed_while_the_site_was_away_is_asked_when_it_is_back(
    chromium: Any, site: str, answering: threading.Event
):
    answering.set()
    context = chromium.new_context()
    page = context.new_page()
    page.goto(site)
    question = page.locator("#question textarea")
    asked: list[str] = []
    page.on(
        "request", lambda each: asked.append(each.post_data or "") if JOIN in each.url else None
    )
    question.fill("mariage")
    question.press("Enter")
    page.locator("#status .message").wait_for()
    context.set_offline(True)
    question.fill("filiation")
    page.locator("#search").click()
    page.locator("#status .message", has_text=LOST["en"]).wait_for()
    # Gradio loads the page anew as soon as it can.
    with page.expect_event("load"):
        context.set_offline(False)
    asked.clear()
    page.locator("#status .message", has_not_text=LOST["en"]).wait_for()
    assert question.input_value() == "filiation"
    assert asked
    assert all("filiation" in each for each in asked)
    context.close()
