"""What the service's clients send and get: questions, articles, answers and problems."""

from __future__ import annotations

import json
import logging
import re
import traceback
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal

from haystack.errors import FilterError
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from starlette.responses import Response

from components.models.errors import ModelError, VectorError
from components.retrievers.validity import ANY, TODAY
from components.statutes.article import iso_day
from components.statutes.question import QuestionError
from components.statutes.replies.checked import Verdict
from components.stores.rows import StoreError
from pipelines.files import LoadingError, did_you_mean
from pipelines.serving import telemetry
from pipelines.serving.limits import (
    BODY_LIMIT,
    MAX_BATCH,
    MAX_FILTER_VALUES,
    MAX_QUESTION_CHARS,
    MAX_TEXT_CHARS,
    MAX_TOP_K,
    BusyError,
)

RETRY_SECONDS = 2

_A_WORD = re.compile(r"[a-z]+[ ,:]")

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Problem:
    """Why a request has no answer.

    Attributes:
        status: HTTP status.
        error: one word for programs.
        detail: what was wrong and what to do, for people.
        retry: whether the same request may succeed in a moment.
        closes: whether the connection ends with the answer.
    """

    status: int
    error: str
    detail: str
    retry: bool = False
    closes: bool = False


TOO_LARGE = Problem(
    413, "too_large", f"The request's body is longer than {BODY_LIMIT // 1024} KiB.", closes=True
)
SLOW_BODY = Problem(
    408, "slow_body", "The request's body did not come in time. Send it at once.", closes=True
)
OTHER_HOST = Problem(
    421,
    "other_host",
    "The service is asked under a name that is not its own. Ask 127.0.0.1 or localhost; a proxy "
    "sets the header Host to one of them (docs/serve.md).",
)
BUSY = Problem(503, "busy", "The server is at capacity. Try again in a moment.", retry=True)
NOT_READY = Problem(
    503,
    "not_ready",
    "Models and indexes are still being loaded. Ask again in a moment; GET /ready tells when.",
    retry=True,
)


# Lexarbor's own errors say what was wrong, where, and what to do.
_KNOWN: dict[type[Exception], tuple[int, str]] = {
    QuestionError: (422, "question"),
    FilterError: (422, "filters"),
    LoadingError: (422, "not_supported"),
    StoreError: (503, "store"),
    ModelError: (503, "model"),
    VectorError: (500, "vectors"),
}


def out_of_time(seconds: float) -> Problem:
    """The question took longer than it may."""
    return Problem(504, "timeout", f"There was no answer within {seconds:g} seconds. Ask again.")


def of_error(error: Exception) -> Problem:
    """The problem that a client gets for an error while its question was answered.

    For an unknown error it gets only the id under which the log has its type and place, since the
    error's message may quote the question.
    """
    if isinstance(error, BusyError):
        return BUSY
    for kind, (status, word) in _KNOWN.items():
        if isinstance(error, kind):
            # These begin with the name of a file, which must stay as it is.
            named = isinstance(error, LoadingError | StoreError)
            return Problem(status, word, str(error) if named else _sentence(error))
    return unknown(error)


def unknown(error: Exception) -> Problem:
    """The problem for an unexpected error, whose type and place are logged."""
    going = telemetry.current.get()
    id_ = going.id if going else telemetry.new_id()
    root: BaseException = error
    while root.__cause__ is not None:  # Haystack wraps what a component raises
        root = root.__cause__
    place = "".join(traceback.format_tb(root.__traceback__))
    _logger.error(
        "A request failed with %s",
        type(root).__name__,
        extra={"fields": {"request_id": id_, "place": place}},
    )
    return Problem(
        500,
        "internal",
        f"Something failed on our side. The log tells more under request_id {id_}.",
    )


def problem_response(problem: Problem) -> Response:
    """The problem as `{"error", "detail", "request_id"}`; remembers the reason."""
    going = telemetry.current.get()
    content: dict[str, Any] = {"error": problem.error, "detail": problem.detail}
    if going is not None:
        going.reason = problem.error
        content["request_id"] = going.id
    headers = {"Retry-After": str(RETRY_SECONDS)} if problem.retry else {}
    if problem.closes:
        headers["Connection"] = "close"
    return json_response(content, problem.status, headers)


def json_response(
    content: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """JSON in UTF-8; half a surrogate pair, which UTF-8 cannot encode, becomes a question mark."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(
        text.encode("utf-8", errors="replace"),
        status,
        dict(headers or {}),
        media_type="application/json",
    )


def _sentence(error: Exception) -> str:
    text = str(error)
    # A file's name at its start stays as it is.
    return text[:1].upper() + text[1:] if _A_WORD.match(text) else text


# What clients send and get, as OpenAPI describes it.

# Limit for a body in which everything is wrong.
_LONGEST_NAME = 100
_MOST_ERRORS = 10

# By field of a request: the message if its value is refused.
_RULES = {
    "queries": f"must be a list of 1 to {MAX_BATCH} questions, each text of 1 to "
    f"{MAX_QUESTION_CHARS:,} characters",
    "query": f"must be text of 1 to {MAX_QUESTION_CHARS:,} characters",
    "top_k": f"must be a whole number from 1 to {MAX_TOP_K}",
    "filters": "must be an object in Haystack's filter syntax, with at most "
    f"{MAX_FILTER_VALUES} values in all",
    "as_of": "must be 'today', 'any' or a date, written as 2024-12-31",
    "correct": "must be true or false",
    "id": "must be an article's id, of at most 500 characters",
    "citation": f"must be text of 1 to {MAX_QUESTION_CHARS:,} characters",
    "text": f"must be text of 1 to {MAX_TEXT_CHARS:,} characters",
}

REQUEST_EXAMPLES: tuple[dict[str, Any], ...] = (
    {"query": "My landlord will not mend the boiler. What can I do?"},
    {
        "query": "How long may an employer wait before paying wages?",
        "top_k": 3,
        "filters": {"field": "meta.language", "operator": "==", "value": "en"},
    },
    {"query": "May I sublet my flat?", "as_of": "2024-12-31"},
)


def _only_iso(value: object) -> object:
    # pydantic alone would also accept numbers, and text with numbers, as seconds since 1970.
    if value in (TODAY, ANY):
        return value
    if isinstance(value, str):
        return iso_day(value)
    if value is None:
        return None
    raise ValueError("no text")


def _few_values(filters: dict[str, Any] | None) -> dict[str, Any] | None:
    # A store turns every value into a term of its query, and limits their number.
    left: list[Any] = [filters]
    values = 0
    while left:
        each = left.pop()
        if isinstance(each, dict):
            left += [value for key, value in each.items() if key not in ("field", "operator")]
        elif isinstance(each, list):
            left += each
        else:
            values += 1
    if values > MAX_FILTER_VALUES:
        raise ValueError("too many values")
    return filters


Question = Annotated[
    str, Field(min_length=1, max_length=MAX_QUESTION_CHARS, strict=True, examples=["May I sublet?"])
]
TopK = Annotated[
    int | None,
    Field(
        description="How many articles at most; the pipeline's own number if left out.",
        ge=1,
        le=MAX_TOP_K,
        strict=True,
    ),
]
Filters = Annotated[
    dict[str, Any] | None,
    AfterValidator(_few_values),
    Field(
        description="Haystack filters over the articles' metadata (law, number, language, "
        "valid_from, valid_to ...), their division, state and in_force_on: {field, operator, "
        "value}, or {operator: AND | OR | NOT, conditions: [...]}. Those of the pipeline's file "
        "hold too.",
    ),
]
AsOf = Annotated[
    date | Literal["today", "any"] | None,
    BeforeValidator(_only_iso),
    Field(
        description="Only what was in force on this day, and articles whose state is unknown. "
        '"any" searches all, whenever it was in force; left out, it is today.',
    ),
]

Correct = Annotated[
    bool,
    Field(
        description="Whether words that the law does not have are searched in its spelling; if "
        "not, as they are written.",
        strict=True,
    ),
]


class RunRequest(BaseModel):
    """A question to a pipeline."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": list(REQUEST_EXAMPLES)}
    )

    query: Question = Field(description="The question, in plain words.")
    top_k: TopK = None
    filters: Filters = None
    as_of: AsOf = None
    correct: Correct = True


class BatchRequest(BaseModel):
    """Questions to a pipeline, all narrowed alike."""

    model_config = ConfigDict(extra="forbid")

    queries: list[Question] = Field(
        description="The questions, in plain words.", min_length=1, max_length=MAX_BATCH
    )
    top_k: TopK = None
    filters: Filters = None
    as_of: AsOf = None
    correct: Correct = True


class AuditRequest(BaseModel):
    """A text whose citations are to be checked."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(
        description="Plain text or Markdown, of a brief, a mail or a model's answer.",
        min_length=1,
        max_length=MAX_TEXT_CHARS,
        strict=True,
        examples=["Under Article 99 of the Housing Code the rent is due on the fifth."],
    )
    as_of: AsOf = None


class Article(BaseModel):
    """An article of the law."""

    model_config = ConfigDict(extra="allow")

    id: str = Field(description="Unique in the corpus.")
    law: str = Field(description="The code or act in which it stands.")
    number: str = Field(description="As printed.")
    headings: list[str] = Field(description="Divisions above it, from the top.")
    content: str = Field(description="The article's words.")
    state: str = Field(
        description='On the day of the answer: "in force", "repealed", "not yet in force" or '
        '"unknown".'
    )
    language: str | None = Field(None, description="BCP 47.")
    valid_from: str | None = Field(None, description="ISO date.")
    valid_to: str | None = Field(None, description="ISO date.")
    source_url: str | None = Field(None, description="The official text.")
    wordings: list[dict[str, Any]] | None = Field(
        None,
        description="The other wordings of the article, oldest first: id, valid_from and valid_to.",
    )
    neighbours: list[dict[str, Any]] | None = Field(
        None,
        description="Articles before and after it in the law, and those that it cites: id, law, "
        "number, headings and relation. Of a found article only where the pipeline attaches them.",
    )


class FoundArticle(Article):
    """An article that was found."""

    score: float | None = Field(
        description="Comparable within one answer only. The list is in its order by itself: where "
        "a re-ranker's scores and the order before it both count, scores need not fall."
    )
    ranks: dict[str, int] = Field(description="Its rank, from 1, in each stage that found it.")
    passage: dict[str, Any] | None = Field(
        None, description="What a ranker found best of the content: characters start to end."
    )
    passages_read: list[dict[str, Any]] | None = Field(
        None, description="What a ranker read of the content, where it did not read the whole."
    )


class RunAnswer(BaseModel):
    """What was found: the JSON of `python -m pipelines.ask --json`."""

    model_config = ConfigDict(extra="allow")

    question: str = Field(description="The question as it was read.")
    pipeline: str
    took_ms: float = Field(description="Milliseconds in the pipeline, without waiting.")
    documents: list[FoundArticle] = Field(description="Best first; empty if nothing was found.")
    as_of: date | None = Field(
        None, description="The day of the law that was searched; absent where all of it was."
    )
    ranking: dict[str, int] | None = Field(
        None, description="Of a pipeline with a ranker: n_candidates, and n_ranked in its time."
    )
    missing: list[str] | None = Field(
        None, description="Articles that the question names and the store does not hold."
    )
    not_followed: list[str] | None = Field(
        None,
        description="Citations that were not looked up in full: the question has too many, or a "
        "range is too long.",
    )
    corrections: dict[str, str] | None = Field(
        None,
        description="Words of the question that were searched in another spelling, as asked and as "
        "searched.",
    )
    left_out: list[dict[str, Any]] | None = Field(
        None,
        description="Articles that the question names and the filters or the day leave out: id, "
        "law, number, state and dates.",
    )
    answer: dict[str, Any] | None = Field(
        None, description="Of a pipeline that answers: the text and its checked citations."
    )


class Failure(BaseModel):
    """Why one question of a batch has no answer."""

    error: str = Field(description="One word for programs.")
    detail: str = Field(description="What was wrong and how to fix it.")


class WrittenAnswer(BaseModel):
    """The answer of a pipeline that answers, without the articles that it was made from."""

    question: str = Field(description="The question as it was read.")
    pipeline: str
    took_ms: float = Field(description="Milliseconds in the pipeline, without waiting.")
    answer: dict[str, Any] = Field(
        description="`text`; `state`: generated, verbatim or nothing found; `statements`, each "
        "with its `citations` and `quotations` and the verdict on each; `sources`, the articles "
        "by their numbers in the text; `closest`; `notices`."
    )


class BatchAnswer(BaseModel):
    """The answers to a batch, in the order of its questions."""

    answers: list[RunAnswer | Failure]


class CitedArticles(BaseModel):
    """The articles that a citation names."""

    citation: str = Field(description="As it was read.")
    articles: list[Article] = Field(
        description="One where the citation is clear; else all that fit it, in the law's order."
    )
    missing: list[str] = Field(description="What the store does not hold, in the citation's words.")
    left_out: list[dict[str, Any]] = Field(
        description="Articles that the citation names and the day or the pipeline's filters leave "
        "out: id, law, number, state and dates."
    )


class CheckedCitation(BaseModel):
    """A citation of a text, with its verdict."""

    model_config = ConfigDict(extra="forbid")

    start: int = Field(description="Where it begins in the text, in characters.")
    end: int = Field(description="Where it ends.")
    text: str
    verdict: Verdict = Field(
        description="verified: the article exists and was in force, as far as its dates tell. It "
        "does not mean that the article supports the sentence."
    )
    false: bool = Field(description="Whether the verdict speaks against it.")
    ids: list[str] = Field(description="The articles that it names, as in `articles`.")
    law: str | None = Field(None, description="The law that it names, where known.")
    why: str | None = Field(None, description="What speaks against it.")


class AuditAnswer(BaseModel):
    """The JSON of `python -m pipelines.audit --json`."""

    citations: list[CheckedCitation] = Field(description="In the order of the text.")
    counts: dict[str, int] = Field(description='By verdict; always with "not checked".')
    articles: dict[str, dict[str, Any]] = Field(
        description="Those cited, by id: law, number, headings, text, and where known valid_from, "
        "valid_to and source_url."
    )


class Law(BaseModel):
    """A law of the collection."""

    law: str
    articles: int = Field(description="How many it has, in all wordings.")
    languages: list[str] = Field(description="BCP 47, where known.")


class Laws(BaseModel):
    """The laws of the collection, in its order."""

    laws: list[Law]


class Up(BaseModel):
    """The process is up."""

    status: Literal["up"]


class Status(BaseModel):
    """What is served."""

    status: Literal["Up!"]
    pipelines: list[str] = Field(description="Their names.")


class Readiness(BaseModel):
    """Whether questions are answered."""

    status: Literal["ready", "starting", "store"] = Field(
        description='"store": a store cannot be read, or holds no article.'
    )
    pipelines: list[str] = Field(description="Their names.")


class ProblemAnswer(BaseModel):
    """Why a request has no answer."""

    error: str = Field(description="One word for programs.")
    detail: str = Field(description="What was wrong and how to fix it.")
    request_id: str = Field(description="Also in the log.")


def refused(errors: Sequence[Any], fields: Collection[str]) -> str:
    """The message for pydantic's errors: every invalid field, but never its value.

    Args:
        errors: of a request, as FastAPI lists them.
        fields: those of a body sent to this address.
    """
    return " ".join(dict.fromkeys(_message(error, fields) for error in errors[:_MOST_ERRORS]))


def _message(error: Any, fields: Collection[str]) -> str:
    kind, place = error["type"], error["loc"]
    if kind == "json_invalid":
        return f"The body is not JSON: see its character {int(place[-1]) + 1}."
    if len(place) < 2:
        return "The body must be a JSON object, sent with Content-Type: application/json."
    field = str(place[1])[:_LONGEST_NAME]
    if kind == "extra_forbidden":
        known = ", ".join(fields)
        return f"Unknown field '{field}'{did_you_mean(field, fields)}. The fields are {known}."
    if kind == "missing":
        return f"The field '{field}' is missing: it {_RULES[field]}."
    if kind == "string_too_long":
        length, most = len(error["input"]), error["ctx"]["max_length"]
        return f"The field '{field}' has {length:,} characters; at most {most:,} are read."
    if kind == "string_unicode":
        return (
            f"The field '{field}' holds half of a surrogate pair, such as \\ud800, which is not a "
            "character. Take it out, or write the whole character in UTF-8."
        )
    return f"The field '{field}' {_RULES[field]}."
