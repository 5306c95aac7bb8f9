"""Rates, decay and moments: AdamW as the settings say, and the same again after a restart."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from training.optimizer import Optimizer, constant, warm_up_and_decay
from training.starting import freeze, starting_model

CPU = torch.device("cpu")


def optimizer(model, **arguments) -> Optimizer:
    defaults = {
        "learning_rate": 1e-2,
        "head_lr": 1e-1,
        "weight_decay": 0.5,
        "rates": warm_up_and_decay(10, 0.0),
    }
    return Optimizer(model, **{**defaults, **arguments})


def give_gradients(of: Optimizer, seed: int) -> None:
    chance = torch.Generator().manual_seed(seed)
    for parameter in of.parameters.values():
        parameter.grad = torch.randn(parameter.shape, generator=chance)


def test_the_rate_rises_over_the_first_twentieth_of_the_steps_and_falls_to_zero():
    rate = warm_up_and_decay(200, 0.05)
    rates = [rate(step) for step in range(201)]
    assert rates[:10] == pytest.approx([(n + 1) / 10 for n in range(10)])
    assert rates[10:] == pytest.approx([(200 - n) / 190 for n in range(10, 201)])
    assert rates[200] == 0


@given(st.integers(1, 500), st.floats(0, 0.99))
def test_no_rate_of_a_run_is_above_the_highest_or_not_above_zero(total, warmup):
    rate = warm_up_and_decay(total, warmup)
    rates = [rate(step) for step in range(total)]
    assert all(0 < rate <= 1 for rate in rates)
    top = rates.index(max(rates))
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)
    assert max(rates) == 1


def test_a_step_uses_the_rate_of_its_number(settings):
    model = starting_model(settings(), CPU)
    of = optimizer(model, rates=warm_up_and_decay(8, 0.5), weight_decay=0.0)
    before = {n: p.detach().clone() for n, p in of.parameters.items()}
    give_gradients(of, 0)
    of.step(1)
    # AdamW's first step is the rate times the gradient's sign.
    for name, parameter in of.parameters.items():
        moved = (parameter.detach() - before[name]).abs()
        assert moved.median() == pytest.approx(1e-2 * 2 / 4, rel=1e-3)
        assert parameter.grad is None


def test_without_decay_every_step_has_the_highest_rate_and_a_head_no_rate_of_its_own(settings):
    model = starting_model(settings(head="paper", passage_tokens=16), CPU)
    of = optimizer(model, rates=constant, weight_decay=0.0, head_lr=None)
    before = {n: p.detach().clone() for n, p in of.parameters.items()}
    give_gradients(of, 0)
    of.step(7)
    for name, parameter in of.parameters.items():
        moved = (parameter.detach() - before[name]).abs()
        assert moved.median() == pytest.approx(1e-2, rel=1e-3), name


def test_biases_and_norms_are_not_decayed_and_a_head_has_its_own_rate(settings):
    model = starting_model(settings(head="paper", passage_tokens=16), CPU)
    of = optimizer(model)
    before = {n: p.detach().clone() for n, p in of.parameters.items()}
    for parameter in of.parameters.values():
        parameter.grad = torch.zeros_like(parameter)
    of.step(0)
    kept, decayed = set(), set()
    for name, parameter in of.parameters.items():
        rate = 1e-1 if name.startswith("head.") else 1e-2
        if torch.equal(parameter, before[name]):
            kept.add(name)
        else:
            assert torch.allclose(parameter, before[name] * (1 - rate * 0.5), atol=1e-7), name
            decayed.add(name)
    assert all(name.endswith("weight") or "in_proj_weight" in name for name in decayed)
    assert not any("norm" in name.lower() for name in decayed)
    zero = {name for name, value in before.items() if not value.any()}
    assert {name for name in kept - zero if not name.endswith("bias")} == {
        name for name in kept if "norm" in name.lower() and name.endswith("weight")
    }


def test_the_paper_s_optimizer(settings):
    groups = optimizer(starting_model(settings(), CPU))._adamw.param_groups
    assert {(group["betas"], group["eps"]) for group in groups} == {((0.9, 0.999), 1e-7)}


def test_a_siamese_tower_is_optimised_once_and_two_towers_both(settings, tiny_bert, other_bert):
    siamese = starting_model(settings(), CPU)
    once = optimizer(siamese)
    held = [p for group in once._adamw.param_groups for p in group["params"]]
    assert len(held) == len({id(p) for p in held}) == len(list(siamese.query.parameters()))
    pair = settings(model=None, query_model=str(tiny_bert), passage_model=str(other_bert))
    both = optimizer(starting_model(pair, CPU))
    assert len(both.parameters) == 2 * len(once.parameters)


def test_what_is_frozen_is_not_optimised(settings):
    model = starting_model(settings(), CPU)
    everything = len(optimizer(model).parameters)
    freeze(model.query, 1)
    names = optimizer(model).parameters
    assert 0 < len(names) < everything
    assert not any("embeddings" in name or "layer.0." in name for name in names)


def test_a_restored_optimizer_goes_on_bit_for_bit(settings, tmp_path):
    one, other = starting_model(settings(), CPU), starting_model(settings(), CPU)
    straight, broken_off = optimizer(one), optimizer(other)
    for step in range(6):
        give_gradients(straight, step)
        straight.step(step)
    for step in range(3):
        give_gradients(broken_off, step)
        broken_off.step(step)
    moments = {name: value.clone() for name, value in broken_off.state().items()}
    resumed = optimizer(other)
    resumed.restore(moments)
    assert resumed.state().keys() == moments.keys()
    for step in range(3, 6):
        give_gradients(resumed, step)
        resumed.step(step)
    for name, parameter in straight.parameters.items():
        assert torch.equal(parameter, resumed.parameters[name]), name
    for name, value in straight.state().items():
        assert torch.equal(value, resumed.state()[name]), name


def test_what_never_had_a_gradient_has_no_state_and_needs_none(settings):
    model = starting_model(settings(), CPU)
    of = optimizer(model)
    name, parameter = next(iter(of.parameters.items()))
    parameter.grad = torch.ones_like(parameter)
    of.step(0)
    assert {key.partition("/")[2] for key in of.state()} == {name}
    again = optimizer(model)
    again.restore(of.state())
    assert again.state().keys() == of.state().keys()
