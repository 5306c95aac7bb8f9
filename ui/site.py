"""The site: every view in every language, joined over what is served."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import gradio as gr
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from pipelines.home import TrainedDemo
from ui.about import standing as told
from ui.app import build_page
from ui.collection import Collection
from ui.compare.compared import Compared
from ui.compare.view import build_compare
from ui.frame import VIEWS
from ui.language import LANGUAGES, Language, address
from ui.law.places import Places
from ui.law.routes import law_routes
from ui.server import build_server
from ui.serving import Serving
from ui.standing import Standing
from ui.training import Sources, training_routes


def build_site(
    serving: Serving,
    searched: Callable[[], Collection],
    *,
    standing: Callable[[], Standing] | None = None,
    runs: Sequence[Path] = (),
    demo: TrainedDemo | None = None,
    passwords: Sequence[str] = (),
    names: frozenset[str] | None = None,
) -> FastAPI:
    """The application.

    Args:
        serving: what answers.
        searched: tells what is searched now.
        standing: how far the search has learnt the law, where it learns.
        runs: folders of training runs to show, besides that of the model that is served.
        demo: the training on the demo law, where that is what is served.
        passwords: `name:password` of each reader; empty: everybody may read.
        names: host names under which the site may be asked for; None for any.
    """
    compared = Compared(lambda: serving.store, serving.model, serving.name)
    pages: dict[str, gr.Blocks] = {}
    for language in LANGUAGES:
        pages[address(VIEWS["ask"], language)] = build_page(
            serving.answer,
            searched,
            serving.stages,
            language,
            learns=standing is not None,
            sent_to=serving.sent_to,
        )
        pages[address(VIEWS["compare"], language)] = build_compare(compared, searched, language)
    places = Places(lambda: serving.store)
    places.prepare()
    folders = [folder.expanduser().resolve() for folder in runs]
    sources = Sources(lambda: serving.store, folders, demo)
    routes = [
        *law_routes(places, searched),
        *training_routes(sources, searched),
        *(standing_routes(standing) if standing is not None else []),
    ]
    return build_server(pages, routes, passwords, names)


def standing_routes(standing: Callable[[], Standing]) -> list[Route]:
    """`/learning`, where a page asks how far the search has learnt the law."""
    return [_standing_route(standing, language) for language in LANGUAGES]


def _standing_route(standing: Callable[[], Standing], language: Language) -> Route:
    def tell(_: Request) -> JSONResponse:
        return JSONResponse(told(standing(), language), headers={"Cache-Control": "no-store"})

    return Route(address("/learning", language), tell, methods=["GET"])
