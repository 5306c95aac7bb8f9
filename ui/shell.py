"""Shell: the HTML document around a view that Gradio draws."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from typing import Any

import gradio as gr
from gradio.components import Component
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui.frame import VIEWS, Collection, View, footer, head, top
from ui.guard import NONCE
from ui.language import Language, address, language_of
from ui.texts import FRAME_TEXTS


class Following(gr.Blocks):
    """A view that Gradio draws, some of whose parts describe what is searched.

    Gradio puts into each document what the parts held when the view was mounted; `refresh` brings
    them up to date before the next document is made.

    Args:
        title: of the tab.
        searched: describes what is searched now.
    """

    def __init__(self, title: str, searched: Callable[[], Collection]) -> None:
        super().__init__(title=title, analytics_enabled=False, fill_width=True)
        self._searched = searched
        self._shown = searched()
        self._parts: list[tuple[Component, str, Callable[[Collection], Any]]] = []
        self._refreshing = threading.Lock()

    @property
    def shown(self) -> Collection:
        """What the parts describe."""
        return self._shown

    def follow(self, part: Component, name: str, describe: Callable[[Collection], Any]) -> None:
        """Set a part's attribute from the collection, now and at each refresh."""
        setattr(part, name, describe(self._shown))
        self._parts.append((part, name, describe))

    def refresh(self) -> None:
        """Describe what is searched now to the next reader."""
        with self._refreshing:
            now = self._searched()
            if now == self._shown:
                return
            self._shown = now
            for part, name, describe in self._parts:
                setattr(part, name, describe(now))
            self.config = self.get_config_file()


# Cards for social networks, with pictures on other hosts, and a manifest for phones.
_FOREIGN = re.compile(r'<meta\s+(?:property="og:|name="twitter:)[^>]*>|<link rel="manifest"[^>]*>')
_SCRIPT = re.compile(r"<script\b")
_LANG = re.compile(r'<html([^>]*?)\slang="[^"]*"')


class Shell:
    """ASGI middleware: completes Gradio's documents.

    Adds the title, our frame, styles and scripts, and the nonce that lets inline scripts run; takes
    out every address on another host.

    Args:
        app: the application.
        pages: the views that Gradio draws, by the address of their document.
    """

    def __init__(self, app: ASGIApp, pages: Mapping[str, gr.Blocks]) -> None:
        self._app = app
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["path"] not in self._pages:
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        page = self._pages[path]
        if isinstance(page, Following):
            await run_in_threadpool(page.refresh)
        inner = {
            **scope,
            # Where a mounted application begins there is a slash, which our addresses do not have.
            "path": path.rstrip("/") + "/",
            # Gradio would load pages and states that are named in it.
            "query_string": b"",
            # Compressed bytes could not be completed.
            "headers": [(k, v) for k, v in scope["headers"] if k != b"accept-encoding"],
        }
        start: Message = {}
        body = b""

        async def completing_send(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start":
                start = message
                return
            if message["type"] != "http.response.body":
                await send(message)
                return
            body += message.get("body", b"")
            if message.get("more_body", False):
                return
            if "text/html" in Headers(raw=start["headers"]).get("content-type", ""):
                body = _complete(body.decode(), path, scope[NONCE]).encode()
                headers = MutableHeaders(scope=start)
                headers["Content-Length"] = str(len(body))
                headers["Cache-Control"] = "no-store"
            await send(start)
            await send({"type": "http.response.body", "body": body})

        await self._app(inner, receive, completing_send)


def _complete(document: str, path: str, nonce: str) -> str:
    language = language_of(path)
    view = _view(path, language)
    title = "" if view == "ask" else str(getattr(FRAME_TEXTS[language], view))
    around = top(view, language, VIEWS[view], path)
    document = _FOREIGN.sub("", document)
    document = _LANG.sub(rf'<html\1 lang="{language}"', document, count=1)
    document = document.replace("</head>", f"{head(language, title)}</head>", 1)
    document = document.replace("<gradio-app", f"{around}<gradio-app", 1)
    document = document.replace("</body>", f"{footer(language)}</body>", 1)
    return _SCRIPT.sub(f'<script nonce="{nonce}"', document)


def _view(path: str, language: Language) -> View:
    return next(view for view, each in VIEWS.items() if address(each, language) == path)
