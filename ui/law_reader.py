"""The law that the page searches, read in the background, and what an address asks of it."""

from __future__ import annotations

import atexit
import difflib
import logging
import re
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from typing import cast
from urllib.parse import parse_qsl

from haystack import Document
from starlette.requests import Request

from components.converters.articles import article_of
from components.retrievers.resident import ReadableStore
from components.statutes.article import Article
from components.statutes.citations.resolver import CitationResolver
from components.statutes.excerpts import Span, anchor_of, references_within
from components.statutes.graph import cross_references
from components.statutes.identity import names_of_laws
from components.statutes.tree import ROOT
from components.stores.rows import StoreError
from pipelines.tree_view import Citations, LawStructure, Neighbourhood, neighbourhood_in, window
from ui.annotations import NO_GLOSSARY, Definition, Glossary, Note, definitions_in
from ui.article import MEDIA_TYPES, Kind
from ui.language import REFUSAL_TEXTS, Language, article_link, language_of, number

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
        names: All that exist; of very many, only those near it in the alphabet are compared.
    """
    if len(word) > _LONGEST:
        return []
    known = names
    if len(names) > _COMPARED:
        ordered = sorted(names)
        place = bisect_left(ordered, word)
        known = ordered[max(0, place - _COMPARED // 2) : place + _COMPARED // 2]
    alike = difflib.get_close_matches(word, known, n=_MOST)
    # Names that contain the word, in any case; first those that begin with it.
    part = word.strip().casefold()
    places = ((name.casefold().find(part), name) for name in names if len(part) >= _SHORTEST)
    holding = [name for place, name in sorted(places) if place >= 0]
    return list(dict.fromkeys([*alike, *holding]))[:_MOST]


_BLOCK = 500  # documents that are in memory at a time


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
        self._keys: list[int] = []
        self.articles: list[Article] = []
        headings: dict[tuple[str, ...], tuple[str, ...]] = {}
        laws: dict[str, str] = {}
        for key, document in _every(store):
            article = article_of(document)
            if not article.law.strip():
                continue
            # Articles of one division share its name in memory.
            place = headings.setdefault(article.headings, article.headings)
            law = laws.setdefault(article.law, article.law)
            self.articles.append(replace(article, law=law, headings=place, text=""))
            self._keys.append(key)
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
        inner = self._inner_by_label
        node = inner.get((ROOT, law))
        if node is None:
            return None, 0
        for level, heading in enumerate(headings):
            below = inner.get((node, heading))
            if below is None:
                return node, level
            node = below
        return node, len(headings)

    def page_of(self, position: int, size: int) -> int:
        """The page, from 1, of an article in a list of what is directly below its division.

        Args:
            position: Of the article.
            size: Entries of a page.
        """
        tree = self.structure.tree
        node = int(tree.article_node[position])
        return tree.children(int(tree.parent[node])).index(node) // size + 1

    def language_of(self, node: int) -> str | None:
        """The language of the first article in a law or division; None for the root."""
        if node == ROOT:
            return None
        position = self.position_at(node)
        while position is None:
            node = self.structure.tree.children(node)[0]
            position = self.position_at(node)
        return self.articles[position].language

    def neighbourhood(self, position: int, citations: int) -> Neighbourhood:
        """An article in its place, with the texts of what is shown around it.

        Args:
            position: Of the article.
            citations: How many articles that it cites, and that cite it, are shown.

        Raises:
            StoreError: The store cannot be read.
        """
        known = self.citations
        siblings = self.structure.siblings(position)
        first, last = window(len(siblings), siblings.index(position))
        shown = {position, *siblings[first:last]}
        tree = self.structure.tree
        shown.update(
            each for each in (tree.previous(position), tree.next(position)) if each is not None
        )
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
        documents = self._store.fetch([self._keys[position] for position in positions])
        texts = {document.id: document.content or "" for document in documents}
        return {
            position: replace(article, text=texts.get(article.id, ""))
            for position in positions
            for article in [self.articles[position]]
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
                        raise _StoppedError
                    found = definitions_in(article.text, article.language, article.id)
                    definitions.setdefault(article.law, []).extend(found)
                    yield article
                    # Let other threads run: this can wait.
                    time.sleep(0)

        try:
            entries = ((a.id, a.law, a.number) for a in self.articles)
            self._resolver = CitationResolver(entries, names_of_laws(self.articles))
            references = cross_references(self.articles, texts())
        except _StoppedError:
            return
        except BaseException:
            self.unread = True
            raise
        self.citations = Citations(references)
        self.glossary = Glossary(definitions)

    def references(self, article: Article, language: Language, on: date | None) -> list[Note]:
        """The references in an article's text, as links to what they name.

        Args:
            article: With its text.
            language: Of the interface.
            on: The day of the page; None for today.
        """
        notes = []
        if self._resolver is not None:
            for each in self._resolver.resolve(
                article.text, within=article.id, language=article.language
            ):
                cited, span = each.citation, Span(each.citation.start, each.citation.end)
                anchor = anchor_of(cited.paragraph or "")
                # "Rule 1" as the heading of rule 1 leads nowhere else.
                if each.ids and (anchor or each.ids[0] != article.id):
                    link = article_link(each.ids[0], language, on)
                    notes.append(Note(span, "link", f"{link}#{anchor}" if anchor else link))
        own = references_within(article.text, article.language)
        return [*notes, *(Note(span, "link", f"#{anchor}") for span, anchor in own)]


class _StoppedError(Exception):
    """The reading was ended early."""


def _every(store: ReadableStore) -> Iterator[tuple[int, Document]]:
    """Every document with its key, in the store's order."""
    keys = [int(key) for key in store.keys_matching(None)]
    for start in range(0, len(keys), _BLOCK):
        block = keys[start : start + _BLOCK]
        documents = store.fetch(block)
        if len(documents) == len(block):
            yield from zip(block, documents, strict=True)
        else:
            # Some have been deleted: fetch one by one to see which.
            for key in block:
                yield from ((key, document) for document in store.fetch([key]))


logger = logging.getLogger(__name__)

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

    def prepare(self) -> None:
        """Begin to read, if that has not begun.

        Raises:
            StoreError: the store cannot be read.
        """
        self._current()

    def glossary(self) -> Glossary:
        """The words that the laws define, as far as they are read; nobody waits for them."""
        try:
            law = self.law(patience=0)
        except StoreError:
            return NO_GLOSSARY
        return NO_GLOSSARY if law is None else law.glossary

    def law(self, patience: float = PATIENCE) -> Law | None:
        """The current law of the store; None while it is still being read.

        Args:
            patience: how long to wait for it, in seconds.

        Raises:
            StoreError: the store cannot be read.
        """
        try:
            return self._current().result(patience)
        except TimeoutError:
            return None

    def _current(self) -> Future[Law]:
        with self._lock:
            # Taken before the content is read: content newer than its version is read once more.
            version = self._store.content_version()
            failed = self._law.done() and self._law.exception() is not None
            if self._version != version or failed:
                self._stop.set()
                self._version, self._law = version, Future()
                self._stop = begin(partial(_read, self._store, self._law), "law")
            return self._law


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
_SHOWN = 80

# Parameters that mail and social networks append to links; ignored, so that shared links work.
_APPENDED = re.compile(
    r"utm_\w+|fbclid|gclid|gbraid|wbraid|dclid|msclkid|igshid|ttclid|twclid|li_fat_id|yclid"
    r"|mc_[ce]id|mtm_\w+|pk_\w+|_hsenc|_hsmi|srsltid"
)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PAGE = re.compile(r"[1-9][0-9]{0,5}")


class WrongRequestError(Exception):
    """A wrong address; the message gives the reason in the reader's language."""


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
            raise _wrong(language, "too_long", most=number(MOST_CHARACTERS, language))
        values: dict[str, list[str]] = {}
        for name, value in parse_qsl(sent.decode("utf-8", "replace"), keep_blank_values=True):
            if name not in (*once, *often):
                if _APPENDED.fullmatch(name):
                    continue
                known = ", ".join((*once, *often))
                raise _wrong(language, "unknown_parameter", name=shortened(name), known=known)
            if not value.strip():
                raise _wrong(language, "empty", name=name)
            values.setdefault(name, []).append(value)
            if name in once and len(values[name]) > 1:
                raise _wrong(language, "twice", name=name)
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
            raise _wrong(self.language, "absent_parameter", name=name)
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
        raise _wrong(self.language, "wrong_day", value=shortened(value or ""))

    def kind(self, name: str) -> Kind | None:
        """The kind of file that a parameter gives; None where it is not given.

        Raises:
            WrongRequestError: There is no such kind.
        """
        value = self.one(name)
        if value is None or value in MEDIA_TYPES:
            return cast("Kind | None", value)
        known = ", ".join(MEDIA_TYPES)
        raise _wrong(self.language, "wrong_kind", known=known, value=shortened(value))

    def page(self, name: str) -> int:
        """The page that a parameter gives, from 1; 1 where it is not given.

        Raises:
            WrongRequestError: It is not a page.
        """
        value = self.one(name) or "1"
        if not _PAGE.fullmatch(value):
            raise _wrong(self.language, "wrong_page", value=shortened(value))
        return int(value)


def _wrong(language: Language, text: str, **values: str) -> WrongRequestError:
    return WrongRequestError(getattr(REFUSAL_TEXTS[language], text).format(**values))


def shortened(value: str) -> str:
    """The beginning of what was asked, where it is long."""
    return value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…"
