"""One request and what becomes of it, as logs and metrics tell it."""

from __future__ import annotations

import re
import uuid
from contextvars import ContextVar
from dataclasses import dataclass, field

# A proxy's id is kept, so that both logs can be joined; anything that could be prose is not.
_FOREIGN_ID = re.compile(r"[0-9a-fA-F-]{8,64}")


def new_id() -> str:
    """An id for a request."""
    return uuid.uuid4().hex


@dataclass
class Exchange:
    """What may be told of a request: nothing of its words.

    Attributes:
        id: its own, or the one that a proxy gave it.
        pipeline: which one is asked; None for other requests.
        documents: number of articles found, of a question that was answered.
        reason: why it was refused or failed, as `Problem.error` names it.
    """

    id: str = field(default_factory=new_id)
    pipeline: str | None = None
    documents: int | None = None
    reason: str | None = None


current: ContextVar[Exchange | None] = ContextVar("exchange", default=None)


def id_from(header: str | None) -> str:
    """The id in a request's header X-Request-ID where it is one, else a new one."""
    return header if header and _FOREIGN_ID.fullmatch(header) else new_id()
