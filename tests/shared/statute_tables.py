"""The tables of the tests in tests/components/statutes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

_FOLDER = Path(__file__).parents[1] / "components" / "statutes"
TABLES = yaml.safe_load((_FOLDER / "tables.yaml").read_text("utf-8"))


def rows_of(file: str) -> list[dict[str, Any]]:
    """The rows of a file of JSON lines."""
    return [json.loads(line) for line in (_FOLDER / file).read_text("utf-8").splitlines()]
