"""What the service's clients send and get: questions, articles, answers and problems."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal

from fastapi.exceptions import RequestValidationError
from haystack.errors import FilterError
from pydantic import AfterValidator, AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from components.models.folder import ModelError, VectorError
from components.retrievers.validity import ANY, TODAY
from components.statutes.article import iso_day
from components.statutes.question import QuestionError
from components.statutes.replies.auditing import Verdict
from components.stores.database import StoreError
from pipelines.checking import LoadingError
from pipelines.serving import limits, metrics
from pipelines.serving.limits import BusyError
from pipelines.serving.reading import NotHeldError

CLOSE = {"Connection": "close"}
RETRY_SECONDS = 2
RETRY = {"Retry-After": str(RETRY_SECONDS)}
# nginx's status for a client that closed the connection before the answer.
CLIENT_GONE = 499

# Limits for the message about a body in which everything is wrong.
_LONGEST_NAME = 100
_MOST_ERRORS = 10

_logger = logging.getLogger(__name__)


class ServiceError(Exception):
    """Why a request has no answer.

    Args:
        status: HTTP status.
        error: one word for programs.
        detail: what was wrong and what to do, for people.
        headers: of the response.
    """

    def __init__(
        self, status: int, error: str, detail: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.error = error
        self.detail = detail
        self.headers = dict(headers or {})


# Lexarbor's own errors say what was wrong, where, and what to do.
_KNOWN: dict[type[Exception], tuple[int, str]] = {
    BusyError: (503, "busy"),
    QuestionError: (422, "question"),
    FilterError: (422, "filters"),
    NotHeldError: (404, "not_found"),
    LoadingError: (422, "not_supported"),
    StoreError: (503, "store"),
    ModelError: (503, "model"),
    VectorError: (500, "vectors"),
}
_HTTP_PROBLEMS = {
    404: ("not_found", "There is nothing at this address. GET /status names the pipelines."),
    405: ("method_not_allowed", "This address does not take this method."),
}
# For a body that cannot be parsed as JSON.
_UNREADABLE = ("invalid_request", "The request could not be read. Send a JSON object, in UTF-8.")


def problem_of(error: Exception) -> ServiceError:
    """The problem that a client gets for an error.

    For an unknown error it gets only the id under which the log has its type and place, since the
    error's message may quote the question.
    """
    if isinstance(error, ServiceError):
        return error
    if isinstance(error, RequestValidationError) and isinstance(error.body, bytes):
        detail = "Send JSON with the header Content-Type: application/json."
        return ServiceError(422, "invalid_request", detail)
    if isinstance(error, RequestValidationError):
        found = [_message(each) for each in error.errors()[:_MOST_ERRORS]]
        return ServiceError(422, "invalid_request", " ".join(dict.fromkeys(found)))
    if isinstance(error, ClientDisconnect):
        return ServiceError(CLIENT_GONE, "client_gone", "The client has disconnected.")
    if isinstance(error, HTTPException):
        word, detail = _HTTP_PROBLEMS.get(error.status_code, _UNREADABLE)
        return ServiceError(error.status_code, word, detail, error.headers)
    for kind, (status, word) in _KNOWN.items():
        if isinstance(error, kind):
            return ServiceError(status, word, str(error), RETRY if kind is BusyError else None)
    going = metrics.current.get()
    id_ = going.id if going else ""
    root: BaseException = error
    while root.__cause__ is not None:  # Haystack wraps what a component raises
        root = root.__cause__
    place = "".join(traceback.format_tb(root.__traceback__))
    fields = {"request_id": id_, "place": place}
    _logger.error("A request failed with %s", type(root).__name__, extra={"fields": fields})
    detail = f"Something failed on our side. The log tells more under request_id {id_}."
    return ServiceError(500, "internal", detail)


def _message(error: Any) -> str:
    """Where and why a request is wrong, without repeating its content."""
    place = ".".join(str(part)[:_LONGEST_NAME] for part in error["loc"])
    return f"{place}: {error['msg'].removeprefix('Value error, ')}."


def failure_of(error: Exception) -> dict[str, str]:
    """An error within an answer: of one question of a batch, or of a stream that has begun."""
    problem = problem_of(error)
    return {"error": problem.error, "detail": problem.detail}


def problem_response(error: Exception) -> Response:
    """An error as `{"error", "detail", "request_id"}`; remembers the reason for the log."""
    problem = problem_of(error)
    content = {"error": problem.error, "detail": problem.detail}
    going = metrics.current.get()
    if going is not None:
        going.reason = problem.error
        content["request_id"] = going.id
    return json_response(content, problem.status, problem.headers)


def json_response(
    content: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """JSON in UTF-8; half a surrogate pair, which UTF-8 cannot encode, becomes a question mark."""
    return Response(encoded(content), status, headers, media_type="application/json")


def encoded(content: Mapping[str, Any]) -> bytes:
    """One line of JSON."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", errors="replace")


# What clients send and get, as OpenAPI describes it: the text below a field is its description.


def _only_day(value: object, *, also: str = "") -> object:
    # pydantic alone would also accept numbers, and text with numbers, as seconds since 1970.
    if value is None:
        return None
    try:
        return iso_day(value if isinstance(value, str) else "")
    except ValueError:
        raise ValueError(f"must be {also}a date, written as 2024-12-31") from None


def _only_iso(value: object) -> object:
    return value if value in (TODAY, ANY) else _only_day(value, also=f"'{TODAY}', '{ANY}' or ")


def _few_values(filters: dict[str, Any] | None) -> dict[str, Any] | None:
    # A store turns every value into a term of its query, and limits their number.
    left: list[Any] = [filters]
    values = 0
    while left:
        each = left.pop()
        if isinstance(each, dict):
            left += each.values()
        elif isinstance(each, list):
            left += each
        else:
            values += 1
    if values > limits.MAX_FILTER_VALUES:
        raise ValueError(f"must have at most {limits.MAX_FILTER_VALUES} values in all")
    return filters


Question = Annotated[
    str, Field(min_length=1, max_length=limits.MAX_QUESTION_CHARS, examples=["May I sublet?"])
]
AsOf = Annotated[date | Literal["today", "any"] | None, BeforeValidator(_only_iso)]
Day = Annotated[date | None, BeforeValidator(_only_day)]


class _RequestModel(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class _SearchRequest(_RequestModel):
    top_k: int | None = Field(None, ge=1, le=limits.MAX_TOP_K, strict=True)
    """How many articles at most; the pipeline's own number if left out."""
    filters: Annotated[dict[str, Any] | None, AfterValidator(_few_values)] = None
    """Haystack filters over the articles' metadata (law, number, language, valid_from, valid_to
    ...), their division, state and in_force_on: {field, operator, value}, or {operator: AND | OR |
    NOT, conditions: [...]}. Those of the pipeline's file hold too."""
    as_of: AsOf = None
    """Only what was in force on this day, and articles whose state is unknown. "any" searches all,
    whenever it was in force; left out, it is today."""
    correct: bool = Field(True, strict=True)
    """Whether words that the law does not have are searched in its spelling; if not, as they are
    written."""
    expand: bool = Field(True, strict=True)
    """Whether what people say, by the store's list of lay words, is searched in the law's words
    too."""
    jurisdiction: str | None = Field(None, examples=["us/or/portland"])
    """A place, such as us/or/portland: its law is searched, that of the places above it (us/or and
    us), and articles without a jurisdiction."""

    @property
    def options(self) -> dict[str, Any]:
        """All but the question, as arguments of `pipelines.asking`."""
        return {name: getattr(self, name) for name in _SearchRequest.model_fields}


class RunRequest(_SearchRequest):
    """A question to a pipeline."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"query": "May I sublet?", "top_k": 3}]}
    )

    query: Question = Field(validation_alias=AliasChoices("query", "question"))
    """The question, in plain words; it may be called `question` too."""


class BatchRequest(_SearchRequest):
    """Questions to a pipeline, all narrowed alike."""

    # An empty one is answered with its error, as the others are with articles.
    queries: list[Annotated[str, Field(max_length=limits.MAX_QUESTION_CHARS)]] = Field(
        validation_alias=AliasChoices("queries", "questions"),
        min_length=1,
        max_length=limits.MAX_BATCH,
    )
    """The questions, in plain words; they may be called `questions` too."""


class AuditRequest(_RequestModel):
    """A text whose citations are to be checked."""

    text: str = Field(
        min_length=1,
        max_length=limits.MAX_TEXT_CHARS,
        strict=True,
        examples=["Under Article 99 of the Housing Code the rent is due on the fifth."],
    )
    """Plain text or Markdown, of a brief, a mail or a model's answer."""
    as_of: AsOf = None
    """The day on which the law should be in force; left out, it is today."""


class _ResponseModel(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)


class Article(_ResponseModel):
    """An article of the law."""

    model_config = ConfigDict(extra="allow")

    id: str
    """Unique in the corpus."""
    law: str
    """The code or act in which it stands."""
    number: str
    """As printed."""
    headings: list[str]
    """Divisions above it, from the top."""
    content: str
    """The article's words."""
    state: str
    """On the day of the answer: "in force", "repealed", "not yet in force" or "unknown"."""
    language: str | None = None
    """BCP 47."""
    valid_from: str | None = None
    """ISO date."""
    valid_to: str | None = None
    """ISO date."""
    source_url: str | None = None
    """The official text."""
    jurisdiction: str | None = None
    """Whose law it is, such as us/or/portland."""
    earlier_text: str | None = None
    """Of an article not yet in force, whether it had another text before: "held" (among
    `wordings`), "not held", "none" or "unknown"."""
    wordings: list[dict[str, Any]] | None = None
    """The other wordings of the article, oldest first: id, valid_from and valid_to."""
    neighbours: list[dict[str, Any]] | None = None
    """Articles before and after it in the law, and those that it cites: id, law, number, headings
    and relation. Of a found article only where the pipeline attaches them."""
    replaced_by: dict[str, str] | None = None
    """Of a repealed article, the one in its place, where the law shows it: id, law, number."""
    next_offset: int | None = None
    """Where the next piece begins, of an article that is read in pieces; absent in the last."""
    definitions: list[dict[str, Any]] | None = None
    """Of terms that it uses and its law defines, at most five: term, text (its definition), id,
    law, number and anchor of what defines it, scope if that is not the whole law, and used_in, the
    id of the article."""


class FoundArticle(Article):
    """An article that was found."""

    score: float | None
    """Comparable within one answer only. The order of the list counts: where it combines a
    re-ranker's scores with the order before it, scores need not fall."""
    ranks: dict[str, int]
    """Its rank, from 1, in each stage that found it."""
    passage: dict[str, Any] | None = None
    """The passage that a ranker found best: start and end, in characters of the content."""
    passages_read: list[dict[str, Any]] | None = None
    """What a ranker read of the content, where it did not read the whole."""
    passages: list[dict[str, Any]] | None = None
    """The paragraphs that may decide, best first: anchor, text with its exceptions, start and end
    in characters of the content, score from 0 to 1, and whether it is complete."""


class _QuestionResponse(_ResponseModel):
    question: str
    """The question as it was read."""
    pipeline: str
    took_ms: float
    """Milliseconds in the pipeline, without waiting."""


class RunAnswer(_QuestionResponse):
    """What was found: the JSON of `python -m pipelines.ask --json`."""

    model_config = ConfigDict(extra="allow")

    documents: list[FoundArticle]
    """Best first; empty if nothing was found."""
    as_of: date | None = None
    """The day of the law that was searched; absent where all of it was."""
    ranking: dict[str, int] | None = None
    """Of a pipeline with a ranker: n_candidates, and n_ranked in its time."""
    missing: list[str] | None = None
    """Articles that the question names and the store does not hold."""
    not_followed: list[str] | None = None
    """Citations that were not looked up in full: the question has too many, or a range is too
    long."""
    corrections: dict[str, str] | None = None
    """Words of the question that were searched in another spelling, as asked and as searched."""
    searches: list[str] | None = None
    """What was searched besides the question, as a generator wrote it."""
    not_rewritten: str | None = None
    """Why the question alone was searched, where a generator was to write searches."""
    expansions: dict[str, list[str]] | None = None
    """What people say, by the store's list of lay words, and the phrases of the law that were
    searched too."""
    left_out: list[dict[str, Any]] | None = None
    """Articles that the question names and the filters or the day leave out: id, law, number, state
    and dates; and `replaced_by`, the article in the place of a repealed one, where known."""
    definitions: list[dict[str, Any]] | None = None
    """Of terms that the first articles use and their law defines, at most five; as in an
    article."""
    guide: dict[str, Any] | None = None
    """What to do, if one of the store's guides fits: title, answer (null if the law under it has
    changed; `changed` says since when), steps with their articles and deadlines, contacts, urgent,
    reviewed."""
    situations: list[dict[str, str]] | None = None
    """Where no guide is certain, those that the question may be about, at most three, best first:
    id, language, title, and `question`; asked that, the pipeline gives the guide."""
    answer: dict[str, Any] | None = None
    """Of a pipeline that answers: the text and its checked citations."""


class WrittenAnswer(_QuestionResponse):
    """The answer of a pipeline that answers, without the articles that it was made from."""

    answer: dict[str, Any]
    """`text`; `state`: generated, verbatim or nothing found; `statements`, each with its
    `citations` and `quotations` and the verdict on each; `sources`, the articles by their numbers
    in the text; `closest`; `notices`."""


class Failure(_ResponseModel):
    """Why one question of a batch has no answer."""

    error: str
    """One word for programs."""
    detail: str
    """What was wrong and how to fix it."""


class ProblemAnswer(Failure):
    """Why a request has no answer."""

    request_id: str
    """Also in the log."""


class BatchAnswer(_ResponseModel):
    """The answers to a batch."""

    answers: list[RunAnswer | Failure]
    """In the order of its questions."""


class CitedArticles(_ResponseModel):
    """The articles that a citation names."""

    citation: str
    """As it was read; of a law and a number, the two."""
    articles: list[Article]
    """One where the citation is clear; else all that fit it, in the law's order."""
    missing: list[str]
    """What the store does not hold, in the citation's words."""
    left_out: list[dict[str, Any]]
    """Articles that the citation names and the day or the pipeline's filters leave out: id, law,
    number, state and dates; and `replaced_by`, the article in the place of a repealed one, where
    known."""


class Changes(_ResponseModel):
    """The JSON of `python -m pipelines.diff --json`."""

    law: str | None = None
    number: str | None = None
    """As printed."""
    before: dict[str, str] | None = None
    """The earlier wording: id, valid_from and valid_to; absent where two are not compared."""
    after: dict[str, str] | None = None
    """The later one."""
    rows: list[list[dict[str, str]]] | None = None
    """Lines side by side, as segments: `kind` (same, deleted, inserted) and `text`."""
    replaced_by: dict[str, str] | None = None
    """Of a repealed article, the one in its place: id, law, number."""
    note: str | None = None
    """Why there is nothing to compare, or what else there is to know."""


class CheckedCitation(_ResponseModel):
    """A citation of a text, with its verdict."""

    model_config = ConfigDict(extra="forbid")

    start: int
    """Where it begins in the text, in characters."""
    end: int
    """Where it ends."""
    text: str
    verdict: Verdict
    """verified: the article exists and was in force, as far as its dates tell. It does not mean
    that the article supports the sentence."""
    false: bool
    """Whether the verdict speaks against it."""
    ids: list[str]
    """The articles that it names, as in `articles`."""
    law: str | None = None
    """The law that it names, where known."""
    why: str | None = None
    """What speaks against it."""


class AuditAnswer(_ResponseModel):
    """The JSON of `python -m pipelines.audit --json`."""

    citations: list[CheckedCitation]
    """In the order of the text."""
    counts: dict[str, int]
    """By verdict; always with "not checked"."""
    articles: dict[str, dict[str, Any]]
    """Those cited, by id: law, number, headings, text, and where known valid_from, valid_to and
    source_url."""


class Law(_ResponseModel):
    """A law of the collection."""

    law: str
    articles: int
    """How many it has, in all wordings."""
    languages: list[str]
    """BCP 47, where known."""
    jurisdictions: list[str]
    """Whose law it is, where known, such as us/or/portland."""


class Laws(_ResponseModel):
    """The laws of the collection, in its order."""

    laws: list[Law]


class Up(_ResponseModel):
    """The process is up."""

    status: Literal["up"]


class Status(_ResponseModel):
    """What is served."""

    status: Literal["Up!"]
    pipelines: list[str]
    """Their names."""


class Readiness(_ResponseModel):
    """Whether questions are answered."""

    status: Literal["ready", "starting", "store"]
    """`store`: a store cannot be read, or holds no article."""
    pipelines: list[str]
    """Their names."""
