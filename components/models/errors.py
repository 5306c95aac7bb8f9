"""Errors of models and vectors, and records that are checked when they are read."""

from __future__ import annotations

from typing import TypeVar

Record = TypeVar("Record")


class ModelError(ValueError):
    """A model cannot be found, opened, trusted or written; the message says what to do."""


class VectorError(ValueError):
    """A vector cannot be searched: not finite, of length zero, or of another width."""


def parsed_record(kind: type[Record], text: str) -> Record:
    """A dataclass from JSON text that came from outside.

    Args:
        kind: The dataclass; its `__pydantic_config__` says how strict the check is.
        text: A JSON object with its fields.

    Raises:
        ValueError: Names the first invalid field.
    """
    # Imported here: it takes a tenth of a second, which a command's --help should not pay.
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(kind).validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(each) for each in first["loc"])
        raise ValueError(f"field '{field}': {first['msg']}" if field else first["msg"]) from error
