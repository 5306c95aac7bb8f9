"""The page on a port: Gradio mounted in FastAPI, behind the guard."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files

import gradio as gr
import uvicorn
from fastapi import FastAPI, Response
from fastapi.responses import JSONResponse

from ui import render
from ui.guard import Guard
from ui.shell import Shell
from ui.standing import Standing

# How long a page that is still open may hold up the end, in seconds.
_GRACE = 2


def build_server(page: gr.Blocks, standing: Callable[[], Standing] | None = None) -> FastAPI:
    """The application that serves a page made by `build_page`.

    Args:
        page: what is served at "/".
        standing: how far the search has learnt the law, for a page that shows it.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    for name, media_type in (
        ("frame.css", "text/css"),
        ("page.css", "text/css"),
        ("results.css", "text/css"),
        ("page.js", "text/javascript"),
        ("favicon.svg", "image/svg+xml"),
    ):
        app.add_api_route(f"/{name}", _file(name, media_type), methods=["GET"])
    if standing is not None:
        app.add_api_route("/learning", _told(standing), methods=["GET"])
    gr.mount_gradio_app(
        app,
        page,
        path="/",
        theme=_theme(),
        footer_links=[],
        run_history=False,
        show_error=False,
        ssr_mode=False,
        enable_monitoring=False,
        mcp_server=False,
        pwa=False,
    )
    app.add_middleware(Shell)
    app.add_middleware(Guard)
    return app


def make_server(app: FastAPI) -> uvicorn.Server:
    """A web server for the application; nothing about questions is logged."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            access_log=False,
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=_GRACE,
            ws="none",
        )
    )


def _file(name: str, media_type: str) -> Callable[[], Response]:
    content = files("ui").joinpath(name).read_bytes()

    def send_file() -> Response:
        return Response(content, media_type=media_type, headers={"Cache-Control": "no-cache"})

    return send_file


def _told(standing: Callable[[], Standing]) -> Callable[[], JSONResponse]:
    def tell() -> JSONResponse:
        return JSONResponse(render.standing(standing()), headers={"Cache-Control": "no-store"})

    return tell


def _theme() -> gr.themes.Base:
    # System fonts only: a named web font would be fetched from another host.
    sans = ["system-ui", "'Segoe UI'", "'Noto Sans'", "'Liberation Sans'", "sans-serif"]
    return gr.themes.Base(font=sans, font_mono=["ui-monospace", "monospace"])
