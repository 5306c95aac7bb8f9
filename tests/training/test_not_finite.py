"""A loss or a weight that is no number ends a run, and the last good checkpoint stays."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from training import loop as loop_module
from training.command_line import TrainingError
from training.optimizer import Optimizer

Weights = dict[str, torch.Tensor]


def weights(model: torch.nn.Module) -> Weights:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def changed(one: Weights, other: Weights) -> set[str]:
    assert one.keys() == other.keys()
    return {name for name in one if not torch.equal(one[name], other[name])}


def poison(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """A weight turns into NaN before step `at`, as memory or a bad instruction may have it."""
    seed = loop_module.TrainingLoop._seed

    def poisoned(self: Any, step: int) -> None:
        if step == at:
            weight = dict(self._learner.model.named_parameters())[
                "query.encoder.0.model.encoder.layer.1.output.dense.weight"
            ]
            with torch.no_grad():
                weight[0, 0] = float("nan")
        seed(self, step)

    monkeypatch.setattr(loop_module.TrainingLoop, "_seed", poisoned)


def test_a_loss_that_is_no_number_stops_the_run_and_names_the_questions(
    train, tmp_path, monkeypatch
):
    with monkeypatch.context() as patched:
        poison(patched, at=4)
        with pytest.raises(TrainingError) as failed:
            train(checkpoint_every=2)
    said = str(failed.value)
    assert "step 4" in said and "nan" in said and str(tmp_path / "work") in said
    chosen = [word.strip(",.") for word in said.split() if word.startswith("q")]
    assert 1 <= len({word for word in chosen if word[1:].isdigit()}) <= 8
    # The last good checkpoint is there, whole and finite: the run can be taken up.
    model, state = train(checkpoint_every=2)
    assert state.step == 6
    assert not changed(weights(model), weights(train("alone", checkpoint_every=2)[0]))


@pytest.mark.parametrize("dev", [True, False])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_weight_that_is_no_number_after_an_epoch_s_last_step_is_noticed_there(
    train, no_dev, tmp_path, monkeypatch, dev, bad
):
    """The loss of that step was finite still."""
    step = Optimizer.step

    def overflowing(self: Optimizer, number: int) -> None:
        step(self, number)
        if number == 2:
            name = "query.encoder.0.model.encoder.layer.1.output.dense.weight"
            with torch.no_grad():
                self.parameters[name][0, 0] = bad

    monkeypatch.setattr(Optimizer, "step", overflowing)
    with pytest.raises(TrainingError, match=r"\bq[0-9]+"):
        train(**({} if dev else no_dev))
    kept = [path.name for path in (tmp_path / "work").glob("step-*")]
    assert kept == ["step-0"]


def test_vectors_that_are_no_numbers_between_epochs_are_noticed_there(train, tmp_path, monkeypatch):
    """Finite weights may have products that are not."""
    step = Optimizer.step

    def enlarging(self: Optimizer, number: int) -> None:
        step(self, number)
        if number == 2:
            for name, weight in self.parameters.items():
                if "LayerNorm" in name or "dense" in name:
                    with torch.no_grad():
                        weight.fill_(1e16)

    monkeypatch.setattr(Optimizer, "step", enlarging)
    with pytest.raises(TrainingError, match=r"after step 3: vectors hold NaN.*learning_rate"):
        train()
    assert [path.name for path in (tmp_path / "work").glob("step-*")] == ["step-0"]


def test_memory_that_runs_out_is_said_with_what_needs_less(train, tmp_path, monkeypatch):
    def short(*_: Any) -> float:
        raise torch.OutOfMemoryError("CUDA out of memory")

    with monkeypatch.context() as patched:
        patched.setattr("training.biencoder_learner.loss_and_gradient", short)
        with pytest.raises(TrainingError, match=r"step 0: memory ran out.*gradient_caching true"):
            train()
    assert train()[1].step == 6  # from the checkpoint that stayed
