"""The definitions that go with found articles, read from a store law by law."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from datetime import date
from typing import Any
from weakref import WeakKeyDictionary

from haystack import Document

from components.converters.articles import article_of, law_of, passages_of
from components.retrievers.resident import (
    ReadableStore,
    ResidentIndex,
    matching_keys,
    resident_index,
    validity_of,
)
from components.statutes.article import Article
from components.statutes.definitions import Glossary, definitions_for

_MOST_READ = 5_000  # characters of an article
DEFINITION_FIELDS = ("term", "text", "id", "law", "number", "anchor", "scope", "used_in")


class _Glossaries:
    """The terms that each law of a store defines; a law is read when one of its articles is found.

    So the first question waits for the laws that it finds, not for the whole store.
    """

    def __init__(self, store: ReadableStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._known: dict[str, Glossary] = {}

    def of(self, law: str) -> Glossary:
        with self._lock:
            if law not in self._known:
                filters = {"field": "meta.law", "operator": "==", "value": law}
                documents = self._store.fetch(self._store.keys_matching(filters))
                self._known[law] = Glossary([*map(article_of, documents)])
            return self._known[law]


_residents: WeakKeyDictionary[ReadableStore, ResidentIndex[_Glossaries]] = WeakKeyDictionary()


def glossaries_of(
    store: ReadableStore, laws: Iterable[str], state: Hashable = None
) -> dict[str, Glossary]:
    """The terms that laws define, read once for all that ask.

    Args:
        store: of their articles.
        laws: their names.
        state: the store's `state_of`, where it was just read.

    Raises:
        StoreError: the store cannot be read.
    """
    resident = _residents.get(store)
    if resident is None:
        resident = _residents[store] = resident_index(store, "definitions", _Glossaries)
    glossaries = resident.current(store, state)
    return {law: glossaries.of(law) for law in laws}


def definitions_with(
    store: ReadableStore,
    documents: Sequence[Document],
    question: str = "",
    filters: dict[str, Any] | None = None,
    day: date | None = None,
    state: Hashable = None,
) -> list[dict[str, Any]]:
    """The definitions that go with found articles, as `definitions_for` chooses them.

    Args:
        store: of the articles.
        documents: the articles, best first; those without a law have no definitions. Where a
            retriever found passages of an article, only these are read.
        question: that the articles answer.
        filters: Haystack filters that the defining articles must match.
        day: on which these must be in force; None for any.
        state: the store's `state_of`, where it was just read.

    Returns:
        Of each `term` and `text`, `id`, `law`, `number` and `anchor` of the provision that defines
        it, `scope` (the division or article for which it holds, unless that is the whole law), and
        `used_in`, the id of the first article that uses it.

    Raises:
        FilterError: the filters are malformed.
        StoreError: the store cannot be read.
    """
    found = [_read(each) for each in documents if law_of(each.meta)]
    if not found:
        return []
    law = found[0].law
    excluded = validity_of(store, state).on(day).unlisted
    glossary = glossaries_of(store, [law], state)[law]
    chosen = definitions_for(found, glossary, question, excluded)
    if filters and chosen:
        keys = store.keys_of({each.id for each, _ in chosen})
        matching = matching_keys(store, validity_of(store, state), filters, keys)
        allowed = {each.id for each in store.fetch(matching)}
        chosen = [(each, article) for each, article in chosen if each.id in allowed]
    return [
        {
            "term": each.term,
            "text": each.text,
            "id": each.id,
            "law": article.law,
            "number": each.number,
            "anchor": each.anchor,
            **({"scope": each.scope.name} if each.scope.name else {}),
            "used_in": article.id,
        }
        for each, article in chosen
    ]


def _read(document: Document) -> Article:
    """The article with the text in which terms are looked for."""
    article = article_of(document)
    passages = passages_of(document.meta).get("passages")
    text = "\n".join(each["text"] for each in passages) if passages else article.text[:_MOST_READ]
    return replace(article, text=text)
