"""Lexarbor's embedders, named so that Haystack loads them from any pipeline file."""

from typing import Any

import components.embedders


def __getattr__(name: str) -> Any:
    return getattr(components.embedders, name)
