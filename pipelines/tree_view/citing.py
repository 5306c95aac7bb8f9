"""Who cites whom in a whole corpus, both ways."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from components.statutes.graph import CrossReferences


class Citations:
    """Who cites whom, both ways."""

    def __init__(self, references: CrossReferences, n_articles: int) -> None:
        """Sorts the citations by either side.

        Args:
            references: Of the corpus.
            n_articles: How many articles it has.
        """
        pairs = np.array(references.pairs, dtype=np.int32).reshape(-1, 2)
        self._cited = _grouped(pairs[:, 0], pairs[:, 1], n_articles)
        order = np.argsort(pairs[:, 1], kind="stable")
        self._citing = _grouped(pairs[order, 1], pairs[order, 0], n_articles)

    def cited_in(self, position: int) -> list[int]:
        """Positions of the articles that this one cites, ascending."""
        return _run(self._cited, position)

    def citing(self, position: int) -> list[int]:
        """Positions of the articles that cite this one, ascending."""
        return _run(self._citing, position)


# Ends of each article's run (`[n_articles + 1]`), and the runs one after the other (`[n_pairs]`).
_Runs = tuple[NDArray[np.int64], NDArray[np.int32]]


def _grouped(by: NDArray[np.int32], values: NDArray[np.int32], n_articles: int) -> _Runs:
    """Values grouped by a sorted side."""
    return np.searchsorted(by, np.arange(n_articles + 1)), values


def _run(runs: _Runs, position: int) -> list[int]:
    ends, values = runs
    return [int(value) for value in values[ends[position] : ends[position + 1]]]
