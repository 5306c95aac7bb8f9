"""Frame: draws what surrounds every view.

`ui.server.Shell` adds it to the views that Gradio draws; `document` makes the others whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from inspect import signature
from typing import Literal

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from ui.language import (
    TEXTS,
    Language,
    address,
    article_link,
    counted,
    day,
    decimal,
    division_link,
    number,
    picture_link,
    stage_texts,
)

# Invented laws have this in their name; the page says so next to the results.
INVENTED = "(invented)"

# More boxes to tick than these help nobody.
MOST_LISTED_LAWS = 200


@dataclass(frozen=True, slots=True)
class Collection:
    """The content of a store, as the page describes it.

    Attributes:
        articles: Number of articles.
        laws: Names of the laws, by first appearance.
        snapshot: ISO day of the law's text, if recorded.
        indexed: ISO day on which it was last indexed, if recorded.
        names: Further names of the laws.
        checks: What was read of each source, if recorded.
    """

    articles: int
    laws: tuple[str, ...]
    snapshot: str | None = None
    indexed: str | None = None
    names: Mapping[str, Sequence[str]] = field(default_factory=dict, hash=False)
    checks: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def lists_laws(self) -> bool:
        """Whether the laws are few enough to be chosen from a list."""
        return len(self.laws) <= MOST_LISTED_LAWS

    @property
    def is_aldermere(self) -> bool:
        """Whether this is the demo law, which the example questions are about."""
        return bool(self.laws) and all(
            law.endswith(f"of Aldermere {INVENTED}") for law in self.laws
        )


def notice(collection: Collection, language: Language) -> Markup:
    """HTML of what the reader must know before relying on a result."""
    about = _about_the_law(collection, language)
    return render("notice.html", language, about=about)


def plain_notice(collection: Collection, language: Language) -> str:
    """The notice as text, for exported files."""
    return " ".join([TEXTS[language].frame.not_advice, *_about_the_law(collection, language)])


def beyond(collection: Collection, on: date | None, language: Language) -> str:
    """A warning that the law may have changed between the text's day and a chosen day.

    Args:
        collection: what is searched.
        on: the day; None for today, which the notice covers.
        language: of the interface.

    Returns:
        A sentence; empty if the text is of that day or a later one, or its day is unknown.
    """
    known = collection.snapshot or collection.indexed
    if on is None or known is None or on.isoformat() <= known:
        return ""
    texts = TEXTS[language].frame
    template = texts.beyond if collection.snapshot else texts.beyond_indexed
    return template.format(day=day(known, language), on=day(on, language))


def _about_the_law(collection: Collection, language: Language) -> list[str]:
    texts = TEXTS[language].frame
    sentences = []
    if collection.is_aldermere:
        sentences.append(texts.aldermere)
    elif any(INVENTED in law for law in collection.laws):
        sentences.append(texts.some_invented)
    if collection.snapshot:
        sentences.append(texts.snapshot.format(day=day(collection.snapshot, language)))
    elif collection.indexed:
        sentences.append(texts.indexed.format(day=day(collection.indexed, language)))
    return sentences


View = Literal["ask", "law", "compare"]

# Each view and its address in English.
VIEWS: dict[View, str] = {"ask": "/", "law": "/law", "compare": "/compare"}

_SHEETS = (
    *("frame", "masthead", "documents", "page", "results", "answer", "guide", "law", "compare"),
    "print",
)
# In this order: the second uses what the first declares.
_SCRIPTS = ("page", "asked")


def _joined(suffix: str, names: Sequence[str]) -> bytes:
    return b"".join(files("ui").joinpath(f"{name}.{suffix}").read_bytes() for name in names)


# Files by name, each with its media type. A browser that waits for twelve is slower than for two.
SENT = {
    "lexarbor.css": (_joined("css", _SHEETS), "text/css"),
    "lexarbor.js": (_joined("js", _SCRIPTS), "text/javascript"),
    "favicon.svg": (_joined("svg", ("favicon",)), "image/svg+xml"),
}


def sent_file(name: str) -> str:
    """The address of a file, which changes with its content."""
    return f"/{name}?v={sha256(SENT[name][0]).hexdigest()[:12]}"


# Line breaks in a value become spaces; see `render`.
_BREAKS = re.compile("[\t\n\v\f\r\x1c-\x1f\x85\u2028\u2029]+")


def _without_breaks(value: object) -> object:
    return _BREAKS.sub(" ", value) if type(value) is str else value


TEMPLATES = Environment(
    loader=PackageLoader("ui"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    finalize=_without_breaks,
)


def filled(text: str, **values: object) -> Markup:
    """A text with values in place of its braces, all of them escaped."""
    return escape(text).format(**{name: _without_breaks(each) for name, each in values.items()})


def in_templates(*functions: Callable[..., object]) -> None:
    """Let templates call functions; a `language` is that of the page."""
    for function in functions:
        takes = "language" in signature(function).parameters
        TEMPLATES.globals[function.__name__] = _with_language(function) if takes else function


def _with_language(function: Callable[..., object]) -> Callable[..., object]:
    @pass_context
    def call(context: Context, *values: object, **more: object) -> object:
        return function(*values, language=context["language"], **more)

    return call


in_templates(address, article_link, counted, day, decimal, division_link, number, picture_link)
in_templates(filled, sent_file, stage_texts)


def shortened(value: str, most: int = 80) -> str:
    """The beginning of what was asked, where it is long."""
    return value if len(value) <= most else f"{value[:most]}…"


def render(template: str, language: Language | None = None, **values: object) -> Markup:
    """Fill in a template; every value is escaped, except the result of another `render`.

    The result is one line, because Gradio's Markdown changes HTML of several. Line breaks and
    indentation of the template itself add no space.
    """
    texts = TEXTS[language] if language else None
    page = TEMPLATES.get_template(template).render(language=language, texts=texts, **values)
    return Markup("".join(line.strip() for line in page.split("\n")))  # noqa: S704 - escaped above


def document(view: View | None, language: Language, title: str, main: Markup, here: str) -> Markup:
    """A whole HTML document, for a view that Gradio does not draw.

    Args:
        view: where it belongs; None for nowhere.
        language: of the interface.
        title: of the document.
        main: the content, with an `<h1>`.
        here: the page's address in English, with its query, for the links to other languages.
    """
    return render("document.html", language, main=main, **frame(view, language, title, here))


def refusal(
    view: View | None, language: Language, title: str, reason: str, here: str = "/"
) -> Markup:
    """A whole HTML document about what could not be shown: why, and where to go from there.

    Args:
        view: where it belongs; None for nowhere.
        language: of the interface.
        title: what happened.
        reason: why, in a sentence or two.
        here: the page's address in English, with its query.
    """
    main = render("refusal.html", language, title=title, reason=reason)
    return document(view, language, title, main, here)


def full_title(title: str = "") -> str:
    """The title of a browser's tab.

    Args:
        title: of the page; empty for the name of the site alone.
    """
    return f"{title} · Lexarbor" if title else "Lexarbor"


def frame(
    view: View | None,
    language: Language,
    title: str,
    here: str,
    gradio_path: str = "",
    offered: Language | None = None,
) -> dict[str, Markup]:
    """What surrounds a view: "head", what a document's head holds, "top" and "footer".

    Args:
        view: the one that is shown; None for none of them.
        language: of the interface.
        title: what comes before the name of the site.
        here: the page's address in English, with its query.
        gradio_path: the document's own path if Gradio draws it, which needs JavaScript, and whose
            base address makes a bare `#main` another page.
        offered: another language, which the browser asks for.
    """
    guard = TEXTS[language].guard
    values = {
        "view": view,
        "title": full_title(title),
        "gradio_path": gradio_path,
        "addresses": VIEWS,
        # The texts of the queue's refusals, which the script recognizes.
        "refusals": json.dumps([guard.busy, guard.no_question]),
        "offered": offered and (offered, TEXTS[offered].frame.offer, address(here, offered)),
        "languages": [(each, TEXTS[each].frame.language, address(here, each)) for each in TEXTS],
        "version": version("lexarbor"),
    }
    return {part: render(f"{part}.html", language, **values) for part in ("head", "top", "footer")}
