"""Lexarbor's document store, named so that Haystack loads it from any pipeline file."""

from typing import Any

import components.stores


def __getattr__(name: str) -> Any:
    return getattr(components.stores, name)
