from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from training import ablate, cusines
from training.ablation.metrics import DENSE_METRICS, METRICS
from training.ablation.run import learner_runs
from training.command_line import DONE, FAILED, INTERRUPTED, WRONG_USE
from training.loop import TrainingLoop
from training.settings import CusinesSettings

# What two runs of the same settings may differ in.
NOT_THE_RUN = ("seconds", "environment")

Flags = Callable[..., list[str]]


@pytest.fixture
def grid(small_law: Path, tiny_bert: Path, tmp_path: Path) -> Flags:
    """`grid(field=value, ...)`: a command line of two arms, one seed, four steps."""

    def of(**fields: Any) -> list[str]:
        values = {
            "datasets": f"[{small_law}]",
            "output": tmp_path / "grid",
            "results": tmp_path / "results.jsonl",
            "model": tiny_bert,
            "arms": "[bm25_fixed,cusines]",
            "seeds": "[0]",
            "folds": 1,
            "negatives_per_question": 3,
            "max_steps": 4,
            "batch_size": 8,
            "checkpoint_every": 1,
            "dtype": "float32",
            "device": "cpu",
            **fields,
        }
        return [part for name, value in values.items() for part in (f"--{name}", f"{value}")]

    return of


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than these runs."""
    monkeypatch.setattr("training.ablation.plots.plot_arms", lambda *_: [])


def lines_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.open(encoding="utf-8")]


def test_a_grid_is_run_written_down_tabled_and_drawn(
    grid: Flags, small_law: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ablate.main(grid(arms="[untrained,in_batch,cusines]")) == DONE
    untrained, in_batch, cusines = lines_in(tmp_path / "results.jsonl")
    assert [line["arm"] for line in (untrained, in_batch, cusines)] == [
        "untrained",
        "in_batch",
        "cusines",
    ]
    for line in (untrained, in_batch, cusines):
        assert set(line["values"]) == set(line["means"]) == set(METRICS)
        for metric, values in line["values"].items():
            assert len(values) == len(line["questions"]) == 4
            assert line["means"][metric] == pytest.approx(sum(values) / 4, abs=1e-4)
        assert str(small_law) not in json.dumps(line)
    assert (untrained["steps"], untrained["articles_encoded"], untrained["epochs"]) == (0, 0, [])
    # 22 pairs: 4 steps of 8, of which the third has 6; each pair lists a positive and 3 negatives.
    assert (cusines["steps"], cusines["n_pairs"], cusines["articles_listed"]) == (4, 22, 30 * 4)
    assert cusines["articles_encoded"] < cusines["articles_listed"]
    assert in_batch["settings"]["batch_size"] == 32
    assert in_batch["articles_listed"] == 4 * 22
    first = cusines["epochs"][0]
    assert set(first["dev"]) == set(DENSE_METRICS)
    assert sum(first["negatives"]["buckets"]) == first["negatives"]["drawn"] == 12 * 3
    assert {"audit", "overlap", "mean_tree_distance"} <= set(first["negatives"])
    # The untrained model is what the others start from.
    assert first["dev"]["MAP"] == pytest.approx(untrained["means"]["MAP"], abs=1e-4)
    table = (tmp_path / "grid" / f"{small_law.name}.md").read_text(encoding="utf-8")
    assert table in capsys.readouterr().out
    assert "| cusines | 1/1 |" in table
    assert {path.name for path in (tmp_path / "grid").iterdir()} == {
        f"{small_law.name}.md",
        f"{small_law.name}-arms.png",
        f"{small_law.name}-arms.svg",
    }


def test_a_grid_taken_up_again_ends_as_one_left_alone(
    grid: Flags,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    no_pictures: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    apart = {"results": tmp_path / "apart.jsonl", "output": tmp_path / "apart"}
    assert ablate.main(grid(**apart)) == DONE
    step = TrainingLoop._step
    steps: list[int] = []

    def interrupted(self: TrainingLoop, number: int, pairs: Any) -> None:
        if len(steps) == 6:  # the third of the second run
            raise KeyboardInterrupt
        steps.append(number)
        step(self, number, pairs)

    monkeypatch.setattr(TrainingLoop, "_step", interrupted)
    assert ablate.main(grid()) == INTERRUPTED
    assert [line["arm"] for line in lines_in(tmp_path / "results.jsonl")] == ["bm25_fixed"]
    monkeypatch.setattr(TrainingLoop, "_step", step)
    capsys.readouterr()
    assert ablate.main(grid()) == DONE
    said = capsys.readouterr().err
    assert "1 of 2 runs are found" in said
    assert "Going on from step 2 of 4" in said
    whole, parts = (
        [{k: v for k, v in line.items() if k not in NOT_THE_RUN} for line in lines_in(path)]
        for path in (tmp_path / "apart.jsonl", tmp_path / "results.jsonl")
    )
    assert parts == whole
    assert not (tmp_path / "grid" / "work").exists()


def test_with_nothing_left_to_run_the_tables_are_made_again(
    grid: Flags,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    no_pictures: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert ablate.main(grid()) == DONE
    table = capsys.readouterr().out
    monkeypatch.setattr("training.ablation.run.perform", None)
    assert ablate.main(grid(output=tmp_path / "other")) == DONE
    assert capsys.readouterr().out == table
    # No time for the missing one: what there is is shown, and how much is left.
    assert ablate.main(grid(arms="[tree,cusines]", budget_s=0)) == DONE
    said = capsys.readouterr()
    assert "| cusines | 1/1 |" in said.out
    assert "Left: 1 of 2 runs" in said.err


def test_a_machine_that_cannot_draw_makes_the_tables(
    grid: Flags,
    tmp_path: Path,
    small_law: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert ablate.main(grid(arms="[untrained,cusines]", max_steps=1)) == DONE
    assert "No plots" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "grid").iterdir()] == [f"{small_law.name}.md"]


def test_a_run_that_fails_fails_the_grid_after_the_others(
    grid: Flags, tmp_path: Path, no_pictures: None, capsys: pytest.CaptureFixture[str]
) -> None:
    # 14 negatives are there in the whole corpus of 30, but not 10 in a third of it.
    wrong = grid(arms="[random,cusines]", negatives_per_question=14, max_steps=1)
    assert ablate.main(wrong) == FAILED
    assert [line["arm"] for line in lines_in(tmp_path / "results.jsonl")] == ["random"]
    said = capsys.readouterr().err
    assert "runs that went wrong:" in said
    assert "seed 0: cusines: negatives_per_question" in said


def test_wrong_use_is_told_before_anything_is_made(
    grid: Flags, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        ablate.main(grid(arms="[cusine]"))
    assert "none is called 'cusine'" in capsys.readouterr().err
    assert ablate.main(grid(model=tmp_path / "no model")) == WRONG_USE
    assert not (tmp_path / "grid").exists()


def test_each_process_of_a_grid_takes_the_card_that_it_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken: list[torch.device] = []
    monkeypatch.setattr("training.processes.resolve_device", torch.device)
    monkeypatch.setattr("torch.cuda.set_device", taken.append)
    monkeypatch.setattr("accelerate.Accelerator", lambda cpu: None)
    settings = CusinesSettings(corpus="law", questions="law", output="out", device="cuda:1")
    learner_runs(settings, cusines.start)
    assert taken == [torch.device("cuda:1")]
