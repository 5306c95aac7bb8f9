"""HTML of a comparison: what moved in words, what the stages said, and nothing unescaped."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.comparing import Comparison, Found, Lap, StageRanking, compare
from ui.compare import render
from ui.language import LANGUAGES

PAYLOADS = Path(__file__).parents[2] / "browser" / "payloads.txt"


def lists(markup: str) -> list[list[str]]:
    """The text of each article, on the left and on the right."""
    sides = re.findall(r"<section.*?</section>", markup)
    return [
        [words(item) for item in re.findall(r'<li class="\w+">(.*?)</div></li>', side)]
        for side in sides
    ]


def words(markup: str) -> str:
    spaced = re.sub(r"</p>|</li>", " ", markup)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", spaced)).split())


def test_each_article_says_how_it_moved_and_what_each_stage_said(comparison: Comparison) -> None:
    left, right = lists(render.comparison("deposit", comparison, "en"))
    assert left == [
        "Place 1 Article 2 Housing Code Down 1, to place 2 on the right"
        " BM25: place 1 on both sides Dense, on the right only: not found",
        "Place 2 Article 1 Housing Code Up 1, to place 1 on the right"
        " BM25: place 2 on both sides Dense, on the right only: place 2",
        "Place 3 Article 3 Housing Code Same place on the right"
        " BM25: place 3 on both sides Dense, on the right only: place 40",
        "Place 4 Article 4 Housing Code Gone: not found on the right"
        " BM25: place 4 on both sides Dense, on the right only: not found",
    ]
    assert right[0].startswith("Place 1 Article 1 Housing Code Up 1, from place 2 on the left")
    assert right[1].startswith("Place 2 Article 2 Housing Code Down 1, from place 1 on the left")
    assert right[2].startswith("Place 3 Article 3 Housing Code Same place on the left")
    assert right[3] == (
        "Place 4 Article 5 Housing Code New: not found on the left"
        " BM25: not found on both sides Dense, on the right only: place 1"
    )


def test_what_does_not_bind_is_said_of_each_article(found: Callable[..., Found]) -> None:
    side = found("a", ["1", "2", "3"])
    states = ("repealed", "in force", "not yet in force")
    articles = [{**each, "state": s} for each, s in zip(side.articles, states, strict=True)]
    side = replace(side, articles=articles)
    shown = lists(render.comparison("x", compare(side, side), "en"))
    for one in shown:
        assert one[0].startswith("Place 1 Article 1 Housing Code (repealed) Same place")
        assert one[1].startswith("Place 2 Article 2 Housing Code Same place")
        assert one[2].startswith("Place 3 Article 3 Housing Code (not yet in force) Same place")


def test_it_is_summed_up_above(comparison: Comparison) -> None:
    told = words(render.comparison("my deposit", comparison, "en").split("<section")[0])
    assert told == (
        "3 of the first 4 in commonFor my deposit 1 keeps its place, 2 move, 1 stands on the left"
        " only, 1 stands on the right only. The left took 4 ms, the right 16 ms."
    )
    same = compare(comparison.left, comparison.left)
    assert "Both lists are the same, in the same order." in render.comparison("x", same, "en")


def test_places_below_the_lists_and_their_ends_are_told(found: Callable[..., Found]) -> None:
    ids = [str(number) for number in range(1, 13)]
    left = found("lexical", ids)
    right = found("hybrid", ["12", *ids[:8], "20", "10"], cut=11)
    shown = lists(render.comparison("x", compare(left, right), "en"))
    assert "Gone: at place 11 on the right" in shown[0][9]
    assert "Gone: not among the first 11 on the right" in shown[0][8]
    assert "New: at place 12 on the left" in shown[1][0]
    assert "New: not found on the left" in shown[1][9]


def test_ranks_that_differ_are_told_of_both_sides(found: Callable[..., Found]) -> None:
    left = found("a", ["1", "2"], {"bm25": {"1": 1, "2": 300}, "reranker": {"1": 1}})
    right = found("b", ["1", "2"], {"bm25": {"1": 1, "2": 1400}, "reranker": {"2": 1}})
    first, second = lists(render.comparison("x", compare(left, right), "en"))[0]
    assert "BM25: place 1 on both sides" in first
    assert "Re-ranker: place 1 on the left, not read on the right" in first
    assert "BM25: place 300 on the left, place 1,400 on the right" in second


def test_lists_of_different_lengths_say_what_is_true_of_both(found: Callable[..., Found]) -> None:
    side = found("a", ["1"])
    sides = [
        replace(side, stages=[StageRanking("bm25", {"9": 1}, cut)]) for cut in (500, 250, None)
    ]
    for left, right, told in (
        (0, 1, "not among its first 250 on both sides"),
        (1, 2, "not among its first 250 on both sides"),
        (2, 2, "not found on both sides"),
    ):
        shown = lists(render.comparison("x", compare(sides[left], sides[right]), "en"))
        assert f"BM25: {told}" in shown[0][0]


def test_one_side_may_have_found_nothing(found: Callable[..., Found]) -> None:
    markup = render.comparison("x", compare(found("a", []), found("b", ["1"])), "en")
    assert "Nothing was found." in markup
    assert "New: not found on the left" in markup
    assert "0 of the first 1 in common" in markup


def test_articles_open_in_the_law_of_the_same_language(comparison: Comparison) -> None:
    assert 'href="/article?id=1"' in render.comparison("x", comparison, "en")
    assert 'href="/fr/article?id=1"' in render.comparison("x", comparison, "fr")


@pytest.mark.parametrize("language", LANGUAGES)
def test_it_is_one_line_with_every_place_filled_in(comparison: Comparison, language: str) -> None:
    markup = render.comparison("x", comparison, language)  # type: ignore[arg-type]
    assert "\n" not in markup
    assert "{" not in markup


def test_markup_from_a_law_a_question_or_a_file_is_text() -> None:
    for payload in PAYLOADS.read_text("utf-8").splitlines():
        article = {
            "id": payload,
            "law": payload,
            "number": payload,
            "headings": [payload],
            "language": payload,
        }
        stages = [StageRanking(payload, {payload: 1}, None)]
        side = Found(payload, [article], None, stages, [Lap(payload, 1.0)], 1.0)
        markup = render.comparison(payload, compare(side, side), "en")
        tags = set(re.findall(r"<\s*/?\s*([^\s>/]+)", markup))
        assert tags <= {
            *(
                "div",
                "h2",
                "h3",
                "p",
                "q",
                "section",
                "ol",
                "ul",
                "li",
                "span",
                "a",
                "bdi",
                "strong",
                "code",
            ),
            *("table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td"),
        }
        assert not re.search(r"<[^>]*\son\w+=", markup)
        assert 'href="javascript' not in markup
