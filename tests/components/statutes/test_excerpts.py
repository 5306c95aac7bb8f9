"""Excerpts: provisions never without their exceptions, and what bears on a question."""

import re

import pytest
from deposit import DEPOSIT

from components.statutes.corpus import StatuteCorpus
from components.statutes.excerpts import (
    excerpt,
    matched_words,
    provision_at,
    related,
)
from components.statutes.lexical import analyzer
from components.statutes.provisions import Span, provisions_of


def test_a_paragraph_has_its_items_and_brings_what_limits_it():
    provisions = provisions_of(DEPOSIT)
    assert [each.number for each in provisions] == ["1", "2", "3", "4"]
    assert [line.marker for line in provisions[2].lines] == ["(3)", "(a)", "(b)"]
    chosen = provisions[1]
    assert [each.number for each in related(DEPOSIT, chosen, "en")] == ["3"]
    # A language whose exceptions are not known here: nothing is left out.
    assert [each.number for each in related(DEPOSIT, chosen, "fi")] == ["1", "3", "4"]
    assert provision_at(DEPOSIT, {"start": 0, "end": 60}) == provisions[0]
    assert provision_at(DEPOSIT, None) is None


@pytest.mark.parametrize(
    ("text", "number", "with_it"),
    [
        ("(1) A.\n(2) B.\n(3) Paragraphs (1) and (4) do not bind minors.\n(4) C.", "4", ["3"]),
        ("(1) A.\n(2) B.\n(3) C.\n(4) Paragraphs (1) to (3) lapse after a year.", "2", ["4"]),
        ("(1) A.\n(2) This Article does not apply to hotels.\n(3) B.", "3", ["2"]),
        ("(1) A.\n(2) Under paragraph (1) nothing else is owed.", "1", ["2"]),
        ("(1) A.\n(2) Paragraph (1) is read out.", "1", []),
    ],
)
def test_a_paragraph_that_limits_another_is_known_by_its_words(text, number, with_it):
    chosen = next(each for each in provisions_of(text) if each.number == number)
    assert [each.number for each in related(text, chosen, "en")] == with_it


LIMITS = re.compile(r"\b(?:unless|except|only|within|but)\b")


def test_no_excerpt_of_the_demo_law_lacks_an_exception_of_its_paragraph():
    corpus = StatuteCorpus.read("aldermere")
    shortened = 0
    for article in corpus:
        for provision in provisions_of(article.text):
            shown = excerpt(article.text, provision, article.language, (), words=0)
            kept = " ".join(article.text[start:end] for start, end in shown)
            start, end = provision.span
            shortened += len(kept) < end - start
            own = re.split(r"(?<=[.;])\s+|\n", article.text[start:end])
            for sentence in own:
                if LIMITS.search(sentence):
                    assert sentence in kept, (article.id, sentence)
    assert shortened > 100


def test_the_question_s_words_are_marked_in_any_form():
    text = "Deposits are returned. A depositor is not a tenant, a de\u200bpo\u00adsit is."
    spans = matched_words(text, [Span(0, len(text))], set(analyzer("en")("my deposit")), "en")
    assert [text[start:end] for start, end in spans] == ["Deposits", "de\u200bpo\u00adsit"]
