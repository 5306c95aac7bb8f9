"""The application: loaded pipelines and their law over HTTP, behind limits."""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import json
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from datetime import date
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import uvicorn
from fastapi import FastAPI, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi_offline import FastAPIOffline
from haystack import Pipeline
from pydantic import BaseModel
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from components.retrievers.resident import renew_in_background
from components.retrievers.validity import ANY, TODAY, asked_day
from components.stores.rows import StoreError
from pipelines.asking import Answer, ask_async, stream
from pipelines.binding import check_stores
from pipelines.command_line import FAILED
from pipelines.serving import telemetry
from pipelines.serving.answers import (
    NOT_READY,
    OTHER_HOST,
    REQUEST_EXAMPLES,
    SLOW_BODY,
    TOO_LARGE,
    Article,
    AsOf,
    AuditAnswer,
    AuditRequest,
    BatchAnswer,
    BatchRequest,
    CitedArticles,
    Laws,
    Problem,
    ProblemAnswer,
    Readiness,
    RunAnswer,
    RunRequest,
    Status,
    Up,
    WrittenAnswer,
    json_response,
    of_error,
    out_of_time,
    problem_response,
    refused,
    unknown,
)
from pipelines.serving.limits import (
    BODY_LIMIT,
    MAX_QUESTION_CHARS,
    BodyTooLongError,
    Gate,
    Limits,
    is_named,
    read_body,
    replaying,
)
from pipelines.serving.protocol import PromptProtocol
from pipelines.serving.reading import ServedLaw
from pipelines.serving.telemetry import Exchange, ServingMetrics

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

Result = TypeVar("Result")


class ServedPipeline:
    """Answers questions with a pipeline that `load_pipeline` loaded.

    Args:
        pipeline: loaded, not warmed up yet.
        gate: shared by all pipelines of the service.
        seconds: time for one request, including waiting.

    Attributes:
        loaded: whether models and indexes are in memory.
        writes: whether it answers, and does not only find articles.
        law: what its articles come from; None over an engine.
    """

    def __init__(self, pipeline: Pipeline, gate: Gate, seconds: float) -> None:
        self.pipeline = pipeline
        self.loaded = False
        self.writes = "answers" in pipeline.metadata["outputs"]
        self.law: ServedLaw | None = None
        self._gate = gate
        self._seconds = seconds

    def setup(self) -> None:
        """Load models and indexes, so that nobody waits for them.

        Raises:
            ModelError: the model cannot be loaded.
            StoreError: the store cannot be read, or it holds no article.
        """
        check_stores(self.pipeline)
        self.pipeline.warm_up()
        self.law = ServedLaw.of(self.pipeline)
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

    async def run(self, asked: RunRequest) -> Response:
        """The articles that answer a question, and the answer of a pipeline that answers."""
        return json_response(await self._asked(asked))

    async def answer(self, asked: RunRequest) -> Response:
        """The answer alone."""
        found: Mapping[str, Any] = await self._asked(asked)
        return json_response({key: found[key] for key in WrittenAnswer.model_fields})

    async def batch(self, asked: BatchRequest) -> Response:
        """Questions one after the other, within the time of one request."""
        ends = asyncio.get_running_loop().time() + self._seconds
        answers: list[Mapping[str, Any]] = []
        for query in asked.queries:
            one = RunRequest.model_construct(
                query=query,
                top_k=asked.top_k,
                filters=asked.filters,
                as_of=asked.as_of,
                correct=asked.correct,
            )
            try:
                answers.append(await self._asked(one, ends))
            except RefusedError as error:
                problem = error.problem
                if problem is NOT_READY:
                    raise
                answers.append({"error": problem.error, "detail": problem.detail})
        return json_response({"answers": answers})

    async def stream(self, asked: RunRequest) -> Response:
        """Server-sent events: articles, tokens, the answer with its verdicts."""
        events: asyncio.Queue[bytes | Problem | None] = asyncio.Queue()

        async def ask() -> None:
            async for name, content in stream(self.pipeline, **_arguments(asked)):
                if name == "articles":
                    _note(content)
                events.put_nowait(_event(name, content))

        async def work() -> None:
            try:
                await self._within_limits(ask)
            except RefusedError as error:
                events.put_nowait(error.problem)
            finally:
                events.put_nowait(None)

        async def body() -> AsyncIterator[bytes]:
            event = first
            try:
                while event is not None:
                    if isinstance(event, Problem):
                        event = _event("error", {"error": event.error, "detail": event.detail})
                    yield event
                    event = await events.get()
            finally:
                working.cancel()

        working = asyncio.ensure_future(work())
        try:
            first = await events.get()
        except asyncio.CancelledError:
            working.cancel()
            raise
        if isinstance(first, Problem):
            return problem_response(first)
        return StreamingResponse(body(), media_type="text/event-stream")

    async def read(self, reading: Callable[[ServedLaw], Result]) -> Result:
        """What is read from the law, in a worker thread.

        Raises:
            RefusedError: it cannot be read; has the reason.
        """
        law = self.law
        if law is None:
            raise RefusedError(_NO_LAW if self.loaded else NOT_READY)
        return await self._within_limits(lambda: asyncio.to_thread(reading, law))

    async def _asked(self, asked: RunRequest, ends: float | None = None) -> Answer:
        given = _arguments(asked)
        found = await self._within_limits(lambda: ask_async(self.pipeline, **given), ends)
        _note(found)
        return found

    async def _within_limits(
        self, work: Callable[[], Awaitable[Result]], ends: float | None = None
    ) -> Result:
        """Do something once models and indexes are loaded, in its turn and in time.

        Args:
            work: what to do.
            ends: when, in the loop's time; None gives it the time of a request.

        Raises:
            RefusedError: it failed; has the reason.
        """
        if not self.loaded:
            raise RefusedError(NOT_READY)
        ends = ends or asyncio.get_running_loop().time() + self._seconds
        try:
            async with asyncio.timeout_at(ends) as clock:
                async with self._gate.place():
                    return await work()
        except Exception as error:
            late = isinstance(error, TimeoutError) and clock.expired()
            raise RefusedError(out_of_time(self._seconds) if late else of_error(error)) from error


_NO_LAW = Problem(
    422,
    "not_supported",
    "The articles are in an engine, which this service does not read out. Ask a question instead.",
)


class RefusedError(Exception):
    """A request cannot be answered.

    Args:
        problem: why.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


def _note(found: Mapping[str, Any]) -> None:
    """Tell the log how many articles were found."""
    going = telemetry.current.get()
    if going is not None:
        going.documents = len(found["documents"])


def _arguments(asked: RunRequest) -> dict[str, Any]:
    """A request as arguments of `pipelines.asking`."""
    return {
        "question": asked.query,
        "top_k": asked.top_k,
        "filters": asked.filters,
        "as_of": asked.as_of,
        "correct": asked.correct,
    }


def _event(name: str, content: Mapping[str, Any]) -> bytes:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return f"event: {name}\ndata: {text}\n\n".encode(errors="replace")


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
        self._pipelines = {
            f"/{name}/{route}": name
            for name in pipelines
            for route in ("run", "stream", "answer", "batch")
        }
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
    renew_in_background()

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


_ABOUT = """\
Finds the articles of law that answer a question asked in plain words.

`POST /{pipeline}/run` answers as `python -m pipelines.ask --json` prints. Every error
is `{"error", "detail", "request_id"}`.
"""

_SUMMARIES = ("a question", "fewer articles, filtered", "the law of a day")
_EXAMPLES: Any = {
    summary: {"summary": summary.capitalize(), "value": example}
    for summary, example in zip(_SUMMARIES, REQUEST_EXAMPLES, strict=True)
}

# What any request may get, and what a question or a reading may get besides.
_ALWAYS = {
    408: "The body did not come in time.",
    413: f"The body is longer than {BODY_LIMIT // 1024} KiB.",
    421: "The header Host names another machine.",
    500: "Something failed that nobody foresaw; the log tells more under the request_id.",
}
_OF_A_READING = {
    422: "The request is wrong: an unknown field, a value out of range, a question of more than "
    f"{MAX_QUESTION_CHARS:,} characters, invalid filters.",
    503: "The queue is full, models are still being loaded, the store or the model cannot be read, "
    "or the store holds no article. Retry-After tells when to ask again, where that helps.",
    504: "There was no answer in time.",
}
_OF_A_BODY = {400: "The body cannot be read as JSON in UTF-8.", **_OF_A_READING}
_NOT_FOUND = {404: "There is no article with this id."}


def _problems(*texts: Mapping[int, str]) -> dict[int | str, dict[str, Any]]:
    return {
        status: {"model": ProblemAnswer, "description": text}
        for each in (_ALWAYS, *texts)
        for status, text in each.items()
    }


def build_app(
    served: Mapping[str, ServedPipeline],
    gate: Gate,
    limits: Limits,
    names: Collection[str] | None = None,
) -> FastAPI:
    """The application that serves these pipelines.

    Args:
        served: pipelines by name; each is ready once its `setup` has run. The law is read from the
            first one's store.
        gate: shared by them.
        limits: what one client may ask for.
        names: host names under which it may be asked for; None for any.
    """
    first = next(iter(served.values()))
    agents = _agents(first.pipeline, gate, limits.seconds)
    app: FastAPI = FastAPIOffline(
        lifespan=None if agents is None else lambda _: agents.session_manager.run(),
        title="Lexarbor",
        description=_ABOUT,
        version=version("lexarbor"),
        redoc_url=None,
        # A redirect for an address with a slash too many would be an answer without a message.
        redirect_slashes=False,
    )
    for name, pipeline in served.items():
        _add_pipeline(app, name, pipeline)
    _add_law(app, first)
    if agents is not None:
        from pipelines.serving.mcp import http_app

        # Reception has checked the host. A mounted application would not answer "/mcp" itself.
        app.router.routes.extend(http_app(agents, None, "/mcp").routes)
    metrics = ServingMetrics(gate)
    _add_probes(app, served, metrics)
    _add_problems(app)
    app.add_middleware(
        Reception,
        pipelines=list(served),
        metrics=metrics,
        body_seconds=limits.body_seconds,
        names=names,
    )
    return app


# One event: a name, and JSON in the form that `_add_pipeline` describes.
_EVENT = {
    "type": "object",
    "properties": {
        "event": {"enum": ["articles", "token", "answer", "error"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["event", "data"],
}


def _agents(pipeline: Pipeline, gate: Gate, seconds: float) -> MCPServer | None:
    """The law as tools for agents; None over an engine, or without the extra `mcp`."""
    if importlib.util.find_spec("mcp") is None or ServedLaw.of(pipeline) is None:
        return None
    from pipelines.serving.mcp import build_mcp

    return build_mcp(pipeline, gate, seconds)


def _add_pipeline(app: FastAPI, name: str, pipeline: ServedPipeline) -> None:
    problems = _problems(_OF_A_BODY)
    body = {"requestBody": {"content": {"application/json": {"examples": _EXAMPLES}}}}
    add = partial(app.post, tags=[name], openapi_extra=body)
    add(
        f"/{name}/run",
        summary=f"Ask the pipeline '{name}'",
        operation_id=f"run_{name}",
        response_model=RunAnswer,
        response_description="The articles that answer the question, best first.",
        responses=problems,
    )(pipeline.run)
    streamed = {
        "description": "Server-sent events: `articles` (as `run` answers, without `answer`), "
        '`token` (`{"text"}`, while a generator writes; unchecked), `answer` (the whole text with '
        "its verdicts, in the tokens' place), or `error`.",
        "content": {"text/event-stream": {"schema": _EVENT}},
    }
    add(
        f"/{name}/stream",
        summary="The same in parts, as soon as each is there",
        operation_id=f"stream_{name}",
        response_class=StreamingResponse,
        responses={200: streamed, **problems},
    )(pipeline.stream)
    if pipeline.writes:
        add(
            f"/{name}/answer",
            summary="The answer alone, with the verdict on each citation and quotation",
            operation_id=f"answer_{name}",
            response_model=WrittenAnswer,
            responses=problems,
        )(pipeline.answer)
    app.post(
        f"/{name}/batch",
        tags=[name],
        summary="Ask up to 100 questions",
        operation_id=f"batch_{name}",
        response_model=BatchAnswer,
        response_description="One entry a question, in their order; those that the time did not "
        "suffice for have the error `timeout`.",
        responses=problems,
    )(pipeline.batch)


def _add_law(app: FastAPI, pipeline: ServedPipeline) -> None:
    @app.get(
        "/articles/{id:path}",
        tags=["law"],
        summary="An article by its id, with its neighbours in the law",
        response_model=Article,
        responses=_problems(_NOT_FOUND, _OF_A_READING),
    )
    async def article(id: Annotated[str, Path(min_length=1, max_length=500)]) -> Response:
        found = await pipeline.read(lambda law: law.article(id, date.today()))
        if found is None:
            detail = "There is no article with this id. GET /laws lists what there is."
            return problem_response(Problem(404, "not_found", detail))
        return json_response(found)

    @app.get(
        "/articles",
        tags=["law"],
        summary='The articles that a citation names, such as "art. 12 Housing Code"',
        response_model=CitedArticles,
        responses=_problems(_OF_A_READING),
    )
    async def cited(
        citation: Annotated[str, Query(min_length=1, max_length=MAX_QUESTION_CHARS)],
        as_of: Annotated[AsOf, Query()] = None,
    ) -> Response:
        day = as_of.isoformat() if isinstance(as_of, date) else as_of
        on = asked_day("articles", day) if day not in (None, ANY) else None
        found = await pipeline.read(lambda law: law.cited(citation, day, on or date.today()))
        return json_response(found)

    @app.post(
        "/audit",
        tags=["law"],
        summary="Check each citation of a text against the law",
        response_model=AuditAnswer,
        responses=_problems(_OF_A_BODY),
    )
    async def audit(asked: AuditRequest) -> Response:
        day = asked.as_of.isoformat() if isinstance(asked.as_of, date) else asked.as_of
        return json_response(await pipeline.read(lambda law: law.audit(asked.text, day or TODAY)))

    @app.get(
        "/laws",
        tags=["law"],
        summary="The laws of the collection",
        response_model=Laws,
        responses=_problems(_OF_A_READING),
    )
    async def laws() -> Response:
        return json_response({"laws": await pipeline.read(lambda law: law.laws())})


def _add_probes(
    app: FastAPI, served: Mapping[str, ServedPipeline], metrics: ServingMetrics
) -> None:
    add = partial(app.get, tags=["status"])

    @app.head("/health", include_in_schema=False)
    @add("/health", summary="Whether the process is up", response_model=Up, responses=_problems())
    async def health() -> Response:
        return json_response({"status": "up"})

    @add("/status", summary="What is served", response_model=Status, responses=_problems())
    async def status() -> Response:
        return json_response({"status": "Up!", "pipelines": list(served)})

    unready: dict[int | str, Any] = {
        503: {"model": Readiness, "description": "Not yet, or the store cannot be read."}
    }

    @app.head("/ready", include_in_schema=False)
    @add(
        "/ready",
        summary="Whether questions are answered: 503 before",
        response_model=Readiness,
        responses={**unready, **_problems()},
    )
    def ready() -> Response:  # in a thread: it reads the stores
        states = {pipeline.state for pipeline in served.values()} - {"ready"}
        content = {"status": min(states, default="ready"), "pipelines": list(served)}
        return json_response(content, 503 if states else 200)

    text = {"content": {"text/plain": {"schema": {"type": "string"}}}}

    @app.head("/metrics", include_in_schema=False)
    @add(
        "/metrics",
        summary="Numbers for Prometheus",
        response_class=Response,
        responses={200: text, **_problems()},
    )
    async def numbers() -> Response:
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_problems(app: FastAPI) -> None:
    @app.exception_handler(RefusedError)
    async def refusal(_: Request, error: RefusedError) -> Response:
        return problem_response(error.problem)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        route = request.url.path.rpartition("/")[2]
        bodies: dict[str, type[BaseModel]] = {"batch": BatchRequest, "audit": AuditRequest}
        fields = bodies.get(route, RunRequest).model_fields
        return problem_response(Problem(422, "invalid_request", refused(error.errors(), fields)))

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
