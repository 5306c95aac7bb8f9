"""A ranker's training: killed anywhere and taken up again, it ends as one left alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import Trainer

from training.command_line import Place, Target, TrainingError
from training.data import TrainingData
from training.ranking import watch
from training.ranking.measuring import DevLists
from training.ranking.preparing import prepare
from training.ranking.settings import RankerTrainingSettings
from training.ranking.starting import open_start
from training.ranking.training_run import train_ranker
from training.ranking.watch import MODEL_FOLDER, best_folder
from training.records import METRICS_FILE, PROGRESS_FILE

Run = tuple[dict[str, Tensor], list[dict[str, Any]]]
# 22 positives and 24 negatives are 6 steps of 8 an epoch.
STEPS = 12


class KilledError(Exception):
    """Stands for the death of the process."""


@pytest.fixture(scope="module")
def train_in(small_law: Path, tiny_bert: Path) -> Callable[..., Run]:
    """`train_in(work, law=FOLDER, field=value, ...)`: weights and records at the end."""

    def of(work: Path, law: Path = small_law, **fields: Any) -> Run:
        values: dict[str, Any] = {
            "model": Place(str(tiny_bert)),
            "start": Place(str(tiny_bert)),
            "candidates": 15,
            "negatives": 2,
            "passage_tokens": 12,
            "batch_size": 8,
            "learning_rate": 1e-3,
            "checkpoint_every": 4,
            "dtype": "float32",
            "device": "cpu",
            **fields,
        }
        settings = RankerTrainingSettings(
            corpus=Place(str(law / "articles.jsonl")),
            questions=Place(str(law / "questions.jsonl")),
            output=Target("unused"),
            **values,
        )
        data = TrainingData.read(settings.corpus, settings.questions)
        work.mkdir(exist_ok=True)
        prepared = prepare(settings, data, work)
        records = train_ranker(settings, prepared, work)
        return dict(prepared.ranker.encoder.state_dict()), records

    return of


@pytest.fixture(scope="module")
def alone(train_in: Callable[..., Run], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that nothing disturbed."""
    return train_in(tmp_path_factory.mktemp("alone"))


def kill_at(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = watch.RankerWatch.on_step_begin

    def killed(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step == step:
            raise KilledError
        begin(self, args, state, control, **kwargs)

    monkeypatch.setattr(watch.RankerWatch, "on_step_begin", killed)


@pytest.mark.parametrize("step", [3, 5, 6, 9])
def test_killed_and_taken_up_again_it_ends_as_one_left_alone(
    step: int,
    alone: Run,
    train_in: Callable[..., Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
) -> None:
    weights, records = alone
    with monkeypatch.context() as patch, pytest.raises(KilledError):
        kill_at(step, patch)
        train_in(tmp_path / "killed")
    # Chance was somewhere else when the process died.
    torch.manual_seed(12345)
    again, resumed = train_in(tmp_path / "killed")
    assert all(torch.equal(weights[name], again[name]) for name in weights)
    assert resumed == records
    assert ("Going on from checkpoint" in capsys.readouterr().err) == (step > 4)


@pytest.mark.parametrize("measuring", [2, 3])
def test_killed_while_an_epochs_end_is_measured_it_is_measured_again(
    measuring: int,
    alone: Run,
    train_in: Callable[..., Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    weights, records = alone
    evaluated = watch.RankerWatch.on_evaluate
    times = 0

    def killed(self: Any, *args: Any, **kwargs: Any) -> None:
        nonlocal times
        times += 1
        if times == measuring:
            raise KilledError
        evaluated(self, *args, **kwargs)

    with monkeypatch.context() as patch, pytest.raises(KilledError):
        patch.setattr(watch.RankerWatch, "on_evaluate", killed)
        train_in(tmp_path / "killed")
    again, resumed = train_in(tmp_path / "killed")
    assert resumed == records
    assert all(torch.equal(weights[name], again[name]) for name in weights)


def test_the_weights_that_were_best_on_dev_are_kept_and_no_others(
    train_in: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = iter([0.9, 0.5, 0.7, 0.6])
    monkeypatch.setattr(
        "training.ranking.measuring.DevLists.metrics",
        lambda self, ranked, metric: {metric: next(values) if ranked != self.found else 0.0},
    )
    work = tmp_path / "run"
    _, records = train_in(work, epochs=3)
    assert [record["dev"]["MRR@10"] for record in records] == [0.9, 0.5, 0.7, 0.6]
    assert [path.name for path in work.glob("best-*")] == ["best-12"]
    best = best_folder(work, records, "MRR@10")
    assert best is not None
    assert {path.name for path in best.iterdir()} == {MODEL_FOLDER, "dev_logits.npy"}


def test_what_the_negatives_score_is_recorded_before_and_after_one_epoch(alone: Run) -> None:
    _, records = alone
    assert [record["epoch"] for record in records] == [0, 1, 2]
    assert ["negatives" in record for record in records] == [True, True, False]
    before, after = records[0]["negatives"], records[1]["negatives"]
    assert before["ranker"] != after["ranker"]
    assert before["biencoder"] == after["biencoder"]
    assert before["ranker"]["n"] == 24
    assert "first_stage" in records[0]


def test_steps_in_place_of_epochs(train_in: Callable[..., Run], tmp_path: Path) -> None:
    _, records = train_in(tmp_path / "run", max_steps=8)
    assert [record["step"] for record in records] == [0, 6, 8]


def test_the_seed_decides(train_in: Callable[..., Run], alone: Run, tmp_path: Path) -> None:
    weights, _ = train_in(tmp_path / "other", seed=1)
    assert not all(torch.equal(alone[0][name], weights[name]) for name in weights)


def test_weights_stay_float32_where_the_forward_pass_is_bfloat16(
    train_in: Callable[..., Run], tmp_path: Path
) -> None:
    weights, _ = train_in(tmp_path / "run", dtype="bfloat16")
    assert {weight.dtype for weight in weights.values()} == {torch.float32}


def test_a_loss_that_is_no_number_stops_the_run_and_keeps_the_last_good_weights(
    train_in: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = Trainer.training_step

    def broken(self: Any, *args: Any, **kwargs: Any) -> Tensor:
        loss = step(self, *args, **kwargs)
        return loss * float("nan") if self.state.global_step == 7 else loss

    monkeypatch.setattr(Trainer, "training_step", broken)
    with pytest.raises(TrainingError, match="loss is nan"):
        train_in(tmp_path / "run")
    kept = {path.name for path in (tmp_path / "run").glob("checkpoint-*")}
    assert kept == {"checkpoint-4", "checkpoint-6"}


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize("at", [6, STEPS])
def test_a_weight_that_is_no_number_after_an_epoch_s_last_step_is_noticed_there(
    train_in: Callable[..., Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    bad: float,
    at: int,
) -> None:
    """The loss of that step was finite still."""
    end = watch.RankerWatch.on_step_end

    def overflowing(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step == at:
            next(kwargs["model"].parameters()).data.view(-1)[0] = bad
        end(self, args, state, control, **kwargs)

    monkeypatch.setattr(watch.RankerWatch, "on_step_end", overflowing)
    with pytest.raises(TrainingError, match=rf"up to step {at}: the weights' norm is (nan|inf)"):
        train_in(tmp_path / "run")
    kept = {path.name for path in (tmp_path / "run").glob("[bc]*-*")}
    assert f"checkpoint-{at}" not in kept and f"best-{at}" not in kept


def test_logits_that_are_no_numbers_rank_nothing(
    train_in: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logits = DevLists.logits

    def overflowing(self: DevLists, score: Any) -> NDArray[np.float32]:
        found = logits(self, score)
        found[0, 0] = np.nan
        return found

    monkeypatch.setattr(DevLists, "logits", overflowing)
    with pytest.raises(TrainingError, match="up to step 0: a logit of dev is nan"):
        train_in(tmp_path / "run")
    assert not list((tmp_path / "run").glob("best-*"))


def test_metrics_and_progress_are_there_while_it_runs(
    train_in: Callable[..., Run], tmp_path: Path
) -> None:
    _, records = train_in(tmp_path / "run")
    assert len((tmp_path / "run" / METRICS_FILE).read_text().splitlines()) == len(records)
    assert f'"steps": {STEPS}' in (tmp_path / "run" / PROGRESS_FILE).read_text()


def test_a_fresh_head_has_a_rate_of_its_own(
    train_in: Callable[..., Run], tiny_bert: Path, tmp_path: Path
) -> None:
    start = dict(open_start(tiny_bert, torch.device("cpu"), seed=0).state_dict())
    rates = {"learning_rate": 1e-9, "head_lr": 1e-2, "warmup": 0.0}
    trained, _ = train_in(tmp_path / "run", max_steps=1, **rates)
    moved = {name: float((trained[name] - start[name]).abs().max()) for name in start}
    head = {name for name in moved if ".classifier." in name or ".pooler." in name}
    # AdamW's first step is as large as the rate.
    assert {name for name, by in moved.items() if by > 1e-3} == head
    assert len(head) == 4


@pytest.mark.parametrize("dropout", [0.0, 0.25])
def test_dropout_is_what_was_asked_for(
    train_in: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dropout: float
) -> None:
    seen: list[float] = []
    begin = watch.RankerWatch.on_step_begin

    def look(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        seen.extend(m.p for m in kwargs["model"].modules() if isinstance(m, nn.Dropout))
        begin(self, args, state, control, **kwargs)

    monkeypatch.setattr(watch.RankerWatch, "on_step_begin", look)
    train_in(tmp_path / "run", max_steps=1, dropout=dropout)
    assert seen
    assert set(seen) == {dropout}


def test_it_learns_what_tells_answers_from_other_articles(
    train_in: Callable[..., Run],
    write_law: Callable[..., Path],
    article: Callable[..., dict[str, Any]],
    question: Callable[..., dict[str, Any]],
    tmp_path: Path,
) -> None:
    # Every question is answered by the articles on appeals, whatever it asks for.
    appeals = range(0, 30, 6)
    law = [
        article(n, text=f"From decision {n} an appeal lies to the court.") if n in appeals
        else article(n)
        for n in range(30)
    ]  # fmt: skip
    asked = [question(n, appeals, "train" if n < 12 else "dev") for n in range(16)]
    folder = write_law(tmp_path / "law", law, asked)
    _, records = train_in(
        tmp_path / "run", law=folder, candidates=30, negatives=5, epochs=5, dropout=0.0
    )
    # The tokenizer, and with it the numbers, differ a little from process to process.
    assert records[0]["dev"]["MAP@10"] < 0.6
    assert records[-1]["dev"]["MAP@10"] > 0.85
