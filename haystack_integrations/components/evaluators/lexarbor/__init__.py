"""Lexarbor's evaluators, named so that Haystack loads them from any pipeline file."""

from typing import Any

import components.evaluators


def __getattr__(name: str) -> Any:
    return getattr(components.evaluators, name)
