"""An invented corpus of BSARD's size: words by Zipf's law, lengths as law has them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from haystack import Document

N_ARTICLES = 22_633
N_WORDS = 40_000
MEDIAN_LENGTH = 77  # words; the mean is 140
_LETTERS = "etaoinshrd"


def word(rank: int) -> str:
    """A word of letters, the frequent ones short."""
    digits = str(rank + 10)
    return "".join(_LETTERS[int(digit)] for digit in digits) + "x"


def articles(n_articles: int = N_ARTICLES, seed: int = 0) -> list[Document]:
    """Documents without vectors, in 32 laws."""
    rng = np.random.default_rng(seed)
    words = np.array([word(rank) for rank in range(N_WORDS)])
    frequency = 1 / (np.arange(N_WORDS) + 2.7)
    frequency /= frequency.sum()
    lengths = np.maximum(5, rng.lognormal(np.log(MEDIAN_LENGTH), 1.1, n_articles)).astype(int)
    drawn = np.split(rng.choice(N_WORDS, lengths.sum(), p=frequency), np.cumsum(lengths)[:-1])
    return [
        Document(
            id=f"a{position}",
            content=" ".join(words[ranks]),
            meta={
                "law": f"Code {position * 32 // n_articles}",
                "number": str(position),
                "headings": [f"Book {position // 700}", f"Chapter {position // 40}"],
                "position": position,
                "language": "en",
            },
        )
        for position, ranks in enumerate(drawn)
    ]


def unit_vectors(n: int, dim: int = 768, seed: int = 0) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Random directions, float32 `[n, dim]`."""
    vectors = np.random.default_rng(seed).standard_normal((n, dim), dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def milliseconds(call: Callable[[Any], object], inputs: Sequence[Any]) -> float:
    """Time of the fastest call, after one that warms up: what other processes cost is left out."""
    call(inputs[0])
    times = []
    for each in inputs:
        started = time.perf_counter()
        call(each)
        times.append((time.perf_counter() - started) * 1e3)
    return min(times)
