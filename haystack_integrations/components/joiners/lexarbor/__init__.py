"""Lexarbor's joiners, named so that Haystack loads them from any pipeline file."""

from typing import Any

import components.joiners


def __getattr__(name: str) -> Any:
    return getattr(components.joiners, name)
