"""What a view's queue keeps of the sessions that ask."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from gradio.utils import LRUCache


class Sessions(LRUCache[str, Any]):
    """What a queue keeps of the sessions that were dealt with last, and of all that are asking.

    Gradio's own forgets whoever came first, also where he waits at this moment; his answer then
    finds no session, and the whole queue stops.

    Args:
        most: how many are kept.
        make: what is handed out for a session that is not kept; what is put into it goes nowhere.
        asking: tells who waits, or is answered.
    """

    def __init__(
        self, most: int, make: Callable[[], Any], asking: Callable[[], Container[str]]
    ) -> None:
        super().__init__(most)
        self._make = make
        self._asking = asking

    def __getitem__(self, key: str) -> Any:
        if key not in self:
            return self._make()
        self.move_to_end(key)
        return super().__getitem__(key)

    def __setitem__(self, key: str, value: Any) -> None:
        if key not in self and len(self) >= self.max_size:
            asking = self._asking()
            oldest = next((each for each in self if each not in asking), None)
            if oldest is not None:
                del self[oldest]
        super().__setitem__(key, value)
