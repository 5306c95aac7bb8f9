from __future__ import annotations

import json

import pytest

from components.models.artifacts import write_model_folder
from components.models.errors import ModelError
from components.models.manifest import MANIFEST_FILE, Manifest, read_manifest

PLAIN = Manifest(
    kind=("biencoder",),
    base_model="tiny",
    towers={"query": "biencoder/query", "passage": "biencoder/query"},
    dim=32,
    config={"lr": 2e-5, "views": ["tree", "semantic"]},
    data={"corpus_sha256": "ab"},
    metrics={"R@10": 0.5},
)


@pytest.fixture
def folder(tmp_path):
    def tower(into):
        (into / "model.safetensors").write_bytes(b"weights")
        (into / "1_Pooling").mkdir()
        (into / "1_Pooling" / "config.json").write_text("{}")

    write_model_folder(tmp_path / "model", PLAIN, {"biencoder/query": tower})
    return tmp_path / "model"


def test_a_manifest_comes_back_as_it_was_written(folder):
    found = read_manifest(folder)
    assert found.files.keys() == {
        "biencoder/query/model.safetensors",
        "biencoder/query/1_Pooling/config.json",
    }
    assert found.parts == ("biencoder/query",)
    assert (found.kind, found.towers, found.dim) == (PLAIN.kind, PLAIN.towers, PLAIN.dim)
    assert (found.config, found.data, found.metrics) == (PLAIN.config, PLAIN.data, PLAIN.metrics)


def test_what_stands_outside_the_parts_is_nobody_s_business(folder):
    (folder / "metrics.jsonl").write_text("{}\n")
    read_manifest(folder)


def test_a_folder_that_names_no_segmentation_has_none(folder):
    without_field("segmentation")(folder)
    assert read_manifest(folder).segmentation is None


def with_field(**fields):
    def spoil(folder):
        whole = json.loads((folder / MANIFEST_FILE).read_text())
        (folder / MANIFEST_FILE).write_text(json.dumps({**whole, **fields}))

    return spoil


def without_field(name):
    def spoil(folder):
        whole = json.loads((folder / MANIFEST_FILE).read_text())
        del whole[name]
        (folder / MANIFEST_FILE).write_text(json.dumps(whole))

    return spoil


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda f: (f / MANIFEST_FILE).write_text("{"), "manifest.json: is not JSON"),
        (lambda f: (f / MANIFEST_FILE).write_bytes(b"\xff\xfe"), "manifest.json: cannot be read"),
        (lambda f: (f / MANIFEST_FILE).write_text("[1]"), "field 'format' is missing"),
        (with_field(format=2), "field 'format' is 2; this Lexarbor reads format 1"),
        (without_field("towers"), "field 'towers' is missing"),
        (with_field(colour="red"), "field 'colour' is unknown"),
        (with_field(dim="32"), "field 'dim' is not a int"),
        (with_field(text_rule="all"), "field 'text_rule' is 'all'"),
        (with_field(segmentation="fr"), "field 'segmentation' is 'fr'"),
        (with_field(segmentation=["vi"]), "field 'segmentation' is"),
        (with_field(towers={"query": "biencoder/query"}), "field 'towers' must name"),
        (
            with_field(towers={"query": "biencoder/query", "passage": "biencoder/passage"}),
            "field 'towers.passage' names 'biencoder/passage', a part with no file",
        ),
        (with_field(files={"../../etc/passwd": "00"}), "outside the model's parts"),
        (with_field(files={"biencoder/query/../../x": "00"}), "outside the model's parts"),
        (
            lambda f: (f / "biencoder/query/model.safetensors").write_bytes(b"weightz"),
            r"model.safetensors: is not what was saved \(digest differs\)",
        ),
        (
            lambda f: (f / "biencoder/query/model.safetensors").unlink(),
            "model.safetensors: is named in the manifest and missing",
        ),
        (
            lambda f: (f / "biencoder/query/adapter_config.json").write_text("{}"),
            "adapter_config.json: is in the folder and not in the manifest",
        ),
    ],
)
def test_a_broken_folder_is_refused_with_the_reason(folder, spoil, message):
    spoil(folder)
    with pytest.raises(ModelError, match=message):
        read_manifest(folder)
