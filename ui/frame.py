"""Frame: what stands around every view, drawn here for all of them.

Views that Gradio draws get it by `ui.shell`; the others are whole documents made by `document`.
"""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from datetime import date
from typing import Literal

from jinja2 import Environment, PackageLoader, StrictUndefined

from components.retrievers.resident import ReadableStore
from components.stores.sqlite import StatuteDocumentStore
from ui.language import LANGUAGES, Language, address, day
from ui.texts import guard
from ui.texts.frame import FRAME_TEXTS

# What the page searches: how many articles, of which laws, and whether they are invented.


# Laws that bind nobody say so in their name; the page says it beside the results.
_INVENTED = "(invented)"

# More boxes to tick than these help nobody.
MOST_LISTED_LAWS = 200


@dataclass(frozen=True, slots=True)
class Collection:
    """The content of a store, as the page tells of it.

    Attributes:
        articles: Number of articles.
        laws: Names of the laws, by first appearance.
        snapshot: ISO day of which the law's text is, where it is on record.
        indexed: ISO day on which it was last indexed, where it is on record.
    """

    articles: int
    laws: tuple[str, ...]
    snapshot: str | None = None
    indexed: str | None = None

    @classmethod
    def of(cls, store: ReadableStore) -> Collection:
        """What a store holds.

        Raises:
            StoreError: it cannot be read.
        """
        laws: dict[str, None] = {}
        count = 0
        for _, law, _ in store.entries():
            # A blank name names no law.
            if law.strip():
                laws[law] = None
            count += 1
        return cls(count, tuple(laws), *recorded_days(store))

    @property
    def lists_laws(self) -> bool:
        """Whether the laws are few enough to be chosen from a list."""
        return len(self.laws) <= MOST_LISTED_LAWS

    @property
    def invented(self) -> bool:
        """Whether any of the laws is invented."""
        return any(_INVENTED in law for law in self.laws)

    @property
    def is_aldermere(self) -> bool:
        """Whether this is the demo law, which the example questions are about."""
        return bool(self.laws) and all(
            law.endswith(f"of Aldermere {_INVENTED}") for law in self.laws
        )


def recorded_days(store: ReadableStore) -> tuple[str | None, str | None]:
    """ISO days: of which the law's text is, and on which it was indexed; None where unknown.

    Raises:
        StoreError: they cannot be read.
    """
    return (
        store.publisher.recorded_days() if isinstance(store, StatuteDocumentStore) else (None,) * 2
    )


# Notice: what the reader must know before relying on a result, the same beside all of them.


def notice(collection: Collection, language: Language) -> str:
    """The notice as HTML on one line."""
    return (
        '<p class="notice" role="note">'
        f"<strong>{html.escape(FRAME_TEXTS[language].not_advice)}</strong>"
        f"{''.join(f' {html.escape(each)}' for each in _known(collection, language))}</p>"
    )


def plain_notice(collection: Collection, language: Language) -> str:
    """The notice as text, for what is taken away."""
    return " ".join([FRAME_TEXTS[language].not_advice, *_known(collection, language)])


def beyond(collection: Collection, on: date | None, language: Language) -> str:
    """What a day that is asked about leaves open: the text may have changed by then.

    Args:
        collection: what is searched.
        on: the day; None for today, of which the notice tells.
        language: of the interface.

    Returns:
        A sentence; empty where the text is of that day or a later one, or its day is not known.
    """
    known = collection.snapshot or collection.indexed
    if on is None or known is None or on.isoformat() <= known:
        return ""
    texts = FRAME_TEXTS[language]
    told = texts.beyond if collection.snapshot else texts.beyond_indexed
    return told.format(day=day(known, language), on=day(on, language))


def _known(collection: Collection, language: Language) -> list[str]:
    texts = FRAME_TEXTS[language]
    told = []
    if collection.is_aldermere:
        told.append(texts.aldermere)
    elif collection.invented:
        told.append(texts.some_invented)
    if collection.snapshot:
        told.append(texts.snapshot.format(day=day(collection.snapshot, language)))
    elif collection.indexed:
        told.append(texts.indexed.format(day=day(collection.indexed, language)))
    return told


View = Literal["ask", "law", "compare", "training"]

# Each view and its address in English.
VIEWS: dict[View, str] = {
    "ask": "/",
    "law": "/law",
    "compare": "/compare",
    "training": "/training",
}

STYLES = (
    "frame.css",
    "masthead.css",
    "documents.css",
    "page.css",
    "results.css",
    "answer.css",
    "law.css",
    "compare.css",
    "training.css",
    "print.css",
)
# In this order: the second uses what the first declares.
SCRIPTS = ("page.js", "asked.js")

# Every value is escaped; a template marks what is HTML already with `|safe`.
TEMPLATES = Environment(
    loader=PackageLoader("ui"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def document(view: View | None, language: Language, title: str, main: str, here: str) -> str:
    """A whole HTML document, for a view that Gradio does not draw.

    Args:
        view: where it belongs; None for nowhere.
        language: of the interface.
        title: of the document, not escaped yet.
        main: HTML of the content, with an `<h1>`.
        here: the page's address in English, with its query, for the links to other languages.
    """
    return (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"{head(language, title)}</head>"
        f'<body class="plain">{top(view, language, here)}<main id="main">{main}</main>'
        "</body></html>"
    )


def head(language: Language, title: str = "") -> str:
    """What a document's head holds: its title, our styles and our scripts.

    Args:
        language: of the interface.
        title: what comes before the name of the site; not escaped yet.
    """
    styles = "".join(f'<link rel="stylesheet" href="/{style}">' for style in STYLES)
    scripts = "".join(f'<script src="/{script}" defer></script>' for script in SCRIPTS)
    return (
        f"<title>{html.escape(full_title(title))}</title>"
        f'<meta name="description" content="{html.escape(FRAME_TEXTS[language].description)}">'
        '<link rel="icon" href="/favicon.svg" type="image/svg+xml">'
        f"{styles}{scripts}"
    )


def full_title(title: str = "") -> str:
    """What a browser's tab is called.

    Args:
        title: of the page; empty for the name of the site alone.
    """
    return f"{title} · Lexarbor" if title else "Lexarbor"


def top(view: View | None, language: Language, here: str, content: str = "#main") -> str:
    """The head of the page: its name, the other views, the other languages.

    Args:
        view: the one that is seen; None for none of them.
        language: of the interface.
        here: the page's address in English, with its query.
        content: where the skip link leads.
    """
    texts = FRAME_TEXTS[language]
    views = "".join(
        f'<li><a href="{address(path, language)}"{_current(each == view)}>'
        f"{html.escape(getattr(texts, each))}</a></li>"
        for each, path in VIEWS.items()
    )
    languages = "".join(
        f'<li><a href="{html.escape(address(here, each))}" lang="{each}" hreflang="{each}"'
        f"{_current(each == language)}>{html.escape(FRAME_TEXTS[each].language)}</a></li>"
        for each in LANGUAGES
    )
    name = "h1" if view == "ask" else "p"
    # What the queue of a view answers in words of ours.
    refusals = [guard.TEXTS[language].busy, guard.TEXTS[language].no_question]
    return (
        f'<a class="skip" href="{html.escape(content)}">{html.escape(texts.skip)}</a>'
        f'<header class="masthead" data-language="{language}"'
        f' data-learning="{address("/learning", language)}"'
        f' data-copy-citation="{html.escape(texts.copy_citation)}"'
        f' data-copied="{html.escape(texts.copied)}"'
        f' data-copy-by-hand="{html.escape(texts.copy_by_hand)}"'
        f' data-unanswered="{html.escape(texts.unanswered)}"'
        f' data-refusals="{html.escape(json.dumps(refusals))}">'
        f'<div class="named"><{name} class="name"><a href="{address("/", language)}">Lexarbor</a>'
        f"</{name}><p>{html.escape(texts.tagline)}</p></div>"
        f'<nav class="views" aria-label="{html.escape(texts.views)}"><ul>{views}</ul></nav>'
        f'<nav class="languages" aria-label="{html.escape(texts.languages)}">'
        f"<ul>{languages}</ul></nav></header>"
    )


def _current(is_current: bool) -> str:
    return ' aria-current="true"' if is_current else ""
