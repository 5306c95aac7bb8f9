"""Who asks one question after another gets the answer to the last one, and goes back to others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ui.collection import Collection

pytestmark = pytest.mark.browser

# The examples are about such law.
LAW = "Civil Code of Aldermere (invented)"


@pytest.fixture(scope="module")
def answering() -> threading.Event:
    return threading.Event()


@pytest.fixture(scope="module")
def slowest() -> set[str]:
    """Questions that take half a second longer than others."""
    return set()


@pytest.fixture(scope="module")
def slow_page(
    serve_page: Callable[..., str], answering: threading.Event, slowest: set[str]
) -> Iterator[str]:
    """A page on which every question waits until `answering` is set, and then finds an article."""

    def ask(question: str) -> dict[str, Any]:
        answering.wait(60)
        time.sleep(0.5 if question in slowest else 0)
        article = {
            "id": "1",
            "law": LAW,
            "number": "1",
            "headings": [],
            "content": "One text.",
            "ranks": {"bm25": 1},
            "state": "unknown",
        }
        return {"question": question, "took_ms": 1.0, "documents": [article]}

    yield serve_page(ask, lambda: Collection(1, (LAW,)))
    answering.set()


@pytest.mark.parametrize("by", ["Enter", "the button"])
def test_a_question_asked_while_another_is_searched_is_the_one_answered(
    open_page: Callable[..., Any], slow_page: str, answering: threading.Event, by: str
):
    answering.clear()
    page = open_page(slow_page)
    question = page.locator("#question textarea")
    for asked in ("adoption", "divorce", "tutelle"):
        question.fill(asked)
        if by == "Enter":
            question.press("Enter")
        else:
            page.locator("#search").click()
        page.wait_for_timeout(300)
    answering.set()
    page.locator(".asked q", has_text="tutelle").wait_for()
    page.wait_for_timeout(300)
    assert page.locator(".asked q").inner_text() == "tutelle"
    assert question.input_value() == "tutelle"


@pytest.mark.parametrize("last", ["the example", "the question"])
def test_of_an_example_and_a_question_the_last_one_is_answered(
    open_page: Callable[..., Any],
    slow_page: str,
    answering: threading.Event,
    slowest: set[str],
    last: str,
):
    answering.clear()
    page = open_page(slow_page)
    example = page.locator("button.example").first
    text = example.inner_text()
    if last == "the question":
        example.click()
        page.wait_for_timeout(500)
    page.locator("#question textarea").fill("adoption")
    page.locator("#search").click()
    page.wait_for_timeout(500)
    if last == "the example":
        example.click()
        page.wait_for_timeout(500)
    right, other = (text, "adoption") if last == "the example" else ("adoption", text)
    slowest.add(other)
    answering.set()
    shows(page, right)
    page.wait_for_timeout(1_000)
    shows(page, right)
    slowest.clear()


def ask(page: Any, question: str) -> None:
    page.locator("#question textarea").fill(question)
    page.locator("#search").click()
    page.locator(".asked q", has_text=question).wait_for()


def shows(page: Any, question: str) -> None:
    page.locator(".asked q", has_text=question).wait_for()
    assert page.locator("#question textarea").input_value() == question


def test_back_and_forward_lead_through_the_questions(
    open_page: Callable[..., Any], slow_page: str, answering: threading.Event
):
    answering.set()
    page = open_page(slow_page)
    entries = page.evaluate("history.length")
    ask(page, "adoption")
    ask(page, "it's ~ 50% & *more*")
    page.get_by_role("button", name="Filters").click()
    page.get_by_role("checkbox", name=LAW).check()
    page.get_by_role("radio", name="In force on the day, or undated").check()
    page.locator("#day input").fill("2024-02-29")
    page.locator("#search").click()
    page.locator(".narrowed").wait_for()
    # The same once more is no other question.
    page.locator("#search").click()
    page.wait_for_timeout(500)
    assert page.evaluate("history.length") == entries + 3
    page.go_back()
    page.locator(".narrowed").wait_for(state="detached")
    shows(page, "it's ~ 50% & *more*")
    page.go_back()
    shows(page, "adoption")
    page.go_forward()
    page.go_forward()
    page.locator(".narrowed").wait_for()
    assert page.get_by_role("checkbox", name=LAW).is_checked()
    assert page.locator("#day input").input_value() == "2024-02-29"
    assert page.evaluate("history.length") == entries + 3
    page.evaluate("history.go(-3)")
    page.locator(".asked").wait_for(state="detached")
    page.locator("#question textarea").wait_for()
    assert page.locator("#question textarea").input_value() == ""
    assert page.url == slow_page


def test_what_is_written_while_a_search_comes_back_stays(
    open_page: Callable[..., Any], slow_page: str, answering: threading.Event
):
    answering.clear()
    page = open_page(f"{slow_page}#q=adoption")
    question = page.locator("#question textarea")
    page.wait_for_function("document.querySelector('#question textarea').value === 'adoption'")
    page.wait_for_timeout(500)
    question.focus()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("tutelle")
    answering.set()
    page.locator(".asked q", has_text="adoption").wait_for()
    page.wait_for_timeout(1_500)
    assert question.input_value() == "tutelle"


def test_what_is_written_before_the_page_has_wholly_come_up_stays(
    open_page: Callable[..., Any], slow_page: str, answering: threading.Event
):
    answering.set()
    page = open_page(slow_page)
    page.locator("#question textarea").focus()
    page.evaluate(
        """
        const box = document.querySelector("#arrival textarea, #arrival input");
        const losing = setInterval(() => (box.value = ""), 20);
        setTimeout(() => clearInterval(losing), 2000);
        location.hash = "q=adoption";
        """
    )
    page.wait_for_timeout(300)
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("tutelle")
    page.locator(".asked q", has_text="adoption").wait_for()
    assert page.locator("#question textarea").input_value() == "tutelle"


@pytest.mark.parametrize("name", ["Ask", "Lexarbor"])
def test_a_link_to_the_page_itself_opens_it_empty(
    open_page: Callable[..., Any], slow_page: str, answering: threading.Event, name: str
):
    answering.set()
    page = open_page(slow_page)
    ask(page, "adoption")
    page.get_by_role("link", name=name, exact=True).click()
    page.locator(".asked").wait_for(state="detached")
    page.locator("#question textarea").wait_for()
    page.wait_for_timeout(1_500)
    assert page.locator("#question textarea").input_value() == ""
    assert page.locator(".asked").count() == 0
    page.go_back()
    shows(page, "adoption")


def test_who_comes_back_from_an_article_is_where_it_was_opened(
    open_page: Callable[..., Any], aldermere_page: str
):
    page = open_page(aldermere_page)
    ask(page, "notice")
    link = page.locator("#results h3 a").nth(7)
    title = link.inner_text()
    link.click()
    page.get_by_role("heading", level=1, name=title).wait_for()
    page.go_back()
    page.locator(".asked q", has_text="notice").wait_for()
    page.wait_for_timeout(300)
    top = link.evaluate("each => each.getBoundingClientRect().top")
    assert 0 < top < page.viewport_size["height"]
