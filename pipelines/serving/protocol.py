"""uvicorn's HTTP/1.1 with a time limit for the head of a request."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

# Time for the head of a request, from the connection or the previous answer on: clients may be slow
# on purpose.
HEAD_SECONDS = 10.0


class PromptProtocol(H11Protocol):
    """uvicorn's HTTP/1.1, with a time limit of `HEAD_SECONDS` for the head of a request.

    uvicorn waits for a head indefinitely. A few hundred slow clients would occupy all connections.
    """

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A connection opened: wait for a request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """More of a request has arrived."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """An answer is complete: wait for the next request."""
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection closed."""
        super().connection_lost(exc)
        self._stop()

    def _watch(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._stop()
        elif self._timer is None:
            self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
