"""The excerpts of an article that bear on a question."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.statutes.excerpts import LEFT_OUT, SHORT_ARTICLE, bearing_excerpts
from components.statutes.replies.text import article_sentences

FILLER = "The registry holds a book of every lease, and anybody may read it on working days. "
DEPOSIT = "The landlord shall return the deposit."
INTEREST = "A deposit that is kept bears double interest."
ARTICLE = f"{FILLER * 4}{DEPOSIT}\n{FILLER * 4}\n{INTEREST}\n{FILLER * 2}"


def excerpts(question, article=ARTICLE, language="en"):
    return [each.text for each in bearing_excerpts(question, article, language)]


def test_whole_paragraphs_are_taken_in_the_articles_order():
    article = f"{FILLER * 3}{DEPOSIT}\n{FILLER * 4}\n{INTEREST}\n{FILLER * 2}"
    assert excerpts("My landlord keeps my deposit", article) == [f"{FILLER * 3}{DEPOSIT}", INTEREST]


def test_of_a_long_paragraph_sentences_are_taken_and_what_is_left_out_is_marked():
    interest = "A kept deposit bears interest."
    article = f"{FILLER * 9}{DEPOSIT} {FILLER * 9}{interest} {FILLER.strip()}"
    assert excerpts("deposit interest", article) == [
        f"{LEFT_OUT} {DEPOSIT} {LEFT_OUT} {interest} {LEFT_OUT}"
    ]
    (from_beginning,) = excerpts("zebra", article)  # no word is shared
    assert from_beginning.startswith(FILLER) and from_beginning.endswith(f". {LEFT_OUT}")


@pytest.mark.parametrize(
    ("language", "rule", "exceptions"),
    [
        ("en", DEPOSIT, ["It may be refused only for a serious reason."]),
        ("en", DEPOSIT, ["However, rent is set off.", "This must be asked for within two years."]),
        ("en", DEPOSIT, ["Subsection (1) does not apply to halls.", "But it does to rooms."]),
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
    assert found.text == f"{FILLER * 4}{DEPOSIT}"
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
