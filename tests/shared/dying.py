"""Runs that are stopped at the moment when their model is there and nothing is tidied up."""

from __future__ import annotations

from typing import Any

import pytest

from components.models.biencoder import BiEncoder


def die_once_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have whoever saves a bi-encoder interrupted right after."""
    save = BiEncoder.save

    def dying(*arguments: Any, **fields: Any) -> None:
        save(*arguments, **fields)
        raise KeyboardInterrupt

    monkeypatch.setattr(BiEncoder, "save", dying)
