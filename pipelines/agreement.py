"""How far a store's vectors can be trusted, measured on the law itself.

A model that does not know a law's language finds random articles, and fused at full weight these
push out what the words have found. No labels are needed to detect it: a division's heading serves
as a question, and its articles are the answers. Words find most of them, since the heading is in
the articles' indexed text; a model that knows the language finds nearly as many.
"""

from __future__ import annotations

import random
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from components.converters.articles import headings_of, law_of
from components.retrievers.bm25 import StatuteBM25Retriever
from components.retrievers.embedding import DenseVectors, record_weight
from components.statutes.question import MAX_QUESTION_CHARS, clean_question
from components.stores.sqlite import StatuteDocumentStore

_DIVISIONS = 300
_FEWEST = 20
_MOST_ARTICLES = (
    50  # per division: a heading such as "General provisions of the code" is not a question
)
_TOP = 10
# Dense R@10 divided by BM25's, at which the weight is 0 and 1. With MiniLM the Belgian Civil Code's
# Book I has .65 (best weight on its questions: .1 to .3), ObliQA .69 (.5), the PDPA .80 (1); with
# the multilingual model Book I has .86 and the PDPA .92 (1 for both).
_NOTHING, _EVERYTHING = 0.55, 0.8


class QueryEncoder(Protocol):
    """A model that embeds questions."""

    def encode_queries(self, texts: list[str]) -> Tensor: ...  # noqa: D102


def measure_weight(store: StatuteDocumentStore, model: QueryEncoder) -> float:
    """Measure and record the weight of the dense list in this store, where words have 1.

    It asks for at most 300 of the lowest divisions, with up to 50 articles each. The weight grows
    with the ratio of the mean R@10 of vectors and words.

    Args:
        store: with vectors of the model.
        model: embeds questions.

    Returns:
        The weight, 0 to 1; 1 if there are fewer than 20 such divisions.
    """
    divisions: dict[tuple[str, tuple[str, ...]], set[int]] = {}
    for key, _, meta in store.metas():
        if headings := headings_of(meta):
            divisions.setdefault((law_of(meta), headings), set()).add(key)
    small = [
        (path[-1], keys)
        for (_, path), keys in divisions.items()
        if len(keys) <= _MOST_ARTICLES and _can_be_asked(path[-1])
    ]
    weight = _measured(store, model, small) if len(small) >= _FEWEST else 1.0
    record_weight(store, weight)
    return weight


def _can_be_asked(heading: str) -> bool:
    return len(heading) <= MAX_QUESTION_CHARS and any(map(str.isalpha, heading))


def _measured(
    store: StatuteDocumentStore, model: QueryEncoder, divisions: list[tuple[str, set[int]]]
) -> float:
    asked = random.Random(0).sample(divisions, min(_DIVISIONS, len(divisions)))  # noqa: S311
    embeddings = model.encode_queries([heading for heading, _ in asked]).float().numpy()
    by_words = StatuteBM25Retriever(store).current_index()
    vectors = DenseVectors.read(store, None)
    words, meaning = [], []
    for (heading, keys), embedding in zip(asked, embeddings, strict=True):
        words.append(_recall(by_words.search(clean_question(heading), _TOP)[0], keys))
        meaning.append(_recall(vectors.search(embedding, _TOP)[0], keys))
    ratio = float(np.mean(meaning)) / max(float(np.mean(words)), 1e-9)
    return round(min(max((ratio - _NOTHING) / (_EVERYTHING - _NOTHING), 0.0), 1.0), 2)


def _recall(found: NDArray[np.int64], relevant: set[int]) -> float:
    """R@10, with at most 10 relevant articles to find."""
    return len(relevant.intersection(found.tolist())) / min(len(relevant), _TOP)
