"""What goes wrong inside: what the client is told, and what the log is."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from haystack.errors import FilterError

from components.models.errors import ModelError, VectorError
from components.stores.failures import StoreError
from pipelines.serving.logs import JsonLines

SECRET = "my landlord Mr. Unmistakable"
QUESTION = {"query": SECRET}


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """The log as the service writes it; libraries' from WARNING."""
    formatter = JsonLines()
    return [
        json.loads(formatter.format(each))
        for each in caplog.records
        if each.name.startswith("pipelines.") or each.levelno >= logging.WARNING
    ]


@pytest.mark.parametrize(
    ("failure", "status", "error"),
    [
        (FilterError("No field x."), 422, "filters"),
        (StoreError("/data/law.db: cannot be read. Index again."), 503, "store"),
        (StoreError("srv holds no article. Index a law into it."), 503, "store"),
        (ModelError("/data/model: weights are NaN. Train again."), 503, "model"),
        (VectorError("The embedding has 3 numbers, the store 384."), 500, "vectors"),
    ],
)
def test_our_errors_are_told_with_their_message(
    hold: Any, held: Any, until: Any, failure: Exception, status: int, error: str
):
    held.released.set()
    held.failure = failure
    with hold() as service:
        response = service.client.post("/held/run", json=QUESTION)
        assert response.status_code == status
        told = response.json()
        assert (told["error"], told["detail"]) == (error, str(failure))
        series = f'lexarbor_requests_total{{pipeline="held",status="{status}"}}'
        until(lambda: service.metric(series) == 1)
        assert service.metric(f'lexarbor_rejected_total{{reason="{error}"}}') == 1


def test_a_name_of_another_machine_is_refused_at_every_address(hold: Any, held: Any):
    held.released.set()
    with hold(names={"localhost"}) as service:
        for path in ("/held/run", "/openapi.json", "/metrics", "/none"):
            response = service.client.post(path, json=QUESTION, headers={"Host": "law.example.org"})
            assert (response.status_code, response.json()["error"]) == (421, "other_host")
        assert held.ended == 0
        asked = service.client.post("/held/run", json=QUESTION, headers={"Host": "localhost:9"})
        assert asked.status_code == 200


def test_what_the_pipeline_has_no_place_for_is_refused(hold: Any, held: Any):
    with hold() as service:
        response = service.client.post("/held/run", json={**QUESTION, "top_k": 3})
        assert (response.status_code, response.json()["error"]) == (422, "not_supported")
        assert "inputs.top_k" in response.json()["detail"]


@pytest.mark.parametrize("kind", [RuntimeError, TimeoutError, RecursionError, KeyError])
def test_an_unforeseen_error_is_told_by_its_id_alone(
    hold: Any, held: Any, caplog: pytest.LogCaptureFixture, kind: type[Exception]
):
    held.released.set()
    held.failure = kind(f"cannot answer {SECRET}")
    caplog.set_level(logging.INFO)
    with hold() as service:
        response = service.client.post("/held/run", json=QUESTION)
    assert response.status_code == 500
    told = response.json()
    assert told["error"] == "internal"
    assert "Unmistakable" not in response.text
    assert "Traceback" not in response.text
    logged = lines(caplog)
    error = next(each for each in logged if each["level"] == "error")
    assert error["request_id"] == told["request_id"]
    assert "held.run" not in told["detail"]
    assert error["message"] == f"A request failed with {kind.__name__}"
    assert "in run_async" in error["place"]
    assert "Unmistakable" not in json.dumps(logged)


def test_a_request_is_one_line_without_its_words(
    hold: Any, held: Any, caplog: pytest.LogCaptureFixture
):
    held.released.set()
    caplog.set_level(logging.INFO)
    with hold() as service:
        headers = {"X-Request-ID": "0123456789abcdef"}
        response = service.client.post(f"/held/run?q={SECRET}", json=QUESTION, headers=headers)
        service.client.get(f"/{SECRET}", headers={"X-Request-ID": SECRET})
        service.client.post("/held/run", json={"query": SECRET, SECRET: 1})
        for probe in ("/health", "/ready", "/metrics"):
            service.client.get(probe)
    assert response.headers["x-request-id"] == "0123456789abcdef"
    requests = [each for each in lines(caplog) if each["message"] == "request"]
    took = [each.pop("took_ms") for each in requests]
    assert all(each > 0 for each in took)
    first, unknown, wrong = requests
    assert {key: value for key, value in first.items() if key not in ("time", "logger")} == {
        "level": "info",
        "message": "request",
        "request_id": "0123456789abcdef",
        "method": "POST",
        "route": "/held/run",
        "pipeline": "held",
        "status": 200,
        "documents": 1,
    }
    assert (unknown["status"], unknown["reason"]) == (404, "not_found")
    assert (wrong["status"], wrong["reason"]) == (422, "invalid_request")
    assert "Unmistakable" not in json.dumps(lines(caplog))
    assert "Unmistakable" not in json.dumps(unknown)


def test_a_library_line_is_cut_before_it_can_quote(caplog: pytest.LogCaptureFixture):
    logger = logging.getLogger("asyncio")
    try:
        raise RuntimeError(SECRET)
    except RuntimeError:
        logger.exception("Task exception was never retrieved\nfuture: <Task %s>", SECRET)
    (told,) = lines(caplog)
    assert told["message"] == "Task exception was never retrieved"
    assert told["exception"] == "RuntimeError"
    assert "test_a_library_line" in told["place"]
    assert "Unmistakable" not in json.dumps(told)


def test_before_it_is_ready_it_says_so(hold: Any, held: Any):
    held.released.set()
    with hold(ready=False) as service:
        assert service.client.get("/health").json() == {"status": "up"}
        starting = service.client.get("/ready")
        assert starting.status_code == 503
        assert starting.json() == {"status": "starting", "pipelines": ["held"]}
        refused = service.client.post("/held/run", json=QUESTION)
        assert (refused.status_code, refused.json()["error"]) == (503, "not_ready")
        assert int(refused.headers["retry-after"]) > 0
        service.served["held"].setup()
        assert service.client.get("/ready").json()["status"] == "ready"
        assert service.client.post("/held/run", json=QUESTION).status_code == 200


def test_metrics_are_for_prometheus_and_without_words(law_service: Any, until: Any):
    law_service.client.post("/lexical/run", json=QUESTION)
    law_service.client.get(f"/{SECRET}")
    until(lambda: law_service.metric('lexarbor_rejected_total{reason="not_found"}') is not None)
    response = law_service.client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "Unmistakable" not in response.text
    assert law_service.metric('lexarbor_requests_total{pipeline="lexical",status="200"}') >= 1
    assert law_service.metric('lexarbor_request_seconds_count{pipeline="lexical"}') >= 1
    bucket = 'lexarbor_request_seconds_bucket{le="+Inf",pipeline="lexical"}'
    assert law_service.metric(bucket) >= 1
    assert law_service.metric("process_resident_memory_bytes") > 1e6
