"""The application: hayhooks with our pipelines, without all that changes what it serves."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping

# A `.env` file in the folder of the moment must not decide over the service.
os.environ.setdefault("PYTHON_DOTENV_DISABLED", "1")

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from hayhooks import create_app
from hayhooks.server.pipelines.registry import registry
from hayhooks.server.routers import status_router
from hayhooks.server.utils.deploy_utils import add_pipeline_api_route
from hayhooks.settings import settings
from loguru import logger as hayhooks_logger
from starlette.exceptions import HTTPException
from starlette.responses import Response

from pipelines.serving.gate import Gate
from pipelines.serving.limits import Limits
from pipelines.serving.metrics import ServingMetrics
from pipelines.serving.openapi import describe_answers
from pipelines.serving.problems import Problem, json_response, problem_response
from pipelines.serving.reception import Reception
from pipelines.serving.schema import RunRequest, refused
from pipelines.serving.served import ServedPipeline

_ABOUT = """\
Finds the articles of law that answer a question asked in plain words.

`POST /{pipeline}/run` answers as `python -m pipelines.ask --json` prints. Every answer that is none
is `{"error", "detail", "request_id"}`.
"""

# Of the addresses and their JSON, not of the code behind them.
_INTERFACE = "1.0"

# Routes of the framework's own that stay; hayhooks' status routes come to them.
_DESCRIPTION_ROUTES = frozenset({"/openapi.json", "/docs"})


def build_app(
    served: Mapping[str, ServedPipeline],
    gate: Gate,
    limits: Limits,
    names: Collection[str] | None = None,
) -> FastAPI:
    """The application that serves these pipelines; one a process, as hayhooks has one registry.

    Args:
        served: by name; each is ready once its `setup` has run.
        gate: the one that they share.
        limits: what one client may ask for.
        names: host names under which it may be asked for; None for any.
    """
    app = _hayhooks()
    # A redirect of what is almost an address would be an answer without words.
    app.router.redirect_slashes = False
    app.title, app.description, app.version = "Lexarbor", _ABOUT, _INTERFACE
    app.include_router(status_router)
    for name, pipeline in served.items():
        metadata = {"request_model": RunRequest, "description": "A pipeline of Lexarbor."}
        registry.add(name, pipeline, metadata=metadata)
        add_pipeline_api_route(app, name, pipeline)
    metrics = ServingMetrics(gate)
    _add_probes(app, served, metrics)
    _add_problems(app)
    describe_answers(app, list(served))
    app.add_middleware(
        Reception,
        pipelines=list(served),
        metrics=metrics,
        body_seconds=limits.body_seconds,
        names=names,
    )
    return app


def _hayhooks() -> FastAPI:
    """A bare hayhooks: no pipelines, no routes, no middleware, no words."""
    # It scans a folder for pipelines at start, records every run for a dashboard, lets every web
    # page of the world call it, and logs what it was asked.
    settings.pipelines_dir = ""
    settings.additional_python_path = ""
    settings.durable_mode = False
    settings.monitoring_enabled = False
    settings.tracing_enabled = False
    settings.tracing_include_haystack_spans = False
    settings.tracing_include_payload_values = False
    settings.chainlit_enabled = False
    settings.show_tracebacks = False
    hayhooks_logger.disable("hayhooks")
    registry.clear()
    app: FastAPI = create_app()
    app.user_middleware.clear()
    # What stays is named, so that a route which hayhooks adds one day is not there either.
    app.router.routes[:] = [
        route for route in app.router.routes if getattr(route, "path", "") in _DESCRIPTION_ROUTES
    ]
    # Another set-up must not bring it back.
    app.redoc_url = app.swagger_ui_oauth2_redirect_url = None
    return app


def _add_probes(
    app: FastAPI, served: Mapping[str, ServedPipeline], metrics: ServingMetrics
) -> None:
    @app.head("/health", include_in_schema=False)
    @app.get("/health", tags=["status"], summary="Whether the process is up")
    async def health() -> dict[str, str]:
        return {"status": "up"}

    @app.head("/ready", include_in_schema=False)
    @app.get("/ready", tags=["status"], summary="Whether questions are answered: 503 before")
    def ready() -> Response:  # in a thread: it reads from the stores
        states = {pipeline.state for pipeline in served.values()} - {"ready"}
        told = {"status": min(states, default="ready"), "pipelines": list(served)}
        return json_response(told, 503 if states else 200)

    @app.head("/metrics", include_in_schema=False)
    @app.get("/metrics", tags=["status"], summary="Numbers for Prometheus")
    async def numbers() -> Response:
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_problems(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        return problem_response(Problem(422, "invalid_request", refused(error.errors())))

    @app.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> Response:
        response = problem_response(_of_status(error.status_code))
        response.headers.update(error.headers or {})
        return response


def _of_status(status: int) -> Problem:
    if status == 404:
        return Problem(
            404, "not_found", "There is nothing at this address. GET /status names the pipelines."
        )
    if status == 405:
        return Problem(405, "method_not_allowed", "This address does not take this method.")
    # FastAPI's word for a body that it could not even try to read as JSON.
    return Problem(
        status, "invalid_request", "The request could not be read. Send a JSON object, in UTF-8."
    )
