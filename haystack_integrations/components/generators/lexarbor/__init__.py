"""Lexarbor's generators, named so that Haystack loads them from any pipeline file."""

from typing import Any

import components.generators


def __getattr__(name: str) -> Any:
    return getattr(components.generators, name)
