"""The third pass of indexing: laws into their place, each in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import networkx as nx
from haystack import Document
from tqdm import tqdm

from components.converters.articles import as_document
from components.statutes.corpus import StatuteCorpus
from components.stores.publishing import Published
from components.stores.sqlite import StatuteDocumentStore
from pipelines.enriching import LawEnricher


def publish_laws(
    corpus: StatuteCorpus,
    digests: Sequence[str],
    stored: Mapping[str, Published],
    store: StatuteDocumentStore,
    enricher: LawEnricher | None,
    say: Callable[[str], object],
) -> int:
    """Publish law by law; how many documents changed.

    Args:
        corpus: the articles.
        digests: of their texts, by position.
        stored: what the store holds, by article id.
        store: where they go; its journal has the vectors of all texts.
        enricher: makes the vectors of these, where they go through a graph network.
        say: takes a line for the user.

    Raises:
        ModelError: the graph network gives vectors without a direction.
        StoreError: a vector is missing, or the disk is full.
    """
    documents = _Documents(corpus, digests, frozenset(corpus.laws))
    groups = _together(corpus, stored)
    say(f"Publishing {len(corpus.laws):,} laws")
    changed = 0
    if enricher is None:
        _hold_moving(corpus, digests, stored, store)
        for group in tqdm(groups, desc="Publishing", unit="law", disable=None):
            changed += store.publisher.publish(documents.of(group))
        return changed
    stale = enricher.stale_laws(stored)
    convert_to = enricher.chosen.record if enricher.chosen.converts else None
    if convert_to is not None:
        # Nobody may find the bi-encoder's vectors and the network's side by side.
        groups = [[law for group in groups for law in group]]
    enriched = enricher.in_turn(groups, stale)
    bar = tqdm(enriched, desc="Publishing", unit="law", total=len(groups), disable=None)
    for laws, vectors in bar:
        changed += store.publisher.publish(documents.of(laws), vectors, convert_to=convert_to)
    return changed


@dataclass(frozen=True)
class _Documents:
    """The articles of laws as documents, with the digests of their texts."""

    corpus: StatuteCorpus
    digests: Sequence[str]
    laws: frozenset[str]

    def of(self, laws: Sequence[str]) -> dict[str, list[tuple[Document, str]]]:
        """Each law's documents; none for a law that the corpus no longer has."""
        return {law: self._of(law) if law in self.laws else [] for law in laws}

    def _of(self, law: str) -> list[tuple[Document, str]]:
        return [
            (as_document(self.corpus[position], position), self.digests[position])
            for position in self.corpus.positions_of(law).tolist()
        ]


def _hold_moving(
    corpus: StatuteCorpus,
    digests: Sequence[str],
    stored: Mapping[str, Published],
    store: StatuteDocumentStore,
) -> None:
    """Journal the vectors of articles that will be replaced and are needed elsewhere."""
    model = store.model
    if model is None:
        return
    published = {each.text_digest for each in stored.values() if each.has_vector}
    moving = {
        digest
        for article, digest in zip(corpus, digests, strict=True)
        if digest in published
        and stored.get(article.id) != Published(article.law, digest, has_vector=True)
    }
    store.journal.hold(model.digest, moving)


def _together(corpus: StatuteCorpus, stored: Mapping[str, Published]) -> list[list[str]]:
    """Laws old and new, grouped so that an article moves between laws in one transaction."""
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(corpus.laws)
    graph.add_nodes_from(each.law for each in stored.values())
    graph.add_edges_from(
        (stored[article.id].law, article.law) for article in corpus if article.id in stored
    )
    return [sorted(group) for group in nx.connected_components(graph)]
