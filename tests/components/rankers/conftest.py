"""Rankers of tiny models."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from candidates import CPU

from components.models.biencoder import BiEncoder
from components.models.ranker_folder import Calibration, RankerSettings
from components.rankers.cross_encoder import StatuteRanker


@pytest.fixture
def make(tiny_ranker: Path) -> Callable[..., StatuteRanker]:
    """A ranker of the tiny model."""

    def made(**parameters: Any) -> StatuteRanker:
        chosen = {"model": str(tiny_ranker), "device": CPU, "dtype": "float32", **parameters}
        return StatuteRanker(**chosen)

    return made


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory, tiny_ranker: Path, minilm: str) -> str:
    """A Lexarbor folder: MiniLM, and the tiny ranker, which reads one passage an article."""
    folder = tmp_path_factory.mktemp("trained") / "model"

    def write(part: Path) -> None:
        shutil.copytree(tiny_ranker, part, dirs_exist_ok=True)
        RankerSettings(1, 32, Calibration(0.5, -2.0), fusion_weight=100.0).save(part)

    BiEncoder.load(minilm, device="cpu").save(folder, kept={"ranker": write})
    return str(folder)
