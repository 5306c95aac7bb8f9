"""The languages of the interface: addresses, numbers, dates, plurals and texts in each.

The texts come from `ui/locale/LANGUAGE.po`.
An entry's context is its place: "ask.search" is `TEXTS[language].ask.search`. `en.po` has the texts
themselves, every other catalogue their translations. Contexts that end in a number are items of a
tuple, such as the title and the explanation of a message; plural entries are a noun for one and
for many. Those of the context "answer.whys.*" translate words that other packages give in English.
Names in braces are for `str.format`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from importlib.resources import files
from types import SimpleNamespace
from typing import Any, Literal, get_args
from urllib.parse import quote, urlencode

from babel import Locale
from babel.dates import format_date
from babel.messages.pofile import read_po
from babel.numbers import format_decimal

Language = Literal["en", "de", "es", "fr", "it"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

# English dates begin with the day, as they do in most of its countries.
_LOCALES = {each: Locale.parse("en_GB" if each == "en" else each) for each in LANGUAGES}

# The first of a month is an ordinal in these, which the locales' data leave out.
_FIRST_OF_MONTH: dict[Language, str] = {"fr": "1er", "it": "1º"}


def language_of(path: str) -> Language:
    """The language of an address on this server: `/fr` and below is French."""
    first = f"{path}/".split("/")[1]
    return next((each for each in LANGUAGES if each == first), "en")


def preferred_language(header: str) -> Language | None:
    """The first of the interface's languages that a browser asks for; None if it names none.

    Args:
        header: Accept-Language.
    """
    weighted: list[tuple[float, Language]] = []
    for each in header.split(","):
        tag, _, weight = each.partition(";")
        primary = tag.strip().partition("-")[0].lower()
        with suppress(ValueError):
            wish = float(weight.strip().removeprefix("q=") or 1)
            weighted += [(wish, known) for known in LANGUAGES if known == primary and wish > 0]
    return max(weighted, key=lambda each: each[0])[1] if weighted else None


def address(path: str, language: Language) -> str:
    """The address of a page in a language.

    Args:
        path: of the page in English, from the slash on, with its query.
        language: of the page.
    """
    if language == "en":
        return path
    return f"/{language}" if path == "/" else f"/{language}{path}"


def counted(count: int, forms: tuple[str, str], language: Language) -> str:
    """A number with its noun.

    Args:
        count: how many.
        forms: the noun for one, and for many.
        language: of the noun; in French, none is singular too.
    """
    one = _LOCALES[language].plural_form(count) == "one"
    return f"{number(count, language)} {forms[0 if one else 1]}"


def number(value: float, language: Language) -> str:
    """A number with the separators of the language, rounded to a whole one."""
    return str(format_decimal(round(value), locale=_LOCALES[language]))


def decimal(value: float, language: Language) -> str:
    """A number with one digit after the point."""
    return str(format_decimal(value, format="#,##0.0", locale=_LOCALES[language]))


def day(value: object, language: Language) -> str:
    """A date, or an ISO date, in words; anything else as it is."""
    try:
        on = value if isinstance(value, date) else date.fromisoformat(str(value))
    except ValueError:
        return str(value or "")
    written = str(format_date(on, "long", locale=_LOCALES[language]))
    first = _FIRST_OF_MONTH.get(language)
    return f"{first} {written[2:]}" if first and on.day == 1 else written


# Addresses of the views of the law, in each language.


def article_link(
    id: str | Sequence[str], language: Language, on: date | None = None, **more: str
) -> str:
    """The address of an article's view.

    Args:
        id: of the article; of several, which only a file can hold.
        language: of the interface.
        on: the day of the state; None for today.
        more: further parameters: `as`, an export.
    """
    that_day = [("on", str(on))] if on else []
    ids = [("id", each) for each in ([id] if isinstance(id, str) else id)]
    return _link("/article", [*ids, *that_day, *more.items()], language)


def division_link(
    law: str, headings: Sequence[str], language: Language, page: int = 1, on: date | None = None
) -> str:
    """The address of the view of a law, or of one of its divisions.

    Args:
        law: its name; "" for the list of all laws.
        headings: from the top of the law down to the division; none for the law itself.
        language: of the interface.
        page: of the list of its articles, from 1.
        on: the day of the states; None for today.
    """
    ways = [("of", law), *(("in", heading) for heading in headings)]
    more = [("page", "" if page == 1 else str(page)), ("on", str(on or ""))]
    # A blank heading divides nothing.
    return _link("/law", [each for each in [*ways, *more] if each[1].strip()], language)


def picture_link(id: str, language: Language) -> str:
    """The address of the picture of an article's place in the law."""
    return _link("/picture", [("id", id)], language)


def _link(path: str, steps: Sequence[tuple[str, str]], language: Language) -> str:
    """An address with parameters, percent-encoded: none of them can leave the query."""
    query = urlencode(steps, quote_via=quote, safe="", errors="replace")
    return address(f"{path}?{query}" if query else path, language)


# Texts.


def _catalogue(language: Language) -> SimpleNamespace:
    """Sections; each of their texts is a string, a tuple, or a dictionary of such."""
    tree: dict[str, Any] = {}
    with files("ui").joinpath("locale", f"{language}.po").open("rb") as file:
        for message in read_po(file, locale=language):
            if message.context is None:  # the file's header
                continue
            *path, name = message.context.split(".")
            below = tree
            for step in path:
                below = below.setdefault(step, {})
            key = str(message.id) if name == "*" else name
            below[key] = message.id if language == "en" else message.string
    return SimpleNamespace(
        **{section: SimpleNamespace(**_nested(texts)) for section, texts in tree.items()}
    )


def _nested(texts: Any) -> Any:
    """Texts with a tuple in place of those that are only numbered."""
    if not isinstance(texts, dict):
        return texts
    values = {name: _nested(each) for name, each in texts.items()}
    return tuple(values.values()) if all(map(str.isdecimal, values)) else values


# `answer` has `whys`, `named_whys` and `failures`, which translate words that the checks and the
# generator give in English; the keys of `named_whys` are patterns of them, whose groups `why` and
# `state` are themselves such a reason and the state of a check.
TEXTS = {language: _catalogue(language) for language in LANGUAGES}


def stage_texts(stage: str, language: Language) -> dict[str, str]:
    """A stage's `name`, why it found an article, `meaning`, in few words, and in a `sentence`.

    One that is not Lexarbor's has only its name.
    """
    known: dict[str, dict[str, str]] = vars(TEXTS[language].stages)
    return known.get(stage, {"name": stage, "meaning": "", "sentence": ""})
