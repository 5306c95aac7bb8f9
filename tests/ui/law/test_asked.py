from datetime import date

import pytest
from starlette.requests import Request

from ui.law.asked import MOST_CHARACTERS, Asked, WrongRequestError


def asked(query: str, path: str = "/article") -> Asked:
    scope = {"type": "http", "path": path, "query_string": query.encode(), "headers": []}
    scope["server"] = ("localhost", 80)
    return Asked.of(Request(scope), once=("id", "on", "as", "page"), often=("in",))


def test_what_is_asked_is_read():
    given = asked("id=a%2Fb+c&in=x&in=%C3%A9&on=2020-02-29&as=ris&page=3", "/fr/article")
    assert given.language == "fr"
    assert (given.one("id"), given.required("id")) == ("a/b c", "a/b c")
    assert given.values["in"] == ["x", "é"]
    assert (given.day("on"), given.kind("as"), given.page("page")) == (date(2020, 2, 29), "ris", 3)


def test_what_networks_append_to_a_link_asks_for_nothing():
    given = asked("id=a&fbclid=IwAR0&utm_source=mail&utm_medium=&fbclid=2&gclid=x")
    assert given.values == {"id": ["a"]}


def test_what_is_not_asked_is_nothing():
    given = asked("")
    assert (given.language, given.one("id"), given.day("on"), given.kind("as")) == (
        "en",
        None,
        None,
        None,
    )
    assert given.page("page") == 1


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("id=a&id=b", "“id” more than once"),
        ("id=a&id=a", "“id” more than once"),
        ("id=", "“id” without a value"),
        ("id=%20%0A", "“id” without a value"),
        ("in=a&in=", "“in” without a value"),
        ("id", "“id” without a value"),
        ("colour=red", "“colour”, which this page does not know. It knows id, on, as, page, in"),
        ("ID=a", "“ID”"),
        ("id=" + "a" * MOST_CHARACTERS, "16,384 characters"),
        ("&".join(["in=a"] * 101), "16,384 characters"),
        ("x" * 200 + "=1", "x" * 80 + "…"),
    ],
)
def test_an_address_that_is_not_right_is_refused(query: str, told: str):
    with pytest.raises(WrongRequestError) as refused:
        asked(query)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    "day",
    [
        "2020-02-30",
        "2020-13-01",
        "0000-01-01",
        "20200101",
        "2020-W01-1",
        "today",
        "2020-1-1",
        "2020-01-01T00:00",
        "-2020-01-01",
        "٢٠٢٠-٠١-٠١",
        "2020-01-01 ",
        "nan",
    ],
)
def test_a_day_is_checked(day: str):
    with pytest.raises(WrongRequestError, match="is no day"):
        asked(f"on={day}").day("on")


@pytest.mark.parametrize("page", ["0", "-1", "1.5", "1e3", "９", "9999999", "01", "x", "None"])
def test_a_page_is_checked(page: str):
    with pytest.raises(WrongRequestError, match="is no page"):
        asked(f"page={page}").page("page")


@pytest.mark.parametrize("kind", ["JSON", "html", "json,ris", "[]", "../json"])
def test_a_kind_of_file_is_checked(kind: str):
    with pytest.raises(WrongRequestError, match="json, ris, csl, not as"):
        asked(f"as={kind}").kind("as")


def test_what_must_be_given_is_asked_for_in_the_language_of_the_page():
    with pytest.raises(WrongRequestError, match="Elle doit indiquer «\u00a0id\u00a0»"):
        asked("", "/fr/article").required("id")


def test_bytes_that_are_no_text_do_no_harm():
    assert asked("id=%FF%FE").one("id") == "\ufffd\ufffd"
