"""python -m training.ablate and ablate_ranker: a grid is run, killed, resumed and tabled."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from training import ablate, ablate_ranker
from training.ablation.arms import DENSE_METRICS, METRICS, RANKER_METRICS
from training.candidates import FirstStage
from training.command_line import DONE, FAILED, INTERRUPTED
from training.loop import TrainingLoop

# training.ablate

# What two runs of the same settings may differ in.
NOT_THE_RUN = ("seconds", "environment")
Flags = Callable[..., list[str]]


@pytest.fixture
def any_grid(tiny_bert: Path, tmp_path: Path) -> Flags:
    """`any_grid(law, field=value, ...)`: a command line of one seed."""

    def of(law: Path, **fields: Any) -> list[str]:
        values = {
            "datasets": f"[{law}]",
            "output": tmp_path / "grid",
            "results": tmp_path / "results.jsonl",
            "model": tiny_bert,
            "seeds": "[0]",
            "batch_size": 8,
            "dtype": "float32",
            "device": "cpu",
            **fields,
        }
        return [part for name, value in values.items() for part in (f"--{name}", f"{value}")]

    return of


@pytest.fixture
def grid(any_grid: Flags, small_law: Path) -> Flags:
    """`grid(field=value, ...)`: two arms, four steps."""
    short = {"arms": "[bm25_fixed,cusines]", "folds": 1, "negatives_per_question": 3}
    steps = {"max_steps": 4, "checkpoint_every": 1}
    return lambda **fields: any_grid(small_law, **{**short, **steps, **fields})


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than these runs."""
    monkeypatch.setattr("training.ablation.report.plot_arms", lambda *_: [])


def lines_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.open(encoding="utf-8")]


def test_a_grid_is_run_written_down_tabled_and_drawn(grid, small_law, tmp_path, capsys):
    assert ablate.main(grid(arms="[untrained,in_batch,cusines]")) == DONE
    untrained, in_batch, cusines = lines_in(tmp_path / "results.jsonl")
    arms = {"untrained": untrained, "in_batch": in_batch, "cusines": cusines}
    for arm, line in arms.items():
        assert line["arm"] == arm
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


@pytest.mark.slow
def test_a_grid_taken_up_again_ends_as_one_left_alone(
    grid, tmp_path, monkeypatch, no_pictures, capsys
):
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
    assert "1 of 2 runs are already in" in said
    assert "Resuming from step 2 of 4" in said
    whole, parts = (
        [{k: v for k, v in line.items() if k not in NOT_THE_RUN} for line in lines_in(path)]
        for path in (tmp_path / "apart.jsonl", tmp_path / "results.jsonl")
    )
    assert parts == whole
    assert not (tmp_path / "grid" / "work").exists()


def test_a_run_that_fails_fails_the_grid_after_the_others(grid, tmp_path, no_pictures, capsys):
    # 14 negatives are there in the whole corpus of 30, but not 10 in a third of it.
    wrong = grid(arms="[random,cusines]", negatives_per_question=14, max_steps=1)
    assert ablate.main(wrong) == FAILED
    assert [line["arm"] for line in lines_in(tmp_path / "results.jsonl")] == ["random"]
    said = capsys.readouterr().err
    assert "runs that failed:" in said
    assert "seed 0: cusines: negatives_per_question" in said


# training.ablate_ranker


@pytest.fixture(scope="module")
def law(write_law: Any, question: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small law, whose test asks what dev asks: whatever chooses on dev, both say the same."""
    learnt = [question(n, [n, n + 7][: 1 + n % 2]) for n in range(12)]
    asked = [question(n, [n + 10, n + 1], "dev") for n in range(12, 16)]
    again = [{**each, "id": f"again-{each['id']}", "split": "test"} for each in asked]
    folder: Path = write_law(
        tmp_path_factory.mktemp("laws") / "law", questions=[*learnt, *asked, *again]
    )
    return folder


@pytest.mark.slow
def test_a_grid_is_run_written_down_tabled_and_drawn_ranker(
    any_grid, tiny_bert, law, tmp_path, monkeypatch, capsys
):
    search = FirstStage.search
    searches: list[int] = []

    def counted(cls: Any, biencoder: Any, data: Any, *arguments: Any) -> FirstStage:
        searches.append(len(data.dev))
        return search(biencoder, data, *arguments)

    monkeypatch.setattr(FirstStage, "search", classmethod(counted))
    fields = {"start": tiny_bert, "candidates": 25, "passage_tokens": 12, "epochs": 1}
    arms = {"arms": "[first_stage,untrained,easy_2,semi_hard_2]", "learning_rate": 1e-3}
    assert ablate_ranker.main(any_grid(law, **fields, **arms, checkpoint_every=2)) == DONE
    assert searches == [4]
    first, untrained, easy, semi_hard = lines_in(tmp_path / "results.jsonl")
    for line in (first, untrained, easy, semi_hard):
        assert set(line["values"]) == set(line["means"]) == set(RANKER_METRICS)
        assert set(line["ceiling"]) == {"R@25", "Exist@25"}
        assert {len(values) for values in line["values"].values()} == {len(line["questions"])}
        assert line["means"]["R@10"] <= line["ceiling"]["R@25"]
        assert str(law) not in json.dumps(line)
        assert line["trained"] == (line in (easy, semi_hard))
    assert first["means"]["MRR@10"] == first["means"]["fused MRR@10"]
    # What training itself measured before its first step and at its end.
    before, after = semi_hard["epochs"]
    for metric in ("R@1", "R@10", "MRR@10", "MAP@10"):
        assert before["first_stage"][metric] == pytest.approx(first["means"][metric], abs=1e-4)
        assert before["dev"][metric] == pytest.approx(untrained["means"][metric], abs=1e-4)
        assert after["dev"][metric] == pytest.approx(semi_hard["means"][metric], abs=1e-4)
    # 18 positives and 24 negatives in steps of 8.
    assert (semi_hard["mined"]["examples"], semi_hard["steps"], semi_hard["epoch"]) == (42, 6, 1)
    assert semi_hard["settings"]["strategy"] == "semi_hard"
    table = (tmp_path / "grid" / f"{law.name}.md").read_text(encoding="utf-8")
    assert table in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "grid").iterdir()} == {
        f"{law.name}.md",
        *(f"{law.name}-{plot}.{kind}" for plot in ("arms", "negatives") for kind in ("png", "svg")),
    }
