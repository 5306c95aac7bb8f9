"""The law that the service reads out: articles by id and citation, the laws; and audits by it."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
from haystack import Document, Pipeline

from components.builders.citation_auditor import CitationAuditor
from components.converters.articles import language_of, law_of
from components.retrievers.citation import CitationRetriever
from components.retrievers.resident import (
    ReadableStore,
    Retriever,
    matching_keys,
    resident_index,
    validity_of,
)
from components.retrievers.structure import StructureExpander
from components.stores.filters import narrowed
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import found_article
from pipelines.audit import audit
from pipelines.files import LoadingError

_LEFT_OUT_FIELDS = ("id", "law", "number", "state", "valid_from", "valid_to")
_OF_A_SEARCH = ("score", "ranks", "passage", "passages_read")
_MOST_CITED = 20


class ServedLaw:
    """The articles of a store, as far as a pipeline's own filters let them through.

    Args:
        store: where they are.
        filters: those that its pipeline's retrievers have.
    """

    def __init__(self, store: StatuteDocumentStore, filters: dict[str, Any] | None) -> None:
        self._store = store
        self._filters = filters
        self._citations = CitationRetriever(store, _MOST_CITED, filters, refresh_seconds=0)
        self._auditor = CitationAuditor(store, refresh_seconds=0)
        self._expander = StructureExpander(store, as_of="any")
        self._laws = resident_index(store, "laws", _laws)

    @classmethod
    def of(cls, pipeline: Pipeline) -> ServedLaw | None:
        """The law that a pipeline over Lexarbor's store searches; None over another store."""
        retrievers = [each for _, each in pipeline.walk() if isinstance(each, Retriever)]
        stores = [
            store
            for each in retrievers
            if isinstance(store := each.document_store, StatuteDocumentStore)
        ]
        filters = None
        for each in retrievers:
            if each.filters and each.filters != filters:
                filters = narrowed(filters, each.filters)
        return cls(stores[0], filters) if stores else None

    def article(self, id_: str, on: date) -> dict[str, Any] | None:
        """An article with its neighbours and other wordings; None where there is none."""
        keys = self._store.keys_of([id_])
        if not self._allowed(keys):
            return None
        documents = validity_of(self._store).with_wordings(self._store.fetch(keys))
        expanded = self._expander.run(documents, self._filters)["documents"]
        return next((_read_out(each, on) for each in expanded), None)

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
        articles = found["pinned"] or found["documents"]
        left_out = (_read_out(each, on) for each in found["left_out"])
        return {
            "citation": found["query"],
            "articles": [_read_out(each, on) for each in articles],
            "missing": found["missing"],
            "left_out": [
                {name: each[name] for name in _LEFT_OUT_FIELDS if name in each} for each in left_out
            ],
        }

    def audit(self, text: str, as_of: str) -> dict[str, Any]:
        """A verdict on each citation of a text, as `pipelines.audit` prints it.

        Args:
            text: plain text or Markdown.
            as_of: the day on which the law should be in force, as `audit` takes it.

        Raises:
            LoadingError: the pipeline has filters of its own, and an audit reads the whole store.
        """
        if self._filters:
            raise LoadingError(
                "The pipeline serves a part of its law, and citations are checked against all of "
                "it. Serve a pipeline without filters first."
            )
        return audit(text, self._auditor, as_of)

    def laws(self) -> list[dict[str, Any]]:
        """The laws, in the collection's order: name, number of articles, languages."""
        articles = self._laws.current(self._store)
        if self._filters:
            allowed = set(matching_keys(self._store, self._filters).tolist())
            articles = [each for each in articles if each[0] in allowed]
        laws: dict[str, dict[str, Any]] = {}
        for _, name, language in articles:
            law = laws.setdefault(name, {"law": name, "articles": 0, "languages": []})
            law["articles"] += 1
            if language and language not in law["languages"]:
                law["languages"].append(language)
        return list(laws.values())

    def _allowed(self, keys: list[int]) -> bool:
        if not self._filters:
            return bool(keys)
        return bool(np.isin(keys, matching_keys(self._store, self._filters)).any())


def _laws(store: ReadableStore) -> list[tuple[int, str, str | None]]:
    """Key, law and language of every article."""
    metas = ((key, law_of(meta), language_of(meta)) for key, _, meta in store.metas())
    return [each for each in metas if each[1]]


def _read_out(document: Document, on: date) -> dict[str, Any]:
    found = found_article(document, on)
    return {key: value for key, value in found.items() if key not in _OF_A_SEARCH}
