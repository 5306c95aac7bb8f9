"""Numbers, dates and addresses of each language; every text in every language."""

import re
from datetime import date
from pathlib import Path

import pytest
from babel.messages.catalog import Message
from babel.messages.pofile import read_po
from markupsafe import Markup

import ui.language
from pipelines.tree import english_texts
from ui.frame import VIEWS, document
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
    preferred_language,
)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("path", [*VIEWS.values(), "/article?id=fr%2F1"])
def test_an_address_tells_its_language(path, language):
    assert language_of(address(path, language).partition("?")[0]) == language


def test_a_page_leads_to_itself_in_every_language():
    page = document("law", "it", "Leggi", Markup(), "/law?of=Codice")
    switch = page.split('<nav class="languages"')[1].split("</nav>")[0]
    links = re.findall(r'<a href="([^"]+)" lang="(\w+)" hreflang="\2"[^>]*>([^<]+)', switch)
    assert links == [
        ("/law?of=Codice", "en", "English"),
        ("/de/law?of=Codice", "de", "Deutsch"),
        ("/es/law?of=Codice", "es", "Español"),
        ("/fr/law?of=Codice", "fr", "Français"),
        ("/it/law?of=Codice", "it", "Italiano"),
    ]
    assert switch.count("aria-current") == 1


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("fr-CH, fr;q=0.9, en;q=0.8", "fr"),
        ("en;q=0.8,DE", "de"),
        ("nl, en;q=0.5", "en"),
        ("en;q=0", None),
        ("zh;q=x, *, ;;, fr;q=x", None),
        ("", None),
    ],
)
def test_a_browser_names_its_language(header, language):
    assert preferred_language(header) == language


def test_other_addresses_are_english():
    for path in ("/", "/item", "/defs", "/italy/fr", "//fr", "*", "", "/article", "/DE"):
        assert language_of(path) == "en"


def test_a_number_agrees_with_its_noun():
    for count, english, french in (
        (0, "0 articles", "0 article"),
        (1, "1 article", "1 article"),
        (2, "2 articles", "2 articles"),
        (12345, "12,345 articles", "12\u202f345 articles"),
    ):
        assert counted(count, ("article", "articles"), "en") == english
        assert counted(count, ("article", "articles"), "fr") == french
    for language, none, one in (
        ("de", "0 Gesetze", "1 Gesetz"),
        ("es", "0 leyes", "1 ley"),
        ("it", "0 leggi", "1 legge"),
    ):
        laws = TEXTS[language].about.laws
        assert (counted(0, laws, language), counted(1, laws, language)) == (none, one)


def test_numbers_and_days_are_written_as_in_the_language():
    assert (number(1234.4, "en"), decimal(0.256, "en")) == ("1,234", "0.3")
    assert decimal(0.256, "fr") == "0,3"
    assert day(date(2020, 3, 14), "en") == day("2020-03-14", "en") == "14 March 2020"
    assert day("2020-03-14", "fr") == "14 mars 2020"
    assert day("2020-03-01", "fr") == "1er mars 2020"
    assert day("2020-03-11", "fr") == "11 mars 2020"
    for language, first, eighth in (
        ("de", "1. März 2020", "8. März 2020"),
        ("es", "1 de marzo de 2020", "8 de marzo de 2020"),
        ("it", "1º marzo 2020", "8 marzo 2020"),
    ):
        assert (number(12345, language), decimal(0.256, language)) == ("12.345", "0,3")
        assert (day("2020-03-01", language), day("2020-03-08", language)) == (first, eighth)
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


def test_each_language_has_its_own_quotation_marks():
    for language, marks in {"en": "“”", "de": "„“", "es": "«»", "fr": "«»", "it": "«»"}.items():
        for entry in catalogue(language):
            text = " ".join(forms(entry.id if language == "en" else entry.string))
            assert set(re.findall('["„“”«»]', text)) <= set(marks), entry.context
            assert text.count(marks[0]) == text.count(marks[1]), entry.context


def test_no_italian_article_stands_before_a_day():
    # "dal 1º marzo", but "dall’8 marzo": the texts do without.
    for entry in catalogue("it"):
        for text in forms(entry.string):
            assert not re.search(r"(?i)\b(i|a|da|de|ne|su)l {(day|start|end|on)}", text), text


def test_every_text_is_used():
    sources = [*LOCALE.parent.glob("*.py"), *LOCALE.parent.glob("templates/*.html")]
    used = set(re.findall(r"\w+", " ".join(each.read_text("utf-8") for each in sources)))
    by_code = {"answer", "fields", "languages", "movements", "picture", "pipelines", "stages"}
    for entry in catalogue("en"):
        section, key, *_ = str(entry.context).split(".")
        assert section in by_code or key in by_code or key in used, entry.context
