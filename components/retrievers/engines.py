"""The retrievers over an engine, Qdrant or PostgreSQL: by citation, by meaning and by words."""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import date
from typing import Any

from haystack import Document, component
from haystack.dataclasses import SparseEmbedding

from components.converters.articles import identity_of
from components.retrievers.citation import CITED, by_wording, outputs, scores_of
from components.retrievers.resident import Retriever, checked_query
from components.retrievers.validity import Validity, in_force_on
from components.statutes.citations.finding import PLAIN_CHARACTERS, read_citations
from components.statutes.citations.laws import LawNames
from components.statutes.citations.patterns import Citation
from components.statutes.citations.resolver import (
    MOST_CITATIONS,
    CitationResolver,
    ResolvedQuestion,
    only_cites,
)
from components.statutes.identity import names_of_laws
from components.statutes.question import clean_question
from components.stores.database import StoreError
from components.stores.engines import (
    LAW,
    Condition,
    Engine,
    both,
    by_score,
    engine_filters,
)
from components.stores.filters import compared

_MOST_FITTING = 10_000  # articles with one number, if the question names no law
_LONGEST_RANGE = 2_000  # articles read of a range; the resolver takes far fewer for one
_LAWS_KEPT = 60.0  # seconds for which the laws' names are cached


def engine_over(store: Any, *, patient: bool = False) -> Engine:
    """The engine that a document store of Haystack's stands for.

    Args:
        store: a QdrantDocumentStore or a PgvectorDocumentStore.
        patient: wait half a minute for an engine that restarts, not a second.

    Raises:
        TypeError: it is another store.
        StoreError: its address is malformed.
    """
    # By name: the packages of one engine should do.
    kind = type(store).__module__
    if kind.startswith("haystack_integrations.document_stores.qdrant"):
        from components.stores.qdrant import QdrantEngine

        return QdrantEngine(store, patient=patient)
    if kind.startswith("haystack_integrations.document_stores.pgvector"):
        from components.stores.postgres import PostgresEngine

        return PostgresEngine(store, patient=patient)
    raise TypeError(
        "document_store must be a QdrantDocumentStore or a PgvectorDocumentStore, got "
        f"{type(store).__name__}."
    )


class EngineRetriever(Retriever):
    """A retriever that asks the engine of its `document_store`.

    The collection is one that `python -m pipelines.index --engine` made; by meaning, any other can
    be searched too, whose documents come with their own metadata. Filters have Haystack's
    meaning, and an engine that does not answer is asked again before it is an error. The
    connection closes with the last of the components that share it.
    """

    _engine: Engine | None = None

    def close(self) -> None:
        """Close the connection; the next question opens it again."""
        self._disconnect()
        super().close()

    async def close_async(self) -> None:
        """`close`, and what the store has open in an event loop."""
        self._disconnect()
        await super().close_async()

    def check_engine(self) -> None:
        """Ask whether the engine answers and has the collection.

        Raises:
            StoreError: it does not.
        """
        engine = self._opened()
        if not engine.exists():
            raise StoreError(f"{engine.where} is no longer there. Index the law into it again.")

    def places(self) -> set[str]:
        """Whose law the engine's articles are.

        Raises:
            StoreError: the engine does not answer.
        """
        states = self._opened().states(LAW).values()
        return {place for state in states for place in state.get("jurisdictions", ())}

    def _disconnect(self) -> None:
        if self._engine is not None:
            self._engine.close()
        self._engine = None

    def _opened(self) -> Engine:
        if self._engine is None:
            self._engine = engine_over(self.document_store)
        return self._engine

    def _search(
        self,
        search: Callable[[Engine, int, Condition | None], list[Document]],
        filters: dict[str, Any] | None,
        top_k: int | None,
        as_of: str | None,
    ) -> dict[str, list[Document]]:
        """Search an engine among the articles that meet a condition."""
        narrowed, k, day = self._request(filters, top_k, as_of)
        condition = engine_filters(in_force_on(day, narrowed))
        if condition is False or k == 0:
            return {"documents": []}
        found = search(self._opened(), k, None if condition is True else condition)
        return {"documents": by_score(found)}


@component
class EngineCitationRetriever(EngineRetriever):
    """Finds the articles that a question cites, such as "art. 12 Housing Code", in an engine.

    ```python
    from haystack_integrations.document_stores.qdrant import QdrantDocumentStore

    from components.retrievers.engines import EngineCitationRetriever

    store = QdrantDocumentStore(url="http://localhost:6333", index="lexarbor")
    EngineCitationRetriever(store).run("What does section 14(2) require?")["pinned"]
    ```

    Citations, and the articles that fit them, are the same as in `CitationRetriever`. The engine is
    asked for the articles of the cited numbers only, and for the names of the laws once per minute;
    it is not asked if the question cites nothing.

    A run's `filters` are merged with the component's and never replace them: all must hold.
    There is no `filter_policy` that changes this.
    """

    _laws: tuple[list[str], LawNames] = ([], LawNames([]))
    _laws_end = 0.0

    @component.output_types(**CITED)
    def run(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        as_of: str | None = None,
    ) -> dict[str, Any]:
        """Find the articles that a question cites.

        Inputs and outputs are those of `CitationRetriever.run`, over an engine.

        Raises:
            QuestionError: the question is empty or too long.
            FilterError: the filters are malformed, or over a field that engines do not keep.
            StoreError: the engine does not answer, or refuses.
            TypeError: `document_store` is not an engine's, or `top_k` is not a whole number.
            ValueError: `top_k` is negative, or `as_of` neither "today", "any" nor a day.
        """
        question = clean_question(query)
        narrowed, k, day = self._request(filters, top_k, as_of)
        condition = engine_filters(narrowed)
        cited, _ = read_citations(question, most=MOST_CITATIONS)
        if not cited:
            return outputs(question, [], "", ([], [], []), k)
        engine = self._opened()
        (resolved, unread), found = self._resolved(engine, question, cited)
        validity = Validity((row, each.id, each.meta) for row, each in enumerate(found))
        citations = by_wording(resolved, validity, day or date.today())
        ids = list(dict.fromkeys(id_ for each in citations for id_ in each.ids))
        matching: Iterable[str] = ids
        if ids and condition is not True:
            matching = _entries(engine, both(compared("id", "in", ids), condition), len(ids))
        allowed = frozenset(matching) - validity.on(day).left_out
        scores = scores_of(question, citations, ids, allowed)
        fetched = [validity.with_wordings(_fetched(engine, each, k)) for each in scores]
        return outputs(question, citations, unread, fetched, k)

    def is_citation(self, query: str) -> bool:
        """Whether a question asks for the articles that it cites, and for nothing else.

        Raises:
            QuestionError: the question is empty or too long.
            StoreError: the engine does not answer, or refuses.
        """
        question = clean_question(query)
        cited, _ = read_citations(question, most=MOST_CITATIONS)
        if not cited:
            return False
        (citations, _), _ = self._resolved(self._opened(), question, cited)
        return only_cites(question, citations)

    def _resolved(
        self, engine: Engine, question: str, cited: list[Citation]
    ) -> tuple[ResolvedQuestion, list[Document]]:
        """The citations, and the articles of the cited numbers in the order of the law."""
        laws, names = self._named_laws(engine)
        spoken = names.anywhere(question.translate(PLAIN_CHARACTERS))
        if spoken:
            codes = (names.american.laws(each.code, each.number) for each in cited if each.code)
            spoken |= {law for found in codes if found for laws in found for law in laws}
        of_laws: Condition | bool = compared("law", "in", sorted(spoken)) if spoken else True
        numbers = sorted(set[str]().union(*(each.numbers for each in cited)))
        found = _entries(engine, both(compared("core", "in", numbers), of_laws), _MOST_FITTING)
        for law, first, last in _ranges(cited, found):
            between = both(
                compared("law", "==", law),
                compared("position", ">=", first),
                compared("position", "<=", last),
            )
            found |= _entries(engine, between, _LONGEST_RANGE)
        ordered = sorted(found.values(), key=lambda each: int(each.meta["position"]))
        # An entry without a number makes a law known to the resolver, but fits no citation.
        entries = [("", law, "") for law in laws]
        entries += [(each.id, each.meta["law"], each.meta["number"]) for each in ordered]
        return CitationResolver(entries, names).resolve_question(question), ordered

    def _named_laws(self, engine: Engine) -> tuple[list[str], LawNames]:
        if time.monotonic() >= self._laws_end:
            states = engine.states(LAW)
            laws = sorted(states)
            if not laws:
                raise StoreError(
                    f"{engine.where} has no laws on record, which a citation could name. Index the "
                    "law into it with python -m pipelines.index --engine ..."
                )
            known = (identity_of({**state, "law": law}) for law, state in states.items())
            self._laws = (laws, LawNames(laws, names_of_laws(known)))
            self._laws_end = time.monotonic() + _LAWS_KEPT
        return self._laws


def _entries(engine: Engine, condition: Condition | bool, limit: int) -> dict[str, Document]:
    if not isinstance(condition, dict):
        return {}
    return {document.id: document for document in engine.matching(condition, limit)}


def _ranges(cited: list[Citation], found: dict[str, Document]) -> list[tuple[str, int, int]]:
    """Law, first and last position of every range that the citations can mean."""
    if not any(through for citation in cited for _, through in citation.readings):
        return []
    positions: dict[str, list[int]] = {}
    for document in found.values():
        positions.setdefault(document.meta["law"], []).append(document.meta["position"])
    return [(law, min(each), max(each)) for law, each in positions.items() if len(each) > 1]


def _fetched(engine: Engine, scores: dict[str, float], k: int) -> list[Document]:
    ids = list(scores)[:k]
    found = {document.id: document for document in engine.fetch(ids)} if ids else {}
    return [replace(found[id_], score=scores[id_]) for id_ in ids if id_ in found]


@component
class EngineEmbeddingRetriever(EngineRetriever):
    """Finds the articles whose vectors are nearest to the question's, in an engine.

    ```python
    from haystack_integrations.document_stores.qdrant import QdrantDocumentStore

    from components.embedders.text import StatuteTextEmbedder
    from components.retrievers.engines import EngineEmbeddingRetriever

    store = QdrantDocumentStore(url="http://localhost:6333", index="lexarbor")
    vector = StatuteTextEmbedder(model="./my-model").run("May duties be delegated?")
    EngineEmbeddingRetriever(store, top_k=5).run(vector["embedding"])["documents"]
    ```

    PostgreSQL searches exactly unless its store's `search_strategy` is "hnsw"; in Qdrant it depends
    on the index.

    A run's `filters` are merged with the component's and never replace them: all must hold.
    There is no `filter_policy` that changes this.
    """

    @component.output_types(documents=list[Document])
    def run(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        as_of: str | None = None,
    ) -> dict[str, list[Document]]:
        """Find the nearest articles.

        Args:
            query_embedding: `[dim]`, from the model whose vectors the engine holds.
            filters: Haystack filters that must hold besides the component's.
            top_k: how many to return at most, in place of the component's; 0 returns none.
            as_of: in place of the component's; "today" is the day of the call.

        Returns:
            `documents`: by cosine, equal scores in the order of the law, without embeddings.

        Raises:
            VectorError: the embedding is NaN or zero.
            FilterError: the filters are malformed, or over a field that engines do not keep.
            StoreError: the engine does not answer, or refuses.
            TypeError: `document_store` is not an engine's, or `top_k` is not a whole number.
            ValueError: `top_k` is negative, or `as_of` neither "today", "any" nor a day.
        """
        query = checked_query(type(self).__name__, query_embedding).tolist()
        return self._search(
            lambda engine, k, allowed: engine.nearest(query, k, allowed), filters, top_k, as_of
        )


@component
class EngineLexicalRetriever(EngineRetriever):
    """Finds articles by their words (BM25), in an engine.

    ```python
    from haystack_integrations.document_stores.qdrant import QdrantDocumentStore

    from components.embedders.sparse_text import StatuteSparseTextEmbedder
    from components.retrievers.engines import EngineLexicalRetriever

    store = QdrantDocumentStore(url="http://localhost:6333", index="lexarbor")
    terms = StatuteSparseTextEmbedder(languages=["en"]).run("May duties be delegated?")
    EngineLexicalRetriever(store, top_k=5).run(terms["sparse_embedding"])["documents"]
    ```

    The formula is that of `StatuteBM25Retriever`; the engine counts how many articles have a term.

    A run's `filters` are merged with the component's and never replace them: all must hold.
    There is no `filter_policy` that changes this.
    """

    @component.output_types(documents=list[Document])
    def run(
        self,
        query_sparse_embedding: SparseEmbedding,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        as_of: str | None = None,
    ) -> dict[str, list[Document]]:
        """Find the articles that share words with a question.

        Args:
            query_sparse_embedding: the question's terms, from `StatuteSparseTextEmbedder`.
            filters: Haystack filters that must hold besides the component's.
            top_k: how many to return at most, in place of the component's; 0 returns none.
            as_of: in place of the component's; "today" is the day of the call.

        Returns:
            `documents`: by BM25, equal scores in the order of the law, without embeddings.

        Raises:
            FilterError: the filters are malformed, or over a field that engines do not keep.
            StoreError: the engine does not answer, or refuses.
            TypeError: `document_store` is not an engine's, or `top_k` is not a whole number.
            ValueError: `top_k` is negative, or `as_of` neither "today", "any" nor a day.
        """
        terms = query_sparse_embedding
        return self._search(
            lambda engine, k, allowed: engine.by_words(terms, k, allowed) if terms.indices else [],
            filters,
            top_k,
            as_of,
        )
