"""The flags of a ranker's training on a small law, in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def ranker_flags(law: Path, encoder: Path, **fields: Any) -> list[str]:
    """Of `python -m training.ranker`: an encoder re-ranks what it finds; `fields` come on top."""
    values = {
        "corpus": law / "articles.jsonl",
        "questions": law / "questions.jsonl",
        "model": encoder,
        "start": encoder,
        "candidates": 15,
        "negatives": 2,
        "passage_tokens": 12,
        "batch_size": 8,
        "max_steps": 4,
        "learning_rate": 1e-3,
        "dtype": "float32",
        "device": "cpu",
        **fields,
    }
    return [part for name, value in values.items() for part in (f"--{name}", str(value))]
