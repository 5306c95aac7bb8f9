"""The application: loaded pipelines and their law over HTTP, behind limits."""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import logging
import os
import secrets
import signal
import socket
import threading
import time
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Mapping,
    Sequence,
)
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Depends, FastAPI, Path, Query, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.params import Depends as Dependency
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer
from fastapi_offline import FastAPIOffline
from haystack import Pipeline
from prometheus_client import Counter
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from components.retrievers.engines import EngineRetriever
from components.retrievers.resident import renew_in_background
from components.retrievers.validity import ANY, TODAY, asked_day
from components.stores.database import StoreError
from pipelines.asking import Answer, ask_async, stream
from pipelines.checking import check_stores
from pipelines.command_line import FAILED
from pipelines.serving import answers, metrics
from pipelines.serving.answers import ServiceError, json_response
from pipelines.serving.limits import (
    BODY_LIMIT,
    BODY_SECONDS,
    MAX_QUESTION_CHARS,
    BodyTooLongError,
    Limits,
    RequestQueue,
    is_named,
    prompt_server,
    read_body,
    replaying,
)
from pipelines.serving.reading import ServedLaw

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

Result = TypeVar("Result")


class ServedPipeline:
    """Answers questions with a pipeline that `load_pipeline` loaded.

    Args:
        pipeline: loaded, not warmed up yet.
        queue: shared by all pipelines of the service.
        seconds: time for one request, including waiting.

    Attributes:
        loaded: whether models and indexes are in memory.
        writes: whether it answers, and does not only find articles.
        law: what its articles come from; None over an engine.
    """

    def __init__(self, pipeline: Pipeline, queue: RequestQueue, seconds: float) -> None:
        self.pipeline = pipeline
        self.loaded = False
        self.writes = "answers" in pipeline.metadata["outputs"]
        self.law: ServedLaw | None = None
        self._queue = queue
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
            for _, each in self.pipeline.walk():
                if isinstance(each, EngineRetriever):
                    each.check_engine()
        except StoreError:
            return "store"
        return "ready"

    async def run(self, request: answers.RunRequest, ends: float | None = None) -> Answer:
        """The articles that answer a question, and the answer of a pipeline that answers.

        Args:
            request: the question.
            ends: when its time is over, in the loop's time; None for a request that begins now.
        """
        async with self._in_time(ends or self._ends()), self._queue.place():
            answer = await ask_async(self.pipeline, request.query, **request.options)
        _note_documents(answer)
        return answer

    async def batch(self, request: answers.BatchRequest) -> list[Mapping[str, Any]]:
        """The answers to questions, one after the other, within the time of one request.

        A question without an answer has `error` and `detail` instead.
        """
        ends = self._ends()
        given: list[Mapping[str, Any]] = []
        for query in request.queries:
            try:
                question = answers.RunRequest.model_construct(query=query, **request.options)
                given.append(await self.run(question, ends))
            except Exception as error:
                if not self.loaded:
                    raise
                given.append(answers.failure_of(error))
        return given

    async def stream(self, request: answers.RunRequest) -> AsyncIterator[bytes]:
        """Server-sent events: articles, tokens, the answer with its verdicts.

        A failure before the first event is raised here, a later one is an event.
        """
        ends = self._ends()
        events = self._events(request)
        async with self._in_time(ends):
            first = await anext(events)

        async def sent() -> AsyncIterator[bytes]:
            event: bytes | None = first
            async with aclosing(events):
                try:
                    while event is not None:
                        yield event
                        async with self._in_time(ends):
                            event = await anext(events, None)
                except Exception as error:  # noqa: BLE001 - the client gets it as an event
                    yield _event("error", answers.failure_of(error))

        return sent()

    async def read(self, reading: Callable[[ServedLaw], Result]) -> Result:
        """What is read from the law, in a worker thread.

        Raises:
            ServiceError: there is no law to read, or no time left.
        """
        async with self._in_time(self._ends()):
            if self.law is None:
                detail = "The articles are in an engine, which this service does not read out."
                raise ServiceError(422, "not_supported", detail)
            async with self._queue.place():
                return await asyncio.to_thread(reading, self.law)

    async def _events(self, request: answers.RunRequest) -> AsyncGenerator[bytes]:
        parts = stream(self.pipeline, request.query, **request.options)
        async with self._queue.place(), aclosing(parts):
            async for name, content in parts:
                if name == "articles":
                    _note_documents(content)
                yield _event(name, content)

    def _ends(self) -> float:
        """When a request that begins now ends, in the loop's time."""
        return asyncio.get_running_loop().time() + self._seconds

    @asynccontextmanager
    async def _in_time(self, ends: float) -> AsyncIterator[None]:
        """Around work that needs models and indexes, and ends in time.

        Raises:
            ServiceError: they are not loaded, or there is no time left.
        """
        if not self.loaded:
            detail = "Models and indexes are still being loaded. Ask again in a moment."
            raise ServiceError(503, "not_ready", detail, answers.RETRY)
        try:
            async with asyncio.timeout_at(ends) as clock:
                yield
        except TimeoutError as error:
            if not clock.expired():
                raise
            detail = f"There was no answer within {self._seconds:g} seconds. Ask again."
            raise ServiceError(504, "timeout", detail) from error


def _note_documents(answer: Mapping[str, Any]) -> None:
    """Have the log say how many articles were found."""
    exchange = metrics.current.get()
    if exchange is not None:
        exchange.documents = len(answer["documents"])


def _event(name: str, content: Mapping[str, Any]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), answers.encoded(content))


_logger = logging.getLogger(__name__)


@dataclass
class Reception:
    """ASGI middleware around the service.

    - Gives each request an id (header X-Request-ID).
    - Reads the body before anything else runs: only small ones (413), and in time (408), so that
    neither a long nor a slow one blocks others.
    - Refuses host names of other machines (421), under which a web page could read the answers.
    - Cancels the work for a client that has gone.
    - Turns every error into a JSON answer.
    - Writes one line into the log, and counts refusals.

    Args:
        app: the service.
        pipelines: names of the served pipelines.
        rejected: counts requests without an answer, by reason.
        names: host names under which the service may be asked for; None for any.
    """

    app: ASGIApp
    pipelines: Collection[str]
    rejected: Counter
    names: Collection[str] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        exchange = metrics.Exchange(metrics.id_from(Headers(scope=scope).get("x-request-id")))
        status: int | None = None

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = exchange.id
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Cache-Control"] = "no-store"
            await send(message)

        token = metrics.current.set(exchange)
        try:
            await self._answer(scope, receive, send_with_headers)
        except Exception as error:  # noqa: BLE001 - whatever failed, the client gets an answer
            response = answers.problem_response(error)
            if status is None:
                await response(scope, receive, send_with_headers)
        finally:
            metrics.current.reset(token)
            if exchange.reason is not None:
                self.rejected.labels(exchange.reason).inc()
            # None: the server stopped before the answer was complete.
            self._log(exchange, scope, status or answers.CLIENT_GONE, time.perf_counter() - started)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The service's answer, unless the request is refused or the client disconnects first.

        Raises:
            ServiceError: it is refused.
            ClientDisconnect: the client has gone; the work for it is cancelled.
        """
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body = await read_body(receive)
        except BodyTooLongError:
            detail = f"The request's body is longer than {BODY_LIMIT // 1024} KiB."
            raise ServiceError(413, "too_large", detail, answers.CLOSE) from None
        except TimeoutError:
            detail = "The request's body did not come in time. Send it at once."
            raise ServiceError(408, "slow_body", detail, answers.CLOSE) from None
        if self.names is not None and not is_named(Headers(scope=scope), self.names):
            detail = "The service is asked under a name that is not its own. Ask 127.0.0.1."
            raise ServiceError(421, "other_host", detail)
        # Only a disconnect can come after the body.
        leaving = asyncio.ensure_future(receive())
        answering = asyncio.ensure_future(self.app(scope, replaying(body, _nothing_more), send))
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

    def _log(self, exchange: metrics.Exchange, scope: Scope, status: int, seconds: float) -> None:
        # The declared address: the one that the client sent may contain a question.
        route = getattr(scope.get("route"), "path", None)
        if route in metrics.PROBES:
            return
        first = scope["path"].split("/")[1]
        fields = {
            "request_id": exchange.id,
            "method": scope["method"],
            "route": route,
            "pipeline": first if first in self.pipelines else None,
            "status": status,
            "took_ms": round(seconds * 1000, 1),
            "documents": exchange.documents,
            "reason": exchange.reason,
        }
        known = {name: value for name, value in fields.items() if value is not None}
        level = logging.WARNING if status >= 500 else logging.INFO
        _logger.log(level, "request", extra={"fields": known})


async def _nothing_more() -> Message:
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


# Seconds. Requests in flight end within a question's time limit; what remains then is stuck.
_MARGIN = 5.0


def serve(app: FastAPI, limits: Limits, listening: socket.socket) -> None:
    """Answer until SIGINT or SIGTERM; then accept nothing new and finish what is in flight.

    This is the last thing that a process does: a few seconds later it exits, whatever still runs.

    Models and indexes are loaded in the background, while the server reports that it is not ready.

    Args:
        app: made by `build_app`.
        limits: those that it was made with.
        listening: the socket to listen on.

    Raises:
        ModelError, StoreError, VectorError: what kept a pipeline from being loaded.
    """
    # Forwarded client addresses are not needed: the log names nobody.
    grace = round(limits.seconds + _MARGIN / 2)
    server = prompt_server(app, grace, log_config=None, proxy_headers=False)
    failures: list[Exception] = []
    renew_in_background()

    def load() -> None:
        try:
            for pipeline in app.state.served.values():
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

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, end)
    threading.Thread(target=load, name="loading", daemon=True).start()
    server.run(sockets=[listening])
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

_Words = Annotated[str | None, Query(min_length=1, max_length=MAX_QUESTION_CHARS)]
# What any request may get, and what a reading or a body may get besides.
_ALWAYS = (408, 413, 421, 500)
_OF_A_READING = (422, 503, 504)
_OF_A_BODY = (400, *_OF_A_READING)


_API_KEY = APIKeyHeader(name="X-API-Key", auto_error=False)
_BEARER = HTTPBearer(auto_error=False)
_Check = Callable[[str | None, HTTPAuthorizationCredentials | None], Awaitable[None]]


def _key_check(expected: str) -> _Check:
    """A dependency that refuses a request without the service's key, in either header."""

    async def check(
        api_key: Annotated[str | None, Security(_API_KEY)],
        bearer: Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)],
    ) -> None:
        given = [api_key or "", bearer.credentials if bearer else ""]
        # In constant time: how long a comparison takes must not tell how much of a key is right.
        if not any(secrets.compare_digest(each.encode(), expected.encode()) for each in given):
            detail = "Send the service's key, as X-API-Key or as Authorization: Bearer."
            raise ServiceError(401, "unauthorized", detail, {"WWW-Authenticate": "Bearer"})

    return check


def _behind(check: _Check, app: ASGIApp) -> ASGIApp:
    """An application that FastAPI's dependencies do not reach, behind the same check."""

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        await check(await _API_KEY(request), await _BEARER(request))
        await app(scope, receive, send)

    return checked


def _problems(statuses: Collection[int]) -> dict[int | str, dict[str, Any]]:
    return {status: {"model": answers.ProblemAnswer} for status in statuses}


def build_app(
    pipelines: Mapping[str, Pipeline],
    limits: Limits,
    names: Collection[str] | None = None,
    key: str | None = None,
) -> FastAPI:
    """The application that serves these pipelines.

    Its `state.served` has a `ServedPipeline` for each, which answers once its `setup` has run, and
    `state.queue` the queue that they share.

    Args:
        pipelines: loaded, by name. The law is read from the first one's store.
        limits: what one client may ask for.
        names: host names under which it may be asked for; None for any.
        key: what requests must bring, except those for its description, /health and /ready; None
            answers everyone.
    """
    check = None if key is None else _key_check(key)
    locked = [] if check is None else [Depends(check)]
    queue = RequestQueue(limits.at_once, limits.waiting)
    served = {
        name: ServedPipeline(pipeline, queue, limits.seconds)
        for name, pipeline in pipelines.items()
    }
    first = next(iter(served.values()))
    agents: MCPServer | None = None
    no_agents = ""
    if importlib.util.find_spec("mcp") is None:
        no_agents = "Tools for agents need the extra mcp: pip install 'lexarbor[mcp]'."
    elif ServedLaw.of(first.pipeline) is None:
        no_agents = "The law is in an engine, and tools for agents read Lexarbor's own stores only."
    else:
        from pipelines.serving.mcp import build_mcp, http_app

        agents = build_mcp(first.pipeline, queue, limits.seconds)
    app: FastAPI = FastAPIOffline(
        lifespan=None if agents is None else lambda _: agents.session_manager.run(),
        title="Lexarbor",
        description=_ABOUT,
        version=version("lexarbor"),
        redoc_url=None,
        # A redirect for an address with a slash too many would be an answer without a message.
        redirect_slashes=False,
        responses=_problems(_ALWAYS if check is None else (401, *_ALWAYS)),
        exception_handlers=dict.fromkeys((HTTPException, RequestValidationError), _answer_error),
    )
    app.state.served, app.state.queue = served, queue
    instrumentator, rejected = metrics.service_metrics(queue)
    for name, pipeline in served.items():
        app.include_router(_questions(name, pipeline), dependencies=locked)
    app.include_router(_law(first), dependencies=locked)
    app.include_router(_probes(served, locked))
    instrumentator.expose(app, tags=["status"], response_class=Response, dependencies=locked)
    if agents is None:
        app.include_router(_refusing("/mcp", no_agents), dependencies=locked)
    else:
        # Reception has checked the host. A mounted application would not answer "/mcp" itself.
        for route in http_app(agents, None, "/mcp").routes:
            if check is not None and isinstance(route, Route):
                route.app = _behind(check, route.app)
            app.router.routes.append(route)
    app.add_middleware(Reception, pipelines=list(served), rejected=rejected, names=names)
    instrumentator.instrument(app)
    return app


async def _answer_error(_: Request, error: Exception) -> Response:
    return answers.problem_response(error)


def _refusing(path: str, reason: str) -> APIRouter:
    """An address that would be there in another service."""
    router = APIRouter()

    @router.api_route(path, methods=["DELETE", "GET", "POST"], include_in_schema=False)
    async def refuse() -> None:
        raise ServiceError(404, "not_supported", reason)

    return router


def _questions(name: str, pipeline: ServedPipeline) -> APIRouter:
    """The addresses of one pipeline."""
    router = APIRouter(prefix=f"/{name}", tags=[name], responses=_problems(_OF_A_BODY))

    @router.post("/run", response_model=answers.RunAnswer, operation_id=f"run_{name}")
    async def run(asked: answers.RunRequest) -> Response:
        """The articles that answer a question, best first."""
        return json_response(await pipeline.run(asked))

    @router.post(
        "/stream",
        response_class=StreamingResponse,
        responses={200: {"content": {"text/event-stream": {}}}},
        operation_id=f"stream_{name}",
    )
    async def stream(asked: answers.RunRequest) -> Response:
        """The same in parts, as soon as each is there, as server-sent events.

        `articles` (as `run` answers, without `answer`), `token` (`{"text"}`, while a generator
        writes; unchecked), `answer` (the whole text with its verdicts, in the tokens' place), or
        `error`.
        """
        return StreamingResponse(await pipeline.stream(asked), media_type="text/event-stream")

    @router.post("/batch", response_model=answers.BatchAnswer, operation_id=f"batch_{name}")
    async def batch(asked: answers.BatchRequest) -> Response:
        """Up to 100 questions, answered in their order.

        Those that the time did not suffice for have the error `timeout`.
        """
        return json_response({"answers": await pipeline.batch(asked)})

    if not pipeline.writes:
        return router

    @router.post("/answer", response_model=answers.WrittenAnswer, operation_id=f"answer_{name}")
    async def answer(asked: answers.RunRequest) -> Response:
        """The answer alone, with the verdict on each citation and quotation."""
        found: Mapping[str, Any] = await pipeline.run(asked)
        return json_response({key: found[key] for key in answers.WrittenAnswer.model_fields})

    return router


def _law(pipeline: ServedPipeline) -> APIRouter:
    """The addresses of the law itself."""
    router = APIRouter(tags=["law"], responses=_problems(_OF_A_READING))

    @router.get("/articles/{id:path}", response_model=answers.Article, responses=_problems([404]))
    async def article(
        id: Annotated[str, Path(min_length=1, max_length=500)],
        offset: Annotated[int | None, Query(ge=0)] = None,
    ) -> Response:
        """An article by its id, with its neighbours in the law.

        With `offset=0` a long one comes in pieces of whole provisions: ask again with each
        `next_offset`, and join their `content`.
        """
        today = date.today()
        return json_response(await pipeline.read(lambda law: law.article(id, today, offset)))

    @router.get("/articles", response_model=answers.CitedArticles, responses=_problems([404]))
    async def cited(
        citation: _Words = None,
        law: _Words = None,
        number: _Words = None,
        as_of: Annotated[answers.AsOf, Query()] = None,
    ) -> Response:
        """The articles that a citation names, or that a law prints under a number.

        A citation is such as "art. 12 Housing Code".
        """
        if (law is None) != (number is None) or (citation is None) != (law is not None):
            raise ServiceError(422, "invalid_request", "Give either citation, or law and number.")
        day = None if as_of is None else str(as_of)
        on = (None if day in (None, ANY) else asked_day("articles", day)) or date.today()

        def read(held: ServedLaw) -> dict[str, Any]:
            if citation is not None:
                return held.cited(citation, day, on)
            return held.numbered(str(law), str(number), day, on)

        return json_response(await pipeline.read(read))

    @router.get("/changes", response_model=answers.Changes)
    async def changes(
        article: Annotated[str, Query(min_length=1, max_length=MAX_QUESTION_CHARS)],
        since: Annotated[answers.Day, Query(alias="from")] = None,
        to: Annotated[answers.Day, Query()] = None,
    ) -> Response:
        """What changed between two wordings of an article: a citation, or an id.

        Without days, between the two newest.
        """
        return json_response(await pipeline.read(lambda law: law.changes(article, since, to)))

    @router.post("/audit", response_model=answers.AuditAnswer, responses=_problems(_OF_A_BODY))
    async def audit(asked: answers.AuditRequest) -> Response:
        """A verdict on each citation of a text."""
        day = str(asked.as_of or TODAY)
        return json_response(await pipeline.read(lambda law: law.audit(asked.text, day)))

    @router.get("/laws", response_model=answers.Laws)
    async def laws() -> Response:
        """The laws of the collection."""
        return json_response({"laws": await pipeline.read(ServedLaw.laws)})

    return router


def _probes(served: Mapping[str, ServedPipeline], locked: Sequence[Dependency]) -> APIRouter:
    """The addresses for whoever runs the service."""
    router = APIRouter(tags=["status"])

    @router.head("/health", include_in_schema=False)
    @router.get("/health", response_model=answers.Up)
    async def health() -> Response:
        """Whether the process is up."""
        return json_response({"status": "up"})

    @router.get("/status", response_model=answers.Status, dependencies=locked)
    async def status() -> Response:
        """What is served."""
        return json_response({"status": "Up!", "pipelines": list(served)})

    @router.head("/ready", include_in_schema=False)
    @router.get(
        "/ready", response_model=answers.Readiness, responses={503: {"model": answers.Readiness}}
    )
    def ready() -> Response:  # in a thread: it reads the stores
        """Whether questions are answered: 503 before, and while a store cannot be read."""
        states = {pipeline.state for pipeline in served.values()} - {"ready"}
        content = {"status": min(states, default="ready"), "pipelines": list(served)}
        return json_response(content, 503 if states else 200)

    return router
