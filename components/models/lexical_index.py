"""The BM25 index of a store: terms, postings, and their form on disk."""

import io
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any
from zipfile import ZIP_STORED

import bm25s
import numpy as np
from numpy.typing import NDArray

from components.models.selection import kth_greatest, row_mask
from components.statutes.lay_words import EXPANSION_WEIGHT, Expansion, added_terms
from components.statutes.lexical import analyzer, distinct_terms

_ARRAYS = ("data", "indices", "indptr")
# NumPy's letters for the numbers of each part.
_KINDS = {"keys": "i", "words": "u", "data": "f", "indices": "i", "indptr": "i"}
_NOTHING = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))


class LexicalIndex:
    """BM25 over indexed texts, each analysed by the rules of its own language.

    `score(q, d) = sum over distinct t in q of idf(t) * tf / (tf + k1 * (1 - b + b * |d| / avg))`
    with `idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5))`: Lucene's formula (Kamphuis et al., ECIR
    2020), computed by bm25s. A term that a question repeats counts once.

    Args:
        keys: int64 `[n]`, the documents' keys by row.
        languages: of the texts; a question is analysed by the rules of each.
        vocabulary: row of each term among the postings.
        postings: scores `data` and rows `indices` of the documents of each term, the terms'
            ranges in `indptr`.
    """

    def __init__(
        self,
        keys: NDArray[np.int64],
        languages: list[str | None],
        vocabulary: dict[str, int],
        postings: dict[str, NDArray[Any]],
    ) -> None:
        self.keys = keys
        self.languages = languages
        self._mask = row_mask(keys)
        # Found once: looking a language up costs as much as analysing a short question.
        self._analyzers = {language: analyzer(language) for language in languages}
        self._vocabulary = vocabulary
        self._bm25 = bm25s.BM25()
        self._bm25.scores = {**postings, "num_docs": len(keys)}
        self._bm25.nonoccurrence_array = None

    @classmethod
    def build(
        cls,
        texts: Iterable[tuple[int, str, str | None]],
        *,
        k1: float,
        b: float,
    ) -> "LexicalIndex":
        """Index texts.

        Args:
            texts: `(key, text, language)`, in the order that breaks ties.
            k1: how quickly repeats of a term stop counting.
            b: how much long texts are penalised, from 0 to 1.
        """
        vocabulary: dict[str, int] = {}
        keys: list[int] = []
        documents: list[list[int]] = []
        languages: set[str | None] = set()
        for key, text, language in texts:
            keys.append(key)
            languages.add(language)
            terms = analyzer(language)(text)
            documents.append([vocabulary.setdefault(term, len(vocabulary)) for term in terms])
        postings: dict[str, NDArray[Any]] = {
            "data": np.empty(0, dtype=np.float32),
            "indices": np.empty(0, dtype=np.int32),
            "indptr": np.zeros(1, dtype=np.int64),
        }
        if vocabulary:
            bm25 = bm25s.BM25(k1=k1, b=b, method="lucene")
            bm25.index((documents, vocabulary), create_empty_token=False, show_progress=False)
            postings = {name: bm25.scores[name] for name in _ARRAYS}
        ordered = sorted(languages, key=lambda language: language or "")
        return cls(np.array(keys, dtype=np.int64), ordered, vocabulary, postings)

    def search(
        self,
        question: str,
        k: int,
        allowed: NDArray[np.int64] | None = None,
        expansions: Sequence[Expansion] = (),
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The best documents that share a term with the question.

        Args:
            question: the words.
            k: how many at most.
            allowed: keys to choose from; None for all.
            expansions: of the question; the scores of their terms count `EXPANSION_WEIGHT` each.

        Returns:
            Keys int64 and scores float32, both `[at most k]`, by score, equal scores by row.
        """
        known = distinct_terms(question, self._analyzers.values())
        terms = [self._vocabulary[term] for term in known if term in self._vocabulary]
        further = (term for term in added_terms(expansions) if term not in known)
        added = [self._vocabulary[term] for term in further if term in self._vocabulary]
        if not (terms or added) or k == 0:
            return _NOTHING
        scores: NDArray[np.float32] = self._bm25.get_scores_from_ids(terms)
        if added:
            scores += np.float32(EXPANSION_WEIGHT) * self._bm25.get_scores_from_ids(added)
        mask = self._mask(allowed)
        if mask is not None:
            scores *= mask
        rows = np.flatnonzero(scores)
        k = min(k, len(rows))
        if k == 0:
            return _NOTHING
        # Keep all that tie with the k-th until the rows decide.
        rows = rows[scores[rows] >= kth_greatest(scores[rows], k)]
        best = rows[np.argsort(-scores[rows], kind="stable")][:k]
        return self.keys[best], scores[best]

    def knows(self, word: str) -> bool:
        """Whether the word, by its stem in any of the languages, occurs or is a stop word."""
        terms = distinct_terms(word, self._analyzers.values())
        return not terms or any(term in self._vocabulary for term in terms)

    def has(self, term: str) -> bool:
        """Whether a term occurs in a document."""
        return term in self._vocabulary

    def coverage(
        self,
        question: str,
        key: int,
        language: str | None,
        expansions: Sequence[Expansion] = (),
    ) -> float:
        """The share of a question's distinct terms that occur in a document, from 0 to 1.

        Args:
            question: the words.
            key: of the document.
            language: the document's; the question is analysed by its rules.
            expansions: of the question; terms also count where one of the phrases that they
                stand for occurs in their place.

        Returns:
            Without expansions the same as `components.statutes.lexical.coverage` of the text; 0
            without terms.
        """
        terms = distinct_terms(question, [self._analyzers.get(language) or analyzer(language)])
        row = np.flatnonzero(self.keys == key)
        indices, indptr = self._bm25.scores["indices"], self._bm25.scores["indptr"]

        def occurs(term: str) -> bool:
            t = self._vocabulary.get(term)
            return t is not None and bool((indices[indptr[t] : indptr[t + 1]] == row).any())

        covered = set(filter(occurs, terms))
        for each in expansions:
            if any(all(map(occurs, phrase)) for phrase in each.phrases.values()):
                covered |= each.terms.intersection(terms)
        return len(covered) / len(terms) if terms else 0.0

    def to_bytes(self) -> bytes:
        """The index as an .npz file; text is JSON in it, nothing is pickled."""
        words = {"languages": self.languages, "terms": list(self._vocabulary)}
        file = io.BytesIO()
        np.savez(
            file,
            keys=self.keys,
            words=np.frombuffer(json.dumps(words).encode(), dtype=np.uint8),
            **{name: self._bm25.scores[name] for name in _ARRAYS},
        )
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> "LexicalIndex":
        """The index that `to_bytes` wrote.

        Raises:
            ValueError: the bytes are not such an index.
        """
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as file:
                # Packed parts, which `to_bytes` does not write, may unpack to any size.
                if any(part.compress_type != ZIP_STORED for part in file.zip.infolist()):
                    raise ValueError("its parts are packed")
                arrays = {name: file[name] for name in _KINDS}
            words = json.loads(arrays["words"].tobytes())
            languages, terms = words["languages"], words["terms"]
            vocabulary = {term: row for row, term in enumerate(terms)}
            postings = {name: arrays[name] for name in _ARRAYS}
            data, indices, indptr = postings.values()
            fits = (
                all(arrays[n].ndim == 1 and arrays[n].dtype.kind == _KINDS[n] for n in _KINDS)
                and all(type(term) is str for term in terms)
                and all(isinstance(language, str | None) for language in languages)
                and len(indptr) == len(vocabulary) + 1 == len(terms) + 1
                and indptr[0] == 0
                and (np.diff(indptr) >= 0).all()
                and len(data) == len(indices) == indptr[-1]
                and indices.min(initial=0) >= 0
                and indices.max(initial=-1) < len(arrays["keys"])
                and math.isfinite(data.sum())
            )
            if fits:
                return cls(arrays["keys"], languages, vocabulary, postings)
        except Exception as error:
            # zipfile, NumPy and json each raise errors of their own for invalid bytes.
            raise ValueError(f"no BM25 index can be read from the stored bytes: {error}") from error
        raise ValueError("the parts of the stored BM25 index do not fit together")
