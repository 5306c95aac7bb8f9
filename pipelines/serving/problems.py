"""Problems: every answer that is none, as JSON."""

from __future__ import annotations

import json
import logging
import re
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from haystack.errors import FilterError
from starlette.responses import Response

from components.models.errors import ModelError, VectorError
from components.statutes.question import QuestionError
from components.stores.rows import StoreError
from pipelines.files import LoadingError
from pipelines.serving import exchange
from pipelines.serving.gate import BusyError
from pipelines.serving.limits import BODY_LIMIT

RETRY_SECONDS = 2

_A_WORD = re.compile(r"[a-z]+[ ,:]")

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Problem:
    """Why a request has no answer.

    Attributes:
        status: HTTP status.
        error: one word for programs.
        detail: what was wrong and how to mend it, for people.
        retry: the same request may succeed in a moment.
        closes: the connection ends with the answer.
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
BUSY = Problem(
    503, "busy", "Everyone asks at once, and the queue is full. Ask again in a moment.", retry=True
)
NOT_READY = Problem(
    503,
    "not_ready",
    "Models and indexes are still being loaded. Ask again in a moment; GET /ready tells when.",
    retry=True,
)


def out_of_time(seconds: float) -> Problem:
    """The question took longer than it may."""
    return Problem(504, "timeout", f"There was no answer within {seconds:g} seconds. Ask again.")


def of_error(error: Exception) -> Problem:
    """What a client is told of an error while its question was answered.

    Lexarbor's own errors say what was wrong and how to mend it. Of any other only its id is told,
    which stands in the log with its kind and place: its message may quote the question.
    """
    if isinstance(error, QuestionError):
        return Problem(422, "question", _sentence(error))
    if isinstance(error, FilterError):
        return Problem(422, "filters", _sentence(error))
    if isinstance(error, LoadingError):
        return Problem(422, "not_supported", str(error))
    if isinstance(error, BusyError):
        return BUSY
    if isinstance(error, StoreError):
        return Problem(503, "store", str(error))
    if isinstance(error, ModelError):
        return Problem(503, "model", _sentence(error))
    if isinstance(error, VectorError):
        return Problem(500, "vectors", _sentence(error))
    return unknown(error)


def unknown(error: Exception) -> Problem:
    """Something failed that nobody foresaw: its kind and place are logged."""
    going = exchange.current.get()
    id_ = going.id if going else exchange.new_id()
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
    going = exchange.current.get()
    told: dict[str, Any] = {"error": problem.error, "detail": problem.detail}
    if going is not None:
        going.reason = problem.error
        told["request_id"] = going.id
    headers = {"Retry-After": str(RETRY_SECONDS)} if problem.retry else {}
    if problem.closes:
        headers["Connection"] = "close"
    return json_response(told, problem.status, headers)


def json_response(
    content: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """JSON in UTF-8; half a surrogate pair, which UTF-8 cannot write, becomes a question mark."""
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
