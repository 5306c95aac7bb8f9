"""python -m pipelines.diff: the wordings of an article in, what changed out."""

import json

import pytest
from indexed import indexed

ROAD = {"law": "Road Act", "headings": [], "language": "en"}
FIRST = "(1) Drive on the left.\n(2) The fine is 100 crowns."
SECOND = "(1) Drive on the right.\n(2) The fine is 150 crowns.\n(3) No fine for cyclists."


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    articles = [
        {"id": "5a", "number": "5", "text": FIRST, "valid_to": "2015-12-31"},
        {
            "id": "5b",
            "number": "5",
            "text": SECOND,
            "valid_from": "2016-01-01",
            "valid_to": "2019-12-31",
        },
        {"id": "5c", "number": "5", "text": SECOND + "\n(4) End.", "valid_from": "2020-01-01"},
        {"id": "6", "number": "6", "text": "Stop.", "valid_from": "2010-01-01"},
        {"id": "7", "number": "7", "text": "Go.\n(As amended.)", "valid_from": "2010-01-01"},
        {"id": "8", "number": "8", "text": "Halt.", "valid_from": "2012-01-01"},
        {"id": "9", "number": "9", "text": "[Repealed; replaced by section 6]"},
        {"id": "10", "number": "10", "text": "[1973 c.5 Section 8; 1995 c.9 Section 2; repealed]"},
        {"id": "s6", "number": "6", "text": "Other.", "law": "Sea Act"},
    ]
    folder = tmp_path_factory.mktemp("road")
    return indexed(folder, [{**ROAD, **each} for each in articles])


def test_the_two_newest_wordings_are_compared(command, store):
    code, out, _ = command("diff", "art. 5 Road Act", "--store", store)
    assert code == 0
    assert out.splitlines() == [
        "Road Act, Article 5",
        "- from 2016-01-01 until 2019-12-31 [5b]",
        "+ from 2020-01-01 [5c]",
        "",
        *SECOND.splitlines(),
        "{+(4) End.+}",
    ]


def test_the_wordings_of_two_days_are_compared(command, store):
    days = ("--from", "2012-01-01", "--to", "2018-01-01")
    code, out, _ = command("diff", "art. 5 Road Act", "--store", store, *days)
    assert code == 0
    assert "(1) Drive on the [-left-] {+right+}." in out
    assert "(2) The fine is [-100-] {+150+} crowns." in out
    code, out, _ = command("diff", "5c", "--store", store, *days, "--json")
    found = json.loads(out)
    assert found["before"] == {"id": "5a", "valid_to": "2015-12-31"}
    assert found["after"]["id"] == "5b"
    kinds = [[each["kind"] for each in row] for row in found["rows"]]
    assert kinds == [["same", "deleted", "inserted", "same"]] * 2 + [["inserted"]]


@pytest.mark.parametrize(
    ("article", "words"),
    [
        ("art. 7 Road Act", "was amended; its earlier text is not held."),
        ("art. 8 Road Act", "in force since 2012-01-01, later than other articles"),
        ("art. 6 Road Act", "only one wording in the store. An earlier one is kept where"),
        ("art. 6", "Several articles fit: Road Act, Article 6 [6]; Sea Act, Article 6 [s6]."),
        ("art. 99 Road Act", "holds no article 'art. 99 Road Act'"),
        ("art. 10 Road Act", "no longer law"),
        ("art. 9 Road Act", "In its place: Road Act, Article 6 [6]."),
    ],
)
def test_why_nothing_is_compared_is_one_line(command, store, article, words):
    code, out, err = command("diff", article, "--store", store)
    assert (code, err) == (1, "")
    assert words in out.splitlines()[-1]


def test_no_text_is_an_error(command, store):
    code, out, err = command("diff", "", "--store", store)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
