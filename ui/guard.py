"""Guard: ASGI middleware between the network and the site.

Passwords (HTTP Basic), host names, origins, limits, security headers and refusals. TLS, the
client's real address and any other way to log in are a reverse proxy's (docs/demo.md).
"""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import logging
import math
import os
import re
import secrets
import traceback
import unicodedata
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

from cachetools import LRUCache, TTLCache
from gradio import Blocks
from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError
from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipelines.checking import LoadingError
from pipelines.serving.limits import (
    BODY_LIMIT,
    BodyTooLongError,
    is_from_elsewhere,
    is_named,
    read_body,
    replaying,
)
from ui.frame import refusal
from ui.language import TEXTS, Language, language_of

NONCE = "lexarbor.nonce"

_MIN_PASSWORD_CHARS = 12
# Ten wrong passwords a minute are 14,400 a day: too few to guess twelve characters.
_WRONG_PASSWORDS = 10
_BLOCKED_SECONDS = 60
_COUNTED_ADDRESSES = 4096

_QUEUE_JOIN = "gradio_api/queue/join"
_QUEUE_DATA = "gradio_api/queue/data"
# An answer that nobody fetches stays in memory, with 200 KB for a page of results.
_UNFETCHED_ANSWERS = 8
_SESSIONS = 128

# All that our views use of Gradio. Its uploads, files, proxy, API and monitoring are not served.
_GRADIO = frozenset({"theme.css", "gradio_api/app_id", _QUEUE_DATA})
_GRADIO_BELOW = ("assets/", "static/fonts/", "static/js/")
# Parts of a path that mean something to file systems; none of our addresses has them.
_UNSAFE_PATH = re.compile(r"//|\\|(?:^|/)\.|[\x00-\x1f\x7f]")

# Gradio sets styles from script everywhere, so styles may be inline; scripts need the nonce.
_POLICY = (
    "default-src 'none'; script-src 'self' 'nonce-{nonce}'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'self'; "
    "form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # A form that is sent without a script names its origin only so.
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_CHALLENGE = {"WWW-Authenticate": 'Basic realm="Lexarbor", charset="UTF-8"'}
_CLOSE = {"Connection": "close"}
# Gradio must not see the origin: it would let every site read its answers, with credentials. The
# length changes where a call is written again.
_DROPPED_HEADERS = frozenset({b"origin", b"content-length"})

_logger = logging.getLogger(__name__)


def log_failure(logger: logging.Logger, what: str, error: Exception) -> None:
    """Log an error's type and place, without its message: it may quote a question."""
    place = "".join(traceback.format_tb(error.__traceback__))
    logger.error("%s failed with %s:\n%s", what, type(error).__name__, place)


def read_passwords(path: Path) -> list[str]:
    """Read a file of `name:password` lines; blank lines are skipped.

    Raises:
        LoadingError: the file cannot be read, others may read it, or a line is wrong.
    """
    try:
        with path.open(encoding="utf-8-sig") as file:
            # The mode of the open file: the path could lead to another file a moment later.
            mode = os.fstat(file.fileno()).st_mode
            passwords = [line for line in file.read().splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise LoadingError(f"cannot read the password file {path}: {error}") from None
    if os.name == "posix" and mode & 0o077:
        raise LoadingError(f"{path} is open to other users; run: chmod 600 {path}")
    pairs = {name: password for name, _, password in (each.partition(":") for each in passwords)}
    shortest = min(map(len, pairs.values()), default=0)
    if len(pairs) < len(passwords) or "" in pairs or shortest < _MIN_PASSWORD_CHARS:
        # No line is quoted: it may be a password alone.
        raise LoadingError(
            f"{path}: write name:password on each line, each name once, with "
            f"{_MIN_PASSWORD_CHARS} characters or more in each password"
        )
    return passwords


class Guard:
    """ASGI middleware: serves what the site's pages use, to those who may read it.

    Every answer carries a Content-Security-Policy with a fresh nonce, which `scope[NONCE]` holds
    for the code that writes the page's scripts. Refusals, in the order in which they are checked:

    - 408, 413: the body takes longer than `body_seconds`, or has more than `BODY_LIMIT` bytes.
    - 421: the request is for a host name that is not ours.
    - 401, 429: the password is missing or wrong; the address has sent too many wrong ones.
    - 404: the site has no such address, or not for this method; or nobody asked in the session
      whose answers are fetched. Browsers get a page.
    - 403: a page of another site sent the request.
    - 400, 429: no page of this site makes such a call; the queue is full.
    - 500: an unexpected error, logged by type and place.

    Args:
        app: the application.
        pages: the views that Gradio draws, by address; each has its own Gradio below it.
        read: all other addresses that are served, for reading.
        forms: those of them that a form may be sent to.
        passwords: `name:password` of each reader; empty: everybody may read.
        names: host names under which the site may be asked for; None for any.
        body_seconds: time limit for a request's body.
    """

    def __init__(
        self,
        app: ASGIApp,
        pages: Mapping[str, Blocks],
        read: Collection[str],
        forms: Collection[str] = (),
        passwords: Collection[str] = (),
        names: Collection[str] | None = None,
        body_seconds: float = 10.0,
    ) -> None:
        self._app = app
        self._read = frozenset({*pages, *read})
        self._forms = frozenset(forms)
        self._roots = sorted({page.rstrip("/") + "/" for page in pages}, key=len, reverse=True)
        self._queues = {f"{path.rstrip('/')}/{_QUEUE_JOIN}": page for path, page in pages.items()}
        self._answers = {f"{path.rstrip('/')}/{_QUEUE_DATA}": page for path, page in pages.items()}
        self._passwords = [_credentials(each) for each in passwords]
        self._wrong: TTLCache[bytes, int] = TTLCache(_COUNTED_ADDRESSES, _BLOCKED_SECONDS)
        self._names = names
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        if scope["type"] != "http":
            return
        nonce = scope[NONCE] = secrets.token_urlsafe(16)
        started = False

        async def send_guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                headers["Content-Security-Policy"] = _POLICY.format(nonce=nonce)
                headers.update(_HEADERS)
            await send(message)

        language = language_of(scope["path"])
        texts = TEXTS[language].guard
        try:
            await self._answer(scope, texts, receive, send_guarded)
        except ClientDisconnect:
            return
        except Exception as error:  # noqa: BLE001 - the reader gets an answer whatever failed
            if not isinstance(error, HTTPException):
                log_failure(_logger, "An answer", error)
                error = HTTPException(500, texts.failed)
            if not started:
                response = self._refusal(error, scope, language)
                await response(scope, receive, send_guarded)

    def _refusal(self, error: HTTPException, scope: Scope, language: Language) -> Response:
        status, text = error.status_code, error.detail
        headers = {"Cache-Control": "no-store", **(error.headers or {})}
        if scope["path"] in self._queues:  # Gradio's script shows the detail
            return JSONResponse({"detail": text}, status, headers)
        if status == 404 and "text/html" in Headers(scope=scope).get("accept", ""):
            why = TEXTS[language].guard.not_found_why
            page = refusal(None, language, text, why)
            return HTMLResponse(page, status, headers)
        return PlainTextResponse(f"{text}\n", status, headers)

    async def _answer(
        self, scope: Scope, texts: SimpleNamespace, receive: Receive, send: Send
    ) -> None:
        # The body is read before anything is refused: a connection closed with bytes unread is
        # reset, and the client never sees the refusal.
        try:
            async with asyncio.timeout(self._body_seconds):
                body = await read_body(receive)
        except TimeoutError:
            raise HTTPException(408, texts.too_slow, _CLOSE) from None
        except BodyTooLongError:
            text = texts.too_long.format(limit=BODY_LIMIT // 1024)
            raise HTTPException(413, text, _CLOSE) from None
        method, path, headers = scope["method"], scope["path"], Headers(scope=scope)
        if self._names is not None and not is_named(headers, self._names):
            raise HTTPException(421, texts.other_host)
        if self._passwords:
            self._check_password(headers.get("authorization"), _client(scope), texts)
        if not self._serves(method, path):
            raise HTTPException(404, texts.not_found)
        if path in self._answers:
            # Gradio would begin an answer and break it off with an exception of many lines.
            session = QueryParams(scope["query_string"]).get("session_hash")
            if session not in self._answers[path]._queue.pending_messages_per_session:
                raise HTTPException(404, texts.not_found)
        if method == "POST":
            if is_from_elsewhere(headers):
                raise HTTPException(403, texts.other_site)
            if path in self._queues:
                body = _checked_call(self._queues[path], body, texts)
        kept = [(name, value) for name, value in scope["headers"] if name not in _DROPPED_HEADERS]
        await self._app({**scope, "headers": kept}, replaying(body, receive), send)

    def _check_password(self, given: str | None, client: bytes, texts: SimpleNamespace) -> None:
        if given is None:
            raise HTTPException(401, texts.password_needed, _CHALLENGE)
        # The right password waits as well: an answer to it would tell that it is right.
        if self._wrong.get(client, 0) >= _WRONG_PASSWORDS:
            raise HTTPException(429, texts.too_many_tries, {"Retry-After": str(_BLOCKED_SECONDS)})
        scheme, _, encoded = given.partition(" ")
        try:
            sent = _credentials(base64.b64decode(encoded, validate=True).decode())
        except ValueError:
            sent = b""
        # Compare with every password, so that the time does not depend on which one is right.
        matches = [secrets.compare_digest(sent, each) for each in self._passwords]
        if scheme.lower() != "basic" or not any(matches):
            self._wrong[client] = self._wrong.get(client, 0) + 1
            raise HTTPException(401, texts.password_needed, _CHALLENGE)

    def _serves(self, method: str, path: str) -> bool:
        if _UNSAFE_PATH.search(path):
            return False
        if method == "POST":
            return path in self._queues or path in self._forms
        inner = next((path[len(root) :] for root in self._roots if path.startswith(root)), path)
        known = path in self._read or inner in _GRADIO or inner.startswith(_GRADIO_BELOW)
        return method in ("GET", "HEAD") and known


class _Call(BaseModel):
    """What a page sends to ask. Gradio would also read files and addresses that objects name."""

    model_config = ConfigDict(strict=True)

    data: list[str | None]
    fn_index: int
    session_hash: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    trigger_id: int | None = None


def _checked_call(page: Blocks, body: bytes, texts: SimpleNamespace) -> bytes:
    """The body with nothing but a page's call in it."""
    try:
        call = _Call.model_validate_json(body)
        function, queue = page.fns[call.fn_index], page._queue
        if len(call.data) != len(function.inputs):
            raise KeyError
    except (ValidationError, KeyError):
        raise HTTPException(400, texts.no_question) from None
    unfetched = queue.pending_event_ids_session.get(call.session_hash, ())
    if len(queue) >= (queue.max_size or math.inf) or len(unfetched) >= _UNFETCHED_ANSWERS:
        # Gradio itself answers 503, for which its script has a text of its own.
        raise HTTPException(429, texts.busy, {"Retry-After": "5"})
    return call.model_dump_json().encode()


def limit_sessions(queue: Any) -> None:
    """Bound what a view's queue remembers of its sessions and calls.

    Gradio keeps the unfetched answers of 2,000 sessions and the names of all. It forgets the oldest
    session even while its question waits, and the missing entry then stops the queue for everybody.
    """
    queue.pending_messages_per_session = _Sessions(asyncio.Queue)
    queue.pending_event_ids_session = _Sessions(set)
    # Otherwise it sums up the times of 10,000 calls again and again.
    queue.ANALYTICS_MAX_EVENTS = 1


class _Sessions(LRUCache[str, Any]):
    """The sessions used last; writing to a forgotten one has no effect."""

    def __init__(self, empty: Callable[[], Any]) -> None:
        super().__init__(_SESSIONS)
        self._empty = empty

    def __missing__(self, key: str) -> Any:
        return self._empty()


def _credentials(text: str) -> bytes:
    # A letter with an accent has two spellings in Unicode; browsers send the composed one.
    return unicodedata.normalize("NFC", text).encode()


def _client(scope: Scope) -> bytes:
    """The address that wrong passwords are counted for; of IPv6, the network of 64 bits."""
    host = (scope.get("client") or ("",))[0]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host.encode()
    own_network = address.version == 6 and not address.ipv4_mapped
    return address.packed[:8] if own_network else address.packed
