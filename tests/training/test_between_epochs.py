"""Between two epochs: what is measured, chosen, drawn, kept and written down."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from training.negatives.sampling import CurriculumNegatives
from training.records import Progress
from training.resuming import Resuming, RunState

Weights = dict[str, torch.Tensor]


def weights(model: torch.nn.Module) -> Weights:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def changed(one: Weights, other: Weights) -> set[str]:
    assert one.keys() == other.keys()
    return {name for name in one if not torch.equal(one[name], other[name])}


def test_the_best_epoch_s_weights_are_the_model_s(train, boundaries, dev_says):
    dev_says([0.1, 0.5, 0.3])
    seen = boundaries
    model, state = train()
    assert state.best is not None and state.best["epoch"] == 1
    assert not changed(weights(model.query), seen[1])
    assert changed(weights(model.query), seen[2])


def test_of_equal_epochs_the_first_is_the_best(train, dev_says, start):
    dev_says([0.5, 0.5, 0.5])
    model, state = train()
    assert state.best is not None and state.best["epoch"] == 0
    assert not changed(weights(model), weights(start()))


def test_select_by_is_the_metric_that_chooses(train):
    for metric in ("R@3", "MAP"):
        _, state = train(metric, select_by=metric, epochs=3)
        values = [record["dev"][metric] for record in state.records]
        assert state.best is not None and state.best["value"] == max(values)
        assert state.best["epoch"] == values.index(max(values))


@pytest.mark.parametrize(("patience", "epochs"), [(1, 2), (2, 3), (None, 6)])
def test_patience_ends_a_run_that_gets_no_better(train, dev_says, patience, epochs):
    dev_says([0.4, 0.6, 0.5, 0.6, 0.1, 0.2, 0.3])
    _, state = train(epochs=6, patience=patience)
    last = epochs if patience is None else 1 + patience
    assert state.epoch == last and state.finished
    assert state.best is not None and state.best["epoch"] == 1
    assert "negatives" not in state.records[-1]


def test_dev_is_measured_every_so_many_epochs_and_at_the_end(train, dev_says):
    dev_says([0.1, 0.5, 0.3])
    _, state = train(epochs=5, measure_every=3, views=("tree",))
    assert [record["epoch"] for record in state.records if "dev" in record] == [0, 3, 5]
    assert state.best is not None and state.best["epoch"] == 3


def test_patience_ends_no_run_whose_last_epochs_were_not_measured(train, dev_says):
    dev_says([0.1, 0.5, 0.4, 0.3])
    _, state = train(epochs=9, measure_every=3, patience=1)
    assert state.best is not None and state.best["epoch"] == 3
    assert state.epoch == 6 and "dev" in state.records[-1]


def test_stopped_early_the_rate_and_the_curriculum_are_those_of_the_whole_run(train, no_dev):
    _, whole = train("whole", **no_dev, epochs=3)
    _, part = train("part", stop_after=2, **no_dev, epochs=3)
    assert part.epoch == 2 and part.finished and "negatives" not in part.records[2]
    for record, other in zip(part.records[:2], whole.records[:2], strict=True):
        assert record["losses"] == other["losses"]
        assert record["negatives"] == other["negatives"]


def test_stopped_before_the_first_epoch_the_model_is_the_start(train, start, no_dev):
    model, state = train(stop_after=0, **no_dev)
    assert state.step == 0 and state.finished
    assert not changed(weights(model), weights(start()))


def test_to_stop_after_more_epochs_than_there_are_is_to_go_to_the_end(train, no_dev):
    _, state = train(stop_after=9, **no_dev, epochs=2)
    assert state.epoch == 2 and state.finished


def test_without_dev_the_last_weights_count_and_only_the_semantic_view_encodes(
    train, boundaries, no_dev
):
    seen = boundaries
    model, state = train("with", **no_dev)
    assert state.best is None and "dev" not in state.records[0]
    assert len(seen) == 2
    assert changed(weights(model.query), seen[1])
    seen.clear()
    _, state = train("without", **no_dev, views=("tree", "sequence"))
    assert seen == []
    assert state.records[0]["negatives"]["audit"] is None


def test_refresh_every_2_encodes_for_two_epochs_at_once(train, boundaries, no_dev, monkeypatch):
    calls: list[int] = []
    draw = CurriculumNegatives.draw

    def watching(self, epoch, progress, **vectors):
        calls.append(epoch)
        return draw(self, epoch, progress, **vectors)

    monkeypatch.setattr(CurriculumNegatives, "draw", watching)
    seen = boundaries
    _, state = train(**no_dev, epochs=5, refresh_every=2)
    assert calls == [0, 1, 2, 3, 4]
    assert len(seen) == 3
    steps = [record["step"] for record in state.records]
    assert steps == [0, 3, 6, 9, 12, 15]


def test_every_epoch_s_negatives_are_described_also_between_refreshes(train):
    _, state = train(epochs=3, refresh_every=2)
    for record in state.records[:-1]:
        assert record["negatives"]["drawn"] == 36, record["epoch"]
        assert [len(each["negatives"]) for each in record["examples"]] == [3, 3, 3]
    assert "examples" not in state.records[-1]
    assert state.records[1]["negatives"]["overlap"] is not None


def test_a_record_of_an_epoch_says_what_it_did(train):
    _, state = train()
    assert [record["epoch"] for record in state.records] == [0, 1, 2]
    assert [record["step"] for record in state.records] == [0, 3, 6]
    for record in state.records[:-1]:
        assert len(record["losses"]) == 3
        assert record["loss"] == pytest.approx(sum(record["losses"]) / 3, abs=1e-4)
        assert 0 < record["articles_encoded"] < record["articles_listed"] == 22 * 4
        assert record["seconds_training"] > 0 and record["seconds_encoding"] > 0
        assert sum(record["negatives"]["buckets"]) == 36
    assert set(state.records[0]["dev"]) == set(state.records[2]["dev"])
    json.dumps(state.records)


def test_progress_passes_through_its_stages(train, tmp_path, monkeypatch):
    seen: list[dict[str, Any]] = []
    from training.records import Progress

    call = Progress.__call__

    def watching(self: Progress, stage: Any, *, step: int, epoch: int) -> None:
        call(self, stage, step=step, epoch=epoch)
        seen.append(json.loads((tmp_path / "work" / "progress.json").read_text()))

    monkeypatch.setattr(Progress, "__call__", watching)
    train()
    stages = [where["stage"] for where in seen]
    assert list(dict.fromkeys(stages)) == ["encoding", "saving", "training"]
    assert {(where["steps"], where["epochs"]) for where in seen} == {(6, 2)}
    steps = [where["step"] for where in seen]
    assert steps == sorted(steps) and steps[-1] == 6
    assert {where["epoch"] for where in seen} == {1, 2}


def test_the_best_weights_are_written_before_the_checkpoint_that_names_them(
    train, dev_says, monkeypatch, tmp_path
):
    dev_says([0.1, 0.2, 0.3])
    save = Resuming.save

    def checked(self: Resuming, state: RunState, token_budget: int) -> None:
        save(self, state, token_budget)
        assert state.best is not None
        assert (tmp_path / "work" / state.best["folder"] / "weights.safetensors").exists()

    monkeypatch.setattr(Resuming, "save", checked)
    train(checkpoint_every=1)
