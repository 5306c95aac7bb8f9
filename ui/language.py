"""The languages of the interface: addresses, numbers, dates and plurals in each."""

from __future__ import annotations

from datetime import date
from typing import Literal, get_args

from babel.dates import format_date
from babel.numbers import format_decimal

Language = Literal["en", "fr"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

# English dates begin with the day, as they do in most of its countries.
_LOCALES: dict[Language, str] = {"en": "en_GB", "fr": "fr"}


def language_of(path: str) -> Language:
    """The language of an address on this server: `/fr` and below is French."""
    return "fr" if path == "/fr" or path.startswith("/fr/") else "en"


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
    one = count == 1 or (language == "fr" and count == 0)
    return f"{number(count, language)} {forms[0 if one else 1]}"


def number(value: float, language: Language) -> str:
    """A number with the separators of the language, rounded to a whole one."""
    return str(format_decimal(round(value), locale=_LOCALES[language]))


def decimal(value: float, language: Language, digits: int) -> str:
    """A number with so many digits behind the point."""
    pattern = f"#,##0.{'0' * digits}"
    return str(format_decimal(value, format=pattern, locale=_LOCALES[language]))


def day(value: object, language: Language) -> str:
    """A date, or an ISO date, in words; anything else as it is."""
    try:
        on = value if isinstance(value, date) else date.fromisoformat(str(value))
    except ValueError:
        return str(value or "")
    written = str(format_date(on, "long", locale=_LOCALES[language]))
    # The first of a month is an ordinal in French, which the locale's data leaves out.
    return f"1er {written[2:]}" if language == "fr" and on.day == 1 else written
