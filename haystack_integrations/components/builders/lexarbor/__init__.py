"""Lexarbor's builders, named so that Haystack loads them from any pipeline file."""

from typing import Any

import components.builders


def __getattr__(name: str) -> Any:
    return getattr(components.builders, name)
