"""The multilingual model: where it comes from, and what is refused."""

import json
from pathlib import Path

import pytest
from huggingface_hub import constants

from components.models.biencoder import BiEncoder
from components.models.folder import ModelError, _packaged_weights, find_model, model_digest


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """An empty home of Lexarbor's, and a Hub without its cache that cannot be reached."""
    monkeypatch.setenv("LEXARBOR_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return tmp_path / "home"


def test_without_network_and_package_both_ways_are_named(home, monkeypatch):
    monkeypatch.setattr("components.models.folder._packaged_weights", lambda: None)
    with pytest.raises(ModelError, match=r"lexarbor\[multilingual\].*network") as refused:
        find_model("multilingual")
    assert "\n" not in str(refused.value)
    assert not [each for each in home.iterdir() if each.is_dir()]


def test_weights_of_another_digest_are_refused(home, tmp_path, monkeypatch):
    weights = tmp_path / "e5-small-q4.bin"
    weights.write_bytes(b"E5S1" * 2000)
    monkeypatch.setattr("components.models.folder._packaged_weights", lambda: weights)
    with pytest.raises(ModelError, match=r"e5-small-q4\.bin.*digest differs"):
        find_model("multilingual")


def test_the_copy_of_the_hub_gets_its_prompts_and_the_cache_stays(home, monkeypatch, tiny_prompted):
    settings = tiny_prompted / "config_sentence_transformers.json"
    before = settings.read_bytes()
    monkeypatch.setattr("components.models.folder._hub_folder", lambda *_: tiny_prompted)
    folder = find_model("multilingual")
    written = json.loads((folder / "config_sentence_transformers.json").read_text("utf-8"))
    assert written["prompts"] == {"query": "query: ", "document": "passage: "}
    assert settings.read_bytes() == before
    assert find_model("multilingual") == folder


@pytest.mark.slow
@pytest.mark.skipif(_packaged_weights() is None, reason="needs the extra multilingual")
def test_the_package_gives_a_model_that_joins_languages(home):
    model = BiEncoder.load("multilingual", device="cpu")
    assert model.dim == 384
    assert model.prompts == {"query": "query: ", "passage": "passage: "}
    assert model.digest == model_digest(home / "multilingual-e5-small")
    articles = model.encode_articles(
        [
            "Le bailleur restitue la garantie locative au départ du preneur.",
            "L'employeur paie le salaire à la fin de chaque mois.",
        ]
    )
    questions = model.encode_queries(["My landlord keeps my deposit", "老板不发工资"])
    assert (questions @ articles.T).argmax(dim=1).tolist() == [0, 1]
