"""Stores of a few articles."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from law_files import line, write

from pipelines.indexing import index_corpus


def indexed(
    folder: Path, articles: Iterable[dict[str, Any]], model: str = "none", **options: Any
) -> Path:
    """Index articles in the native format into `law.db` of this folder."""
    source = write(folder / "articles.jsonl", *map(line, articles))
    index_corpus(source, folder / "law.db", model=model, **options)
    return folder / "law.db"
