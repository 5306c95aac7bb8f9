"""Numbers, dates and addresses of each language; every text in every language."""

import json
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import ui.texts
from ui.frame import VIEWS, document, top
from ui.language import LANGUAGES, Language, address, counted, day, decimal, language_of, number


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("path", [*VIEWS.values(), "/article?id=fr%2F1"])
def test_an_address_tells_its_language(path, language):
    assert language_of(address(path, language).partition("?")[0]) == language


def test_a_number_agrees_with_its_noun():
    for count, english, french in (
        (0, "0 articles", "0 article"),
        (1, "1 article", "1 article"),
        (2, "2 articles", "2 articles"),
        (12345, "12,345 articles", "12\u202f345 articles"),
    ):
        assert counted(count, ("article", "articles"), "en") == english
        assert counted(count, ("article", "articles"), "fr") == french


def test_numbers_and_days_are_written_as_in_the_language():
    assert (number(1234.4, "en"), decimal(0.256, "en", 2)) == ("1,234", "0.26")
    assert decimal(0.256, "fr", 2) == "0,26"
    assert day(date(2020, 3, 14), "en") == day("2020-03-14", "en") == "14 March 2020"
    assert day("2020-03-14", "fr") == "14 mars 2020"
    assert day("2020-03-01", "fr") == "1er mars 2020"
    assert day("2020-03-11", "fr") == "11 mars 2020"
    assert day("long ago", "fr") == "long ago"
    assert day(None, "fr") == ""


LOCALE = Path(ui.texts.__file__).with_name("locale")
# Words that are English in code, and that only French translates.
FRENCH_ONLY = {"picture", "whys", "named_whys", "failures"}


def leaves(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """The texts of a catalogue and their names."""
    if isinstance(value, str):
        yield name, value
    else:
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in entries:
            yield from leaves(each, f"{name}.{key}")


def texts_of(language: Language) -> dict[str, str]:
    """Every text of a language by its file, section and key."""
    catalogues = {
        file.stem: json.loads(file.read_text("utf-8"))
        for file in sorted((LOCALE / language).glob("*.json"))
    }
    return dict(leaves(catalogues, language))


def test_texts_have_the_same_names_and_placeholders_in_every_language():
    named = [
        {
            name.partition(".")[2]: set(re.findall(r"{(\w*)}", text))
            for name, text in texts_of(language).items()
            if not FRENCH_ONLY & set(name.split("."))
        }
        for language in LANGUAGES
    ]
    assert named[0] == named[1]


def test_french_has_its_spaces_before_double_punctuation():
    for name, text in texts_of("fr").items():
        assert not re.search(r" [:;!?»]|« ", text), f"{name}: {text}"


def test_every_text_is_used():
    sources = [*LOCALE.parent.glob("*.py"), *LOCALE.parent.glob("templates/*.html")]
    used = set(re.findall(r"\w+", " ".join(each.read_text("utf-8") for each in sources)))
    by_code = {"answer", "languages", "movements", "picture", "pipelines"}
    by_code |= {"settings_names", "view_names"}
    for name in texts_of("fr"):
        _, _, section, key, *_ = name.split(".")
        assert section in by_code or key in by_code or key in used, name


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_frame_leads_to_every_view_and_language(language):
    page = top("law", language, "/law?of=A&in=B")
    links = re.findall(r'<a href="([^"]*)"', page)
    assert set(links) >= {address(path, language) for path in VIEWS.values()}
    assert set(links) >= {"/law?of=A&amp;in=B", "/fr/law?of=A&amp;in=B"}
    assert page.count('aria-current="true"') == 2


def test_a_document_escapes_its_title_and_its_address():
    page = document("law", "en", "<script>", "<h1>x</h1>", '/law?of="><script>')
    assert "<script>" not in page
    assert '<html lang="en">' in page
