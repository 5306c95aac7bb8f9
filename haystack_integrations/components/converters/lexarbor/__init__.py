"""Lexarbor's converters, named so that Haystack loads them from any pipeline file."""

from typing import Any

import components.converters


def __getattr__(name: str) -> Any:
    return getattr(components.converters, name)
