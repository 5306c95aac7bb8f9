"""A person asks the demo law and reads what is found."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.browser

QUESTION = "Who pays for repairs to the heating of a rented dwelling?"


def ask(page: Any, question: str) -> None:
    page.get_by_label("Your question").fill(question)
    page.get_by_role("button", name="Search").click()
    page.locator(".asked q", has_text=question).wait_for()


def test_a_result_shows_the_article_in_its_place(
    open_page: Callable[..., Any], aldermere_page: str
):
    page = open_page(aldermere_page)
    ask(page, QUESTION)
    assert page.get_by_role("heading", level=2, name="10 articles found").is_visible()
    first = page.get_by_role("article").first
    assert "of Aldermere (invented)" in first.get_by_role("heading", level=3).inner_text()
    path = first.locator(".path").get_by_role("listitem")
    assert path.first.inner_text() == "Housing Code of Aldermere (invented)"
    assert path.nth(1).inner_text().startswith("Book ")
    assert re.search(r"In force since|Repealed; last day", first.inner_text())
    assert "BM25 rank 1" in " ".join(first.locator(".ranks").inner_text().split())
    assert "%" not in page.locator("#results").inner_text()


def test_a_citation_stands_first(open_page: Callable[..., Any], aldermere_page: str):
    page = open_page(aldermere_page)
    ask(page, "art. 12 Housing Code")
    first = page.get_by_role("article").first
    heading = " ".join(first.get_by_role("heading").inner_text().split())
    assert heading == "Article 12 Housing Code of Aldermere (invented)"
    assert "Citation" in first.locator(".ranks").inner_text()


def test_enter_searches_and_an_example_is_asked_with_one_press(
    open_page: Callable[..., Any], aldermere_page: str
):
    page = open_page(aldermere_page)
    page.get_by_label("Your question").press_sequentially("deposit")
    page.keyboard.press("Enter")
    page.locator(".asked q", has_text="deposit").wait_for()
    example = page.locator("button.example").first
    text = example.inner_text()
    example.focus()
    page.keyboard.press("Enter")
    page.locator(".asked q", has_text=text).wait_for()
    assert page.get_by_label("Your question").input_value() == text
    # Reading goes on at the results, not at the button that has moved aside.
    page.locator("#results h2:focus").wait_for()


def test_each_message_is_its_own(open_page: Callable[..., Any], aldermere_page: str):
    page = open_page(aldermere_page)
    status = page.get_by_role("status").and_(page.locator("#status"))
    for question, said in (
        ("  ", "There is no question yet."),
        ("zxqj vwkp", "Nothing was found."),
        ("x" * 2001, "It has 2,001 characters; at most 2,000 are read."),
    ):
        page.get_by_label("Your question").fill(question)
        page.get_by_role("button", name="Search").click()
        status.get_by_text(said).wait_for()
        assert page.get_by_role("article").count() == 0
    ask(page, "deposit")
    assert status.inner_text().strip() == "10 articles found."


def test_a_failure_is_told_and_the_page_goes_on(
    open_page: Callable[..., Any], serve_page: Callable[..., str]
):
    from ui.collection import Collection

    def failing(question: str) -> dict[str, Any]:
        if question == "fail":
            raise RuntimeError
        return {"question": question, "took_ms": 1.0, "documents": []}

    page = open_page(serve_page(failing, lambda: Collection(1, ("Code",))))
    assert page.locator("button.example").count() == 0
    for question, said in (("fail", "Something failed"), ("go on", "Nothing was found")):
        page.get_by_label("Your question").fill(question)
        page.keyboard.press("Enter")
        page.locator("#status").get_by_text(said).wait_for()


def test_a_long_article_unfolds(open_page: Callable[..., Any], aldermere_page: str):
    page = open_page(aldermere_page)
    ask(page, "notice by the landlord to end an open-ended tenancy")
    fold = page.locator("#results details").first
    hidden = fold.locator("p").last
    assert not hidden.is_visible()
    fold.locator("summary").focus()
    page.keyboard.press("Enter")
    assert hidden.is_visible()


def test_the_passage_that_fits_is_marked_and_in_sight(
    open_page: Callable[..., Any], serve_page: Callable[..., str]
):
    from ui.collection import Collection

    rest = " ".join(["word"] * 200)
    text = f"{rest}\n{rest}\n(3) The lessor repairs the heating."
    article = {
        "id": "1",
        "law": "Housing Code",
        "number": "1",
        "headings": [],
        "content": text,
        "ranks": {"bm25": 3, "reranker": 1},
        "state": "unknown",
        "passage": {"start": text.index("The lessor"), "end": len(text)},
    }

    def ask_reranked(question: str) -> dict[str, Any]:
        return {"question": question, "took_ms": 1.0, "documents": [article]}

    page = open_page(serve_page(ask_reranked, lambda: Collection(1, ("Housing Code",))))
    ask(page, QUESTION)
    marked = page.locator("#results mark")
    assert marked.all_inner_texts() == ["The lessor repairs the heating."]
    assert marked.is_visible()
    assert page.get_by_text("The part that fits your question best is marked.").count() == 1
    background = marked.evaluate("each => getComputedStyle(each).backgroundColor")
    assert background == "rgb(246, 232, 184)"
    assert "Re-ranker rank 1" in " ".join(page.locator(".ranks").inner_text().split())


def test_the_notice_stands_beside_results_and_questions(
    open_page: Callable[..., Any], aldermere_page: str
):
    page = open_page(aldermere_page)
    for _ in range(2):
        assert page.get_by_text("Information, not legal advice.").is_visible()
        assert page.get_by_text("Aldermere is an invented country").is_visible()
        ask(page, "deposit")


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("deposit", "#results h2"),
        ("art. 999 Housing Code and my deposit", "#status .message"),
        ("  ", "#status .message"),
    ],
)
def test_on_a_small_phone_the_answer_comes_into_sight(
    open_page: Callable[..., Any], aldermere_page: str, question: str, first: str
):
    page = open_page(aldermere_page, viewport={"width": 320, "height": 568})
    page.get_by_label("Your question").fill(question)
    page.get_by_role("button", name="Search").click()
    page.wait_for_function(
        """first => {
            const place = document.querySelector(first)?.getBoundingClientRect();
            return place && place.top > -2 && place.bottom <= innerHeight;
        }""",
        arg=first,
    )


def test_whether_the_fold_of_filters_is_open_is_told(
    open_page: Callable[..., Any], aldermere_page: str
):
    page = open_page(aldermere_page)
    for name, state in (("Filters", False), ("Filters", True), ("Filters", False)):
        fold = page.get_by_role("button", name=name, exact=True, expanded=state)
        fold.wait_for()
        fold.click()
