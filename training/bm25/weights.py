"""rank-bm25's scores as a product of sparse matrices.

Its `get_scores` looks every word up in every article, which takes a hundred times as long.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rank_bm25 import BM25Okapi, BM25Plus
from scipy.sparse import csr_array


def rows_of(counts: Sequence[dict[int, int]], n_words: int) -> csr_array:
    """Counts of words as a matrix, float64 `[len(counts), n_words]`."""
    ends = np.cumsum([0, *(len(each) for each in counts)])
    words = np.fromiter((word for each in counts for word in each), np.int32, ends[-1])
    times = np.fromiter((n for each in counts for n in each.values()), np.float64, ends[-1])
    return csr_array((times, words, ends), shape=(len(counts), n_words))


def word_weights(statistics: BM25Okapi | BM25Plus, counts: csr_array) -> csr_array:
    """What a word in a question adds to an article's score, float64 `[n_words, n_articles]`:

        idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean length))

    A question's counts times this are `get_scores`. BM25Plus adds delta * idf for each word of the
    question, to every article alike, those without the word too: that moves no rank and is left
    out.

    Args:
        statistics: Of articles whose words are numbers from 0; its idf, lengths, k1 and b count.
        counts: `rows_of` of these articles, `[n_articles, n_words]`.
    """
    k1, b = statistics.k1, statistics.b
    lengths = np.array(statistics.doc_len) / statistics.avgdl
    saturation = np.repeat(k1 * (1 - b + b * lengths), np.diff(counts.indptr))
    idf = np.array([statistics.idf[word] for word in range(counts.shape[1])])
    weights = idf[counts.indices] * (counts.data * (k1 + 1) / (counts.data + saturation))
    return csr_array((weights, counts.indices, counts.indptr), shape=counts.shape).T.tocsr()
