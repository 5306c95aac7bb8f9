"""A document as it is read: what is read before its words, and whether all of them were read."""

from __future__ import annotations

from typing import Any

import pytest
from haystack import Document

from components.models.pair_tokenizer import Span
from components.rankers.candidate import Candidate, candidates_of
from components.rankers.cross_encoder import StatuteRanker

TEXT = "Title One. The roof leaks and rain comes in."
CONTENT = TEXT.index("The roof")


@pytest.mark.parametrize(
    ("read", "whole"),
    [
        ([Span(0, len(TEXT))], True),
        ([Span(0, 19), Span(20, len(TEXT))], True),  # a blank between two passages is no word
        ([Span(CONTENT, len(TEXT))], True),
        ([Span(0, 5), Span(CONTENT, len(TEXT))], True),  # a heading is not of the content
        ([Span(0, 19)], False),
        ([Span(0, 19), Span(27, len(TEXT))], False),
        ([Span(CONTENT + 4, len(TEXT))], False),
        ([Span(0, 5)], False),
    ],
)
def test_a_candidate_is_read_whole_where_no_word_of_its_content_is_left(
    read: list[Span], whole: bool
) -> None:
    candidate = Candidate(Document(content=TEXT[CONTENT:]), 0, TEXT, CONTENT)
    assert candidate.is_whole(read) is whole


def test_headings_stand_before_the_content_and_blanks_alone_are_no_text() -> None:
    documents = [
        Document(id="a", content="The roof leaks.", meta={"headings": ["Roofs"], "law": "Code"}),
        Document(id="b", content=" \n"),
        Document(id="c"),
    ]
    (found,) = candidates_of(documents, "headings_text", ["law", "no such"])
    assert found.document is documents[0]
    assert found.text.startswith("Code Roofs")
    assert found.text[found.content_start :] == "The roof leaks."
    assert found.in_content(Span(0, len(found.text))) == {"start": 0, "end": 15}


@pytest.mark.parametrize("headings", ["Roofs", [None, "Roofs"]])
def test_headings_of_any_kind_are_read(headings: object) -> None:
    odd = Document(content="It leaks.", meta={"headings": headings})
    (found,) = candidates_of([odd], "headings_text", None)
    assert found.text == "Roofs It leaks."


@pytest.mark.parametrize("names", ["law", ("law",), ["law", 1]])
def test_names_of_metadata_that_are_no_list_of_names_are_refused(names: Any) -> None:
    with pytest.raises(ValueError, match=r"StatuteRanker\.meta_fields must be a list of names"):
        StatuteRanker(meta_fields=names)
