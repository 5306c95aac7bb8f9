"""Metrics, logs and traces of the service, none of which contains any text of a question."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import traceback
import uuid
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import opentelemetry.trace as otel
from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_fastapi_instrumentator import Instrumentator
from prometheus_fastapi_instrumentator.metrics import latency, requests
from starlette.types import Scope

from pipelines.serving.limits import RequestQueue

if TYPE_CHECKING:
    from fastapi import FastAPI
    from opentelemetry.sdk.trace import TracerProvider

# A proxy's id is kept, so that both logs can be joined, unless it could be prose.
_FOREIGN_ID = re.compile(r"[0-9a-fA-F-]{8,64}")


@dataclass
class Exchange:
    """What the log records about a request.

    Attributes:
        id: its own, or the one that a proxy gave it.
        documents: number of articles found, if a question was answered.
        reason: why it was refused or failed, as `ServiceError.error` names it.
    """

    id: str
    documents: int | None = None
    reason: str | None = None


PROBES = ("/health", "/ready", "/metrics")
"""Addresses that are polled every few seconds: neither logged nor counted."""

current: ContextVar[Exchange | None] = ContextVar("exchange", default=None)


def id_from(header: str | None) -> str:
    """The id in a request's header X-Request-ID where it is one, else a new one."""
    return header if header and _FOREIGN_ID.fullmatch(header) else uuid.uuid4().hex


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


def service_metrics(queue: RequestQueue) -> tuple[Instrumentator, Counter]:
    """The metrics of a service: addresses, statuses and reasons, never text of a question.

    Args:
        queue: its places are gauges.

    Returns:
        What counts and times requests, and a counter of the refused ones by reason.
    """
    # Drop the second series of each metric, which nobody reads.
    disable_created_metrics()  # type: ignore[no-untyped-call]
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    for name, help_, read in (
        ("in_flight", "Questions that are being answered.", lambda: queue.inside),
        ("waiting", "Questions that wait for their turn.", lambda: queue.waiting),
    ):
        Gauge(f"lexarbor_requests_{name}", help_, registry=registry).set_function(read)
    rejected = Counter(
        "lexarbor_rejected",
        "Requests that got no answer, by reason.",
        ["reason"],
        registry=registry,
    )
    instrumentator = Instrumentator(
        should_group_status_codes=False,
        excluded_handlers=[f"^{probe}$" for probe in PROBES],
        registry=registry,
    )
    # Without the method: a client may send any word as one.
    instrumentator.add(
        requests(should_include_method=False, registry=registry),
        latency(
            should_include_method=False,
            should_include_status=False,
            buckets=_BUCKETS,
            registry=registry,
        ),
    )
    return instrumentator, rejected


def traced(app: FastAPI, provider: TracerProvider) -> None:
    """Begin a span with each request, within its caller's trace (W3C Trace Context)."""
    FastAPIInstrumentor.instrument_app(
        app,
        server_request_hook=_empty_words,
        tracer_provider=provider,
        exclude_spans=["receive", "send"],
    )


# What the instrumentation may say of a request: all else comes from the client, and may be a text.
_KEPT_OF_A_REQUEST = frozenset({"http.scheme", "http.flavor", "http.route"})


def _empty_words(span: otel.Span, _: Scope) -> None:
    """Empty address, query, host and user agent, which OpenTelemetry has already collected."""
    for name in list(getattr(span, "attributes", None) or ()):
        if name not in _KEPT_OF_A_REQUEST:
            span.set_attribute(name, "")


def trace_to_collector(app: FastAPI) -> None:
    """Send traces to the collector that the environment names, if it names one."""
    endpoints = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
    off = os.environ.get("OTEL_TRACES_EXPORTER") == "none"
    if off or not any(os.environ.get(name) for name in endpoints):
        return
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    os.environ.setdefault("OTEL_SERVICE_NAME", "lexarbor")
    # Not set as the global provider: other libraries would then trace whole addresses, and
    # Haystack its pipelines' inputs.
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    traced(app, provider)
