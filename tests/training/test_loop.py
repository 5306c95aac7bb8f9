"""Whole runs on a small law: what is trained, measured, chosen and written down."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
import torch
from slow_cases import slow

from training import cusines
from training import loop as loop_module
from training.command_line import TrainingError
from training.data import TrainingData
from training.loop import TrainingLoop
from training.negatives.sampling import CurriculumNegatives
from training.objective import Optimizer

Weights = dict[str, torch.Tensor]

ROOT = Path(__file__).resolve().parents[2]

IN_BATCH_ALONE: dict[str, Any] = {"negatives_per_question": 0, "views": (), "buckets": 1}


def weights(model: torch.nn.Module) -> Weights:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def changed(one: Weights, other: Weights) -> set[str]:
    assert one.keys() == other.keys()
    return {name for name in one if not torch.equal(one[name], other[name])}


def test_dropout_is_on_in_training_and_differs_in_each_step(train, monkeypatch):
    seeds: list[int] = []
    step = cusines.loss_and_gradient

    def watching(*arguments: Any) -> float:
        seeds.append(torch.initial_seed())
        return step(*arguments)

    monkeypatch.setattr(cusines, "loss_and_gradient", watching)
    _, dropping = train("one", dropout=0.3, max_steps=2)
    assert len(set(seeds)) == 2
    _, again = train("two", dropout=0.3, max_steps=2)
    assert seeds[2:] == seeds[:2]
    _, whole = train("three", dropout=0.0, max_steps=1)
    first = [state.records[0]["losses"][0] for state in (dropping, again, whole)]
    assert first[0] == first[1] != first[2]


@pytest.mark.parametrize("fields", [{}, {"head": "identity", "passage_tokens": 16}])
def test_a_step_runs_through_at_most_five_of_our_files(train, no_dev, monkeypatch, fields):
    """From the pairs of a batch to the weights after it."""
    step = TrainingLoop._step
    files: set[str] = set()

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if any(path.is_relative_to(ROOT / package) for package in ("components", "training")):
            files.add(path.relative_to(ROOT).as_posix())

    def watched(self: TrainingLoop, number: int, pairs: Any) -> None:
        if number == 1:  # the first one fills caches
            sys.setprofile(watch)
        try:
            step(self, number, pairs)
        finally:
            sys.setprofile(None)

    monkeypatch.setattr(TrainingLoop, "_step", watched)
    train(**no_dev, **fields, max_steps=2)
    assert "training/objective.py" in files
    assert len(files) <= 5, sorted(files)


def test_it_learns_what_it_is_shown_by_every_weight_that_makes_a_vector(train, start, no_dev):
    model, state = train(**no_dev, epochs=9, dropout=0.0, learning_rate=3e-3)
    means = [record["loss"] for record in state.records if "loss" in record]
    assert means[-1] < 0.5 * means[0]
    before = weights(start())
    moved = changed(before, weights(model))
    unused = {name for name in before if "pooler" in name or "position_ids" in name}
    # The bias of attention's keys has no influence; position 47 was never read.
    assert set(before) - moved - unused <= {name for name in before if "key.bias" in name}


@pytest.mark.parametrize(("head", "caching"), [("identity", True), *slow(("paper", False))])
def test_a_head_is_trained_at_its_own_rate(train, start, no_dev, head, caching):
    fields = {
        "head": head, "passage_tokens": 16, "max_passages": 3, "head_lr": 1e-2,
        "learning_rate": 1e-9, "gradient_caching": caching, "token_budget": 100,
    }  # fmt: skip
    model, _ = train(**no_dev, **fields)
    before, after = weights(start(**fields)), weights(model)
    for name in changed(before, after):
        moved = float((before[name] - after[name]).abs().max())
        assert (moved > 1e-3) == name.startswith("head."), name
    # The position of a passage that no article has is never read.
    parts = {name for name in before if name.startswith("head.")}
    assert parts - changed(before, after) <= {n for n in parts if n.endswith("in_proj_bias")}


def test_an_epoch_is_each_pair_once_in_the_order_that_negatives_are_drawn_for(
    train, settings, monkeypatch
):
    seen: list[list[tuple[int, int]]] = []
    make = loop_module.make_batch

    def remembering(pairs, *arguments, **options):
        seen.append([tuple(pair) for pair in pairs.tolist()])
        return make(pairs, *arguments, **options)

    progress: dict[int, np.ndarray] = {}
    draw = CurriculumNegatives.draw

    def watching(self, epoch, done, **vectors):
        progress[epoch] = done
        return draw(self, epoch, done, **vectors)

    monkeypatch.setattr(loop_module, "make_batch", remembering)
    monkeypatch.setattr(CurriculumNegatives, "draw", watching)
    train(epochs=3)
    chosen = settings()
    data = TrainingData.read(chosen.corpus, chosen.questions)
    everything = sorted(tuple(pair) for pair in data.pairs.tolist())
    assert [len(batch) for batch in seen] == [8, 8, 6] * 3
    for epoch in range(3):
        steps = seen[3 * epoch : 3 * epoch + 3]
        assert sorted(pair for batch in steps for pair in batch) == everything
        for question in range(len(data.train)):
            first = next(n for n, batch in enumerate(steps) if question in [q for q, _ in batch])
            assert progress[epoch][question] == (3 * epoch + first) / 9
    assert seen[:3] != seen[3:6]


def test_max_steps_ends_within_an_epoch_and_the_curriculum_still_reaches_its_end(
    train, monkeypatch
):
    rates: list[float] = []
    step = Optimizer.step

    def watching(self: Optimizer, number: int) -> None:
        rates.append(self._rates(number))
        step(self, number)

    monkeypatch.setattr(Optimizer, "step", watching)
    _, state = train(max_steps=7, epochs=50, warmup=0.3)
    assert state.step == 7 and state.finished and state.epoch == 3
    assert rates == pytest.approx([0.5, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2])
    drawn = [record["negatives"]["buckets"] for record in state.records[:-1]]
    assert drawn[0][0] > drawn[0][2] and drawn[-1][2] > drawn[-1][0]


# Between epochs


def test_the_best_epoch_s_weights_are_the_model_s(train, boundaries, dev_says):
    dev_says([0.1, 0.5, 0.3])
    model, state = train()
    assert state.best is not None and state.best["epoch"] == 1
    assert not changed(weights(model.query), boundaries[1])
    assert changed(weights(model.query), boundaries[2])


def test_dev_is_measured_every_so_many_epochs_and_at_the_end(train, dev_says):
    dev_says([0.1, 0.5, 0.3])
    _, state = train(epochs=5, measure_every=3, views=("tree",))
    assert [record["epoch"] for record in state.records if "dev" in record] == [0, 3, 5]
    assert state.best is not None and state.best["epoch"] == 3


def test_without_dev_the_last_weights_count_and_only_the_semantic_view_encodes(
    train, boundaries, no_dev
):
    model, state = train("with", **no_dev)
    assert state.best is None and "dev" not in state.records[0]
    assert len(boundaries) == 2
    assert changed(weights(model.query), boundaries[1])
    boundaries.clear()
    train("without", **no_dev, views=("tree", "sequence"))
    assert boundaries == []


def test_refresh_every_2_encodes_for_two_epochs_at_once(train, boundaries, no_dev, monkeypatch):
    calls: list[int] = []
    draw = CurriculumNegatives.draw

    def watching(self, epoch, progress, **vectors):
        calls.append(epoch)
        return draw(self, epoch, progress, **vectors)

    monkeypatch.setattr(CurriculumNegatives, "draw", watching)
    _, state = train(**no_dev, epochs=3, refresh_every=2)
    assert calls == [0, 1, 2]
    assert len(boundaries) == 2
    assert [record["step"] for record in state.records] == [0, 3, 6, 9]


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
        assert len(record["own_mass"]) == 3 and 0 < sum(record["own_mass"]) < 1
    assert set(state.records[0]["dev"]) == set(state.records[2]["dev"])
    json.dumps(state.records)


TRIPLET = {"loss": "triplet", "margin": 0.5}


@pytest.mark.parametrize(
    ("similarity", "loss", "falls_to"),
    [("dot", {}, 0.8), *slow(("l2", {}, 0.8), ("dot", TRIPLET, 1.0), ("l2", TRIPLET, 1.0))],
)
def test_lengths_count_where_they_are_compared(train, no_dev, similarity, loss, falls_to):
    fields = {"similarity": similarity, "dropout": 0.0, "epochs": 8, "temperature": 0.5}
    model, state = train(**no_dev, **fields, **loss)
    assert model.similarity == similarity
    vectors = model.encode_articles(["rent", "The landlord must give notice of repairs."])
    assert not torch.allclose(vectors.norm(dim=1), torch.ones(2), atol=0.01)
    means = [record["loss"] for record in state.records if "loss" in record]
    assert means[-1] < falls_to * means[0]


def test_negatives_that_get_none_of_the_gradient_are_reported_once(train, monkeypatch, capsys):
    alone = train("alone", in_batch=False, epochs=1)[1].records
    assert sum(alone[0]["own_mass"]) == pytest.approx(1)
    none = train("none", epochs=1, **IN_BATCH_ALONE)[1].records
    assert sum(none[0]["own_mass"]) == 0
    assert "teach almost nothing" not in capsys.readouterr().err
    monkeypatch.setattr("training.checkpoint.LEAST_OWN_MASS", 0.999)
    train("weak")
    assert capsys.readouterr().err.count("teach almost nothing") == 1


# What is not finite


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


def test_a_loss_that_is_not_a_number_stops_the_run_and_names_the_questions(
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
    assert train(checkpoint_every=2)[1].step == 6


@pytest.mark.parametrize(("dev", "bad"), [(True, float("nan")), (False, float("inf"))])
def test_a_weight_that_is_not_finite_after_an_epoch_is_noticed(
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
