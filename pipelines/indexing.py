"""index_corpus: index a corpus into a store, in three passes that can be interrupted anywhere."""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from haystack import Document
from numpy.typing import NDArray
from tqdm import tqdm

from components.converters.articles import article_of, as_document
from components.models.folder import ModelError
from components.models.stored_vectors import text_digest
from components.retrievers.answered import adopt_answered, has_unread
from components.retrievers.bm25 import StatuteBM25Retriever, keep_lay_words
from components.retrievers.embedding import (
    record_long_articles,
    record_weight,
    recorded_weight,
)
from components.retrievers.guides import articles_in, encoded_by, keep_guides, kept_guides
from components.retrievers.lists import LawIndex
from components.statutes.article import Article, TextRule, articles_of_laws, counted, indexed_text
from components.statutes.citations.laws import LawNames
from components.statutes.corpus import StatuteCorpus
from components.statutes.guides import GuideFile, Guides, KeptGuide, read_guides
from components.statutes.identity import DistinctLaws, names_of_laws
from components.statutes.languages import known_language
from components.statutes.lay_words import LayEntry, read_lay_words
from components.statutes.lexical import K1, B
from components.statutes.provisions import is_long, provision_texts
from components.statutes.question import Question
from components.stores.database import StoreError, position_of
from components.stores.publishing import LawVectors, Place, Published, arrange
from components.stores.sqlite import StatuteDocumentStore
from pipelines.checking import LoadingError
from pipelines.loading import (
    ChosenGraph,
    ChosenModel,
    Say,
    choose_graph,
    choose_model,
    load_pipeline,
    store_with_articles,
)
from pipelines.weights import (
    has_learned_fusion,
    keep_answered,
    measure_weight,
    read_answered,
)

if TYPE_CHECKING:
    from torch import Tensor

    from components.models.biencoder import BiEncoder
    from components.models.graph import Nodes

_NAMED = 5  # laws, languages or articles that a message names


def say_unknown(languages: Mapping[str | None, int], say: Say) -> None:
    """Report how many articles are in an unknown language, or name none.

    Args:
        languages: how many articles are in each.
        say: takes lines for the user.
    """
    unknown = {tag: n for tag, n in languages.items() if not known_language(tag)}
    if unknown:
        named = ", ".join(repr(tag) if tag else "none given" for tag in list(unknown)[:_NAMED])
        say(
            f"Articles in an unknown language: {sum(unknown.values()):,} ({named}). Their words "
            'are matched unchanged. Languages are written as in BCP 47: "en", "fr-BE".'
        )


def check_usable(vectors: NDArray[np.float32], model: str, name: Callable[[int], str]) -> None:
    """Check that every vector has a direction.

    Args:
        vectors: `[n, dim]`.
        model: where they come from, for the message.
        name: names what a row is the vector of.

    Raises:
        ModelError: one holds NaN or infinity, or zeros alone; names the first.
    """
    usable = np.isfinite(vectors).all(axis=1) & vectors.any(axis=1)
    if not usable.all():
        faulty = name(int(usable.argmin()))
        raise ModelError(f"{model} gives NaN or zeros for {faulty}. Use another model.")


# The second pass of indexing: texts without known vectors are encoded and journalled.

_BLOCK = {"cpu": 256}  # texts by device


@dataclass(frozen=True)
class CorpusTexts:
    """The texts of a corpus that get vectors: titles and headings, then articles.

    Attributes:
        corpus: the articles.
        rule: which parts of an article are encoded.
        labels: titles and headings, which a graph network builds on; () without one.
    """

    corpus: StatuteCorpus
    rule: TextRule
    labels: Sequence[str] = ()

    def __getitem__(self, index: int) -> str:
        if index < len(self.labels):
            return self.labels[index]
        article = self.corpus[index - len(self.labels)]
        return indexed_text(article.headings, article.text, self.rule)

    def __len__(self) -> int:
        return len(self.labels) + len(self.corpus)

    @cached_property
    def digests(self) -> list[str]:
        """Digest of every text."""
        return [text_digest(self[index]) for index in range(len(self))]

    @property
    def article_digests(self) -> list[str]:
        """Digest of every article's text, by position."""
        return self.digests[len(self.labels) :]

    def article_id(self, index: int) -> str | None:
        """The id of the article whose text it is; None for a title or heading."""
        return None if index < len(self.labels) else self.corpus[index - len(self.labels)].id

    def name(self, index: int) -> str:
        """What the text is, for messages."""
        if index < len(self.labels):
            return f"the heading '{self.labels[index]}'"
        article = self.corpus[index - len(self.labels)]
        return f"article '{article.id}' of {article.law}"


def block_size(model: ChosenModel) -> int:
    """How many texts are encoded between two writes; a kill costs at most one block."""
    return _BLOCK.get(model.encoder.device.type, 4_096)


class LawEnricher:
    """The vectors of laws through a graph network, from the base vectors in the store's journal.

    A law is computed again only if its vectors' inputs changed: an article or heading of its own
    or, over citations, one within as many steps as the network has layers.

    Args:
        chosen: the graph network.
        corpus: all laws.
        store: holds the base vectors.

    Attributes:
        chosen: the graph network.
        texts: texts that need base vectors: titles, headings and articles.
        computed: how many laws were computed by this run.
    """

    def __init__(
        self, chosen: ChosenGraph, corpus: StatuteCorpus, store: StatuteDocumentStore
    ) -> None:
        from components.models.graph import graph_for

        self.chosen = chosen
        self._graph = graph_for(chosen.network, corpus)
        self.texts = CorpusTexts(corpus, chosen.record.text_rule, self._graph.labels)
        self._store = store
        self.computed = 0

    def report(self) -> dict[str, Any]:
        """What the graph consists of, and how many laws were computed."""
        return {**self._graph.report(), "laws_computed": self.computed}

    def stale_laws(self, stored: Mapping[str, Published]) -> set[str]:
        """Laws whose vectors in the store differ from the network's vectors of this corpus.

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

    def vectors(self, laws: Sequence[str]) -> dict[str, LawVectors]:
        """The new vectors of laws.

        Raises:
            ModelError: the network gives vectors without a direction.
            StoreError: a base vector is not in the journal.
        """
        from components.models.graph import enriched

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
        )
        self.computed += len(laws)
        ends = np.cumsum([len(each) for each in positions])[:-1]
        return {
            law: LawVectors(self._states[law], part)
            for law, part in zip(laws, np.split(matrix, ends), strict=True)
        }

    def _features(self, nodes: Nodes) -> Tensor:
        import torch

        digests = [self.texts.digests[node] for node in nodes]
        biencoder = self.chosen.record.biencoder_digest
        known = self._store.journal.vectors(biencoder, set(digests))
        features = np.empty((len(nodes), self.chosen.record.dim), dtype=np.float32)
        for row, (node, digest) in enumerate(zip(nodes, digests, strict=True)):
            if digest not in known:
                raise StoreError(
                    f"{self._store.path}: the vector of {self.texts.name(int(node))} is not in "
                    "the journal. Run the same command again, one process at a time."
                )
            features[row] = known[digest]
        return torch.from_numpy(features)

    @cached_property
    def _states(self) -> dict[str, str]:
        """A digest of the inputs of each law's vectors."""
        from components.models.graph import seen_by_articles

        corpus = self.texts.corpus
        seen = seen_by_articles(self.chosen.network, self._graph, self.texts.digests)
        states: dict[str, str] = {}
        for law in corpus.laws:
            state = hashlib.sha256()
            for position in corpus.positions_of(law):
                state.update(corpus[position].id.encode() + b"\0" + seen[position])
            states[law] = state.hexdigest()
        return states


# The content of a store after indexing: the file's laws, and the stored ones that stay.

_DOCUMENTS_AT_ONCE = 2_000  # limits memory: only their articles are kept


@dataclass(frozen=True)
class Merged:
    """The law that the store will hold.

    Attributes:
        corpus: the articles, in the order of the law, including other writers' documents with text.
        positions: their places in the store, by id.
        stored: what the store holds now, by id.
        kept: documents of laws that the file does not have, by law.
        in_file: laws of the file.
        shifts: whether articles of the store must move to make room.
    """

    corpus: StatuteCorpus
    positions: Mapping[str, int]
    stored: Mapping[str, Published]
    kept: Mapping[str, Sequence[Place]]
    in_file: Set[str]
    shifts: bool


def merge(
    corpus: StatuteCorpus,
    source: str | Path,
    store: StatuteDocumentStore,
    *,
    prune: bool,
    replace: bool,
    say: Say,
) -> Merged:
    """Replace the store's laws by the file's, and keep the other laws.

    Nothing is written: this computes what the store will hold, and lists what will be removed.

    Args:
        corpus: the file's articles.
        source: the file, for messages.
        store: where they go; it is not created here.
        prune: remove laws that the file does not have.
        replace: allow a file to have fewer than half of the articles of a law.
        say: takes lines for the user.

    Raises:
        StoreError: the file has fewer than half of a law's articles, or gives an id of another law
            to another text.
    """
    exists = store.database.path.exists()
    stored = store.publisher.published() if exists else {}
    places = store.publisher.places() if exists else []
    given = {article.id: article.law for article in corpus}
    in_file = set(given.values())
    # Stored articles that the file has in other laws, and the laws that got another title.
    leaving = list(
        _articles_at([p for p in places if p.id in given and p.law not in in_file], store)
    )
    renamed = {
        article.law: new.law
        for article in leaving
        if same_law(article.law_id, (new := corpus[corpus.position(article.id)]).law_id)
    }
    for old, law in renamed.items():
        say(f"{old} is now called {law}")
    places = [p._replace(law=renamed.get(p.law, p.law)) for p in places]
    present: dict[str, list[Place]] = {}
    for place in places:
        present.setdefault(place.law, []).append(place)
    if not replace:
        for law in (each for each in corpus.laws if each in present):
            # Articles that the file has in another law, or under new ids, are not lost.
            stored_of_law = len(present[law])
            others = [each for each in present[law] if each.id not in given]
            found = stored_of_law - len(others)
            if 2 * found < stored_of_law:
                texts = {corpus[position].text for position in corpus.positions_of(law)}
                found += sum(each.text in texts for each in _articles_at(others, store))
            if 2 * found < stored_of_law:
                raise StoreError(half_refused(source, law, found, stored_of_law, store.path))
        for article in () if prune else leaving:
            new = corpus[corpus.position(article.id)]
            differs = same_law(new.law_id, article.law_id) is False or new.text != article.text
            if differs and article.law not in renamed:
                raise StoreError(id_refused(source, article.id, new.law, article.law, store.path))
    for law, of_law in present.items():
        if law in in_file and (gone := [each.id for each in of_law if each.id not in given]):
            removed = f"{counted(len(gone), 'article')} of {law}"
            say(f"Removing {removed} that {source} does not have: {_first(gone)}")
    if prune:
        say_pruned(source, {law: len(present[law]) for law in present.keys() - in_file}, say)
    staying = [p for p in places if p.id not in given and not (prune or p.law in in_file)]
    kept: dict[str, list[Place]] = {}
    for place in staying:
        kept.setdefault(place.law, []).append(place)
    positions = arrange((p for p in places if not prune or p.law in in_file), given)
    for place in staying:
        positions.setdefault(place.id, place.position)
    if kept:
        articles = {article.id: article for article in corpus}
        articles |= {each.id: each for each in _articles_at(staying, store)}
        corpus = StatuteCorpus(articles[id_] for id_ in positions if id_ in articles)
    shifts = bool(kept) and any(positions.get(p.id, p.position) != p.position for p in places)
    return Merged(corpus, positions, stored, kept, in_file, shifts)


def half_refused(source: str | Path, law: str, found: int, stored: int, where: object) -> str:
    """The message if a file has fewer than half of a law's articles.

    Args:
        source: the file.
        law: the law.
        found: how many of the stored articles the file has.
        stored: how many are stored.
        where: the store or engine.
    """
    return (
        f"{source} has {found:,} of the {stored:,} articles of {law} in {where}, and a law is "
        "replaced whole. Index a file with all of it, or give --replace if this is all of it now."
    )


def same_law(law_id: str | None, other: str | None) -> bool | None:
    """Whether two laws are one, by their identifiers; None if one of them is unknown."""
    return law_id == other if law_id and other else None


def id_refused(source: str | Path, id_: str, law: str, other: str, where: object) -> str:
    """The message if a file uses the id of an article in a law that it does not have.

    Args:
        source: the file.
        id_: the id.
        law: its law in the file.
        other: its law in the store.
        where: the store or engine.
    """
    return (
        f"{source} has the id '{id_}' in {law}; in {where} it is another article, of {other}. "
        "Give the articles ids of their own, or give --replace if the article did move."
    )


def say_pruned(source: str | Path, laws: Mapping[str, int], say: Say) -> None:
    """Report which laws --prune will remove, before it does.

    Args:
        source: the file.
        laws: how many articles each has.
        say: takes a line for the user.
    """
    if laws:
        named = [f"{law} ({counted(laws[law], 'article')})" for law in sorted(laws)]
        say(f"Removing {counted(len(laws), 'law')} that {source} does not have: {_first(named)}")


def _first(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _articles_at(places: Sequence[Place], store: StatuteDocumentStore) -> Iterator[Article]:
    """The stored articles at some places; documents without text are left out."""
    for start in range(0, len(places), _DOCUMENTS_AT_ONCE):
        chunk = places[start : start + _DOCUMENTS_AT_ONCE]
        for document in store.fetch([each.key for each in chunk]):
            if document.content:
                yield article_of(document)


# Scan, encode, publish.


@dataclass(frozen=True)
class IndexPlan:
    """What a scan has decided: the law that the store will hold, and how its texts are encoded.

    Attributes:
        merged: the law.
        model: encodes its texts; None for text alone.
        enricher: puts the vectors through the model's graph network; None without one.
        texts: what is encoded.
        settled: ids of articles of kept laws, whose vectors do not change.
        questions: answered questions to keep, and those that choose their weight.
    """

    merged: Merged
    model: ChosenModel | None
    enricher: LawEnricher | None
    texts: CorpusTexts
    settled: Set[str]
    questions: tuple[list[Question], list[Question]] | None

    def encode(self, store: StatuteDocumentStore, say: Say) -> tuple[int, int]:
        """The second pass: journal the missing vectors, in blocks.

        Returns:
            How many texts were encoded, and how many of these were cut.

        Raises:
            ModelError: the model cannot be loaded, or gives vectors without a direction.
            StoreError: the disk is full.
        """
        if self.model is None:
            return 0, 0
        if self.enricher is not None and self.enricher.chosen.converts:
            store.journal.hold(self.model.record.digest, self.texts.article_digests)
        else:
            chosen = self.enricher.chosen if self.enricher else self.model
            store.publisher.record_model(chosen.record)
        texts = self.texts
        first: dict[str, int] = {}
        for index, digest in enumerate(texts.digests):
            if texts.article_id(index) not in self.settled:
                first.setdefault(digest, index)
        named = {digest: (texts[index], texts.name(index)) for digest, index in first.items()}
        return self._journal(named, len(texts), "texts", store, say)

    def encode_provisions(self, store: StatuteDocumentStore, say: Say) -> tuple[int, int]:
        """The last pass: journal the vectors of the articles' provisions, which stay there.

        It comes after publishing, so that the articles can be searched meanwhile.

        Returns:
            How many were encoded, one that reads like an article having that article's vector; and
            how many articles are long, so that their provisions are searched.

        Raises:
            ModelError: the model cannot be loaded, or gives vectors without a direction.
            StoreError: the disk is full.
        """
        if self.model is None:
            return 0, 0
        named: dict[str, tuple[str, str]] = {}
        long: dict[str, list[str]] = {}
        n_long = 0
        # Of those that a search mixes in (`LongArticleIndex`).
        is_mixed = self.enricher is None and self.model.record.similarity != "l2"
        articles = zip(self.merged.corpus, self.texts.article_digests, strict=True)
        for article, article_digest in articles:
            name = f"a provision of article '{article.id}' of {article.law}"
            texts = provision_texts(article.headings, article.text, self.texts.rule)
            digests = [text_digest(text) for text in texts]
            named |= {digest: (text, name) for digest, text in zip(digests, texts, strict=True)}
            if is_mixed and is_long(article.text):
                long[article_digest] = digests
                n_long += 1
        for digest in self.texts.article_digests:
            named.pop(digest, None)
        encoded, _ = self._journal(named, len(named), "provisions", store, say)
        record_long_articles(store, long)
        kept = {*named, *(self.texts.digests if self.enricher else ())}
        store.journal.keep_only(self.model.record.digest, kept)
        return encoded, n_long

    def _journal(
        self,
        texts: Mapping[str, tuple[str, str]],
        total: int,
        what: str,
        store: StatuteDocumentStore,
        say: Say,
    ) -> tuple[int, int]:
        """Encode the texts, with their names by digest, that have no vector yet.

        Returns:
            How many were encoded, and how many of these were cut.
        """
        model = self.model
        assert model is not None
        known = store.journal.known(model.record.digest)
        todo = [(digest, *each) for digest, each in texts.items() if digest not in known]
        if not todo:
            return 0, 0
        say(f"Encoding {len(todo):,} {what} ({total - len(todo):,} known or alike)")
        size = block_size(model)
        truncated = 0
        with tqdm(total=len(todo), desc="Encoding", unit="text", disable=None) as bar:
            for start in range(0, len(todo), size):
                digests, block, names = zip(*todo[start : start + size], strict=True)
                vectors, report = model.encoder.encode_articles_report(block, progress=bar.update)
                matrix = vectors.numpy()
                check_usable(matrix, model.record.path, names.__getitem__)
                truncated += report.n_cut
                store.journal.keep(model.record.digest, dict(zip(digests, matrix, strict=True)))
        return len(todo), truncated

    def publish(self, store: StatuteDocumentStore, say: Say) -> int:
        """The third pass: laws become visible, each in one transaction.

        If articles of the store must move to make room, everything is one transaction, so that an
        interruption cannot leave two laws at the same positions.

        Returns:
            How many documents changed.

        Raises:
            ModelError: the graph network gives vectors without a direction.
            StoreError: a vector is missing, or the disk is full.
        """
        merged, enricher = self.merged, self.enricher
        if enricher is not None:
            stale = enricher.stale_laws(merged.stored)
        else:  # kept laws some of whose vectors are missing
            stale = {
                article.law
                for article in merged.corpus
                if article.law in merged.kept and article.id not in self.settled
            }
        groups = [
            [law for law in group if law in stale or law not in merged.kept]
            for group in self._together()
        ]
        groups = [group for group in groups if group]
        convert_to = enricher.chosen.record if enricher and enricher.chosen.converts else None
        # The bi-encoder's vectors and the network's must never be visible together.
        if convert_to is not None or merged.shifts:
            groups = [[law for group in groups for law in group]]
        moved = {
            place.id: merged.positions[place.id]
            for law, places in merged.kept.items()
            for place in places
            if law not in stale and merged.positions[place.id] != place.position
        }
        say(f"Publishing {counted(sum(map(len, groups)), 'law')}")
        if enricher is None:
            self._hold_moving(store)
        changed = 0
        for laws in tqdm(groups, desc="Publishing", unit="law", disable=None):
            vectors = enricher.vectors([law for law in laws if law in stale]) if enricher else {}
            documents = {law: list(self._documents(law, store)) for law in laws}
            changed += store.publisher.publish(
                documents, vectors, convert_to=convert_to, moved=moved
            )
        return changed

    def _documents(
        self, law: str, store: StatuteDocumentStore
    ) -> Iterator[tuple[Document, str | None]]:
        """A law's documents with the digests of their texts; none for a law that is removed."""
        merged, digests = self.merged, self.texts.article_digests
        if law in merged.in_file:
            for index in merged.corpus.positions_of(law).tolist():
                article = merged.corpus[index]
                yield as_document(article, merged.positions[article.id]), digests[index]
        elif law in merged.kept:
            documents = store.fetch([each.key for each in merged.kept[law]])
            # Those without text come last, as `publish` requires for documents without a digest.
            for document in sorted(documents, key=lambda each: not each.content):
                position = merged.positions[document.id]
                if position != position_of(document.meta):
                    document = replace(document, meta={**document.meta, "position": position})
                digest = None
                if document.id in self.settled:
                    digest = merged.stored[document.id].text_digest
                elif document.content:
                    digest = digests[merged.corpus.position(document.id)]
                yield document, digest

    def _hold_moving(self, store: StatuteDocumentStore) -> None:
        """Journal the vectors of articles that will be replaced and are needed elsewhere."""
        stored = self.merged.stored
        published = {each.text_digest for each in stored.values() if each.has_vector}
        moving = {
            digest
            for article, digest in zip(self.merged.corpus, self.texts.article_digests, strict=True)
            if digest in published
            and stored.get(article.id) != Published(article.law, digest, has_vector=True)
        }
        if store.model is not None:
            store.journal.hold(store.model.digest, moving)

    def _together(self) -> list[list[str]]:
        """Old and new laws, grouped so that an article moves between laws in one transaction."""
        stored = self.merged.stored
        graph: nx.Graph[str] = nx.Graph()
        graph.add_nodes_from(self.merged.corpus.laws)
        graph.add_nodes_from(each.law for each in stored.values())
        graph.add_edges_from(
            (stored[article.id].law, article.law)
            for article in self.merged.corpus
            if article.id in stored
        )
        return [sorted(group) for group in nx.connected_components(graph)]


def _plan(
    merged: Merged,
    store: StatuteDocumentStore,
    model: str | None,
    graph: bool,
    answered: str | Path | None,
    say: Say,
) -> IndexPlan:
    """The end of the first pass: choose the models, before the store is created or changed.

    A model that cannot be loaded leaves no empty store, and encoding may take hours.
    """
    chosen = choose_model(model, merged.corpus, store, say)
    chosen_graph = choose_graph(graph, chosen, store, say)
    questions = None
    if answered is not None:
        questions = read_answered(answered, {each.id: each.text for each in merged.corpus})
    if questions and chosen is None:
        raise LoadingError("--answered needs a model, which finds questions by meaning.")
    enricher = LawEnricher(chosen_graph, merged.corpus, store) if chosen_graph else None
    rule: TextRule = chosen.record.text_rule if chosen else "headings_text"
    texts = enricher.texts if enricher else CorpusTexts(merged.corpus, rule)
    # Without a record of the model, vectors that indexing did not write may be from any.
    recorded = bool(merged.stored) and store.model is not None
    settled = {
        place.id
        for places in merged.kept.values()
        for place in places
        if chosen is None
        or (
            enricher is None
            and (stored := merged.stored[place.id]).has_vector
            and (recorded or stored.text_digest is not None)
        )
    }
    return IndexPlan(merged, chosen, enricher, texts, settled, questions)


@dataclass(frozen=True)
class IndexReport:
    """The report of a run.

    Attributes:
        store: the store's file.
        articles: how many articles it now holds.
        laws: how many laws, including those of other files.
        model: folder or name of the model, or None for text alone.
        encoded: texts encoded by this run, including headings with a graph; equal ones count once.
        truncated: of these, how many were longer than the model reads.
        provisions: provisions of articles encoded by this run.
        long_articles: articles of the store that are also found by their provisions.
        changed: documents written, changed, moved or removed.
        removed: articles that the store had and no longer has.
        removed_laws: laws that the store had and no longer has.
        left_out: lines of the corpus that are not in the store.
        seconds: how long it took.
        graph: nodes, edges and unresolved citations of the graph, if one is used, and under
            "laws_computed" the number of laws whose vectors this run computed.
    """

    store: str
    articles: int
    laws: int
    model: str | None
    encoded: int
    truncated: int
    changed: int
    removed: int
    removed_laws: list[str]
    left_out: int
    seconds: float
    graph: dict[str, Any] | None = None
    provisions: int = 0
    long_articles: int = 0

    def __str__(self) -> str:
        done = f"{self.encoded:,} texts encoded" if self.model else "text alone, no vectors"
        lines = [
            f"{self.store}: {articles_of_laws(self.articles, self.laws)}; {done}, "
            f"{self.changed:,} changes, {self.seconds:.1f} s"
        ]
        if self.graph:
            laws = counted(self.graph["laws_computed"], "law")
            lines.append(f"vectors of {laws} computed through the graph (--json describes it)")
        if self.provisions:
            lines.append(f"provisions of articles encoded: {self.provisions:,}")
        if self.long_articles:
            lines.append(f"long articles, also found by their provisions: {self.long_articles:,}")
        if self.truncated:
            cut = f"{self.truncated:,}"
            lines.append(f"longer than the model reads, so a vector of the beginning: {cut}")
        if self.left_out:
            lines.append(f"left out of the corpus: {self.left_out:,} (named above)")
        if self.removed:
            lines.append(f"articles removed, no longer in the corpus: {self.removed:,}")
        if self.removed_laws:
            lines.append(f"laws removed, no longer in the corpus: {', '.join(self.removed_laws)}")
        return "\n".join(lines)


def index_corpus(
    source: str | Path,
    store_path: str | Path,
    *,
    model: str | None = None,
    graph: bool = False,
    snapshot: date | None = None,
    answered: str | Path | None = None,
    lay_words: str | Path | None = None,
    guides: str | Path | None = None,
    skip_bad: bool = False,
    strict: bool = False,
    format: str | None = None,
    stated: Mapping[str, str] | None = None,
    prune: bool = False,
    replace: bool = False,
    say: Say = lambda _: None,
) -> IndexReport:
    """Index a corpus; a run after an interruption resumes where it stopped.

    A law that the store has is replaced; a law that the corpus lacks stays.

    1. Scan: the whole corpus is read, and everything wrong with it is reported, before work starts.
    2. Encode: texts without known vectors are encoded in blocks, which are journalled in the store.
    3. Publish: law by law, each in one transaction; then the BM25 index is built and stored. With a
       graph, each law's vectors are first made from the journalled ones, which stay in the store.
    4. Encode the provisions of the articles, whose vectors stay in the journal.

    Args:
        source: file, folder or name of a corpus.
        store_path: the store; created if missing.
        model: folder or name of a model, "none" for text alone, None to choose (`choose_model`).
        graph: put the articles' vectors through the model's graph network; a store that was indexed
            so stays so.
        snapshot: day of the law's text; None if unknown.
        answered: file of questions with their articles, or "aldermere", that `hybrid` searches too
            (`pipelines.weights`); None keeps those of the store, if this model encoded them.
        lay_words: file of what people say and how the law says it
            (`components.statutes.lay_words`), in place of the store's; None keeps that one.
        guides: file of guides (`components.statutes.guides`), in place of the store's; None keeps
            those, and marks the ones whose articles have changed.
        skip_bad: leave out lines and files that cannot be read.
        strict: refuse a corpus in which something looks wrong after reading.
        format: of the corpus, one of `opening.FORMATS`; None to recognise it.
        stated: what its files do not say, as for `StatuteCorpus.read`.
        prune: remove the laws that the corpus does not have; they are listed first.
        replace: allow a corpus to have fewer than half of the articles of a law in the store.
        say: takes lines for the user; progress bars are shown where stderr is a terminal.

    Raises:
        LoadingError: the store's path names a folder, or there are too few answered questions, or
            there is no model for them.
        CorpusError: the corpus, the answered questions, the lay words or the guides cannot be read;
            names every fault.
        StoreError: the store holds another model's vectors, the corpus has fewer than half of a
            law's articles, or the disk is full.
        ModelError: the model cannot be loaded, lacks the requested graph network, or gives vectors
            without a direction.
    """
    if str(store_path).endswith(("/", os.sep)):
        raise LoadingError(f"The store {store_path} names a folder. Name a file in it.")
    start = time.perf_counter()
    with closing(StatuteDocumentStore(str(store_path))) as store:
        laws = DistinctLaws(store.laws() if store.database.path.exists() else ())
        corpus = StatuteCorpus.read(
            source, skip_bad=skip_bad, format=format, laws=laws, strict=strict, stated=stated
        )
        for problem in corpus.problems:
            say(str(problem))
        say(str(corpus.check))
        say_unknown(Counter(article.language for article in corpus), say)
        merged = merge(corpus, source, store, prune=prune, replace=replace, say=say)
        entries = None
        if lay_words is not None:
            entries = read_lay_words(lay_words, {each.language for each in merged.corpus})
        read = None
        if guides is not None:
            articles = {each.id: each for each in merged.corpus}
            read = read_guides(guides, articles.get, date.today())
        plan = _plan(merged, store, model, graph, answered, say)
        encoded, truncated = plan.encode(store, say)
        changed = plan.publish(store, say)
        provisions, long_articles = plan.encode_provisions(store, say)
        say("Building the BM25 indexes")
        StatuteBM25Retriever(store).warm_up()
        LawIndex(store, K1, B)
        if entries is not None:
            say(_keep_lay_words(store, entries))
        _keep_lists(plan, store, say, encoded=bool(encoded))
        chosen = plan.model
        digest = chosen.record.question_digest if chosen else None
        _keep_guides(store, read, digest, lambda: chosen.encoder if chosen else None, say)
        if snapshot is not None and merged.kept:
            # The day of the whole store's text is the earliest of its laws', if all are known.
            recorded, _ = store.publisher.recorded_days()
            other = None if recorded is None else date.fromisoformat(recorded)
            if other is None or other < snapshot:
                say(f"The other laws are of {recorded or 'an unknown day'}, not of {snapshot}.")
                snapshot = other
        store.publisher.record_corpus(merged.corpus.sha256, snapshot)
        store.publisher.record_check(Path(source).name, corpus.check.record, alone=prune)
        return IndexReport(
            store=str(store_path),
            articles=store.count_documents(),
            laws=len(merged.in_file) + len(merged.kept),
            model=plan.model.record.path if plan.model else None,
            encoded=encoded,
            truncated=truncated,
            changed=changed,
            removed=len(merged.stored.keys() - merged.positions.keys()),
            removed_laws=sorted(
                {each.law for each in merged.stored.values()} - merged.in_file - merged.kept.keys()
            ),
            left_out=corpus.left_out,
            seconds=round(time.perf_counter() - start, 2),
            graph=plan.enricher.report() if plan.enricher else None,
            provisions=provisions,
            long_articles=long_articles,
        )


def _keep_lists(plan: IndexPlan, store: StatuteDocumentStore, say: Say, *, encoded: bool) -> None:
    """Record the weight of the list by meaning, and keep the answered questions."""
    model = plan.model
    if model is None:
        return
    unknown = encoded or recorded_weight(store, model.record.question_digest) is None
    # A model that nothing was encoded with need not be loaded.
    if unknown or model.loaded is not None:
        if model.encoder.dense_weight is not None:  # training chose it
            record_weight(store, model.encoder.dense_weight)
        elif unknown and (weight := measure_weight(store, model.encoder)) < 1:
            say(
                "The model finds this law's own headings worse than words do: in a fusion its list "
                f"has the weight {weight}."
            )
    if plan.questions:
        say(str(keep_answered(store, model.encoder, *plan.questions, say)))
    elif has_unread(store) and not adopt_answered(store, model.encoder):
        say(
            "The store's answered questions are of another model or release, and are not "
            "searched. Give --answered again."
        )


def _keep_lay_words(store: StatuteDocumentStore, entries: Sequence[LayEntry]) -> str:
    """Keep a list of lay words, or remove the store's if it is empty; returns a report."""
    words = keep_lay_words(store, entries)
    if not entries:
        return "The list of lay words is empty: the store has none now."
    unused = "; hybrid leaves them out where it uses the model's learned fusion"
    return (
        f"Lay words: {len(entries):,} read, of which this law uses {words.n_used:,}"
        f"{unused if has_learned_fusion(store) else ''}"
    )


def add_lay_words(store_path: str | Path, path: str | Path) -> str:
    """Keep a list of lay words with a store, in place of its own; returns a report.

    Args:
        store_path: the store.
        path: the list (`components.statutes.lay_words`); an empty one removes the store's.

    Raises:
        LoadingError: there is no such store.
        CorpusError: the list cannot be read; names every fault.
        StoreError: the store holds no article, or cannot be read or written.
    """
    with store_with_articles(store_path) as store:
        languages = StatuteBM25Retriever(store).current_index().languages
        return _keep_lay_words(store, read_lay_words(path, languages))


def _keep_guides(
    store: StatuteDocumentStore,
    read: GuideFile | None,
    digest: str | None,
    model: Callable[[], BiEncoder | None],
    say: Say,
) -> None:
    """Keep guides with a store, or compare those that it has with its law.

    Args:
        store: of the law, as it is now.
        read: what was read; None for the store's own.
        digest: of the store's model for questions; None for a store of text alone.
        model: loads it.
        say: takes lines for the user.
    """
    before = kept_guides(store)
    article, today = articles_in(store), date.today()
    if read is None:
        guides = before
    else:
        known = {each.guide.key: each for each in before.kept}
        new = (KeptGuide.new(each, article, known.get(each.key)) for each in read.guides)
        guides = Guides(kept=tuple(new), rules=tuple(read.rules))
    kept = tuple(each.compared(article, today) for each in guides.kept)
    guides = Guides(kept=kept, rules=guides.rules)
    stale = sum(bool(each.changed) for each in guides.kept)
    if guides != before or encoded_by(store) != (digest if guides.kept and digest else ""):
        keep_guides(store, guides, model())
    if guides.kept:
        shown = f"; the law has changed under {stale:,}" if stale else ""
        say(f"{counted(len(guides.kept), 'guide')} kept{shown}")
    elif read is not None:
        say("The file of guides is empty: the store has none now.")


def add_guides(store_path: str | Path, path: str | Path, say: Say) -> None:
    """Keep guides with a store, in place of its own.

    Args:
        store_path: the store.
        path: file of guides (`components.statutes.guides`); an empty one removes the store's.
        say: takes lines for the user.

    Raises:
        LoadingError: there is no such store.
        CorpusError: the guides cannot be read; names every fault.
        StoreError: the store holds no article, or cannot be read or written.
        ModelError: its model cannot be loaded.
    """
    with store_with_articles(store_path) as store:
        read = read_guides(path, articles_in(store), date.today())
        guide: Any = load_pipeline("hybrid", store_path).get_component("guide")
        model = None if guide.model is None else guide.loaded()
        _keep_guides(store, read, model.digest if model else None, lambda: model, say)


def name_laws(store_path: str | Path, aliases: Mapping[str, str]) -> str:
    """Give laws of a store further names, under which citations find them; returns a report.

    Args:
        store_path: the store.
        aliases: a law's title, or another of its names, by the new name; "" takes the name away.

    Raises:
        LoadingError: there is no such store, or not exactly one law of a name.
        StoreError: the store holds no article, or cannot be read or written.
    """
    with store_with_articles(store_path) as store:
        named = names_of_laws(store.laws())
        names = LawNames(named, named)
        recorded = store.publisher.aliases()
        for alias, law in aliases.items():
            recorded.pop(alias, None)
            meant = [each for each in named if law and not names.rest_of_name(law, each)]
            meant = [law] if law in named else meant
            if law and len(meant) != 1:
                raise LoadingError(
                    f"alias {alias!r}: {store_path} has {len(meant)} laws named {law!r}. Give "
                    f"the title of one, such as {'; '.join((meant or list(named))[:_NAMED])}."
                )
            if law:
                recorded[alias] = meant[0]
        store.publisher.record_aliases(recorded)
    return f"{store_path}: {counted(len(recorded), 'further name')} of laws"
