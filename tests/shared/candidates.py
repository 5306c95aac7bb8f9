"""Candidates that a ranker is given, and what it finds."""

from __future__ import annotations

import random
from typing import Any

from haystack import Document
from haystack.utils import ComponentDevice

CPU = ComponentDevice.from_str("cpu")
QUESTION = "Who must mend the roof?"


def law(place: int, content: str | None = None, **meta: Any) -> Document:
    words = ["roof", "rent", "landlord", "tenant", "court", "child", "law"]
    text = " ".join(words[place % k] for k in (2, 3, 5, 7)) if content is None else content
    return Document(id=f"a{place}", content=text, score=0.5, embedding=[1.0], meta=meta)


def long(name: str, words: int) -> str:
    """A text in which no passage comes twice."""
    own = random.Random(name).choices(["roof", "rent", "landlord", "tenant", "court"], k=words)
    return " ".join([name, *own])


def ids(found: dict[str, Any]) -> list[str]:
    return [document.id for document in found["documents"]]
