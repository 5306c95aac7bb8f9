"""The languages of the interface: addresses, numbers, dates, plurals and texts in each.

The texts come from `ui/locale/LANGUAGE.po`.
An entry's context is its place: "ask.search" is `ASK_TEXTS[language].search`. `en.po` has the texts
themselves, every other catalogue their translations. Contexts that end in a number are items of a
tuple, such as the title and the explanation of a message; plural entries are a noun for one and
for many. Those of the context "answer.whys.*" translate words that other packages give in English.
Names in braces are for `str.format`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import cache
from importlib.resources import files
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple, get_args
from urllib.parse import quote, urlencode

from babel import Locale
from babel.dates import format_date
from babel.messages.pofile import read_po
from babel.numbers import format_decimal

Language = Literal["en", "fr"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

# English dates begin with the day, as they do in most of its countries.
_LOCALES: dict[Language, str] = {"en": "en_GB", "fr": "fr"}


def language_of(path: str) -> Language:
    """The language of an address on this server: `/fr` and below is French."""
    return "fr" if path == "/fr" or path.startswith("/fr/") else "en"


def language_name(tag: str, language: Language) -> str:
    """The name of the language `tag`, such as "German" or "allemand"; the tag where it has none."""
    return Locale(language).languages.get(tag, tag)


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
    """A number with `digits` digits after the point."""
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


# Addresses of the views of the law, in each language.


ARTICLE = "/article"
LAW = "/law"
PICTURE = "/picture"


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
    return address(with_query(ARTICLE, [*ids, *that_day, *more.items()]), language)


def division_link(
    law: str,
    headings: Sequence[str],
    language: Language,
    page: int = 1,
    on: date | None = None,
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
    # A blank heading divides nothing.
    steps = [(name, value) for name, value in ways if value.strip()]
    if page != 1:
        steps.append(("page", str(page)))
    if on is not None:
        steps.append(("on", str(on)))
    return address(with_query(LAW, steps), language)


def picture_link(id: str, language: Language) -> str:
    """The address of the picture of an article's place in the law."""
    return address(with_query(PICTURE, [("id", id)]), language)


def with_query(path: str, steps: Sequence[tuple[str, str]]) -> str:
    """A path with parameters, percent-encoded: none of them can leave the query."""
    query = urlencode(steps, quote_via=quote, safe="", errors="replace")
    return f"{path}?{query}" if query else path


# Texts.


@cache
def _catalogue(language: Language) -> dict[str, dict[str, Any]]:
    """Sections by name; each of their texts is a string, a tuple, or a dictionary of such."""
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
    return {section: _with_tuples(texts) for section, texts in tree.items()}


def _with_tuples(texts: dict[str, Any]) -> dict[str, Any]:
    return {name: _tuple(each) if isinstance(each, dict) else each for name, each in texts.items()}


def _tuple(texts: dict[str, Any]) -> Any:
    numbered = texts and all(name.isdecimal() for name in texts)
    return tuple(texts.values()) if numbered else _with_tuples(texts)


def _texts(section: str) -> dict[Language, SimpleNamespace]:
    return {each: SimpleNamespace(**_catalogue(each)[section]) for each in LANGUAGES}


ABOUT_TEXTS = _texts("about")
# `whys`, `named_whys` and `failures` translate words that the checks and the generator give in
# English; the keys of `named_whys` are patterns of them, whose groups `why` and `state` are
# themselves such a reason and the state of a check.
ANSWER_TEXTS = _texts("answer")
ARTICLE_TEXTS = _texts("article")
ASK_TEXTS = _texts("ask")
COMPARE_TEXTS = _texts("compare")
FRAME_TEXTS = _texts("frame")
GUARD_TEXTS = _texts("guard")
LAW_TEXTS = _texts("law")
PICTURE_TEXTS = {each: _catalogue(each)["picture"] for each in LANGUAGES}
REFUSAL_TEXTS = _texts("refusal")
STATE_TEXTS = _texts("states")
TAKEAWAY_TEXTS = _texts("takeaway")


class StageTexts(NamedTuple):
    """A stage: its name, why it found an article in few words, and in a sentence."""

    name: str
    meaning: str
    sentence: str


# In the order in which results name them.
STAGE_TEXTS = {
    each: {stage: StageTexts(**texts) for stage, texts in _catalogue(each)["stages"].items()}
    for each in LANGUAGES
}


def stage_texts(stage: str, language: Language) -> StageTexts:
    """Texts of a stage; one that is not Lexarbor's has only its name."""
    return STAGE_TEXTS[language].get(stage, StageTexts(stage, "", ""))
