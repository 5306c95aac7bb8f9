"""The application: hayhooks with our pipelines, without its routes that change them."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Collection, Mapping
from datetime import date
from typing import Any, Literal

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from hayhooks import BasePipelineWrapper, create_app
from hayhooks.server.pipelines.registry import registry
from hayhooks.server.routers import status_router
from hayhooks.server.utils.deploy_utils import add_pipeline_api_route
from hayhooks.settings import settings
from haystack import Pipeline
from loguru import logger as hayhooks_logger
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from components.stores.rows import StoreError
from pipelines.asking import ask_async
from pipelines.binding import check_stores
from pipelines.command_line import FAILED
from pipelines.serving import telemetry
from pipelines.serving.answers import (
    NOT_READY,
    OTHER_HOST,
    SLOW_BODY,
    TOO_LARGE,
    Problem,
    RunRequest,
    describe_answers,
    json_response,
    of_error,
    out_of_time,
    problem_response,
    refused,
    unknown,
)
from pipelines.serving.limits import (
    BodyTooLongError,
    Gate,
    Limits,
    PromptProtocol,
    is_named,
    read_body,
    replaying,
)
from pipelines.serving.telemetry import Exchange, ServingMetrics


class ServedPipeline(BasePipelineWrapper):  # type: ignore[misc]  # hayhooks has no types
    """Answers questions with a pipeline that `load_pipeline` loaded.

    Args:
        pipeline: loaded, not warmed up yet.
        gate: shared by all pipelines of the service.
        seconds: time for one question, including waiting.
    """

    skip_mcp = True
    skip_a2a = True

    def __init__(self, pipeline: Pipeline, gate: Gate, seconds: float) -> None:
        super().__init__()
        self.pipeline = pipeline
        self.loaded = False
        self._gate = gate
        self._seconds = seconds
        # hayhooks sets this if it builds a wrapper itself.
        self._is_run_api_async_implemented = True

    def setup(self) -> None:
        """Load models and indexes, so that nobody waits for them.

        Raises:
            ModelError: the model cannot be loaded.
            StoreError: the store cannot be read, or it holds no article.
        """
        check_stores(self.pipeline)
        self.pipeline.warm_up()
        self.loaded = True

    @property
    def state(self) -> Literal["starting", "store", "ready"]:
        """Whether questions are answered now; "store" means that the store prevents it."""
        if not self.loaded:
            return "starting"
        try:
            check_stores(self.pipeline)
        except StoreError:
            return "store"
        return "ready"

    async def run_api_async(
        self,
        query: str,
        top_k: int | None = None,
        filters: dict[str, Any] | None = None,
        as_of: date | str | None = None,
    ) -> Response:
        """Find the articles of law that answer a question asked in plain words."""
        # Every error ends here: hayhooks would send its text to the client.
        try:
            if not self.loaded:
                return problem_response(NOT_READY)
            async with asyncio.timeout(self._seconds) as clock:
                async with self._gate.place():
                    answer = await ask_async(self.pipeline, query, top_k, filters, as_of)
            going = telemetry.current.get()
            if going is not None:
                going.documents = len(answer["documents"])
            return json_response(answer)
        except Exception as error:  # noqa: BLE001
            if isinstance(error, TimeoutError) and clock.expired():
                return problem_response(out_of_time(self._seconds))
            return problem_response(of_error(error))


# nginx's status for a client that closed the connection before the answer.
_CLIENT_GONE = 499
_PROBES = frozenset({"/health", "/ready", "/metrics"})

_logger = logging.getLogger(__name__)


class Reception:
    """ASGI middleware around the service.

    - Gives each request an id (header X-Request-ID).
    - Reads the body before anything else runs: only small ones (413), and in time (408), so that
    neither a long nor a slow one blocks others.
    - Refuses host names of other machines (421), under which a web page could read the answers.
    - Cancels the work for a client that has gone.
    - Turns an unexpected error into a JSON answer.
    - Writes one line into the log and counts.

    Args:
        app: the service.
        pipelines: names of the served pipelines.
        metrics: the counters.
        body_seconds: time limit for the body.
        names: host names under which the service may be asked for; None for any.
    """

    def __init__(
        self,
        app: ASGIApp,
        pipelines: Collection[str],
        metrics: ServingMetrics,
        body_seconds: float,
        names: Collection[str] | None = None,
    ) -> None:
        self._app = app
        self._pipelines = {f"/{name}/run": name for name in pipelines}
        self._metrics = metrics
        self._body_seconds = body_seconds
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        going = Exchange(
            telemetry.id_from(Headers(scope=scope).get("x-request-id")),
            self._pipelines.get(scope["path"]),
        )
        status: int | None = None

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = going.id
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Cache-Control"] = "no-store"
            await send(message)

        token = telemetry.current.set(going)
        try:
            await self._answer(scope, receive, send_with_headers)
        except ClientDisconnect:
            going.reason, status = "client_gone", _CLIENT_GONE
        except Exception as error:  # noqa: BLE001 - whatever failed, the client gets an answer
            problem = unknown(error)
            if status is None:
                await problem_response(problem)(scope, receive, send_with_headers)
        finally:
            telemetry.current.reset(token)
            # None: the server stopped before the answer was complete.
            self._log(going, scope, status or _CLIENT_GONE, time.perf_counter() - started)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.timeout(self._body_seconds):
                body = await read_body(receive)
        except BodyTooLongError:
            await problem_response(TOO_LARGE)(scope, receive, send)
        except TimeoutError:
            await problem_response(SLOW_BODY)(scope, receive, send)
        else:
            if self._names is not None and not is_named(Headers(scope=scope), self._names):
                await problem_response(OTHER_HOST)(scope, receive, send)
            else:
                await self._run(scope, body, receive, send)

    async def _run(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """The service's answer, unless the client disconnects first.

        Raises:
            ClientDisconnect: it has gone; the work for it is cancelled.
        """
        # Only a disconnect can come after the body.
        leaving = asyncio.ensure_future(receive())
        answering = asyncio.ensure_future(self._app(scope, replaying(body, _nothing_more), send))
        tasks = (leaving, answering)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                raise ClientDisconnect
            answering.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    def _log(self, going: Exchange, scope: Scope, status: int, seconds: float) -> None:
        self._metrics.count(going, status, seconds)
        # The declared address: the one that the client sent may contain a question.
        route = getattr(scope.get("route"), "path", None)
        if route in _PROBES:
            return  # polled every few seconds
        fields = {
            "request_id": going.id,
            "method": scope["method"],
            "route": route,
            "pipeline": going.pipeline,
            "status": status,
            "took_ms": round(seconds * 1000, 1),
            "documents": going.documents,
            "reason": going.reason,
        }
        known = {name: value for name, value in fields.items() if value is not None}
        level = logging.WARNING if status >= 500 else logging.INFO
        _logger.log(level, "request", extra={"fields": known})


async def _nothing_more() -> Message:
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


# Seconds. Requests in flight end within a question's time limit; what remains then is stuck.
_MARGIN = 5.0

_MAX_HEADERS = 16 * 1024  # bytes


def make_server(app: FastAPI, limits: Limits) -> uvicorn.Server:
    """A web server for the application; the application writes the log itself."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            # The one of uvicorn's two parsers that limits the length of headers, and their time.
            http=PromptProtocol,
            h11_max_incomplete_event_size=_MAX_HEADERS,
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            # Forwarded client addresses are not needed: the log names nobody.
            proxy_headers=False,
            limit_concurrency=limits.connections,
            timeout_graceful_shutdown=round(limits.seconds + _MARGIN / 2),
        )
    )


def serve(
    server: uvicorn.Server,
    listening: socket.socket,
    served: Collection[ServedPipeline],
) -> None:
    """Answer until SIGINT or SIGTERM; then accept nothing new and finish what is in flight.

    This is the last thing that a process does: a few seconds later it exits, whatever still runs.

    Models and indexes are loaded in the background, while the server reports that it is not ready.

    Args:
        server: not started yet.
        listening: the socket to listen on.
        served: the pipelines to load.

    Raises:
        ModelError, StoreError, VectorError: what kept a pipeline from being loaded.
    """
    failures: list[Exception] = []

    def load() -> None:
        try:
            for pipeline in served:
                pipeline.setup()
        except Exception as error:  # noqa: BLE001 - raised below, in the main thread
            failures.append(error)
            server.should_exit = True
        else:
            # What is loaded now stays to the end. Exclude it from Python's full garbage
            # collections, which would pause everything for some tenths of a second.
            gc.collect()
            gc.freeze()
            _logger.info("ready")

    def end(*_: object) -> None:
        # uvicorn calls this once it has drained its connections. A thread that hangs in a component
        # would keep the process alive for ever.
        server.should_exit = True
        watchdog = threading.Timer(_MARGIN, _give_up)
        watchdog.daemon = True
        watchdog.start()

    before = {each: signal.signal(each, end) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        threading.Thread(target=load, name="loading", daemon=True).start()
        server.run(sockets=[listening])
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    if failures:
        raise failures[0]


def _give_up() -> None:
    _logger.error("Requests in flight do not end; exiting without them.")
    logging.shutdown()
    os._exit(FAILED)


# A `.env` file in the working directory must not configure the service.
os.environ.setdefault("PYTHON_DOTENV_DISABLED", "1")

_ABOUT = """\
Finds the articles of law that answer a question asked in plain words.

`POST /{pipeline}/run` answers as `python -m pipelines.ask --json` prints. Every error
is `{"error", "detail", "request_id"}`.
"""

# Version of the addresses and their JSON, not of the code.
_INTERFACE = "1.0"

# The framework's own routes that stay, besides hayhooks' status routes.
_DESCRIPTION_ROUTES = frozenset({"/openapi.json", "/docs"})


def build_app(
    served: Mapping[str, ServedPipeline],
    gate: Gate,
    limits: Limits,
    names: Collection[str] | None = None,
) -> FastAPI:
    """The application that serves these pipelines; one per process, as hayhooks has one registry.

    Args:
        served: pipelines by name; each is ready once its `setup` has run.
        gate: shared by them.
        limits: what one client may ask for.
        names: host names under which it may be asked for; None for any.
    """
    app = _hayhooks()
    # A redirect for an address with a slash too many would be an answer without a message.
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
    """A bare hayhooks: no pipelines, no routes, no middleware, no logging of questions."""
    # By default it scans a folder for pipelines at start, records every run for a dashboard, allows
    # calls from any web page, and logs the questions.
    settings.pipelines_dir = settings.additional_python_path = ""
    settings.durable_mode = settings.monitoring_enabled = settings.chainlit_enabled = False
    settings.tracing_enabled = settings.tracing_include_haystack_spans = False
    settings.tracing_include_payload_values = settings.show_tracebacks = False
    hayhooks_logger.disable("hayhooks")
    registry.clear()
    app: FastAPI = create_app()
    app.user_middleware.clear()
    # Allow-list the routes that stay, so that a future hayhooks cannot add others.
    app.router.routes[:] = [
        route for route in app.router.routes if getattr(route, "path", "") in _DESCRIPTION_ROUTES
    ]
    # A second set-up must not bring it back.
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
    def ready() -> Response:  # in a thread: it reads the stores
        states = {pipeline.state for pipeline in served.values()} - {"ready"}
        content = {"status": min(states, default="ready"), "pipelines": list(served)}
        return json_response(content, 503 if states else 200)

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
    # FastAPI's status for a body that it could not even try to parse as JSON.
    return Problem(
        status, "invalid_request", "The request could not be read. Send a JSON object, in UTF-8."
    )
