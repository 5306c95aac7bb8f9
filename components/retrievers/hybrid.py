"""StatuteHybridRetriever: citations, words and meaning, fused before any document is made."""

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from haystack import Document, component, logging
from haystack.document_stores.types import DocumentStore
from haystack.utils import ComponentDevice
from numpy.typing import NDArray

from components.converters.articles import headings_of, language_of, ranks_of
from components.embedders.text import StatuteTextEmbedder
from components.models.devices import DtypeName
from components.parameters import AsyncWarmUp, check_count, check_number
from components.retrievers.bm25 import StatuteBM25Retriever
from components.retrievers.citation import CitationRetriever
from components.retrievers.embedding import StatuteEmbeddingRetriever
from components.retrievers.resident import (
    ReadableStore,
    ResidentIndex,
    Retriever,
    checked_query,
    readable,
    resident_index,
    search_store,
    state_of,
)
from components.retrievers.validity import TODAY
from components.statutes.article import indexed_text
from components.statutes.fusion import FUSION_K, rank_scores
from components.statutes.lexical import coverage, trust
from components.statutes.question import clean_question

logger = logging.getLogger(__name__)

CITATION, BM25, DENSE = "citation", "bm25", "dense"

# A citation that fits several articles is a hint and not an answer: chosen on training questions.
_WEIGHTS = {CITATION: 0.25, BM25: 1.0, DENSE: 1.0}
_MOST_CITED = 100


@component
class StatuteHybridRetriever(AsyncWarmUp, Retriever):
    """Finds articles by what a question cites, by its words (BM25) and by its meaning.

    The three lists are fused by reciprocal ranks (`components.statutes.fusion`) over the articles'
    keys; documents are made of the final `top_k` only.

    ```python
    from components.retrievers.hybrid import StatuteHybridRetriever
    from components.stores.sqlite import StatuteDocumentStore

    store = StatuteDocumentStore("adgm.db")
    retriever = StatuteHybridRetriever(store, model=store.model.path, top_k=5)
    retriever.run("May a fund manager delegate its duties?")["documents"]
    ```

    The score is the fused one divided by the highest that there can be: 1 is first in every list.
    Articles that the question cites without doubt stand above all others. The list by meaning
    counts with the weight that was measured at indexing (`pipelines.agreement`). If a question uses
    other words than the law, its list by words is chance, and at full weight it costs the list by
    meaning its first places: so words count in full where their first article holds the share
    `full_coverage` of the question's terms, and less in proportion.

    Over a store without vectors it searches by citations and words alone, and logs so.

    Attributes:
        citation: the retriever that finds what a question cites.
        bm25: the retriever whose index the list by words comes from.
        dense: the retriever whose vectors the list by meaning comes from.
        embedder: embeds the question.
    """

    def __init__(
        self,
        document_store: DocumentStore,
        model: str | None = None,
        top_k: int = 10,
        filters: dict[str, Any] | None = None,
        as_of: str = TODAY,
        depth: int = 250,
        weights: dict[str, float] | None = None,
        full_coverage: float | None = 0.5,
        k: float = FUSION_K,
        k1: float = 1.5,
        b: float = 0.75,
        device: ComponentDevice | None = None,
        dtype: DtypeName = "auto",
        refresh_seconds: float = 60,
    ) -> None:
        """Keep the parameters; nothing is opened.

        Args:
            document_store: where the articles and their vectors stand.
            model: what the vectors were made with; a name or a folder. None searches by words
                alone (`load_pipeline` puts the store's model there).
            top_k: how many to return at most.
            filters: Haystack filters that hold unless `run` gives others.
            as_of: leaves out what was not in force: "today", a day as YYYY-MM-DD, or "any", which
                leaves out nothing. Articles without dates always stay.
            depth: how many articles each list has at most.
            weights: of the lists citation, bm25 and dense, 0 or more, in place of .25, 1 and 1.
            full_coverage: the share of a question's terms, above 0 and up to 1, from which words
                have their full weight; None gives it to every question.
            k: the fusion's constant: the higher, the less the first ranks stand out.
            k1: how soon repeats of a term stop counting.
            b: how much a long text is marked down, from 0 to 1.
            device: where the model runs and the vectors lie; None takes the best there is.
            dtype: what the model computes in; "auto" takes bfloat16 where that is fast.
            refresh_seconds: how old the last read of a foreign store may be before it is read
                again.

        Raises:
            TypeError: `device` is not a ComponentDevice, or a whole number is not one.
            ValueError: a number is out of range, a weight is of no list, or `as_of` neither of the
                two words nor a day.
        """
        name = type(self).__name__
        Retriever.__init__(self, document_store, top_k, filters, as_of)
        check_count(f"{name}.depth", depth, 1)
        check_number(f"{name}.k", k, lambda k: 0 <= k < math.inf, "0 or more")
        if full_coverage is not None:
            requirement = "above 0 and up to 1, or null"
            check_number(f"{name}.full_coverage", full_coverage, _is_share, requirement)
        self.model = model
        self.depth = depth
        self.weights = weights
        self.full_coverage = full_coverage
        self.k = k
        self.k1 = k1
        self.b = b
        self.device = device
        self.dtype = dtype
        self.refresh_seconds = refresh_seconds
        self._weights = {**_WEIGHTS, **_checked_weights(f"{name}.weights", weights)}
        same: dict[str, Any] = {
            "filters": filters,
            "as_of": as_of,
            "refresh_seconds": refresh_seconds,
        }
        self.citation = CitationRetriever(document_store, top_k=_MOST_CITED, **same)
        self.bm25 = StatuteBM25Retriever(document_store, k1=k1, b=b, **same)
        self.dense = StatuteEmbeddingRetriever(document_store, device=device, **same)
        self.embedder = StatuteTextEmbedder(model, device, dtype)
        self._store = readable(document_store, refresh_seconds)
        self._resident_ids: ResidentIndex[dict[int, str]] | None = None

    def expect_model(self, digest: str) -> None:
        """Refuse the vectors of another bi-encoder, and another model for the questions.

        Args:
            digest: of the model that questions are embedded with.
        """
        self.embedder.expect_model(digest)
        self.dense.expect_model(digest)

    def warm_up(self) -> None:
        """Load the model and the indexes, once; `run` follows the store when its content changes.

        Raises:
            StoreError: the store cannot be read, or holds no vectors though a model is named.
            ModelError: the model cannot be loaded, or is not the one expected.
            VectorError: another file with another model's vectors was put in the store's place.
        """
        self.citation.warm_up()
        self.bm25.warm_up()
        self._ids(state_of(self._store))
        if self.model is None:
            logger.warning(
                "{store} is searched by citations and words alone: no model is named.",
                store=getattr(self.document_store, "path", type(self.document_store).__name__),
            )
            return
        self.embedder.warm_up()
        self.dense.warm_up()

    @component.output_types(
        documents=list[Document],
        pinned=list[Document],
        left_out=list[Document],
        missing=list[str],
        not_followed=list[str],
        evidence=list[Document],
        rankings=dict[str, list[str]],
    )
    def run(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        as_of: str | None = None,
    ) -> dict[str, Any]:
        """Find the articles that answer a question.

        Args:
            query: the question.
            filters: Haystack filters in place of the component's.
            top_k: how many to return at most, in place of the component's; 0 returns none.
            as_of: in place of the component's; "today" is the day of the call.

        Returns:
            `documents`: each article once, without embedding, by fused score; equal scores in the
            order of the lists, then of their ranks. `meta["ranks"]` is `{list: rank}`, from 1.
            `pinned`, `left_out`, `missing`, `not_followed`: as of `CitationRetriever`.
            `evidence`: the first article by words and by meaning, each with the score that its list
            gave and `meta["ranks"]` of that list alone. A fused score says nothing of how near an
            article is; this one does.
            `rankings`: for each list the ids of what it found, best first.

        Raises:
            QuestionError: the question is empty or too long.
            ModelError: the model cannot be loaded, or is not the one expected.
            VectorError: the model's vectors are of another size than the store's; or another file
                with another model's vectors was put in the store's place.
            FilterError: the filters are malformed.
            TypeError: `top_k` is no whole number.
            ValueError: `top_k` is negative, or `as_of` neither of the two words nor a day.
            StoreError: the store cannot be read, or holds no vectors though a model is named.
        """
        question = clean_question(query)
        narrowed, n, day = self._request(filters, top_k, as_of)
        cited = self.citation.run(question, narrowed, as_of=self.as_of if as_of is None else as_of)
        vector = None
        if self.model is not None:
            embedding = self.embedder.run(question)["embedding"]
            vector = checked_query(type(self).__name__, embedding)
        pinned: list[Document] = cited["pinned"]
        fused = _Fused([], [], {}, [])

        def search(
            state: Hashable, allowed: NDArray[np.int64] | None
        ) -> tuple[list[int], list[float]]:
            nonlocal fused
            fused = self._fused(question, vector, cited, state, allowed)
            rest = max(0, n - len(pinned))
            return fused.keys[:rest], fused.scores[:rest]

        documents = search_store(self._store, search, narrowed, day)
        ids = self._ids(None)
        rankings = {
            stage: [ids[key] for key in keys if key in ids] for stage, keys in fused.lists.items()
        }
        ranks: dict[str, dict[str, int]] = {each.id: {} for each in [*pinned, *documents]}
        for stage, ranking in rankings.items():
            for rank, id_ in enumerate(ranking, start=1):
                if id_ in ranks:
                    ranks[id_][stage] = rank
        found = [replace(each, score=1.0) for each in pinned] + documents
        return {
            "documents": [
                replace(each, meta={**each.meta, "ranks": ranks[each.id]}) for each in found[:n]
            ],
            "pinned": pinned,
            "left_out": cited["left_out"],
            "missing": cited["missing"],
            "not_followed": cited["not_followed"],
            "evidence": fused.evidence,
            "rankings": rankings,
        }

    def _fused(
        self,
        question: str,
        vector: NDArray[np.float32] | None,
        cited: dict[str, Any],
        state: Hashable,
        allowed: NDArray[np.int64] | None,
    ) -> "_Fused":
        """Search every list in the store's state, and fuse them."""
        found = {BM25: self.bm25.current_index(state).search(question, self.depth, allowed)}
        if vector is not None:
            found[DENSE] = self.dense.current_index(state).search(vector, self.depth, allowed)
        above = self._keys_of(cited["pinned"])
        # What the question cites is one list: first the pinned, then those in doubt.
        named = dict.fromkeys([*above, *self._keys_of(cited["documents"])])
        lists = {CITATION: list(named)}
        lists.update({stage: keys.tolist() for stage, (keys, _) in found.items()})
        evidence = [
            replace(each, meta={**each.meta, "ranks": {stage: 1}})
            for stage, (keys, scores) in found.items()
            for each in self._store.fetch(keys[:1], scores[:1])
        ]
        weights = self._weights_for(question, evidence)
        given = [weights[stage] for stage in lists]
        # Where nothing has any weight, all have the score 0.
        highest = sum(given) / (self.k + 1) or 1.0
        scores = rank_scores(list(lists.values()), given, self.k)
        keys = sorted((key for key in scores if key not in above), key=lambda key: -scores[key])
        return _Fused(keys, [scores[key] / highest for key in keys], lists, evidence)

    def _keys_of(self, documents: list[Document]) -> list[int]:
        return self._store.keys_of([each.id for each in documents]) if documents else []

    def _weights_for(self, question: str, evidence: list[Document]) -> dict[str, float]:
        """The lists' weights for a question."""
        weights = {**self._weights, DENSE: self._weights[DENSE] * self.dense.weight()}
        if self.full_coverage is not None:
            covered = 0.0
            for first in evidence:
                if BM25 in ranks_of(first.meta):
                    text = indexed_text(headings_of(first.meta), first.content or "")
                    covered = coverage(question, text, language_of(first.meta))
            weights[BM25] *= trust(covered, self.full_coverage)
        return weights

    def _ids(self, state: Hashable) -> dict[int, str]:
        """The id of each article, by key."""
        if self._resident_ids is None:
            self._resident_ids = resident_index(self._store, "ids", _ids_by_key)
        return self._resident_ids.current(self._store, state)


@dataclass(frozen=True, slots=True)
class _Fused:
    """What one search of a store's content found.

    Attributes:
        keys: of the articles that are not pinned, best first.
        scores: of these, 0 to 1.
        lists: the keys that each list found, best first.
        evidence: the first article of each list, with its score there.
    """

    keys: list[int]
    scores: list[float]
    lists: dict[str, list[int]]
    evidence: list[Document]


def _ids_by_key(store: ReadableStore) -> dict[int, str]:
    return {key: id_ for key, id_, _ in store.metas()}


def _is_share(value: float) -> bool:
    return 0 < value <= 1


def _checked_weights(parameter: str, weights: dict[str, float] | None) -> dict[str, float]:
    if not (weights is None or isinstance(weights, dict)):
        raise ValueError(f"{parameter} must be numbers by list, got {weights!r}.")
    for stage, weight in (weights or {}).items():
        if stage not in _WEIGHTS:
            raise ValueError(f"{parameter} names {stage!r}, and the lists are {list(_WEIGHTS)}.")
        name = f"{parameter}[{stage!r}]"
        check_number(name, weight, lambda weight: 0 <= weight < math.inf, "0 or more")
    return weights or {}
