"""Who asks one question after another gets the answer to the last one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ui.collection import Collection

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def answering() -> threading.Event:
    return threading.Event()


@pytest.fixture(scope="module")
def slow_page(serve_page: Callable[..., str], answering: threading.Event) -> Iterator[str]:
    """A page on which every question waits until `answering` is set, and then finds an article."""

    def ask(question: str) -> dict[str, Any]:
        answering.wait(60)
        article = {
            "id": "1",
            "law": "Code civil",
            "number": "1",
            "headings": [],
            "content": "One text.",
            "ranks": {"bm25": 1},
            "state": "unknown",
        }
        return {"question": question, "took_ms": 1.0, "documents": [article]}

    yield serve_page(ask, Collection(1, ("Code civil",)))
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
