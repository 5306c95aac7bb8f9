"""Citations by language, a row of `citations_of_countries.jsonl` each; some rows cite nothing."""

from itertools import pairwise

import pytest
from effort import bounded_effort
from statute_tables import rows_of

from components.statutes.citations.finding import find_citations
from components.statutes.citations.patterns import read_tables

ROWS = rows_of("citations_of_countries.jsonl")
LANGUAGES = list(dict.fromkeys(row["language"] for row in ROWS))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_forms_of_a_country_are_read(language):
    rows = [row for row in ROWS if row["language"] == language]
    wrong = []
    for row in rows:
        read = [
            [f"{c.number}–{c.through}" if c.through else c.number, c.paragraph, c.law_hint]
            for c in find_citations(row["text"])
        ]
        if read != row["found"]:
            wrong.append((row["text"], read))
    assert wrong == []


def test_what_shared_words_begin_is_left_to_the_general_reader():
    (citation,) = find_citations("Article 12 of the Housing Code, § 5 stk, lid 2")[:1]
    assert citation.law_hint == "Housing Code"


@pytest.mark.parametrize(
    "piece",
    [
        *("art. 5 ust. 2 i ", "§ 12, ", "1, ", "1 kap. ", "ч. 1 ", "第1条、", "제1조 및 ", "1 en "),
        *("มาตรา 5 และ", "кодекса ", "ustawy o ", "lov om ", "sayılı Kanun ", "m. 5/2-b ", "a "),
    ],
)
def test_a_hostile_text_is_read_in_no_time(piece):
    words = " ".join(
        word for row in read_tables("countries").values() for word in row["words"].split("|")
    )
    with bounded_effort():
        find_citations(words + (piece * 10_000)[:10_000])


@pytest.mark.parametrize(
    "text",
    [
        "§ 12 Abs. 1 BGB, art. 5 ust. 2 k.c. i art. 6 k.p., ст. 15 ГК РФ и article 12 and 13",
        "lejelovens § 19 b og § 20, artikel 5 lid 2 BW en artikel 6 lid 3 AVG",
        "第五条から第八条まで、article 5 第9条",
    ],
)
def test_citations_of_both_readers_lie_in_order_and_apart(text):
    found = find_citations(text)
    assert len(found) >= 3
    assert all(text[c.start : c.end] == c.text for c in found)
    assert all(one.end <= other.start for one, other in pairwise(found))
