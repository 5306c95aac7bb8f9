"""Lexarbor's rankers, named so that Haystack loads them from any pipeline file."""

from typing import Any

import components.rankers


def __getattr__(name: str) -> Any:
    return getattr(components.rankers, name)
