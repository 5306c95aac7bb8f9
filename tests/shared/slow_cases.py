"""Cases of a parametrised test that `make test-all` alone runs."""

from __future__ import annotations

from typing import Any

import pytest


def slow(*cases: Any) -> list[Any]:
    """The cases with the mark `slow`; a tuple holds a case's several arguments."""
    mark = pytest.mark.slow
    return [pytest.param(*(c if isinstance(c, tuple) else (c,)), marks=mark) for c in cases]
