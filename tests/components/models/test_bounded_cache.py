"""What is kept for texts stays within its room."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from components.models.bounded_cache import BoundedCache


def test_what_was_used_longest_ago_goes_first() -> None:
    cache: BoundedCache[int] = BoundedCache(3)
    for value, text in enumerate("abc"):
        cache.put(text, value, 1)
    assert cache.get("a") == 0
    cache.put("d", 3, 1)
    assert cache.get("b") is None
    assert [cache.get(text) for text in "acd"] == [0, 2, 3]


def test_sizes_count() -> None:
    cache: BoundedCache[str] = BoundedCache(10)
    cache.put("a", "small", 4)
    cache.put("b", "too large", 11)
    assert len(cache) == 1
    cache.put("a", "larger", 9)
    cache.put("\ud800", "any text", 2)
    assert cache.get("a") is None
    assert cache.get("\ud800") == "any text"


def test_threads_share_it() -> None:
    cache: BoundedCache[int] = BoundedCache(50)

    def use(start: int) -> None:
        for number in range(start, start + 500):
            cache.put(str(number % 97), number % 97, 1)
            assert cache.get(str(number % 89)) in (None, number % 89)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(use, range(8)))
    assert len(cache) == 50


@pytest.mark.parametrize(
    "twin", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))]
)
def test_a_copy_begins_empty_with_the_same_room(twin: Callable[[Any], Any]) -> None:
    cache: BoundedCache[str] = BoundedCache(2)
    cache.put("a", "kept", 2)
    other = twin(cache)
    assert (len(cache), len(other)) == (1, 0)
    other.put("b", "too large", 3)
    assert len(other) == 0
