"""Our own modules in a model folder: what comes back, and what is refused."""

from __future__ import annotations

import json

import pytest
import torch

from components.models.errors import ModelError
from components.models.graph import LegislativeGraphEncoder
from components.models.head import HierarchicalArticleHead


@pytest.fixture(
    params=[(LegislativeGraphEncoder, "graph network"), (HierarchicalArticleHead, "article head")],
    ids=["graph", "head"],
)
def kind(request):
    """A class, and what messages call it."""
    return request.param


def rewritten(**fields):
    def spoil(folder):
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, **fields}))

    return spoil


def test_a_module_comes_back_in_the_mode_for_use(kind, tmp_path):
    module = kind[0](16, heads=2, layers=1, dropout=0.3, init="paper").train()
    module.save(tmp_path / "part")
    assert sorted(path.name for path in (tmp_path / "part").iterdir()) == [
        "config.json",
        "model.safetensors",
    ]
    again = kind[0].load(tmp_path / "part")
    assert not again.training
    assert again.to_dict() == module.to_dict()
    for name, tensor in module.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor), name


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda folder: (folder / "config.json").unlink(), "No such file"),
        (lambda folder: (folder / "config.json").write_text("{"), "Expecting property name"),
        (lambda folder: (folder / "config.json").write_text("[1]"), "must be a mapping"),
        (lambda folder: (folder / "model.safetensors").unlink(), "No such file"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"\xff" * 40), "eserializing"),
        (rewritten(layers=1), "Unexpected key"),
        (rewritten(dim=24), "size mismatch"),
        (rewritten(dim="wide"), "not supported between"),
        (rewritten(dim=0), "dim is 0; it must be at least 1"),
        (rewritten(colour="red"), "unexpected keyword argument 'colour'"),
    ],
    ids=[
        "no config",
        "broken config",
        "a list",
        "no weights",
        "broken weights",
        "fewer layers",
        "another width",
        "no width",
        "out of range",
        "unknown field",
    ],
)
def test_a_broken_folder_is_refused_by_its_name(kind, tmp_path, spoil, reason):
    folder = tmp_path / "part"
    kind[0](16, heads=2, layers=2).save(folder)
    spoil(folder)
    with pytest.raises(ModelError, match=f"{folder}: the {kind[1]} cannot be read.*{reason}") as at:
        kind[0].load(folder)
    assert str(at.value).endswith(".")


def test_weights_that_are_no_numbers_are_refused_by_name(kind, tmp_path):
    module = kind[0](16, heads=2, layers=1)
    name, parameter = list(module.named_parameters())[-1]
    with torch.no_grad():
        parameter.view(-1)[3] = float("nan")
    module.save(tmp_path / "part")
    with pytest.raises(ModelError, match=f"part: the {kind[1]} .* weights '{name}' hold NaN"):
        kind[0].load(tmp_path / "part")
