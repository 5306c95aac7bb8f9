"""Numbers, dates and addresses of each language; every text in every language."""

import re
from datetime import date
from pathlib import Path

import pytest
from babel.messages.catalog import Message
from babel.messages.pofile import read_po

import ui.language
from pipelines.tree import english_texts
from ui.frame import VIEWS
from ui.language import (
    LANGUAGES,
    TEXTS,
    Language,
    address,
    counted,
    day,
    decimal,
    language_of,
    number,
)


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
    assert (number(1234.4, "en"), decimal(0.256, "en")) == ("1,234", "0.3")
    assert decimal(0.256, "fr") == "0,3"
    assert day(date(2020, 3, 14), "en") == day("2020-03-14", "en") == "14 March 2020"
    assert day("2020-03-14", "fr") == "14 mars 2020"
    assert day("2020-03-01", "fr") == "1er mars 2020"
    assert day("2020-03-11", "fr") == "11 mars 2020"
    assert day("long ago", "fr") == "long ago"
    assert day(None, "fr") == ""


LOCALE = Path(ui.language.__file__).with_name("locale")


def catalogue(language: Language) -> list[Message]:
    """Every entry of a language but the file's header."""
    with (LOCALE / f"{language}.po").open("rb") as file:
        return [each for each in read_po(file, locale=language) if each.context]


def forms(text: str | tuple[str, ...]) -> tuple[str, ...]:
    """A text, or the noun for one and for many."""
    return (text,) if isinstance(text, str) else tuple(text)


def test_every_text_is_translated_with_its_placeholders():
    english = [(each.context, each.id) for each in catalogue("en")]
    for language in LANGUAGES[1:]:
        translated = catalogue(language)
        # The English text stands in every catalogue, so that none outlives a change of it.
        assert [(each.context, each.id) for each in translated] == english
        for entry in translated:
            assert not entry.fuzzy, entry.context
            texts = forms(entry.string)
            assert len(texts) == len(forms(entry.id)) and all(texts), entry.context
            if entry.context != "answer.named_whys.*":  # patterns, whose groups are the names
                for text, original in zip(texts, forms(entry.id), strict=True):
                    assert placeholders(text) == placeholders(original), entry.context


def placeholders(text: str) -> set[str]:
    return set(re.findall(r"{(\w*)}", text))


def test_the_english_picture_is_that_of_the_command_line():
    english = {
        name: tuple(each) if isinstance(each, list) else each
        for name, each in english_texts().items()
    }
    assert vars(TEXTS["en"].picture) == english


def test_french_has_its_spaces_before_double_punctuation():
    for entry in catalogue("fr"):
        for text in forms(entry.string):
            assert not re.search(r" [:;!?»]|« ", text), f"{entry.context}: {text}"


def test_every_text_is_used():
    sources = [*LOCALE.parent.glob("*.py"), *LOCALE.parent.glob("templates/*.html")]
    used = set(re.findall(r"\w+", " ".join(each.read_text("utf-8") for each in sources)))
    by_code = {"answer", "languages", "movements", "picture", "pipelines", "stages"}
    for entry in catalogue("en"):
        section, key, *_ = str(entry.context).split(".")
        assert section in by_code or key in by_code or key in used, entry.context
