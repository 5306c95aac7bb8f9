"""What clients send and get, as OpenAPI describes it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from components.retrievers.validity import ANY, TODAY
from components.statutes.article import iso_day
from pipelines.files import did_you_mean
from pipelines.serving.limits import MAX_FILTER_VALUES, MAX_QUESTION_CHARS, MAX_TOP_K

# Of a body that is wrong through and through.
_LONGEST_NAME = 100
_MOST_ERRORS = 10

# By field of RunRequest: what is said when its value is refused.
_RULES = {
    "query": f"must be text of 1 to {MAX_QUESTION_CHARS:,} characters",
    "top_k": f"must be a whole number from 1 to {MAX_TOP_K}",
    "filters": "must be an object in Haystack's filter syntax, with at most "
    f"{MAX_FILTER_VALUES} values in all",
    "as_of": "must be 'today', 'any' or a date, written as 2024-12-31",
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
    # pydantic alone would also take numbers, as seconds since 1970, in texts too.
    if value in (TODAY, ANY):
        return value
    if isinstance(value, str):
        return iso_day(value)
    if value is None:
        return None
    raise ValueError("no text")


def _few_values(filters: dict[str, Any] | None) -> dict[str, Any] | None:
    # A store turns every one into a term of its query, and has a limit of its own for that.
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


class RunRequest(BaseModel):
    """A question to a pipeline."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": list(REQUEST_EXAMPLES)}
    )

    query: str = Field(
        description="The question, in plain words.",
        min_length=1,
        max_length=MAX_QUESTION_CHARS,
        strict=True,
    )
    top_k: int | None = Field(
        None,
        description="How many articles at most; the pipeline's own number if left out.",
        ge=1,
        le=MAX_TOP_K,
        strict=True,
    )
    filters: Annotated[dict[str, Any] | None, AfterValidator(_few_values)] = Field(
        None,
        description="Haystack filters over the articles' metadata (law, number, language, "
        "valid_from, valid_to ...): {field, operator, value}, or {operator: AND | OR | NOT, "
        "conditions: [...]}.",
    )
    as_of: Annotated[date | Literal["today", "any"] | None, BeforeValidator(_only_iso)] = Field(
        None,
        description="Only what was in force on this day, and articles whose state is unknown. "
        '"any" searches all, whenever it was in force; left out, it is today.',
    )


class FoundArticle(BaseModel):
    """An article that was found."""

    model_config = ConfigDict(extra="allow")

    id: str = Field(description="Unique in the corpus.")
    law: str = Field(description="The code or act in which it stands.")
    number: str = Field(description="As printed.")
    headings: list[str] = Field(description="Divisions above it, from the top.")
    content: str = Field(description="The article's words.")
    score: float | None = Field(
        description="Comparable within one answer only. The list is in its order by itself: where "
        "a re-ranker's scores and the order before it both count, scores need not fall."
    )
    ranks: dict[str, int] = Field(description="Its rank, from 1, in each stage that found it.")
    state: str = Field(
        description='On the day of the answer: "in force", "repealed", "not yet in force" or '
        '"unknown".'
    )
    language: str | None = Field(None, description="BCP 47.")
    valid_from: str | None = Field(None, description="ISO date.")
    valid_to: str | None = Field(None, description="ISO date.")
    source_url: str | None = Field(None, description="The official text.")
    passage: dict[str, Any] | None = Field(
        None, description="What a ranker found best of the content: characters start to end."
    )
    passages_read: list[dict[str, Any]] | None = Field(
        None, description="What a ranker read of the content, where it did not read the whole."
    )
    wordings: list[dict[str, Any]] | None = Field(
        None,
        description="The other wordings of the article, oldest first: id, valid_from and valid_to.",
    )
    neighbours: list[dict[str, Any]] | None = Field(
        None, description="Articles beside it in the law, of a pipeline that attaches them."
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
    left_out: list[dict[str, Any]] | None = Field(
        None,
        description="Articles that the question names and the filters or the day leave out: id, "
        "law, number, state and dates.",
    )
    answer: dict[str, Any] | None = Field(
        None, description="Of a pipeline that answers: the text and its checked citations."
    )


class ProblemAnswer(BaseModel):
    """Why a request has no answer."""

    error: str = Field(description="One word for programs.")
    detail: str = Field(description="What was wrong and how to mend it.")
    request_id: str = Field(description="Stands in the log too.")


def refused(errors: Sequence[Any]) -> str:
    """What a client is told of pydantic's errors: every field at fault, and nothing of its value.

    Args:
        errors: of a request for a `RunRequest`, as FastAPI lists them.
    """
    return " ".join(dict.fromkeys(_said(error) for error in errors[:_MOST_ERRORS]))


def _said(error: Any) -> str:
    kind, place = error["type"], error["loc"]
    if kind == "json_invalid":
        return f"The body is no JSON: see its character {int(place[-1]) + 1}."
    if len(place) < 2:
        return "The body must be a JSON object, sent with Content-Type: application/json."
    field = str(place[1])[:_LONGEST_NAME]
    if kind == "extra_forbidden":
        known = ", ".join(_RULES)
        return f"Unknown field '{field}'{did_you_mean(field, _RULES)}. The fields are {known}."
    if kind == "missing":
        return f"The field '{field}' is missing: it {_RULES[field]}."
    if kind == "string_too_long":
        length = len(error["input"])
        return (
            f"The question has {length:,} characters; at most {MAX_QUESTION_CHARS:,} are read. "
            "Ask it in fewer words."
        )
    if kind == "string_unicode":
        return (
            f"The field '{field}' holds half of a surrogate pair, such as \\ud800, which is no "
            "character. Take it out, or write the whole character in UTF-8."
        )
    return f"The field '{field}' {_RULES[field]}."
