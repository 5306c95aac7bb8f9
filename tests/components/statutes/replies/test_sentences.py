"""The sentences of a reply and of an article."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reply_cases import cases

from components.statutes.replies.text import article_sentences, says_something, sentence_spans


@pytest.mark.parametrize("sentences", cases("sentences"))
def test_sentences(sentences):
    space = "" if sentences[0].endswith("。") else " "
    reply = space.join(sentences)
    whole = [(reply.index("“"), reply.index("”") + 1)] if "“" in reply else []
    assert [reply[start:end] for start, end in sentence_spans(reply, whole)] == sentences


def test_a_line_ends_a_sentence_but_behind_a_colon_and_a_lists_number_ends_none():
    reply = "Two things:\n1. Return the deposit.\n2. Pay interest."
    spans = sentence_spans(reply)
    assert [reply[start:end] for start, end in spans] == [
        "Two things:\n1. Return the deposit.",
        "2. Pay interest.",
    ]


def test_a_sentence_of_citations_belongs_to_the_one_before():
    reply = "It is returned. (Section 12 of the Housing Code)\n\n[1]\n\nPay."
    start = reply.index("Section")
    mark = reply.index("[1]")
    spans = sentence_spans(reply, (), [(start, start + 10), (mark, mark + 3)])
    assert [reply[first:last] for first, last in spans] == [reply[: mark + 3], "Pay."]


@given(st.text(st.sampled_from('ab1 .?!\n[]"”。A')))
def test_every_word_is_in_one_sentence(reply):
    spans = sentence_spans(reply)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert "".join(reply[start:end] for start, end in spans).replace(" ", "").replace("\n", "") == (
        "".join(reply.split())
    )


@pytest.mark.parametrize(
    ("sentence", "behind", "says"), cases("headings_rules_and_heads_of_tables_say_nothing")
)
def test_headings_rules_and_heads_of_tables_say_nothing(sentence, behind, says):
    assert says_something(sentence, behind) is says


# With a | behind each sentence.
@pytest.mark.parametrize(("language", "marked"), cases("the_sentences_of_an_article"))
def test_the_sentences_of_an_article(language, marked):
    article = marked.replace("|", "")
    found = [article[each.start : each.end] for each in article_sentences(article, language)]
    assert found == [sentence.strip() for sentence in marked.split("|")]


@pytest.mark.parametrize(
    ("language", "sentence", "qualifies"), cases("what_may_restrict_the_sentence_before")
)
def test_what_may_restrict_the_sentence_before(language, sentence, qualifies):
    (found,) = article_sentences(sentence, language)
    assert found.qualifies == qualifies
