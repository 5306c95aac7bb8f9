"""Whole runs on a small law: what is trained, what is kept, what is written down."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from accelerate import Accelerator

from components.models.biencoder import BiEncoder
from training import loop as loop_module
from training.command_line import TrainingError
from training.cusines import fit
from training.data import TrainingData
from training.negatives.sampling import CurriculumNegatives
from training.optimizer import Optimizer
from training.resuming import Resuming, RunState
from training.settings import CusinesSettings
from training.starting import starting_model
from training.texts import RunTexts
from training.validation import Validation

CPU = torch.device("cpu")
Weights = dict[str, torch.Tensor]
Fit = Callable[..., tuple[BiEncoder, RunState]]


@pytest.fixture
def train(settings, tmp_path: Path) -> Fit:
    """`train(field=value, ...)`: the model and the state at the end of a run of two epochs."""

    def run(name: str = "work", stop_after: int | None = None, **fields: Any):
        chosen = settings(**fields)
        data = TrainingData.read(chosen.corpus, chosen.questions, dev_share=0.0)
        (tmp_path / name).mkdir(exist_ok=True)
        return fit(chosen, data, Accelerator(cpu=True), tmp_path / name, stop_after=stop_after)

    return run


def start(settings, **fields: Any) -> BiEncoder:
    """The model that such a run starts from, weight for weight."""
    chosen: CusinesSettings = settings(**fields)
    torch.manual_seed(chosen.seed)
    return starting_model(chosen, CPU)


def weights(model: BiEncoder) -> Weights:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def changed(one: Weights, other: Weights) -> set[str]:
    assert one.keys() == other.keys()
    return {name for name in one if not torch.equal(one[name], other[name])}


@pytest.fixture
def no_dev(tmp_path, write_law, article, question) -> dict[str, str]:
    """Files of a law whose questions are all to be learnt."""
    folder = write_law(
        tmp_path / "no-dev",
        [article(n) for n in range(30)],
        [question(n, [n, n + 9]) for n in range(10)],
    )
    return {name: str(folder / f"{name}.jsonl") for name in ("corpus", "questions")} | {
        "corpus": str(folder / "articles.jsonl")
    }


def scripted(monkeypatch: pytest.MonkeyPatch, values: list[float]) -> None:
    """Dev says `values`, boundary after boundary."""
    ahead = iter(values)

    def measured(questions, vectors, articles, ids, trained, metric) -> Validation:
        value = next(ahead)
        return Validation({metric: {question.id: value for question in questions}}, [])

    monkeypatch.setattr(loop_module, "validate", measured)


def boundaries(monkeypatch: pytest.MonkeyPatch) -> list[Weights]:
    """The weights at each boundary between epochs."""
    seen: list[Weights] = []
    encode = RunTexts.encode

    def remembering(self: RunTexts, *arguments: Any) -> Any:
        tower = self.articles.encoder.tower
        seen.append({n: t.detach().clone() for n, t in tower.state_dict().items()})
        return encode(self, *arguments)

    monkeypatch.setattr(RunTexts, "encode", remembering)
    return seen


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(train, no_dev):
    one, first = train("one", **no_dev, seed=3)
    two, second = train("two", **no_dev, seed=3)
    other, _ = train("other", **no_dev, seed=4)
    assert not changed(weights(one), weights(two))
    assert changed(weights(one), weights(other))
    losses = [[record.get("losses") for record in state.records] for state in (first, second)]
    assert losses[0] == losses[1]


def test_the_caller_s_random_numbers_do_not_matter(train):
    torch.manual_seed(1)
    one, _ = train("one", head="paper", passage_tokens=16)
    torch.manual_seed(2)
    two, _ = train("two", head="paper", passage_tokens=16)
    assert not changed(weights(one), weights(two))


def test_every_weight_that_makes_a_vector_is_trained(train, settings, no_dev):
    before = weights(start(settings))
    moved = changed(before, weights(train(**no_dev)[0]))
    unused = {name for name in before if "pooler" in name or "position_ids" in name}
    # The bias of attention's keys has no influence; position 47 was never read.
    assert set(before) - moved - unused <= {name for name in before if "key.bias" in name}


def test_it_learns_what_it_is_shown(train, no_dev):
    _, state = train(**no_dev, epochs=12, dropout=0.0, learning_rate=3e-3)
    means = [record["loss"] for record in state.records if "loss" in record]
    assert means[-1] < 0.5 * means[0]


def test_in_eval_mode_at_the_end(train):
    assert not any(module.training for module in train()[0].modules())


def test_frozen_layers_stay_bit_for_bit_and_the_others_move(train, settings, no_dev):
    before = weights(start(settings, frozen_layers=1))
    moved = changed(before, weights(train(**no_dev, frozen_layers=1)[0]))
    frozen = {name for name in before if "embeddings" in name or "layer.0." in name}
    assert frozen and not moved & frozen
    assert {name for name in before if "layer.1." in name and "key.bias" not in name} <= moved


def test_two_towers_are_both_trained_apart(train, settings, no_dev, tiny_bert):
    pair = {"model": None, "query_model": str(tiny_bert), "passage_model": str(tiny_bert)}
    model, _ = train(**no_dev, **pair)
    moved = changed(weights(start(settings, **pair)), weights(model))
    assert {name.partition(".")[0] for name in moved} == {"query", "passage"}
    query, passage = model.query.state_dict(), model.passage.state_dict()
    assert any(not torch.equal(query[name], passage[name]) for name in query)


@pytest.mark.parametrize("head", ["identity", "paper"])
@pytest.mark.parametrize("caching", [False, True])
def test_a_head_is_trained_at_its_own_rate(train, settings, no_dev, head, caching):
    fields = {
        "head": head, "passage_tokens": 16, "max_passages": 3, "head_lr": 1e-2,
        "learning_rate": 1e-9, "gradient_caching": caching, "token_budget": 100,
    }  # fmt: skip
    before, after = weights(start(settings, **fields)), weights(train(**no_dev, **fields)[0])
    for name in changed(before, after):
        moved = float((before[name] - after[name]).abs().max())
        assert (moved > 1e-3) == name.startswith("head."), name
    # The position of a passage that no article has is never read.
    parts = {name for name in before if name.startswith("head.")}
    assert parts - changed(before, after) <= {n for n in parts if n.endswith("in_proj_bias")}


def test_gradient_caching_trains_the_same_model(train):
    one, _ = train("whole", dropout=0.0)
    two, _ = train("pieces", dropout=0.0, gradient_caching=True, token_budget=64)
    texts = ["the landlord must give notice", "wages are due within days"]
    assert torch.allclose(one.encode_articles(texts), two.encode_articles(texts), atol=1e-3)


def test_gradients_are_clipped(train, settings):
    """At a norm far below AdamW's epsilon its steps all but vanish."""
    before = weights(start(settings))
    norms: list[float] = []
    step = Optimizer.step

    def watching(self: Optimizer, number: int) -> None:
        squares = [
            float(p.grad.square().sum()) for p in self.parameters.values() if p.grad is not None
        ]
        norms.append(sum(squares) ** 0.5)
        step(self, number)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Optimizer, "step", watching)
        train("loose", clip=1.0)
        assert 0.5 < max(norms) <= 1.0 + 1e-4
        norms.clear()
        after = weights(train("tight", clip=1e-10, weight_decay=0.0)[0])
    assert max(norms) <= 1.01e-10
    assert max(float((before[n] - after[n]).abs().max()) for n in before) < 1e-4


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
        rates.append(self.rate(number))
        step(self, number)

    monkeypatch.setattr(Optimizer, "step", watching)
    _, state = train(max_steps=7, epochs=50, warmup=0.3)
    assert state.step == 7 and state.finished and state.epoch == 3
    assert rates == pytest.approx([0.5, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2])
    drawn = [record["negatives"]["buckets"] for record in state.records[:-1]]
    assert drawn[0][0] > drawn[0][2] and drawn[-1][2] > drawn[-1][0]


def test_the_best_epoch_s_weights_are_the_model_s(train, monkeypatch):
    scripted(monkeypatch, [0.1, 0.5, 0.3])
    seen = boundaries(monkeypatch)
    model, state = train()
    assert state.best is not None and state.best["epoch"] == 1
    assert not changed(weights(model.query), seen[1])
    assert changed(weights(model.query), seen[2])


def test_of_equal_epochs_the_first_is_the_best(train, settings, monkeypatch):
    scripted(monkeypatch, [0.5, 0.5, 0.5])
    model, state = train()
    assert state.best is not None and state.best["epoch"] == 0
    assert not changed(weights(model), weights(start(settings)))


def test_select_by_is_the_metric_that_chooses(train):
    for metric in ("R@3", "MAP"):
        _, state = train(metric, select_by=metric, epochs=3)
        values = [record["dev"][metric] for record in state.records]
        assert state.best is not None and state.best["value"] == max(values)
        assert state.best["epoch"] == values.index(max(values))


@pytest.mark.parametrize(("patience", "epochs"), [(1, 2), (2, 3), (None, 6)])
def test_patience_ends_a_run_that_gets_no_better(train, monkeypatch, patience, epochs):
    scripted(monkeypatch, [0.4, 0.6, 0.5, 0.6, 0.1, 0.2, 0.3])
    _, state = train(epochs=6, patience=patience)
    last = epochs if patience is None else 1 + patience
    assert state.epoch == last and state.finished
    assert state.best is not None and state.best["epoch"] == 1
    assert "negatives" not in state.records[-1]


def test_stopped_early_the_rate_and_the_curriculum_are_those_of_the_whole_run(train, no_dev):
    _, whole = train("whole", **no_dev, epochs=3)
    _, part = train("part", stop_after=2, **no_dev, epochs=3)
    assert part.epoch == 2 and part.finished and "negatives" not in part.records[2]
    for record, other in zip(part.records[:2], whole.records[:2], strict=True):
        assert record["losses"] == other["losses"]
        assert record["negatives"] == other["negatives"]


def test_stopped_before_the_first_epoch_the_model_is_the_start(train, settings, no_dev):
    model, state = train(stop_after=0, **no_dev)
    assert state.step == 0 and state.finished
    assert not changed(weights(model), weights(start(settings)))


def test_to_stop_after_more_epochs_than_there_are_is_to_go_to_the_end(train, no_dev):
    _, state = train(stop_after=9, **no_dev, epochs=2)
    assert state.epoch == 2 and state.finished


def test_without_dev_the_last_weights_count_and_only_the_semantic_view_encodes(
    train, no_dev, monkeypatch
):
    seen = boundaries(monkeypatch)
    model, state = train("with", **no_dev)
    assert state.best is None and "dev" not in state.records[0]
    assert len(seen) == 2
    assert changed(weights(model.query), seen[1])
    seen.clear()
    _, state = train("without", **no_dev, views=("tree", "sequence"))
    assert seen == []
    assert state.records[0]["negatives"]["audit"] is None


def test_refresh_every_2_encodes_for_two_epochs_at_once(train, no_dev, monkeypatch):
    calls: list[int] = []
    draw = CurriculumNegatives.draw

    def watching(self, epoch, progress, **vectors):
        calls.append(epoch)
        return draw(self, epoch, progress, **vectors)

    monkeypatch.setattr(CurriculumNegatives, "draw", watching)
    seen = boundaries(monkeypatch)
    _, state = train(**no_dev, epochs=5, refresh_every=2)
    assert calls == [0, 1, 2, 3, 4]
    assert len(seen) == 3
    steps = [record["step"] for record in state.records]
    assert steps == [0, 3, 6, 9, 12, 15]


def test_every_epoch_s_negatives_are_described_also_between_refreshes(train):
    _, state = train(epochs=3, refresh_every=2)
    for record in state.records[:-1]:
        assert record["negatives"]["drawn"] == 36, record["epoch"]
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


@pytest.mark.parametrize(
    "fields",
    [
        {"negatives_per_question": 0},
        {"views": ("bm25",), "schedule": "fixed"},
        {"views": (), "buckets": 1},
        {"views": ("tree", "sequence", "bm25")},
        {"permute_tree": True, "schedule": "reversed", "ties": "permutation"},
        {"in_batch": False, "reduction": "question_sum"},
        {"pooling": "cls", "dtype": "bfloat16"},
        {"schedule": "constant", "cross_law": "path", "text_rule": "text"},
    ],
)
def test_every_arm_trains(train, fields):
    _, state = train(**fields)
    losses = [loss for record in state.records for loss in record.get("losses", ())]
    assert len(losses) == 6 and all(0 < loss < 100 for loss in losses)
    assert state.finished


def test_shares_of_buckets_train_on_a_law_that_is_large_enough(
    train, tmp_path, write_law, article, question
):
    folder = write_law(
        tmp_path / "law",
        [article(n) for n in range(300)],
        [question(n, [n, n + 9]) for n in range(10)],
    )
    _, state = train(
        corpus=str(folder / "articles.jsonl"),
        questions=str(folder / "questions.jsonl"),
        share_of="bucket",
        epochs=1,
    )
    # One per cent of a hundred articles in each of three buckets, of each of ten questions.
    assert sum(state.records[0]["negatives"]["buckets"]) == 10


def test_one_question_alone_is_learnt(train, tmp_path, write_law, article, question):
    folder = write_law(tmp_path / "law", [article(n) for n in range(30)], [question(1, [1])])
    _, state = train(
        corpus=str(folder / "articles.jsonl"), questions=str(folder / "questions.jsonl")
    )
    assert state.step == 2 and state.finished


def poison(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """A weight turns into NaN before step `at`, as memory or a bad instruction may have it."""
    seed = loop_module.CusinesLoop._seed

    def poisoned(self: Any, step: int) -> None:
        if step == at:
            weight = dict(self._model.named_parameters())[
                "query.encoder.0.model.encoder.layer.1.output.dense.weight"
            ]
            with torch.no_grad():
                weight[0, 0] = float("nan")
        seed(self, step)

    monkeypatch.setattr(loop_module.CusinesLoop, "_seed", poisoned)


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
    train, monkeypatch, tmp_path
):
    scripted(monkeypatch, [0.1, 0.2, 0.3])
    save = Resuming.save

    def checked(self: Resuming, state: RunState, token_budget: int) -> None:
        save(self, state, token_budget)
        assert state.best is not None
        assert (tmp_path / "work" / state.best["folder"] / "weights.safetensors").exists()

    monkeypatch.setattr(Resuming, "save", checked)
    train(checkpoint_every=1)
