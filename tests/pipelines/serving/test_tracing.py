"""Traces: what is told of a run, and what never is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from haystack.tracing.tracer import disable_tracing, enable_tracing, tracer
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from pipelines.files import LoadingError
from pipelines.serving.tracing import WordlessTracer, trace_to_collector, wants_traces

SECRET = "my landlord Mr. Unmistakable"


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    monkeypatch.setattr(tracer, "is_content_tracing_enabled", True)
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    enable_tracing(WordlessTracer(provider.get_tracer("test")))
    yield exporter
    disable_tracing()


def test_a_run_is_traced_by_component_without_its_words(
    exporter: InMemorySpanExporter, law_service: Any
):
    found = law_service.client.post("/lexical/run", json={"query": f"{SECRET}: rent"}).json()
    spans = {each.context.span_id: each for each in exporter.get_finished_spans()}
    by_name: dict[str, list[Any]] = {}
    for span in spans.values():
        by_name.setdefault(span.name, []).append(span)
    components = {
        each.attributes["haystack.component.name"] for each in by_name["haystack.component.run"]
    }
    assert components == {"citation", "bm25", "fuser"}
    (run,) = by_name["haystack.pipeline.run"]
    (whole,) = by_name["hayhooks.pipeline.run"]
    assert whole.attributes["hayhooks.pipeline.name"] == "lexical"
    assert run.parent.span_id == whole.context.span_id
    assert all(
        each.parent.span_id == run.context.span_id for each in by_name["haystack.component.run"]
    )
    told = json.dumps([json.loads(span.to_json()) for span in spans.values()])
    assert "Unmistakable" not in told
    assert found["documents"][0]["content"] not in told


def test_of_a_failure_only_its_kind_is_told(exporter: InMemorySpanExporter, hold: Any, held: Any):
    held.released.set()
    held.failure = RuntimeError(SECRET)
    with hold() as service:
        assert service.client.post("/held/run", json={"query": SECRET}).status_code == 500
    spans = exporter.get_finished_spans()
    failed = next(each for each in spans if each.name == "haystack.component.run")
    assert failed.attributes["error.type"] == "RuntimeError"
    assert not failed.status.is_ok
    assert "Unmistakable" not in json.dumps([json.loads(each.to_json()) for each in spans])


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_TRACES_EXPORTER": "none"}, False),
    ],
)
def test_traces_are_sent_only_where_the_environment_asks(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], wanted: bool
):
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert wants_traces() is wanted


def test_another_protocol_is_refused_with_the_way_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    with pytest.raises(LoadingError, match="http/protobuf"):
        trace_to_collector()
