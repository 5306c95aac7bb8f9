"""Between encoding and publishing: what a graph network makes of the encoded vectors."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from components.models.graph import Nodes, enriched, graph_for, seen_by_articles
from components.statutes.corpus import StatuteCorpus
from components.stores.publishing import LawVectors, Published
from components.stores.rows import StoreError
from components.stores.sqlite import StatuteDocumentStore
from pipelines.encoding import CorpusTexts
from pipelines.model_choice import ChosenGraph
from pipelines.usable_vectors import check_usable

# Articles whose vectors are computed at once: bounds the memory, and what a kill costs.
_ARTICLES_AT_ONCE = 8_192


class LawEnricher:
    """The vectors of laws through a graph network, from the base vectors in the store's journal.

    A law is computed anew only where something changed that its vectors are made of: an article or
    heading of its own or, over citations, one as near as the network has layers.

    Args:
        chosen: the graph network.
        corpus: all laws.
        store: holds the base vectors.

    Attributes:
        chosen: the graph network.
        texts: what needs base vectors: titles, headings and articles.
        computed: how many laws were computed by this run.
    """

    def __init__(
        self, chosen: ChosenGraph, corpus: StatuteCorpus, store: StatuteDocumentStore
    ) -> None:
        self.chosen = chosen
        self._graph = graph_for(chosen.network, corpus)
        self.texts = CorpusTexts(corpus, chosen.record.text_rule, self._graph.labels)
        self._store = store
        self.computed = 0

    def report(self) -> dict[str, Any]:
        """What the graph consists of, and how many laws were computed."""
        return {**self._graph.report(), "laws_computed": self.computed}

    def stale_laws(self, stored: Mapping[str, Published]) -> set[str]:
        """Laws whose vectors in the store are not what the network makes of this corpus.

        Args:
            stored: what the store holds, by article id.
        """
        corpus = self.texts.corpus
        digests = self.texts.article_digests
        published = self._store.publisher.law_states()
        return {
            law
            for law, state in self._states.items()
            if published.get(law) != state
            or any(
                stored.get(corpus[position].id) != Published(law, digests[position], True)
                for position in corpus.positions_of(law)
            )
        }

    def in_turn(
        self, groups: Sequence[Sequence[str]], stale: set[str]
    ) -> Iterator[tuple[Sequence[str], dict[str, LawVectors]]]:
        """Each group of laws with the new vectors of its stale ones.

        Args:
            groups: laws that are published together.
            stale: laws to compute.

        Raises:
            ModelError: the network gives vectors without a direction.
            StoreError: a base vector is not in the journal.
        """
        for batch in self._batches(groups, stale):
            vectors = self._vectors([law for group in batch for law in group if law in stale])
            for group in batch:
                yield group, {law: vectors[law] for law in group if law in vectors}

    def _batches(
        self, groups: Iterable[Sequence[str]], stale: set[str]
    ) -> Iterator[list[Sequence[str]]]:
        batch: list[Sequence[str]] = []
        size = 0
        for group in groups:
            batch.append(group)
            size += sum(len(self.texts.corpus.positions_of(law)) for law in group if law in stale)
            if size >= _ARTICLES_AT_ONCE:
                yield batch
                batch, size = [], 0
        yield batch

    def _vectors(self, laws: Sequence[str]) -> dict[str, LawVectors]:
        if not laws:
            return {}
        corpus = self.texts.corpus
        positions = [corpus.positions_of(law) for law in laws]
        together = np.concatenate(positions)
        matrix = enriched(self.chosen.network, self._graph, together, self._features).numpy()
        check_usable(
            matrix,
            f"The graph network of {self.chosen.record.path}",
            lambda row: self.texts.name(len(self.texts.labels) + int(together[row])),
            "Train it again.",
        )
        self.computed += len(laws)
        ends = np.cumsum([len(each) for each in positions])[:-1]
        return {
            law: LawVectors(self._states[law], part)
            for law, part in zip(laws, np.split(matrix, ends), strict=True)
        }

    def _features(self, nodes: Nodes) -> Tensor:
        digests = [self.texts.digests[node] for node in nodes]
        biencoder = self.chosen.record.biencoder_digest
        known = self._store.journal.vectors(biencoder, set(digests))
        features = np.empty((len(nodes), self.chosen.record.dim), dtype=np.float32)
        for row, (node, digest) in enumerate(zip(nodes, digests, strict=True)):
            if digest not in known:
                raise StoreError(
                    f"{self._store.path}: the vector of {self.texts.name(int(node))} is not in "
                    "the journal. Another process may be indexing into this store: run one at a "
                    "time, then run the same command again."
                )
            features[row] = known[digest]
        return torch.from_numpy(features)

    @cached_property
    def _states(self) -> dict[str, str]:
        """What each law's vectors are made of, as a digest."""
        corpus = self.texts.corpus
        seen = seen_by_articles(self.chosen.network, self._graph, self.texts.digests)
        states: dict[str, str] = {}
        for law in corpus.laws:
            state = hashlib.sha256()
            for position in corpus.positions_of(law):
                state.update(corpus[position].id.encode() + b"\0" + seen[position])
            states[law] = state.hexdigest()
        return states
