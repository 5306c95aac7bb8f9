"""Lexarbor's retrievers, named so that Haystack loads them from any pipeline file."""

from typing import Any

import components.retrievers


def __getattr__(name: str) -> Any:
    return getattr(components.retrievers, name)
