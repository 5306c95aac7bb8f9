"""Files that a reader takes away say what they hold, of which day, and that they are no advice."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest

from ui.collection import Collection
from ui.language import LANGUAGES, Language
from ui.naming import article_title, citation
from ui.takeaway import MEDIA_TYPES, Kind, export

COLLECTION = Collection(1, ("Housing Code",), snapshot="2026-03-01")
ON = date(2024, 2, 29)
TODAY = date(2026, 11, 21)


def article(**changes: Any) -> dict[str, Any]:
    return {
        "id": "h12",
        "law": "Housing Code",
        "number": "12",
        "headings": ["Title 2. Deposits"],
        "content": "A deposit is owed.\nIt is paid back.",
        "score": 1.0,
        "ranks": {"bm25": 1},
        "state": "in force",
        "valid_from": "2009-01-05",
        "source_url": "https://law.example/h12",
        "language": "en",
        **changes,
    }


def ris(text: str) -> list[tuple[str, str]]:
    return [(line[:2], line[6:]) for line in text.split("\r\n") if line]


@pytest.mark.parametrize("kind", MEDIA_TYPES)
@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", ["Information, not legal advice.", "1 March 2026"]),
        ("fr", ["Ceci est une information, non un conseil juridique.", "1er mars 2026"]),
    ],
)
def test_every_file_has_the_date_and_the_disclaimer(
    kind: Kind, language: Language, told: list[str]
):
    text = export(kind, [article()], language, COLLECTION, ON, TODAY)
    assert all(each in text for each in told)
    assert "2026-11-21" in text or "21 nov" in text.lower() or "2026/11/21" in text


def test_the_day_of_the_states_is_not_taken_for_that_of_the_retrieval():
    (item,) = json.loads(export("csl", [article()], "en", COLLECTION, ON, TODAY))
    assert "Retrieved with Lexarbor on 21 November 2026." in item["note"]
    assert "As of 29 February 2024: In force since 5 January 2009." in item["note"]
    fields = ris(export("ris", [article()], "fr", COLLECTION, ON, TODAY))
    assert ("Y2", "2026/11/21") in fields
    note = next(value for tag, value in fields if tag == "N1")
    assert "Consulté avec Lexarbor le 21 novembre 2026." in note
    said = "À la date du 29 février 2024 : En vigueur depuis le 5 janvier 2009."
    assert said in note


def test_json_has_all_that_is_known():
    given = json.loads(export("json", [article()], "en", COLLECTION, ON, TODAY, "My deposit?"))
    assert given["articles"] == [article()]
    assert (given["question"], given["date"]) == ("My deposit?", "2026-11-21")
    assert given["states_on"] == "2024-02-29"
    assert given["snapshot"] == "2026-03-01"


def test_csl_json_is_legislation_with_its_section():
    (item,) = json.loads(export("csl", [article()], "en", COLLECTION, ON, TODAY))
    assert item["type"] == "legislation"
    assert (item["title"], item["section"]) == ("Housing Code", "12")
    # When the law was made is not known.
    assert "issued" not in item
    assert item["accessed"] == {"date-parts": [[2026, 11, 21]]}
    assert item["URL"] == "https://law.example/h12"


def test_ris_is_one_statute_an_article_and_no_text_begins_a_field():
    articles = [article(content="One.\r\nER  - \r\nTY  - BOOK"), article()]
    text = export("ris", articles, "en", COLLECTION, ON, TODAY)
    fields = ris(text)
    assert [value for tag, value in fields if tag == "TY"] == ["STAT", "STAT"]
    assert [tag for tag, _ in fields].count("ER") == 2
    assert ("AB", "One. ER - TY - BOOK") in fields
    assert not {"DA", "PY", "Y1"} & {tag for tag, _ in fields}


@pytest.mark.parametrize("kind", MEDIA_TYPES)
@pytest.mark.parametrize(
    "changes",
    [
        {"source_url": "javascript:alert(1)"},
        {"valid_from": "since long"},
        {"valid_from": None, "language": None, "source_url": None, "state": "unknown"},
        {"headings": [], "law": "", "number": ""},
    ],
)
def test_what_is_missing_or_no_date_or_address_is_left_out(kind: Kind, changes: dict[str, Any]):
    text = export(kind, [article(**changes)], "en", COLLECTION, ON, TODAY)
    if kind != "json":
        assert "javascript" not in text
    if kind == "csl":
        (item,) = json.loads(text)
        assert all(item.values())


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_found_is_an_empty_file(language: Language):
    assert export("ris", [], language, COLLECTION, ON, TODAY) == ""
    assert json.loads(export("csl", [], language, COLLECTION, ON, TODAY)) == []


@pytest.mark.parametrize(
    ("number", "title", "cited"),
    [
        ("12", "Article 12", "Code, article 12"),
        ("L1221-1", "Article L1221-1", "Code, article L1221-1"),
        ("Section 5", "Section 5", "Code, Section 5"),
        ("第一条", "第一条", "Code, 第一条"),
    ],
)
def test_an_article_is_cited_by_its_law_and_number(number: str, title: str, cited: str):
    assert article_title(number) == title
    assert citation({"law": "Code", "number": number}) == cited
    assert citation({"law": "", "number": number}) == cited.removeprefix("Code, ")
