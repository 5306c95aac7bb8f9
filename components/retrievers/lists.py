"""The lists that `StatuteHybridRetriever` fuses: a class for each way to find an article.

A list searches a question and ranks rows of the law (`LawIndex`). To add one, write a class and
name it in `StatuteHybridRetriever._lists`.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.converters.articles import headings_of, language_of, law_of
from components.models.lexical_index import LexicalIndex
from components.models.selection import Keys, remembered, row_mask
from components.retrievers.answered import ANSWERED, AnsweredQuestions
from components.retrievers.bm25 import StatuteBM25Retriever, kept_index
from components.retrievers.embedding import StatuteEmbeddingRetriever
from components.retrievers.resident import ReadableStore
from components.statutes.fusion import (
    BM25,
    DENSE,
    DIVISION,
    DIVISION_WEIGHT,
    LawArrays,
    RankedList,
    division_texts,
)
from components.statutes.lay_words import Expansion
from components.statutes.lexical import Spelling, analysis_version

CITATION = "citation"

_DIVISIONS_FORMAT = 1


class LawIndex:
    """Where the articles of a store stand in the law, and its divisions, searched by words.

    A division's text is its headings and the texts of the articles under them that no lower
    division holds, in all of their wordings.

    Args:
        store: read as it is now.
        k1: how soon repeats of a term in a division stop counting.
        b: how much a long division is marked down.

    Attributes:
        keys: int64 `[n]`, of the articles in the order of the law; a row is a place among them.
        ids: of the same articles.
        row_of_id: where each id stands in `ids`.
        languages: of the same articles.
        arrays: where they stand.
        mask: the rows of allowed keys, as `row_mask`.
        divisions: an index over the divisions of `arrays`.
        narrow_divisions: those to search, by allowed keys: with an allowed article, not too
            large, and no repeat of the list by words.
        spelling: the words of the articles.
    """

    def __init__(self, store: ReadableStore, k1: float, b: float) -> None:
        # Before anything is read: newer content under this version is only indexed once more.
        version = f"{_DIVISIONS_FORMAT}/{analysis_version()}/{store.content_version()}"
        articles = [
            (key, id_, law_of(meta), headings_of(meta), language_of(meta))
            for key, id_, meta in store.metas()
        ]
        headings = {key: above for key, _, _, above, _ in articles}

        def own_texts() -> Iterator[tuple[int, str, str | None]]:
            """The text of each article without its headings."""
            for key, text, language in store.texts():
                yield key, text.removeprefix(" ".join(headings.get(key, ()))).lstrip(), language

        lengths = {key: len(text) for key, text, _ in own_texts()}
        self.arrays = LawArrays(
            (law, above, lengths.get(key, 0)) for key, _, law, above, _ in articles
        )

        def build() -> LexicalIndex:
            texts = {key: (text, language) for key, text, language in own_texts()}
            of_articles = ((above, *texts.pop(key, ("", None))) for key, _, _, above, _ in articles)
            return LexicalIndex.build(division_texts(self.arrays, of_articles), k1=k1, b=b)

        self.divisions = kept_index(store, f"divisions/{k1}/{b}", version, LexicalIndex, build)
        if not np.array_equal(self.divisions.keys, np.arange(self.arrays.groups[0].size)):
            self.divisions = build()  # of another content, which was written between the two
        self.spelling = kept_index(
            store, "words/", version, Spelling, lambda: Spelling.of(t for _, t, _ in store.texts())
        )
        self.keys = np.array([each[0] for each in articles], dtype=np.int64)
        self.ids = [each[1] for each in articles]
        # One object for each language, whatever the number of articles.
        tags: dict[str | None, str | None] = {}
        self.languages = [tags.setdefault(each[4], each[4]) for each in articles]
        self.mask = row_mask(self.keys)
        self.row_of_id = {id_: row for row, id_ in enumerate(self.ids)}
        self._order = np.argsort(self.keys)
        self._sorted = self.keys[self._order]
        # They hold no `self`, which would then wait for the garbage collector.
        self.narrow_divisions = remembered(partial(_narrow_divisions, self.arrays, self.mask))

    def listed(self, keys: NDArray[np.int64], scores: NDArray[np.float32]) -> RankedList:
        """What a search found, by row; keys of other content are left out."""
        places = np.minimum(np.searchsorted(self._sorted, keys), max(0, len(self._sorted) - 1))
        known = self._sorted[places] == keys if len(self._sorted) else np.zeros(len(keys), bool)
        return RankedList.of(self._order[places[known]], scores[known])

    def rows_of(self, ids: Iterable[str]) -> NDArray[np.int64]:
        """Rows of the articles with these ids, each once; unknown ones are left out."""
        known = (self.row_of_id[id_] for id_ in ids if id_ in self.row_of_id)
        return np.array(list(dict.fromkeys(known)), dtype=np.int64)

    def ranks_of(self, listed: RankedList, places: NDArray[np.int64]) -> dict[str, int]:
        """The ranks of the articles at some places of a list, by id."""
        ids = self.ids_of(listed.rows[places])
        return dict(zip(ids, listed.ranks[places].tolist(), strict=True))

    def ids_of(self, rows: NDArray[np.int64]) -> list[str]:
        """Ids of rows."""
        return [self.ids[row] for row in rows.tolist()]


def _narrow_divisions(
    arrays: LawArrays, mask: Callable[[Keys], NDArray[np.bool_] | None], allowed: Keys
) -> NDArray[np.int64]:
    counts = np.bincount(arrays.division[mask(allowed)].ravel(), minlength=arrays.groups[0].size)
    return arrays.narrow_divisions[counts[arrays.narrow_divisions] > 0]


class SearchedQuestion(NamedTuple):
    """A question, and what it is searched in.

    Attributes:
        text: in the spelling that is searched.
        vector: of the text, float32 `[dim]`; None without a model.
        cited: what it cites, as of `CitationRetriever.find`.
        state: of the store.
        law: the index of that state.
        allowed: keys of the articles to choose from; None for all.
        depth: how many articles, or divisions, a list finds at most.
        expansions: what the store's lay words make of the text.
    """

    text: str
    vector: NDArray[np.float32] | None
    cited: dict[str, Any]
    state: Hashable
    law: LawIndex
    allowed: NDArray[np.int64] | None
    depth: int
    expansions: Sequence[Expansion]


class ArticleList:
    """One way to find the articles that answer a question.

    Attributes:
        name: of the list.
        is_evidence: whether its first score says how near that article is.
        weight: in a fusion where words have 1.
    """

    name: str
    is_evidence: bool
    weight: float

    def search(self, question: SearchedQuestion) -> RankedList:
        """The articles found, best first, as rows of `question.law`."""
        raise NotImplementedError


class CitationList(ArticleList):
    """The articles that a question cites: first the pinned ones, then those in doubt."""

    name, is_evidence = CITATION, False
    # A citation that fits several articles is a hint and not an answer: chosen on training
    # questions.
    weight = 0.25

    def search(self, question: SearchedQuestion) -> RankedList:
        """See `ArticleList.search`."""
        found = (each.id for name in ("pinned", "documents") for each in question.cited[name])
        rows = question.law.rows_of(found)
        return RankedList.of(rows, np.ones(len(rows)))


class WordList(ArticleList):
    """The articles that share words with a question (BM25)."""

    name, is_evidence, weight = BM25, True, 1.0

    def __init__(self, bm25: StatuteBM25Retriever) -> None:
        self._bm25 = bm25

    def search(self, question: SearchedQuestion) -> RankedList:
        """See `ArticleList.search`."""
        index = self._bm25.current_index(question.state)
        found = index.search(question.text, question.depth, question.allowed, question.expansions)
        return question.law.listed(*found)

    def coverage(self, question: SearchedQuestion, found: RankedList) -> float:
        """The share of the question's terms in the first article found; 0 where none was."""
        if not len(found.rows):
            return 0.0
        first, law = int(found.rows[0]), question.law
        index = self._bm25.current_index(question.state)
        key, language = int(law.keys[first]), law.languages[first]
        return index.coverage(question.text, key, language, question.expansions)


class DivisionList(ArticleList):
    """The articles of the divisions that share words with a question, at their division's rank."""

    name, is_evidence, weight = DIVISION, False, DIVISION_WEIGHT

    def search(self, question: SearchedQuestion) -> RankedList:
        """See `ArticleList.search`."""
        law, allowed = question.law, question.allowed
        found = law.divisions.search(
            question.text, question.depth, law.narrow_divisions(allowed), question.expansions
        )
        return law.arrays.spread(*found, law.mask(allowed))


class MeaningList(ArticleList):
    """The articles whose vectors are nearest to the question's."""

    name, is_evidence, weight = DENSE, True, 1.0

    def __init__(self, dense: StatuteEmbeddingRetriever) -> None:
        self._dense = dense

    def search(self, question: SearchedQuestion) -> RankedList:
        """See `ArticleList.search`."""
        assert question.vector is not None
        vectors = self._dense.current_index(question.state)
        found = vectors.search(question.vector, question.depth, question.allowed)
        return question.law.listed(*found)


class AnsweredList(ArticleList):
    """The articles that answered questions like this one."""

    name, is_evidence = ANSWERED, True

    def __init__(self, questions: AnsweredQuestions) -> None:
        self._questions = questions
        self.weight = questions.weight

    def search(self, question: SearchedQuestion) -> RankedList:
        """See `ArticleList.search`."""
        assert question.vector is not None
        law, mask = question.law, question.law.mask(question.allowed)

        def is_searched(id_: str) -> bool:
            row = law.row_of_id.get(id_)
            return row is not None and (mask is None or bool(mask[row]))

        scores = self._questions.search(question.text, question.vector, is_searched)
        return RankedList.of(law.rows_of(scores), np.fromiter(scores.values(), dtype=np.float32))
