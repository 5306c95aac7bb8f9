"""Guard: what stands between the network and the page."""

from __future__ import annotations

import secrets

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipelines.serving.bodies import BodyTooLongError, read_body, replaying
from pipelines.serving.limits import BODY_LIMIT

NONCE = "lexarbor.nonce"

# What the page uses, and nothing else: Gradio also serves uploads, files, a proxy, run history and
# monitoring, which are then not there for anyone.
_READ = frozenset(
    {
        "/",
        "/frame.css",
        "/page.css",
        "/results.css",
        "/page.js",
        "/favicon.ico",
        "/favicon.svg",
        "/theme.css",
        "/learning",
        "/gradio_api/app_id",
        "/gradio_api/queue/data",
    }
)
_READ_BELOW = ("/assets/", "/static/fonts/", "/static/js/")
_WRITE = frozenset({"/gradio_api/queue/join"})

# Gradio sets styles from script everywhere, so styles may be inline; scripts need the nonce.
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self' 'nonce-{nonce}'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
        "base-uri 'self'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """ASGI middleware: serves what the page uses, small bodies only, with security headers.

    Every answer carries a Content-Security-Policy with a fresh nonce, which is at
    `scope[NONCE]` for whoever writes the page's scripts. A body over `BODY_LIMIT` bytes gets 413
    before anything reads it, a path that the page does not use 404.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        nonce = secrets.token_urlsafe(16)
        scope[NONCE] = nonce

        async def guarded_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Content-Security-Policy"] = _POLICY.format(nonce=nonce)
                headers.update(_HEADERS)
            await send(message)

        if not _served(scope["method"], scope["path"]):
            await PlainTextResponse("Not found.\n", 404)(scope, receive, guarded_send)
            return
        try:
            body = await read_body(receive)
        except ClientDisconnect:
            return
        except BodyTooLongError:
            refusal = PlainTextResponse(
                f"The request is longer than {BODY_LIMIT // 1024} KiB.\n",
                413,
                {"Connection": "close"},
            )
            await refusal(scope, receive, guarded_send)
            return
        await self._app(scope, replaying(body, receive), guarded_send)


def _served(method: str, path: str) -> bool:
    if ".." in path.split("/"):
        return False
    if method in ("GET", "HEAD"):
        return path in _READ or path.startswith(_READ_BELOW)
    return method == "POST" and path in _WRITE
