"""Logs, metrics and traces of the service, none of which contains any text of a question."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import traceback
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import opentelemetry.trace as otel
from haystack.tracing.tracer import Span, Tracer, enable_tracing
from haystack.tracing.utils import coerce_tag_value
from opentelemetry.instrumentation.asgi import (
    OpenTelemetryMiddleware,
    collect_request_attributes,
)
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from starlette.types import Scope

from pipelines.checking import LoadingError
from pipelines.serving.limits import Gate

if TYPE_CHECKING:
    from fastapi import FastAPI
    from opentelemetry.sdk.trace import TracerProvider

# A proxy's id is kept, so that both logs can be joined, unless it could be prose.
_FOREIGN_ID = re.compile(r"[0-9a-fA-F-]{8,64}")


def new_id() -> str:
    """An id for a request."""
    return uuid.uuid4().hex


@dataclass
class Exchange:
    """What logs and metrics record about a request.

    Attributes:
        id: its own, or the one that a proxy gave it.
        pipeline: which one is asked; None for other requests.
        documents: number of articles found, if a question was answered.
        reason: why it was refused or failed, as `ServiceError.error` names it.
    """

    id: str = field(default_factory=new_id)
    pipeline: str | None = None
    documents: int | None = None
    reason: str | None = None


current: ContextVar[Exchange | None] = ContextVar("exchange", default=None)


def id_from(header: str | None) -> str:
    """The id in a request's header X-Request-ID where it is one, else a new one."""
    return header if header and _FOREIGN_ID.fullmatch(header) else new_id()


# These loggers install handlers, or a level, of their own.
_OVERRULED = ("uvicorn", "uvicorn.error", "uvicorn.access", "fastapi", "haystack", "bm25s")


class JsonLines(logging.Formatter):
    """A record as one line of JSON: time, level, message, and the record's `fields`.

    A library's message is reduced to its first line, and an exception to its type and place: the
    rest may quote a question.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage().partition("\n")[0],
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0]:
            fields["exception"] = record.exc_info[0].__name__
            fields["place"] = "".join(traceback.format_tb(record.exc_info[2]))
        return json.dumps(fields, ensure_ascii=False, default=str)


def log_as_json() -> None:
    """Write all logs of this process as JSON lines on standard error.

    Lexarbor's own from level INFO, those of libraries from WARNING.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    for name in _OVERRULED:
        logger = logging.getLogger(name)
        logger.handlers = []
        logger.propagate = True
        logger.setLevel(logging.NOTSET)
    logging.getLogger("pipelines").setLevel(logging.INFO)


# Seconds. A question takes some 30 ms on an idle machine, and may have to wait.
_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class ServingMetrics:
    """Counts requests; labels are pipelines, statuses and reasons, never text of a question.

    Args:
        gate: its places are gauges.
    """

    def __init__(self, gate: Gate) -> None:
        # Drop the second series of each metric, which nobody reads.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        self._requests = Counter(
            "lexarbor_requests",
            "Requests to a pipeline, by HTTP status.",
            ("pipeline", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "lexarbor_request_seconds",
            "Time from a request to its answer, waiting included.",
            ("pipeline",),
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._rejected = Counter(
            "lexarbor_rejected",
            "Requests that got no answer, by reason.",
            ("reason",),
            registry=self._registry,
        )
        for name, help_, read in (
            ("in_flight", "Questions that are being answered.", lambda: gate.inside),
            ("waiting", "Questions that wait for their turn.", lambda: gate.waiting),
        ):
            gauge = Gauge(f"lexarbor_requests_{name}", help_, registry=self._registry)
            gauge.set_function(read)

    def count(self, exchange: Exchange, status: int, seconds: float) -> None:
        """Count one request that has ended."""
        if exchange.reason is not None:
            self._rejected.labels(exchange.reason).inc()
        if exchange.pipeline is not None:
            self._requests.labels(exchange.pipeline, str(status)).inc()
            self._seconds.labels(exchange.pipeline).observe(seconds)

    def text(self) -> bytes:
        """All of it in Prometheus' text format."""
        return generate_latest(self._registry)


# What the instrumentation may say of a request: all else comes from the client, and may be a text.
_KEPT_OF_A_REQUEST = frozenset({"http.scheme", "http.flavor"})


def traced(app: FastAPI, provider: TracerProvider) -> None:
    """Begin a span with each request, within its caller's trace (W3C Trace Context).

    Args:
        app: gets OpenTelemetry's middleware.
        provider: makes the spans.
    """
    app.add_middleware(
        OpenTelemetryMiddleware,
        tracer_provider=provider,
        default_span_details=_without_words,
        exclude_spans=["receive", "send"],
    )


def _without_words(scope: Scope) -> tuple[str, dict[str, Any]]:
    """A span's name and attributes; address, query, host and user agent are emptied."""
    collected = collect_request_attributes(scope)  # type: ignore[no-untyped-call]
    return "HTTP request", {key: "" for key in collected if key not in _KEPT_OF_A_REQUEST}


_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")

# An allow-list of the tags that are sent: Haystack puts a pipeline's inputs, including the
# question, into a plain tag that its switch for content tracing does not cover.
_TAGS = frozenset(
    {
        "haystack.component.name",
        "haystack.component.type",
        "haystack.component.visits",
        "haystack.pipeline.execution_mode",
    }
)


class _WordlessSpan(Span):
    def __init__(self, span: otel.Span) -> None:
        self._span = span

    def set_tag(self, key: str, value: Any) -> None:
        if key in _TAGS:
            self._span.set_attribute(key, coerce_tag_value(value))

    def set_content_tag(self, key: str, value: Any) -> None:
        """Do nothing, whatever HAYSTACK_CONTENT_TRACING_ENABLED says."""

    def raw_span(self) -> otel.Span:
        return self._span


class WordlessTracer(Tracer):
    """Haystack's spans as OpenTelemetry's, without questions, texts and messages.

    Args:
        tracer: an OpenTelemetry tracer.
    """

    def __init__(self, tracer: otel.Tracer) -> None:
        self._tracer = tracer

    @contextmanager
    def trace(
        self,
        operation_name: str,
        tags: dict[str, Any] | None = None,
        parent_span: Span | None = None,  # noqa: ARG002 - the context knows it
    ) -> Iterator[Span]:
        """A span around a piece of work; only the type of an exception is recorded."""
        with self._tracer.start_as_current_span(
            operation_name, record_exception=False, set_status_on_exception=False
        ) as raw:
            span = _WordlessSpan(raw)
            span.set_tags(tags or {})
            try:
                yield span
            except BaseException as error:
                raw.set_attribute("error.type", type(error.__cause__ or error).__name__)
                raw.set_status(otel.StatusCode.ERROR)
                raise

    def current_span(self) -> Span | None:
        """The current span, if one is recorded."""
        raw = otel.get_current_span()
        return _WordlessSpan(raw) if raw.is_recording() else None


def wants_traces() -> bool:
    """Whether the environment names a trace collector and does not disable tracing."""
    off = os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    none = os.environ.get("OTEL_TRACES_EXPORTER", "otlp") == "none"
    return not off and not none and any(os.environ.get(name) for name in _ENDPOINTS)


def trace_to_collector() -> TracerProvider:
    """Send traces to the collector that the environment names; see `wants_traces`.

    Returns:
        What makes them; for the middleware that begins a request's.

    Raises:
        LoadingError: it names a protocol other than OTLP over HTTP.
    """
    protocol = next((os.environ[name] for name in _PROTOCOLS if os.environ.get(name)), None)
    if protocol not in (None, "http/protobuf"):
        raise LoadingError(
            f"Traces are sent by OTLP over HTTP; the environment asks for {protocol!r}. Set "
            f"{_PROTOCOLS[1]}=http/protobuf and give the collector's HTTP port (usually 4318)."
        )
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    name = os.environ.get("OTEL_SERVICE_NAME", "lexarbor")
    provider = TracerProvider(resource=Resource.create({SERVICE_NAME: name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    # Not set as the global provider: other libraries would then trace whole addresses.
    enable_tracing(WordlessTracer(provider.get_tracer("lexarbor")))
    return provider
