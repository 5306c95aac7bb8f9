"""What the bi-encoder finds by itself, where a store's vectors went through a graph network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from haystack import Pipeline
from numpy.typing import NDArray

from components.models.dense_index import DenseIndex
from components.stores.journal import text_digest
from components.stores.sqlite import StatuteDocumentStore
from pipelines.stages import DENSE, GRAPH, Outputs, Stage, kind_of


@dataclass(frozen=True)
class BeforeGraph:
    """A search of the base vectors, which stay in a store under those of the graph network.

    Attributes:
        graph: the stage that searches the vectors of the network.
        stage: "dense", as if a component beside it had searched the base vectors.
    """

    graph: Stage
    stage: Stage
    _embedding: tuple[str, str]
    _store: StatuteDocumentStore
    _keys: NDArray[np.int64]
    _index: DenseIndex

    @classmethod
    def of(cls, pipeline: Pipeline, stages: Sequence[Stage]) -> BeforeGraph | None:
        """The search beside the one stage of a pipeline that is a graph's.

        Args:
            pipeline: the pipeline.
            stages: its stages.

        Returns:
            None where not exactly one stage is a graph's, where one is called "dense" already, or
            where the store lacks base vectors (`python -m pipelines.index --graph` keeps them).

        Raises:
            StoreError: the store cannot be read.
        """
        # By class: a component of any kind may be called "graph".
        graphs = [
            stage for stage in stages if kind_of(pipeline.get_component(stage.component)) == GRAPH
        ]
        if len(graphs) != 1 or any(stage.name == DENSE for stage in stages):
            return None
        graph = graphs[0]
        retriever: Any = pipeline.get_component(graph.component)
        store: StatuteDocumentStore = retriever.document_store
        assert store.model is not None
        searched = set(store.keys_matching(retriever.filters).tolist())
        digests = {key: text_digest(text) for key, text, _ in store.texts() if key in searched}
        base = store.journal.vectors(store.model.biencoder_digest, set(digests.values()))
        if not base or base.keys() != set(digests.values()):
            return None
        vectors = np.array([base[digest] for digest in digests.values()])
        return cls(
            graph=graph,
            stage=replace(graph, name=DENSE, component=f"{graph.component} before the graph"),
            _embedding=_what_it_searches_for(pipeline, graph.component),
            _store=store,
            _keys=np.array(list(digests), dtype=np.int64),
            _index=DenseIndex(vectors, device="cpu"),
        )

    @property
    def asks(self) -> str:
        """The component whose output is searched for."""
        return self._embedding[0]

    def added(self, outputs: Outputs) -> Outputs:
        """A run's outputs, and what the search finds in the same run, as deep as the graph's."""
        component, socket = self._embedding
        question = np.array([outputs[component][socket]], dtype=np.float32)
        depth = len(self._index) if self.stage.top_k is None else self.stage.top_k
        found = self._store.fetch(self._keys[self._index.search(question, depth)[1][0]])
        return {**outputs, self.stage.component: {"documents": found}}


def _what_it_searches_for(pipeline: Pipeline, retriever: str) -> tuple[str, str]:
    return next(
        (sender, edge["from_socket"].name)
        for sender, _, edge in pipeline.graph.in_edges(retriever, data=True)
        if edge["to_socket"].name == "query_embedding"
    )
