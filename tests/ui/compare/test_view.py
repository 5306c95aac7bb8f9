"""The view as Gradio knows it: what it offers over which law, and how many may ask at once."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from fastapi.testclient import TestClient

from components.stores.sqlite import StatuteDocumentStore
from ui.collection import Collection
from ui.compare.compared import Compared
from ui.compare.view import EXAMPLES, build_compare
from ui.language import LANGUAGES, Language, address
from ui.server import build_server

ALDERMERE = Collection(1, ("Housing Code of Aldermere (invented)",))
ELSEWHERE = Collection(1, ("Code",))


def over(store: Path) -> Compared:
    opened = StatuteDocumentStore(str(store))
    return Compared(lambda: opened)


def parts(page: gr.Blocks, kind: type) -> list[Any]:
    return [each for each in page.blocks.values() if isinstance(each, kind)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_both_sides_offer_what_the_store_can_serve(vector_store: Path, language: Language) -> None:
    left, right = parts(build_compare(over(vector_store), lambda: ELSEWHERE, language), gr.Radio)
    assert [name for _, name in left.choices] == ["lexical", "dense", "hybrid"]
    assert (left.value, right.value) == ("lexical", "hybrid")
    assert left.choices == right.choices
    assert left.label != right.label


def test_the_examples_are_about_the_demo_law(vector_store: Path) -> None:
    compared = over(vector_store)
    shown = [
        {button.value for button in parts(build_compare(compared, law, "en"), gr.Button)}
        for law in (lambda: ALDERMERE, lambda: ELSEWHERE)
    ]
    assert shown == [{"Compare", *EXAMPLES}, {"Compare"}]


def test_where_there_is_one_way_only_nobody_can_ask(text_store: Path) -> None:
    page = build_compare(over(text_store), lambda: ALDERMERE, "en")
    assert parts(page, gr.Button) == []
    assert page.fns == {}
    told = "".join(str(each.value) for each in parts(page, gr.Markdown))
    assert "There is nothing to compare here." in told
    assert "Information, not legal advice." in told


def test_one_comparison_runs_at_a_time(vector_store: Path) -> None:
    page = build_compare(over(vector_store), lambda: ALDERMERE, "en")
    assert len(page.fns) == 1
    assert {(each.concurrency_limit, each.concurrency_id) for each in page.fns.values()} == {
        (1, "compare")
    }
    assert all(each.api_visibility == "private" for each in page.fns.values())


@pytest.mark.parametrize(
    ("language", "title"), [("en", "Compare · Lexarbor"), ("fr", "Comparer · Lexarbor")]
)
def test_the_tab_keeps_its_title_when_gradio_draws_the_view(
    text_store: Path, language: Language, title: str
) -> None:
    path = address("/compare", language)
    site = build_server({path: build_compare(over(text_store), lambda: ALDERMERE, language)})
    document = TestClient(site).get(path).text
    titles = re.findall(r"<title>(.*?)</title>", document)
    config = json.loads(
        re.findall(r"window\.gradio_config = (\{.*?\});?\s*</script>", document, re.DOTALL)[0]
    )
    assert config["title"] == title
    assert title in titles
