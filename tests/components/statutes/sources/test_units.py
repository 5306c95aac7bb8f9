"""Divisions told by their words, and the path rebuilt from them."""

import pytest
from statute_tables import TABLES

from components.statutes.sources.units import (
    DivisionPath,
    division,
    numbered_division,
    own_order,
    split_run,
)


@pytest.mark.parametrize(("language", "printed", "heading"), TABLES["divisions"])
def test_kind_number_and_title(language, printed, heading):
    found = division(printed, language)
    assert (found.heading, found.rank is not None) == (heading, True)


@pytest.mark.parametrize(
    ("language", "printed"),
    [("fr", "Dispositions diverses"), ("xx", "Chapter 1"), (None, "Chapter 1")],
)
def test_other_headings_are_of_unknown_kind(language, printed):
    found = division(printed, language)
    assert (found.heading, found.rank) == (printed, None)


@pytest.mark.parametrize(("language", "line"), TABLES["sentences that name no division"])
def test_sentences_name_no_division(language, line):
    assert numbered_division(line, language) is None


def test_a_run_of_divisions_is_cut():
    printed = "TITOLO I DELLE ACQUE CAPO I Le rive Sezione II I remi"
    parts = ["TITOLO I DELLE ACQUE", "CAPO I Le rive", "Sezione II I remi"]
    assert split_run(printed, "it") == parts
    assert split_run(printed, None) == [printed]


def path_of(language, *headings):
    path = DivisionPath()
    found = []
    for printed, level in headings:
        path.enter(division(printed, language, level))
        found.append(path.headings())
    return found, path


def test_words_decide_within_a_level():
    found, path = path_of(
        "fr",
        ("Titre I : A", 3),
        ("Chapitre I : B", 4),
        ("Section 1 : C", 4),
        ("Sous-section 1 : D", 4),
        ("Section 2 : E", 4),
        ("Chapitre II : F", 4),
        ("Titre II : G", 3),
    )
    assert [len(each) for each in found] == [1, 2, 3, 4, 3, 2, 1]
    assert found[4] == ("Titre I. A", "Chapitre I. B", "Section 2. E")
    assert (path.repaired, path.unknown) == (3, 0)


def test_levels_decide_between_levels():
    # In Switzerland a Titel has Kapitel, in Germany a Kapitel has Titel.
    found, _ = path_of("de", ("1. Titel: A", 2), ("1. Kapitel: B", 3), ("2. Titel: C", 2))
    assert [len(each) for each in found] == [1, 2, 1]


@pytest.mark.parametrize(("language", "headings", "depths"), TABLES["orders of divisions"])
def test_the_first_order_of_a_law_decides(language, headings, depths):
    divisions = [division(printed, language) for printed in headings]
    path = DivisionPath(own_order(divisions))
    found = []
    for each in divisions:
        path.enter(each)
        found.append(len(path.headings()))
    assert found == depths
