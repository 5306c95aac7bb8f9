"""The third pass of indexing: laws into their place, each in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import networkx as nx
from haystack import Document
from tqdm import tqdm

from components.converters.articles import as_document
from components.statutes.article import counted
from components.stores.publishing import LawVectors, Published
from components.stores.rows import position_of
from components.stores.sqlite import StatuteDocumentStore
from pipelines.enriching import LawEnricher
from pipelines.merging import Merged


def publish_laws(
    merged: Merged,
    digests: Sequence[str],
    settled: Container[str],
    store: StatuteDocumentStore,
    enricher: LawEnricher | None,
    say: Callable[[str], object],
) -> int:
    """Publish law by law; how many documents changed.

    Where articles of the store must move to make room, everything is one transaction: a break must
    not leave two laws at the same places.

    Args:
        merged: what the store will hold.
        digests: of its articles' texts, by position in the corpus.
        settled: ids of articles of laws that are kept, whose vectors stay as they are.
        store: where they go; its journal has the vectors of all other texts.
        enricher: makes the vectors of these, where they go through a graph network.
        say: takes a line for the user.

    Raises:
        ModelError: the graph network gives vectors without a direction.
        StoreError: a vector is missing, or the disk is full.
    """
    documents = _Documents(merged, digests, settled, store)
    stale = enricher.stale_laws(merged.stored) if enricher else documents.unsettled_laws()
    groups = [
        [law for law in group if law in stale or law not in merged.kept]
        for group in _together(merged)
    ]
    groups = [group for group in groups if group]
    convert_to = enricher.chosen.record if enricher and enricher.chosen.converts else None
    # Nobody may find the bi-encoder's vectors and the network's side by side.
    if convert_to is not None or merged.shifts:
        groups = [[law for group in groups for law in group]]
    moved = merged.moved(stale)
    say(f"Publishing {counted(sum(map(len, groups)), 'law')}")
    enriched: Iterable[tuple[Sequence[str], dict[str, LawVectors]]]
    if enricher is None:
        _hold_moving(merged, digests, store)
        enriched = ((group, {}) for group in groups)
    else:
        enriched = enricher.in_turn(groups, stale)
    changed = 0
    bar = tqdm(enriched, desc="Publishing", unit="law", total=len(groups), disable=None)
    for laws, vectors in bar:
        changed += store.publisher.publish(
            documents.of(laws), vectors, convert_to=convert_to, moved=moved
        )
    return changed


@dataclass(frozen=True)
class _Documents:
    """The documents of laws, with the digests of their texts."""

    merged: Merged
    digests: Sequence[str]
    settled: Container[str]
    store: StatuteDocumentStore

    def of(self, laws: Sequence[str]) -> dict[str, list[tuple[Document, str | None]]]:
        """Each law's documents; none for a law that is removed."""
        return {law: list(self._of(law)) for law in laws}

    def unsettled_laws(self) -> set[str]:
        """Laws that are kept, and whose vectors are not all there."""
        return {
            article.law
            for article in self.merged.corpus
            if article.law in self.merged.kept and article.id not in self.settled
        }

    def _of(self, law: str) -> Iterator[tuple[Document, str | None]]:
        corpus, positions = self.merged.corpus, self.merged.positions
        if law in self.merged.in_file:
            for index in corpus.positions_of(law).tolist():
                article = corpus[index]
                yield as_document(article, positions[article.id]), self.digests[index]
        elif law in self.merged.kept:
            documents = self.store.fetch([each.key for each in self.merged.kept[law]])
            # Those without text come last, as `publish` wants those that have no digest.
            for document in sorted(documents, key=lambda each: not each.content):
                position = positions[document.id]
                if position != position_of(document):
                    document = replace(document, meta={**document.meta, "position": position})
                yield document, self._kept_digest(document)

    def _kept_digest(self, document: Document) -> str | None:
        if document.id in self.settled:
            return self.merged.stored[document.id].text_digest
        if not document.content:
            return None
        return self.digests[self.merged.corpus.position(document.id)]


def _hold_moving(merged: Merged, digests: Sequence[str], store: StatuteDocumentStore) -> None:
    """Journal the vectors of articles that will be replaced and are needed elsewhere."""
    model = store.model
    if model is None:
        return
    stored = merged.stored
    published = {each.text_digest for each in stored.values() if each.has_vector}
    moving = {
        digest
        for article, digest in zip(merged.corpus, digests, strict=True)
        if digest in published
        and stored.get(article.id) != Published(article.law, digest, has_vector=True)
    }
    store.journal.hold(model.digest, moving)


def _together(merged: Merged) -> list[list[str]]:
    """Laws old and new, grouped so that an article moves between laws in one transaction."""
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(merged.corpus.laws)
    graph.add_nodes_from(each.law for each in merged.stored.values())
    graph.add_edges_from(
        (merged.stored[article.id].law, article.law)
        for article in merged.corpus
        if article.id in merged.stored
    )
    return [sorted(group) for group in nx.connected_components(graph)]
