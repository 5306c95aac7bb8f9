"""Frame: draws what surrounds every view.

`ui.server.Shell` adds it to the views that Gradio draws; `document` makes the others whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from typing import Literal

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from components.retrievers.resident import ReadableStore
from components.statutes.identity import names_of_laws
from components.stores.sqlite import StatuteDocumentStore
from ui.language import (
    FRAME_TEXTS,
    GUARD_TEXTS,
    LANGUAGES,
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
    """

    articles: int
    laws: tuple[str, ...]
    snapshot: str | None = None
    indexed: str | None = None
    names: Mapping[str, Sequence[str]] = field(default_factory=dict, hash=False)

    @classmethod
    def of(cls, store: ReadableStore) -> Collection:
        """Describe the content of a store.

        Raises:
            StoreError: it cannot be read.
        """
        found = [law for _, law, _ in store.entries()]
        # A blank name names no law.
        laws = tuple(law for law in dict.fromkeys(found) if law.strip())
        return cls(len(found), laws, *recorded_days(store), names_of_laws(store.laws()))

    @property
    def lists_laws(self) -> bool:
        """Whether the laws are few enough to be chosen from a list."""
        return len(self.laws) <= MOST_LISTED_LAWS

    @property
    def invented(self) -> bool:
        """Whether any of the laws is invented."""
        return any(INVENTED in law for law in self.laws)

    @property
    def is_aldermere(self) -> bool:
        """Whether this is the demo law, which the example questions are about."""
        return bool(self.laws) and all(
            law.endswith(f"of Aldermere {INVENTED}") for law in self.laws
        )


def recorded_days(store: ReadableStore) -> tuple[str | None, str | None]:
    """ISO days of the law's text and of its indexing; None if unknown.

    Raises:
        StoreError: they cannot be read.
    """
    if isinstance(store, StatuteDocumentStore):
        return store.publisher.recorded_days()
    return None, None


def notice(collection: Collection, language: Language) -> Markup:
    """HTML of what the reader must know before relying on a result."""
    about = _about_the_law(collection, language)
    return render("notice.html", language, texts=FRAME_TEXTS[language], about=about)


def plain_notice(collection: Collection, language: Language) -> str:
    """The notice as text, for exported files."""
    return " ".join([FRAME_TEXTS[language].not_advice, *_about_the_law(collection, language)])


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
    texts = FRAME_TEXTS[language]
    template = texts.beyond if collection.snapshot else texts.beyond_indexed
    return template.format(day=day(known, language), on=day(on, language))


def _about_the_law(collection: Collection, language: Language) -> list[str]:
    texts = FRAME_TEXTS[language]
    sentences = []
    if collection.is_aldermere:
        sentences.append(texts.aldermere)
    elif collection.invented:
        sentences.append(texts.some_invented)
    if collection.snapshot:
        sentences.append(texts.snapshot.format(day=day(collection.snapshot, language)))
    elif collection.indexed:
        sentences.append(texts.indexed.format(day=day(collection.indexed, language)))
    return sentences


try:
    _VERSION = version("lexarbor")
except PackageNotFoundError:  # run from its sources
    _VERSION = ""

View = Literal["ask", "law", "compare"]

# Each view and its address in English.
VIEWS: dict[View, str] = {"ask": "/", "law": "/law", "compare": "/compare"}

_SHEETS = ("frame", "masthead", "documents", "page", "results", "answer", "law", "compare", "print")
STYLES = tuple(f"{name}.css" for name in _SHEETS)
# In this order: the second uses what the first declares.
SCRIPTS = ("page.js", "asked.js")

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
    """Let templates call functions, which get the page's language as `language`."""
    for function in functions:
        TEMPLATES.globals[function.__name__] = _with_language(function)


def _with_language(function: Callable[..., object]) -> Callable[..., object]:
    @pass_context
    def call(context: Context, *values: object, **more: object) -> object:
        return function(*values, language=context["language"], **more)

    return call


TEMPLATES.globals["filled"] = filled
in_templates(address, article_link, counted, day, decimal, division_link, number, picture_link)
in_templates(stage_texts)


def shortened(value: str, most: int = 80) -> str:
    """The beginning of what was asked, where it is long."""
    return value if len(value) <= most else f"{value[:most]}…"


def render(template: str, language: Language | None = None, **values: object) -> Markup:
    """Fill in a template; every value is escaped, except the result of another `render`.

    The result is one line, because Gradio's Markdown changes HTML of several. Line breaks and
    indentation of the template itself add no space.
    """
    page = TEMPLATES.get_template(template).render(language=language, **values)
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
    return render(
        "document.html",
        language,
        head=head(language, title),
        top=top(view, language, here),
        main=main,
        footer=footer(language),
    )


def footer(language: Language) -> Markup:
    """The foot of every page: about the site, and its version."""
    return render("footer.html", language, texts=FRAME_TEXTS[language], version=_VERSION)


def head(language: Language, title: str = "") -> Markup:
    """What a document's head holds: its title, our styles and our scripts.

    Args:
        language: of the interface.
        title: what comes before the name of the site.
    """
    return render(
        "head.html",
        language,
        title=full_title(title),
        description=FRAME_TEXTS[language].description,
        styles=STYLES,
        scripts=SCRIPTS,
    )


def full_title(title: str = "") -> str:
    """The title of a browser's tab.

    Args:
        title: of the page; empty for the name of the site alone.
    """
    return f"{title} · Lexarbor" if title else "Lexarbor"


def top(view: View | None, language: Language, here: str, gradio_path: str = "") -> Markup:
    """The head of the page: its name, the other views, the other languages.

    Args:
        view: the one that is shown; None for none of them.
        language: of the interface.
        here: the page's address in English, with its query.
        gradio_path: the document's own path if Gradio draws it, which needs JavaScript, and whose
            base address makes a bare `#main` another page.
    """
    texts = FRAME_TEXTS[language]
    return render(
        "top.html",
        language,
        texts=texts,
        gradio_path=gradio_path,
        # The texts of the queue's refusals, which the script recognizes.
        refusals=json.dumps([GUARD_TEXTS[language].busy, GUARD_TEXTS[language].no_question]),
        # What readers come for, and what shows how it works.
        views=[("", ("ask", "law")), (texts.developers, ("compare",))],
        addresses=VIEWS,
        view=view,
        languages=[(each, FRAME_TEXTS[each].language, address(here, each)) for each in LANGUAGES],
        # On the view Ask the site's name is the heading.
        name_tag="h1" if view == "ask" else "p",
    )
