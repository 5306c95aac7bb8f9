"""The description of the service at /openapi.json."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from pipelines.serving.limits import BODY_LIMIT, MAX_QUESTION_CHARS
from pipelines.serving.schema import REQUEST_EXAMPLES, ProblemAnswer, RunAnswer

_SUMMARIES = ("a question", "fewer articles, filtered", "the law of a day")

_PROBLEMS = {
    408: "The body did not come in time.",
    413: f"The body is longer than {BODY_LIMIT // 1024} KiB.",
    421: "The header Host names another machine.",
    422: f"The request is wrong: an unknown field, a value out of range, a question of more than "
    f"{MAX_QUESTION_CHARS:,} characters, filters that are none.",
    500: "Something failed that nobody foresaw; the log tells more under the request_id.",
    503: "The queue is full, models are still being loaded, the store or the model cannot be read, "
    "or the store holds no article. Retry-After tells when to ask again, where that helps.",
    504: "There was no answer in time.",
}


def describe_answers(app: FastAPI, pipelines: Collection[str]) -> None:
    """Add to the application's description what hayhooks does not know of its run routes.

    That is the answers, which hayhooks sends on as they are, the problems, and examples.
    """
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = plain()
            for path in schema["paths"].values():
                for operation in path.values():
                    # FastAPI's description of a refusal, which is not what we send.
                    operation["responses"].pop("422", None)
            for name in pipelines:
                _describe(schema["paths"][f"/{name}/run"]["post"], name)
            _, models = models_json_schema(
                [(RunAnswer, "serialization"), (ProblemAnswer, "serialization")],
                ref_template="#/components/schemas/{model}",
            )
            schema["components"]["schemas"] |= models["$defs"]
            for unused in ("HTTPValidationError", "ValidationError"):
                schema["components"]["schemas"].pop(unused, None)
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's own way of extending it


def _describe(operation: dict[str, Any], name: str) -> None:
    operation["summary"] = f"Ask the pipeline '{name}'"
    operation["requestBody"]["content"]["application/json"]["examples"] = {
        summary: {"summary": summary.capitalize(), "value": example}
        for summary, example in zip(_SUMMARIES, REQUEST_EXAMPLES, strict=True)
    }
    operation["responses"] = {
        "200": _answer("The articles that answer the question, best first.", "RunAnswer"),
        **{str(status): _answer(said, "ProblemAnswer") for status, said in _PROBLEMS.items()},
    }


def _answer(description: str, model: str) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{model}"}
    return {"description": description, "content": {"application/json": {"schema": schema}}}
