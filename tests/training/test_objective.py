"""Eq. (1) against plain Python in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from training.objective import contrastive_loss

QUICK = settings(max_examples=60, deadline=None)


def unit(rows: int, dim: int, seed: int) -> torch.Tensor:
    vectors = torch.randn(rows, dim, generator=torch.Generator().manual_seed(seed))
    return torch.nn.functional.normalize(vectors, dim=1)


def written_out(questions, articles, pairs, candidates, temperature, reduction) -> float:
    """Eq. (1), one number after the other."""
    of_question: dict[int, list[float]] = {}
    for (asked, positive), row in zip(pairs.tolist(), candidates.tolist(), strict=True):

        def score(article: int, asked: int = asked) -> float:
            products = zip(questions[asked].tolist(), articles[article].tolist(), strict=True)
            return math.fsum(q * a for q, a in products) / temperature

        others = [score(n) - score(positive) for n, is_negative in enumerate(row) if is_negative]
        # -log(e^p / (e^p + sum e^n)) = log(1 + sum e^(n - p)), the largest term taken out.
        top = max([0.0, *others])
        terms = [math.exp(-top), *(math.exp(other - top) for other in others)]
        of_question.setdefault(asked, []).append(top + math.log(math.fsum(terms)))
    if reduction == "question_sum":
        return math.fsum(map(math.fsum, of_question.values())) / len(of_question)
    losses = [loss for several in of_question.values() for loss in several]
    return math.fsum(losses) / len(losses)


@st.composite
def batches(draw: st.DrawFn):
    """Vectors, pairs of which a question may have several, and negatives that may be none."""
    n_questions, n_articles = draw(st.integers(1, 4)), draw(st.integers(1, 7))
    places = st.tuples(st.integers(0, n_questions - 1), st.integers(0, n_articles - 1))
    pairs = draw(st.lists(places, min_size=1, max_size=6, unique=True))
    rows = [draw(st.lists(st.booleans(), min_size=n_articles, max_size=n_articles)) for _ in pairs]
    candidates = np.array(rows)
    candidates[np.arange(len(pairs)), [positive for _, positive in pairs]] = False
    dim, seed = draw(st.integers(2, 16)), draw(st.integers(0, 999))
    return (
        unit(n_questions, dim, seed),
        unit(n_articles, dim, seed + 1),
        torch.tensor(pairs),
        torch.from_numpy(candidates),
    )


@QUICK
@given(batches(), st.sampled_from(["mean", "question_sum"]), st.sampled_from([0.05, 0.2, 1.0]))
def test_the_loss_is_equation_1_of_the_given_vectors(batch, reduction, temperature):
    found = contrastive_loss(*batch, temperature=temperature, reduction=reduction)
    expected = written_out(*batch, temperature, reduction)
    assert math.isclose(float(found), expected, rel_tol=1e-5, abs_tol=1e-5)
    exactly = contrastive_loss(
        batch[0].double(),
        batch[1].double(),
        *batch[2:],
        temperature=temperature,
        reduction=reduction,
    )
    assert math.isclose(float(exactly), expected, rel_tol=1e-12, abs_tol=1e-12)


@pytest.mark.parametrize("reduction", ["mean", "question_sum"])
def test_the_loss_is_exact_to_a_hundred_thousandth_at_the_paper_s_temperature(reduction):
    """A logit of 100 has a place value of 8e-6 in float32, so this takes more than float32."""
    for seed in range(40):
        # As texts of one field lie: near each other.
        field = 2 * unit(1, 384, seed + 2)
        questions, articles = (
            torch.nn.functional.normalize(unit(rows, 384, seed + which) + field, dim=1)
            for which, rows in enumerate((3, 60))
        )
        pairs = torch.tensor([[0, 0], [0, 1], [1, 2]])[: 1 + seed % 3]
        candidates = torch.ones(len(pairs), 60, dtype=torch.bool)
        candidates[:, :3] = False
        batch = (questions, articles, pairs, candidates)
        found = contrastive_loss(*batch, temperature=0.01, reduction=reduction)
        assert abs(float(found) - written_out(*batch, 0.01, reduction)) < 1e-5


@pytest.mark.parametrize("temperature", [0.01, 0.05])
def test_the_loss_is_as_exact_inside_a_bf16_step(temperature):
    questions, articles = unit(24, 384, 0), unit(200, 384, 1)
    pairs = torch.stack([torch.arange(24), torch.arange(24)], dim=1)
    candidates = torch.ones(24, 200, dtype=torch.bool)
    candidates[torch.arange(24), torch.arange(24)] = False
    with torch.autocast("cpu", torch.bfloat16):
        found = contrastive_loss(questions, articles, pairs, candidates, temperature=temperature)
        in_bf16 = float((questions @ articles.T).float().max() - (questions @ articles.T).min())
    expected = written_out(questions, articles, pairs, candidates, temperature, "mean")
    assert math.isclose(float(found), expected, rel_tol=1e-5)
    # The block does round: what is not taken out of it is off by far more.
    exact = float((questions @ articles.T).max() - (questions @ articles.T).min())
    assert abs(in_bf16 - exact) > 1e-4


def test_the_gradient_is_softmax_less_the_positive():
    questions, articles = unit(2, 8, 3).requires_grad_(), unit(5, 8, 4).requires_grad_()
    pairs = torch.tensor([[0, 0], [0, 1], [1, 2]])
    candidates = torch.tensor(
        [[False, False, True, True, True], [False, False, True, True, True], [True] * 5]
    )
    candidates[2, 2] = False
    contrastive_loss(questions, articles, pairs, candidates, temperature=0.1).backward()
    to_articles = torch.zeros(5, 8)
    for (asked, positive), row in zip(pairs.tolist(), candidates, strict=True):
        compared = row.clone()
        compared[positive] = True
        logits = (articles[compared] @ questions[asked] / 0.1).detach()
        weights = torch.zeros(5)
        weights[compared] = torch.softmax(logits, 0)
        weights[positive] -= 1
        to_articles += weights[:, None] * questions[asked].detach() / 0.1 / 3
    assert torch.allclose(articles.grad, to_articles, atol=1e-6)


def test_what_is_no_candidate_changes_neither_loss_nor_gradient():
    questions, articles = unit(2, 8, 5), unit(6, 8, 6)
    pairs = torch.tensor([[0, 0], [1, 1]])
    candidates = torch.zeros(2, 6, dtype=torch.bool)
    candidates[0, 2] = candidates[1, 3] = True
    whole = articles.clone().requires_grad_()
    loss = contrastive_loss(questions, whole, pairs, candidates, temperature=1.0)
    loss.backward()
    assert (whole.grad[4:] == 0).all() and (whole.grad[:4] != 0).any(dim=1).all()
    moved = torch.cat([articles[:4], -articles[4:]])
    assert torch.equal(loss, contrastive_loss(questions, moved, pairs, candidates, temperature=1.0))


def test_a_pair_without_negatives_has_nothing_to_learn_from():
    questions, articles = unit(1, 8, 7).requires_grad_(), unit(1, 8, 8).requires_grad_()
    nothing = torch.zeros(1, 1, dtype=torch.bool)
    loss = contrastive_loss(questions, articles, torch.tensor([[0, 0]]), nothing, temperature=0.01)
    loss.backward()
    assert float(loss.detach()) == 0
    assert (articles.grad == 0).all()
