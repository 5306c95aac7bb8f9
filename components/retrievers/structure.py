"""StructureExpander: found articles with their neighbours in the law and its definitions."""

from collections.abc import Hashable
from dataclasses import replace
from datetime import date
from typing import Any

from haystack import Document, component
from haystack.document_stores.types import DocumentStore

from components.converters.articles import language_of
from components.parameters import check_count
from components.retrievers.citation import CitationRetriever, by_wording
from components.retrievers.definitions import definitions_with
from components.retrievers.resident import (
    IndexReader,
    ReadableStore,
    ResidentIndex,
    matching_keys,
    resident_index,
    settled,
    validity_of,
)
from components.retrievers.validity import TODAY, Validity, asked_day, checked_as_of

_OF_A_NEIGHBOUR = ("law", "number", "headings", "valid_from", "valid_to", "source_url", "language")


class _Places:
    """The order of articles in their law."""

    def __init__(self, store: ReadableStore) -> None:
        self.before: dict[str, str] = {}
        self.after: dict[str, str] = {}
        last: dict[str, str] = {}
        self.known: set[str] = set()
        for id_, law, _ in store.entries():
            self.known.add(id_)
            if law in last:
                self.before[id_] = last[law]
                self.after[last[law]] = id_
            last[law] = id_


@component
class StructureExpander(IndexReader[_Places]):
    """Attaches to each found article its neighbours in the law, and the law's definitions.

    ```python
    from components.retrievers.structure import StructureExpander
    from components.stores.sqlite import StatuteDocumentStore

    expander = StructureExpander(StatuteDocumentStore("adgm.db"))
    expander.run(documents=[])["documents"]
    ```

    A neighbour is the article before or after in the same law, or one that the article cites.
    They are in `meta["neighbours"]`, each a dictionary with `id`, `content`, the article's
    metadata, and `relation`: "previous", "next" or "cited".

    The definitions are those of terms that the first articles use and their law defines, at most
    five (`components.statutes.definitions.definitions_for` says which). Each is in
    `meta["definitions"]` of the first article that uses it, as
    `components.retrievers.definitions.definitions_with` describes it, with the `content` and the
    metadata of the article that defines it. None is of an article that was found.
    """

    def __init__(
        self,
        document_store: DocumentStore,
        adjacent: int = 1,
        cited: int = 3,
        as_of: str = TODAY,
        refresh_seconds: float = 60,
    ) -> None:
        """Keep the parameters; nothing is opened.

        Args:
            document_store: where the articles are.
            adjacent: how many articles to attach on each side.
            cited: how many cited articles to attach at most, in the order of their citations.
            as_of: skips neighbours that were not in force: "today", a day as YYYY-MM-DD, or
                "any". Articles without dates always stay, unless they are stubs.
            refresh_seconds: how old the last read of a foreign store may be before it is read
                again; the shortest of all retrievers over one store counts. Lexarbor's own
                store is always up to date.

        Raises:
            ValueError: a number is negative, or `as_of` neither "today", "any" nor a day.
        """
        check_count("StructureExpander.adjacent", adjacent, 0)
        check_count("StructureExpander.cited", cited, 0)
        self.adjacent = adjacent
        self.cited = cited
        self.as_of = checked_as_of("StructureExpander", as_of)
        self._read_from(document_store, refresh_seconds)
        self._citations = CitationRetriever(document_store, refresh_seconds=refresh_seconds)

    @component.output_types(documents=list[Document])
    def run(
        self,
        documents: list[Document],
        filters: dict[str, Any] | None = None,
        as_of: str | None = None,
        query: str = "",
    ) -> dict[str, list[Document]]:
        """Attach neighbours and definitions.

        Args:
            documents: articles of the store, best first; others get neither.
            filters: Haystack filters that neighbours and definitions must match, too.
            as_of: in place of the component's; "today" is the day of the call.
            query: the question: words of the law that it uses are explained even if they are
                common there.

        Returns:
            `documents`: in the same order, each with `meta["neighbours"]` and
            `meta["definitions"]`, without embedding.

        Raises:
            FilterError: the filters are malformed.
            ValueError: `as_of` is neither "today", "any" nor a day.
            StoreError: the store cannot be read.
        """
        day = asked_day("StructureExpander", self.as_of if as_of is None else as_of)

        def find(state: Hashable) -> tuple[list[Document], bool]:
            validity = validity_of(self._store, state)
            related = [self._related(each, state, validity, day) for each in documents]
            known = [each for each in documents if each.id in self.current_index(state).known]
            defined = definitions_with(self._store, known, query, filters, day, state)
            ids = {id_ for each in related for id_ in each} | {each["id"] for each in defined}
            keys = self._store.keys_of(ids)
            keys = matching_keys(self._store, validity, filters, keys)
            found = {each.id: each for each in self._store.fetch(keys)}
            expanded = []
            for document, each in zip(documents, related, strict=True):
                pairs = ((found.get(id_), relation) for id_, relation in each.items())
                neighbours = [_neighbour(near, relation) for near, relation in pairs if near]
                used = [
                    {**_described(found[each["id"]]), **each}
                    for each in defined
                    if each["used_in"] == document.id and each["id"] in found
                ]
                meta = {**document.meta, "neighbours": neighbours, "definitions": used}
                expanded.append(replace(document, meta=meta, embedding=None))
            return expanded, len(found) == len(keys)

        return {"documents": settled(self._store, find)}

    def _related(
        self, document: Document, state: Hashable, validity: Validity, day: date | None
    ) -> dict[str, str]:
        """Id and relation of each neighbour: before, nearest first, after, then cited."""
        places, unlisted = self.current_index(state), validity.on(day).unlisted
        related: dict[str, str] = {}
        if document.id not in places.known:
            return related
        for relation, step in (("previous", places.before), ("next", places.after)):
            id_, found = step.get(document.id), 0
            while id_ is not None and found < self.adjacent:
                if id_ not in unlisted:
                    related[id_] = relation
                    found += 1
                id_ = step.get(id_)
        cited = self._citations.current_index(state).resolve(
            document.content or "", within=document.id, language=language_of(document.meta)
        )
        # A range ("sections 4 to 90") or a citation in doubt is not a neighbour.
        cited = [each for each in by_wording(cited, validity, day or date.today()) if each.certain]
        certain = dict.fromkeys(each.ids[0] for each in cited)
        others = [id_ for id_ in certain if id_ != document.id and id_ not in unlisted]
        for id_ in others[: self.cited]:
            related.setdefault(id_, "cited")
        return related

    def _shared_index(self) -> ResidentIndex[_Places]:
        return resident_index(self._store, "structure", _Places)


def _neighbour(document: Document, relation: str) -> dict[str, Any]:
    return {"id": document.id, "relation": relation, **_described(document)}


def _described(document: Document) -> dict[str, Any]:
    meta = {key: document.meta[key] for key in _OF_A_NEIGHBOUR if document.meta.get(key)}
    return {"content": document.content or "", **meta}
