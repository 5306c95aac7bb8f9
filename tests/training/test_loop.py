"""Whole runs on a small law: what is trained, and how."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from training import biencoder_learner
from training import loop as loop_module
from training.data import TrainingData
from training.negatives.sampling import CurriculumNegatives
from training.optimizer import Optimizer

Weights = dict[str, torch.Tensor]


def weights(model: torch.nn.Module) -> Weights:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def changed(one: Weights, other: Weights) -> set[str]:
    assert one.keys() == other.keys()
    return {name for name in one if not torch.equal(one[name], other[name])}


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


def test_dropout_is_on_in_training_and_drawn_anew_in_each_step(train, monkeypatch):
    seeds: list[int] = []
    step = biencoder_learner.loss_and_gradient

    def watching(*arguments: Any) -> float:
        seeds.append(torch.initial_seed())
        return step(*arguments)

    monkeypatch.setattr(biencoder_learner, "loss_and_gradient", watching)
    _, dropping = train("one", dropout=0.3)
    assert len(set(seeds)) == 6
    _, again = train("two", dropout=0.3)
    assert seeds[6:] == seeds[:6]
    _, whole = train("three", dropout=0.0)
    first = [state.records[0]["losses"][0] for state in (dropping, again, whole)]
    assert first[0] == first[1] != first[2]


def test_every_weight_that_makes_a_vector_is_trained(train, start, no_dev):
    before = weights(start())
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


def test_frozen_layers_stay_bit_for_bit_and_the_others_move(train, start, no_dev):
    before = weights(start(frozen_layers=1))
    moved = changed(before, weights(train(**no_dev, frozen_layers=1)[0]))
    frozen = {name for name in before if "embeddings" in name or "layer.0." in name}
    assert frozen and not moved & frozen
    assert {name for name in before if "layer.1." in name and "key.bias" not in name} <= moved


def test_two_towers_are_both_trained_apart(train, start, no_dev, tiny_bert):
    pair = {"model": None, "query_model": str(tiny_bert), "passage_model": str(tiny_bert)}
    model, _ = train(**no_dev, **pair)
    moved = changed(weights(start(**pair)), weights(model))
    assert {name.partition(".")[0] for name in moved} == {"query", "passage"}
    query, passage = model.query.state_dict(), model.passage.state_dict()
    assert any(not torch.equal(query[name], passage[name]) for name in query)


@pytest.mark.parametrize("head", ["identity", "paper"])
@pytest.mark.parametrize("caching", [False, True])
def test_a_head_is_trained_at_its_own_rate(train, start, no_dev, head, caching):
    fields = {
        "head": head, "passage_tokens": 16, "max_passages": 3, "head_lr": 1e-2,
        "learning_rate": 1e-9, "gradient_caching": caching, "token_budget": 100,
    }  # fmt: skip
    model, state = train(**no_dev, **fields)
    before, after = weights(start(**fields)), weights(model)
    first, *_, last = [record["head_change"] for record in state.records]
    assert (first == 0) == (head == "identity")
    assert last > 0
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


def test_gradients_are_clipped(train, start):
    """At a norm far below AdamW's epsilon its steps all but vanish."""
    before = weights(start())
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
        rates.append(self._rates(number))
        step(self, number)

    monkeypatch.setattr(Optimizer, "step", watching)
    _, state = train(max_steps=7, epochs=50, warmup=0.3)
    assert state.step == 7 and state.finished and state.epoch == 3
    assert rates == pytest.approx([0.5, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2])
    drawn = [record["negatives"]["buckets"] for record in state.records[:-1]]
    assert drawn[0][0] > drawn[0][2] and drawn[-1][2] > drawn[-1][0]


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
