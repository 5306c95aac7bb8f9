"""An article's text on the page: every word of it, and the passage that fits, marked."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.article_text import article_text, marked_passage, word_count

TEXT = "The lessor keeps the house in repair.\n(1) The roof is his.\n(2) The lamps are not."


def words_of(markup: str) -> list[str]:
    shown = re.sub(r"<summary[^>]*>.*?</summary>", "", markup)
    return html.unescape(re.sub(r"<[^>]*>", " ", shown)).split()


def marks_of(markup: str) -> list[str]:
    return [html.unescape(each) for each in re.findall("<mark>(.*?)</mark>", markup)]


def passage(part: str, text: str = TEXT) -> dict[str, int]:
    start = text.index(part)
    return {"start": start, "end": start + len(part)}


def test_a_passage_is_marked_within_its_paragraph():
    markup = article_text(TEXT, marked_passage(TEXT, passage("in repair")), "en")
    assert "<p>The lessor keeps the house <mark>in repair</mark>.</p>" in markup
    assert markup.count("<mark>") == 1


def test_a_passage_over_paragraphs_is_marked_in_each_and_numbers_are_not():
    markup = article_text(
        TEXT,
        marked_passage(TEXT, passage("keeps the house in repair.\n(1) The roof is his.")),
        "en",
    )
    assert marks_of(markup) == ["The lessor keeps the house in repair.", "The roof is his."]
    assert "<span>(1)</span> <mark>The roof" in markup


@pytest.mark.parametrize(
    "given",
    [None, {"start": 0, "end": len(TEXT)}, {"start": 0, "end": 10**6}, {"start": 5, "end": 5}],
)
def test_nothing_is_marked_where_there_is_nothing_to_tell_apart(given: dict[str, int] | None):
    assert marked_passage(TEXT, given) is None
    assert "<mark>" not in article_text(TEXT, None, "en")


def test_what_is_marked_is_not_folded_away():
    paragraph = " ".join(["word"] * 100)
    text = "\n".join([paragraph, paragraph, paragraph, "The end of it."])
    assert '<details><summary dir="auto">' in article_text(text, None, "en")
    assert '<details><summary dir="auto">' in article_text(
        text, marked_passage(text, {"start": 0, "end": 9}), "en"
    )
    opened = article_text(text, marked_passage(text, passage("The end of it.", text)), "en")
    assert '<details open><summary dir="auto">' in opened
    assert marks_of(opened) == ["The end of it."]


def test_no_mark_breaks_off_in_a_second_paragraph():
    def marks(part: str) -> list[str]:
        return marks_of(article_text(TEXT, marked_passage(TEXT, passage(part)), "en"))

    assert marks("The roof is his.\n(2) The") == ["The roof is his."]
    assert marks("his.\n(2) The lamps are") == ["The lamps are not."]
    # Less than half of both: what it is, as it is.
    assert marks("his.\n(2) The") == ["his.", "The"]


LAWLIKE = st.text(st.sampled_from("ab <&1.()\n\u2028\t"), max_size=60)


@given(LAWLIKE, st.integers(0, 60), st.integers(0, 60))
def test_every_word_stands_in_order_and_marks_are_of_the_span(text: str, start: int, length: int):
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


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("A deposit is owed.", 4), ("第一条 押金应当退还。", 9), ("Art. 3 押金", 4)],
)
def test_words_are_counted_where_no_blanks_are_between_them_too(text: str, count: int):
    assert word_count(text) == count
