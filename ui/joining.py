"""Joining: what may enter the queue of a view, and what is told where there is no room."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeGuard

import gradio as gr
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipelines.serving.bodies import replaying
from ui.language import language_of
from ui.texts.guard import TEXTS

JOIN = "gradio_api/queue/join"

_SESSION = re.compile(r"[A-Za-z0-9_-]{1,64}")
# What Gradio answers, and what we do: its page shows the words of any but 503.
_FULL = 503
_BUSY = 429
_RETRY_SECONDS = 5


class Joining:
    """ASGI middleware: lets into a view's queue only what its page could have sent.

    Gradio itself takes any JSON: an unknown function ends in a traceback, an object in a text
    field is opened as a file, or fetched from the address in it. Here each argument must be one
    that its component reads; anything else gets 400. Where the queue is full, the reader is told
    so in the language of the view (429).

    Args:
        app: the application.
        pages: the views that Gradio draws, by their address.
    """

    def __init__(self, app: ASGIApp, pages: Mapping[str, gr.Blocks]) -> None:
        self._app = app
        self._pages = {f"{path.rstrip('/')}/{JOIN}": page for path, page in pages.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        page = self._pages.get(scope["path"]) if scope["type"] == "http" else None
        if page is None:
            await self._app(scope, receive, send)
            return
        texts = TEXTS[language_of(scope["path"])]
        call = _call(page, await Request(scope, receive).body())
        if call is None:
            await _told(400, texts.no_question)(scope, receive, send)
            return
        # Half a surrogate pair, which UTF-8 cannot write, becomes a question mark.
        body = json.dumps(call, ensure_ascii=False).encode("utf-8", errors="replace")
        changed = (b"content-length", b"content-type")
        headers = [(name, value) for name, value in scope["headers"] if name not in changed]
        headers.append((b"content-length", str(len(body)).encode()))
        headers.append((b"content-type", b"application/json"))
        full = False

        async def telling_send(message: Message) -> None:
            nonlocal full
            if message["type"] == "http.response.start":
                full = message["status"] == _FULL
            if not full:
                await send(message)

        await self._app({**scope, "headers": headers}, replaying(body, receive), telling_send)
        if full:
            await _told(_BUSY, texts.busy)(scope, receive, send)


def _told(status: int, detail: str) -> JSONResponse:
    headers = {"Retry-After": str(_RETRY_SECONDS)} if status == _BUSY else None
    return JSONResponse({"detail": detail}, status, headers)


def _call(page: gr.Blocks, body: bytes) -> dict[str, Any] | None:
    """What Gradio may read of a body; None where no page of ours sends that."""
    try:
        said = json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    index, data = said.get("fn_index"), said.get("data")
    session, trigger = said.get("session_hash"), said.get("trigger_id")
    if not _whole(index) or not isinstance(session, str) or not _SESSION.fullmatch(session):
        return None
    function = page.fns.get(index)
    if function is None or not isinstance(data, list) or len(data) != len(function.inputs):
        return None
    triggers = {component for component, _ in function.targets}
    if trigger is not None and (not _whole(trigger) or trigger not in triggers):
        return None
    if not _readable(function.inputs, data, by_components=function.preprocess):
        return None
    return {"data": data, "fn_index": index, "session_hash": session, "trigger_id": trigger}


def _readable(components: Sequence[Any], data: Sequence[object], *, by_components: bool) -> bool:
    for component, argument in zip(components, data, strict=True):
        parts = argument if isinstance(argument, list) else [argument]
        if any(isinstance(part, (dict, list)) for part in parts):
            return False
        if component.stateful:
            if argument is not None:  # the server keeps it; a page sends nothing
                return False
            continue
        if not by_components:  # the function checks the words that it gets
            if not all(part is None or isinstance(part, str) for part in parts):
                return False
            continue
        try:
            component.preprocess(argument)
        except Exception:  # noqa: BLE001 - however a component refuses, with whatever error
            return False
    return True


def _whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _no_number(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")
