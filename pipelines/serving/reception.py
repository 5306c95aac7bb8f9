"""Reception: every request comes in here, and every one is logged and counted here."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Collection

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipelines.serving import exchange
from pipelines.serving.bodies import BodyTooLongError, read_body, replaying
from pipelines.serving.exchange import Exchange
from pipelines.serving.metrics import ServingMetrics
from pipelines.serving.origins import is_named
from pipelines.serving.problems import OTHER_HOST, SLOW_BODY, TOO_LARGE, problem_response, unknown

# nginx's status for a client that did not wait for its answer.
_CLIENT_GONE = 499
_PROBES = frozenset({"/health", "/ready", "/metrics"})

_logger = logging.getLogger(__name__)


class Reception:
    """ASGI middleware around the service.

    - Gives each request an id (header X-Request-ID).
    - Reads the body before anything else runs: small ones only (413), and in time (408), so that
      neither a long nor a slow one takes anybody's turn.
    - Refuses names of other machines (421), under which a web page could read what is served here.
    - Ends the work for a client that has gone.
    - Makes a JSON answer of an error that nobody foresaw.
    - Writes one line into the log and counts.

    Args:
        app: the service.
        pipelines: names of those that are served.
        metrics: what is counted.
        body_seconds: time in which the body must have come.
        names: host names under which the service may be asked for; None for any.
    """

    def __init__(
        self,
        app: ASGIApp,
        pipelines: Collection[str],
        metrics: ServingMetrics,
        body_seconds: float,
        names: Collection[str] | None = None,
    ) -> None:
        self._app = app
        self._pipelines = {f"/{name}/run": name for name in pipelines}
        self._metrics = metrics
        self._body_seconds = body_seconds
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        going = Exchange(
            exchange.id_from(Headers(scope=scope).get("x-request-id")),
            self._pipelines.get(scope["path"]),
        )
        status: int | None = None

        async def telling_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = going.id
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Cache-Control"] = "no-store"
            await send(message)

        token = exchange.current.set(going)
        try:
            await self._answer(scope, receive, telling_send)
        except ClientDisconnect:
            going.reason, status = "client_gone", _CLIENT_GONE
        except Exception as error:  # noqa: BLE001 - whatever failed, the client gets an answer
            problem = unknown(error)
            if status is None:
                await problem_response(problem)(scope, receive, telling_send)
        finally:
            exchange.current.reset(token)
            # None: the server ended before the answer did.
            self._tell(going, scope, status or _CLIENT_GONE, time.perf_counter() - started)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.timeout(self._body_seconds):
                body = await read_body(receive)
        except BodyTooLongError:
            await problem_response(TOO_LARGE)(scope, receive, send)
        except TimeoutError:
            await problem_response(SLOW_BODY)(scope, receive, send)
        else:
            if self._names is not None and not is_named(Headers(scope=scope), self._names):
                await problem_response(OTHER_HOST)(scope, receive, send)
            else:
                await self._run(scope, body, receive, send)

    async def _run(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """The service's answer, unless the client goes before.

        Raises:
            ClientDisconnect: it has gone; the work for it is cancelled.
        """
        # All that can come after the body is that the client has gone.
        leaving = asyncio.create_task(_message(receive))
        answering = asyncio.create_task(
            _finished(self._app(scope, replaying(body, _nothing_more), send))
        )
        tasks = (leaving, answering)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                raise ClientDisconnect
            answering.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    def _tell(self, going: Exchange, scope: Scope, status: int, seconds: float) -> None:
        self._metrics.count(going, status, seconds)
        # The address as the service declares it: what a client wrote there may be a question.
        route = getattr(scope.get("route"), "path", None)
        if route in _PROBES:
            return  # asked every few seconds, by machines
        fields = {
            "request_id": going.id,
            "method": scope["method"],
            "route": route,
            "pipeline": going.pipeline,
            "status": status,
            "took_ms": round(seconds * 1000, 1),
            "documents": going.documents,
            "reason": going.reason,
        }
        told = {name: value for name, value in fields.items() if value is not None}
        level = logging.WARNING if status >= 500 else logging.INFO
        _logger.log(level, "request", extra={"fields": told})


async def _message(receive: Receive) -> Message:
    return await receive()


async def _finished(work: Awaitable[None]) -> None:
    await work


async def _nothing_more() -> Message:
    await asyncio.Event().wait()
    raise AssertionError("unreachable")
