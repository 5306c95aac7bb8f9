"""HTML of the page: escaped, on one line, and true to the article."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui import render
from ui.collection import Collection
from ui.standing import Pace, Standing

PAYLOADS = (
    (Path(__file__).parent.parent / "browser" / "payloads.txt").read_text("utf-8").splitlines()
)


def document(**changes: Any) -> dict[str, Any]:
    return {
        "id": "housing-12",
        "law": "Housing Code",
        "number": "12",
        "headings": ["Book I. Letting", "Chapter 2. Deposits"],
        "content": "(1) A deposit is owed.\n(a) in money;\nThis is all.",
        "score": 1.0,
        "ranks": {"bm25": 3},
        "state": "in force",
        "valid_from": "2009-01-01",
        **changes,
    }


def shown(**changes: Any) -> str:
    return render.results({"question": "why?", "took_ms": 41.4, "documents": [document(**changes)]})


def tags(markup: str) -> list[str]:
    return re.findall(r"<(/?[a-z0-9]+)", markup)


def text_of(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", markup))


def test_a_result_shows_law_number_path_state_words_and_ranks():
    text = text_of(shown())
    for part in (
        "1 article found",
        "Article 12 Housing Code",
        "Book I. Letting",
        "Chapter 2. Deposits",
        "In force since 1 January 2009",
        "(1) A deposit is owed.",
        "(a) in money;",
        "This is all.",
        "BM25 rank 3",
        "in 41 ms",
    ):
        assert part in text


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("field", ["law", "number", "content", "valid_from", "state"])
def test_a_payload_in_a_field_adds_no_tag(payload: str, field: str):
    assert tags(shown(**{field: payload})) in (
        tags(shown(**{field: "harmless"})),
        tags(shown(**{field: "(1) harmless"})),
    )


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_payload_in_question_heading_and_stage_adds_no_tag(payload: str):
    def page(text: str) -> str:
        found = document(headings=[text], ranks={text: 2})
        return render.results({"question": text, "took_ms": 1, "documents": [found]})

    assert tags(page(payload)) == tags(page("harmless"))
    assert payload in text_of(page(payload))


@given(st.text(), st.text(), st.text())
def test_html_is_one_line_without_a_tag_from_outside(question: str, heading: str, content: str):
    found = document(headings=[heading], content=content)
    markup = render.results({"question": question, "took_ms": 1, "documents": [found]})
    assert len(markup.splitlines()) == 1
    assert set(tags(markup)) <= set(tags(shown())) | {"details", "/details", "summary", "/summary"}


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_word_of_an_article_is_shown_in_order(content: str):
    law = re.search(r'<div class="law">(.*?)</div>', shown(content=content))
    assert law
    opened = re.sub(r"<summary>.*?</summary>", "", law[1])
    said = html.unescape(re.sub(r"<[^>]*>", " ", opened))
    assert said.split() == content.split()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"state": "in force", "valid_to": "2030-06-30"},
            "2009, until 30 June 2030",
        ),
        (
            {"state": "repealed", "valid_to": "2018-12-31"},
            "Repealed; last day in force 31",
        ),
        ({"state": "not yet in force"}, "Not yet in force; from 1 January 2009"),
        ({"state": "unknown", "valid_from": None}, "Not known whether in force"),
        ({"state": "in force", "valid_from": None, "valid_to": "2030-06-30"}, "In force, until 30"),
    ],
)
def test_the_state_is_said_in_words(changes: dict[str, Any], words: str):
    assert words in text_of(shown(**changes))


@pytest.mark.parametrize(
    ("number", "title"),
    [("12", "Article 12"), ("14-1", "Article 14-1"), ("L1221-1", "Article L1221-1")]
    + [(number, number) for number in ("第一条", "s.2(1)", "Rule 6.1", "§ 823", "Article 5")],
)
def test_a_number_is_called_article_only_where_it_reads_as_one(number: str, title: str):
    assert f"<h3>{title} <span>" in shown(number=number)


def test_only_the_law_is_marked_with_its_language():
    markup = shown(language="fr-BE")
    assert markup.count('lang="fr-BE"') == 3
    assert '<p class="state in-force">' in markup
    assert "lang=" not in shown(language='fr"><b>')


def test_a_long_article_is_folded_at_a_paragraph_and_a_short_rest_is_not():
    paragraph = " ".join(["word"] * 100)
    folded = shown(content="\n".join([paragraph] * 4))
    assert "Read the rest of the article (200 words)" in folded
    assert "<details>" not in shown(content=f"{paragraph}\n{paragraph}\nA short rest.")


def test_the_passage_that_a_ranker_found_best_is_marked_and_said():
    text = "The house is let. The lessor repairs it."
    there = {"start": text.index("The lessor"), "end": len(text)}
    markup = shown(content=text, passage=there)
    assert "<p>The house is let. <mark>The lessor repairs it.</mark></p>" in markup
    assert "The part that fits your question best is marked." in text_of(markup)
    whole = shown(content=text, passage={"start": 0, "end": len(text)})
    assert "<mark>" not in whole
    assert "is marked" not in whole


def test_ranks_stand_in_the_order_of_the_stages_with_longer_bars_for_better_ranks():
    markup = shown(ranks={"dense": 1, "other": 500, "bm25": 20, "citation": 2})
    assert re.findall(r'class="stage">(\w+)', markup) == ["Citation", "BM25", "Dense", "other"]
    lengths = [int(width) for width in re.findall(r"width:(\d+)%", markup)]
    assert lengths[2] == 100 > lengths[0] > lengths[1] > lengths[3] == 0
    assert "%" not in text_of(markup)


@pytest.mark.parametrize("url", ["javascript:alert(1)", "file:///etc/passwd", "//x", 5, None])
def test_only_a_web_address_becomes_a_link(url: object):
    assert "<a " not in shown(source_url=url)
    assert '<a href="https://law.example/?a=1&amp;b=2"' in shown(
        source_url="https://law.example/?a=1&b=2"
    )


def test_the_notice_names_invented_law_only_where_it_is():
    aldermere = Collection.of([("a", "Housing Code of Aldermere (invented)", "1")])
    mixed = Collection.of([("a", "Code of X (invented)", "1"), ("b", "Code civil", "1")])
    real = Collection.of([("b", "Code civil", "1")])
    assert aldermere.is_aldermere
    assert not mixed.is_aldermere
    assert "Aldermere is an invented country" in render.notice(aldermere)
    assert "marked as invented" in render.notice(mixed)
    assert "invented" not in render.notice(real)
    for collection in (aldermere, mixed, real, Collection.of([])):
        assert "Information, not legal advice." in render.notice(collection)


def test_what_is_searched_is_counted_and_named():
    entries = [(str(i), f"Law {i % 12} <b>", str(i)) for i in range(1200)]
    about = render.about(Collection.of(entries), ["bm25"])
    assert "1,200 articles of 12 laws." in text_of(about)
    assert "Law 11 <b>" in text_of(about)
    assert "<dt>BM25</dt>" in about
    assert "<dt>Dense</dt>" not in about
    assert "<details>" in about
    assert "<details>" not in render.about(Collection.of(entries[:5]), [])


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "in a few minutes."),
        (1, "in less than a minute."),
        (45, "in about a minute."),
        (170, "in about 3 minutes."),
    ],
)
def test_how_far_the_learning_is_stands_in_plain_words(seconds: float | None, words: str):
    told = render.standing(Standing("learning", 0.404, seconds))
    assert told["state"] == "learning"
    assert told["told"].endswith(words)
    assert told["share"] == "40%"


def test_the_end_of_the_learning_is_told_without_a_share():
    learnt, failed = (render.standing(Standing(state)) for state in ("learnt", "failed"))
    assert learnt["share"] == failed["share"] == ""
    assert "has learnt" in learnt["told"]
    assert "could not learn" in failed["told"]


def test_the_time_left_is_that_of_the_pace_once_it_can_be_told():
    pace = Pace(share=0.1, at=100.0)
    assert pace.standing(0.1, 130.0).seconds_left is None
    assert pace.standing(0.14, 130.0).seconds_left is None
    assert pace.standing(0.4, 130.0) == Standing("learning", 0.4, pytest.approx(60.0))
