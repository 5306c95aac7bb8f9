from urllib.parse import parse_qsl, urlsplit

import pytest

from ui.law.links import article_link, division_link, picture_link

STRANGE = ["a/b", "../../etc", "a&b=c", 'x"><b>', "é 第一条 🏛", "50% + 1", "a#b?c", " a\nb", "'"]


@pytest.mark.parametrize("value", STRANGE)
def test_any_value_comes_back_as_it_was(value: str):
    for link in (article_link(value, "en"), picture_link(value, "en")):
        parts = urlsplit(link)
        assert parse_qsl(parts.query) == [("id", value)]
        assert parts.path in ("/article", "/picture")
        assert not parts.netloc and not parts.fragment
        assert link.isascii() and not set(link) & set("\"'<> \n")
    parts = urlsplit(division_link(value, [value, "Book"], "en"))
    assert parse_qsl(parts.query) == [("of", value), ("in", value), ("in", "Book")]


def test_french_pages_link_to_french_pages():
    assert article_link("h1", "fr", on="2020-01-01") == "/fr/article?id=h1&on=2020-01-01"
    assert division_link("Code", ["Livre I"], "fr", 2) == "/fr/law?of=Code&in=Livre%20I&page=2"
    assert picture_link("h1", "fr") == "/fr/picture?id=h1"


def test_no_law_is_the_list_of_all_laws():
    assert division_link("", (), "en") == "/law"
    assert division_link("", (), "fr", 2) == "/fr/law?page=2"


def test_a_blank_heading_divides_nothing():
    assert division_link("Code", ["", " ", "Book"], "en") == "/law?of=Code&in=Book"


def test_half_a_character_is_no_obstacle():
    assert article_link("a\ud800", "en") == "/article?id=a%3F"
