"""HTML of results: escaped, on one line, and true to the article; and the files taken away."""

import html
import json
import re
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_law import told as text_of

from ui.article import MEDIA_TYPES, article_text, citation, export, marked_passage
from ui.frame import Collection
from ui.language import Language
from ui.results import is_unsure, results


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


def shown(interface: Language = "en", **changes: Any) -> str:
    given = {"question": "why?", "took_ms": 41.4, "documents": [document(**changes)]}
    return results(given, interface)


WORDINGS = [
    {"id": "old", "valid_from": None, "valid_to": "2008-12-31"},
    {"id": "new", "valid_from": "2030-01-01", "valid_to": None},
    {"id": "undated", "valid_from": None, "valid_to": None},
]


def test_the_other_wordings_of_an_article_are_linked():
    for interface in ("en", "fr"):
        markup = shown(interface, wordings=WORDINGS, valid_to="2029-12-31")
        (items,) = re.findall(r'<ul class="wordings">(.*?)</ul>', markup)
        assert re.findall(r"id=(\w+)", items) == ["old", "new", "undated"]
        assert "2008" in text_of(items) and "2030" in text_of(items)
    assert "wordings" not in shown()


def test_a_result_shows_law_number_path_state_words_and_ranks():
    text = text_of(shown())
    for part in (
        *("1 article found", "Article 12 Housing Code", "Book I. Letting", "Chapter 2. Deposits"),
        *("In force since 1 January 2009", "(1) A deposit is owed.", "(a) in money;"),
        *("This is all.", "BM25 rank 3", "in 41 ms"),
    ):
        assert part in text


def words_of(markup: str) -> list[str]:
    shown = re.sub(r"<summary[^>]*>.*?</summary>", "", markup)
    return html.unescape(re.sub(r"<[^>]*>", " ", shown)).split()


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_word_of_an_article_is_shown_in_order(content):
    law = re.search(r'<div class="law" dir="auto">(.*?)</div>', shown(content=content))
    assert law
    assert words_of(law[1]) == content.split()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"state": "in force", "valid_to": "2030-06-30"}, "2009, until 30 June 2030"),
        ({"state": "repealed", "valid_to": "2018-12-31"}, "Repealed; last day in force 31"),
        ({"state": "not yet in force"}, "Not yet in force; from 1 January 2009"),
        ({"state": "unknown", "valid_from": None}, "Not known whether in force"),
        ({"state": "in force", "valid_from": None, "valid_to": "2030-06-30"}, "In force, until 30"),
    ],
)
def test_the_state_is_reported_in_words(changes, words):
    assert words in text_of(shown(**changes))


@pytest.mark.parametrize(
    ("number", "title"),
    [("12", "Article 12"), ("14-1", "Article 14-1"), ("L1221-1", "Article L1221-1")]
    + [
        (number, number)
        for number in ("第一条", "s.2(1)", "Rule 6.1", "§ 823", "Article 5", "Art. 13", "s. 2")
    ],
)
def test_a_number_is_called_article_only_where_it_reads_as_one(number, title):
    assert re.search(f'<h3><a [^>]*>{re.escape(title)}</a> <span dir="auto">', shown(number=number))


def test_only_the_law_is_marked_with_its_language():
    markup = shown(language="fr-BE")
    assert markup.count('lang="fr-BE"') == 3
    assert '<p class="state in-force">' in markup
    assert "lang=" not in shown(language='fr"><b>')


def test_the_passage_that_a_ranker_found_best_is_marked_and_reported():
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
def test_only_a_web_address_becomes_a_link(url):
    assert set(re.findall(r'href="([^"?]*)', shown(source_url=url))) == {"/article", "/law"}
    assert '<a href="https://law.example/?a=1&amp;b=2"' in shown(
        source_url="https://law.example/?a=1&b=2"
    )


def test_low_confidence_is_where_no_article_is_near_the_top_of_two_stages():
    def answer(*ranks: dict[str, int]) -> dict[str, Any]:
        return {"documents": [document(ranks=each) for each in ranks]}

    for apart in (
        answer({"bm25": 1}, {"dense": 1}, {"bm25": 2}),
        answer({"bm25": 1, "dense": 11}, {"dense": 10, "bm25": 11}),
        answer({"dense": 1}, {"dense": 2}),
    ):
        assert is_unsure(apart)
    for agreed in (
        answer({"bm25": 1}, {"dense": 10, "bm25": 10}),
        answer({"bm25": 1, "graph": 2}),
        answer({"citation": 1}, {"bm25": 1}, {"dense": 1}),
        answer({"bm25": 1, "reranker": 1}, {"dense": 1}),
    ):
        assert not is_unsure(agreed)


TEXT = "The lessor keeps the house in repair.\n(1) The roof is his.\n(2) The lamps are not."


def marks_of(markup: str) -> list[str]:
    return [html.unescape(each) for each in re.findall("<mark>(.*?)</mark>", markup)]


def test_a_passage_is_marked_in_each_of_its_paragraphs_and_numbers_are_not():
    def marked(part: str) -> str:
        start = TEXT.index(part)
        span = marked_passage(TEXT, {"start": start, "end": start + len(part)})
        return article_text(TEXT, span, "en")

    markup = marked("in repair")
    assert "<p>The lessor keeps the house <mark>in repair</mark>.</p>" in markup
    assert markup.count("<mark>") == 1
    markup = marked("keeps the house in repair.\n(1) The roof is his.")
    assert marks_of(markup) == ["The lessor keeps the house in repair.", "The roof is his."]
    assert "<span>(1)</span> <mark>The roof" in markup


LAWLIKE = st.text(st.sampled_from("ab <&1.()\n\u2028\t"), max_size=60)


@given(LAWLIKE, st.integers(0, 60), st.integers(0, 60))
def test_every_word_stands_in_order_and_marks_are_of_the_span(text, start, length):
    start = min(start, len(text))
    span = marked_passage(text, {"start": start, "end": start + length})
    markup = article_text(text, span, "en")
    # A mark may begin or end within a word.
    assert "".join(words_of(markup)) == "".join(text.split())
    assert len(markup.splitlines()) <= 1
    inside = "" if span is None else "".join(text[span.start : span.end].split())
    marked = "".join("".join(marks_of(markup)).split())
    # Numbers of paragraphs are not marked.
    assert set(marked) <= set(inside)
    assert len(marked) <= len(inside)
    if span is not None:
        assert max(span.start, start) < min(span.end, start + length)


COLLECTION = Collection(1, ("Housing Code",), snapshot="2026-03-01")
ARTICLE = document(source_url="https://law.example/h12", language="en")
ON = date(2024, 2, 29)
TODAY = date(2026, 11, 21)


@pytest.mark.parametrize("kind", MEDIA_TYPES)
@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", ["Information, not legal advice.", "1 March 2026"]),
        ("fr", ["Ceci est une information, non un conseil juridique.", "1er mars 2026"]),
    ],
)
def test_every_file_has_the_date_and_the_disclaimer(kind, language, told):
    text = export(kind, [ARTICLE], language, COLLECTION, ON, TODAY)
    assert all(each in text for each in told)
    assert "2026-11-21" in text or "21 nov" in text.lower() or "2026/11/21" in text


def test_csl_json_is_legislation_with_its_section():
    (item,) = json.loads(export("csl", [ARTICLE], "en", COLLECTION, ON, TODAY))
    assert item["type"] == "legislation"
    assert (item["title"], item["section"]) == ("Housing Code", "12")
    # When the law was made is not known.
    assert "issued" not in item
    assert item["accessed"] == {"date-parts": [[2026, 11, 21]]}
    assert item["URL"] == "https://law.example/h12"


def test_ris_is_one_statute_an_article_and_no_text_begins_a_field():
    articles = [{**ARTICLE, "content": "One.\r\nER  - \r\nTY  - BOOK"}, ARTICLE]
    text = export("ris", articles, "en", COLLECTION, ON, TODAY)
    fields = [(line[:2], line[6:]) for line in text.split("\r\n") if line]
    assert [value for tag, value in fields if tag == "TY"] == ["STAT", "STAT"]
    assert [tag for tag, _ in fields].count("ER") == 2
    assert ("AB", "One. ER - TY - BOOK") in fields
    assert not {"DA", "PY", "Y1"} & {tag for tag, _ in fields}


def test_an_article_is_cited_by_its_law_and_number():
    for number, cited in (
        ("12", "Code, article 12"),
        ("L1221-1", "Code, article L1221-1"),
        ("Section 5", "Code, Section 5"),
        ("第一条", "Code, 第一条"),
    ):
        assert citation({"law": "Code", "number": number}) == cited
        assert citation({"law": "", "number": number}) == cited.removeprefix("Code, ")
