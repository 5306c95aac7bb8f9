"""Guard: what stands between the network and the site."""

from __future__ import annotations

import asyncio
import logging
import math
import re
import secrets
import traceback
from collections.abc import Collection

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipelines.serving.bodies import BodyTooLongError, read_body, replaying
from pipelines.serving.limits import BODY_LIMIT
from pipelines.serving.origins import is_from_elsewhere, is_named
from ui.joining import JOIN
from ui.language import language_of
from ui.missing import missing
from ui.password import Passwords
from ui.texts.guard import TEXTS
from ui.tries import Tries

NONCE = "lexarbor.nonce"

# Of what Gradio serves, what its views use and nothing else: it also has uploads, files, a proxy,
# run history and monitoring, which are then not there for anyone.
_READ = frozenset({"theme.css", "gradio_api/app_id", "gradio_api/queue/data"})
_READ_BELOW = ("assets/", "static/fonts/", "static/js/")
# No address of ours has any of these; file systems do.
_STRANGE = re.compile(r"//|\\|(?:^|/)\.|[\x00-\x1f\x7f]")

# Gradio sets styles from script everywhere, so styles may be inline; scripts need the nonce.
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self' 'nonce-{nonce}'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "base-uri 'self'",
        "form-action 'self'",
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
_CHALLENGE = {"WWW-Authenticate": 'Basic realm="Lexarbor", charset="UTF-8"'}
_CLOSE = {"Connection": "close"}
# Gradio would let pages of every site read its answers, with the reader's password.
_KEPT_BACK = frozenset({b"origin"})

_logger = logging.getLogger(__name__)


class Guard:
    """ASGI middleware: serves what the site's pages use, to those who may read it.

    Every answer carries a Content-Security-Policy with a fresh nonce, which is at
    `scope[NONCE]` for whoever writes the page's scripts. What is not served gets, in this order,
    in the language of its address:

    - 408, 413: its body does not come within `body_seconds`, or is longer than `BODY_LIMIT` bytes.
    - 421: it is for a name that is not ours.
    - 401, 429: it has no password that fits, or its address has sent too many wrong ones.
    - 404: the site has no such address, or not for this method; for a browser's reader a page.
    - 403: a page of another site asks.
    - 500: nobody foresaw it; its kind and place are logged.

    Args:
        app: the application.
        pages: addresses of the views that Gradio draws; each has its own Gradio below it.
        read: all other addresses that are served, for reading.
        passwords: who may read; None for everybody.
        names: host names under which the site may be asked for; None for any.
        body_seconds: time in which a request's body must have come.
    """

    def __init__(
        self,
        app: ASGIApp,
        pages: Collection[str],
        read: Collection[str],
        passwords: Passwords | None = None,
        names: Collection[str] | None = None,
        body_seconds: float = 10.0,
    ) -> None:
        self._app = app
        self._read = frozenset({*pages, *read})
        self._below = sorted({page.rstrip("/") + "/" for page in pages}, key=len, reverse=True)
        self._passwords = passwords
        self._tries = Tries()
        self._names = names
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        nonce = secrets.token_urlsafe(16)
        scope[NONCE] = nonce

        started = False

        async def guarded_send(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                headers["Content-Security-Policy"] = _POLICY.format(nonce=nonce)
                headers.update(_HEADERS)
            await send(message)

        try:
            await self._answer(scope, receive, guarded_send)
        except ClientDisconnect:
            return
        except Exception as error:  # noqa: BLE001 - whatever failed, the reader gets an answer
            # An error's message may quote what was asked, which is never logged; its place may not.
            place = "".join(traceback.format_tb(error.__traceback__))
            _logger.error("An answer failed with %s:\n%s", type(error).__name__, place)
            if not started:
                failed = _told(TEXTS[language_of(scope["path"])].failed, 500)
                await failed(scope, receive, guarded_send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        texts = TEXTS[language_of(scope["path"])]
        # A connection that is closed with bytes unread would be reset under its answer: whatever
        # that is, the body is read first.
        try:
            async with asyncio.timeout(self._body_seconds):
                body = await read_body(receive)
        except TimeoutError:
            refusal: Response | None = _told(texts.too_slow, 408, _CLOSE)
        except BodyTooLongError:
            refusal = _told(texts.too_long.format(limit=BODY_LIMIT // 1024), 413, _CLOSE)
        else:
            refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        passed = [(name, value) for name, value in scope["headers"] if name not in _KEPT_BACK]
        await self._app({**scope, "headers": passed}, replaying(body, receive), send)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        texts = TEXTS[language_of(scope["path"])]
        if self._names is not None and not is_named(headers, self._names):
            return _told(texts.other_host, 421)
        if self._passwords is not None:
            refusal = self._stranger(self._passwords, scope, headers)
            if refusal is not None:
                return refusal
        method, path = scope["method"], scope["path"]
        if not self._serves(method, path):
            trimmed = path.rstrip("/")
            if method in ("GET", "HEAD") and trimmed in self._read:
                asked = scope["query_string"].decode("latin-1")
                return RedirectResponse(f"{trimmed}?{asked}" if asked else trimmed, 308)
            if method in ("GET", "HEAD") and "text/html" in headers.get("accept", ""):
                return missing(language_of(path))
            return _told(texts.not_found, 404)
        if method == "POST" and is_from_elsewhere(headers):
            return _told(texts.other_site, 403)
        return None

    def _stranger(self, passwords: Passwords, scope: Scope, headers: Headers) -> Response | None:
        texts = TEXTS[language_of(scope["path"])]
        address = (scope.get("client") or ("",))[0]
        given = headers.get("authorization")
        if given is None:
            return _told(texts.password_needed, 401, _CHALLENGE)
        seconds = math.ceil(self._tries.seconds_to_wait(address))
        if seconds > 0:
            told = texts.too_many_tries.format(seconds=seconds)
            return _told(told, 429, {"Retry-After": str(seconds)})
        if passwords.admit(given):
            return None
        self._tries.count_wrong(address)
        return _told(texts.password_needed, 401, _CHALLENGE)

    def _serves(self, method: str, path: str) -> bool:
        if _STRANGE.search(path):
            return False
        inner = next((path[len(each) :] for each in self._below if path.startswith(each)), path)
        if method in ("GET", "HEAD"):
            return path in self._read or inner in _READ or inner.startswith(_READ_BELOW)
        return method == "POST" and inner == JOIN


def _told(text: str, status: int, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(f"{text}\n", status, {"Cache-Control": "no-store", **(headers or {})})
