"""What was computed for a text, kept while there is room for it."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import Generic, TypeVar

Value = TypeVar("Value")


class BoundedCache(Generic[Value]):
    """Values by their text's digest; those used longest ago go first. Safe to share by threads.

    Args:
        room: Sum of the sizes that the values may have.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._used = 0
        self._values: OrderedDict[bytes, tuple[Value, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[BoundedCache[Value]], tuple[int]]:
        """A copy is an empty one: what it would keep is found again."""
        return type(self), (self._room,)

    def __len__(self) -> int:
        """Number of values."""
        return len(self._values)

    def get(self, text: str) -> Value | None:
        """What was kept for a text."""
        key = _key(text)
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, text: str, value: Value, size: int) -> None:
        """Keep a value, of a size in the unit of `room`; one that is too large is not kept."""
        if size > self._room:
            return
        key = _key(text)
        with self._lock:
            if key in self._values:
                self._used -= self._values.pop(key)[1]
            self._values[key] = (value, size)
            self._used += size
            while self._used > self._room:
                self._used -= self._values.popitem(last=False)[1][1]


def _key(text: str) -> bytes:
    # Lone surrogates have no UTF-8, and may stand in a text.
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
