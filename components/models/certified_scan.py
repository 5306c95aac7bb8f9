"""Exact top-k on an accelerator: a half-precision scan, float64 rescoring, and a certificate."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from components.models.exact_scores import ranked

# Scores of one block of queries against all rows, and rows gathered for rescoring: numbers a block.
_SCORES_A_BLOCK = 2**28
_GATHERED_A_BLOCK = 2**26
# Tensor cores add products in float32 but truncate where IEEE would round: two bits of slack.
_ACCUMULATION_UNIT = 2.0**-22
# torch.mm gives a half-precision product in float32 since torch 2.8, on CUDA.
_MIXED_PRODUCT = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 8)


class CertifiedScan:
    """Some rows of a matrix on one device, searched exactly at the speed of half precision.

    The scan multiplies float16 copies with float32 accumulation and takes k' = max(4k, k + 64)
    candidates, which are scored again from the float32 rows. Let e bound |scan - exact|. Every row
    that was not taken has an exact score of at most (k'-th scan score) + e. Where that lies below
    the k-th exact score, the k best are certain; where it does not (hundreds of twin texts), k'
    doubles, and in the end all rows are scored again.

    e = |x - x16| |q16| + |x| |q - q16| + accumulation, with the norms of the actual rounding
    residuals (Cauchy-Schwarz), not their worst case.

    Args:
        matrix: float32 `[n, dim]` of unit rows.
        device: Where to hold it.
    """

    def __init__(self, matrix: NDArray[np.float32], device: torch.device) -> None:
        self._rows = torch.from_numpy(matrix).to(device)
        self._half = self._rows.half()
        residuals = torch.linalg.vector_norm(self._rows - self._half.float(), dim=1)
        self._residual = float(residuals.max())
        self._accumulation = 1.01 * matrix.shape[1] * _ACCUMULATION_UNIT

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._rows)

    def search(
        self, queries: NDArray[np.float32], k: int, allowed: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """The k best rows of each query, as `DenseIndex.search`, which checks the arguments."""
        k = min(k, len(self) if allowed is None else int(allowed.sum()))
        scores = np.empty((len(queries), k), np.float32)
        rows = np.empty((len(queries), k), np.int64)
        if k == 0:
            return scores, rows
        device = self._rows.device
        forbidden = None if allowed is None else torch.from_numpy(~allowed).to(device)
        block = max(1, _SCORES_A_BLOCK // len(self))
        for start in range(0, len(queries), block):
            part = torch.from_numpy(queries[start : start + block]).to(device)
            scan = self._scan(part)
            if forbidden is not None:
                scan.masked_fill_(forbidden, float("-inf"))
            stop = start + len(part)
            scores[start:stop], rows[start:stop] = self._certified(part, scan, k)
        return scores, rows

    def _scan(self, queries: Tensor) -> Tensor:
        """Approximate scores, float32 `[n_queries, n]`."""
        if _MIXED_PRODUCT and self._half.device.type == "cuda":
            return torch.mm(queries.half(), self._half.T, out_dtype=torch.float32)
        return queries.half().float() @ self._half.float().T

    def _certified(
        self, queries: Tensor, scan: Tensor, k: int
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        query_residual = torch.linalg.vector_norm(queries - queries.half().float(), dim=1)
        error = (1.001 * (self._residual + query_residual) + self._accumulation).cpu().numpy()
        scores = np.empty((len(queries), k), np.float32)
        rows = np.empty((len(queries), k), np.int64)
        todo = np.arange(len(queries))
        taken = max(4 * k, k + 64)
        while len(todo):
            taken = min(taken, len(self))
            left = torch.from_numpy(todo).to(scan.device)
            tops, candidates = torch.topk(scan[left], taken, dim=1)
            exact = self._rescored(queries[left], candidates)
            exact.masked_fill_(tops == float("-inf"), float("-inf"))
            last = tops[:, -1].cpu().numpy()
            found, found_rows = exact.cpu().numpy(), candidates.cpu().numpy()
            uncertain = []
            for place, query in enumerate(todo):
                best = ranked(found[place], found_rows[place], k)
                scores[query], rows[query] = found[place][best], found_rows[place][best]
                # One float32 step of slack: an exact score is a rounded one.
                bound = float(last[place]) + float(error[query]) + 2.0**-23
                if taken < len(self) and bound >= scores[query, -1]:
                    uncertain.append(query)
            todo = np.array(uncertain, np.int64)
            taken *= 2
        return scores, rows

    def _rescored(self, queries: Tensor, candidates: Tensor) -> Tensor:
        """Exact scores of candidates, float32 `[n_queries, n_candidates]`."""
        scores = torch.empty(candidates.shape, dtype=torch.float32, device=candidates.device)
        columns = max(1, _GATHERED_A_BLOCK // (len(queries) * queries.shape[1]))
        wide = queries.double()
        for start in range(0, candidates.shape[1], columns):
            rows = self._rows[candidates[:, start : start + columns]].double()
            scores[:, start : start + columns] = (rows * wide[:, None]).sum(-1)
        return scores
