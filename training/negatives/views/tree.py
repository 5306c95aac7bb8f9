"""The hierarchical view: negatives near a positive in the tree of law are hard."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from components.statutes.tree import CrossLaw, LegislativeTree
from training.negatives.curriculum import ViewInputs
from training.negatives.gold import Gold, flattened


class TreeView:
    """Minus the tree distance to the nearest positive (CuSINeS, section 3).

    d(a) = min over p in P of depth(a) + depth(p) - 2 depth(lowest common ancestor of a and p).

    The lowest common ancestor is the common ancestor u with the smallest depth(p) - 2 depth(u), so

        d(a) = depth(a) + min over ancestors u of a of [min over p below u of depth(p) - 2 depth(u)]

    The inner minimum is written into the few nodes above the positives; the outer one is passed
    down the tree level by level. That is one pass over the divisions, however many positives there
    are, and one gather for the articles.

    Args:
        tree: The tree of the corpus.
        gold: The questions' positives.
        device: Where difficulties are computed.
        cross_law: As for `LegislativeTree.distances`.
        permutation: int64 `[n_articles]`: article i takes the place of article permutation[i]. A
            control: the same tree, but places that mean nothing.
    """

    name = "tree"

    def __init__(
        self,
        tree: LegislativeTree,
        gold: Gold,
        device: torch.device,
        *,
        cross_law: CrossLaw = "farther",
        permutation: NDArray[np.int64] | None = None,
    ) -> None:
        places = np.arange(gold.n_articles) if permutation is None else permutation
        self._positives = gold.positives
        self._device = device
        n_inner = tree.n_nodes - tree.n_articles
        inner_depth = tree.depth[:n_inner]
        # Nodes above the articles, sorted by depth, so that a level is one slice.
        by_depth = np.argsort(inner_depth, kind="stable")
        number = np.empty(n_inner, dtype=np.int64)
        number[by_depth] = np.arange(n_inner)
        level_ends = np.cumsum(np.bincount(inner_depth)).tolist()
        above = torch.from_numpy(number[tree.parent[by_depth[1:]]]).to(device)
        self._levels = [
            (start, end, above[start - 1 : end - 1]) for start, end in pairwise(level_ends)
        ]
        self._n_inner = n_inner
        # A division's ancestors by depth, itself included; -1 stays -1.
        ancestors = tree.ancestors[:n_inner, : len(level_ends)]
        self._ancestors = np.where(ancestors >= 0, number[ancestors], -1)
        self._parents = tree.parent[tree.article_node][places]
        self._article_parents = torch.from_numpy(number[self._parents]).to(device)
        self._leaf_depth = inner_depth[self._parents] + 1
        # Only the root is above two laws. This adds more than any distance within one law.
        depths = np.arange(len(level_ends))
        self._from_ancestor = -2.0 * depths
        if cross_law == "farther":
            self._from_ancestor[0] += 2.0 * (int(tree.depth.max()) - 1)
        self._depths = torch.from_numpy(self._leaf_depth).to(device, torch.float32)

    def difficulty(self, rows: NDArray[np.int64]) -> Tensor:
        """Minus the distances, float32 `[n_rows, n_articles]`."""
        places, positives = flattened(self._positives, rows)
        row = torch.from_numpy(places).to(self._device)
        nearest = self._above_positives(len(rows), places, positives)
        for start, end, above in self._levels:
            level = nearest[:, start:end]
            torch.minimum(level, nearest[:, above], out=level)
        distance = nearest[:, self._article_parents] + self._depths
        distance[row, torch.from_numpy(positives).to(self._device)] = 0
        return distance.neg_()

    def _above_positives(
        self, n_rows: int, places: NDArray[np.int64], positives: NDArray[np.int64]
    ) -> Tensor:
        """The inner minimum, infinity for nodes above no positive, float32 `[n_rows, n_inner]`."""
        ancestors = self._ancestors[self._parents[positives]]
        steps = self._leaf_depth[positives][:, None] + self._from_ancestor
        real = ancestors >= 0
        cells = (places[:, None] * self._n_inner + ancestors)[real]
        nearest = torch.full((n_rows * self._n_inner,), torch.inf, device=self._device)
        nearest.scatter_reduce_(
            0,
            torch.from_numpy(cells).to(self._device),
            torch.from_numpy(steps[real]).to(self._device, torch.float32),
            "amin",
        )
        return nearest.view(n_rows, self._n_inner)


def of(inputs: ViewInputs) -> TreeView:
    """The view of the law's tree, or with its leaves permuted."""
    return TreeView(
        inputs.tree,
        inputs.gold,
        inputs.device,
        cross_law=inputs.settings.cross_law,
        permutation=inputs.permutation,
    )
