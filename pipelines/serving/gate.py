"""Gate: how many questions are answered at once, and how many may wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class BusyError(Exception):
    """Everyone is busy and nobody more may wait."""


class Gate:
    """Lets so many in at once, in the order in which they came.

    Args:
        at_once: places inside.
        waiting: places in the queue before it.
    """

    def __init__(self, at_once: int, waiting: int) -> None:
        self._places = asyncio.Semaphore(at_once)
        self._queue_limit = waiting
        self.inside = 0
        self.waiting = 0

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """A place inside, given back however the work ends, also when its task is cancelled.

        Raises:
            BusyError: nobody more may wait.
        """
        if self._places.locked() and self.waiting >= self._queue_limit:
            raise BusyError
        self.waiting += 1
        try:
            await self._places.acquire()
        finally:
            self.waiting -= 1
        self.inside += 1
        try:
            yield
        finally:
            self.inside -= 1
            self._places.release()
