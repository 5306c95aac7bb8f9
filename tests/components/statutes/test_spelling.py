"""Corrections of spelling: what is corrected, what is left alone, and the form on disk."""

import itertools
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from components.statutes.spelling import Spelling, corrected

TABLES = yaml.safe_load(Path(__file__).with_name("tables.yaml").read_text("utf-8"))

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


def distance(one, other):
    """Slowly: optimal string alignment, by its recurrence."""
    table = {(-1, -1): 0}
    for i in range(len(one)):
        table[i, -1] = i + 1
    for j in range(len(other)):
        table[-1, j] = j + 1
    for i, j in itertools.product(range(len(one)), range(len(other))):
        options = [
            table[i - 1, j] + 1,
            table[i, j - 1] + 1,
            table[i - 1, j - 1] + (one[i] != other[j]),
        ]
        if i and j and one[i] == other[j - 1] and one[i - 1] == other[j]:
            options.append(table[i - 2, j - 2] + 1)
        table[i, j] = min(options)
    return table[len(one) - 1, len(other) - 1]


LETTERS = st.text("abc", min_size=4, max_size=11)


@given(st.lists(LETTERS, min_size=1, max_size=8), LETTERS)
def test_the_nearest_word_is_found_as_a_slow_search_finds_it(law, asked):
    found = Spelling.of([" ".join(law)]).corrections(asked, nothing)
    most = 0 if len(asked) < 5 else 1 if len(asked) < 9 else 2
    near = sorted(
        (distance(asked, word), -law.count(word)) for word in set(law) if word[0] == asked[0]
    )
    if asked in law or not near or near[0][0] > most:
        assert not found
    else:
        word = found[asked]
        assert (distance(asked, word), -law.count(word)) == near[0]
