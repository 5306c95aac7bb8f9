"""Lexarbor's preprocessors, named so that Haystack loads them from any pipeline file."""

from typing import Any

import components.preprocessors


def __getattr__(name: str) -> Any:
    return getattr(components.preprocessors, name)
