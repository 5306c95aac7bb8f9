"""Excerpts: provisions never without their exceptions, and what bears on a question."""

import re
from itertools import pairwise

import pytest
from deposit import DEPOSIT
from hypothesis import given
from hypothesis import strategies as st

from components.statutes.corpus import StatuteCorpus
from components.statutes.excerpts import (
    LEFT_OUT,
    SHORT_ARTICLE,
    bearing_excerpts,
    excerpt,
    matched_words,
    provision_at,
    related,
)
from components.statutes.lexical import analyzer
from components.statutes.provisions import Span, provisions_of
from components.statutes.replies.text import article_sentences


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


FILLER = "The registry holds a book of every lease, and anybody may read it on working days. "
RULE = "The landlord shall return the deposit."
INTEREST = "A deposit that is kept bears double interest."
ARTICLE = f"{FILLER * 4}{RULE}\n{FILLER * 4}\n{INTEREST}\n{FILLER * 2}"


def excerpts(question, article=ARTICLE, language="en"):
    return [each.text for each in bearing_excerpts(question, article, language)]


def test_whole_paragraphs_are_taken_in_the_articles_order():
    article = f"{FILLER * 3}{RULE}\n{FILLER * 4}\n{INTEREST}\n{FILLER * 2}"
    assert excerpts("My landlord keeps my deposit", article) == [f"{FILLER * 3}{RULE}", INTEREST]


def test_of_a_long_paragraph_sentences_are_taken_and_what_is_left_out_is_marked():
    interest = "A kept deposit bears interest."
    article = f"{FILLER * 9}{RULE} {FILLER * 9}{interest} {FILLER.strip()}"
    assert excerpts("deposit interest", article) == [
        f"{LEFT_OUT} {RULE} {LEFT_OUT} {interest} {LEFT_OUT}"
    ]
    (from_beginning,) = excerpts("zebra", article)  # no word is shared
    assert from_beginning.startswith(FILLER) and from_beginning.endswith(f". {LEFT_OUT}")


@pytest.mark.parametrize(
    ("language", "rule", "exceptions"),
    [
        ("en", RULE, ["It may be refused only for a serious reason."]),
        ("en", RULE, ["However, rent is set off.", "This must be asked for within two years."]),
        ("en", RULE, ["Subsection (1) does not apply to halls.", "But it does to rooms."]),
        ("fr", "Le bailleur rend la garantie.", ["Toutefois, il garde le loyer, sauf accord."]),
        ("de", "Der Vermieter gibt die Kaution zurück.", ["Dies gilt nicht für Heime."]),
        ("zh", "出租人应当返还押金。", ["但是有欠租的除外。", "请求应当在两年内提出。"]),
    ],
)
@pytest.mark.parametrize("between", [" ", "\n(2) "])
def test_no_sentence_stands_without_the_exceptions_behind_it(language, rule, exceptions, between):
    behind = between + " ".join(exceptions)
    article = f"(1) {FILLER * 20}{rule}{behind} {FILLER * 20}"
    (found,) = excerpts(rule, article, language)
    assert found == f"{LEFT_OUT} {rule}{behind} {LEFT_OUT}"


def test_an_exception_belongs_to_what_leads_to_its_list():
    listed = (
        "The landlord may keep the deposit where:\n(a) rent is owed;\n"
        + "".join(f"({letter}) {FILLER.strip()[:-1]};\n" for letter in "bcdefghijklmnopqrst")
        + "(u) the flat is damaged,\nunless the tenant has insured it."
    )
    assert excerpts("Who may keep a deposit?", f"{FILLER * 9}\n{listed}\n{FILLER * 9}") == [listed]


def test_the_passage_of_a_ranker_is_widened_to_its_paragraph():
    begin = ARTICLE.index("deposit")
    (found,) = bearing_excerpts("lease", ARTICLE, "en", (begin, begin + 5))
    assert found.text == f"{FILLER * 4}{RULE}"
    assert (found.start, found.end) == (0, len(found.text))


def test_a_short_article_is_one_excerpt():
    assert excerpts("anything", "  One. Two.\n") == ["One. Two."]
    assert excerpts("anything", " \n") == []


def test_a_sentence_without_end_is_not_cut():
    assert excerpts("deposit", "deposit " * 400) == [("deposit " * 400).strip()]
    assert excerpts("押金", "押金应当返还" * 300, "zh") == ["押金应当返还" * 300]


@given(
    st.text(st.sampled_from("ab .\n。押(:;"), max_size=60).map(lambda text: text * 30),
    st.text(st.sampled_from("ab 押"), min_size=1, max_size=10),
)
def test_excerpts_are_whole_sentences_in_order(article, question):
    found = bearing_excerpts(question, article)
    assert all(before.end <= after.start for before, after in pairwise(found))
    assert bool(found) == bool(article.strip())
    sentences = [article[each.start : each.end] for each in article_sentences(article)]
    for each in found:
        for part in each.text.split(LEFT_OUT):
            assert part.strip() in article
            # Of whole sentences, one behind the other, nothing is left.
            rest = "".join(part.split())
            for sentence in sorted(sentences, key=len, reverse=True):
                rest = rest.replace("".join(sentence.split()), "")
            assert not rest
    assert len(article) > SHORT_ARTICLE or len(found) <= 1
