"""Limits: what one client may ask for, and how much is done at once.

Imported for --help too, so it needs no web framework.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import re
import socket
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pipelines.checking import LoadingError

if TYPE_CHECKING:
    import uvicorn
    from starlette.datastructures import Headers
    from starlette.types import Message, Receive

BODY_LIMIT = 64 * 1024  # bytes
MAX_QUESTION_CHARS = 2_000
MAX_TEXT_CHARS = 50_000  # of a text whose citations are checked
MAX_CITATIONS = 1_000  # of such a text: each takes about a millisecond
MAX_TOP_K = 100
MAX_BATCH = 100  # questions
MAX_FILTER_VALUES = 500  # in all conditions together
BODY_SECONDS = 10.0  # for a body to arrive
# For the head of a request, from the connection or the previous answer on: clients may be slow on
# purpose.
HEAD_SECONDS = 10.0
_HEAD_BYTES = 16 * 1024
MAX_CONNECTIONS = 512


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))  # those that a container leaves us
    return os.cpu_count() or 1


def share_cores(at_once: int) -> None:
    """Limit NumPy's matrix products to one question's share of the cores, from now on.

    Where two questions multiply at once, their threads wait for each other at every product.

    Args:
        at_once: how many questions the process answers at the same time.
    """
    from threadpoolctl import threadpool_limits

    threadpool_limits(max(1, _cores() // at_once), user_api="blas")


@dataclass(frozen=True)
class Limits:
    """Limits of the whole service.

    Attributes:
        at_once: questions answered at the same time. More than the number of cores does not help if
            a model runs here, but does if a pipeline waits for another machine.
        waiting: questions that may wait for their turn; the next one is refused.
        seconds: time for one question, waiting included.
    """

    at_once: int = field(default_factory=_cores)
    waiting: int = 100
    seconds: float = 30.0


class BusyError(Exception):
    """The server is at capacity and the queue is full."""


class RequestQueue:
    """Admits a limited number at once, in order of arrival.

    Args:
        at_once: places inside.
        waiting: places in the queue before it.
    """

    def __init__(self, at_once: int, waiting: int) -> None:
        from anyio import CapacityLimiter

        self._places = CapacityLimiter(at_once)
        self._queue_limit = waiting

    @property
    def inside(self) -> int:
        """How many are inside."""
        return self._places.borrowed_tokens

    @property
    def waiting(self) -> int:
        """How many wait."""
        return self._places.statistics().tasks_waiting

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """A place inside, released however the work ends, even if its task is cancelled.

        Raises:
            BusyError: the queue is full.
        """
        if self._places.available_tokens < 1 and self.waiting >= self._queue_limit:
            raise BusyError("The server is at capacity. Try again in a moment.")
        place = object()  # stands for the caller: a stream may be read by another task
        await self._places.acquire_on_behalf_of(place)
        try:
            yield
        finally:
            self._places.release_on_behalf_of(place)


_DISCARDED = 32 * 1024 * 1024  # bytes of an overlong body that are still read


class BodyTooLongError(Exception):
    """A request's body is longer than `BODY_LIMIT`."""


async def read_body(receive: Receive) -> bytes:
    """The whole body.

    Bytes are counted as they arrive, so the limit also holds for a body in chunks, or one whose
    header lies about its length. The excess is read and discarded, up to `_DISCARDED` bytes: a
    client that is still sending only reads its answer afterwards, since closing a connection with
    unread bytes resets it.

    Raises:
        BodyTooLongError: it is over `BODY_LIMIT`.
        ClientDisconnect: the client disconnected before its end.
    """
    from starlette.requests import ClientDisconnect

    body = bytearray()
    size, more = 0, True
    while more and size <= BODY_LIMIT + _DISCARDED:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        part = message.get("body", b"")
        size += len(part)
        if size <= BODY_LIMIT:
            body += part
        more = message.get("more_body", False)
    if size > BODY_LIMIT:
        raise BodyTooLongError
    return bytes(body)


def replaying(body: bytes, receive: Receive) -> Receive:
    """A `receive` for the application: the body in one piece, then whatever follows."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return pending.pop() if pending else await receive()

    return replay


def prompt_server(app: Any, grace: int, **config: Any) -> uvicorn.Server:
    """A web server whose connections cannot be held by slow clients, and that logs no request.

    Args:
        app: an ASGI application.
        grace: seconds that requests in flight get when the server stops.
        config: more of uvicorn's settings.
    """
    import uvicorn

    return uvicorn.Server(
        uvicorn.Config(
            app,
            # The one of uvicorn's two parsers that limits the length of headers, and their time.
            http=prompt_protocol(),
            h11_max_incomplete_event_size=_HEAD_BYTES,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_graceful_shutdown=grace,
            ws="none",
            access_log=False,
            server_header=False,
            **config,
        )
    )


@cache
def prompt_protocol() -> type[asyncio.Protocol]:
    """Uvicorn's HTTP/1.1, with a time limit of `HEAD_SECONDS` for the head of a request.

    uvicorn waits for a head indefinitely. A few hundred slow clients would occupy all connections.
    """
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class PromptProtocol(H11Protocol):
        timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self.watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self.watch()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self.watch()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self.stop()

        def watch(self) -> None:
            """Start the timer while no request has begun; a complete head stops it."""
            if self.conn.their_state is not h11.IDLE:
                self.stop()
            elif self.timer is None:
                self.timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

        def stop(self) -> None:
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None

    return PromptProtocol


# The names under which a browser reaches its own machine.
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]/@]+)(?::\d{1,5})?", re.IGNORECASE)


def is_named(headers: Headers, names: Collection[str]) -> bool:
    """Whether the request is for one of these names, at any port.

    The owner of a domain can briefly point it to 127.0.0.1, and a page of that domain could then
    read what is served here (DNS rebinding). The host name reveals it.
    """
    hosts = headers.getlist("host")
    named = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
    return named is not None and named[1].lower() in names


def is_from_elsewhere(headers: Headers) -> bool:
    """Whether a page of another site, or of another port, made the browser send this.

    Browsers say so themselves (`Sec-Fetch-Site`) wherever the connection is private: over TLS and
    to localhost, also behind a proxy that changes the name. Elsewhere the page's origin is compared
    with the requested host name. Programs other than browsers send neither.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = headers.get("origin")
    if origin is None:
        return False
    try:
        return urlsplit(origin).netloc.lower() != headers.get("host", "").lower()
    except ValueError:
        return True


def listen(host: str, port: int) -> socket.socket:
    """A socket that accepts connections immediately; they are answered once the server runs.

    Args:
        host: a name or address of this machine.
        port: 0 for any free one.

    Raises:
        LoadingError: the port is in use or reserved, or the host is not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        raise LoadingError(
            f"{host} cannot be listened to at port {port} ({error}). Choose with --host and --port."
        ) from error


def address(listening: socket.socket) -> str:
    """Where a client on this machine finds the service."""
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - read, not bound
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a service on that host: an address, or "localhost"."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
