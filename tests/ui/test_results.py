"""HTML of the page: escaped, on one line, and true to the article."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.language import LANGUAGES, Language
from ui.results import found, is_unsure, results
from ui.texts.asking import TEXTS

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


def shown(interface: Language = "en", **changes: Any) -> str:
    given = {"question": "why?", "took_ms": 41.4, "documents": [document(**changes)]}
    return results(given, interface)


WORDINGS = [
    {"id": "old", "valid_from": None, "valid_to": "2008-12-31"},
    {"id": "new", "valid_from": "2030-01-01", "valid_to": None},
    {"id": "undated", "valid_from": None, "valid_to": None},
]


@pytest.mark.parametrize(
    ("interface", "said"),
    [
        (
            "en",
            [
                "Earlier wording, until 31 December 2008",
                "Later wording, from 1 January 2030",
                "Another wording, without dates",
            ],
        ),
        (
            "fr",
            [
                "Rédaction antérieure, jusqu’au 31 décembre 2008",
                "Rédaction postérieure, à partir du 1er janvier 2030",
                "Autre rédaction, sans dates",
            ],
        ),
    ],
)
def test_the_other_wordings_of_an_article_are_linked(interface: Language, said: list[str]) -> None:
    markup = shown(interface, wordings=WORDINGS, valid_to="2029-12-31")
    (items,) = re.findall(r'<ul class="wordings">(.*?)</ul>', markup)
    assert [text_of(each) for each in re.findall(r"<li>(.*?)</li>", items)] == said
    assert re.findall(r"id=(\w+)", items) == ["old", "new", "undated"]
    assert "wordings" not in shown(interface)


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
        article = document(headings=[text], ranks={text: 2})
        given = {"question": text, "took_ms": 1, "documents": [article]}
        return results(given, "en")

    assert tags(page(payload)) == tags(page("harmless"))
    assert payload in text_of(page(payload))


@given(st.text(), st.text(), st.text())
def test_html_is_one_line_without_a_tag_from_outside(question: str, heading: str, content: str):
    article = document(headings=[heading], content=content)
    markup = results({"question": question, "took_ms": 1, "documents": [article]}, "en")
    assert len(markup.splitlines()) == 1
    assert set(tags(markup)) <= set(tags(shown())) | {"details", "/details", "summary", "/summary"}


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_word_of_an_article_is_shown_in_order(content: str):
    law = re.search(r'<div class="law" dir="auto">(.*?)</div>', shown(content=content))
    assert law
    opened = re.sub(r"<summary[^>]*>.*?</summary>", "", law[1])
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
    + [
        (number, number)
        for number in ("第一条", "s.2(1)", "Rule 6.1", "§ 823", "Article 5", "Art. 13", "s. 2")
    ],
)
def test_a_number_is_called_article_only_where_it_reads_as_one(number: str, title: str):
    assert re.search(f'<h3><a [^>]*>{re.escape(title)}</a> <span dir="auto">', shown(number=number))


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


def test_the_fold_is_told_in_the_language_of_the_interface():
    text = "\n".join([" ".join(["word"] * 100)] * 4)
    assert "Lire la suite de l’article (200 mots)" in shown("fr", content=text)


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
    assert set(re.findall(r'href="([^"?]*)', shown(source_url=url))) == {"/article", "/law"}
    assert '<a href="https://law.example/?a=1&amp;b=2"' in shown(
        source_url="https://law.example/?a=1&b=2"
    )


def test_every_step_of_the_way_opens_its_division():
    links = re.findall(r'<li><a href="([^"]*)">([^<]*)</a></li>', shown())
    assert [step for _, step in links] == [
        "Housing Code",
        "Book I. Letting",
        "Chapter 2. Deposits",
    ]
    assert html.unescape(links[-1][0]) == (
        "/law?of=Housing%20Code&in=Book%20I.%20Letting&in=Chapter%202.%20Deposits"
    )
    assert '<a href="/fr/article?id=housing-12">Article 12</a>' in shown("fr")


def test_what_the_model_did_not_read_is_said():
    assert "read only the beginning" not in shown()
    text = text_of(shown(content="word " * 1400, words_read=190))
    assert "about 190 of its 1,400 words" in text


def test_what_the_ranker_did_not_read_of_an_article_is_said():
    read = [{"start": 0, "end": 10}, {"start": 25, "end": 40}]
    content = "word " * 1400
    text = text_of(shown(content=content, passages_read=read))
    assert "re-ranker read only the passages" in text
    assert "5 of its 1,400 words" in text
    assert "only the beginning" not in text
    both = text_of(shown("fr", content=content, passages_read=read, words_read=190))
    assert "5 mots sur 1\u202f400" in both
    assert "environ 190 mots sur" in both


@pytest.mark.parametrize(
    ("ranking", "told"),
    [
        (None, None),
        ({"n_candidates": 90, "n_ranked": 90}, None),
        ({"n_candidates": 90, "n_ranked": 41}, "had time to read 41 of 90 articles"),
    ],
)
def test_articles_that_the_ranker_had_no_time_for_are_counted(
    ranking: dict[str, int] | None, told: str | None
):
    given = {"question": "why?", "took_ms": 41.4, "documents": [document()]}
    text = text_of(results({**given, **({"ranking": ranking} if ranking else {})}, "en"))
    assert (told in text) if told else ("had time" not in text)


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


@pytest.mark.parametrize("language", LANGUAGES)
def test_low_confidence_is_told_with_the_results(language: Language):
    given = {"documents": [document()]}
    assert TEXTS[language].unsure[0] in text_of(found(given, language, unsure=True))
    assert "message" not in found(given, language)


def test_what_the_search_was_narrowed_to_is_told():
    given = {"question": "why?", "took_ms": 1, "documents": [document()]}
    assert "Narrowed to: Code <b> · in force." in text_of(
        results(given, "en", ["Code <b>", "in force"])
    )
    assert "Narrowed" not in text_of(results(given, "en"))
