"""uvicorn's HTTP/1.1 with limits for the head of a request."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from pipelines.serving.limits import MAX_CONNECTIONS

# Time for the head of a request, from the connection or the previous answer on: clients may be slow
# on purpose.
HEAD_SECONDS = 10.0
_HEAD_BYTES = 16 * 1024


def prompt_server(app: Any, grace: int, **config: Any) -> uvicorn.Server:
    """A web server whose connections cannot be held by slow clients, and that logs no request.

    Args:
        app: an ASGI application.
        grace: seconds that requests in flight get when the server stops.
        config: more of uvicorn's settings.
    """
    return uvicorn.Server(
        uvicorn.Config(
            app,
            # The one of uvicorn's two parsers that limits the length of headers, and their time.
            http=PromptProtocol,
            h11_max_incomplete_event_size=_HEAD_BYTES,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_graceful_shutdown=grace,
            ws="none",
            access_log=False,
            server_header=False,
            **config,
        )
    )


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
