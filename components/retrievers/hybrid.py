"""StatuteHybridRetriever: citations, words and meaning, fused before any document is made."""

import math
from collections.abc import Hashable, Iterable
from dataclasses import replace
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from haystack import Document, component, logging
from haystack.document_stores.types import DocumentStore
from haystack.utils import ComponentDevice
from numpy.typing import NDArray

from components.embedders.text import StatuteTextEmbedder
from components.models.folder import DtypeName
from components.models.learned_fusion import LearnedFusion, learned_fusion_of
from components.parameters import check_count, check_number, check_numbers, checked_device
from components.retrievers.answered import ANSWERED, AnsweredQuestions, recorded_questions
from components.retrievers.bm25 import StatuteBM25Retriever
from components.retrievers.citation import CitationRetriever
from components.retrievers.embedding import StatuteEmbeddingRetriever
from components.retrievers.lists import (
    CITATION,
    AnsweredList,
    ArticleList,
    CitationList,
    DivisionList,
    LawIndex,
    MeaningList,
    SearchedQuestion,
    WordList,
)
from components.retrievers.resident import (
    IndexReader,
    ResidentIndex,
    Retriever,
    allowed_keys,
    resident_index,
    settled,
    state_of,
    validity_of,
)
from components.retrievers.validity import TODAY, law_of_place
from components.statutes.fusion import (
    BM25,
    DENSE,
    DIVISION,
    FULL_COVERAGE,
    FUSED_FROM,
    FUSION_K,
    RankedList,
    fused_by_rank,
    weights_for,
)
from components.statutes.jurisdiction import place_and_above
from components.statutes.lay_words import phrases_by_said
from components.statutes.lexical import K1, B, corrected
from components.statutes.question import clean_question
from components.stores.sqlite import StatuteDocumentStore

if TYPE_CHECKING:
    from components.models.biencoder import BiEncoder

logger = logging.getLogger(__name__)

_LISTS = (CITATION, BM25, DIVISION, DENSE, ANSWERED)
_REWRITTEN = "rewritten"
_PLACES_FOR_A_LEVEL = 10
"""Articles returned for each one that a level of law (city, state) has at least: see
docs/results/findings.md."""
_MOST_CITED = 100
_OF_CITATIONS = ("pinned", "left_out", "missing", "not_followed", "unanswerable")


@component
class StatuteHybridRetriever(IndexReader[LawIndex], Retriever):
    """Finds articles by what a question cites, by its words and by its meaning.

    Words are searched twice (BM25): in the articles, and in the lowest divisions of the law, each
    of whose articles has the division's rank. The lists are fused by reciprocal ranks
    (`components.statutes.fusion`) over all articles; documents are made of the final `top_k` only.

    ```python
    from components.retrievers.hybrid import StatuteHybridRetriever
    from components.stores.sqlite import StatuteDocumentStore

    store = StatuteDocumentStore("adgm.db")
    retriever = StatuteHybridRetriever(store, model=store.model.path, top_k=5)
    retriever.run("May a fund manager delegate its duties?")["documents"]
    ```

    The score is the fused one divided by its maximum: 1 is first in every list.
    Articles that the question cites without doubt stand above all others. The list by meaning
    counts with the weight that its training chose by questions, or else with the one that was
    measured at indexing (`pipelines.weights`). If a question uses
    other words than the law, its list by words is chance, and at full weight it costs the list by
    meaning its first places: so words count in full where their first article holds the share
    `full_coverage` of the question's terms, and less in proportion.

    Where the model's folder holds a learned fusion (`python -m training.fusion`), it puts the first
    200 of the fused list in a new order, by what every list says of an article and of those around
    it in the law; their scores, .5 to 1, are then its own. It is not used where answered questions
    are searched, where the question cites an article in doubt, over vectors that went through a
    graph network, over a store that is not Lexarbor's or has no model on record, or where depth,
    weights, full_coverage, k, k1, b or expansions are not the defaults that it was learned with.

    Where questions were given to `pipelines.index --answered`, those like the question vote for the
    articles that answered them, as one more list (`AnsweredQuestions`), with the weight that was
    chosen then: 0 where the other lists, or the learned fusion of them, do as well without. Its
    first score tells whether the law has an answer: it is in the evidence.

    A word that neither the law nor the model's vocabulary has is searched in the spelling of the
    law that is nearest to it (`components.statutes.lexical`), and reported.

    A run's `searches` say the question in other words (`StatuteQueryRewriter`). What each finds
    without citations is fused by rank into a list `rewritten`, and that with the question's own, in
    equal parts.

    Where a list of lay words was given to `pipelines.index --lay-words`, what people say is
    searched in the law's words too, in articles and divisions (`components.statutes.lay_words`),
    and reported. The model reads the question as it is. Where a learned fusion is used, the list
    is not.

    A run's `jurisdiction` narrows it to the law of a place, such as a city, and of those above it.
    Each of these levels has at least one of every ten articles returned, the last one where it has
    no other: a state has far more law than a city, and would hide the city's rule.

    Over a store without vectors it searches by citations and words alone, and logs that.

    A run's `filters` are merged with the component's and never replace them: all must hold.
    There is no `filter_policy` that changes this.

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
        depth: int = FUSED_FROM,
        weights: dict[str, float] | None = None,
        full_coverage: float | None = FULL_COVERAGE,
        k: float = FUSION_K,
        k1: float = K1,
        b: float = B,
        expansions: str | None = None,
        device: ComponentDevice | None = None,
        dtype: DtypeName = "auto",
        refresh_seconds: float = 60,
        with_rankings: bool = False,
    ) -> None:
        """Keep the parameters; nothing is opened.

        Args:
            document_store: where the articles and their vectors stand.
            model: what the vectors were made with; a name or a folder. None searches by words
                alone (`load_pipeline` puts the store's model there).
            top_k: how many to return at most.
            filters: Haystack filters that always hold.
            as_of: leaves out what was not in force: "today", a day as YYYY-MM-DD, or "any", which
                leaves out nothing. Articles without dates always stay.
            depth: how many articles each list has at most.
            weights: of the lists citation, bm25, division and dense, 0 or more, in place of .25,
                1, .35 and 1; and of answered, in place of the one on record.
            full_coverage: the share of a question's terms, above 0 and up to 1, from which words
                have their full weight; None gives it to every question.
            k: the fusion's constant: the higher, the less the first ranks stand out.
            k1: how soon repeats of a term stop counting.
            b: how much a long text is marked down, from 0 to 1.
            expansions: as of `StatuteBM25Retriever`; the divisions stay as they are.
            device: where the model runs and the vectors lie; None takes the best there is.
            dtype: what the model computes in; "auto" takes bfloat16 where that is fast.
            refresh_seconds: how old the last read of a foreign store may be before it is read
                again.
            with_rankings: whether `run` returns `rankings` too. Without it, a component that is
                connected to `rankings` waits for ever.

        Raises:
            TypeError: `device` is not a ComponentDevice, or a whole number is not one.
            ValueError: a number is out of range, a weight is of no list, or `as_of` neither of the
                two words nor a day.
        """
        name = type(self).__name__
        Retriever.__init__(self, document_store, top_k, filters, as_of)
        check_count(f"{name}.depth", depth, 1)
        for each, value in (("k", k), ("k1", k1)):
            check_number(f"{name}.{each}", value, lambda x: 0 <= x < math.inf, "0 or more")
        check_number(f"{name}.b", b, lambda b: 0 <= b <= 1, "from 0 to 1")
        checked_device(name, device)
        if full_coverage is not None:
            where = f"{name}.full_coverage"
            check_number(where, full_coverage, lambda share: 0 < share <= 1, "above 0 and up to 1")
        check_numbers(f"{name}.weights", weights, _LISTS, lambda x: 0 <= x < math.inf, "0 or more")
        self.model = model
        self.depth = depth
        self.weights = weights
        self.full_coverage = full_coverage
        self.k = k
        self.k1 = k1
        self.b = b
        self.expansions = expansions
        self.device = device
        self.dtype = dtype
        self.with_rankings = with_rankings
        self._read_from(document_store, refresh_seconds)
        same: dict[str, Any] = {"filters": filters, "as_of": as_of}
        same["refresh_seconds"] = refresh_seconds
        self.citation = CitationRetriever(document_store, top_k=_MOST_CITED, **same)
        self.bm25 = StatuteBM25Retriever(document_store, k1=k1, b=b, expansions=expansions, **same)
        self.dense = StatuteEmbeddingRetriever(document_store, device=device, **same)
        self.embedder = StatuteTextEmbedder(model, device, dtype)
        self._encoder: BiEncoder | None = None
        self._questions: tuple[tuple[str | None, BiEncoder | None], AnsweredQuestions | None]
        self._questions = ((None, None), None)

    def search_answered(self, questions: AnsweredQuestions | None) -> None:
        """Search these answered questions until the ones kept with the store change.

        Args:
            questions: encoded by the store's model; None searches none.
        """
        assert isinstance(self.document_store, StatuteDocumentStore)
        self._questions = (self._recorded(self.document_store), questions)

    def expect_model(self, digest: str, articles: str) -> None:
        """Refuse the vectors of another bi-encoder, and another model for the questions.

        Args:
            digest: of the model that questions are embedded with.
            articles: of what encoded the articles.
        """
        self.embedder.expect_model(digest, articles)
        self.dense.expect_model(digest, articles)

    def warm_up(self) -> None:
        """Load the model and the indexes, once; `run` follows the store when its content changes.

        Raises:
            StoreError: the store cannot be read, or holds no vectors though a model is named.
            ModelError: the model cannot be loaded, or is not the one expected; or its learned
                fusion is broken, or was learnt on other lists, features or vectors.
            VectorError: another file with another model's vectors was put in the store's place.
            CorpusError: the file of expansions cannot be read, or holds no synthetic question.
        """
        if self._is_warm:
            return
        self.citation.warm_up()
        self.bm25.warm_up()
        self.current_index()
        if self.model is None:
            logger.warning(
                "{store} is searched by citations and words alone: no model is named.",
                store=getattr(self.document_store, "path", type(self.document_store).__name__),
            )
        else:
            self._encoder = self.embedder.loaded()
            self.dense.warm_up()
            _ = self._fusion
        self._is_warm = True

    @component.output_types(
        documents=list[Document],
        pinned=list[Document],
        left_out=list[Document],
        missing=list[str],
        not_followed=list[str],
        evidence=list[Document],
        rankings=dict[str, dict[str, int]],
        corrections=dict[str, str],
        expansions=dict[str, list[str]],
        query=str,
        unanswerable=bool,
    )
    def run(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        as_of: str | None = None,
        correct: bool = True,
        searches: list[str] | None = None,
        expand: bool = True,
        jurisdiction: str | None = None,
    ) -> dict[str, Any]:
        """Find the articles that answer a question.

        Args:
            query: the question.
            filters: Haystack filters that must hold besides the component's.
            top_k: how many to return at most, in place of the component's; 0 returns none.
            as_of: in place of the component's; "today" is the day of the call.
            correct: whether words are searched in the law's spelling; if not, as they are written.
            searches: other texts to search besides the question, whose citations are not followed.
            expand: whether the store's lay words are searched in the law's words too.
            jurisdiction: a place, such as "us/or/portland". The search is narrowed to its law, that
                of the places above it, and articles without a jurisdiction.

        Returns:
            `documents`: each article once, without embedding, by fused score; equal scores in the
            order of the law. `meta["ranks"]` is `{list: rank}`, from 1.
            `pinned`, `left_out`, `missing`, `not_followed`, `unanswerable`: as of
            `CitationRetriever`. For an unanswerable question nothing is found.
            `evidence`: the first article by words, by meaning and by answered questions, each with
            the score that its list gave and `meta["ranks"]` of that list alone. A fused score says
            nothing of how near an article is; this one does.
            `rankings`: with `with_rankings`, for each list the ranks of the first `depth` that it
            found, by id, best first.
            `corrections`: the words of the question that were searched in another spelling, as
            asked and as searched. `query`: the question as it was searched.
            `expansions`: as of `StatuteBM25Retriever.run`.

        Raises:
            QuestionError: the question or a search is empty or too long.
            ModelError: the model cannot be loaded, or is not the one expected.
            VectorError: the model's vectors are of another size than the store's; or another file
                with another model's vectors was put in the store's place.
            FilterError: the filters are malformed.
            TypeError: `top_k` is not a whole number.
            ValueError: `top_k` is negative, or `as_of` neither of the two words nor a day.
            StoreError: the store cannot be read, or holds no vectors though a model is named.
        """
        question = clean_question(query)
        others = [clean_question(each) for each in searches or []]
        if jurisdiction is not None:
            filters = law_of_place(jurisdiction, filters)
        filters, n, day = self._request(filters, top_k, as_of)
        above = place_and_above(jurisdiction) if jurisdiction else []
        self.warm_up()
        return settled(
            self._store,
            lambda state: self._answer(
                state, question, others, filters, n, day, above, correct=correct, expand=expand
            ),
        )

    def _answer(
        self,
        state: Hashable,
        query: str,
        searches: list[str],
        filters: dict[str, Any] | None,
        n: int,
        day: date | None,
        places: list[str],
        *,
        correct: bool,
        expand: bool,
    ) -> tuple[dict[str, Any], bool]:
        """`run` in a state of the store, as `settled` takes it."""
        found = self._ask(state, query, filters, day, correct=correct, expand=expand)
        law, lists, cited = found.question.law, found.lists, found.question.cited
        pinned: list[Document] = cited["pinned"]
        n = 0 if cited["unanswerable"] else n
        n_below = max(0, n - len(pinned))
        rows, scores = self._fused(found, found.weights)
        if searches and n:
            others = [
                self._ask(state, each, filters, day, correct=correct, expand=False, cites=False)
                for each in searches
            ]
            rows, scores = self._with_rewritten(found, RankedList.of(rows, scores), others)
        if places and (quota := n // _PLACES_FOR_A_LEVEL):
            levels = [
                self._level(found, rows[:n_below], quota, place, filters, day) for place in places
            ]
            rows, scores = _with_levels(rows, scores, n_below, levels)
        rows, scores = rows[:n_below], scores[:n_below]
        firsts = {stage: lists[stage].rows[:1] for stage in found.evidence if n}
        keys = law.keys[list(dict.fromkeys(np.concatenate([rows, *firsts.values()]).tolist()))]
        documents = {each.id: each for each in self._store.fetch(keys)}
        evidence = [
            replace(
                documents[id_],
                score=float(lists[stage].scores[0]),
                meta={**documents[id_].meta, "ranks": {stage: 1}},
            )
            for stage, first in firsts.items()
            for id_ in law.ids_of(first)
            if id_ in documents
        ]
        fused = zip(law.ids_of(rows), scores.tolist(), strict=True)
        below = [replace(documents[id_], score=score) for id_, score in fused if id_ in documents]
        below = validity_of(self._store, state).with_wordings(below)
        top = [*(replace(each, score=1.0) for each in pinned), *below][:n]
        top_rows = law.rows_of(each.id for each in top)
        ranks: dict[str, dict[str, int]] = {each.id: {} for each in top}
        rankings = {}
        for stage, listed in lists.items():
            # What is returned is named with its rank in every list, however deep.
            own = law.ranks_of(listed, np.flatnonzero(np.isin(listed.rows, top_rows)))
            for id_ in [id_ for id_ in ranks if id_ in own]:
                ranks[id_][stage] = own[id_]
            if self.with_rankings:
                first = np.arange(len(listed.rows))[: self.depth]
                rankings[stage] = law.ranks_of(listed, first) | own
        return {
            "documents": [
                replace(each, meta={**each.meta, "ranks": ranks[each.id]}) for each in top
            ],
            **{name: cited[name] for name in _OF_CITATIONS},
            "evidence": evidence,
            "corrections": found.corrections,
            "expansions": phrases_by_said(found.question.expansions),
            "query": found.question.text,
            # Not without being asked: an agent would read it all, a pipeline copy it item by item.
            **({"rankings": rankings} if self.with_rankings else {}),
        }, found.is_whole and len(documents) == len(keys)

    def _lists(self) -> list[ArticleList]:
        """The lists to ask, in the order in which they are fused and shown."""
        lists: list[ArticleList] = [CitationList(), WordList(self.bm25), DivisionList()]
        if self._encoder is not None:
            lists.append(MeaningList(self.dense))
            if (questions := self.answered_questions()) is not None:
                lists.append(AnsweredList(questions))
        return lists

    def _ask(
        self,
        state: Hashable,
        query: str,
        filters: dict[str, Any] | None,
        day: date | None,
        *,
        correct: bool,
        expand: bool,
        cites: bool = True,
    ) -> "_Search":
        """Ask every list in a state of the store; without `cites`, no article that it names."""
        law = self.current_index(state)
        allowed = allowed_keys(self._store, validity_of(self._store, state), filters, day)
        cited, is_whole = self.citation.find(
            state, query if cites else "", filters, _MOST_CITED, day
        )
        asked = self._lists()
        # It was learned without answered questions and lay words.
        fusion = None if any(each.name == ANSWERED for each in asked) else self._fusion
        lay = self.bm25.lay_words(state) if expand and fusion is None else None
        corrections: dict[str, str] = {}
        vector = None
        if (encoder := self._encoder) is not None:
            if correct:
                words = self.bm25.current_index(state)
                # Words that are neither in the law, nor in the model's vocabulary, nor in a list.
                corrections = law.spelling.corrections(
                    query,
                    lambda word: (
                        words.knows(word)
                        or encoder.query.tokenizer.is_whole(word)
                        or (lay is not None and lay.knows(word))
                    ),
                )
                query = corrected(query, corrections)
            vector = encoder.question_vector(query).numpy()
        expansions = [] if lay is None else lay.expansions(query)
        question = SearchedQuestion(
            query, vector, cited, state, law, allowed, self.depth, expansions
        )
        lists = {each.name: each.search(question) for each in asked}
        weights = {each.name: (self.weights or {}).get(each.name, each.weight) for each in asked}
        if DENSE in weights:
            chosen = self._encoder.dense_weight if self._encoder else None  # by training
            weights[DENSE] *= self.dense.weight(1.0 if chosen is None else chosen)
        if fusion is not None:
            weights |= fusion.weights
        return _Search(
            question=question,
            lists=lists,
            fusion=fusion,
            evidence=[each.name for each in asked if each.is_evidence],
            weights=weights,
            covered=WordList(self.bm25).coverage(question, lists[BM25]),
            corrections=corrections,
            is_whole=is_whole,
        )

    def _fused(
        self, found: "_Search", weights: dict[str, float]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Rows and scores, 0 to 1, of the articles that are not pinned, best first."""
        law, lists = found.question.law, found.lists
        above = law.rows_of(each.id for each in found.question.cited["pinned"])
        weights = weights_for(weights, found.covered, self.full_coverage)
        rows, scores = fused_by_rank(lists, weights, len(law.arrays), self.k)
        # Where nothing has any weight, nothing is found.
        scores /= sum(weights[stage] for stage in lists) / (self.k + 1) or 1.0
        below = ~np.isin(rows, above)
        rows, scores = rows[below], scores[below]
        # The learned fusion knows nothing of citations in doubt.
        if found.fusion is not None and len(lists[CITATION].rows) == len(above):
            first, learned = found.fusion.ranked(
                law.arrays, lists, rows, question=found.question.text, coverage=found.covered
            )
            # The articles that it has not read stay below, whatever their score.
            learned = 0.5 + 0.5 / (1 + np.exp(-learned))
            scores = np.concatenate([learned, 0.5 * scores[len(first) :]])
            rows = np.concatenate([first, rows[len(first) :]])
        return rows, scores

    def _with_rewritten(
        self, found: "_Search", own: RankedList, others: list["_Search"]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Rows and scores as of `_fused`, of the question's own list and that of other searches."""

        def fused(lists: dict[str, RankedList]) -> tuple[Any, Any]:
            weights = dict.fromkeys(lists, 1 / len(lists))
            rows, scores = fused_by_rank(lists, weights, len(found.question.law.arrays), self.k)
            return rows, scores * (self.k + 1)

        searched = [RankedList.of(*self._fused(each, each.weights)) for each in others]
        rows, scores = fused({str(n): each for n, each in enumerate(searched)})
        pinned = found.question.law.rows_of(each.id for each in found.question.cited["pinned"])
        below = ~np.isin(rows, pinned)
        found.lists[_REWRITTEN] = RankedList.of(rows[below], scores[below])
        return fused({"own": own, _REWRITTEN: found.lists[_REWRITTEN]})

    def _level(
        self,
        found: "_Search",
        rows: NDArray[np.int64],
        quota: int,
        place: str,
        filters: dict[str, Any] | None,
        day: date | None,
    ) -> NDArray[np.int64]:
        """The best rows of one level of law: those of the result, or of a search in it alone.

        A level with few articles can be missing in every list of the whole.

        Args:
            found: the search in all levels; gets the list of a search in this one.
            rows: its result below the pinned articles, best first.
            quota: how many articles of the level are wanted, pinned ones included.
            place: whose law the level is.
            filters: of the search.
            day: of the law.
        """
        question = found.question
        only = {"field": "meta.jurisdiction", "operator": "==", "value": place}
        filters = {"operator": "AND", "conditions": [only, *([filters] if filters else [])]}
        validity = validity_of(self._store, question.state)
        allowed = validity.matching(filters, self._store.keys_matching, validity.on(day))
        law = question.law
        pinned = law.rows_of(each.id for each in question.cited["pinned"])
        quota -= min(quota, int(np.isin(law.keys[pinned], allowed).sum()))
        own = rows[np.isin(law.keys[rows], allowed)]
        if len(own) >= quota or not len(allowed):
            return own[:quota]
        level = self._ask(
            *(question.state, question.text, filters, day),
            correct=False,
            expand=bool(question.expansions),
            cites=False,
        )
        best, scores = self._fused(level, level.weights)
        below = ~np.isin(best, pinned)
        best, scores = best[below][:quota], scores[below][:quota]
        found.lists[place] = RankedList.of(best, scores)
        return best

    def by_weight(self, query: str, weights: Iterable[float]) -> list[list[str]]:
        """Ids of the `top_k` articles, best first, for each of several weights of one list.

        Args:
            query: the question.
            weights: of the list of answered questions, where it is searched.
        """
        filters, n, day = self._request(None, None, None)
        self.warm_up()
        found = self._ask(
            state_of(self._store), clean_question(query), filters, day, correct=True, expand=True
        )
        pinned = [each.id for each in found.question.cited["pinned"]]
        ranked = (self._fused(found, {**found.weights, ANSWERED: weight})[0] for weight in weights)
        return [[*pinned, *found.question.law.ids_of(rows[:n])][:n] for rows in ranked]

    def answered_questions(self) -> AnsweredQuestions | None:
        """The answered questions to search; None if there are none, or they do not help.

        Raises:
            StoreError: those of the store are damaged.
        """
        store = self.document_store
        if not isinstance(store, StatuteDocumentStore):
            return None
        key = record, other = self._recorded(store)
        if key != self._questions[0]:
            questions = None if record is None else AnsweredQuestions.read(store, record)
            if questions is not None and other is not None:
                questions = questions.encoded_by(other)
                if questions is None:
                    logger.warning(
                        "{store}: its answered questions are not searched, since {model} did not "
                        "encode them. Index with this model and --answered.",
                        store=store.path,
                        model=self.model,
                    )
            self._questions = (key, questions)
        questions = self._questions[1]
        if questions is None:
            return None
        # A list without weight changes nothing, and would be shown as a reason.
        return questions if (self.weights or {}).get(ANSWERED, questions.weight) else None

    def _recorded(self, store: StatuteDocumentStore) -> tuple[str | None, "BiEncoder | None"]:
        """The record of the answered questions, and the model that must know their vectors.

        None for the second where the record's vectors are those of the model that asks.
        """
        encoder = self._encoder
        record = recorded_questions(store, encoder.digest if encoder else None)
        if record is not None or encoder is None:
            return record, None
        record = recorded_questions(store)
        return record, None if record is None else encoder

    @cached_property
    def _fusion(self) -> LearnedFusion | None:
        """The fusion in the model's folder; None where it was not learned on what is searched."""
        store = self.document_store
        if self.model is None or not isinstance(store, StatuteDocumentStore) or store.model is None:
            return None
        usual = (FUSED_FROM, None, FULL_COVERAGE, FUSION_K, K1, B, None)
        own = (self.depth, self.weights, self.full_coverage, self.k, self.k1, self.b)
        if (*own, self.expansions) != usual:
            return None
        if store.model.through_graph:
            return None
        return learned_fusion_of(
            self.model,
            lists=(BM25, DIVISION, DENSE),
            model=self.dense.asked_by or store.model.question_digest,
        )

    def _shared_index(self) -> ResidentIndex[LawIndex]:
        k1, b = self.k1, self.b
        return resident_index(self._store, ("law", k1, b), lambda store: LawIndex(store, k1, b))


def _with_levels(
    rows: NDArray[np.int64],
    scores: NDArray[np.float64],
    n: int,
    levels: list[NDArray[np.int64]],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The `n` best rows with their scores, where some rows of each level have a place.

    What these displace is the last of the others. A row that no list had comes last, with 0.
    """
    reserved = np.unique(np.concatenate([*levels, np.empty(0, np.int64)]))
    others = rows[~np.isin(rows, reserved)][: max(0, n - len(reserved))]
    kept = np.isin(rows, np.concatenate([reserved, others]))
    missing = np.setdiff1d(reserved, rows)
    return (
        np.concatenate([rows[kept], missing]),
        np.concatenate([scores[kept], np.zeros(len(missing))]),
    )


class _Search(NamedTuple):
    """What every list finds for a question.

    Attributes:
        question: as it was searched.
        lists: by name.
        fusion: orders the first of them again; None fuses by rank alone.
        evidence: names of the lists whose first score is evidence.
        weights: of the lists.
        covered: the share of the question's terms in the first article by words.
        corrections: as of `StatuteHybridRetriever.run`.
        is_whole: whether the citations' articles were all there.
    """

    question: SearchedQuestion
    lists: dict[str, RankedList]
    fusion: LearnedFusion | None
    evidence: list[str]
    weights: dict[str, float]
    covered: float
    corrections: dict[str, str]
    is_whole: bool
