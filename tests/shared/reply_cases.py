"""The tables of the tests of replies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

_TABLES = yaml.safe_load(Path(__file__).with_name("replies.yaml").read_text("utf-8"))


def cases(test: str) -> list[Any]:
    """The rows of a test's table in replies.yaml."""
    return _TABLES[test]
