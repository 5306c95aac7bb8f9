"""Vectors that cannot be compared with any other are refused before they are kept."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from components.models.errors import ModelError

ANOTHER_MODEL = "Use another model, or take the article out."


def check_usable(
    vectors: NDArray[np.float32], model: str, name: Callable[[int], str], way_out: str
) -> None:
    """Check that every vector has a direction.

    Args:
        vectors: `[n, dim]`.
        model: what they come from, for the message.
        name: says of a row what it is the vector of.
        way_out: what the user can do about it.

    Raises:
        ModelError: one holds NaN or infinity, or zeros alone; names the first.
    """
    usable = np.isfinite(vectors).all(axis=1) & vectors.any(axis=1)
    if not usable.all():
        faulty = name(int(usable.argmin()))
        raise ModelError(f"{model} gives NaN or zeros for {faulty}. {way_out}")
