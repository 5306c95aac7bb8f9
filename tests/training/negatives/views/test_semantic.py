"""The semantic view: right, and the same bit for bit however it is computed."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from training.negatives.views import semantic
from training.negatives.views.semantic import SemanticView

CPU = torch.device("cpu")
N_QUESTIONS, N_ARTICLES = 13, 301


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def unit(n: int, dim: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return normalize(torch.randn(n, dim, generator=generator), dim=1)


def refreshed(dim: int = 768) -> SemanticView:
    view = SemanticView(N_QUESTIONS, N_ARTICLES, CPU)
    view.refresh(unit(N_QUESTIONS, dim, 0), unit(N_ARTICLES, dim, 1))
    return view


def all_of(view: SemanticView) -> torch.Tensor:
    return view.difficulty(np.arange(N_QUESTIONS))


def test_difficulty_is_the_cosine_to_more_than_float32():
    exact = unit(N_QUESTIONS, 768, 0).double() @ unit(N_ARTICLES, 768, 1).double().T
    assert (all_of(refreshed()) - exact).abs().max() < 6e-8, "one rounding to float32 is 3e-8 here"


def test_sums_are_exact_on_the_grid_so_no_order_of_summation_matters():
    def on_grid(vectors: torch.Tensor) -> list[list[Fraction]]:
        return [[Fraction(round(x * 2**26), 2**26) for x in row] for row in vectors.tolist()]

    questions, articles = on_grid(unit(N_QUESTIONS, 24, 0)), on_grid(unit(N_ARTICLES, 24, 1))
    expected = [
        [np.float32(float(sum(x * y for x, y in zip(q, a, strict=True)))) for a in articles]
        for q in questions
    ]
    assert all_of(refreshed(24)).tolist() == expected


@pytest.mark.parametrize(
    ("rows_at_a_time", "articles_at_a_time", "n_threads"),
    [(1, 100, 1), (2, 1024, 1), (5, 37, 1), (7, 128, 2), (1, 1024, 2)],
)
def test_blocks_and_threads_do_not_change_a_bit(
    monkeypatch, rows_at_a_time, articles_at_a_time, n_threads
):
    whole = all_of(refreshed())
    monkeypatch.setattr(semantic, "_ARTICLES_AT_A_TIME", articles_at_a_time)
    torch.set_num_threads(n_threads)
    view = refreshed()
    blocks = [
        view.difficulty(np.arange(start, min(start + rows_at_a_time, N_QUESTIONS)))
        for start in range(0, N_QUESTIONS, rows_at_a_time)
    ]
    assert torch.equal(torch.cat(blocks), whole)


def test_autocast_and_training_change_nothing():
    whole = all_of(refreshed())
    view = SemanticView(N_QUESTIONS, N_ARTICLES, CPU)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        view.refresh(unit(N_QUESTIONS, 768, 0).requires_grad_(), unit(N_ARTICLES, 768, 1))
        got = all_of(view)
    assert torch.equal(got, whole)
    assert not got.requires_grad


def test_a_higher_score_is_harder_and_equal_vectors_are_equally_hard():
    question = torch.eye(4)[:1]
    articles = normalize(torch.tensor([[1.0, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0]]))
    view = SemanticView(1, 4, CPU)
    view.refresh(question, articles)
    (scores,) = view.difficulty(np.array([0])).tolist()
    assert scores[1] > scores[0] == scores[3] > scores[2]


@pytest.mark.parametrize(
    ("questions", "articles", "message"),
    [
        (unit(3, 8, 0), unit(5, 8, 1), "questions must be 2 vectors .* shape \\(3, 8\\)"),
        (unit(2, 8, 0), unit(5, 8, 1)[0], "articles must be 5 vectors"),
        (unit(2, 8, 0), unit(5, 6, 1), "8 dimensions and the articles' 6"),
        (unit(2, 8, 0), unit(5, 8, 1) * 2, "5 vectors are not of unit length; vector 0 .* 2\\."),
        (unit(2, 8, 0) * torch.nan, unit(5, 8, 1), "2 vectors are not .* length nan"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(questions, articles, message):
    with pytest.raises(ValueError, match=message):
        SemanticView(2, 5, CPU).refresh(questions, articles)
