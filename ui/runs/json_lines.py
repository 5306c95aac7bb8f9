"""JSON files that anyone may have written, damaged or left half done: read as far as they go."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SHOWN_CHARACTERS = 300
_HIGHEST = 10**12


@dataclass(frozen=True)
class Lines:
    """What was found in a file of one JSON object a line.

    Attributes:
        objects: of the lines that hold one.
        damaged: how many lines do not.
        cut: whether there is more than was read.
        missing: whether there is no file that can be read.
    """

    objects: tuple[dict[str, Any], ...] = ()
    damaged: int = 0
    cut: bool = False
    missing: bool = False


def stamp_of(path: Path) -> tuple[int, int] | None:
    """Time and size of a file, which tell a new content from an old; None where there is none."""
    try:
        found = path.stat()
    except (OSError, ValueError):  # the latter for a path with a null byte
        return None
    return found.st_mtime_ns, found.st_size


def read_lines(path: Path, limit: int, most: int | None = None) -> Lines:
    """Read a file of one JSON object a line.

    Args:
        path: of the file.
        limit: bytes that are read at most; a line that goes on behind them is left out.
        most: lines that are read at most; all where it is None.
    """
    content = _content(path, limit + 1)
    if content is None:
        return Lines(missing=True)
    cut = len(content) > limit
    lines = content[:limit].split(b"\n")
    if cut:
        lines.pop()
    objects: list[dict[str, Any]] = []
    damaged = 0
    for line in lines:
        if not line.strip():
            continue
        if len(objects) + damaged == most:
            cut = True
            break
        value = _object(line)
        if value is None:
            damaged += 1
        else:
            objects.append(value)
    return Lines(tuple(objects), damaged, cut)


def read_object(path: Path, limit: int) -> dict[str, Any]:
    """The JSON object that a file holds; empty where it holds none, or is longer than `limit`."""
    content = _content(path, limit + 1)
    return (_object(content) or {}) if content is not None and len(content) <= limit else {}


def mapping(value: Any) -> dict[str, Any]:
    """A JSON object; an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def items(value: Any, most: int) -> list[Any]:
    """The first of a JSON array; none of anything else."""
    return value[:most] if isinstance(value, list) else []


def number(value: Any) -> float | None:
    """A number, or None where it is none or beyond anything that is measured here."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < _HIGHEST else None


def whole(value: Any) -> int | None:
    """A whole number from 0 on, or None."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < _HIGHEST else None


def text(value: Any) -> str:
    """A text, cut to what can be shown; "" in place of anything else."""
    return value[:_SHOWN_CHARACTERS] if isinstance(value, str) else ""


def _content(path: Path, most: int) -> bytes | None:
    try:
        # A pipe would be waited for.
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return file.read(most)
    except OSError:
        return None


def _object(content: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
