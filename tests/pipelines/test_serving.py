"""The REST service: answers, limits, errors, logs, traces, start and end."""

import asyncio
import json
import logging
import re
import socket
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import product
from typing import Any

import httpx
import pytest
import schemathesis
from chat_server import chat_server
from fastapi import FastAPI
from haystack import Document, Pipeline, component
from haystack.errors import FilterError
from hypothesis import HealthCheck, given, settings
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from schemathesis.specs.openapi.checks import (
    negative_data_rejection,
    positive_data_acceptance,
)
from serving import served
from starlette.datastructures import Headers
from starlette.testclient import TestClient
from waiting import until

from components.models.folder import ModelError, VectorError
from components.stores.database import StoreError
from pipelines.loading import generator_overrides, load_pipeline
from pipelines.serving.answers import RETRY_SECONDS
from pipelines.serving.app import ServedPipeline, build_app
from pipelines.serving.limits import (
    BODY_LIMIT,
    LOOPBACK,
    Limits,
    RequestQueue,
    is_from_elsewhere,
    is_named,
    prompt_server,
)
from pipelines.serving.metrics import JsonLines, traced

LAWS = ("Housing Code", "Work Code", "Family Code")
QUESTION = {"query": "Who decides on rent?"}


@component
class Held:
    """Finds one article once it is let go, or raises what it is told to raise."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.released = threading.Event()
        self.failure: Exception | None = None
        self.ended = 0

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, list[Document]]:
        if self.failure is not None:
            raise self.failure
        return {"documents": [Document(id="a1", content="Rule 1", meta={"law": "Housing Code"})]}

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str) -> dict[str, list[Document]]:
        self.entered.release()
        try:
            while not self.released.is_set():
                await asyncio.sleep(0.005)
            return self.run(query)
        finally:
            self.ended += 1

    def wait_for(self, questions: int) -> None:
        """Until so many more questions have come to it."""
        for _ in range(questions):
            assert self.entered.acquire(timeout=20)


def held_pipeline(held: Held) -> Pipeline:
    sockets = {"inputs": {"query": ["held.query"]}, "outputs": {"documents": ["held.documents"]}}
    pipeline = Pipeline(metadata={"name": "held", **sockets})
    pipeline.add_component("held", held)
    return pipeline


class Service:
    """A running service; `client` sends to it."""

    def __init__(self, url: str, queue: RequestQueue, served: dict[str, ServedPipeline]) -> None:
        self.url = url
        self.queue = queue
        self.served = served
        self.client = httpx.Client(base_url=url, timeout=30)

    def metric(self, line: str) -> float | None:
        """The value of a series, as "name{label="value"}"; None where there is none."""
        lines = self.client.get("/metrics").text.splitlines()
        found = [each for each in lines if each.startswith(f"{line} ")]
        return float(found[0].rsplit(" ", 1)[1]) if found else None

    def ask(self, questions: int) -> list[Future[httpx.Response]]:
        """Answers to questions that are under way, each in its thread."""
        pool = ThreadPoolExecutor(questions)
        post = partial(httpx.post, f"{self.url}held/run", json=QUESTION, timeout=30)
        return [pool.submit(post) for _ in range(questions)]


@contextmanager
def running(
    pipelines: dict[str, Pipeline],
    *,
    ready: bool = True,
    names: Collection[str] | None = None,
    key: str | None = None,
    **limits: Any,
) -> Iterator[Service]:
    bounds = Limits(**limits)
    app = build_app(pipelines, bounds, names, key)
    if ready:
        for each in app.state.served.values():
            each.setup()
    with served(prompt_server(app, 5, log_config=None, proxy_headers=False)) as url:
        service = Service(url, app.state.queue, app.state.served)
        yield service
        service.client.close()


@pytest.fixture(scope="module")
def law_service(text_store) -> Iterator[Service]:
    """The lexical pipeline over thirty articles of three laws."""
    with running({"lexical": load_pipeline("lexical", text_store)}) as service:
        yield service


@pytest.fixture
def held() -> Iterator[Held]:
    """What the service of `hold` waits for."""
    held = Held()
    yield held
    held.released.set()


@pytest.fixture
def hold(held) -> Callable[..., Any]:
    """`with hold(**limits) as service`: a service whose one pipeline waits for `held`."""

    def start(**arguments: Any) -> Any:
        return running({"held": held_pipeline(held)}, **arguments)

    return start


def test_the_answer_is_what_ask_json_prints(law_service, text_store, command):
    given = (QUESTION["query"], "--store", text_store, "--pipeline", "lexical", "--json")
    printed = json.loads(command("ask", *given)[1])
    response = law_service.client.post("/lexical/run", json=QUESTION)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    told = response.json()
    assert told.pop("took_ms") > 0
    del printed["took_ms"]
    assert told == printed
    assert len(told["documents"]) > 3


def test_a_query_may_be_called_a_question(law_service):
    asked = {"question": QUESTION["query"]}
    named = [
        law_service.client.post("/lexical/run", json=each).json()["documents"]
        for each in (QUESTION, asked)
    ]
    assert named[0] == named[1] != []
    (answer,) = law_service.client.post(
        "/lexical/batch", json={"questions": [QUESTION["query"]]}
    ).json()["answers"]
    assert answer["documents"] == named[0]
    refused = law_service.client.post("/lexical/run", json=QUESTION | asked)
    assert refused.status_code == 422
    assert refused.json()["detail"].startswith("body.question: ")


def nested(depth: int) -> dict[str, Any]:
    condition: dict[str, Any] = {"field": "meta.law", "operator": "==", "value": "Work Code"}
    for _ in range(depth):
        condition = {"operator": "AND", "conditions": [condition]}
    return condition


def test_a_wrong_field_is_refused(law_service):
    for field, values in (
        ("quer", ["x"]),
        ("api_key", ["x"]),
        ("query", [None, 5, ["rent"], "", "  \u200b ", "x" * 2001]),
        ("top_k", [0, 101, "5", True, 1.5]),
        ("filters", [[], {"field": "meta.law"}, {"operator": "AND", "conditions": 5}]),
        ("filters", [{"operator": ["AND"], "conditions": []}, nested(200)]),
        ("filters", [{"field": "meta.law", "operator": "~", "value": 1}]),
        ("filters", [{"field": "id", "operator": "in", "value": [1] * 501}]),
        ("correct", ["no", 0, None]),
        ("expand", ["no", 0, None]),
        ("as_of", ["yesterday", 20241231, "2024-13-31", "1735603200"]),
    ):
        for value in values:
            response = law_service.client.post("/lexical/run", json=QUESTION | {field: value})
            assert response.status_code == 422, (field, value)
            told = response.json()
            assert set(told) == {"error", "detail", "request_id"}
            assert told["error"] in ("invalid_request", "question", "filters")
            assert told["request_id"] == response.headers["x-request-id"]


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain"])
def test_a_body_without_the_header_of_json_is_told_of_the_header(law_service, kind):
    body = json.dumps(QUESTION)
    headers = {"Content-Type": kind}
    response = law_service.client.post("/lexical/run", content=body, headers=headers)
    assert (response.status_code, response.json()["error"]) == (422, "invalid_request")
    assert "Content-Type: application/json" in response.json()["detail"]
    wrong = law_service.client.post("/lexical/run", json=[QUESTION])
    assert "Content-Type" not in wrong.json()["detail"]


def test_a_service_over_no_store_of_ours_says_why_it_has_no_tools(monkeypatch):
    with running({"held": held_pipeline(Held())}) as service:
        for method in ("GET", "POST"):
            refused = service.client.request(method, "/mcp")
            assert (refused.status_code, refused.json()["error"]) == (404, "not_supported")
            assert "in an engine" in refused.json()["detail"]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with running({"held": held_pipeline(Held())}) as service:
        assert "lexarbor[mcp]" in service.client.post("/mcp").json()["detail"]


def test_a_store_that_becomes_empty_is_a_failure(store):
    article = Document(id="a1", content="The rent is due.", meta={"law": "Rent Act", "number": "1"})
    store.write_documents([article])
    with running({"lexical": load_pipeline("lexical", store.path)}) as service:
        assert service.client.post("/lexical/run", json=QUESTION).status_code == 200
        store.delete_all_documents()
        response = service.client.post("/lexical/run", json=QUESTION)
        assert (response.status_code, response.json()["error"]) == (503, "store")
        assert "holds no article yet" in response.json()["detail"]
        ready = service.client.get("/ready")
        assert (ready.status_code, ready.json()["status"]) == (503, "store")
        store.write_documents([article])
        assert service.client.get("/ready").status_code == 200
        assert service.client.post("/lexical/run", json=QUESTION).status_code == 200


@pytest.mark.slow
def test_it_answers_what_its_description_allows_as_it_describes(law_service):
    """Some 1,000 requests that the description allows, and does not."""
    description = schemathesis.openapi.from_url(f"{law_service.url}openapi.json")
    operations = [each.ok() for each in description.get_all_operations()]
    assert len(operations) == 12

    for operation, mode in product(operations, schemathesis.GenerationMode):
        if mode.is_negative and not operation.body and not operation.query:
            continue  # nothing that could be wrong

        @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
        @given(operation.as_strategy(generation_mode=mode))
        def check(case):
            response = case.call()
            # What filters and questions mean, no schema can say.
            excluded = [positive_data_acceptance]
            if response.status_code == 413:  # for schemathesis not among the refusals
                excluded.append(negative_data_rejection)
            case.validate_response(response, excluded_checks=excluded)

        check()


def test_an_article_is_read_by_its_id_and_by_its_citation(law_service):
    article = law_service.client.get("/articles/a4").json()
    assert (article["law"], article["number"]) == ("Work Code", "4")
    assert {each["relation"] for each in article["neighbours"]} == {"previous", "next"}
    assert "score" not in article
    missing = law_service.client.get("/articles/none")
    assert (missing.status_code, missing.json()["error"]) == (404, "not_found")

    cited = law_service.client.get("/articles", params={"citation": "art. 4 Work Code"}).json()
    assert [each["id"] for each in cited["articles"]] == ["a4"]
    cited = law_service.client.get("/articles", params={"citation": "art. 99 Work Code"}).json()
    assert (cited["articles"], cited["missing"]) == ([], ["art. 99, Work Code"])
    work_4 = {"law": "work code", "number": "4"}
    by_number = law_service.client.get("/articles", params=work_4).json()
    assert [each["id"] for each in by_number["articles"]] == ["a4"]
    absent = law_service.client.get("/articles", params={**work_4, "number": "4-B"})
    assert (absent.status_code, absent.json()["error"]) == (404, "not_found")
    wrong = ({"citation": ""}, {}, {"number": "4"}, {"citation": "art. 4", **work_4})
    for parameters in (*wrong, {"citation": "art. 4", "as_of": "yesterday"}):
        assert law_service.client.get("/articles", params=parameters).status_code == 422

    laws = law_service.client.get("/laws").json()["laws"]
    assert {each["law"]: each["articles"] for each in laws} == dict.fromkeys(LAWS, 10)
    assert laws[0]["languages"] == ["en"]
    assert laws[0]["jurisdictions"] == []
    asked = {"query": "wages", "jurisdiction": "us/or"}
    refused = law_service.client.post("/lexical/run", json=asked)
    assert (refused.status_code, refused.json()["error"]) == (422, "filters")


@pytest.fixture(scope="module")
def amended_service(road_act) -> Iterator[Service]:
    """The service over a law with a long article, which has two wordings."""
    with running({"lexical": load_pipeline("lexical", road_act)}) as service:
        yield service


def test_a_long_article_is_read_in_pieces(amended_service):
    client = amended_service.client
    whole = client.get("/articles/new").json()
    assert "next_offset" not in whole
    offset, pieces = 0, []
    while offset is not None:
        read = client.get("/articles/new", params={"offset": offset}).json()
        pieces.append(read["content"])
        offset = read.get("next_offset")
    assert "".join(pieces) == whole["content"]
    assert len(pieces) > 3
    assert max(map(len, pieces)) <= 12_000
    assert all(re.match(r"\(\d+\) ", each) for each in pieces)
    for wrong in (5, 10**9, -1):
        assert client.get("/articles/new", params={"offset": wrong}).status_code == 422


def test_what_changed_in_an_article_is_shown(amended_service):
    client = amended_service.client
    found = client.get("/changes", params={"article": "art. 5 Road Act"}).json()
    assert (found["before"]["id"], found["after"]["id"]) == ("old", "new")
    changed = [row for row in found["rows"] if len(row) > 1]
    assert len(changed) == 1
    assert changed[0][1:3] == [
        {"kind": "deleted", "text": " place"},
        {"kind": "inserted", "text": " town"},
    ]
    days = {"article": "new", "from": "2020-02-01", "to": "2021-01-01"}
    assert "both days" in client.get("/changes", params=days).json()["note"]
    absent = client.get("/changes", params={"article": "art. 9 Road Act"})
    assert (absent.status_code, "rows" in absent.json()) == (200, False)
    for wrong in ("20210101", "today"):
        refused = client.get("/changes", params={**days, "to": wrong})
        assert refused.status_code == 422
        assert "query.to" in refused.json()["detail"] and "'any'" not in refused.json()["detail"]


def test_the_citations_of_a_text_are_audited(law_service, text_store, tmp_path, command):
    text = "Article 4 of the Work Code applies, and Article 99 of the Work Code."
    (tmp_path / "brief.md").write_text(text, encoding="utf-8")
    printed = json.loads(
        command("audit", tmp_path / "brief.md", "--store", text_store, "--json")[1]
    )
    del printed["file"]
    for each in printed["citations"]:
        del each["place"]
    answered = law_service.client.post("/audit", json={"text": text})
    assert (answered.status_code, answered.json()) == (200, printed)
    verdicts = [each["verdict"] for each in printed["citations"]]
    assert verdicts == ["verified", "does not exist"]
    assert list(printed["articles"]) == ["a4"]

    for field, values in (
        ("text", [None, 5, "", "x" * 50_001]),
        ("query", ["rent"]),
        ("as_of", ["yesterday", 5]),
    ):
        for value in values:
            asked = {"text": text, "as_of": "any", field: value}
            refused = law_service.client.post("/audit", json=asked)
            assert (refused.status_code, refused.json()["error"]) == (422, "invalid_request")
            assert refused.json()["detail"].startswith(f"body.{field}: ")
    refused = law_service.client.post("/audit", json={"text": "§1 " * 1_001})
    assert (refused.status_code, refused.json()["error"]) == (422, "not_supported")


def test_a_batch_is_answered_in_its_order(law_service):
    queries = ["Who decides on rent?", "\u200b", "", "Who decides on custody?"]
    asked = {"queries": queries, "top_k": 1}
    answers = law_service.client.post("/lexical/batch", json=asked).json()["answers"]
    assert [each.get("error") for each in answers] == [None, "question", "question", None]
    assert "rent" in answers[0]["documents"][0]["content"]
    assert "custody" in answers[3]["documents"][0]["content"]
    for wrong in ([], ["x"] * 101, [5], "x"):
        response = law_service.client.post("/lexical/batch", json={"queries": wrong})
        assert (response.status_code, response.json()["error"]) == (422, "invalid_request")


def events(response: httpx.Response) -> list[tuple[str, Any]]:
    parts = [each.split("\n") for each in response.text.strip().split("\n\n")]
    return [(name[len("event: ") :], json.loads(data[len("data: ") :])) for name, data in parts]


def test_articles_are_streamed_before_the_answer(text_store):
    with chat_server() as server:
        server.reply = "<think>Custody?</think>The officer decides [1]. So says section 99."
        overrides = generator_overrides("answer_hybrid", server.url, "scripted")
        pipeline = load_pipeline("answer_hybrid", text_store, overrides=overrides)
        with running({"answer": pipeline}) as service:
            asked = {"query": "Who decides on custody?", "top_k": 2}
            response = service.client.post("/answer/stream", json=asked)
            streamed = events(response)
            alone = service.client.post("/answer/answer", json=asked).json()
            server.fault = "500"
            failed = events(service.client.post("/answer/stream", json=asked))
            refused = service.client.post("/answer/stream", json={"query": "\u200b"})
    assert response.headers["content-type"].startswith("text/event-stream")
    names = [name for name, _ in streamed]
    assert names[0] == "articles"
    assert set(names[1:-1]) == {"token"}
    assert names[-1] == "answer"
    assert len(streamed[0][1]["documents"]) == 2
    assert "answer" not in streamed[0][1]
    written = "".join(content["text"] for name, content in streamed if name == "token")
    assert written == streamed[-1][1]["text"] == "The officer decides [1]. So says section 99."
    states = [c["state"] for each in streamed[-1][1]["statements"] for c in each["citations"]]
    assert states == ["verified", "not found"]
    assert alone["answer"] == streamed[-1][1]
    assert "documents" not in alone
    # Without a generator the articles answer in their own words.
    assert [name for name, _ in failed] == ["articles", "answer"]
    assert failed[-1][1]["state"] == "verbatim"
    assert (refused.status_code, refused.json()["error"]) == (422, "question")


def chunks(size: int) -> Iterator[bytes]:
    for _ in range(size // 65_536 + 1):
        yield b" " * 65_536


@pytest.mark.parametrize("size", [BODY_LIMIT + 1, 20_000_000])
def test_a_body_over_the_limit_gets_413_however_it_is_sent(law_service, size):
    for body in (b" " * size, chunks(size)):
        response = law_service.client.post("/lexical/run", content=body)
        assert response.status_code == 413
        assert response.json()["error"] == "too_large"
        assert response.headers["connection"] == "close"
    assert law_service.client.post("/nowhere", content=b" " * size).status_code == 413


def test_so_many_are_answered_at_once_so_many_wait_and_the_next_is_asked_to_come_back(hold, held):
    with hold(at_once=2, waiting=3) as service:
        answers = service.ask(2)
        held.wait_for(2)
        answers += service.ask(3)
        until(lambda: service.queue.waiting == 3)
        assert service.queue.inside == 2
        refused = service.client.post("/held/run", json=QUESTION)
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == str(RETRY_SECONDS)
        assert refused.json()["error"] == "busy"
        assert service.metric("lexarbor_requests_in_flight") == 2
        assert service.metric("lexarbor_requests_waiting") == 3
        assert service.client.get("/health").status_code == 200
        held.released.set()
        assert [each.result(30).status_code for each in answers] == [200] * 5
        until(lambda: service.metric("lexarbor_requests_in_flight") == 0)
        assert service.metric('lexarbor_rejected_total{reason="busy"}') == 1


def test_a_question_over_its_time_gets_504_and_gives_its_place_back(hold, held):
    with hold(at_once=1, waiting=1, seconds=0.5) as service:
        for _ in range(3):
            response = service.client.post("/held/run", json=QUESTION)
            assert response.status_code == 504
            assert "within 0.5 seconds" in response.json()["detail"]
        assert held.ended == 3
        assert (service.queue.inside, service.queue.waiting) == (0, 0)
        held.released.set()
        assert service.client.post("/held/run", json=QUESTION).status_code == 200


def test_a_client_that_has_gone_gives_its_place_to_the_next(hold, held):
    with hold(at_once=1, waiting=5) as service:
        with socket.create_connection(("127.0.0.1", service.client.base_url.port)) as raw:
            raw.sendall(
                b"POST /held/run HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                b"Content-Length: 17\r\n\r\n" + b'{"query": "rent"}'
            )
            held.wait_for(1)
        until(lambda: held.ended == 1)
        (answer,) = service.ask(1)
        held.wait_for(1)
        held.released.set()
        assert answer.result(30).status_code == 200
        until(lambda: service.metric('lexarbor_rejected_total{reason="client_gone"}') == 1)


SECRET = "my landlord Mr. Unmistakable"
SECRET_QUESTION = {"query": SECRET}


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """The log as the service writes it; libraries' from WARNING."""
    formatter = JsonLines()
    return [
        json.loads(formatter.format(each))
        for each in caplog.records
        if each.name.startswith("pipelines.") or each.levelno >= logging.WARNING
    ]


def test_our_errors_are_reported_with_their_message(hold, held):
    held.released.set()
    with hold() as service:
        for failure, status, error in (
            (FilterError("No field x."), 422, "filters"),
            (StoreError("/data/law.db: cannot be read. Index again."), 503, "store"),
            (ModelError("/data/model: weights are NaN. Train again."), 503, "model"),
            (VectorError("The embedding has 3 numbers, the store 384."), 500, "vectors"),
        ):
            held.failure = failure
            response = service.client.post("/held/run", json=SECRET_QUESTION)
            assert response.status_code == status
            told = response.json()
            assert (told["error"], told["detail"]) == (error, str(failure))
            reason = f'lexarbor_rejected_total{{reason="{error}"}}'
            until(lambda reason=reason: service.metric(reason) == 1)
        series = 'http_requests_total{handler="/held/run",status="503"}'
        until(lambda: service.metric(series) == 2)


@pytest.mark.parametrize("kind", [RuntimeError, RecursionError])
def test_an_unforeseen_error_is_reported_by_its_id_alone(hold, held, caplog, kind):
    held.released.set()
    held.failure = kind(f"cannot answer {SECRET}")
    caplog.set_level(logging.INFO)
    with hold() as service:
        response = service.client.post("/held/run", json=SECRET_QUESTION)
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


def test_a_request_is_one_line_without_its_words(hold, held, caplog):
    held.released.set()
    caplog.set_level(logging.INFO)
    with hold() as service:
        headers = {"X-Request-ID": "0123456789abcdef"}
        response = service.client.post(
            f"/held/run?q={SECRET}", json=SECRET_QUESTION, headers=headers
        )
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


def test_before_it_is_ready_it_says_so(hold, held):
    held.released.set()
    with hold(ready=False) as service:
        assert service.client.get("/health").json() == {"status": "up"}
        starting = service.client.get("/ready")
        assert starting.status_code == 503
        assert starting.json() == {"status": "starting", "pipelines": ["held"]}
        refused = service.client.post("/held/run", json=SECRET_QUESTION)
        assert (refused.status_code, refused.json()["error"]) == (503, "not_ready")
        assert int(refused.headers["retry-after"]) > 0
        service.served["held"].setup()
        assert service.client.get("/ready").json()["status"] == "ready"
        assert service.client.post("/held/run", json=SECRET_QUESTION).status_code == 200


@pytest.mark.parametrize(("caller", "joined"), [("ab" * 16, True), ("00" * 16, False)])
def test_a_trace_continues_that_of_its_caller_and_tells_no_words(caller, joined):
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    app = FastAPI()
    app.get("/{path}")(lambda path: {})
    traced(app, provider)
    client = TestClient(app)
    words = {"Host": "Unmistakable", "User-Agent": "Unmistakable", "baggage": "q=Unmistakable"}
    sent = {"traceparent": f"00-{caller}-{'cd' * 8}-01", **words}
    client.get("/Unmistakable?q=Unmistakable", headers=sent)
    client.get("/x")
    first, second = exporter.get_finished_spans()
    assert (first.parent is not None) == joined
    assert (first.context.trace_id == int("ab" * 16, 16)) == joined
    assert second.parent is None
    assert second.context.trace_id != first.context.trace_id
    assert first.attributes["http.status_code"] == 200
    assert "Unmistakable" not in first.to_json()


def test_only_the_key_opens_what_is_locked(text_store):
    lexical = load_pipeline("lexical", text_store)
    with running({"lexical": lexical}, key="a-key") as service:
        described = service.client.get("/openapi.json").json()
        right = [{"X-API-Key": "a-key"}, {"Authorization": "Bearer a-key"}]
        wrong = [{}, {"X-API-Key": "a-ke"}, {"X-API-Key": ""}, {"Authorization": "Basic a-key"}]
        wrong += [{"Authorization": "Bearer"}, {"Authorization": "Bearer a-key2"}]
        wrong.append({"X-API-Key": "ä".encode()})
        operations = [
            (path, method, "security" in operation)
            for path, methods in described["paths"].items()
            for method, operation in methods.items()
        ]
        operations.append(("/mcp", "post", True))  # not FastAPI's, so not described
        assert {path for path, _, locked in operations if not locked} == {"/health", "/ready"}
        assert len(operations) > 8
        for path, method, locked in operations:
            place = path.replace("{id}", "a1")
            for headers in wrong:
                refused = service.client.request(method, place, headers=headers)
                assert (refused.status_code == 401) is locked, path
                if locked:
                    assert refused.json()["error"] == "unauthorized"
                    assert refused.headers["WWW-Authenticate"] == "Bearer"
            for headers in right:
                assert service.client.request(method, place, headers=headers).status_code != 401
        for headers in right:
            given = service.client.post("/lexical/run", json=QUESTION, headers=headers)
            assert given.json()["documents"]
        schemes = described["components"]["securitySchemes"]
        assert {each["type"] for each in schemes.values()} == {"apiKey", "http"}


def test_only_this_machines_own_names_are_ours():
    ours = ("localhost", "localhost:7860", "LOCALHOST:1", "127.0.0.1:80", "[::1]:7860")
    others = (
        *("", "example.com:7860", "localhost.example.com", "localhost@example.com", "localhost:x"),
        *(
            "localhost:7860:7860",
            "127.0.0.1.nip.io",
            "127.0.0.2",
            "0.0.0.0",
            "::1",
            "[::1",
            "[::2]",
        ),
        *(" localhost", "localhost, example.com", "localhost:7860.example.com", "local\x00host"),
    )
    for host in (*ours, *others):
        assert is_named(Headers({"host": host}), LOOPBACK) is (host in ours), host
    assert not is_named(Headers({}), LOOPBACK)
    assert not is_named(Headers(raw=[(b"host", b"localhost"), (b"host", b"evil")]), LOOPBACK)


def test_a_page_of_another_site_is_recognised():
    here = "http://localhost:7860"

    def elsewhere(**given: str) -> bool:
        headers = {name.replace("_", "-"): value for name, value in given.items()}
        return is_from_elsewhere(Headers({"host": "localhost:7860", **headers}))

    assert not elsewhere()
    for fetched, others in (
        ("same-origin", False),
        ("none", False),
        ("same-site", True),
        ("", True),
    ):
        assert elsewhere(sec_fetch_site=fetched) is others, fetched
    for origin in ("http://localhost:7861", "null", "", "http://[::1", f"{here}@example.com"):
        assert elsewhere(origin=origin), origin
    assert not elsewhere(origin="http://LOCALHOST:7860")
    assert elsewhere(sec_fetch_site="cross-site", origin=here)
    # Behind a proxy
    assert not elsewhere(sec_fetch_site="same-origin", origin="https://law.example.org")
