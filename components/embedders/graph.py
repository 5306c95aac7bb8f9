"""LegislativeGraphEmbedder: articles with vectors that depend on their place in the law."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from haystack import Document, component
from haystack.utils import ComponentDevice
from tqdm import tqdm

from components.converters.articles import LAW_ARTICLES, article_of
from components.embedders.text import BiEncoderComponent
from components.models.folder import DtypeName
from components.parameters import check_documents
from components.statutes.corpus import StatuteCorpus
from components.statutes.extras import needs_extra
from components.stores.database import position_of
from components.stores.sqlite import StatuteDocumentStore

with needs_extra("LegislativeGraphEmbedder", "models"):
    from torch import Tensor

    from components.models.encoding import EncodingReport
    from components.models.graph import (
        LegislativeGraphEncoder,
        Nodes,
        enriched,
        graph_for,
        node_texts,
    )
    from components.models.registry import shared_graph


@component
class LegislativeGraphEmbedder(BiEncoderComponent):
    """Embeds the articles of whole laws with a bi-encoder and the graph network over it (G-DSR).

    ```python
    from components.converters.statutes import StatuteConverter
    from components.embedders.graph import LegislativeGraphEmbedder

    law = StatuteConverter().run(["aldermere"])["documents"]
    LegislativeGraphEmbedder(model="models/graph").run(law)["documents"][0].embedding
    ```

    An article's vector depends on its neighbours in the tree, so each law must be given whole;
    embedding law by law gives the same vectors as all laws at once. A law is whole if it has as
    many documents as their `meta.law_articles` says, which StatuteConverter writes, and no article
    of it in `store` is missing; without that number `store` alone decides.

    A network that was trained with citations sees the articles of other laws too. They are taken
    from `store`: what it holds beyond the given documents counts as the rest of the corpus. Without
    a store the documents are the whole corpus, and citations that lead out of them are counted as
    unresolved. Questions are embedded by StatuteTextEmbedder, with the same model.
    """

    def __init__(
        self,
        model: str | None = None,
        device: ComponentDevice | None = None,
        dtype: DtypeName = "auto",
        store: StatuteDocumentStore | None = None,
        progress_bar: bool = True,
    ) -> None:
        """Keep the parameters; nothing is loaded.

        Args:
            model: the folder that `python -m training.graph` wrote. None is only a placeholder
                in YAML.
            device: where it runs; None takes the best available when it is loaded.
            dtype: what the bi-encoder computes in; "auto" takes bfloat16 where that is fast. The
                graph network computes in float32.
            store: where the articles of other laws are looked up.
            progress_bar: whether to show on a terminal how many texts are encoded.

        Raises:
            TypeError: `device` is not a ComponentDevice.
        """
        BiEncoderComponent.__init__(self, model, device, dtype)
        self.store = store
        self.progress_bar = progress_bar
        self._network: LegislativeGraphEncoder | None = None

    def warm_up(self) -> None:
        """Load the bi-encoder and the graph network, once.

        Raises:
            ModelError: no model is named, it cannot be loaded, or it has no graph network.
        """
        self.loaded()
        self._loaded_network()

    def close(self) -> None:
        """Close the store; the next documents open it again."""
        if self.store is not None:
            self.store.close()

    async def close_async(self) -> None:
        """`close` without blocking the event loop."""
        if self.store is not None:
            await self.store.close_async()

    @component.output_types(documents=list[Document], meta=dict[str, Any])
    def run(self, documents: list[Document]) -> dict[str, Any]:
        """Embed the articles of whole laws.

        Args:
            documents: with content and `meta.law`; `meta.headings` are the divisions above each,
                `meta.position` its place in the corpus (those without one come last, in the order
                given).

        Returns:
            `documents`: new ones with `embedding`, `[dim]`, in the same order.
            `meta`: how much was encoded and how much was cut off for being too long; under
            `unresolved_citations` how many citations lead to no article.

        Raises:
            TypeError: `documents` is not a list of Documents.
            ValueError: a document has no content or no law, or is given twice; or a law is not
                known to be whole.
            ModelError: no model is named, it cannot be loaded, or it has no graph network.
            StoreError: the store cannot be read.
        """
        check_documents("LegislativeGraphEmbedder", documents)
        laws = _by_law(documents)
        _check_whole(laws, self.store)
        encoder, network = self.loaded(), self._loaded_network()
        report = EncodingReport()
        if not documents:
            return {"documents": [], "meta": {**asdict(report), "unresolved_citations": 0}}
        # What has no position comes last, in the order given: the sort is stable.
        everything = [*documents, *self._other_laws(laws, network)]
        everything.sort(key=lambda each: position_of(each.meta))
        corpus = StatuteCorpus(map(article_of, everything))
        graph = graph_for(network, corpus)
        texts = list(node_texts(graph, corpus, encoder.text_rule))

        def features(nodes: Nodes) -> Tensor:
            nonlocal report
            # None shows the bar on a terminal only.
            hidden = None if self.progress_bar else True
            with tqdm(total=len(nodes), desc="Encoding", unit="text", disable=hidden) as bar:
                vectors, report = encoder.encode_articles_report(
                    [texts[node] for node in nodes], progress=bar.update
                )
            return vectors

        positions = [corpus.position(document.id) for document in documents]
        vectors = enriched(network, graph, positions, features).tolist()
        return {
            "documents": [
                replace(document, embedding=vector)
                for document, vector in zip(documents, vectors, strict=True)
            ],
            "meta": {**asdict(report), "unresolved_citations": graph.unresolved},
        }

    def _other_laws(
        self, laws: Mapping[str, Sequence[Document]], network: LegislativeGraphEncoder
    ) -> list[Document]:
        """Where the network follows citations, the articles of other laws in the store."""
        if self.store is None or "cites" not in network.edge_kinds:
            return []
        given = {document.id for documents in laws.values() for document in documents}
        return [
            document
            for document in self.store.fetch(self.store.keys_matching(None))
            if document.content
            and isinstance(law := document.meta.get("law"), str)
            and law not in laws
            and document.id not in given
        ]

    def _loaded_network(self) -> LegislativeGraphEncoder:
        if self._network is None:
            device = self.device.to_torch_str() if self.device else None
            self._network = shared_graph(str(self.model), device)
        return self._network


def _by_law(documents: Sequence[Document]) -> dict[str, list[Document]]:
    """The documents of each law, laws by first appearance."""
    laws: dict[str, list[Document]] = {}
    ids: set[str] = set()
    for document in documents:
        law = document.meta.get("law")
        if not isinstance(law, str) or not law:
            raise ValueError(f"document '{document.id}': meta.law is {law!r}; name its law.")
        if document.id in ids:
            raise ValueError(f"document '{document.id}' is given twice. Give each article once.")
        ids.add(document.id)
        laws.setdefault(law, []).append(document)
    return laws


def _check_whole(
    laws: Mapping[str, Sequence[Document]], store: StatuteDocumentStore | None
) -> None:
    """Refuse a law that is not known to be whole, with the reason.

    A source may be one amended section, which says truly that it has one article of the law: so no
    article of the law in the store may be missing either.
    """
    stored: dict[str, set[str]] = {}
    if store is not None:
        for id_, law, _ in store.entries():
            if law in laws:
                stored.setdefault(law, set()).add(id_)
    given = {document.id for documents in laws.values() for document in documents}
    for law, documents in laws.items():
        missing = stored.get(law, set()) - given
        sizes = {document.meta.get(LAW_ARTICLES) for document in documents}
        is_counted = sizes == {len(documents)} or (sizes == {None} and law in stored)
        if missing or not is_counted:
            counts = ", ".join(sorted(map(str, sizes)))
            raise ValueError(
                f"the law {law!r} is not known to be whole: {len(documents):,} articles are given, "
                f"meta.law_articles says {counts}, and the store has {len(missing)} more "
                f"{sorted(missing)[:1]}. Give all articles of a law in one call."
            )
