"""Two wordings of an article, word by word, and the article in a repealed one's place."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.statutes.article import Article
from components.statutes.wordings import (
    WordingError,
    changed_rows,
    in_time,
    is_changed,
    marked,
    successor_citation,
    two_wordings,
)

BEFORE = """\
(1) The landlord shall return the deposit within 30 days.
(2) Interest is owed on 1,000 crowns.
(3) Nothing else is owed."""


@pytest.mark.parametrize(
    ("after", "rows"),
    [
        (BEFORE.replace("30", "14"), ["(1) … within [-30-] {+14+} days."]),
        (BEFORE.replace("1,000", "1,500"), ["(2) … on [-1,000-] {+1,500+} crowns."]),
        (BEFORE + "\n(4) New.", ["{+(4) New.+}"]),
        (BEFORE.replace("(3)", "(2a) New.\n(3)"), ["{+(2a) New.+}"]),
        (BEFORE.split("\n(3)")[0], ["[-(3) Nothing else is owed.-]"]),
        # The words in common are too few to be kept.
        (
            BEFORE.replace("Nothing else is owed", "Each party to the lease is bound to pay"),
            ["(3) [-Nothing else is owed-] {+Each party to the lease is bound to pay+}."],
        ),
        (BEFORE.replace("\n", "\n\n ").replace("the deposit", "the  deposit"), []),
    ],
)
def test_only_what_changed_is_marked(after, rows):
    lines = [marked(row) for row in changed_rows(BEFORE, after) if is_changed(row)]
    shortened = [
        line.replace("The landlord shall return the deposit", "…").replace("Interest is owed", "…")
        for line in lines
    ]
    assert shortened == rows


def test_signs_without_blanks_are_compared_one_by_one():
    (row,) = changed_rows("房东应当在三十日内退还押金。", "房东应当在十五日内退还押金。")
    assert marked(row) == "房东应当在[-三-]十{+五+}日内退还押金。"


WORDS = st.lists(st.sampled_from(["a", "b", "(1)", "1,5", "c.", "\n", "款", "\n\n"]), max_size=40)


@given(WORDS, WORDS)
def test_all_words_of_both_texts_are_there_in_order(before, after):
    rows = changed_rows(" ".join(before), " ".join(after))

    def side(left_out):
        return "".join(each.text for row in rows for each in row if each.kind != left_out)

    assert "".join(side("inserted").split()) == "".join("".join(before).split())
    assert "".join(side("deleted").split()) == "".join("".join(after).split())


def test_a_long_article_is_compared_too():
    words = [f"w{n % 700}" for n in range(12_000)]
    changed = [*words[:6_000], "new", *words[6_000:]]
    rows = changed_rows(" ".join(words), " ".join(changed))
    assert [each.text for each in rows[0] if each.kind != "same"] == [" new"]


def wording(id_, first=None, last=None):
    days = [day and date.fromisoformat(day) for day in (first, last)]
    return Article(id_, "Road Act", "12", (), "x", "en", *days)


UNDATED = wording("undated")
FIRST = wording("first", "2010-01-01", "2015-12-31")
SECOND = wording("second", "2017-01-01", "2019-12-31")
THIRD = wording("third", "2020-01-01")
D2012, D2016, D2018, D2021 = (date(year, 6, 1) for year in (2012, 2016, 2018, 2021))


@pytest.mark.parametrize(
    ("since", "to", "ids"),
    [
        (None, None, ("second", "third")),
        (None, D2018, ("first", "second")),
        (D2012, None, ("first", "third")),
        (D2012, D2018, ("first", "second")),
    ],
)
def test_the_wordings_of_two_days_are_chosen(since, to, ids):
    chosen = two_wordings([FIRST, SECOND, THIRD], since, to)
    assert tuple(each.id for each in chosen) == ids


@pytest.mark.parametrize(
    ("since", "to", "words"),
    [
        (D2016, None, "until 2015-12-31; from 2017-01-01"),
        (D2018, date(2018, 7, 1), "both days"),
        (None, D2012, "No wording before"),
        (D2021, D2012, "earlier day first"),
    ],
)
def test_it_is_said_why_there_are_not_two(since, to, words):
    with pytest.raises(WordingError, match=words):
        two_wordings([FIRST, SECOND, THIRD], since, to)


def test_wordings_are_in_the_order_of_their_days():
    ended = wording("ended", None, "2009-12-31")
    everything = [THIRD, ended, SECOND, UNDATED, FIRST]
    in_order = [each.id for each in sorted(everything, key=in_time)]
    assert in_order == ["undated", "ended", "first", "second", "third"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[Formerly 91.740; 1993 c.369 Section 3; renumbered 90.220 in 2005]", "section 90.220"),
        ("[Repealed by 1995 c.559 §58; see now section 12]", "section 12"),
        (
            "Repealed by Act 7 of 1999; replaced by section 12 of the Road Act.",
            "section 12 of the Road Act",
        ),
        ("(abrogé, remplacé par l'article L1221-1)", "article L1221-1"),
        ("(weggefallen, jetzt § 7)", "§ 7"),
        ("[1993 c.1; renumbered in 1995 as 90.262]", "section 90.262"),
        ("[Repealed by 1995 c.559 §58]", None),
        # An act that amended the law, not an article of it.
        ("[Renumbered in 2005]", None),
        ("Repealed. Superseded by 1999 c.59 §3.", None),
        ("[Repealed; superseded by section 12, chapter 45, Laws 1999]", None),
        # A rule, not a note.
        ("A lease replaced by section 12 ends.", None),
        ("The fee is due.\n(Repealed; replaced by section 12.)", "section 12."),
    ],
)
def test_a_note_names_the_article_in_its_place(text, words):
    named = successor_citation(Article("1", "Road Act", "3", (), text))
    assert (named is None) == (words is None)
    assert (named or "").startswith(words or "")
