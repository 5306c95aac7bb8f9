"""The site on a port: its views in FastAPI, behind the guard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from typing import Any

import gradio as gr
import uvicorn
from fastapi import FastAPI, Response
from starlette.routing import Route

from pipelines.serving.limits import Limits
from pipelines.serving.protocol import PromptProtocol
from ui.frame import SCRIPTS, STYLES
from ui.guard import Guard
from ui.joining import Joining
from ui.password import Passwords
from ui.sessions import Sessions
from ui.shell import Shell

# How long a page that is still open may hold up the end, in seconds.
_GRACE = 2

_SECONDS_BETWEEN_LOOKS = 0.02

# Sessions whose answers wait to be fetched: well more than can ask at once.
_UNFETCHED = 256

_MAX_HEADERS = 16 * 1024  # bytes

_FILES = {
    **dict.fromkeys(STYLES, "text/css"),
    **dict.fromkeys(SCRIPTS, "text/javascript"),
    "favicon.svg": "image/svg+xml",
}


def build_server(
    pages: Mapping[str, gr.Blocks],
    routes: Sequence[Route] = (),
    passwords: Passwords | None = None,
    names: Iterable[str] | None = None,
) -> FastAPI:
    """The application that serves the site.

    Args:
        pages: the views that Gradio draws, by their address.
        routes: everything else that is read, with plain paths.
        passwords: who may read it; None for everybody.
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
        # By itself it looks a thousand times a second whether somebody asks.
        queue.sleep_when_free = _SECONDS_BETWEEN_LOOKS
        # Gradio keeps the answers of 2,000 sessions that nobody fetched, 200 KB each, and never
        # forgets that there were these sessions.
        asking = partial(_asking, queue)
        queue.pending_messages_per_session = Sessions(_UNFETCHED, asyncio.Queue, asking)
        queue.pending_event_ids_session = Sessions(_UNFETCHED, set, asking)
    app.add_middleware(Joining, pages=dict(pages))
    app.add_middleware(Shell, pages=dict(pages))
    read = [*(f"/{name}" for name in _FILES), "/favicon.ico", *(each.path for each in routes)]
    app.add_middleware(Guard, pages=list(pages), read=read, passwords=passwords, names=names)
    return app


def make_server(app: FastAPI) -> uvicorn.Server:
    """A web server for the application; nothing about questions is logged."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            # Of uvicorn's two parsers the one that limits the length of headers, and their time.
            http=PromptProtocol,
            h11_max_incomplete_event_size=_MAX_HEADERS,
            limit_concurrency=Limits.connections,
            access_log=False,
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=_GRACE,
            ws="none",
        )
    )


def _asking(queue: Any) -> set[str]:
    """The sessions whose questions a queue holds or answers."""
    waiting = [
        event for each in queue.event_queue_per_concurrency_id.values() for event in each.queue
    ]
    answered = [event for job in queue.active_jobs if job for event in job]
    return {event.session_hash for event in (*waiting, *answered)}


def _file(name: str, media_type: str) -> Callable[[], Response]:
    content = files("ui").joinpath(name).read_bytes()

    def send_file() -> Response:
        return Response(content, media_type=media_type, headers={"Cache-Control": "no-cache"})

    return send_file


def _theme() -> gr.themes.Base:
    # System fonts only: a named web font would be fetched from another host.
    sans = ["system-ui", "'Segoe UI'", "'Noto Sans'", "'Liberation Sans'", "sans-serif"]
    return gr.themes.Base(font=sans, font_mono=["ui-monospace", "monospace"])
