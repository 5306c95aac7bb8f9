"""The site on a port: its views in FastAPI, behind the guard."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files

import gradio as gr
import uvicorn
from fastapi import FastAPI, Response
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipelines.serving.limits import prompt_server
from ui.ask import Following, build_page
from ui.compare import Compared, build_compare
from ui.frame import (
    SCRIPTS,
    STYLES,
    VIEWS,
    Collection,
    document,
    footer,
    head,
    notice,
    render,
    top,
)
from ui.guard import NONCE, Guard, limit_sessions
from ui.language import FRAME_TEXTS, LANGUAGES, address, language_of
from ui.law import Places, law_routes
from ui.serving import Serving

# How long a page that is still open may hold up the end, in seconds.
_GRACE = 2

_POLL_SECONDS = 0.02

_FILES = {
    **dict.fromkeys(STYLES, "text/css"),
    **dict.fromkeys(SCRIPTS, "text/javascript"),
    "favicon.svg": "image/svg+xml",
}


def build_server(
    pages: Mapping[str, gr.Blocks],
    routes: Sequence[Route] = (),
    passwords: Sequence[str] = (),
    names: frozenset[str] | None = None,
) -> FastAPI:
    """The application that serves the site.

    Args:
        pages: the views that Gradio draws, by their address.
        routes: everything else that is read, with plain paths.
        passwords: `name:password` of each reader; empty: everybody may read.
        names: host names under which it may be asked for; None for any.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    for name, media_type in _FILES.items():
        app.add_api_route(f"/{name}", _file(name, media_type), methods=["GET", "HEAD"])
    app.router.routes.extend(routes)
    # Below "/" lies everything else, so that it comes last.
    for path in sorted(pages, key=len, reverse=True):
        gr.mount_gradio_app(
            app,
            pages[path],
            path=path,
            theme=_theme(),
            footer_links=[],
            run_history=False,
            show_error=False,
            ssr_mode=False,
            enable_monitoring=False,
            mcp_server=False,
            pwa=False,
        )
        queue = pages[path]._queue
        # Gradio's own interval is a millisecond.
        queue.sleep_when_free = _POLL_SECONDS
        limit_sessions(queue)
    app.add_middleware(Shell, pages=dict(pages))
    read = [*(f"/{name}" for name in _FILES), "/favicon.ico", *(each.path for each in routes)]
    app.add_middleware(Guard, pages=dict(pages), read=read, passwords=passwords, names=names)
    return app


def make_server(app: FastAPI) -> uvicorn.Server:
    """A web server for the application; nothing about questions is logged."""
    return prompt_server(app, _GRACE, log_level="warning")


def _file(name: str, media_type: str) -> Callable[[], Response]:
    content = files("ui").joinpath(name).read_bytes()

    def send_file() -> Response:
        return Response(content, media_type=media_type, headers={"Cache-Control": "no-cache"})

    return send_file


def _theme() -> gr.themes.Base:
    # System fonts only: a named web font would be fetched from another host.
    sans = ["system-ui", "'Segoe UI'", "'Noto Sans'", "'Liberation Sans'", "sans-serif"]
    return gr.themes.Base(font=sans, font_mono=["ui-monospace", "monospace"])


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
    view = next(view for view, each in VIEWS.items() if address(each, language) == path)
    title = "" if view == "ask" else str(getattr(FRAME_TEXTS[language], view))
    around = top(view, language, VIEWS[view], path)
    document = _LANG.sub(rf'<html\1 lang="{language}"', _FOREIGN.sub("", document), count=1)
    for place, more in (
        ("</head>", head(language, title)),
        ("<gradio-app", around),
        ("</body>", footer(language)),
    ):
        document = document.replace(place, f"{more}{place}", 1)
    return _SCRIPT.sub(f'<script nonce="{nonce}"', document)


ABOUT = "/about"


def about_routes(searched: Callable[[], Collection]) -> list[Route]:
    """`/about`: what the site is, its accessibility and its licence, in every language."""

    def show(request: Request) -> HTMLResponse:
        language = language_of(request.url.path)
        texts = FRAME_TEXTS[language]
        notes = notice(searched(), language)
        main = render("about_site.html", language, texts=texts, notice=notes)
        return HTMLResponse(document(None, language, texts.about, main, ABOUT))

    return [Route(address(ABOUT, each), show, methods=["GET"]) for each in LANGUAGES]


# The site: every view in every language, joined over what is served.


def build_site(
    serving: Serving,
    searched: Callable[[], Collection],
    *,
    passwords: Sequence[str] = (),
    names: frozenset[str] | None = None,
) -> FastAPI:
    """The application.

    Args:
        serving: what answers.
        searched: describes what is searched now.
        passwords: `name:password` of each reader; empty: everybody may read.
        names: host names under which the site may be asked for; None for any.
    """
    places = Places(serving.store)
    places.law(patience=0)
    serving.prepare()
    compared = Compared(serving.store, serving.model, serving.name)
    pages: dict[str, gr.Blocks] = {}
    for language in LANGUAGES:
        pages[address(VIEWS["ask"], language)] = build_page(
            serving.answers,
            searched,
            serving.stages,
            language,
            sent_to=serving.sent_to,
            glossary=places.glossary,
        )
        pages[address(VIEWS["compare"], language)] = build_compare(compared, searched, language)
    routes = [*law_routes(places, searched), *about_routes(searched)]
    return build_server(pages, routes, passwords, names)
