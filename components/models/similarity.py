"""How the vectors of a question and an article are compared: cosine, dot product or distance.

A bi-encoder is trained with one of them and records it; whatever searches its vectors asks here.
Every one of them orders articles as an inner product does: cosine is that of unit vectors, and

    -|q - x|^2 = 2 (q . x - |x|^2 / 2) - |q|^2

so that one exact search serves all three.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Similarity = Literal["cosine", "dot", "l2"]
"""cosine; the dot product of vectors as they are; or the Euclidean distance, negative."""

Floats = NDArray[np.float32]


def rows_to_multiply(matrix: Floats, similarity: Similarity) -> Floats:
    """Articles' vectors for a search by inner product; of l2 each has one more number.

    Args:
        matrix: float32 `[n, dim]`.
        similarity: Of the model.

    Returns:
        float32 `[n, dim]` or `[n, dim + 1]`.
    """
    if similarity != "l2":
        return matrix
    squares = np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64)
    return np.concatenate([matrix, (-squares / 2)[:, None].astype(np.float32)], axis=1)


def queries_to_multiply(queries: Floats, similarity: Similarity) -> Floats:
    """Questions' vectors for `rows_to_multiply`."""
    if similarity != "l2":
        return queries
    return np.concatenate([queries, np.ones((len(queries), 1), np.float32)], axis=1)
