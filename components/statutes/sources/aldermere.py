"""The Statutes of Aldermere, the invented demo law that comes with Lexarbor."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

NAME = "aldermere"

# Named, not imported: this package must not depend on the one that bundles the files.
_BUNDLE = "pipelines.demo"


def articles_path() -> Path:
    """The demo law's articles, native format."""
    return Path(str(files(_BUNDLE) / "articles.jsonl"))


def questions_path() -> Path:
    """The demo law's questions, native format."""
    return Path(str(files(_BUNDLE) / "questions.jsonl"))
