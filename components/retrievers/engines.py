"""EngineLexicalRetriever: the articles that share words with the question, found by an engine."""

import asyncio
import time
from collections.abc import Iterable
from datetime import date
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.dataclasses import SparseEmbedding
from haystack.document_stores.types import DocumentStore

from components.parameters import checked_query, checked_top_k
from components.retrievers.citation import (
    by_wording,
    divided,
    left_out_of,
    missing,
    not_followed,
    not_met,
)
from components.retrievers.resident import HoldsStore
from components.retrievers.validity import TODAY, Validity, asked_day, checked_as_of, in_force_on
from components.statutes.citations.finding import PLAIN_CHARACTERS, Citation, read_citations
from components.statutes.citations.laws import LawNames
from components.statutes.citations.resolver import (
    MOST_CITATIONS,
    CitationResolver,
    ResolvedQuestion,
    only_cites,
)
from components.statutes.question import clean_question
from components.stores.engines import engine_of
from components.stores.engines.base import (
    LAW,
    ArticleEngine,
    Condition,
    both,
    by_score,
    compared,
    engine_filters,
)

# What a component over an engine does when its pipeline is closed.


class HoldsEngine(HoldsStore):
    """`close` and `close_async` for a component that asks the engine of its `document_store`.

    The connection closes with the last of the components that share it.
    """

    document_store: DocumentStore
    _engine: ArticleEngine | None = None

    def close(self) -> None:
        """Let go of the engine; the next question opens it again."""
        self._let_go()
        super().close()

    async def close_async(self) -> None:
        """`close`, and what the store has open in an event loop."""
        self._let_go()
        await super().close_async()

    def _let_go(self) -> None:
        if self._engine is not None:
            self._engine.close()
        self._engine = None

    def _opened(self) -> ArticleEngine:
        if self._engine is None:
            self._engine = engine_of(self.document_store)
        return self._engine


# EngineCitationRetriever: the articles that the question itself names, found by an engine.


_MOST_FITTING = 10_000  # articles of one number, where the question names no law
_LONGEST_RANGE = 2_000  # articles read of a range; the resolver takes far fewer for one
_LAWS_KEPT = 60.0  # seconds for which the laws' names are taken to be the same


@component
class EngineCitationRetriever(HoldsEngine):
    """Finds the articles that a question cites, such as "art. 12 Housing Code", in an engine.

    ```python
    from haystack_integrations.document_stores.qdrant import QdrantDocumentStore

    from components.retrievers.engines import EngineCitationRetriever

    store = QdrantDocumentStore(url="http://localhost:6333", index="lexarbor")
    EngineCitationRetriever(store).run("What does section 14(2) require?")["pinned"]
    ```

    What counts as a citation and which articles fit it is as in `CitationRetriever`. The engine is
    asked for the articles of the cited numbers only, and for the names of the laws once a minute;
    a question that cites nothing asks it nothing.
    """

    def __init__(
        self,
        document_store: DocumentStore,
        top_k: int = 10,
        filters: dict[str, Any] | None = None,
        as_of: str = TODAY,
    ) -> None:
        """Keep the parameters; nothing is connected.

        Args:
            document_store: a QdrantDocumentStore or a MilvusDocumentStore.
            top_k: how many to return at most, in each of the three lists.
            filters: Haystack filters that hold unless `run` gives others.
            as_of: leaves out what was not in force: "today", a day as YYYY-MM-DD, or "any", which
                leaves out nothing. Articles without dates always stay.

        Raises:
            TypeError: `top_k` is no whole number.
            ValueError: `top_k` is less than 1, or `as_of` neither of the two words nor a day.
        """
        self.document_store = document_store
        self.top_k = checked_top_k("EngineCitationRetriever", top_k, at_least=1)
        self.filters = filters
        self.as_of = checked_as_of("EngineCitationRetriever", as_of)
        self._laws: tuple[list[str], LawNames] = ([], LawNames([]))
        self._laws_end = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Serialise every parameter."""
        return default_to_dict(
            self,
            document_store=self.document_store,
            top_k=self.top_k,
            filters=self.filters,
            as_of=self.as_of,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "EngineCitationRetriever":
        """The component that `to_dict` described."""
        return default_from_dict(cls, data)

    @component.output_types(
        pinned=list[Document],
        documents=list[Document],
        left_out=list[Document],
        missing=list[str],
        not_followed=list[str],
    )
    def run(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        as_of: str | None = None,
    ) -> dict[str, Any]:
        """Find the articles that a question cites.

        Args:
            query: the question.
            filters: Haystack filters in place of the component's.
            top_k: how many to return at most in each list, in place of the component's.
            as_of: in place of the component's; "today" is the day of the call.

        Returns:
            `pinned`: articles named without doubt, or by a question that asks for nothing else,
            in the order of their citations, score 1.
            `documents`: these, then articles that fit a citation in doubt, in the order of the
            citations, then of the law; their score is 1 divided by how many fit.
            `left_out`: the first ten articles that would be pinned if the filters and `as_of` let
            them; none of which another wording is given.
            Each article has its other wordings in `meta["wordings"]` where there are any.
            `missing`: the words of citations of articles that the engine does not hold.
            `not_followed`: as `CitationRetriever`'s.

        Raises:
            QuestionError: the question is empty or too long.
            FilterError: the filters are malformed, or over a field that engines do not keep.
            StoreError: the engine does not answer, or refuses.
            TypeError: `document_store` is no engine's, or `top_k` no whole number.
            ValueError: `top_k` is negative, or `as_of` neither of the two words nor a day.
        """
        question = clean_question(query)
        k = self.top_k if top_k is None else top_k
        k = checked_top_k("EngineCitationRetriever", k, at_least=0)
        day = asked_day("EngineCitationRetriever", self.as_of if as_of is None else as_of)
        condition = engine_filters(self.filters if filters is None else filters)
        cited, _ = read_citations(question, most=MOST_CITATIONS)
        if not cited:
            return {
                "pinned": [],
                "documents": [],
                "left_out": [],
                "missing": [],
                "not_followed": [],
            }
        engine = self._opened()
        (resolved, unread), found = self._resolved(engine, question, cited)
        validity = Validity((row, each.id, each.meta) for row, each in enumerate(found))
        citations = by_wording(resolved, validity, day or date.today())
        ids = list(dict.fromkeys(id_ for each in citations for id_ in each.ids))
        allowed = frozenset(_matching(engine, ids, condition)) - validity.on(day).left_out
        alone = only_cites(question, citations)
        pinned, listed = divided(citations, allowed, alone=alone)
        unmet = not_met(citations, allowed)
        left_out, _ = divided(unmet, frozenset(ids) - allowed, alone=alone)
        first, others, barred = (
            validity.with_wordings(_fetched(engine, each, k)) for each in (pinned, listed, left_out)
        )
        fitting = [*first, *others][:k]
        return {
            "pinned": first,
            "documents": fitting,
            "left_out": left_out_of(barred, fitting),
            "missing": missing(citations),
            "not_followed": not_followed(citations, unread),
        }

    @component.output_types(
        pinned=list[Document],
        documents=list[Document],
        left_out=list[Document],
        missing=list[str],
        not_followed=list[str],
    )
    async def run_async(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        as_of: str | None = None,
    ) -> dict[str, Any]:
        """`run` in a worker thread."""
        return await asyncio.to_thread(self.run, query, filters, top_k, as_of)

    def _resolved(
        self, engine: ArticleEngine, question: str, cited: list[Citation]
    ) -> tuple[ResolvedQuestion, list[Document]]:
        """The citations, and the articles of the cited numbers in the order of the law."""
        laws, names = self._named_laws(engine)
        spoken = sorted(names.anywhere(question.translate(PLAIN_CHARACTERS)))
        of_laws: Condition | bool = compared("law", "in", spoken) if spoken else True
        readings = [reading for each in cited for reading in each.readings]
        numbers = sorted({number for reading in readings for number in reading if number})
        found = _entries(engine, both(compared("core", "in", numbers), of_laws), _MOST_FITTING)
        for law, first, last in _ranges(cited, found):
            between = both(
                compared("law", "==", law),
                compared("position", ">=", first),
                compared("position", "<=", last),
            )
            found |= _entries(engine, between, _LONGEST_RANGE)
        ordered = sorted(found.values(), key=lambda each: int(each.meta["position"]))
        # An entry without a number tells the resolver of a law, and fits no citation.
        entries = [("", law, "") for law in laws]
        entries += [(each.id, each.meta["law"], each.meta["number"]) for each in ordered]
        return CitationResolver(entries, names).resolve_question(question), ordered

    def _named_laws(self, engine: ArticleEngine) -> tuple[list[str], LawNames]:
        if time.monotonic() >= self._laws_end:
            laws = sorted(engine.states(LAW))
            self._laws = (laws, LawNames(laws))
            self._laws_end = time.monotonic() + _LAWS_KEPT
        return self._laws


def _entries(engine: ArticleEngine, condition: Condition | bool, limit: int) -> dict[str, Document]:
    assert isinstance(condition, dict)
    return {document.id: document for document in engine.matching(condition, limit)}


def _ranges(cited: list[Citation], found: dict[str, Document]) -> list[tuple[str, int, int]]:
    """Law, first and last position of every range that the citations can mean."""
    if not any(through for citation in cited for _, through in citation.readings):
        return []
    positions: dict[str, list[int]] = {}
    for document in found.values():
        positions.setdefault(document.meta["law"], []).append(document.meta["position"])
    return [(law, min(each), max(each)) for law, each in positions.items() if len(each) > 1]


def _matching(engine: ArticleEngine, ids: list[str], condition: Condition | bool) -> Iterable[str]:
    """Those of the articles that match; the engine is asked only where that is not plain."""
    if not ids or condition is True:
        return ids
    if condition is False:
        return []
    return _entries(engine, both(compared("id", "in", ids), condition), len(ids))


def _fetched(engine: ArticleEngine, scores: dict[str, float], k: int) -> list[Document]:
    ids = list(scores)[:k]
    found = {document.id: document for document in engine.fetch(ids)} if ids else {}
    return [
        Document(id=id_, content=found[id_].content, meta=found[id_].meta, score=scores[id_])
        for id_ in ids
        if id_ in found
    ]


# EngineEmbeddingRetriever: the articles nearest to the question, found by an engine.


@component
class EngineEmbeddingRetriever(HoldsEngine):
    """Finds the articles whose vectors are nearest to the question's, in Qdrant or Milvus.

    ```python
    from haystack_integrations.document_stores.qdrant import QdrantDocumentStore

    from components.embedders.text import StatuteTextEmbedder
    from components.retrievers.engines import EngineEmbeddingRetriever

    store = QdrantDocumentStore(url="http://localhost:6333", index="lexarbor")
    vector = StatuteTextEmbedder(model="./my-model").run("May duties be delegated?")
    EngineEmbeddingRetriever(store, top_k=5).run(vector["embedding"])["documents"]
    ```

    The collection is one that `python -m pipelines.index --engine` made. Filters have Haystack's
    meaning in both engines, and an engine that does not answer is asked again before it is an
    error. Whether the nearest are found exactly is up to the engine's index.
    """

    def __init__(
        self,
        document_store: DocumentStore,
        top_k: int = 10,
        filters: dict[str, Any] | None = None,
        as_of: str = TODAY,
    ) -> None:
        """Keep the parameters; nothing is connected.

        Args:
            document_store: a QdrantDocumentStore or a MilvusDocumentStore.
            top_k: how many to return at most.
            filters: Haystack filters that hold unless `run` gives others.
            as_of: leaves out what was not in force: "today", a day as YYYY-MM-DD, or "any", which
                leaves out nothing. Articles without dates always stay.

        Raises:
            TypeError: `top_k` is no whole number.
            ValueError: `top_k` is less than 1, or `as_of` neither of the two words nor a day.
        """
        self.document_store = document_store
        self.top_k = checked_top_k("EngineEmbeddingRetriever", top_k, at_least=1)
        self.filters = filters
        self.as_of = checked_as_of("EngineEmbeddingRetriever", as_of)

    def to_dict(self) -> dict[str, Any]:
        """Serialise every parameter."""
        return default_to_dict(
            self,
            document_store=self.document_store,
            top_k=self.top_k,
            filters=self.filters,
            as_of=self.as_of,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "EngineEmbeddingRetriever":
        """The component that `to_dict` described."""
        return default_from_dict(cls, data)

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
            filters: Haystack filters in place of the component's.
            top_k: how many to return at most, in place of the component's; 0 returns none.
            as_of: in place of the component's; "today" is the day of the call.

        Returns:
            `documents`: by cosine, equal scores in the order of the law, without embeddings.

        Raises:
            VectorError: the embedding is NaN or zero.
            FilterError: the filters are malformed, or over a field that engines do not keep.
            StoreError: the engine does not answer, or refuses.
            TypeError: `document_store` is no engine's, or `top_k` no whole number.
            ValueError: `top_k` is negative, or `as_of` neither of the two words nor a day.
        """
        k = self.top_k if top_k is None else top_k
        k = checked_top_k("EngineEmbeddingRetriever", k, at_least=0)
        query = checked_query("EngineEmbeddingRetriever", query_embedding)
        day = asked_day("EngineEmbeddingRetriever", self.as_of if as_of is None else as_of)
        wanted = self.filters if filters is None else filters
        condition = engine_filters(wanted if day is None else in_force_on(day, wanted))
        if condition is False or k == 0:
            return {"documents": []}
        allowed = None if condition is True else condition
        return {"documents": by_score(self._opened().nearest(query.tolist(), k, allowed))}

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        as_of: str | None = None,
    ) -> dict[str, list[Document]]:
        """`run` in a worker thread."""
        return await asyncio.to_thread(self.run, query_embedding, filters, top_k, as_of)


@component
class EngineLexicalRetriever(HoldsEngine):
    """Finds articles by their words (BM25), in Qdrant or Milvus.

    ```python
    from haystack_integrations.document_stores.qdrant import QdrantDocumentStore

    from components.embedders.sparse_text import StatuteSparseTextEmbedder
    from components.retrievers.engines import EngineLexicalRetriever

    store = QdrantDocumentStore(url="http://localhost:6333", index="lexarbor")
    terms = StatuteSparseTextEmbedder(languages=["en"]).run("May duties be delegated?")
    EngineLexicalRetriever(store, top_k=5).run(terms["sparse_embedding"])["documents"]
    ```

    The collection is one that `python -m pipelines.index --engine` made. The formula is that of
    `StatuteBM25Retriever` (Milvus's scores are k1 + 1 times as high, which moves no rank); how
    often a term stands in the corpus is counted by the engine. Filters have Haystack's meaning in
    both engines, and an engine that does not answer is asked again before it is an error.
    """

    def __init__(
        self,
        document_store: DocumentStore,
        top_k: int = 10,
        filters: dict[str, Any] | None = None,
        as_of: str = TODAY,
    ) -> None:
        """Keep the parameters; nothing is connected.

        Args:
            document_store: a QdrantDocumentStore or a MilvusDocumentStore.
            top_k: how many to return at most.
            filters: Haystack filters that hold unless `run` gives others.
            as_of: leaves out what was not in force: "today", a day as YYYY-MM-DD, or "any", which
                leaves out nothing. Articles without dates always stay.

        Raises:
            TypeError: `top_k` is no whole number.
            ValueError: `top_k` is less than 1, or `as_of` neither of the two words nor a day.
        """
        self.document_store = document_store
        self.top_k = checked_top_k("EngineLexicalRetriever", top_k, at_least=1)
        self.filters = filters
        self.as_of = checked_as_of("EngineLexicalRetriever", as_of)

    def to_dict(self) -> dict[str, Any]:
        """Serialise every parameter."""
        return default_to_dict(
            self,
            document_store=self.document_store,
            top_k=self.top_k,
            filters=self.filters,
            as_of=self.as_of,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "EngineLexicalRetriever":
        """The component that `to_dict` described."""
        return default_from_dict(cls, data)

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
            filters: Haystack filters in place of the component's.
            top_k: how many to return at most, in place of the component's; 0 returns none.
            as_of: in place of the component's; "today" is the day of the call.

        Returns:
            `documents`: by BM25, equal scores in the order of the law, without embeddings.

        Raises:
            FilterError: the filters are malformed, or over a field that engines do not keep.
            StoreError: the engine does not answer, or refuses.
            TypeError: `document_store` is no engine's, or `top_k` no whole number.
            ValueError: `top_k` is negative, or `as_of` neither of the two words nor a day.
        """
        k = self.top_k if top_k is None else top_k
        k = checked_top_k("EngineLexicalRetriever", k, at_least=0)
        day = asked_day("EngineLexicalRetriever", self.as_of if as_of is None else as_of)
        wanted = self.filters if filters is None else filters
        condition = engine_filters(wanted if day is None else in_force_on(day, wanted))
        if condition is False or k == 0 or not query_sparse_embedding.indices:
            return {"documents": []}
        allowed = None if condition is True else condition
        return {"documents": by_score(self._opened().by_words(query_sparse_embedding, k, allowed))}

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        query_sparse_embedding: SparseEmbedding,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        as_of: str | None = None,
    ) -> dict[str, list[Document]]:
        """`run` in a worker thread."""
        return await asyncio.to_thread(self.run, query_sparse_embedding, filters, top_k, as_of)
