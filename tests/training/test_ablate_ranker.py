"""python -m training.ablate_ranker, from a law with its questions to tables and plots."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from training import ablate_ranker
from training.ablation.metrics import RANKER_METRICS
from training.command_line import DONE, INTERRUPTED, WRONG_USE
from training.ranking import watch
from training.ranking.first_stage import FirstStage

# What two runs of the same settings may differ in.
NOT_THE_RUN = ("seconds", "environment")

Flags = Callable[..., list[str]]

RANKER_S_OWN = [each for each in RANKER_METRICS if not each.startswith("fused")]


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


@pytest.fixture
def grid(law: Path, tiny_bert: Path, tmp_path: Path) -> Flags:
    """`grid(field=value, ...)`: a command line of one seed, five steps a run."""

    def of(**fields: Any) -> list[str]:
        values = {
            "datasets": f"[{law}]",
            "output": tmp_path / "grid",
            "results": tmp_path / "results.jsonl",
            "model": tiny_bert,
            "start": tiny_bert,
            "arms": "[first_stage,untrained,easy_2,semi_hard_2]",
            "seeds": "[0]",
            "candidates": 25,
            "passage_tokens": 12,
            "epochs": 1,
            "batch_size": 8,
            "learning_rate": 1e-3,
            "checkpoint_every": 2,
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
    grid: Flags,
    law: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    search = FirstStage.search
    searches: list[int] = []

    def counted(cls: Any, biencoder: Any, data: Any, *arguments: Any) -> FirstStage:
        searches.append(len(data.dev))
        return search(biencoder, data, *arguments)

    monkeypatch.setattr(FirstStage, "search", classmethod(counted))
    assert ablate_ranker.main(grid()) == DONE
    assert searches == [4]
    first, untrained, easy, semi_hard = lines_in(tmp_path / "results.jsonl")
    for line in (first, untrained, easy, semi_hard):
        assert set(line["values"]) == set(line["means"]) == set(RANKER_METRICS)
        assert set(line["ceiling"]) == {"R@25", "Exist@25"}
        assert {len(values) for values in line["values"].values()} == {len(line["questions"])}
        assert line["means"]["R@10"] <= line["ceiling"]["R@25"]
        assert str(law) not in json.dumps(line)
    assert [line["trained"] for line in (first, untrained, easy, semi_hard)] == [False] * 2 + [
        True
    ] * 2
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


def test_test_is_measured_with_the_weights_that_dev_chose(
    grid: Flags, tmp_path: Path, no_pictures: None
) -> None:
    two = "[untrained,semi_hard_2]"
    assert ablate_ranker.main(grid(arms=two, epochs=2)) == DONE
    assert ablate_ranker.main(grid(arms=two, epochs=2, measure_on="test")) == DONE
    lines = lines_in(tmp_path / "results.jsonl")
    assert [line["measured_on"] for line in lines] == ["dev", "dev", "test", "test"]
    for dev, test in zip(lines[:2], lines[2:], strict=True):
        assert dev["key"] != test["key"]
        # The questions of both read the same here. Those of dev are fused with weights that others
        # of dev chose, those of test with the one that dev chose.
        assert {each: test["means"][each] for each in RANKER_S_OWN} == {
            each: dev["means"][each] for each in RANKER_S_OWN
        }
        assert test["means"]["fused MRR@10"] == max(
            line["means"]["fused MRR@10"] for line in (dev, test)
        )
        assert (dev["questions"], test["questions"]) == ([12, 13, 14, 15], [16, 17, 18, 19])


@pytest.mark.parametrize("split", ["dev", "test"])
def test_shorter_lists_may_choose_and_whole_ones_are_measured(
    grid: Flags, tmp_path: Path, no_pictures: None, depths: list[int], split: str
) -> None:
    two = "[untrained,semi_hard_2]"
    assert ablate_ranker.main(grid(arms=two, measure_on=split)) == DONE
    fewer = grid(arms=two, measure_on=split, dev_candidates=10)
    assert ablate_ranker.main(fewer) == DONE
    lines = lines_in(tmp_path / "results.jsonl")
    whole, chosen_by_fewer = lines[:2], lines[2:]
    for one, other in zip(whole, chosen_by_fewer, strict=True):
        assert one["key"] != other["key"]
        # The same weights, there is but one epoch, and so the same order of the same lists.
        assert other["ceiling"] == one["ceiling"]
        assert [other["values"][each] for each in RANKER_S_OWN] == [
            one["values"][each] for each in RANKER_S_OWN
        ]
        assert sum(one["values"]["MRR@10"]) > 0
    # Untrained; the start and the epoch of the trained. What is measured is scored apart where it
    # is not what chooses.
    apart = [25] if split == "test" else []
    of_all = [25, *apart, 25, 25, *apart]
    assert depths == [*of_all, 10, 25, 10, 10, 25]


def test_a_grid_taken_up_again_ends_as_one_left_alone(
    grid: Flags,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    no_pictures: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arms = "[easy_2,semi_hard_2]"
    apart = {"results": tmp_path / "apart.jsonl", "output": tmp_path / "apart"}
    assert ablate_ranker.main(grid(arms=arms, **apart)) == DONE
    begin = watch.RankerWatch.on_step_begin
    steps: list[int] = []

    def interrupted(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if len(steps) == 9:  # the fourth of the second run
            raise KeyboardInterrupt
        steps.append(state.global_step)
        begin(self, args, state, control, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(watch.RankerWatch, "on_step_begin", interrupted)
        assert ablate_ranker.main(grid(arms=arms)) == INTERRUPTED
    assert [line["arm"] for line in lines_in(tmp_path / "results.jsonl")] == ["easy_2"]
    capsys.readouterr()
    assert ablate_ranker.main(grid(arms=arms)) == DONE
    said = capsys.readouterr().err
    assert "1 of 2 runs are found" in said
    assert "Going on from checkpoint-2" in said
    whole, parts = (
        [{k: v for k, v in line.items() if k not in NOT_THE_RUN} for line in lines_in(path)]
        for path in (tmp_path / "apart.jsonl", tmp_path / "results.jsonl")
    )
    assert parts == whole
    assert not (tmp_path / "grid" / "work").exists()


def test_a_run_taken_up_again_keeps_the_candidates_that_it_began_with(
    grid: Flags, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_pictures: None
) -> None:
    search = FirstStage.search

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    def otherwise(cls: Any, *arguments: Any) -> FirstStage:
        # As where another device, or a busy one, adds up in another order.
        stage = search(*arguments)
        dev = replace(stage.dev, found=np.roll(stage.dev.found, 1, axis=1))
        return replace(stage, dev=dev)

    arms = "[semi_hard_2]"
    apart = {"results": tmp_path / "apart.jsonl", "output": tmp_path / "apart"}
    assert ablate_ranker.main(grid(arms=arms, **apart)) == DONE
    with monkeypatch.context() as patch:
        patch.setattr(watch.RankerWatch, "on_step_end", interrupted)
        assert ablate_ranker.main(grid(arms=arms)) == INTERRUPTED
    monkeypatch.setattr(FirstStage, "search", classmethod(otherwise))
    assert ablate_ranker.main(grid(arms=arms)) == DONE
    (whole,), (resumed,) = (
        lines_in(path) for path in (tmp_path / "apart.jsonl", tmp_path / "results.jsonl")
    )
    assert resumed["values"] == whole["values"]
    assert resumed["epochs"] == whole["epochs"]


def test_the_number_format_of_the_beginning_stays(
    grid: Flags,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    no_pictures: None,
    race: Callable[[bool], None],
) -> None:
    begin = watch.RankerWatch.on_step_begin

    def interrupted(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step == 3:
            raise KeyboardInterrupt
        begin(self, args, state, control, **kwargs)

    race(True)
    with monkeypatch.context() as patch:
        patch.setattr(watch.RankerWatch, "on_step_begin", interrupted)
        assert ablate_ranker.main(grid(arms="[easy_2]", dtype="auto")) == INTERRUPTED
    race(False)
    assert ablate_ranker.main(grid(arms="[easy_2]", dtype="auto")) == DONE
    (line,) = lines_in(tmp_path / "results.jsonl")
    assert line["environment"]["dtype"] == "bfloat16"


def test_without_a_dev_split_a_share_of_train_chooses(
    grid: Flags, write_law: Any, question: Any, tmp_path: Path, no_pictures: None, capsys: Any
) -> None:
    law = write_law(tmp_path / "law", questions=[question(n, [n % 9]) for n in range(20)])
    assert ablate_ranker.main(grid(datasets=f"[{law}]", arms="[untrained]", dev_share=0.2)) == DONE
    (line,) = lines_in(tmp_path / "results.jsonl")
    assert (line["n_train"], len(line["questions"])) == (16, 4)
    capsys.readouterr()
    assert ablate_ranker.main(grid(datasets=f"[{law}]", dev_share=0.0)) == WRONG_USE
    assert "has no question of the split dev" in capsys.readouterr().err


def test_with_nothing_left_to_run_the_tables_are_made_again(
    grid: Flags,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    no_pictures: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    two = "[first_stage,untrained]"
    assert ablate_ranker.main(grid(arms=two)) == DONE
    table = capsys.readouterr().out
    monkeypatch.setattr(FirstStage, "search", None)
    assert ablate_ranker.main(grid(arms=two, output=tmp_path / "other")) == DONE
    assert capsys.readouterr().out == table
    assert ablate_ranker.main(grid(arms="[untrained,hard_2]", budget_s=0)) == DONE
    assert "Left: 1 of 2 runs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("split", "message"),
    [("test", "Set measure_on to dev"), ("dev", "split dev to choose the epoch by")],
)
def test_a_law_without_the_split_is_refused(
    split: str,
    message: str,
    grid: Flags,
    write_law: Any,
    question: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    others = [each for each in ("dev", "test") if each != split]
    asked = [question(n, [n], (["train"] * 3 + others)[n % 4]) for n in range(12)]
    law = write_law(tmp_path / "law", questions=asked)
    wanted = grid(datasets=f"[{law}]", measure_on="test", dev_share=0.0)
    assert ablate_ranker.main(wanted) == WRONG_USE
    assert message in capsys.readouterr().err


def test_a_question_of_test_that_stands_in_train_is_refused(
    grid: Flags,
    write_law: Any,
    question: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = [question(0, [0]), question(1, [1], "dev"), {**question(0, [0], "test"), "id": "again"}]
    law = write_law(tmp_path / "law", questions=asked)
    assert ablate_ranker.main(grid(datasets=f"[{law}]", measure_on="test")) == WRONG_USE
    assert "1 questions of test are learnt too: 'again' (as 'q0'" in capsys.readouterr().err


def test_wrong_use_is_told_before_anything_is_made(
    grid: Flags, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        ablate_ranker.main(grid(arms="[semihard_2]"))
    assert "none is called 'semihard_2'" in capsys.readouterr().err
    assert ablate_ranker.main(grid(start=tmp_path / "no model")) == WRONG_USE
    assert ablate_ranker.main(grid(candidates=9, dev_candidates=9, select_by="R@1")) == WRONG_USE
    assert "candidates is 9" in capsys.readouterr().err
    assert not (tmp_path / "grid").exists()
