"""The law: what the page has read of it, and its views `/law`, `/article` and `/picture`."""

from __future__ import annotations

import atexit
import difflib
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property, partial
from typing import Any, cast
from urllib.parse import parse_qsl

from haystack import Document
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from components.converters.articles import article_of
from components.retrievers.resident import ReadableStore, validity_of
from components.statutes.article import Article
from components.statutes.citations.resolver import CitationResolver
from components.statutes.excerpts import Span, anchor_of, references_within
from components.statutes.graph import cross_references
from components.statutes.identity import names_of_laws
from components.statutes.tree import ROOT
from components.stores.database import StoreError
from pipelines.asking import found_article
from pipelines.tree import SHOWN as CITATIONS_DRAWN
from pipelines.tree import (
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
    NO_GLOSSARY,
    Definition,
    Glossary,
    Kind,
    Note,
    article_title,
    citation,
    definitions_in,
    export,
    file_suffix,
    result_title,
    shown_lines,
)
from ui.frame import TEMPLATES, Collection, beyond, document, notice, render, shortened
from ui.language import (
    ARTICLE,
    ARTICLE_TEXTS,
    LANGUAGES,
    LAW,
    LAW_TEXTS,
    PICTURE,
    PICTURE_TEXTS,
    REFUSAL_TEXTS,
    Language,
    address,
    article_link,
    counted,
    day,
    division_link,
    language_of,
    number,
)

logger = logging.getLogger(__name__)

# Seconds that a thread has to stop when the process ends.
_GRACE = 5.0


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
    thread.join(_GRACE)


_MOST = 5
_LONGEST = 200  # characters; longer words are not compared
_SHORTEST = 3  # characters of a part of a name; fewer occur in almost any
_COMPARED = 2_000  # names; comparing is slow


def near_names(word: str, names: Sequence[str]) -> list[str]:
    """Suggestions for a name that does not exist: similar ones, then those that contain it.

    Args:
        word: What was asked for.
        names: All that exist; very many are not compared, but those that contain it are found.
    """
    if len(word) > _LONGEST:
        return []
    alike = difflib.get_close_matches(word, names, n=_MOST) if len(names) <= _COMPARED else []
    # Names that contain the word, in any case; first those that begin with it.
    part = word.strip().casefold()
    places = ((name.casefold().find(part), name) for name in names if len(part) >= _SHORTEST)
    holding = [name for place, name in sorted(places) if place >= 0]
    return list(dict.fromkeys([*alike, *holding]))[:_MOST]


_BLOCK = 500  # documents that are in memory at a time
PAGE = 100  # entries of a page


class Law:
    """The articles of a store in their places, without their texts.

    Documents without a law are not in it.

    Attributes:
        articles: In the store's order, with `text` empty.
        structure: Their tree.
        position_of: Position of each article, by its id.
        citations: Who cites whom; None until the texts are read.
        glossary: The words that each law defines; empty until then.
        unread: Whether the citations could not be read, and will stay None.
    """

    def __init__(self, store: ReadableStore) -> None:
        """Reads the place of every article.

        Args:
            store: What is read, now and whenever texts are asked for.

        Raises:
            StoreError: It cannot be read.
        """
        self._store = store
        self.articles: list[Article] = []
        headings: dict[tuple[str, ...], tuple[str, ...]] = {}
        laws: dict[str, str] = {}
        keys = [int(key) for key in store.keys_matching(None)]
        for start in range(0, len(keys), _BLOCK):
            for found in store.fetch(keys[start : start + _BLOCK]):
                article = article_of(found)
                if article.law.strip():
                    # Articles of one division share its name in memory.
                    place = headings.setdefault(article.headings, article.headings)
                    law = laws.setdefault(article.law, article.law)
                    self.articles.append(replace(article, law=law, headings=place, text=""))
        self.structure = LawStructure(self.articles)
        self.position_of = {article.id: place for place, article in enumerate(self.articles)}
        tree = self.structure.tree
        self._inner_by_label = {
            (int(tree.parent[node]), tree.label[node]): node
            for node in range(1, tree.n_nodes - tree.n_articles)
        }
        self.citations: Citations | None = None
        self.glossary = NO_GLOSSARY
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

    def find(self, law: str, headings: Sequence[str]) -> tuple[int | None, int]:
        """The node of a law or a division, or the last existing one on the way to it.

        Args:
            law: Its title.
            headings: From the top of the law down.

        Returns:
            The last existing node (None: not even the law), and how many headings led to it.
        """
        node: int | None = None
        for level, label in enumerate((law, *headings)):
            below = self._inner_by_label.get((ROOT if node is None else node, label))
            if below is None:
                return node, max(0, level - 1)
            node = below
        return node, len(headings)

    def page_of(self, position: int, size: int = PAGE) -> int:
        """The page, from 1, of an article in a list of what is directly below its division."""
        tree = self.structure.tree
        node = int(tree.article_node[position])
        return tree.children(int(tree.parent[node])).index(node) // size + 1

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
        keys = self._store.keys_of([article.id for article in articles.values()])
        texts = {found.id: found.content or "" for found in self._store.fetch(keys)}
        return {
            position: replace(article, text=texts.get(article.id, ""))
            for position, article in articles.items()
        }

    def read_citations(self, stop: threading.Event) -> None:
        """Read the citations in every text.

        Args:
            stop: Ends the reading early when it is set.

        Raises:
            StoreError: The store cannot be read.
        """
        definitions: dict[str, list[Definition]] = {}

        def texts() -> Iterator[Article]:
            for start in range(0, len(self.articles), _BLOCK):
                block = range(start, min(start + _BLOCK, len(self.articles)))
                for article in self.with_texts(block).values():
                    if stop.is_set():
                        raise CancelledError
                    found = definitions_in(article.text, article.language, article.id)
                    definitions.setdefault(article.law, []).extend(found)
                    yield article
                    # Let other threads run: this can wait.
                    time.sleep(0)

        try:
            entries = ((a.id, a.law, a.number) for a in self.articles)
            self._resolver = CitationResolver(entries, names_of_laws(self.articles))
            self.citations = Citations(cross_references(self.articles, texts()))
            self.glossary = Glossary(definitions)
        except CancelledError:
            return
        except BaseException:
            self.unread = True
            raise

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


# Seconds that a view waits for the law to be read before it says that it is being read.
PATIENCE = 0.25


class Places:
    """The articles of the page's store, with their places.

    Everything is read once for each version of the content, in the background: first the tree,
    then the citations. It is safe to use from many threads.

    Args:
        store: what the page shows.
    """

    def __init__(self, store: ReadableStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._version: int | None = None
        self._law: Future[Law] = Future()
        self._stop = threading.Event()

    @property
    def store(self) -> ReadableStore:
        """What the page shows now.

        Raises:
            StoreError: the store cannot be read.
        """
        # This reads, or rereads, a store that is not Lexarbor's.
        self._store.content_version()
        return self._store

    def glossary(self) -> Glossary:
        """The words that the laws define, as far as they are read; nobody waits for them."""
        with suppress(StoreError):
            if law := self.law(patience=0):
                return law.glossary
        return NO_GLOSSARY

    def law(self, patience: float = PATIENCE) -> Law | None:
        """The current law of the store; None while it is still being read.

        Args:
            patience: how long to wait for it, in seconds.

        Raises:
            StoreError: the store cannot be read.
        """
        with self._lock:
            # Taken before the content is read: content newer than its version is read once more.
            version = self._store.content_version()
            failed = self._law.done() and self._law.exception() is not None
            if self._version != version or failed:
                self._stop.set()
                self._version, self._law = version, Future()
                self._stop = begin(partial(_read, self._store, self._law), "law")
            reading = self._law
        try:
            return reading.result(patience)
        except TimeoutError:
            return None


def _read(store: ReadableStore, read: Future[Law], stop: threading.Event) -> None:
    """Read a law, and then its citations, without which it is shown if they cannot be read."""
    try:
        law = Law(store)
    except Exception as error:  # noqa: BLE001 - raised for whoever asks for the law
        read.set_exception(error)
        return
    read.set_result(law)
    try:
        law.read_citations(stop)
    except Exception:
        logger.exception("The citations between articles could not be read.")


# A division's address names every heading on the way to it, in percent signs.
MOST_CHARACTERS = 16_384
_MOST_PARAMETERS = 100

# Parameters that mail and social networks append to links; ignored, so that shared links work.
_APPENDED = re.compile(
    r"utm_\w+|fbclid|gclid|gbraid|wbraid|dclid|msclkid|igshid|ttclid|twclid|li_fat_id|yclid"
    r"|mc_[ce]id|mtm_\w+|pk_\w+|_hsenc|_hsmi|srsltid"
)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PAGE = re.compile(r"[1-9][0-9]{0,5}")


class WrongRequestError(Exception):
    """A wrong address; the message gives the reason in the reader's language."""

    def __init__(self, language: Language, text: str, **values: str) -> None:
        super().__init__(getattr(REFUSAL_TEXTS[language], text).format(**values))


@dataclass(frozen=True)
class Parameters:
    """The parameters of a request.

    Attributes:
        language: Of the interface.
        values: Each parameter's values, in order, none of them blank.
    """

    language: Language
    values: dict[str, list[str]]

    @classmethod
    def of(cls, request: Request, once: Sequence[str], often: Sequence[str] = ()) -> Parameters:
        """Read a request.

        Args:
            request: What was sent.
            once: Parameters that may be given, once.
            often: Parameters that may be given more than once.

        Raises:
            WrongRequestError: A parameter is unknown, repeated or blank, or all are too long.
        """
        language = language_of(request.url.path)
        sent: bytes = request.scope["query_string"]
        if len(sent) > MOST_CHARACTERS or sent.count(b"&") >= _MOST_PARAMETERS:
            raise WrongRequestError(language, "too_long", most=number(MOST_CHARACTERS, language))
        values: dict[str, list[str]] = {}
        for name, value in parse_qsl(sent.decode("utf-8", "replace"), keep_blank_values=True):
            if name not in (*once, *often):
                if _APPENDED.fullmatch(name):
                    continue
                known = ", ".join((*once, *often))
                raise WrongRequestError(
                    language, "unknown_parameter", name=shortened(name), known=known
                )
            if not value.strip():
                raise WrongRequestError(language, "empty", name=name)
            values.setdefault(name, []).append(value)
            if name in once and len(values[name]) > 1:
                raise WrongRequestError(language, "twice", name=name)
        return cls(language, values)

    def one(self, name: str) -> str | None:
        """The value of a parameter; None where it is not given."""
        return self.values.get(name, [None])[0]

    def required(self, name: str) -> str:
        """The value of a parameter.

        Raises:
            WrongRequestError: It is not given.
        """
        value = self.one(name)
        if value is None:
            raise WrongRequestError(self.language, "absent_parameter", name=name)
        return value

    def day(self, name: str) -> date | None:
        """The day that a parameter gives; None where it is not given.

        Raises:
            WrongRequestError: It is not an ISO day.
        """
        value = self.one(name)
        with suppress(ValueError):
            if value is None or _DAY.fullmatch(value):
                return date.fromisoformat(value) if value else None
        raise WrongRequestError(self.language, "wrong_day", value=shortened(value or ""))

    def kind(self, name: str) -> Kind | None:
        """The kind of file that a parameter gives; None where it is not given.

        Raises:
            WrongRequestError: There is no such kind.
        """
        value = self.one(name)
        if value is None or value in MEDIA_TYPES:
            return cast("Kind | None", value)
        known = ", ".join(MEDIA_TYPES)
        raise WrongRequestError(self.language, "wrong_kind", known=known, value=shortened(value))

    def page(self, name: str) -> int:
        """The page that a parameter gives, from 1; 1 where it is not given.

        Raises:
            WrongRequestError: It is not a page.
        """
        value = self.one(name) or "1"
        if not _PAGE.fullmatch(value):
            raise WrongRequestError(self.language, "wrong_page", value=shortened(value))
        return int(value)


# A suggestion: its name and its address.
Near = tuple[str, str]

# A law of no more articles than these shows its whole contents.
_MOST_CONTENTS = 1_000
_FIRST_WORDS = 130  # characters
# Citations listed at once, and with those in the fold.
_SHOWN_CITATIONS = 8
LISTED = 100


def refusal_main(
    title: str, reason: str, near: Sequence[Near], language: Language, again: str = ""
) -> Markup:
    """HTML of what could not be shown: what was wrong, and where to go from there.

    Args:
        title: What happened.
        reason: Why, in a sentence or two.
        near: What may have been meant, best first.
        language: Of the interface.
        again: Address to try again, in place of the ways out.
    """
    texts = {"texts": REFUSAL_TEXTS[language], "try_again": LAW_TEXTS[language].again}
    given = {"title": title, "reason": reason, "near": near, "again": again}
    return render("refusal.html", language, **texts, **given)


def first_words(article: Article) -> str:
    """The beginning of an article, cut between words where it can be."""
    text = beginning(article)
    if len(text) <= _FIRST_WORDS:
        return text
    cut = text[:_FIRST_WORDS]
    whole = cut.rsplit(" ", 1)[0]
    return (whole if 2 * len(whole) > len(cut) else cut).rstrip(" ,;:.") + "…"


TEMPLATES.filters["first_words"] = first_words


@dataclass(frozen=True)
class DivisionPage:
    """A page of what is directly below all laws, a law or a division.

    Attributes:
        law: All laws.
        node: The division's node in the tree; the root means all laws.
        page: From 1.
    """

    law: Law
    node: int
    page: int

    @cached_property
    def children(self) -> list[int]:
        """Nodes right below it, in the law's order."""
        return self.law.structure.tree.children(self.node)

    @cached_property
    def n_inner(self) -> int:
        """How many of them are laws or divisions."""
        return sum(self.law.position_at(node) is None for node in self.children)

    @property
    def is_whole(self) -> bool:
        """Whether everything below is shown, and not only what is right below."""
        return self.node != ROOT and self.n_below(self.node) <= _MOST_CONTENTS

    def n_below(self, node: int) -> int:
        """How many articles a law or division has in all."""
        return int(self.law.structure.articles_below[node])

    @property
    def pages(self) -> int:
        """How many pages there are, at least one."""
        return 1 if self.is_whole else max(1, -(-len(self.children) // PAGE))

    @property
    def first(self) -> int:
        """Place of this page's first entry among the children, from 0."""
        return (self.page - 1) * PAGE

    @property
    def entries(self) -> list[int]:
        """The nodes of this page."""
        return self.children if self.is_whole else self.children[self.first : self.first + PAGE]

    def below(self, node: int) -> list[int]:
        """The nodes that are shown below one of the entries."""
        is_division = self.law.position_at(node) is None
        return self.law.structure.tree.children(node) if self.is_whole and is_division else []

    def articles(self) -> dict[int, Article]:
        """The articles of this page with their texts, by position.

        Raises:
            StoreError: The store cannot be read.
        """
        positions: list[int] = []
        nodes = self.entries[::-1]
        while nodes:
            node = nodes.pop()
            nodes += self.below(node)
            position = self.law.position_at(node)
            if position is not None:
                positions.append(position)
        return self.law.with_texts(positions)

    def neighbours(self) -> list[tuple[str, int]]:
        """The divisions before and after, below the same parent, by the targets of `rel`."""
        if self.node == ROOT:
            return []
        tree = self.law.structure.tree
        beside = tree.children(int(tree.parent[self.node]))
        divisions = [None, *(n for n in beside if self.law.position_at(n) is None), None]
        place = divisions.index(self.node)
        around = (("prev", divisions[place - 1]), ("next", divisions[place + 1]))
        return [(rel, node) for rel, node in around if node is not None]


class _MissingError(Exception):
    """What was asked for does not exist; `near` are suggestions."""

    def __init__(self, reason: str, near: Sequence[Near] = ()) -> None:
        super().__init__(reason)
        self.near = near


class _BeingReadError(Exception):
    """The law cannot be shown yet."""


View = Callable[[Request], Response]

# Seconds after which a view that was not ready can be asked for again.
_RETRY = "2"
_LONGEST_NAME = 80


class LawViews:
    """Answers requests about the law.

    Args:
        places: where the articles are.
        searched: describes what is searched now, for the notice.
    """

    def __init__(self, places: Places, searched: Callable[[], Collection]) -> None:
        self._places = places
        self._collection = searched

    def law(self, request: Request) -> Response:
        """All laws, or a law or division: its content, in the law's order, page by page."""
        given = Parameters.of(request, once=("of", "page", "on"), often=("in",))
        language = given.language
        page, on = given.page("page"), given.day("on")
        name, headings = given.one("of") or "", given.values.get("in", [])
        if headings:
            given.required("of")
        law = self._law()
        shown = DivisionPage(law, _node(law, name, headings, on, language), page)
        title = law.structure.tree.label[shown.node] or LAW_TEXTS[language].law
        if page > shown.pages:
            texts = REFUSAL_TEXTS[language]
            pages = counted(shown.pages, texts.pages, language)
            raise _MissingError(
                texts.no_page.format(pages=pages, page=number(page, language)),
                [(title, division_link(name, headings, language, on=on))],
            )
        name, headings = law.way_to(shown.node)
        main = self._rendered(
            "division.html",
            language,
            on,
            shown=shown,
            title=title,
            law=name,
            headings=headings,
            spoken=law.language_of(shown.node),
            articles=shown.articles(),
        )
        return _page(request, title, main)

    def _rendered(self, name: str, language: Language, on: date | None, **values: object) -> Markup:
        collection = self._collection()
        return render(
            name,
            language,
            texts=ARTICLE_TEXTS[language],
            law_texts=LAW_TEXTS[language],
            on=on,
            states_on=on or date.today(),
            limit=beyond(collection, on, language),
            notice=notice(collection, language),
            **values,
        )

    def article(self, request: Request) -> Response:
        """An article with what to take away, in its place; or some articles as a file."""
        given = Parameters.of(request, once=("on", "as"), often=("id",))
        kind = given.kind("as")
        site = f"{request.url.scheme}://{request.url.netloc}"
        if kind is not None:
            return self._file(given, kind, site)
        given = Parameters.of(request, once=("id", "on"))
        language, on = given.language, given.day("on")
        found_document = self._found(given.required("id"), given)
        article = article_of(found_document)
        found = _found_on(on or date.today(), found_document, article)
        law = self._places.law()
        position = None if law is None else law.position_of.get(article.id)
        place: dict[str, Any] = {"place": None}
        notes: list[Note] = []
        if law is not None and position is not None:
            # Checked first: citations read in between would be missing from the place.
            missing = _citations_missing(law, language)
            around = law.neighbourhood(position, LISTED)
            place = {**_place(law, around), "missing": missing}
            place["picture"] = _picture(around, missing, language, is_document=False)
            defined = law.glossary.notes(article.text, article.law, article.id)
            notes = [*law.references(article, language, on), *defined]
        versions = [*found["wordings"], found] if found.get("wordings") else []
        main = self._rendered(
            "article.html",
            language,
            on,
            article=article,
            title=article_title(article.number),
            subject=result_title(found),
            lines=shown_lines(article.text, notes=notes),
            found=found,
            # Oldest first.
            versions=sorted(versions, key=lambda each: each.get("valid_from") or ""),
            is_law_read=law is not None,
            site=site,
            kinds=MEDIA_TYPES,
            **place,
        )
        return _page(request, citation(found), main)

    def picture(self, request: Request) -> Response:
        """The picture of an article's place, as a document of its own."""
        given = Parameters.of(request, once=("id",))
        language = given.language
        id_ = self._found(given.required("id"), given).id
        law = self._law()
        if id_ not in law.position_of:
            raise _MissingError(ARTICLE_TEXTS[language].nowhere)
        missing = _citations_missing(law, language)
        place = law.neighbourhood(law.position_of[id_], CITATIONS_DRAWN)
        return _response(_picture(place, missing, language, is_document=True))

    def _law(self) -> Law:
        law = self._places.law()
        if law is None:
            raise _BeingReadError
        return law

    def _found(self, id_: str, given: Parameters) -> Document:
        """The document with an id that was asked for."""
        store = self._places.store
        for found in validity_of(store).with_wordings(store.fetch(store.keys_of([id_]))):
            return found
        law, language, on = self._places.law(), given.language, given.day("on")
        near = near_names(id_, list(law.position_of)) if law else []
        articles = [law.articles[law.position_of[each]] for each in near] if law else []
        raise _MissingError(
            REFUSAL_TEXTS[language].no_article.format(id=shortened(id_)),
            [
                (
                    f"{article_title(each.number)}, {each.law} ({each.id})",
                    article_link(each.id, language, on),
                )
                for each in articles
            ],
        )

    def _file(self, given: Parameters, kind: Kind, site: str) -> Response:
        """Articles as a file."""
        given.required("id")
        language, on, today = given.language, given.day("on"), date.today()
        documents = [self._found(id_, given) for id_ in given.values["id"]]
        found = [_found_on(on or today, each, article_of(each)) for each in documents]
        content = export(kind, found, language, self._collection(), on or today, today, site=site)
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", str(found[0]["id"]))[:_LONGEST_NAME].strip("-")
        file_name = f"{name or 'article'}{file_suffix(kind)}"
        headers = {
            "Cache-Control": "no-cache",
            "Content-Disposition": f'attachment; filename="{file_name}"',
        }
        return Response(content, 200, headers, MEDIA_TYPES[kind])


def _citations_missing(law: Law, language: Language) -> str:
    """Why citations cannot be shown; empty if they can."""
    texts = ARTICLE_TEXTS[language]
    if law.citations is not None:
        return ""
    return texts.citations_unread if law.unread else texts.citations_being_read


def _place(law: Law, place: Neighbourhood) -> dict[str, Any]:
    """An article's place in the law, as its lists show it."""
    siblings = place.siblings
    first, last = window(len(siblings), siblings.index(place.article))

    # Siblings that the list leaves out, and the page of their division with the nearest of them.
    def left_out(count: int, nearest: int) -> tuple[int, int] | None:
        return (count, law.page_of(law.position_of[siblings[nearest].id])) if count else None

    return {
        "place": place,
        "siblings": siblings[first:last],
        "before": left_out(first, first - 1),
        "after": left_out(len(siblings) - last, last),
        "most_shown": _SHOWN_CITATIONS,
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
        texts=PICTURE_TEXTS[language],
    )
    return Markup(  # noqa: S704 - escaped in the template
        draw_picture(place, None, missing, wording, is_document=is_document)
    )


def law_routes(places: Places, searched: Callable[[], Collection]) -> list[Route]:
    """The routes of the law.

    Args:
        places: where the articles are.
        searched: describes what is searched now, for the notice.
    """
    views = LawViews(places, searched)
    paths = {LAW: views.law, ARTICLE: views.article, PICTURE: views.picture}
    return [
        Route(address(path, language), partial(_answer, view, language), methods=["GET"])
        for path, view in paths.items()
        for language in LANGUAGES
    ]


def _answer(view: View, language: Language, request: Request) -> Response:
    """Answer with a view, or with a page that explains why it cannot be shown."""
    texts, again = REFUSAL_TEXTS[language], ""
    near: Sequence[Near] = ()
    try:
        return view(request)
    except WrongRequestError as error:
        status, title, reason = 400, texts.wrong, str(error)
    except _MissingError as error:
        status, title, reason, near = 404, texts.missing, str(error), error.near
    except _BeingReadError:
        status, title, reason = 503, LAW_TEXTS[language].law, LAW_TEXTS[language].being_read
        again = address(_english_address(request), language)
    except StoreError:
        logger.exception("The law could not be read from its store.")
        status, title, reason = 503, texts.failed, texts.failed_why
    response = _page(request, title, refusal_main(title, reason, near, language, again), status)
    if again:
        response.headers["Retry-After"] = _RETRY
    return response


def _node(law: Law, name: str, headings: Sequence[str], on: date | None, language: Language) -> int:
    """The node of a law or a division; the root where no law is named."""
    if not name:
        return ROOT
    node, level = law.find(name, headings)
    texts, tree = REFUSAL_TEXTS[language], law.structure.tree
    if node is None:
        near = near_names(name, tree.laws)
        raise _MissingError(
            texts.no_such_law.format(law=shortened(name)),
            [(each, division_link(each, (), language, on=on)) for each in near],
        )
    if level == len(headings):
        return node
    labels = [tree.label[each] for each in tree.children(node) if law.position_at(each) is None]
    way, wrong = list(headings[:level]), headings[level]
    ways = [(each, [*way, each]) for each in near_names(wrong, labels)]
    ways.append((tree.label[node], way))
    raise _MissingError(
        texts.no_division.format(law=shortened(tree.label[node]), heading=shortened(wrong)),
        [(label, division_link(name, each, language, on=on)) for label, each in ways],
    )


def _found_on(on: date, found: Document, article: Article) -> dict[str, Any]:
    """The article as `found_article` makes it for a day, with the checked values of `article`.

    Stores other than Lexarbor's may hold anything.
    """
    values = found_article(found, on)
    checked = article.to_json()
    for key in ("language", "valid_from", "valid_to", "source_url"):
        values.pop(key, None)
    return {**values, **{key: checked[key] for key in checked if key != "text"}}


def _page(request: Request, title: str, main: Markup, status: int = 200) -> Response:
    language = language_of(request.url.path)
    page = document("law", language, " ".join(title.split()), main, _english_address(request))
    return _response(page, status)


def _english_address(request: Request) -> str:
    """The address that was asked for, without its language and without too long a query."""
    path, query = request.url.path, request.url.query
    if language_of(path) != "en":
        path = path.removeprefix(f"/{language_of(path)}")
    return f"{path}?{query}" if 0 < len(query) <= MOST_CHARACTERS else path


def _response(content: str, status: int = 200) -> Response:
    # A store other than Lexarbor's may hold half a character.
    body = content.encode("utf-8", "replace")
    return HTMLResponse(body, status, {"Cache-Control": "no-cache"})
