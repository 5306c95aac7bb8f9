"""Frame: what stands around every view, drawn here for all of them.

Views that Gradio draws get it by `ui.shell`; the others are whole documents made by `document`.
"""

from __future__ import annotations

import html
import json
from typing import Literal

from jinja2 import Environment, PackageLoader, StrictUndefined

from ui.language import LANGUAGES, Language, address
from ui.texts import guard
from ui.texts.frame import TEXTS

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
        f'<meta name="description" content="{html.escape(TEXTS[language].description)}">'
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
    texts = TEXTS[language]
    views = "".join(
        f'<li><a href="{address(path, language)}"{_current(each == view)}>'
        f"{html.escape(getattr(texts, each))}</a></li>"
        for each, path in VIEWS.items()
    )
    languages = "".join(
        f'<li><a href="{html.escape(address(here, each))}" lang="{each}" hreflang="{each}"'
        f"{_current(each == language)}>{html.escape(TEXTS[each].language)}</a></li>"
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
