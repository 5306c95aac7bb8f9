"""The tables of the tests of replies."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml


def cases(test: str) -> list[Any]:
    """The rows of a test's table in replies.yaml."""
    rows: list[Any] = _tables()[test]
    return rows


@cache
def _tables() -> dict[str, list[Any]]:
    text = Path(__file__).with_name("replies.yaml").read_text(encoding="utf-8")
    tables: dict[str, list[Any]] = yaml.safe_load(text)
    return tables
