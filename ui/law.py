"""The law: what the page has read of it, and its views `/law`, `/article` and `/picture`.

These views and `/about` need no JavaScript.
"""

from __future__ import annotations

import atexit
import logging
import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any

import numpy as np
from haystack import Document
from markupsafe import Markup
from pydantic import BaseModel, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from components.converters.articles import article_of
from components.retrievers.citation import with_replacement
from components.retrievers.definitions import glossaries_of
from components.retrievers.resident import ReadableStore, validity_of
from components.statutes.article import Article
from components.statutes.citations.resolver import CitationResolver
from components.statutes.definitions import Glossary
from components.statutes.excerpts import references_within
from components.statutes.graph import cross_references
from components.statutes.identity import names_of_laws
from components.statutes.provisions import Span, anchor_of
from components.statutes.tree import ROOT
from components.statutes.wordings import changed_rows, is_changed
from components.stores.database import StoreError
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import found_article
from pipelines.diff import why_alone
from pipelines.tree import (
    SHOWN,
    Citations,
    LawStructure,
    Neighbourhood,
    Wording,
    beginning,
    draw_picture,
    neighbourhood_in,
    window,
)
from ui.article import (
    MEDIA_TYPES,
    NO_GLOSSARIES,
    Glossaries,
    Kind,
    Note,
    article_title,
    citation,
    export,
    file_suffix,
    result_title,
    shown_lines,
)
from ui.frame import Collection, beyond, document, in_templates, notice, refusal, render, shortened
from ui.language import LANGUAGES, TEXTS, Language, address, article_link, counted, day, number

logger = logging.getLogger(__name__)


def begin(work: Callable[[threading.Event], object], name: str) -> threading.Event:
    """Begin work in a background thread that ends with the process.

    Args:
        work: is called with the event that tells it to stop.
        name: of the thread.

    Returns:
        That event.
    """
    stop = threading.Event()
    thread = threading.Thread(target=work, args=(stop,), name=name, daemon=True)
    thread.start()
    # A thread that still runs in a library when Python ends may abort the process.
    atexit.register(_end, stop, thread)
    return stop


def _end(stop: threading.Event, thread: threading.Thread) -> None:
    stop.set()
    thread.join(5.0)


_BLOCK = 500  # documents that are in memory at a time
PAGE = 100  # entries of a page


class Law:
    """The articles of a store in their places, without their texts.

    Documents without a law are not in it.

    Attributes:
        store: Where they are.
        articles: In the store's order, with `text` empty.
        structure: Their tree.
        position_of: Position of each article, by its id.
        names: Further names of the laws.
        citations: Who cites whom; None until the texts are read.
        glossaries: The words that each law defines; empty until then.
        unread: Whether the citations could not be read, and will stay None.
    """

    def __init__(self, store: ReadableStore) -> None:
        """Reads the place of every article.

        Args:
            store: What is read, now and whenever texts are asked for.

        Raises:
            StoreError: It cannot be read.
        """
        self.store = store
        self.articles: list[Article] = []
        keys = [int(key) for key in store.keys_matching(None)]
        shared: dict[Any, Any] = {}  # the articles of a division share its names in memory
        for start in range(0, len(keys), _BLOCK):
            for article in map(article_of, store.fetch(keys[start : start + _BLOCK])):
                if article.law.strip():
                    law = shared.setdefault(article.law, article.law)
                    headings = shared.setdefault(article.headings, article.headings)
                    self.articles.append(replace(article, law=law, headings=headings, text=""))
        self.structure = LawStructure(self.articles)
        self.position_of = {article.id: place for place, article in enumerate(self.articles)}
        self.names = names_of_laws(self.articles)
        tree = self.structure.tree
        self._inner_by_label = {
            (int(tree.parent[node]), tree.label[node]): node
            for node in range(1, tree.n_nodes - tree.n_articles)
        }
        self.citations: Citations | None = None
        self.glossaries = NO_GLOSSARIES
        self.unread = False
        self._resolver: CitationResolver | None = None

    def position_at(self, node: int) -> int | None:
        """Position of the article at a node of the tree; None for a law or a division."""
        tree = self.structure.tree
        inner = tree.n_nodes - tree.n_articles
        return node - inner if node >= inner else None

    def way_to(self, node: int) -> tuple[str, list[str]]:
        """The law of a node and the headings down to it; ("", []) for the root.

        Of an article, the headings above it and its number.
        """
        tree = self.structure.tree
        labels = [tree.label[each] for each in tree.ancestors[node] if each > ROOT]
        return (labels[0], labels[1:]) if labels else ("", [])

    def node_of(self, law: str, headings: Sequence[str]) -> int | None:
        """The node of a law or a division, given from the top down; None where there is none."""
        node: int | None = ROOT
        for label in (law, *headings):
            node = None if node is None else self._inner_by_label.get((node, label))
        return node

    def language_of(self, node: int) -> str | None:
        """The language of the first article in a law or division; None for the root."""
        if node == ROOT:
            return None
        while (position := self.position_at(node)) is None:
            node = self.structure.tree.children(node)[0]
        return self.articles[position].language

    def neighbourhood(self, position: int, citations: int) -> Neighbourhood:
        """An article in its place, with the texts of what is shown around it.

        Args:
            position: Of the article.
            citations: How many articles that it cites, and that cite it, are shown.

        Raises:
            StoreError: The store cannot be read.
        """
        # Citations may be read in the meantime: both uses must see the same.
        known, tree = self.citations, self.structure.tree
        siblings = self.structure.siblings(position)
        first, last = window(len(siblings), siblings.index(position))
        near = [*siblings[first:last], tree.previous(position), tree.next(position)]
        shown = {position, *(each for each in near if each is not None)}
        if known:
            shown.update(known.cited_in(position)[:citations])
            shown.update(known.citing(position)[:citations])
        texts = self.with_texts(sorted(shown))
        return neighbourhood_in(
            self.structure, known, position, lambda each: texts.get(each, self.articles[each])
        )

    def with_texts(self, positions: Sequence[int]) -> dict[int, Article]:
        """Articles with their texts, by position; one that is gone since has none.

        Raises:
            StoreError: The store cannot be read.
        """
        articles = {position: self.articles[position] for position in positions}
        keys = self.store.keys_of([article.id for article in articles.values()])
        texts = {found.id: found.content or "" for found in self.store.fetch(keys)}
        return {
            position: replace(article, text=texts.get(article.id, ""))
            for position, article in articles.items()
        }

    def read_citations(self, stop: threading.Event) -> None:
        """Read the citations in every text; the law is shown without them if they cannot be read.

        Args:
            stop: Ends the reading early when it is set.
        """

        def texts() -> Iterator[Article]:
            for start in range(0, len(self.articles), _BLOCK):
                block = range(start, min(start + _BLOCK, len(self.articles)))
                for article in self.with_texts(block).values():
                    if stop.is_set():
                        raise CancelledError
                    yield article
                    # Let other threads run: this can wait.
                    time.sleep(0)

        try:
            entries = ((a.id, a.law, a.number) for a in self.articles)
            self._resolver = CitationResolver(entries, self.names)
            self.citations = Citations(cross_references(self.articles, texts()))
            # Laws are read here before a question waits for them.
            by_law: dict[str, Glossary] = {}
            for law in self.structure.tree.laws:
                if stop.is_set():
                    return
                by_law |= glossaries_of(self.store, [law])
            self.glossaries = Glossaries(by_law)
        except CancelledError:
            return
        except Exception:
            self.unread = True
            logger.exception("The citations between articles could not be read.")

    def with_replacement(self, document: Document) -> Document:
        """A document just read; a repealed one names the article in its place, once known."""
        if self._resolver is not None:
            with_replacement(self.store, [document], self._resolver)
        return document

    def references(self, article: Article, language: Language, on: date | None) -> list[Note]:
        """The references in an article's text, as links to what they name.

        Args:
            article: With its text.
            language: Of the interface.
            on: The day of the page; None for today.
        """
        text, tag, resolver = article.text, article.language, self._resolver
        notes: list[Note] = []
        for each in resolver.resolve(text, within=article.id, language=tag) if resolver else ():
            anchor = anchor_of(each.citation.paragraph or "")
            # "Rule 1" as the heading of rule 1 leads nowhere else.
            if each.ids and (anchor or each.ids[0] != article.id):
                link = article_link(each.ids[0], language, on) + (f"#{anchor}" if anchor else "")
                notes.append(Note(Span(each.citation.start, each.citation.end), "link", link))
        own = references_within(text, tag)
        return [*notes, *(Note(span, "link", f"#{anchor}") for span, anchor in own)]


class Places:
    """The articles of the page's store, with their places.

    Everything is read once for each version of the content: first the tree, then the citations, in
    the background. It is safe to use from many threads.

    Args:
        store: what the page shows.
    """

    def __init__(self, store: ReadableStore) -> None:
        self.store = store
        self._lock = threading.Lock()
        self._known: tuple[int | None, Law] | None = None
        self._stop = threading.Event()

    def glossaries(self) -> Glossaries:
        """The words that the laws define, as far as they are read."""
        with suppress(StoreError):
            return self.law().glossaries
        return NO_GLOSSARIES

    def collection(self) -> Collection:
        """Describes what is searched now, for notices, fields and exports.

        Raises:
            StoreError: the store cannot be read.
        """
        law, store = self.law(), self.store
        # The day of the law can be recorded without any other change.
        days: tuple[str | None, str | None] = None, None
        checks: dict[str, str] = {}
        if isinstance(store, StatuteDocumentStore):
            days, checks = store.publisher.recorded_days(), store.publisher.recorded_checks()
        laws = tuple(law.structure.tree.laws)
        return Collection(len(law.articles), laws, *days, law.names, checks)

    def law(self) -> Law:
        """The current law of the store.

        Raises:
            StoreError: the store cannot be read.
        """
        with self._lock:
            # Taken before the content is read: content newer than its version is read once more.
            version = self.store.content_version()
            if self._known is None or self._known[0] != version:
                self._stop.set()
                self._known = version, Law(self.store)
                self._stop = begin(self._known[1].read_citations, "citations")
            return self._known[1]


class Parameters(BaseModel):
    """The parameters of a request; unknown ones are ignored, because some programs append theirs.

    Attributes:
        ids: Of articles.
        of: A law.
        headings: From the top of the law down to a division.
        on: The day of the states; None for today.
        page: From 1.
        compare: Id of the wording that an article is compared with; "" for the one before.
        kind: Of the file to save articles as; None for a page.
    """

    ids: list[str] = Field([], alias="id")
    of: str = ""
    headings: list[str] = Field([], alias="in")
    on: date | None = None
    page: int = Field(1, ge=1, le=999_999)
    compare: str = ""
    kind: Kind | None = Field(None, alias="as")

    @classmethod
    def read(cls, request: Request, language: Language) -> Parameters:
        """Read a request.

        Raises:
            HTTPException: A parameter is invalid.
        """
        sent = request.query_params
        lists: dict[str, Any] = {name: sent.getlist(name) for name in ("id", "in")}
        try:
            return cls.model_validate({**sent, **lists})
        except ValidationError as error:
            wrong = error.errors()[0]
            reason = TEXTS[language].refusal.wrong_value
            values = {"name": wrong["loc"][0], "value": shortened(str(wrong["input"]))}
            raise HTTPException(400, reason.format(**values)) from None


# A law of no more articles than these shows its whole contents.
_MOST_CONTENTS = 1_000
# Citations listed, with those in the fold.
LISTED = 100
_LONGEST_NAME = 80

in_templates(beginning)


# A page's template and its values, or a file.
Shown = Response | tuple[str, dict[str, Any]]
View = Callable[[Places, Request, Language], Shown]


def _law_view(places: Places, request: Request, language: Language) -> Shown:
    """All laws, or a law or division: its content, in the law's order, page by page."""
    asked, texts = Parameters.read(request, language), TEXTS[language].refusal
    law = places.law()
    tree = law.structure.tree
    node = law.node_of(asked.of, asked.headings) if asked.of or asked.headings else ROOT
    if node is None:
        reason = texts.no_division if asked.headings else texts.no_such_law
        names = {"law": shortened(asked.of), "heading": shortened(" ".join(asked.headings))}
        raise HTTPException(404, reason.format(**names))
    children = tree.children(node)
    is_whole = node != ROOT and law.structure.articles_below[node] <= _MOST_CONTENTS
    pages = 1 if is_whole else max(1, math.ceil(len(children) / PAGE))
    if asked.page > pages:
        count, page = counted(pages, texts.pages, language), number(asked.page, language)
        raise HTTPException(404, texts.no_page.format(pages=count, page=page))
    first = (asked.page - 1) * PAGE
    entries = children if is_whole else children[first : first + PAGE]
    shown = [position for each in entries if (position := law.position_at(each)) is not None]
    if is_whole:
        below = tree.ancestors[tree.article_node, tree.depth[node]] == node
        shown = np.flatnonzero(below).tolist()
    beside = tree.children(int(tree.parent[node])) if node != ROOT else []
    values = {
        "on": asked.on,
        "title": tree.label[node] or TEXTS[language].frame.law,
        "law": law,
        "node": node,
        "n_inner": sum(law.position_at(each) is None for each in children),
        "beside": [each for each in beside if law.position_at(each) is None],
        "is_whole": is_whole,
        "entries": entries,
        "first": first,
        "page": asked.page,
        "pages": pages,
        "articles": law.with_texts(shown),
    }
    return "division.html", values


def _article_view(places: Places, request: Request, language: Language) -> Shown:
    """An article with what to take away, in its place; or some articles as a file."""
    asked, today = Parameters.read(request, language), date.today()
    law, on = places.law(), asked.on
    documents = [_document(places, each, language) for each in asked.ids or [""]]
    files = [_found_on(on or today, each) for each in documents]
    site = f"{request.url.scheme}://{request.url.netloc}"
    if asked.kind:
        collection = places.collection()
        content = export(asked.kind, files, language, collection, on or today, today, site=site)
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", documents[0].id)[:_LONGEST_NAME].strip("-")
        disposition = f'attachment; filename="{name or "article"}{file_suffix(asked.kind)}"'
        headers = {"Cache-Control": "no-cache", "Content-Disposition": disposition}
        return Response(content, 200, headers, MEDIA_TYPES[asked.kind])
    article, found = article_of(documents[0]), files[0]
    position = law.position_of.get(article.id)
    place: dict[str, Any] = {"place": None}
    notes: list[Note] = []
    if position is not None:
        # Checked first: citations read in between would be missing from the place.
        missing = _citations_missing(law, language)
        around = law.neighbourhood(position, LISTED)
        place = {**_place(law, around), "missing": missing}
        place["picture"] = _picture(around, missing, language, is_document=False)
        defined = law.glossaries.notes(article)
        notes = [*law.references(article, language, on), *defined]
    versions = [*found["wordings"], found] if found.get("wordings") else []
    # Oldest first.
    versions.sort(key=lambda each: each.get("valid_from") or "")
    values = {
        "on": on,
        "title": citation(found, language),
        "heading": article_title(article.number, language),
        "article": article,
        "subject": result_title(found, language),
        "lines": shown_lines(article.text, notes=notes),
        "found": found,
        "versions": versions,
        "changes": _changes(places, documents[0], versions, asked.compare),
        "is_compared": bool(asked.compare),
        "alone": "" if versions else why_alone(documents[0], validity_of(places.store)),
        "site": site,
        "kinds": MEDIA_TYPES,
        **place,
    }
    return "article.html", values


def _changes(
    places: Places, shown: Document, versions: Sequence[Mapping[str, Any]], other: str
) -> dict[str, Any] | None:
    """An article's wording next to another one, by default the one before it, or after the first.

    `before` and `after` have `id` and days, `rows` pairs of lines as segments and whether they
    differ; `other` is the id of the other one.
    """
    ids = [str(each["id"]) for each in versions]
    if not ids:
        return None
    place = ids.index(shown.id)
    if other not in ids or other == shown.id:
        other = ids[place - 1 if place else 1]
    store = places.store
    texts = {each.id: each.content or "" for each in store.fetch(store.keys_of([shown.id, other]))}
    first, second = sorted((shown.id, other), key=ids.index)
    rows = changed_rows(texts.get(first, ""), texts.get(second, ""))
    return {
        "before": versions[ids.index(first)],
        "after": versions[ids.index(second)],
        "rows": [(row, is_changed(row)) for row in rows],
        "other": other,
    }


def _picture_view(places: Places, request: Request, language: Language) -> Shown:
    """The picture of an article's place, as a document of its own."""
    id_ = next(iter(Parameters.read(request, language).ids), "")
    law = places.law()
    if _document(places, id_, language).id not in law.position_of:
        raise HTTPException(404, TEXTS[language].article.nowhere)
    missing = _citations_missing(law, language)
    place = law.neighbourhood(law.position_of[id_], SHOWN)
    return _response(_picture(place, missing, language, is_document=True))


def _about_view(_: Places, __: Request, language: Language) -> Shown:
    """What the site is, its accessibility and its licence."""
    return "about_site.html", {"title": TEXTS[language].frame.about, "view": None}


def _document(places: Places, id_: str, language: Language) -> Document:
    store = places.store
    for found in validity_of(store).with_wordings(store.fetch(store.keys_of([id_]))):
        return places.law().with_replacement(found)
    raise HTTPException(404, TEXTS[language].refusal.no_article.format(id=shortened(id_)))


def _page(places: Places, here: str, language: Language, template: str, values: Any) -> Response:
    collection, on = places.collection(), values.setdefault("on", None)
    values |= {"states_on": on or date.today(), "limit": beyond(collection, on, language)}
    main = render(template, language, notice=notice(collection, language), **values)
    title = " ".join(values["title"].split())
    return _response(document(values.get("view", "law"), language, title, main, here))


def _citations_missing(law: Law, language: Language) -> str:
    """Why citations cannot be shown; empty if they can."""
    texts = TEXTS[language].article
    reason: str = texts.citations_unread if law.unread else texts.citations_being_read
    return reason if law.citations is None else ""


def _place(law: Law, place: Neighbourhood) -> dict[str, Any]:
    """An article's place in the law, as its lists show it."""
    siblings, tree = place.siblings, law.structure.tree
    first, last = window(len(siblings), siblings.index(place.article))
    beside = tree.children(int(tree.parent[tree.article_node[law.position_of[place.article.id]]]))

    # Siblings that the list leaves out, and the page of their division with the nearest of them.
    def left_out(count: int, nearest: int) -> tuple[int, int] | None:
        if not count:
            return None
        node = int(tree.article_node[law.position_of[siblings[nearest].id]])
        return count, beside.index(node) // PAGE + 1

    return {
        "place": place,
        "siblings": siblings[first:last],
        "before": left_out(first, first - 1),
        "after": left_out(len(siblings) - last, last),
        "most_listed": LISTED,
    }


def _picture(
    place: Neighbourhood, missing: str, language: Language, *, is_document: bool
) -> Markup:
    wording = Wording(
        lang=language,
        number=partial(number, language=language),
        day=partial(day, language=language),
        zero_is_one=language == "fr",
        on=date.today(),
        texts=vars(TEXTS[language].picture),
    )
    picture = draw_picture(place, None, missing, wording, is_document=is_document)
    return Markup(picture)  # noqa: S704 - escaped in the template


def law_routes(places: Places) -> list[Route]:
    """The routes of the pages that are drawn here."""
    paths = ("/law", "/article", "/picture", "/about")
    views: tuple[View, ...] = (_law_view, _article_view, _picture_view, _about_view)
    return [
        Route(address(path, language), partial(_answer, view, places, language))
        for path, view in zip(paths, views, strict=True)
        for language in LANGUAGES
    ]


def _answer(view: View, places: Places, language: Language, request: Request) -> Response:
    """Answer with a view, or with a page that explains why it cannot be shown."""
    texts, here = TEXTS[language].refusal, _here(request, language)
    try:
        shown = view(places, request, language)
        return shown if isinstance(shown, Response) else _page(places, here, language, *shown)
    except HTTPException as error:
        status, reason = error.status_code, error.detail
        title = texts.wrong if status == 400 else TEXTS[language].guard.not_found
    except StoreError:
        logger.exception("The law could not be read from its store.")
        status, title, reason = 503, texts.failed, texts.failed_why
    return _response(refusal("law", language, title, reason, here), status)


def _found_on(on: date, found: Document) -> dict[str, Any]:
    """The article as `found_article` makes it for a day, with checked values.

    Stores other than Lexarbor's may hold anything.
    """
    values, checked = found_article(found, on), article_of(found).to_json()
    for key in ("language", "valid_from", "valid_to", "source_url", "jurisdiction"):
        values.pop(key, None)
    return {**values, **{key: checked[key] for key in checked if key != "text"}}


def _here(request: Request, language: Language) -> str:
    """The address that was asked for, without its language."""
    path, query = request.url.path, request.url.query
    path = path if language == "en" else path.removeprefix(f"/{language}")
    return f"{path}?{query}" if query else path


def _response(content: str, status: int = 200) -> Response:
    # A store other than Lexarbor's may hold half a character.
    body = content.encode("utf-8", "replace")
    return HTMLResponse(body, status, {"Cache-Control": "no-cache"})
