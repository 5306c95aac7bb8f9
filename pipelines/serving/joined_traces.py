"""Joined traces: a caller's trace goes on in the service."""

from __future__ import annotations

from opentelemetry.context import attach, detach
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send


class JoinedTraces:
    """ASGI middleware: the spans of a request go on from its caller's (W3C Trace Context).

    The header `traceparent` names the caller's span; one that is malformed begins a trace of its
    own. Of `baggage`, which may hold words, nothing is taken.

    Args:
        app: the service.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._propagator = TraceContextTextMapPropagator()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        token = attach(self._propagator.extract(dict(Headers(scope=scope))))
        try:
            await self._app(scope, receive, send)
        finally:
            detach(token)
