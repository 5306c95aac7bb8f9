"""Markup from a law or a question is text on the page, and nothing of it runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from ui.desk import MAX_QUESTION_CHARS

pytestmark = pytest.mark.browser


def words(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def test_forty_payloads_show_as_text_everywhere(
    open_page: Callable[..., Any],
    serve_store: Callable[[list[dict[str, Any]]], str],
    payloads: list[str],
):
    assert len(payloads) == 40
    articles = [
        {
            "id": f"a{number}",
            "law": f"Law {payload}",
            "number": f"{number} {payload}",
            "headings": [f"Book {payload}", f"Title {payload}"],
            "text": f"(1) keyword{number}: {payload}\n{payload}",
        }
        for number, payload in enumerate(payloads)
    ]
    page = open_page(serve_store(articles))
    foreign: list[str] = []
    origin = page.url
    page.on("request", lambda request: foreign.append(request.url))
    page.on("dialog", lambda dialog: foreign.append(dialog.message))
    for number, payload in enumerate(payloads):
        question = f"keyword{number} {payload}"
        assert len(question) < MAX_QUESTION_CHARS
        page.get_by_label("Your question").fill(question)
        page.keyboard.press("Enter")
        page.locator(".asked q", has_text=re.compile(rf"^keyword{number} ")).wait_for()
        assert page.locator(".asked q").text_content() == question
        first = page.get_by_role("article").first
        assert words(first.get_by_role("heading").text_content()) == words(
            f"{number} {payload} Law {payload}"
        )
        steps = first.locator(".path").get_by_role("listitem").all_text_contents()
        assert steps == [f"Law {payload}", f"Book {payload}", f"Title {payload}"]
        said = [words(text) for text in first.locator(".law p").all_text_contents()]
        assert said == [words(f"(1) keyword{number}: {payload}"), words(payload)]
    page.wait_for_timeout(200)
    assert page.evaluate("window.pwned") is None
    assert [url for url in foreign if not url.startswith(origin)] == []
    assert page.url == origin
