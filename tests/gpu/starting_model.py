"""MiniLM on a machine that reaches no model hub."""

from __future__ import annotations

from pathlib import Path

from components.models.locate import find_model

MINILM = "sentence-transformers/all-MiniLM-L6-v2"


def minilm(data: Path) -> str:
    """What stands for MiniLM: the folder `models/minilm` of the data, else its name.

    Raises:
        ModelError: Neither is within reach.
    """
    folder = data / "models" / "minilm"
    name = str(folder) if folder.is_dir() else MINILM
    find_model(name)
    return name
