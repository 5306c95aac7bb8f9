"""The site on a port: its views in FastAPI, behind the guard."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files

import gradio as gr
import uvicorn
from fastapi import FastAPI, Response
from starlette.routing import Route

from pipelines.serving.limits import prompt_server
from ui.about import about_routes
from ui.ask import build_page
from ui.compare import Compared, build_compare
from ui.frame import SCRIPTS, STYLES, VIEWS, Collection
from ui.guard import Guard, limit_sessions
from ui.language import LANGUAGES, address
from ui.law import law_routes
from ui.law_reader import Places
from ui.serving import Serving
from ui.shell import Shell

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
    places.prepare()
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
