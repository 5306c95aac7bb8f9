"""Orders by hand, settings on disk, and the bounded cache behind the ranker."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import torch

from components.models.errors import ModelError
from components.models.ranker_folder import Calibration, RankerSettings
from components.models.ranking import ranked


def test_equal_logits_stay_in_the_first_stages_order() -> None:
    assert ranked([0.5, 2.0, 0.5, 2.0]).tolist() == [1, 3, 0, 2]
    assert ranked([]).tolist() == []


def test_ranks_are_fused_by_hand() -> None:
    # By logit c, b, a. With w = 1: a and c have 1/11 + 1/13, b has 2/12; a came first.
    assert ranked([0.1, 0.2, 0.3], 1.0).tolist() == [0, 2, 1]
    assert ranked([0.1, 0.2, 0.3], 0.0).tolist() == ranked([0.1, 0.2, 0.3]).tolist() == [2, 1, 0]
    assert ranked(torch.tensor([0.1, 0.2, 0.3]), 50.0).tolist() == [0, 1, 2]


def test_places_in_a_longer_list_count_as_they_were() -> None:
    # The first stage's 1, 2 and 30: w / 11, w / 12 and w / 40, beside 1 / 13, 1 / 12 and 1 / 11.
    assert ranked([0.1, 0.2, 0.3], 1.0, [0, 1, 29]).tolist() == [0, 1, 2]
    assert ranked([0.1, 0.2, 0.3], 1.0, [0, 1, 2]).tolist() == ranked([0.1, 0.2, 0.3], 1).tolist()


def test_settings_are_read_as_they_were_written(tmp_path: Path) -> None:
    full = RankerSettings(3, 64, Calibration(0.5, -1), 0.25, "vi")
    for settings in (RankerSettings(), full):
        settings.save(tmp_path)
        assert RankerSettings.load(tmp_path) == settings
    assert json.loads((tmp_path / "ranker.json").read_text()) == dataclasses.asdict(settings)


def test_a_folder_from_before_there_was_segmentation_is_read(tmp_path: Path) -> None:
    fields = dataclasses.asdict(RankerSettings(3))
    del fields["segmentation"]
    (tmp_path / "ranker.json").write_text(json.dumps(fields))
    assert RankerSettings.load(tmp_path) == RankerSettings(3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"passages": 0}, "passages must be a whole number from 1"),
        ({"passage_tokens": 1.5}, "passage_tokens must be a whole number from 1"),
        ({"calibration": {"scale": -1, "offset": 0}}, "scale above 0"),
        ({"calibration": {"scale": 1}}, "must be null or have 'scale' and 'offset'"),
        ({"calibration": [1, 0]}, "must be null or have 'scale' and 'offset'"),
        ({"fusion_weight": -1}, "fusion_weight must be 0 or more"),
        ({"fusion_weight": "much"}, "not supported"),
        ({"segmentation": "th"}, "segmentation is vi or null, not 'th'"),
        ({"unknown": 1}, "must have the fields"),
    ],
)
def test_wrong_settings_name_their_file(tmp_path: Path, change: object, message: str) -> None:
    assert isinstance(change, dict)
    fields = {**dataclasses.asdict(RankerSettings()), **change}
    (tmp_path / "ranker.json").write_text(json.dumps(fields))
    with pytest.raises(ModelError, match=rf"ranker\.json: .*{message}.*train the ranker again"):
        RankerSettings.load(tmp_path)


def test_a_calibration_is_a_sigmoid() -> None:
    logits = torch.tensor([0.0, 4.0, 1e4, -1e4])
    expected = torch.sigmoid(torch.tensor([-1.0, 1.0, 5e3 - 1, -5e3]))
    assert torch.allclose(Calibration(0.5, -1.0).probabilities(logits), expected)
