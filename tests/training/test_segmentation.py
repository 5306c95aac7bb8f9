"""Training on Vietnamese words: what is asked for is learnt with, kept, and passed on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from components.models.manifest import read_manifest
from components.models.text_encoder import TextEncoder
from training.command_line import DONE
from training.cusines import main
from training.pretrain import main as pretrain
from training.settings import CusinesSettings
from training.starting import starting_model

Settings = Callable[..., CusinesSettings]


@pytest.fixture
def read_as(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The language whose words were joined, each time that texts were tokenised."""
    languages: list[str] = []
    tokenize = TextEncoder.tokenize

    def remembering(self: TextEncoder, given: list[str]) -> Any:
        languages.append(f"{self.segmentation}")
        return tokenize(self, given)

    monkeypatch.setattr(TextEncoder, "tokenize", remembering)
    return languages


@pytest.fixture
def words(flags: Callable[..., list[str]], tmp_path: Path, no_plots: None) -> Path:
    """A model trained on words."""
    assert main(flags(segmentation="vi", epochs=1)) == DONE
    return tmp_path / "model"


def test_training_reads_words_and_the_model_says_so(read_as: list[str], words: Path) -> None:
    assert set(read_as) == {"vi"}
    manifest = read_manifest(words)
    assert manifest.segmentation == manifest.config["segmentation"] == "vi"


def test_what_starts_from_such_a_model_goes_on_with_words(
    words: Path, settings: Settings, tiny_bert: Path
) -> None:
    cpu = torch.device("cpu")
    assert starting_model(settings(model=str(words)), cpu).segmentation == "vi"
    two = settings(model=None, query_model=str(tiny_bert), passage_model=str(words))
    assert starting_model(two, cpu).segmentation == "vi"
    assert starting_model(settings(), cpu).segmentation is None


@pytest.mark.parametrize("given", [True, False])
def test_reading_the_law_first_reads_words_too(
    words: Path,
    tiny_bert: Path,
    small_law: Path,
    tmp_path: Path,
    given: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("training.pretraining.records.plot_losses", lambda *_: None)
    seen: list[str] = []

    def joined(text: str) -> str:
        seen.append(text)
        return text

    monkeypatch.setattr("components.statutes.word_segmentation.words_joined", joined)
    values = {
        "corpus": small_law / "articles.jsonl",
        "output": tmp_path / "read",
        "model": tiny_bert if given else words,
        **({"segmentation": "vi"} if given else {}),
        "max_steps": 1,
        "batch_size": 2,
        "device": "cpu",
        "dtype": "float32",
    }
    assert pretrain([p for name, value in values.items() for p in (f"--{name}", f"{value}")]) == 0
    assert read_manifest(tmp_path / "read").segmentation == "vi"
    assert len(seen) == 30
