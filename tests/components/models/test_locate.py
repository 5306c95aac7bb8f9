from __future__ import annotations

import shutil
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import constants

from components.models.biencoder import BiEncoder
from components.models.errors import ModelError
from components.models.locate import find_model


@pytest.fixture
def hub_cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def cached(hub_cache: Path, name: str, model: Path) -> Path:
    """Put a model where the Hub's client keeps its downloads."""
    folder = hub_cache / f"models--{name.replace('/', '--')}"
    snapshot = folder / "snapshots" / ("c" * 40)
    shutil.copytree(model, snapshot)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("c" * 40)
    return snapshot


@pytest.mark.parametrize("kind", ["tiny_prompted", "tiny_bert"])
def test_a_model_in_the_cache_needs_no_network(request, hub_cache, kind):
    snapshot = cached(hub_cache, "someone/law-model", request.getfixturevalue(kind))
    assert find_model("someone/law-model") == snapshot
    model = BiEncoder.load("someone/law-model", device="cpu")
    assert model.name == "someone/law-model"


def test_a_short_name_is_first_one_of_sentence_transformers(hub_cache, tiny_prompted):
    snapshot = cached(hub_cache, "sentence-transformers/law-model", tiny_prompted)
    assert find_model("law-model") == snapshot


def test_an_unreachable_hub_is_said(hub_cache, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with pytest.raises(ModelError, match=r"'no-such/model'.*lexarbor\[demo\]"):
        find_model("no-such/model")


def test_what_the_hub_refuses_is_passed_on(hub_cache, monkeypatch):
    def refuse(name, **_):
        raise RuntimeError(f"401: {name} is gated\nlog in")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    with pytest.raises(ModelError, match=r"from the Hugging Face Hub \(RuntimeError: 401"):
        find_model("someone/gated")
