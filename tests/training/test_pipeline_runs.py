"""Pipelines as arms of a comparison: indexed and asked by the commands that people use."""

import json
from pathlib import Path

import pytest

from components.models.folder import read_manifest
from training import compare
from training.command_line import DONE, TrainingError
from training.fusion import DevWeight
from training.pipeline_runs import METRICS, PipelineSettings, measure

CONFIG = Path(compare.__file__).parent / "configs" / "scoreboard.yaml"
TOWERED = "hybrid, question's tower"
RANKED = "hybrid_rerank, question's tower + ranker"


@pytest.mark.slow
def test_pipelines_over_a_tower_and_a_ranker_are_measured_once(
    small_law, tiny_bert, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(DevWeight, "of", lambda *_: 2.0)
    own = ["--model", str(tiny_bert), "--device", "cpu", "--output", str(tmp_path / "out")]
    own += ["--cusines.max_steps", "2", "--cusines.batch_size", "8", "--cusines.rank", "2"]
    own += ["--ranker.max_steps", "2", "--ranker.start", str(tiny_bert)]
    arms = ["--only", f'["lexical", "{TOWERED}", "{RANKED}"]']
    flags = ["--config", str(CONFIG), "--data", str(small_law), *own, *arms]
    assert compare.main(flags) == DONE
    lines = [json.loads(each) for each in (tmp_path / "out" / "results.jsonl").open()]
    assert [each["arm"] for each in lines] == ["lexical", TOWERED, RANKED]
    for line in lines:
        assert set(line["values"]) == set(METRICS)
        assert line["ms_a_question"] > 0
        assert not line["trained"]
    assert lines[1]["start"]["over"] != lines[2]["start"]["over"]
    models = [each.parent for each in (tmp_path / "out" / "models").glob("*/manifest.json")]
    assert [read_manifest(each).dense_weight for each in models] == [2.0, 2.0]  # chosen on dev
    # One store serves all: tower and ranker leave the articles' vectors as they are.
    stores = tmp_path / "out" / "stores"
    assert len([*stores.rglob("*.db")]) == 1
    said = capsys.readouterr()
    assert TOWERED in said.out
    assert "Encoding" not in said.err  # the tower takes the articles' vectors from the store
    assert compare.main(flags) == DONE
    assert len((tmp_path / "out" / "results.jsonl").read_bytes().splitlines()) == 3


def test_a_command_that_fails_is_named(tmp_path, tiny_bert):
    settings = PipelineSettings(
        corpus=str(tmp_path / "none.jsonl"), questions="aldermere", output=str(tmp_path)
    )
    with pytest.raises(TrainingError, match=r"pipelines\.index failed \(exit 2\)"):
        measure(settings, str(tiny_bert), [], "dev", tmp_path / "stores", tmp_path)
