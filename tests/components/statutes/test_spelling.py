"""Corrections of spelling: what is corrected, what is left alone, and the form on disk."""

import pytest
from statute_tables import TABLES

from components.statutes.lexical import Spelling, corrected

LAW = ["The landlord returns the deposit.", "Deposit, landlord, divorce. École maternelle; déposé"]


def nothing(word):
    return False


@pytest.fixture(scope="module")
def spelling():
    return Spelling.of(LAW)


@pytest.mark.parametrize(("written", "meant"), TABLES["misspelt words"])
def test_a_misspelt_word_becomes_the_word_of_the_law(spelling, written, meant):
    expected = {} if meant is None else {written: meant}
    assert spelling.corrections(f"My {written}, please", nothing) == expected


def test_a_word_that_is_known_elsewhere_is_left_alone(spelling):
    assert spelling.corrections("a deposits box", {"deposits"}.__contains__) == {}
    assert spelling.corrections("a deposits box", nothing) == {"deposits": "deposit"}


def test_of_words_equally_near_the_most_frequent_is_taken():
    spelling = Spelling.of(["renter renter rented"])
    assert spelling.corrections("rentek", nothing) == {"rentek": "renter"}


def test_only_whole_words_are_replaced():
    assert corrected("devorce, devorced devorce!", {"devorce": "divorce"}) == (
        "divorce, devorced divorce!"
    )


def test_it_is_the_same_after_a_turn_on_disk(spelling):
    again = Spelling.from_bytes(spelling.to_bytes())
    question = "lanldord, depozit, maternele"
    assert again.corrections(question, nothing) == spelling.corrections(question, nothing)
    for content in (b"", b"[]", b'{"a": "b"}', b"\xff"):
        with pytest.raises(ValueError):
            Spelling.from_bytes(content)
