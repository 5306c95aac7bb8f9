"""Traces: what is told of a run, and what never is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from haystack.tracing.tracer import disable_tracing, enable_tracing, tracer
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.responses import Response
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from pipelines.files import LoadingError
from pipelines.serving.joined_traces import JoinedTraces
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


@pytest.mark.parametrize(
    ("header", "joined"),
    [
        (f"00-{'ab' * 16}-{'cd' * 8}-01", True),
        (f"00-{'00' * 16}-{'cd' * 8}-01", False),
        ("ab", False),
        (None, False),
    ],
)
def test_a_trace_goes_on_from_its_caller(
    exporter: InMemorySpanExporter, header: str | None, joined: bool
):
    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        with tracer.actual_tracer.trace("answer"):
            await Response("found")(scope, receive, send)

    client = TestClient(JoinedTraces(answer))
    client.get("/", headers={} if header is None else {"traceparent": header})
    client.get("/")
    first, second = exporter.get_finished_spans()
    assert (first.parent is not None) == joined
    if joined:
        assert first.context.trace_id == int("ab" * 16, 16)
        assert first.parent.span_id == int("cd" * 8, 16)
    # The next request has a trace of its own.
    assert second.parent is None
    assert second.context.trace_id != first.context.trace_id


def test_what_is_no_request_passes_through():
    passed: list[str] = []

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        passed.append(scope["type"])

    async def nothing(*_: Any) -> Any:
        raise AssertionError("nothing is received or sent")

    asyncio.run(JoinedTraces(answer)({"type": "lifespan"}, nothing, nothing))
    assert passed == ["lifespan"]


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
