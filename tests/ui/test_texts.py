"""Numbers, dates and addresses of each language; every text in every language."""

import dataclasses
import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

import pytest

from ui import texts
from ui.frame import VIEWS, document, top
from ui.language import LANGUAGES, Language, address, counted, day, decimal, language_of, number


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("path", [*VIEWS.values(), "/article?id=fr%2F1"])
def test_an_address_tells_its_language(path, language):
    assert language_of(address(path, language).partition("?")[0]) == language


@pytest.mark.parametrize(
    ("count", "english", "french"),
    [
        (0, "0 articles", "0 article"),
        (1, "1 article", "1 article"),
        (2, "2 articles", "2 articles"),
        (12345, "12,345 articles", "12\u202f345 articles"),
    ],
)
def test_a_number_agrees_with_its_noun(count, english, french):
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


def views_texts() -> Iterator[tuple[str, Mapping[Language, Any]]]:
    for module in pkgutil.iter_modules(texts.__path__):
        names = vars(importlib.import_module(f"ui.texts.{module.name}"))
        yield from ((name, of) for name, of in names.items() if name.endswith(("TEXTS", "_NAMES")))


def leaves(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if dataclasses.is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from leaves(each, f"{name}.{key}")
    elif isinstance(value, tuple | list):
        for place, each in enumerate(value):
            yield from leaves(each, f"{name}.{place}")


@pytest.mark.parametrize(("view", "of"), list(views_texts()))
def test_texts_name_the_same_things_in_every_language(view, of):
    assert set(of) == set(LANGUAGES)
    named = [
        {
            name: set(re.findall(r"{(\w*)}", text))
            for name, text in leaves(of[language], view)
            # Only French translates what checks and generators say in English.
            if not {"whys", "named_whys", "failures"} & set(name.split("."))
        }
        for language in LANGUAGES
    ]
    assert named[0] == named[1]


@pytest.mark.parametrize(("view", "of"), list(views_texts()))
def test_french_has_its_spaces_before_double_punctuation(view, of):
    for name, text in leaves(of["fr"], view):
        assert not re.search(r" [:;!?»]|« ", text), f"{name}: {text}"


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
