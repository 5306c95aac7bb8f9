"""What the service answers, and what it says of itself."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hayhooks import create_app
from haystack import Document

from components.stores.sqlite import StatuteDocumentStore
from pipelines import ask
from pipelines.asking import ask as ask_once
from pipelines.loading import load_pipeline
from pipelines.serving.schema import REQUEST_EXAMPLES, FoundArticle, RunAnswer

QUESTION = {"query": "Who decides on rent?"}


def test_the_answer_is_what_ask_json_prints(
    law_service: Any, text_store: Path, capsys: pytest.CaptureFixture[str]
):
    arguments = [QUESTION["query"], "--store", str(text_store), "--pipeline", "lexical", "--json"]
    assert ask.main(arguments) == 0
    printed = json.loads(capsys.readouterr().out)
    response = law_service.client.post("/lexical/run", json=QUESTION)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    told = response.json()
    assert told.pop("took_ms") > 0
    del printed["took_ms"]
    assert told == printed
    assert len(told["documents"]) > 3


def test_number_filters_and_day_are_honoured(law_service: Any, text_store: Path):
    law = {"field": "meta.law", "operator": "==", "value": "Work Code"}
    found = law_service.client.post("/lexical/run", json={**QUESTION, "filters": law, "top_k": 2})
    documents = found.json()["documents"]
    assert [each["law"] for each in documents] == ["Work Code"] * 2
    told = law_service.client.post("/lexical/run", json={**QUESTION, "as_of": "2020-02-29"}).json()
    assert told["as_of"] == "2020-02-29"
    for as_of, day in (("today", date.today().isoformat()), ("any", None)):
        told = law_service.client.post("/lexical/run", json={**QUESTION, "as_of": as_of}).json()
        assert told.get("as_of") == day
    by_hand = ask_once(load_pipeline("lexical", text_store), QUESTION["query"])
    assert [each["id"] for each in told["documents"]] == [
        each["id"] for each in by_hand["documents"]
    ]


def test_nothing_found_is_an_answer(law_service: Any):
    response = law_service.client.post("/lexical/run", json={"query": "Xylophones?"})
    assert response.status_code == 200
    assert response.json()["documents"] == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"quer": "x"}, "Unknown field 'quer' (did you mean 'query'?)"),
        ({"api_key": "x"}, "Unknown field 'api_key'. The fields are query, top_k, filters, as_of."),
        ({"query": None}, "'query' must be text of 1 to 2,000 characters"),
        ({"query": 5}, "'query' must be text"),
        ({"query": ["rent"]}, "'query' must be text"),
        ({"query": ""}, "'query' must be text of 1"),
        ({"query": "  \u200b "}, "The question is empty"),
        ({"query": "x" * 2001}, "The question has 2,001 characters; at most 2,000 are read"),
        ({"top_k": 0}, "'top_k' must be a whole number from 1 to 100"),
        ({"top_k": 101}, "'top_k' must be a whole number from 1 to 100"),
        ({"top_k": "5"}, "'top_k' must be a whole number"),
        ({"top_k": True}, "'top_k' must be a whole number"),
        ({"top_k": 1.5}, "'top_k' must be a whole number"),
        ({"filters": []}, "'filters' must be an object"),
        ({"filters": {"field": "meta.law"}}, "'operator' key missing"),
        ({"filters": {"field": "meta.law", "operator": "~", "value": 1}}, "'~'"),
        ({"filters": {"operator": "AND", "conditions": 5}}, "must be a list of filters"),
        ({"filters": {"operator": ["AND"], "conditions": []}}, "Unknown logical operator"),
        ({"filters": {"field": "id", "operator": "in", "value": [1] * 501}}, "at most 500 values"),
        ({"as_of": "yesterday"}, "'as_of' must be 'today', 'any' or a date, written as 2024-12-31"),
        ({"as_of": 20241231}, "'as_of' must be 'today', 'any' or a date"),
        ({"as_of": "2024-13-31"}, "'as_of' must be 'today', 'any' or a date"),
        ({"as_of": "1735603200"}, "'as_of' must be 'today', 'any' or a date"),
        ({"as_of": "0000086400"}, "'as_of' must be 'today', 'any' or a date"),
    ],
)
def test_a_wrong_field_is_named_with_what_it_must_be(
    law_service: Any, changed: dict[str, Any], said: str
):
    response = law_service.client.post("/lexical/run", json=QUESTION | changed)
    assert response.status_code == 422
    told = response.json()
    assert set(told) == {"error", "detail", "request_id"}
    assert said in told["detail"]
    assert told["request_id"] == response.headers["x-request-id"]


def test_the_longest_question_is_read(law_service: Any):
    query = ("rent " * 400).strip().ljust(2000, "?")
    assert law_service.client.post("/lexical/run", json={"query": query}).status_code == 200


def test_a_missing_question_is_named(law_service: Any):
    response = law_service.client.post("/lexical/run", json={"top_k": 3})
    assert "The field 'query' is missing" in response.json()["detail"]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"query": "rent', "application/json"),
        (b'{"query": "rent"}', "text/plain"),
        (b"[1, 2]", "application/json"),
        (b'"rent"', "application/json"),
        (b"", "application/json"),
        (b"\xff\xfe\x00", "application/json"),
        (b"[" * 60_000, "application/json"),
        (b'{"query": "rent", "top_k": ' + b"9" * 5000 + b"}", "application/json"),
        (b'{"query": "\\ud800", "filters": {"a": "\\ud800"}}', "application/json"),
    ],
)
def test_what_is_no_request_is_refused_as_json(law_service: Any, body: bytes, kind: str):
    response = law_service.client.post("/lexical/run", content=body, headers={"Content-Type": kind})
    assert response.status_code in (400, 422)
    assert response.json()["error"] == "invalid_request"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"query": "caf\u00e9"}'.encode("latin-1"), "Send a JSON object, in UTF-8."),
        (b'{"query": "con\\u0000sent \\ud800"}', "'query' holds half of a surrogate pair"),
    ],
)
def test_what_is_no_text_is_told_as_that(law_service: Any, body: bytes, said: str):
    headers = {"Content-Type": "application/json"}
    response = law_service.client.post("/lexical/run", content=body, headers=headers)
    assert response.status_code in (400, 422)
    assert said in response.json()["detail"]
    assert "must be text" not in response.json()["detail"]


def test_a_body_full_of_unknown_fields_gets_a_short_answer(law_service: Any):
    response = law_service.client.post("/lexical/run", json={f"f{n}": n for n in range(4000)})
    assert response.status_code == 422
    assert len(response.content) < 2000


def nested(depth: int) -> dict[str, Any]:
    condition: dict[str, Any] = {"field": "meta.law", "operator": "==", "value": "Work Code"}
    for _ in range(depth):
        condition = {"operator": "AND", "conditions": [condition]}
    return condition


def test_a_value_nested_deep_is_no_filter(law_service: Any):
    value: Any = "Work Code"
    for _ in range(900):
        value = [value]
    filters = {"field": "meta.law", "operator": "==", "value": value}
    response = law_service.client.post("/lexical/run", json={**QUESTION, "filters": filters})
    assert (response.status_code, response.json()["error"]) == (422, "filters")


@pytest.mark.parametrize(
    "filters",
    [
        nested(200),
        {"field": "meta.law", "operator": "in", "value": ["x"] * 500},
        {"field": "meta.law", "operator": "in", "value": ["x"] * 10_000},
        {"operator": "OR", "conditions": [nested(40)] * 15 + [nested(0)] * 480},
        {"operator": "OR", "conditions": [nested(0)] * 800},
        {"field": "meta.law", "operator": "==", "value": {"a": [1]}},
        {"field": "x" * 5000, "operator": "==", "value": 1},
        {"field": "meta.\u0000", "operator": "==", "value": "\u0000"},
    ],
)
def test_no_filters_make_it_fail(law_service: Any, filters: dict[str, Any]):
    response = law_service.client.post("/lexical/run", json={**QUESTION, "filters": filters})
    assert response.status_code in (200, 422)


def test_a_store_that_becomes_empty_is_a_failure(serve_law: Any, tmp_path: Path):
    store = StatuteDocumentStore(tmp_path / "law.db")
    article = Document(id="a1", content="The rent is due.", meta={"law": "Rent Act", "number": "1"})
    store.write_documents([article])
    with serve_law({"lexical": load_pipeline("lexical", store.path)}) as service:
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
    store.close()


def test_the_description_is_whole_and_its_examples_work(law_service: Any):
    described = law_service.client.get("/openapi.json").json()
    run = described["paths"]["/lexical/run"]["post"]
    examples = run["requestBody"]["content"]["application/json"]["examples"]
    assert [each["value"] for each in examples.values()] == list(REQUEST_EXAMPLES)
    for example in REQUEST_EXAMPLES:
        assert law_service.client.post("/lexical/run", json=example).status_code == 200
    schemas = described["components"]["schemas"]
    written = json.dumps(described)
    named = {part.split('"')[0] for part in written.split("#/components/schemas/")[1:]}
    assert named <= set(schemas)
    assert {"RunRequest", "RunAnswer", "FoundArticle", "ProblemAnswer"} <= named
    assert schemas["RunRequest"]["additionalProperties"] is False
    assert set(run["responses"]) == {"200", "408", "413", "421", "422", "500", "503", "504"}
    assert "swagger" in law_service.client.get("/docs").text


def test_every_field_of_an_answer_is_described(law_service: Any):
    told = law_service.client.post("/lexical/run", json={**QUESTION, "as_of": "2024-12-31"}).json()
    assert set(told) <= set(RunAnswer.model_fields)
    for document in told["documents"]:
        assert set(document) <= set(FoundArticle.model_fields)
    RunAnswer.model_validate(told)


def test_of_hayhooks_only_the_status_is_there(law_service: Any):
    paths = set(create_app().openapi()["paths"])
    assert {"/deploy_files", "/deploy-yaml", "/undeploy/{pipeline_name}"} <= paths
    kept = {"/status", "/status/{pipeline_name}"}
    assert law_service.client.get("/status").json()["pipelines"] == ["lexical"]
    assert law_service.client.get("/status/lexical").status_code == 200
    others = {"/redoc", "/docs/oauth2-redirect", "/traces", "/chat"}
    for path in sorted(paths - kept | others):
        filled = path.replace("{pipeline_name}", "lexical").replace("{model}", "lexical")
        for method in ("GET", "POST", "DELETE"):
            response = law_service.client.request(method, filled)
            assert response.status_code == 404, (method, path)
            assert response.json()["error"] == "not_found"


def test_no_web_page_of_another_site_may_call_it(law_service: Any):
    headers = {"Origin": "https://example.com"}
    response = law_service.client.post("/lexical/run", json=QUESTION, headers=headers)
    assert "access-control-allow-origin" not in response.headers
    preflight = law_service.client.options(
        "/lexical/run", headers={**headers, "Access-Control-Request-Method": "POST"}
    )
    assert preflight.status_code == 405


@pytest.mark.parametrize("path", ["/lexical/run/", "/health/", "/status/lexical/"])
def test_what_is_almost_an_address_is_none(law_service: Any, path: str):
    response = law_service.client.post(path, json=QUESTION)
    assert (response.status_code, response.json()["error"]) == (404, "not_found")


@pytest.mark.parametrize("path", ["/health", "/ready", "/metrics"])
def test_probes_may_ask_for_the_head_alone(law_service: Any, path: str):
    response = law_service.client.head(path)
    assert (response.status_code, response.content) == (200, b"")


def test_a_wrong_method_is_told_which_one_is_right(law_service: Any):
    response = law_service.client.get("/lexical/run")
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"
    assert response.json()["error"] == "method_not_allowed"
