"""The view "Ask" as Gradio is told of it."""

from __future__ import annotations

from typing import Any

import pytest

from ui.app import build_page
from ui.collection import Collection
from ui.desk import Desk
from ui.narrowing import Narrowing


def parts_of(laws: int) -> dict[str, dict[str, Any]]:
    def never(question: str, narrowing: Narrowing) -> dict[str, Any]:
        raise AssertionError((question, narrowing))

    names = tuple(f"Act {number}" for number in range(laws))
    page = build_page(never, lambda: Collection(laws, names), ["bm25"])
    return {each["props"].get("elem_id"): each for each in page.get_config_file()["components"]}


@pytest.mark.parametrize("laws", [1, 200])
def test_laws_are_chosen_from_a_list(laws: int):
    parts = parts_of(laws)
    assert parts["laws"]["type"] == "checkboxgroup"
    assert len(parts["laws"]["props"]["choices"]) == laws
    assert "law" not in parts


def test_one_of_very_many_laws_is_named():
    parts = parts_of(201)
    assert parts["law"]["type"] == "textbox"
    assert "all 201 laws are searched" in parts["law"]["props"]["info"]
    assert "laws" not in parts


def test_what_was_asked_for_a_day_leads_to_the_articles_as_they_were_then():
    found = {"law": "Act", "number": "3", "headings": [], "content": "A rule.", "ranks": {}}
    answer = {
        "question": "why?",
        "took_ms": 1.0,
        "documents": [{"id": "a3", "state": "in force", **found}],
    }
    desk = Desk(lambda *_: answer, lambda: Collection(1, ("Act",)), "fr")
    that_day = desk.search("why?", [], "all", "2015-06-01")
    assert that_day.results.count('href="/fr/article?id=a3&amp;on=2015-06-01"') == 2
    assert 'href="/fr/article?id=a3"' not in that_day.results
    assert desk.search("why?").results.count('href="/fr/article?id=a3"') == 2


def test_the_page_asks_for_the_day_that_was_chosen():
    """What the page calls, called as a reader who chose a day calls it."""
    found = {"law": "Act", "number": "3", "headings": [], "content": "A rule.", "ranks": {}}
    documents = [{"id": "a3", "state": "in force", **found}]

    def ask(question: str, narrowing: Narrowing) -> dict[str, Any]:
        return {"question": question, "took_ms": 1.0, "documents": documents}

    page = build_page(ask, lambda: Collection(1, ("Act",)), ["bm25"])
    (search,) = page.fns.values()
    shown = search.fn("", "why?", [], "all", "2015-06-01")
    assert any("/article?id=a3&amp;on=2015-06-01" in str(each) for each in shown)
