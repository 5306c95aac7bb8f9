"""The run: killed and taken up again, stopped by what is not a number, and learning at all."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import Trainer

from components.statutes.article import indexed_text
from components.statutes.corpus import StatuteCorpus
from training.command_line import Place, TrainingError
from training.hf_trainer import watch
from training.hf_trainer.checkpoints import COMPLETE_FILE, seal
from training.pretraining.blocks import make_blocks
from training.pretraining.masked_training import train_masked
from training.pretraining.settings import PretrainSettings
from training.pretraining.starting import open_start
from training.records import METRICS_FILE, PROGRESS_FILE

STEPS = 17


class KilledError(Exception):
    """Stands for a kill."""


Run = tuple[dict[str, Tensor], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def train_in(small_law: Path, tiny_bert: Path) -> Callable[..., Run]:
    """`train_in(work, field=value, ...)`: a run in that folder; weights and records."""
    articles = StatuteCorpus.read(small_law / "articles.jsonl")
    texts = [indexed_text(each.headings, each.text) for each in articles]

    def of(work: Path, **fields: Any) -> Run:
        values = {
            "max_steps": STEPS,
            "batch_size": 4,
            "checkpoint_every": 5,
            "learning_rate": 1e-3,
            "dtype": "float32",
            "device": "cpu",
            **fields,
        }
        settings = PretrainSettings(
            corpus=Place("law"), output=Place("out"), model=Place(str(tiny_bert)), **values
        )
        start = open_start(tiny_bert, settings.seed)
        blocks = make_blocks(
            texts,
            start.tower.tokenizer,
            block_tokens=24,
            separator=start.tokenizer.sep_token_id,
            unknown=None,
            held_out=0.1,
            seed=0,
        )
        work.mkdir(exist_ok=True)
        records = train_masked(settings, start, blocks, work)
        return start.trained().state_dict(), records

    return of


@pytest.fixture(scope="module")
def alone(train_in: Callable[..., Run], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that nothing disturbed."""
    return train_in(tmp_path_factory.mktemp("alone"))


@pytest.fixture
def train(train_in: Callable[..., Run], tmp_path: Path) -> Callable[..., Run]:
    """`train(name, field=value, ...)`: a run in a folder of that name."""
    return lambda name, **fields: train_in(tmp_path / name, **fields)


def kill_at(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = watch.RunWatch.on_step_begin

    def killed(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step == step:
            raise KilledError
        begin(self, args, state, control, **kwargs)

    monkeypatch.setattr(watch.RunWatch, "on_step_begin", killed)


@pytest.mark.parametrize("step", [3, 5, 11, 16])
def test_killed_and_taken_up_again_it_ends_as_one_left_alone(
    step: int, alone: Run, train: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    weights, records = alone
    with monkeypatch.context() as patch, pytest.raises(KilledError):
        kill_at(step, patch)
        train("killed")
    # Chance was somewhere else when the process died.
    torch.manual_seed(12345)
    again, resumed = train("killed")
    assert all(torch.equal(weights[name], again[name]) for name in weights)
    assert resumed == records
    assert ("Going on from checkpoint" in capsys.readouterr().err) == (step >= 5)


def test_a_half_written_checkpoint_is_passed_over(
    alone: Run,
    train: Callable[..., Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
) -> None:
    weights, _ = alone
    with monkeypatch.context() as patch, pytest.raises(KilledError):
        kill_at(12, patch)
        train("killed")
    newest = tmp_path / "killed" / "checkpoint-10"
    (newest / COMPLETE_FILE).unlink()
    model = newest / "model.safetensors"
    model.write_bytes(model.read_bytes()[:1000])
    again, _ = train("killed")
    said = capsys.readouterr().err
    assert "checkpoint-10: was not written to the end" in said
    assert "Going on from checkpoint-5 " in said
    assert all(torch.equal(weights[name], again[name]) for name in weights)


def test_a_run_killed_while_it_writes_goes_on_from_the_checkpoint_before(
    train: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def killed(checkpoint: Path) -> None:
        if checkpoint.name == "checkpoint-15":
            raise KilledError
        seal(checkpoint)

    with monkeypatch.context() as patch, pytest.raises(KilledError):
        patch.setattr(watch, "seal", killed)
        train("killed")
    train("killed")
    assert "Going on from checkpoint-10 " in capsys.readouterr().err


def test_a_finished_run_taken_up_again_only_ends(train: Callable[..., Run]) -> None:
    weights, records = train("run")
    again, same = train("run")
    assert all(torch.equal(weights[name], again[name]) for name in weights)
    assert same == records


def test_the_held_out_blocks_cost_less_in_the_end(train: Callable[..., Run]) -> None:
    _, records = train("run", max_steps=60)
    assert records[0]["step"] == 0
    assert records[-1]["step"] == 60
    assert records[-1]["held_out_loss"] < 0.9 * records[0]["held_out_loss"]


def test_epochs_end_when_each_block_was_read_so_often(train: Callable[..., Run]) -> None:
    _, records = train("run", max_steps=None, epochs=2)
    assert 2 <= records[-1]["epoch"] < 2.2


def test_the_seed_decides(train: Callable[..., Run], alone: Run) -> None:
    weights, _ = train("other", seed=1)
    assert not all(torch.equal(alone[0][name], weights[name]) for name in weights)


def test_a_loss_that_is_no_number_stops_the_run_and_keeps_the_last_good_weights(
    train: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = Trainer.training_step

    def broken(self: Any, *args: Any, **kwargs: Any) -> Tensor:
        loss = step(self, *args, **kwargs)
        return loss * float("nan") if self.state.global_step == 7 else loss

    monkeypatch.setattr(Trainer, "training_step", broken)
    with pytest.raises(TrainingError, match="up to step 10: loss is nan"):
        train("run")
    assert [path.name for path in (tmp_path / "run").glob("checkpoint-*")] == ["checkpoint-5"]
    kept = load_file(tmp_path / "run" / "checkpoint-5" / "model.safetensors")
    assert all(torch.isfinite(weight).all() for weight in kept.values())


def test_a_gradient_that_is_no_number_is_seen_before_a_checkpoint(
    train: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = Trainer.training_step

    def broken(self: Any, model: Any, *args: Any, **kwargs: Any) -> Tensor:
        loss = step(self, model, *args, **kwargs)
        if self.state.global_step == 4:
            next(model.parameters()).grad.fill_(float("inf"))
        return loss

    monkeypatch.setattr(Trainer, "training_step", broken)
    with pytest.raises(TrainingError, match="grad_norm is"):
        train("run")
    assert not list((tmp_path / "run").glob("checkpoint-*"))


def test_weights_stay_float32_where_the_forward_pass_is_bfloat16(
    train: Callable[..., Run], alone: Run
) -> None:
    weights, records = train("run", dtype="bfloat16")
    assert {weight.dtype for weight in weights.values()} == {torch.float32}
    assert records[-1]["held_out_loss"] == pytest.approx(alone[1][-1]["held_out_loss"], rel=0.05)
    assert records != alone[1]


def test_metrics_and_progress_are_there_while_it_runs(
    train: Callable[..., Run], tmp_path: Path
) -> None:
    _, records = train("run")
    lines = (tmp_path / "run" / METRICS_FILE).read_text().splitlines()
    assert len(lines) == len(records)
    assert f'"steps": {STEPS}' in (tmp_path / "run" / PROGRESS_FILE).read_text()
