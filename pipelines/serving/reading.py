"""The law that the service and its tools for agents read out, and check citations by."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from datetime import date
from typing import Any

from haystack import Document, Pipeline

from components.builders.citation_auditor import CitationAuditor
from components.converters.articles import article_of
from components.retrievers import resident
from components.retrievers.citation import (
    CitationRetriever,
    by_wording,
    resolver_of,
    with_replacement,
)
from components.retrievers.definitions import definitions_with
from components.retrievers.resident import matching_keys, validity_of
from components.retrievers.structure import StructureExpander
from components.retrievers.validity import ANY
from components.statutes.citations.finding import read_citations
from components.statutes.citations.laws import LawNames
from components.statutes.citations.patterns import parse_number
from components.statutes.identity import names_of_laws
from components.statutes.provisions import paragraphs_of, piece_end, provisions_of
from components.statutes.sources.units import unit_pattern
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import as_left_out, found_article, searched_law
from pipelines.audit import audit
from pipelines.checking import LoadingError
from pipelines.diff import changes
from pipelines.serving.limits import MAX_CITATIONS

_OF_A_SEARCH = ("score", "ranks", "passage", "passages_read", "passages")
_MOST_CITED = 20
_PIECE_CHARS = 12_000  # of an article that is read in pieces
_BLOCK = 500  # articles that are read at once


def piece_of(text: str, offset: int) -> tuple[str, int | None]:
    """A piece of an article's text, in whole provisions, and the offset of the next one.

    Args:
        text: the article's.
        offset: 0, or one that this has returned; all pieces, joined, are the text.

    Raises:
        LoadingError: no provision begins there.
    """
    parts = (each for cut in (paragraphs_of, provisions_of) for each in cut(text))
    if offset and all(each.span.start != offset for each in parts):
        raise LoadingError(f"No provision begins at {offset}: read from 0, then at next_offset.")
    end = piece_end(text, offset, _PIECE_CHARS)
    return text[offset:end], end if end < len(text) else None


class NotHeldError(LoadingError):
    """The collection has no law of this name, or no article of this number."""


_BEFORE = re.compile(rf"(?:{unit_pattern('before')})(?![^\W\d_])\s*")
_AFTER = re.compile(rf"(?<![^\W\d_])(?:{unit_pattern('after')})$")
_SEPARATORS = r"[\s\-\u2010-\u2015\u2212.\u00b0\u00ba\u00aa]+"


def _folded(number: str) -> str:
    """A number without its unit, case, accents, blanks, hyphens, dots and degree signs.

    >>> _folded("2.º-A"), _folded("Section 80 IA"), _folded("14-1"), _folded("141")
    ('2a', '80ia', '14~1', '141')
    """
    text = unicodedata.normalize("NFC", number).casefold().strip()
    text = unicodedata.normalize("NFD", _AFTER.sub("", _BEFORE.sub("", text, count=1)))
    text = "".join(each for each in text if not unicodedata.combining(each))
    # Between digits the sign counts: 14-1 is not 141.
    text = re.sub(rf"(?<=\d){_SEPARATORS}(?=\d)", "~", text)
    return re.sub(_SEPARATORS, "", text)


def _core(number: str) -> str:
    """A number as citations are compared: "art. 12(3)" is "12"."""
    parsed = parse_number(number)
    return parsed.core if parsed and not parsed.division else number.strip()


# What two numbers may have in common, the strictest first.
_FORMS: tuple[Callable[[str], str], ...] = (str.strip, _folded, _core)


class LawMap:
    """The articles of a store in their order, by law and number.

    Attributes:
        articles: ids by law.
        languages: BCP 47, by law, where known.
        jurisdictions: whose law it is, by law, where known.
    """

    def __init__(self, store: resident.ReadableStore) -> None:
        self.articles: dict[str, list[str]] = {}
        self._ids: list[dict[tuple[str, str], list[str]]] = [{} for _ in _FORMS]
        spoken: dict[str, set[str]] = {}
        places: dict[str, set[str]] = {}
        for _, id_, meta in store.metas():
            article = article_of(Document(id=id_, meta=meta))
            law, number = article.law, article.number
            if not law:
                continue
            self.articles.setdefault(law, []).append(id_)
            for ids, form in zip(self._ids, _FORMS, strict=True):
                ids.setdefault((law, form(number)), []).append(id_)
            if article.language:
                spoken.setdefault(law, set()).add(article.language)
            if article.jurisdiction:
                places.setdefault(law, set()).add(article.jurisdiction)
        self._names = LawNames(self.articles, names_of_laws(store.laws()))
        self.languages = {law: sorted(spoken.get(law, ())) for law in self.articles}
        self.jurisdictions = {law: sorted(places.get(law, ())) for law in self.articles}

    def laws_called(self, name: str) -> list[str]:
        """The laws with a title, another name or an identifier.

        Raises:
            NotHeldError: there are none.
        """
        laws = {name} if name in self.articles else self._names.anywhere(name)
        if not laws:
            raise NotHeldError(f"No law here is called {name!r:.80}; see the list of laws.")
        return sorted(laws)

    def numbered(self, law: str, number: str) -> list[str]:
        """Ids of the articles of a law with a number as printed, or else as one may write it.

        Raises:
            NotHeldError: there is no such law, or none of its articles has the number.
        """
        laws = self.laws_called(law)
        for ids, form in zip(self._ids, _FORMS, strict=True):
            if found := [id_ for each in laws for id_ in ids.get((each, form(number)), [])]:
                return found
        raise NotHeldError(f"There is no article with the number {number!r:.80} in {law!r:.80}.")


class References:
    """Which article cites which, without doubt.

    Attributes:
        cites: ids by that of the article that cites them.
        cited_by: ids by that of the article that they cite.
    """

    def __init__(self, store: resident.ReadableStore) -> None:
        resolver = resolver_of(store)
        validity = validity_of(store)
        today = date.today()
        self.cites: dict[str, list[str]] = {}
        self.cited_by: dict[str, list[str]] = {}
        keys = [key for key, _, _ in store.metas()]
        for start in range(0, len(keys), _BLOCK):
            for article in map(article_of, store.fetch(keys[start : start + _BLOCK])):
                if not article.law:
                    continue
                found = by_wording(
                    resolver.resolve(article.text, within=article.id, language=article.language),
                    validity,
                    today,
                )
                cited = dict.fromkeys(each.ids[0] for each in found if each.certain)
                self.cites[article.id] = [id_ for id_ in cited if id_ != article.id]
                for id_ in self.cites[article.id]:
                    self.cited_by.setdefault(id_, []).append(article.id)


class ServedLaw:
    """The articles of a store, as far as a pipeline's own filters let them through.

    Args:
        store: where they are.
        filters: those that its pipeline's retrievers have.
    """

    def __init__(self, store: StatuteDocumentStore, filters: dict[str, Any] | None) -> None:
        self.store = store
        self.filters = filters
        self._citations = CitationRetriever(store, _MOST_CITED, filters, refresh_seconds=0)
        self._auditor = CitationAuditor(store, refresh_seconds=0)
        self._expander = StructureExpander(store, as_of="any")
        self._map = resident.resident_index(store, "map", LawMap)
        self._references = resident.resident_index(store, "references", References)

    @classmethod
    def of(cls, pipeline: Pipeline) -> ServedLaw | None:
        """The law that a pipeline over Lexarbor's store searches; None over another store."""
        searched = searched_law(pipeline)
        return cls(*searched) if searched else None

    @property
    def map(self) -> LawMap:
        """Of the store as it is now."""
        return self._map.current(self.store)

    @property
    def references(self) -> References:
        """Of the store as it is now."""
        return self._references.current(self.store)

    def fetched(self, ids: Iterable[str]) -> list[Document]:
        """The articles with these ids, as far as they are served."""
        return self.store.fetch(self._keys(ids))

    def with_neighbours(self, documents: list[Document]) -> list[Document]:
        """Articles that were fetched, with their neighbours, other wordings and replacements."""
        documents = validity_of(self.store).with_wordings(documents)
        resolver = self._citations.current_index()
        documents = with_replacement(self.store, documents, resolver, self.filters)
        return self._expander.run(documents, self.filters)["documents"]

    def article(self, id_: str, on: date, offset: int | None = None) -> dict[str, Any]:
        """An article with its neighbours and other wordings.

        Args:
            id_: its id.
            on: the day of its state.
            offset: where in the text to read a piece; None for all of it.

        Raises:
            NotHeldError: there is none with this id.
            LoadingError: no provision begins at the offset.
        """
        found = self.with_neighbours(self.fetched([id_]))
        if not found:
            raise NotHeldError("There is no article with this id. GET /laws lists what there is.")
        article = _read_out(found[0], on)
        if offset is not None:
            article["content"], following = piece_of(article["content"], offset)
            if following is not None:
                article["next_offset"] = following
        if defined := self.definitions(found, on):
            article["definitions"] = defined
        return article

    def changes(self, article: str, since: date | None, to: date | None) -> dict[str, Any]:
        """What changed between two wordings of an article, as `pipelines.diff` prints it.

        Args:
            article: a citation, or an id.
            since: day of the first wording; None for the one before the second.
            to: day of the second; None for the newest.

        Raises:
            QuestionError: `article` is empty.
        """
        return changes(self._citations, article, since, to)

    def cited(self, citation: str, as_of: str | None, on: date) -> dict[str, Any]:
        """The articles that a citation names.

        Args:
            citation: such as "art. 12 Housing Code".
            as_of: as retrievers take it.
            on: the day of the articles' states.

        Raises:
            QuestionError: the citation is empty.
        """
        found = self._citations.run(citation, as_of=as_of)
        return {
            "citation": found["query"],
            "articles": [_read_out(each, on) for each in found["pinned"] or found["documents"]],
            "missing": found["missing"],
            "left_out": [as_left_out(found_article(each, on)) for each in found["left_out"]],
        }

    def numbered(self, law: str, number: str, as_of: str | None, on: date) -> dict[str, Any]:
        """As `cited`, the articles that a law prints under a number.

        Raises:
            NotHeldError: there is no such law, or none of its articles has the number.
        """
        validity = validity_of(self.store)
        ids = validity.ordered(self.map.numbered(law, number), on)
        found = [_read_out(each, on) for each in validity.with_wordings(self.fetched(ids))]
        articles = [
            each for each in found if as_of == ANY or each["state"] in ("in force", "unknown")
        ]
        left_out = [] if articles else [as_left_out(each) for each in found]
        citation = f"{number}, {law}"
        return {"citation": citation, "articles": articles, "missing": [], "left_out": left_out}

    def definitions(self, documents: list[Document], on: date) -> list[dict[str, Any]]:
        """The definitions of terms that articles use and their laws define."""
        return definitions_with(self.store, documents, filters=self.filters, day=on)

    def audit(self, text: str, as_of: str) -> dict[str, Any]:
        """A verdict on each citation of a text, as `pipelines.audit` prints it.

        Args:
            text: plain text or Markdown.
            as_of: the day on which the law should be in force, as `audit` takes it.

        Raises:
            LoadingError: the pipeline has filters of its own, and an audit reads the whole store;
                or the text has too many citations.
        """
        if self.filters:
            raise LoadingError("Citations are checked against a whole store: serve no filters.")
        citations, read_end = read_citations(text, most=MAX_CITATIONS + 1)
        if len(citations) > MAX_CITATIONS or read_end < len(text):
            raise LoadingError(f"The text has over {MAX_CITATIONS:,} citations. Send it in parts.")
        return audit(text, self._auditor, as_of)

    def laws(self) -> list[dict[str, Any]]:
        """The laws in the collection's order: name, number of articles, languages, places."""
        known = self.map
        return [
            {
                "law": law,
                "articles": count,
                "languages": known.languages[law],
                "jurisdictions": known.jurisdictions[law],
            }
            for law, ids in known.articles.items()
            if (count := len(self._keys(ids) if self.filters else ids))
        ]

    def _keys(self, ids: Iterable[str]) -> list[int]:
        validity = validity_of(self.store)
        return matching_keys(self.store, validity, self.filters, self.store.keys_of(ids))


def _read_out(document: Document, on: date) -> dict[str, Any]:
    found = found_article(document, on)
    return {key: value for key, value in found.items() if key not in _OF_A_SEARCH}
