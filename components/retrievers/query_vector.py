"""A question's vector, checked where a retriever is given it."""

import numpy as np
from numpy.typing import NDArray

from components.models.errors import VectorError


def checked_query(component: str, embedding: list[float]) -> NDArray[np.float32]:
    """The query as float32 `[dim]`.

    Args:
        component: name of the retriever, for the message.
        embedding: as it was given.

    Raises:
        VectorError: it is no list of numbers, NaN, infinite or all zeros.
    """
    where = f"{component}.query_embedding"
    try:
        query = np.asarray(embedding, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise VectorError(f"{where} is no list of numbers: {error}.") from error
    if query.ndim != 1 or not len(query):
        raise VectorError(f"{where} must be one list of numbers, got shape {list(query.shape)}.")
    if not np.isfinite(query).all():
        raise VectorError(f"{where} holds NaN or infinite values. Embed the question again.")
    if not query.any():
        raise VectorError(f"{where} is all zeros and has no direction. Embed the question again.")
    return query
