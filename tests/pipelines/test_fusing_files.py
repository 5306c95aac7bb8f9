"""The files that fuse words and meaning do it alike."""

from __future__ import annotations

import pytest
import yaml

from pipelines.files import FOLDER

_FUSER = "components.joiners.rank_fusion.StatuteRankFuser"


def _read(name: str) -> dict[str, dict[str, dict[str, object]]]:
    read: dict[str, dict[str, dict[str, object]]] = yaml.safe_load(
        (FOLDER / name).read_text(encoding="utf-8")
    )
    return read


_FUSING = sorted(
    path.name
    for path in FOLDER.glob("*.yaml")
    if {"bm25", "dense", "fuser"} <= _read(path.name)["components"].keys()
)


def test_there_are_six() -> None:
    assert len(_FUSING) == 6


@pytest.mark.parametrize("name", _FUSING)
def test_each_fuses_as_hybrid_does_but_for_how_many_go_on(name: str) -> None:
    file = _read(name)
    fuser = file["components"]["fuser"]
    assert fuser["type"] == _FUSER
    expected = _read("hybrid.yaml")["components"]["fuser"]["init_parameters"]
    own = fuser["init_parameters"]
    assert isinstance(own, dict)
    assert isinstance(expected, dict)
    assert own | {"top_k": 0} == expected | {"top_k": 0}
    assert "fuser.query" in file["inputs"]["query"]
