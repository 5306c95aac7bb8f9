"""Shell: the HTML document around the page that Gradio draws."""

from __future__ import annotations

import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui.guard import NONCE

# Cards for social networks, with pictures on other hosts, and a manifest for phones.
_FOREIGN = re.compile(r'<meta\s+(?:property="og:|name="twitter:)[^>]*>|<link rel="manifest"[^>]*>')
_SCRIPT = re.compile(r"<script\b")
_HEAD = (
    "<title>Lexarbor</title>"
    '<meta name="description" content="Ask a question, read the articles of law that answer it.">'
    '<link rel="icon" href="/favicon.svg" type="image/svg+xml">'
    '<link rel="stylesheet" href="/frame.css">'
    '<link rel="stylesheet" href="/page.css">'
    '<link rel="stylesheet" href="/results.css">'
    '<script src="/page.js" defer></script>'
)
_NO_SCRIPT = (
    "<noscript><p>This page needs JavaScript. Without it: python -m pipelines.ask</p></noscript>"
)


class Shell:
    """ASGI middleware: completes Gradio's document at "/".

    Adds the title, our style and script and the nonce that lets inline scripts run; takes out
    every address on another host.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["path"] != "/":
            await self._app(scope, receive, send)
            return
        # Compressed bytes could not be completed.
        plain = [(k, v) for k, v in scope["headers"] if k != b"accept-encoding"]
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
                body = _complete(body.decode(), scope[NONCE]).encode()
                headers = MutableHeaders(scope=start)
                headers["Content-Length"] = str(len(body))
                headers["Cache-Control"] = "no-store"
            await send(start)
            await send({"type": "http.response.body", "body": body})

        await self._app({**scope, "headers": plain}, receive, completing_send)


def _complete(document: str, nonce: str) -> str:
    document = _FOREIGN.sub("", document)
    document = document.replace("</head>", f"{_HEAD}</head>", 1)
    document = document.replace("<gradio-app", f"{_NO_SCRIPT}<gradio-app", 1)
    return _SCRIPT.sub(f'<script nonce="{nonce}"', document)
