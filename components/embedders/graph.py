"""LegislativeGraphEmbedder: articles with vectors that depend on their place in the law."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Literal, get_args

import numpy as np
import torch
from haystack import Document, component
from haystack.utils import ComponentDevice
from torch import Tensor
from tqdm import tqdm

from components.converters.articles import LAW_ARTICLES, article_of
from components.embedders.text import load_encoder
from components.models.biencoder import BiEncoder
from components.models.devices import DtypeName
from components.models.encoding import EncodingReport
from components.models.graph import LegislativeGraphEncoder, Nodes, enriched, graph_for, node_texts
from components.models.registry import shared_graph
from components.parameters import AsyncWarmUp, StatuteComponent, check_documents, checked_device
from components.statutes.article import TextRule, counted, indexed_text
from components.statutes.corpus import StatuteCorpus
from components.stores.journal import text_digest
from components.stores.rows import position_of
from components.stores.sqlite import StatuteDocumentStore


class BaseVectors:
    """Looks texts up by their digest and the bi-encoder's, and encodes those that are not known.

    Args:
        encoder: the bi-encoder.
        store: may hold its vectors; None if there is none.
        progress_bar: whether to show on a terminal how many texts are encoded.

    Attributes:
        report: what has been encoded so far.
    """

    def __init__(
        self, encoder: BiEncoder, store: StatuteDocumentStore | None, progress_bar: bool
    ) -> None:
        self.report = EncodingReport()
        self._encoder = encoder
        self._store = store
        self._progress_bar = progress_bar

    def of(self, texts: Sequence[str]) -> Tensor:
        """Vectors of texts, float32 `[n, dim]`; equal texts are encoded once.

        Raises:
            StoreError: the store cannot be read.
        """
        digests = [text_digest(text) for text in texts]
        known = (
            {}
            if self._store is None
            else self._store.journal.vectors(self._encoder.digest, set(digests))
        )
        unknown = {
            digest: text for digest, text in zip(digests, texts, strict=True) if digest not in known
        }
        # None shows the bar on a terminal only.
        hidden = None if self._progress_bar else True
        with tqdm(total=len(unknown), desc="Encoding", unit="text", disable=hidden) as bar:
            encoded, report = self._encoder.encode_articles_report(
                list(unknown.values()), progress=bar.update
            )
        self.report += report
        known.update(zip(unknown, encoded.numpy(), strict=True))
        vectors = np.empty((len(texts), self._encoder.dim), dtype=np.float32)
        for row, digest in enumerate(digests):
            vectors[row] = known[digest]
        return torch.from_numpy(vectors)


def by_law(component: str, documents: Sequence[Document]) -> dict[str, list[Document]]:
    """The documents of each law, laws by first appearance.

    Args:
        component: name of the embedder, for the message.
        documents: what it was given.

    Raises:
        ValueError: a document names no law, or two have the same id.
    """
    laws: dict[str, list[Document]] = {}
    ids: set[str] = set()
    for document in documents:
        law = document.meta.get("law")
        if not isinstance(law, str) or not law:
            raise ValueError(
                f"document '{document.id}': meta.law is {law!r}. {component} needs the law that an "
                "article stands in; name it."
            )
        if document.id in ids:
            raise ValueError(f"document '{document.id}' is given twice. Give each article once.")
        ids.add(document.id)
        laws.setdefault(law, []).append(document)
    return laws


def incomplete_laws(
    laws: Mapping[str, Sequence[Document]], store: StatuteDocumentStore | None
) -> dict[str, str]:
    """Laws that are not known to be whole, each with the reason.

    A law is whole if it has as many documents as their `meta.law_articles` says. StatuteConverter
    writes that: the number of articles that the law has in its source. A source may be one amended
    section, so no article of the law in the store may be missing either. If the documents do not
    give the number, the store alone decides; a law about which neither says anything is not known
    to be whole.

    Args:
        laws: the documents of each law, with unique ids.
        store: holds the laws, or None.

    Raises:
        StoreError: the store cannot be read.
    """
    silent = {
        law
        for law, documents in laws.items()
        if all(_stated_size(each) is None for each in documents)
    }
    stored: dict[str, set[str]] = {}
    given = {each.id for documents in laws.values() for each in documents}
    if store is not None:
        for id_, law, _ in store.entries():
            if law in laws:
                stored.setdefault(law, set()).add(id_)
    reasons: dict[str, str] = {}
    for law, documents in laws.items():
        numbers = {_stated_size(each) for each in documents}
        if missing := stored.get(law, set()) - given:
            reasons[law] = (
                f"the store has {counted(len(missing), 'more article')} of it, such as "
                f"{min(missing)!r}; delete from the store what the law no longer has"
            )
        elif law in silent and law in stored:
            continue
        elif law in silent:
            reasons[law] = (
                "nothing says how many articles it has: its documents have no meta.law_articles "
                "(StatuteConverter writes it), and no store that holds it is given"
            )
        elif len(numbers) > 1:
            sizes = ", ".join(sorted(str(number) for number in numbers))
            reasons[law] = f"its documents do not agree on meta.law_articles ({sizes})"
        elif numbers != {len(documents)}:
            reasons[law] = f"{len(documents):,} of its {numbers.pop():,} articles are given"
    return reasons


def in_order(documents: Sequence[Document]) -> list[Document]:
    """Documents by `meta.position`; those without one come last, as they are given."""
    return sorted(documents, key=position_of)


def _stated_size(document: Document) -> int | None:
    number = document.meta.get(LAW_ARTICLES)
    return number if type(number) is int else None


IncompleteLaws = Literal["refuse", "without_graph"]
WITHOUT_GRAPH = "without_graph"


@component
class LegislativeGraphEmbedder(AsyncWarmUp, StatuteComponent):
    """Embeds the articles of whole laws with a bi-encoder and the graph network over it (G-DSR).

    ```python
    from components.converters.statutes import StatuteConverter
    from components.embedders.graph import LegislativeGraphEmbedder

    law = StatuteConverter().run(["aldermere"])["documents"]
    LegislativeGraphEmbedder(model="models/graph").run(law)["documents"][0].embedding
    ```

    An article's vector depends on its neighbours in the tree, so each law must be given whole;
    embedding law by law gives the same vectors as all laws at once. `incomplete_laws` in this
    module says when a law counts as whole.

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
        incomplete_laws: IncompleteLaws = "refuse",
        progress_bar: bool = True,
    ) -> None:
        """Keep the parameters; nothing is loaded.

        Args:
            model: the folder that `python -m training.graph` wrote. None is only a placeholder
                in YAML.
            device: where it runs; None takes the best available when it is loaded.
            dtype: what the bi-encoder computes in; "auto" takes bfloat16 where that is fast. The
                graph network computes in float32.
            store: where articles of other laws, and known vectors, are looked up.
            incomplete_laws: what to do with a law that is not known to be whole: refuse it, or
                embed it by the bi-encoder alone and flag it by `meta.without_graph`.
            progress_bar: whether to show on a terminal how many texts are encoded.

        Raises:
            TypeError: `device` is not a ComponentDevice.
            ValueError: `incomplete_laws` is neither of the two.
        """
        if incomplete_laws not in get_args(IncompleteLaws):
            raise ValueError(
                f"LegislativeGraphEmbedder.incomplete_laws is {incomplete_laws!r}; it must be "
                f"{' or '.join(map(repr, get_args(IncompleteLaws)))}."
            )
        self.model = model
        self.device = checked_device("LegislativeGraphEmbedder", device)
        self.dtype = dtype
        self.store = store
        self.incomplete_laws = incomplete_laws
        self.progress_bar = progress_bar
        self._models: tuple[BiEncoder, LegislativeGraphEncoder] | None = None

    def warm_up(self) -> None:
        """Load the bi-encoder and the graph network, once.

        Raises:
            ModelError: no model is named, it cannot be loaded, or it has no graph network.
        """
        self._loaded()

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
            `without_graph` the laws that were embedded without the graph, each with the reason;
            under `unresolved_citations` how many citations lead to no article; under
            `dependent_laws` the other laws of `store` whose vectors depend on these articles
            through citations: if the articles have changed, embed those laws again too.

        Raises:
            TypeError: `documents` is not a list of Documents.
            ValueError: a document has no content or no law, or is given twice; or a law is not
                known to be whole and `incomplete_laws` is "refuse".
            ModelError: no model is named, it cannot be loaded, or it has no graph network.
            StoreError: the store cannot be read.
        """
        check_documents("LegislativeGraphEmbedder", documents)
        laws = by_law("LegislativeGraphEmbedder", documents)
        incomplete = incomplete_laws(laws, self.store)
        if incomplete and self.incomplete_laws == "refuse":
            law, reason = next(iter(incomplete.items()))
            others = f" (and {len(incomplete) - 1:,} more laws)" if len(incomplete) > 1 else ""
            raise ValueError(
                f"the law {law!r} is not known to be whole: {reason}{others}. A graph network "
                "needs whole laws: give all articles of a law in one call, or set "
                "LegislativeGraphEmbedder.incomplete_laws to 'without_graph'."
            )
        encoder, network = self._loaded()
        base = BaseVectors(encoder, self.store, self.progress_bar)
        vectors: dict[str, list[float]] = {}
        unresolved, dependent = 0, list[str]()
        if whole := [each for law in laws if law not in incomplete for each in laws[law]]:
            graph_vectors, unresolved, dependent = self._through_graph(
                whole, network, base, encoder.text_rule
            )
            vectors.update(_by_id(whole, graph_vectors))
        if rest := [each for law in incomplete for each in laws[law]]:
            articles = map(article_of, rest)
            texts = [indexed_text(a.headings, a.text, encoder.text_rule) for a in articles]
            vectors.update(_by_id(rest, base.of(texts)))
        return {
            "documents": [
                replace(each, embedding=vectors[each.id], meta=_meta(each, incomplete))
                for each in documents
            ],
            "meta": {
                **asdict(base.report),
                "without_graph": incomplete,
                "unresolved_citations": unresolved,
                "dependent_laws": dependent,
            },
        }

    def _through_graph(
        self,
        documents: list[Document],
        network: LegislativeGraphEncoder,
        base: BaseVectors,
        rule: TextRule,
    ) -> tuple[Tensor, int, list[str]]:
        """Vectors of articles of whole laws; citations unresolved; other laws that see them."""
        others = self._other_laws(documents, network)
        corpus = StatuteCorpus(map(article_of, in_order([*documents, *others])))
        graph = graph_for(network, corpus)
        texts = list(node_texts(graph, corpus, rule))
        positions = [corpus.position(each.id) for each in documents]

        def features(nodes: Nodes) -> Tensor:
            return base.of([texts[node] for node in nodes])

        reached = graph.dependents(graph.article_nodes[positions], network.layers)
        laws = {corpus[node - graph.n_inner].law for node in reached if node >= graph.n_inner}
        dependent = sorted(laws - {each.meta["law"] for each in documents})
        return enriched(network, graph, positions, features), graph.unresolved, dependent

    def _other_laws(
        self, documents: list[Document], network: LegislativeGraphEncoder
    ) -> list[Document]:
        """Where the network follows citations, the articles of other laws in the store."""
        if self.store is None or "cites" not in network.edge_kinds:
            return []
        laws = {each.meta["law"] for each in documents}
        ids = {each.id for each in documents}
        return [
            each
            for each in self.store.fetch(self.store.keys_matching(None))
            if each.content
            and isinstance(law := each.meta.get("law"), str)
            and law not in laws
            and each.id not in ids
        ]

    def _loaded(self) -> tuple[BiEncoder, LegislativeGraphEncoder]:
        if self._models is None:
            encoder = load_encoder("LegislativeGraphEmbedder", self.model, self.device, self.dtype)
            device = self.device.to_torch_str() if self.device else None
            self._models = (encoder, shared_graph(str(self.model), device))
        return self._models


def _by_id(documents: list[Document], vectors: Tensor) -> dict[str, list[float]]:
    return dict(zip((each.id for each in documents), vectors.tolist(), strict=True))


def _meta(document: Document, incomplete: Mapping[str, str]) -> dict[str, Any]:
    """The document's meta with the flag, or without that of an earlier run."""
    meta = {name: value for name, value in document.meta.items() if name != WITHOUT_GRAPH}
    return {**meta, WITHOUT_GRAPH: True} if meta["law"] in incomplete else meta
