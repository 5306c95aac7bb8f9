"""What a store that was indexed through a graph holds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from components.models.folder import model_digest
from components.models.graph import GraphTensors, LegislativeGraphEncoder, graph_for, node_texts
from components.models.stored_vectors import text_digest
from components.statutes.corpus import StatuteCorpus
from components.stores.sqlite import StatuteDocumentStore
from pipelines.indexing import IndexReport

Article = dict[str, Any]
Index = Callable[..., IndexReport]
LAWS = 3


def computed(report: IndexReport) -> int:
    assert report.graph is not None
    return int(report.graph["laws_computed"])


def assert_complete(
    store: StatuteDocumentStore, source: Path, model: Path, atol: float = 2e-6
) -> None:
    """The store holds this corpus, its vectors those of one pass over the whole graph."""
    corpus = StatuteCorpus.read(source)
    network = LegislativeGraphEncoder.load(model / "graph")
    graph = graph_for(network, corpus)
    digests = [text_digest(text) for text in node_texts(graph, corpus, "headings_text")]
    base = store.journal.vectors(model_digest(model), set(digests))
    features = torch.from_numpy(np.stack([base[digest] for digest in digests]))
    with torch.no_grad():
        vectors = network(features, GraphTensors.of(graph))[graph.n_inner :]
    expected = torch.nn.functional.normalize(vectors, dim=1).numpy()
    documents = store.filter_documents()
    assert [each.id for each in documents] == corpus.ids
    found = np.array([each.embedding for each in documents], dtype=np.float32)
    np.testing.assert_allclose(found, expected, atol=atol)
    assert store.journal.known(model_digest(model)) == set(digests)  # and no more than is needed


def vectors_by_law(store: StatuteDocumentStore) -> dict[str, list[tuple[str, list[float] | None]]]:
    laws: dict[str, list[tuple[str, list[float] | None]]] = {}
    for document in store.filter_documents():
        laws.setdefault(document.meta["law"], []).append((document.id, document.embedding))
    return laws
