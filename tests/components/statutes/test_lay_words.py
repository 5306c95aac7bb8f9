"""Lay words: what is found in a question, what is refused in a list, and the form on disk."""

from __future__ import annotations

import random

import pytest

from components.statutes import CorpusError
from components.statutes.lay_words import (
    LayEntry,
    LayWords,
    added_terms,
    lay_words_from_bytes,
    lay_words_to_bytes,
    phrases_by_said,
    read_lay_words,
)

LAW = {"secur", "deposit", "return", "evict", "terminat", "tenanc", "damp", "mangel", "kundig"}


def entry(said, law, where="", language=""):
    return LayEntry(said.split("|"), law.split("|"), where.split(",") if where else [], language)


def found(question, *entries, tags=("en",)):
    return phrases_by_said(LayWords(entries, tags, LAW.__contains__).expansions(question))


BACK = entry("deposit back", "return of deposit|security deposit")
OUT = entry("kick me out|throw me out", "eviction")
OWED = entry("owes me", "deposit")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How do I get my deposit back?", {"deposit back": [*BACK.law]}),
        ("Can I get back all of my DEPOSITS", {"deposit back": [*BACK.law]}),
        ("He is back with his wife, sold the old flat, and lost a deposit", {}),
        # Stop words leave "owes" alone, so the phrase must stand as it is.
        ("My boss still owes me", {"owes me": ["deposit"]}),
        ("She owes him, and me", {}),
        (
            "kicks me out, they throw me out",
            {"kick me out": ["eviction"], "throw me out": ["eviction"]},
        ),
        ("", {}),
    ],
)
def test_phrases_are_found_by_their_stems(question, expected):
    assert found(question, BACK, OUT, OWED) == expected


def test_the_longest_phrase_is_taken_and_no_word_twice():
    short = entry("deposit", "security")
    assert found("my deposit back", short, BACK) == {"deposit back": [*BACK.law]}
    assert found("my deposit", short, BACK) == {"deposit": ["security"]}
    both = found("my deposit back from a deposit", short, BACK)
    assert both == {"deposit back": [*BACK.law], "deposit": ["security"]}


def test_entries_for_one_phrase_add_up_and_its_own_words_are_not_added():
    more = entry("deposit back", "tenancy deposit|deposit")
    question = "deposit back"
    expansions = LayWords([BACK, more], ["en"], LAW.__contains__).expansions(question)
    assert phrases_by_said(expansions) == {"deposit back": [*BACK.law, "tenancy deposit"]}
    assert added_terms(expansions) == ["return", "deposit", "secur", "tenanc"]
    assert [each.terms for each in expansions] == [{"deposit", "back"}]


def test_a_phrase_that_the_law_does_not_have_does_nothing():
    words = LayWords(
        [entry("bond", "rental bond|damp"), entry("x", "rent")], ["en"], LAW.__contains__
    )
    assert phrases_by_said(words.expansions("my bond, x")) == {"bond": ["damp"]}
    assert words.n_used == 1


def test_countries_count_where_the_law_names_its_own():
    german = entry("Schimmel", "Mangel", "de")
    assert found("Schimmel!", german, tags=["de"]) == {"Schimmel": ["Mangel"]}
    assert found("Schimmel!", german, tags=["de-DE", "de"]) == {"Schimmel": ["Mangel"]}
    assert found("Schimmel!", german, tags=["de-AT"]) == {}


def test_an_entry_is_read_by_the_rules_of_its_language():
    german, any_ = entry("fired", "damp", language="de"), entry("fired", "damp")
    assert found("They fire me", german, tags=["de", "en"]) == {}
    assert found("They fire me", any_, tags=["de", "en"]) == {"fired": ["damp"]}
    assert found("发霉了", entry("发霉", "damp"), tags=["zh", None]) == {"发霉": ["damp"]}


def test_what_is_found_does_not_depend_on_how_many_entries_there_are():
    rng = random.Random(0)
    pool = [*"abcdefgh", "deposit", "back", "the", "out"]
    entries = [
        entry(" ".join(rng.choices(pool, k=rng.randint(1, 3))), "eviction") for _ in range(200)
    ]
    entries = [each for each in entries if each.said != ["the"]]
    for _ in range(30):
        question = " ".join(rng.choices(pool, k=6))
        alone = {said for each in entries for said in found(question, each)}
        assert set(found(question, *entries)) <= alone


# The file


@pytest.fixture
def read(tmp_path):
    def reading(text, tags=("en",)):
        path = tmp_path / "words.tsv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_lay_words(path, tags)

    return reading


def test_a_file_is_read(read):
    first = "housing\tdeposit| bond \tsecurity deposit\tUK, us\ten-GB"
    assert read(f"\ufeff{first}\r\n\nwork\tfired\tdismissal\n") == [
        entry("deposit|bond", "security deposit", "gb,us", "en-GB"),
        entry("fired", "dismissal"),
    ]
    assert read("") == read("\n \n") == []


@pytest.mark.parametrize(
    ("text", "line", "field"),
    [
        ("x\tdeposit\n", 1, None),
        ("x\tfired\tdismissal\n\nx\ta\tb\tus\ten\tmore\n", 3, None),
        ("x\t | \tsecurity\n", 1, "what people say"),
        ("x\tdeposit\t\tus\n", 1, "what the law says"),
        ("x\tdeposit|the\tsecurity\n", 1, "what people say"),
        ("x\tdeposit\tof the\n", 1, "what the law says"),
        ("x\tdeposit\tsecurity\tGermany\n", 1, "countries"),
        ("x\tdeposit\tsecurity\t\tfr\n", 1, "language"),
        (b"x\tdeposit\tsecurity\n\xff\n", 2, None),
        ("x\tdeposit\tbond\nx\tbond\tsurety\nx\tSurety\tdeposit\n", 3, None),
        ("x\tdeposit\tdeposit\n", 1, None),
    ],
)
def test_a_wrong_entry_is_refused_with_its_line(read, text, line, field):
    with pytest.raises(CorpusError) as error:
        read(text)
    (problem,) = error.value.problems
    assert (problem.line, problem.field) == (line, field)
    assert "\n" not in str(problem)


def test_every_fault_is_named(read):
    with pytest.raises(CorpusError) as error:
        read("x\nx\tfired\tbond\nx\tthe\tbond\nx\tbond\tfired\n")
    assert [each.line for each in error.value.problems] == [1, 3, 4]


def test_entries_of_different_countries_are_not_a_cycle(read):
    assert len(read("x\tdeposit\tbond\tus\nx\tbond\tdeposit\tau\n")) == 2


def test_it_is_the_same_after_a_turn_on_disk():
    entries = [BACK, OUT, entry("Schimmel", "Mangel", "de,at", "de")]
    assert lay_words_from_bytes(lay_words_to_bytes(entries)) == entries
    for content in (b"", b"{}x", b"[1]", b'[[["a"],["b"],[]]]', b'[[[1],["b"],[],""]]', b"\xff"):
        with pytest.raises(ValueError):
            lay_words_from_bytes(content)


def test_a_phrase_may_repeat_a_word():
    selling = entry("door to door", "deposit")
    assert found("A man came from door to door selling me a vacuum", selling)
    assert not found("The door is stuck", entry("door to door", "deposit"))


@pytest.mark.parametrize(
    ("tag", "said", "law", "question"),
    [
        ("zh", "押金", "保证金", "房东不退押金怎么办"),
        ("ja", "敷金", "保証金", "敷金は返してもらえますか"),
    ],
)
def test_words_stand_in_sentences_without_spaces(tag, said, law, question):
    words = LayWords([entry(said, law)], [tag], lambda _: True)
    assert phrases_by_said(words.expansions(question)) == {said: [law]}


def test_a_listed_word_is_known_and_british_law_has_two_names():
    words = LayWords([entry("sublessee", "deposit", "gb")], ["en-UK"], LAW.__contains__)
    assert words.n_used == 1
    assert words.knows("sublessees") and not words.knows("sublessor")
