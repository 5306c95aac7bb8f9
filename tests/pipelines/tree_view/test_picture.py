"""The picture of an article in its law: what it says, and to whom."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from components.statutes.article import Article
from components.statutes.corpus import StatuteCorpus
from pipelines.files import LoadingError
from pipelines.tree_view.attention import Attention
from pipelines.tree_view.colours import AT_NIGHT, night_style
from pipelines.tree_view.neighbourhood import Neighbourhood, find_article, neighbourhood
from pipelines.tree_view.picture import draw_picture

SVG = "{http://www.w3.org/2000/svg}"
NOTE = "No model was asked."
PAYLOADS = (
    (Path(__file__).parent.parent.parent / "browser" / "payloads.txt")
    .read_text("utf-8")
    .splitlines()
)


def article(number: object, headings: Sequence[str] = ("Book I",), **fields: Any) -> Article:
    given = {"law": "Housing Code", "text": f"Rule {number}.", "language": "en", **fields}
    return Article(f"h{number}", number=str(number), headings=tuple(headings), **given)


def place_of(articles: Sequence[Article], article_id: str) -> Neighbourhood:
    corpus = StatuteCorpus(articles)
    return neighbourhood(corpus, corpus.position(article_id))


def drawn(
    place: Neighbourhood, attention: Attention | None = None, note: str = NOTE
) -> ElementTree.Element:
    return ElementTree.fromstring(draw_picture(place, attention, note))


def lines_of(picture: ElementTree.Element) -> list[str]:
    return [each.text or "" for each in picture.iter(f"{SVG}text")]


def titles_of(picture: ElementTree.Element) -> list[str]:
    return [each.text or "" for each in picture.iter(f"{SVG}title")]


@pytest.fixture
def small() -> list[Article]:
    """Two chapters; article 3 ends the first, cites 1 and the Work Code, and 5 cites it."""
    first, second = ("Book I", "Chapter 1. On rent"), ("Book I", "Chapter 2. On repairs")
    return [
        article(1, first),
        article(2, first),
        article(3, first, text="As article 1 and article 7 Work Code say.", language="en"),
        article(4, second),
        article(5, second, text="Article 3 holds here too."),
        article(7, ("Part 1",), law="Work Code"),
    ]


def test_every_colour_has_one_for_the_night(small: list[Article]) -> None:
    picture = drawn(place_of(small, "h3"), Attention(0.4, 0.3, 0.1, 0.1, {"h1": 0.1}, {}))
    used = {each.get(name) for each in picture.iter() for name in ("fill", "stroke")}
    assert used - {None, "none"} <= AT_NIGHT.keys()
    assert len(used) > 6
    (style,) = picture.iter(f"{SVG}style")
    assert style.text == night_style()


def test_the_neighbourhood_is_path_siblings_sequence_and_citations(small: list[Article]) -> None:
    place = place_of(small, "h3")
    assert [(d.label, d.place, d.of, d.articles) for d in place.path] == [
        ("Housing Code", 1, 2, 5),
        ("Book I", 1, 1, 5),
        ("Chapter 1. On rent", 1, 2, 3),
    ]
    assert [each.id for each in place.siblings] == ["h1", "h2", "h3"]
    assert (place.previous, place.next) == (small[1], small[3])
    assert [each.id for each in place.cites] == ["h1", "h7"]
    assert [each.id for each in place.cited_by] == ["h5"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("h33", "did you mean 'h3'"),
        ("art. 3", r"by its id: 'h3' \(Housing Code, 3\)"),
        ("zzz", "The ids look like 'h1'"),
    ],
)
def test_an_unknown_article_is_said_with_what_may_be_meant(
    small: list[Article], asked: str, message: str
) -> None:
    with pytest.raises(LoadingError, match=message):
        find_article(StatuteCorpus(small), asked)


def test_the_place_is_drawn_and_told(small: list[Article]) -> None:
    picture = drawn(place_of(small, "h3"))
    lines = lines_of(picture)
    for said in (
        "Article 3",
        "Housing Code",
        "Chapter 1. On rent",
        "1 of 2 · 3 articles",
        "previous",
        "next",
        "in Chapter 2. On repairs",  # where the next article stands
        "It cites 2 articles",
        "Work Code",
        "It is cited by 1 article",
        NOTE,
    ):
        assert said in lines, said
    assert not any(line.endswith("%") for line in lines)


def test_it_is_an_image_with_a_name_and_a_description(small: list[Article]) -> None:
    picture = drawn(place_of(small, "h3"))
    assert picture.get("role") == "img"
    assert picture.get("aria-labelledby") == "title desc"
    title, description = picture[0], picture[1]
    assert (title.tag, title.get("id"), title.text) == (
        f"{SVG}title",
        "title",
        "Article 3, Housing Code",
    )
    assert (description.tag, description.get("id")) == (f"{SVG}desc", "desc")
    assert description.text == (
        "Article 3 stands in Chapter 1. On rent, in Book I, in Housing Code. "
        "2 other articles stand beside it. Before it comes Article 2. After it comes Article 4. "
        f"It cites Article 1, Article 7 of Work Code. It is cited by Article 5. {NOTE}"
    )


def test_attention_is_drawn_as_percentages_and_widths(small: list[Article]) -> None:
    attention = Attention(0.4, 0.3, 0.1, 0.002, {"h1": 0.15, "h7": 0.04}, {"h5": 0.008})
    picture = drawn(place_of(small, "h3"), attention)
    shares = [line for line in lines_of(picture) if line.endswith("%")]
    assert sorted(shares) == sorted(["40%", "30%", "10%", "<1%", "15%", "4%", "1%"])
    described = picture[1].text or ""
    assert "Article 1 (15%), Article 7 of Work Code (4%)" in described
    assert "It attends to that division with 30%. Of its own it keeps 40%." in described
    widths = sorted(
        float(each.get("stroke-width") or 0)
        for each in picture.iter(f"{SVG}path")
        if each.get("stroke") == "#8a3b12"
    )
    assert widths[0] < widths[1] < widths[2]


def test_a_network_without_some_edges_leaves_their_shares_out(small: list[Article]) -> None:
    attention = Attention(0.4, 0.6, None, None, {}, {})
    shares = [line for line in lines_of(drawn(place_of(small, "h3"), attention)) if "%" in line]
    assert sorted(shares) == ["40%", "60%"]


def test_of_600_siblings_the_nearest_are_drawn_and_the_rest_counted() -> None:
    articles = [article(n) for n in range(1, 601)]
    lines = lines_of(drawn(place_of(articles, "h300")))
    assert [line for line in lines if line.startswith("Article ")][1:] == [
        f"Article {n}" for n in range(296, 305)
    ]
    assert "295 more articles, Article 1 to Article 295" in lines
    assert "296 more articles, Article 305 to Article 600" in lines


@pytest.mark.parametrize(
    ("n", "here", "before", "after"),
    [(10, 5, 0, 0), (11, 1, 0, 2), (11, 11, 2, 0), (30, 2, 0, 21), (12, 6, 0, 2), (12, 7, 2, 0)],
)
def test_no_sibling_is_left_out_alone(n: int, here: int, before: int, after: int) -> None:
    lines = lines_of(drawn(place_of([article(k) for k in range(1, n + 1)], f"h{here}")))
    left_out = [int(line.split()[0]) for line in lines if "more articles" in line]
    assert left_out == [count for count in (before, after) if count]


def test_many_citations_are_cut_to_those_most_attended_to() -> None:
    citing = [article(n, text="See article 1.") for n in range(2, 42)]
    place = place_of([article(1), *citing], "h1")
    assert len(place.cited_by) == 40
    assert "and 35 more" in lines_of(drawn(place))
    shares = {each.id: 0.01 for each in place.cited_by} | {"h40": 0.2, "h20": 0.1}
    picture = drawn(place, Attention(0.1, 0.2, None, 0.02, {}, shares))
    cards = [title for title in titles_of(picture) if "Rule" not in title and "See" in title]
    assert [title.split(" ·")[0] for title in cards[-5:]] == [
        "Article 2",
        "Article 3",
        "Article 4",
        "Article 20",
        "Article 40",
    ]
    assert "and 35 more, 35% together" in lines_of(picture)


def test_a_long_heading_is_shortened_with_the_whole_in_its_title() -> None:
    heading = "Chapter 1. " + "On the rights and duties of those who let and those who rent " * 9
    picture = drawn(place_of([article(1, [*(f"Level {n}" for n in range(9)), heading])], "h1"))
    assert any(line.endswith("…") for line in lines_of(picture))
    assert any(" ".join(heading.split()) in title for title in titles_of(picture))


def test_a_deep_tree_keeps_its_order_and_stays_on_the_page() -> None:
    levels = [f"Level {n}" for n in range(14)]
    picture = drawn(place_of([article(1, levels)], "h1"))
    marks = list(picture.iter(f"{SVG}circle"))
    assert len(marks) == 15
    assert all(
        float(a.get("cx") or 0) < float(b.get("cx") or 0)
        and float(a.get("cy") or 0) < float(b.get("cy") or 0)
        for a, b in pairwise(marks)
    )
    assert max(float(each.get("x") or 0) for each in picture.iter(f"{SVG}text")) < 1152


def test_an_article_right_below_its_law_alone_in_it() -> None:
    place = place_of(
        [article("第一条", (), law="民法典", text="为了保护民事主体。", language="zh")], "h第一条"
    )
    picture = drawn(place)
    assert "第一条" in lines_of(picture)  # a number that is no figure stands as printed
    assert {each.get("lang") for each in picture.iter(f"{SVG}text")} == {"zh", None}
    assert (picture[1].text or "").startswith("第一条 stands in 民法典. 0 other articles")


def test_words_from_the_right_begin_at_their_right_end() -> None:
    text = "(أ) للمستأجر الحق."
    arabic = [article(n, ["الباب الأول"], law="قانون", text=text, language="ar") for n in (1, 2)]
    lines = list(drawn(place_of(arabic, "h1")).iter(f"{SVG}text"))
    turned = {each.text for each in lines if each.get("direction") == "rtl"}
    assert turned == {"قانون", "الباب الأول", text}
    # Without an anchor they would stand at the left of their place, over what is there.
    assert {each.get("text-anchor") for each in lines if each.text == text} == {"end"}


def test_dates_of_force_are_shown() -> None:
    dated = replace(article(1), valid_from=date(2009, 1, 1), valid_to=date(2015, 3, 31))
    assert "In force from 2009-01-01 to 2015-03-31" in lines_of(drawn(place_of([dated], "h1")))


@pytest.mark.parametrize("payload", PAYLOADS)
def test_markup_in_a_law_is_drawn_as_words(payload: str) -> None:
    hostile = article(1, [payload], law=payload, text=payload, language=payload)
    text = draw_picture(place_of([hostile, replace(hostile, id="x")], "h1"), None, payload)
    picture = ElementTree.fromstring(text)
    assert [each.text for each in picture.iter(f"{SVG}style")] == [night_style()]
    allowed = {"svg", "title", "desc", "style", "g", "text", "rect", "circle", "path", "polygon"}
    assert {each.tag.removeprefix(SVG) for each in picture.iter()} <= allowed
    attributes = {name for each in picture.iter() for name in each.attrib}
    assert not any(
        name.startswith("on") or "href" in name or name == "style" for name in attributes
    )


def test_the_same_place_gives_the_same_file(small: list[Article]) -> None:
    texts = {draw_picture(place_of(small, "h3"), None, NOTE) for _ in range(2)}
    assert len(texts) == 1
    assert re.match(r'<\?xml version="1.0" encoding="UTF-8"\?>\n<svg ', texts.pop())
