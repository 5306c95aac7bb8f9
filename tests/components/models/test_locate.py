from __future__ import annotations

import json
import shutil
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import constants
from huggingface_hub.errors import LocalEntryNotFoundError

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


SHARDS = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")


def in_shards(folder: Path) -> None:
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").unlink()
    for shard in SHARDS:
        (folder / shard).write_bytes(weights)
    index = {"weight_map": dict(zip("ab", SHARDS, strict=True))}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


@pytest.mark.parametrize(
    ("kind", "sharded", "absent"),
    [
        ("tiny_prompted", False, "model.safetensors"),
        ("tiny_prompted", False, "2_Dense/model.safetensors"),
        ("tiny_prompted", True, SHARDS[1]),
        ("tiny_bert", False, "model.safetensors"),
        ("tiny_bert", True, SHARDS[0]),
    ],
)
def test_a_download_that_broke_off_is_resumed(
    request, hub_cache, monkeypatch, kind, sharded, absent
):
    snapshot = cached(hub_cache, "someone/law-model", request.getfixturevalue(kind))
    if sharded:
        in_shards(snapshot)
    rest = (snapshot / absent).read_bytes()
    (snapshot / absent).unlink()

    def away(*_, **__):
        raise LocalEntryNotFoundError("no network")

    incomplete = f"'someone/law-model': its download is incomplete .{absent} is not there"
    # Without a network the client gives what is there, or says that it is not all.
    for client in (away, lambda *_, **__: str(snapshot)):
        monkeypatch.setattr(huggingface_hub, "snapshot_download", client)
        with pytest.raises(ModelError, match=incomplete):
            find_model("someone/law-model")

    def resumed(*_, **__):
        (snapshot / absent).write_bytes(rest)
        return str(snapshot)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", resumed)
    assert find_model("someone/law-model") == snapshot
    monkeypatch.setattr(huggingface_hub, "snapshot_download", away)
    assert find_model("someone/law-model") == snapshot


def test_the_routes_of_a_model_are_part_of_its_weights(hub_cache, tiny_bert, monkeypatch):
    snapshot = cached(hub_cache, "someone/routed", tiny_bert)
    route = snapshot / "query_0_Transformer"
    shutil.copytree(tiny_bert, route)
    kinds = {route.name: "sentence_transformers.models.Transformer", "query_1_Pooling": "x.Pooling"}
    (snapshot / "router_config.json").write_text(json.dumps({"types": kinds}))
    modules = [{"path": "", "type": "sentence_transformers.base.modules.router.Router"}]
    (snapshot / "modules.json").write_text(json.dumps(modules))
    assert find_model("someone/routed") == snapshot
    for absent in (route / "model.safetensors", snapshot / "router_config.json"):
        absent.unlink()
        monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: str(snapshot))
        with pytest.raises(ModelError, match=f"incomplete .*{absent.name} is not there"):
            find_model("someone/routed")
