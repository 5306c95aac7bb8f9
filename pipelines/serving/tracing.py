"""Traces by OpenTelemetry, where its environment variables ask for them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import opentelemetry.trace as otel
from haystack.tracing.tracer import Span, Tracer, enable_tracing
from haystack.tracing.utils import coerce_tag_value

from pipelines.files import LoadingError

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")

# What may be told. Haystack puts a pipeline's inputs, the question among them, into a plain tag
# that its switch for content does not reach; so tags are chosen here, not left out.
_TAGS = frozenset(
    {
        "haystack.component.name",
        "haystack.component.type",
        "haystack.component.visits",
        "haystack.pipeline.execution_mode",
        "hayhooks.pipeline.name",
        "hayhooks.elapsed_ms",
    }
)


class _WordlessSpan(Span):
    def __init__(self, span: otel.Span) -> None:
        self._span = span

    def set_tag(self, key: str, value: Any) -> None:
        if key in _TAGS:
            self._span.set_attribute(key, coerce_tag_value(value))

    def set_content_tag(self, key: str, value: Any) -> None:
        """Nothing, whatever HAYSTACK_CONTENT_TRACING_ENABLED says."""

    def raw_span(self) -> otel.Span:
        return self._span


class WordlessTracer(Tracer):
    """Haystack's and hayhooks' spans as OpenTelemetry's, without questions, texts and messages.

    Args:
        tracer: of OpenTelemetry.
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
        """A span around a piece of work; of an exception only its kind is told."""
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
        """The span of the moment, if one is recorded."""
        raw = otel.get_current_span()
        return _WordlessSpan(raw) if raw.is_recording() else None


def wants_traces() -> bool:
    """Whether the environment names a collector of traces, and does not switch them off."""
    off = os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    none = os.environ.get("OTEL_TRACES_EXPORTER", "otlp") == "none"
    return not off and not none and any(os.environ.get(name) for name in _ENDPOINTS)


def trace_to_collector() -> None:
    """Send traces to the collector that the environment names; see `wants_traces`.

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
    # It is not made the process's own: FastAPI would trace whole addresses through that.
    enable_tracing(WordlessTracer(provider.get_tracer("lexarbor")))
