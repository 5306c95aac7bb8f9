"""The site on a port: the pipeline that answers, and its views in FastAPI behind the guard."""

from __future__ import annotations

import asyncio
import logging
import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

import gradio as gr
import torch
from fastapi import FastAPI
from haystack import Pipeline
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from components.embedders.text import StatuteTextEmbedder
from components.generators.rewriter import StatuteQueryRewriter
from components.models.biencoder import BiEncoder
from components.models.folder import find_model, model_digest
from components.rankers.cross_encoder import StatuteRanker
from components.rankers.gate import AnswerThreshold
from components.retrievers.citation import CitationRetriever
from components.retrievers.embedding import StatuteEmbeddingRetriever
from components.retrievers.guides import StatuteGuideRetriever
from components.retrievers.hybrid import StatuteHybridRetriever
from components.retrievers.resident import readable, state_of
from components.statutes.lexical import corrected
from components.statutes.provisions import is_long, word_count
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import ask, found_article, stream
from pipelines.checking import LoadingError
from pipelines.loading import DEMO_MODEL, bundled_model, load_pipeline, threshold_by_meaning
from pipelines.stages import DENSE, GRAPH, parts_of, stages_of
from ui.ask import AT_ONCE, RESULTS, Narrowing, Recipient, View, build_page, search_routes
from ui.compare import Compared, build_compare
from ui.frame import SENT, VIEWS, frame
from ui.guard import NONCE, Guard, limit_sessions
from ui.guide import GuideShelf, guide_routes
from ui.language import LANGUAGES, TEXTS, Language, address, language_of, preferred_language
from ui.law import Places, begin, law_routes

logger = logging.getLogger(__name__)


def _given(pipeline: Pipeline, name: str) -> list[Any]:
    """What components have in an attribute."""
    values = (getattr(part, name, None) for _, part in pipeline.walk())
    return [value for value in values if value]


def recipients(pipeline: Pipeline) -> frozenset[Recipient]:
    """Who else gets a question, by the command line or the pipeline's file."""
    stores, found = _given(pipeline, "document_store"), set[Recipient]()
    if not all(isinstance(store, StatuteDocumentStore) for store in stores):
        found.add("engine")
    if _given(pipeline, "chat_generator"):
        found.add("generator")
    return frozenset(found)


_Part = TypeVar("_Part")

OF_TODAY = Narrowing()

# Seconds between two updates of a text that is being written.
_BETWEEN_LOOKS = 0.2

_A_YEAR = 31_536_000  # seconds

# A reader is waiting: articles that a ranker has not read by then keep their order below the
# others.
_RANKING_MS = 1200.0


@cache
def _learned_with() -> set[str]:
    """Digests of the models that the passages' scores were measured with; none if not installed."""
    place = bundled_model()
    return (
        set() if place is None else {model_digest(find_model(each)) for each in (place, DEMO_MODEL)}
    )


class Serving:
    """Answers questions with a pipeline.

    Args:
        pipeline: name or file.
        store: what is searched.
        model: in place of the one that the store records; None for that one.
        overrides: as for `load_pipeline`.

    Attributes:
        name: name or file of the pipeline, as given.
        model: as given.
        pipeline: the one that answers.
        stages: names of the stages that find articles, as `pipelines.stages` has them.
        store: what the pipeline searches.
        sent_to: who else gets a question.
        guides: what to do; None where the pipeline finds no guides.

    Raises:
        LoadingError: the pipeline is refused, or store and model do not fit.
        StoreError: the store cannot be read.
        ModelError: the model cannot be loaded.
    """

    def __init__(
        self,
        pipeline: str,
        store: str | Path,
        model: str | None = None,
        overrides: Mapping[str, Any] | None = None,
    ) -> None:
        self.name, self.model = pipeline, model
        # Own threads: memory that a model frees is kept for its thread, and the web server has
        # forty. A thread that starts while another reads a question would see one core, and keep
        # to it, unless the number of torch's threads is set.
        cores = (torch.get_num_threads(),)
        self._threads = ThreadPoolExecutor(AT_ONCE, "answer", torch.set_num_threads, cores)
        self.pipeline = load_pipeline(pipeline, store, model, overrides)
        if self._part(StatuteQueryRewriter) is not None:
            raise LoadingError(
                f"The page does not show the searches of '{pipeline}'. Ask it with pipelines.ask "
                "or pipelines.serve."
            )
        # Models and indexes are loaded now, so that the first reader does not wait for them.
        self.pipeline.warm_up()
        for _, part in self.pipeline.walk():
            if isinstance(part, StatuteRanker) and part.time_budget_ms is None:
                part.time_budget_ms = _RANKING_MS
        self.stages = [stage.name for stage in stages_of(self.pipeline)]
        self.store = readable(_given(self.pipeline, "document_store")[0])
        self.sent_to = recipients(self.pipeline)
        self._embedder = self._part(StatuteTextEmbedder)
        # What finds articles by meaning.
        hybrid = self._part(StatuteHybridRetriever)
        self._retriever = hybrid or self._part(StatuteEmbeddingRetriever)
        self._threshold = self._calibrated()
        guides = self._part(StatuteGuideRetriever)
        kept_in = guides and guides.document_store
        self.guides = GuideShelf(guides, kept_in) if guides and kept_in else None

    def _part(self, kind: type[_Part]) -> _Part | None:
        return next((part for part in parts_of(self.pipeline) if isinstance(part, kind)), None)

    def answers(self, question: str, narrowing: Narrowing = OF_TODAY) -> Iterator[dict[str, Any]]:
        """Ask the pipeline, in turn.

        A question that is nothing but citations gets the articles that it names at once, and no
        model runs. If a generator writes the answer, it is given as it grows: articles, then words,
        then verdicts.
        To what `pipelines.asking.ask` returns, this adds what only the page needs to know:

        - `doubtful`: whether its articles may not answer the question.
        - `writing`: what a generator has written so far; absent once `answer` is there.

        An article of which the bi-encoder read only the beginning has `words_read`, roughly how
        many words that is. Where vectors went through a graph network, the rank among them is that
        of `graph`.
        """
        if named := self._named(question, narrowing):
            yield named
            return
        grown: SimpleQueue[dict[str, Any] | None] = SimpleQueue()

        def grow() -> None:
            try:
                if "generator" in self.sent_to:
                    asyncio.run(self._grow(question, narrowing, grown.put))
                else:
                    found = ask(self.pipeline, question, **narrowing.as_arguments())
                    grown.put(self._completed({**found}))
            finally:
                grown.put(None)

        growing = self._threads.submit(grow)
        while (answer := grown.get()) is not None:
            yield answer
        growing.result()

    async def _grow(
        self, question: str, narrowing: Narrowing, show: Callable[[dict[str, Any]], object]
    ) -> None:
        looked, written = 0.0, ""
        found: dict[str, Any] = {}
        async for part, content in stream(self.pipeline, question, **narrowing.as_arguments()):
            if part == "articles":
                found = self._completed(content)
            elif part == "answer":
                found["answer"] = content
                break
            else:
                written += content["text"]
            # Whether nothing was found, or nothing near enough, is told at the end.
            if found["documents"] and time.monotonic() - looked > _BETWEEN_LOOKS:
                looked = time.monotonic()
                show({**found, "writing": written})
        show(found)

    def _completed(self, answer: dict[str, Any]) -> dict[str, Any]:
        """What was found, with all that the page shows of it.

        The best of an article's passages is its `passage`, unless a re-ranker of the pipeline, or
        the question's citation, has found that one.
        `uncalibrated` tells that the passages' scores are of another model than they were learned
        with. `doubtful` stands where a threshold was calibrated for the store
        (`python -m pipelines.calibrate`), and tells whether the score of the law's nearest article,
        or that of the answered questions, is below it; a question that names an article is not
        doubted. A doubtful answer has no `situations`.
        """
        documents = answer["documents"]
        question = corrected(answer["question"], answer.get("corrections", {}))
        encoder = self._encoder()
        vector = None if encoder is None else encoder.question_vector(question)
        # Only with this model do the passages' scores say how far they can be trusted.
        answer["uncalibrated"] = encoder is None or encoder.digest not in _learned_with()
        shares = [1.0] * len(documents)
        if self._embedder and documents:
            parts = [(each["headings"], each["content"]) for each in documents]
            shares = self._embedder.shares_read(parts)
        for article, share in zip(documents, shares, strict=True):
            # A long article is found by its provisions, unless its vector went through a graph.
            if share < 1 and (GRAPH in self.stages or not is_long(article["content"])):
                article["words_read"] = round(word_count(str(article["content"])) * share)
            for best in article.get("passages", ())[:1]:
                article.setdefault("passage", {name: best[name] for name in ("start", "end")})
        named = any("citation" in each["ranks"] for each in documents)
        if vector is not None and documents and not named and self._threshold is not None:
            score = self._nearness(question, vector)
            answer["doubtful"] = score < self._threshold.threshold
        if answer.get("doubtful"):
            answer.pop("situations", None)
        for each in documents if GRAPH in self.stages else ():
            ranks = each["ranks"].items()
            each["ranks"] = {GRAPH if stage == DENSE else stage: rank for stage, rank in ranks}
        return answer

    def calibrate(self, choose: Callable[[], object]) -> None:
        """Choose the store's threshold in the background, and doubt by it from then on.

        Args:
            choose: prepares the store and writes its threshold, unless it has them.
        """

        def calibrated(_: threading.Event) -> None:
            try:
                choose()
                self._threshold = self._calibrated()
            except Exception:
                # Answers are then given without a word of doubt.
                logger.exception("The demo's questions or threshold could not be prepared.")

        begin(calibrated, "calibration")

    def _named(self, question: str, narrowing: Narrowing) -> dict[str, Any] | None:
        """The answer to a question of only citations, if all the articles may be shown."""
        retriever, start = self._part(CitationRetriever), time.perf_counter()
        if retriever is None or not retriever.is_citation(question):
            return None
        day = narrowing.as_of
        as_of = day.isoformat() if isinstance(day, date) else day
        found = retriever.run(question, filters=narrowing.filters, as_of=as_of)
        # The pipeline reports what the filters leave out.
        if not found["pinned"] or found["left_out"]:
            return None
        on = narrowing.day or date.today()
        ranked = enumerate(found["pinned"], start=1)
        kept = {name: found[name] for name in ("missing", "not_followed") if found[name]}
        return {
            "question": question,
            "pipeline": str(self.pipeline.metadata.get("name", "")),
            "took_ms": round((time.perf_counter() - start) * 1000, 1),
            "documents": [
                {**found_article(each, on), "ranks": {"citation": n}} for n, each in ranked
            ],
            **kept,
        }

    def _encoder(self) -> BiEncoder | None:
        """The bi-encoder that embeds the pipeline's questions; None where there is none."""
        embedder = self._embedder
        return embedder.loaded() if embedder is not None and embedder.model is not None else None

    def _calibrated(self) -> AnswerThreshold | None:
        """The threshold from which on a question counts as answered; None where there is none."""
        retriever = self._retriever if self._encoder() is not None else None
        return None if retriever is None else threshold_by_meaning(retriever)

    def _nearness(self, question: str, vector: torch.Tensor) -> float:
        """The score of all of the law that the threshold is about."""
        retriever = self._retriever
        assert retriever is not None and self._threshold is not None
        if isinstance(retriever, StatuteHybridRetriever):
            if self._threshold.stage == "answered":
                answered = retriever.answered_questions()
                # Another model may have indexed the store since, without them.
                if answered is None:
                    return math.inf
                return max(answered.search(question, vector.numpy(), lambda _: True).values())
            retriever = retriever.dense
        state = state_of(readable(retriever.document_store))
        _, scores = retriever.current_index(state).search(vector.numpy(), 1, None)
        return float(scores[0]) if len(scores) else -1.0


# The site.


def build_server(
    pages: Mapping[str, View],
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
    routes = [*routes, *(Route(f"/{name}", _send, methods=["GET"]) for name in SENT)]
    app.router.routes.extend(routes)
    # System fonts only: a named web font would be fetched from another host.
    sans = ["system-ui", "'Segoe UI'", "'Noto Sans'", "'Liberation Sans'", "sans-serif"]
    theme = gr.themes.Base(font=sans, font_mono=["ui-monospace", "monospace"])
    # Below "/" lies everything else, so that it comes last.
    for path in sorted(pages, key=len, reverse=True):
        gr.mount_gradio_app(
            app,
            pages[path],
            path=path,
            theme=theme,
            footer_links=[],
            run_history=False,
            show_error=False,
            ssr_mode=False,
        )
        queue = pages[path]._queue
        # Gradio's own interval is a millisecond.
        queue.sleep_when_free = 0.02
        limit_sessions(queue)
    app.add_middleware(Shell, pages=pages)
    read = [each.path for each in routes]
    forms = [each.path for each in routes if "POST" in (each.methods or ())]
    app.add_middleware(Guard, pages=pages, read=read, forms=forms, passwords=passwords, names=names)
    app.add_middleware(GZipMiddleware)
    return app


def _send(request: Request) -> Response:
    content, media_type = SENT[request.url.path[1:]]
    # The address that documents give changes with the content.
    headers = {"Cache-Control": f"max-age={_A_YEAR}, immutable"}
    return Response(content, media_type=media_type, headers=headers)


# Cards for social networks, with pictures on other hosts, a manifest for phones and an icon.
_FOREIGN = re.compile(
    r'<meta\s+(?:property="og:|name="twitter:)[^>]*>|<link rel="(?:manifest|icon)"[^>]*>'
)
_SCRIPT = re.compile(r"<script\b")
_LANG = re.compile(r'<html([^>]*?)\slang="[^"]*"')


class Shell:
    """ASGI middleware: makes our documents of Gradio's.

    Adds the title, our frame, styles and scripts, what stands around the results, and the nonce
    that lets inline scripts run; takes out every address on another host.

    Args:
        app: the application.
        pages: the views that Gradio draws, by the address of their document.
    """

    def __init__(self, app: ASGIApp, pages: Mapping[str, View]) -> None:
        self._app = app
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["path"] not in self._pages:
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        inner = {
            **scope,
            # Where a mounted application begins there is a slash, which our addresses do not have.
            "path": path.rstrip("/") + "/",
            # Gradio would load pages and states that are named in it.
            "query_string": b"",
            # Compressed bytes could not be completed.
            "headers": [(k, v) for k, v in scope["headers"] if k != b"accept-encoding"],
        }
        sent: list[Message] = []

        async def keep(message: Message) -> None:
            sent.append(message)

        await self._app(inner, receive, keep)
        body = b"".join(message.get("body", b"") for message in sent)
        preferred = preferred_language(Headers(scope=scope).get("accept-language", ""))
        main = await run_in_threadpool(self._pages[path].main)
        complete = _complete(body.decode(), main, path, scope[NONCE], preferred)
        response = HTMLResponse(complete, headers={"Cache-Control": "no-store"})
        await response(scope, receive, send)


def _complete(document: str, main: str, path: str, nonce: str, preferred: Language | None) -> str:
    language = language_of(path)
    view = next(view for view, each in VIEWS.items() if address(each, language) == path)
    title = "" if view == "ask" else str(getattr(TEXTS[language].frame, view))
    offered = preferred if preferred != language else None
    around = frame(view, language, title, VIEWS[view], path, offered)
    above, below = main.split(RESULTS)
    document = _LANG.sub(rf'<html\1 lang="{language}"', _FOREIGN.sub("", document), count=1)
    document = document.replace("</head>", f"{around['head']}</head>", 1)
    start, rest = document.split("<gradio-app", 1)
    start += f'{around["top"]}<div id="main" role="main">{above}<gradio-app'
    rest = rest.replace("</gradio-app>", f"</gradio-app>{below}</div>{around['footer']}", 1)
    return _SCRIPT.sub(f'<script nonce="{nonce}"', start + rest)


def build_site(
    serving: Serving,
    places: Places,
    *,
    passwords: Sequence[str] = (),
    names: frozenset[str] | None = None,
) -> FastAPI:
    """The application.

    Args:
        serving: what answers.
        places: the law that is shown.
        passwords: `name:password` of each reader; empty: everybody may read.
        names: host names under which it may be asked for; None for any.
    """
    places.law()
    compared = Compared(serving.store, serving.model, serving.name)
    searched = places.collection
    more = (serving.sent_to, places.glossaries, serving.guides)
    pages: dict[str, View] = {}
    for language in LANGUAGES:
        pages[address(VIEWS["ask"], language)] = build_page(
            serving.answers, searched, serving.stages, language, *more
        )
        pages[address(VIEWS["compare"], language)] = build_compare(compared, searched, language)
    routes = law_routes(places)
    routes += search_routes(serving.answers, searched, serving.stages, *more)
    routes += guide_routes(serving.guides) if serving.guides else []
    return build_server(pages, routes, passwords, names)
