"""Divisions told by their words, and the path rebuilt from them."""

import pytest

from components.statutes.sources.units import (
    DivisionPath,
    division,
    numbered_division,
    own_order,
    split_run,
)


@pytest.mark.parametrize(
    ("language", "printed", "heading"),
    [
        ("fr", "Chapitre II : Les barques", "Chapitre II. Les barques"),
        ("es", "TITULO II. Las aguas", "TITULO II. Las aguas"),
        ("sw", "Sehemu ya Kwanza", "Sehemu ya Kwanza"),
        ("fr", "Livre Ier - Les eaux", "Livre Ier. Les eaux"),
        ("fr", "Titre premier : Les rives", "Titre premier. Les rives"),
        ("fr", "Sous-section 2 : Les rames", "Sous-section 2. Les rames"),
        ("de", "Erster Teil Boote", "Erster Teil. Boote"),
        ("de", "Unterabschnitt 2 Ruder", "Unterabschnitt 2. Ruder"),
        ("de-CH", "1. Titel: Ufer", "1. Titel. Ufer"),
        ("en", "Part 2 Boats", "Part 2. Boats"),
        ("es", "TÍTULO PRELIMINAR. De las aguas", "TÍTULO PRELIMINAR. De las aguas"),
        ("es", "Sección 1.ª De los remos", "Sección 1.ª. De los remos"),
        ("it", "CAPO II Le barche", "CAPO II. Le barche"),
        ("pt", "Capítulo I - Dos barcos", "Capítulo I. Dos barcos"),
        ("et", "1. peatükk PAADID", "1. peatükk. PAADID"),
        ("fi", "2 luku Veneet", "2 luku. Veneet"),
        ("nb", "Kapittel 1. Båter", "Kapittel 1. Båter"),
        ("ja", "第二章 船舶", "第二章 船舶"),
        ("ko", "제1장 배", "제1장 배"),
        ("zh-Hans", "第一编 总则", "第一编 总则"),
    ],
)
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


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("fr", "Le chapitre II ne concerne pas les barques."),
        ("fr", "Une barque est un bateau."),
        ("de", "Der Abschnitt 3 gilt nicht."),
        ("en", "Participants row."),
    ],
)
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


def test_unknown_kinds_are_counted_where_articles_stand_in_them():
    found, path = path_of("es", ("Disposiciones varias", 2), ("TÍTULO I. A", 2))
    assert found == [("Disposiciones varias",), ("TÍTULO I. A",)]
    assert path.unknown == 1


@pytest.mark.parametrize(
    ("language", "headings", "depths"),
    [
        # Chapters hold parts that start again.
        ("en", ["Chapter 1", "Part 1", "Part 2", "Chapter 2", "Part 1"], [1, 2, 2, 1, 2]),
        # They hold parts that are numbered on, too.
        ("en", ["Chapter 1", "Part 1", "Chapter 2", "Part 2"], [1, 2, 1, 2]),
        ("en", ["Part 1", "Chapter 1", "Part 2", "Chapter 1"], [1, 2, 1, 2]),
        # Titles start again in each book, after one that stands alone.
        (
            "es",
            ["Título preliminar", "Libro I", "Título I", "Libro II", "Título I"],
            [1, 1, 2, 1, 2],
        ),
        ("es", ["Título I", "Libro I", "Título I"], [1, 1, 2]),
    ],
)
def test_the_first_order_of_a_law_decides(language, headings, depths):
    divisions = [division(printed, language) for printed in headings]
    path = DivisionPath(own_order(divisions))
    found = []
    for each in divisions:
        path.enter(each)
        found.append(len(path.headings()))
    assert found == depths
