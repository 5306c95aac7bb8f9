"""Logs: one JSON object a line on standard error, without a word of any question."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime

# They bring handlers of their own.
_OVERRULED = ("uvicorn", "uvicorn.error", "uvicorn.access", "fastapi", "haystack")


class JsonLines(logging.Formatter):
    """A record as one line of JSON: time, level, message, and the record's `fields`.

    What a library says goes in with its first line alone, and an exception with its kind and place
    alone: what follows may quote a question.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        told = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage().partition("\n")[0],
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0]:
            told["exception"] = record.exc_info[0].__name__
            told["place"] = "".join(traceback.format_tb(record.exc_info[2]))
        return json.dumps(told, ensure_ascii=False, default=str)


def log_as_json() -> None:
    """Have every log of this process written as JSON lines on standard error.

    Lexarbor's own from INFO, those of libraries from WARNING.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    for name in _OVERRULED:
        logger = logging.getLogger(name)
        logger.handlers = []
        logger.propagate = True
        logger.setLevel(logging.NOTSET)
    logging.getLogger("pipelines").setLevel(logging.INFO)
