"""Gradient caching against the gradient of the whole, and its replay of dropout."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from components.models.biencoder import BiEncoder
from components.models.head import HierarchicalArticleHead
from components.models.text_encoder import TextEncoder
from components.models.token_budget import TokenBudget
from components.models.tower import Tower, open_towers
from training.gradients import GradientVectors, Side

TEXTS = [
    "rent",
    "The landlord must give notice of repairs within 12 days. " * 6,
    "wages and leave",
    "The parent has custody, and pays support until the worker's leave is over. " * 2,
    "On deposit the tenant must give notice",
    "support",
    "The employer must pay wages within three days of the notice. " * 3,
]
ROWS = np.array([5, 0, 6, 3, 1, 2])


@pytest.fixture
def tower(tiny_bert) -> Tower:
    return open_towers(tiny_bert)[0]


def side(
    tower: Tower, *, headed: bool = False, dtype: torch.dtype = torch.float32, budget: int = 40
) -> Side:
    head = None
    if headed:
        torch.manual_seed(3)
        head = HierarchicalArticleHead(32, 4, passage_tokens=20, max_passages=4)
        for weight in head.parameters():
            torch.nn.init.normal_(weight, std=0.1)
        head.eval()
    encoder = TextEncoder(tower, 20 if headed else 48, "", head)
    return Side(encoder, encoder.tokenize(TEXTS), dtype, TokenBudget(budget))


def parameters(of: Side) -> dict[str, torch.nn.Parameter]:
    modules = {"tower": of.encoder.tower, "head": of.encoder.head}
    return {
        f"{part}.{name}": parameter
        for part, module in modules.items()
        if module is not None
        for name, parameter in module.named_parameters()
    }


def gradients(of: Side, *, cached: bool) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Vectors of ROWS, and the gradient of a fixed direction in them."""
    for parameter in parameters(of).values():
        parameter.grad = None
    vectors = GradientVectors(of, ROWS, cached=cached)
    direction = torch.randn(len(ROWS), 32, generator=torch.Generator().manual_seed(1))
    vectors.backward(direction)
    found = {n: p.grad.clone() for n, p in parameters(of).items() if p.grad is not None}
    return vectors.vectors, found


@pytest.mark.parametrize("headed", [False, True])
@pytest.mark.parametrize("budget", [1, 40, 100_000])
def test_pieces_give_the_vectors_and_the_gradient_of_the_whole(tower, headed, budget):
    expected, whole = gradients(side(tower, headed=headed), cached=False)
    found, cached = gradients(side(tower, headed=headed, budget=budget), cached=True)
    assert torch.allclose(found, expected, atol=1e-5, rtol=0)
    assert not found.requires_grad
    assert cached.keys() == whole.keys()
    for name, gradient in whole.items():
        scale = max(1.0, float(gradient.abs().max()))
        assert torch.allclose(cached[name], gradient, atol=1e-5 * scale, rtol=0), name


def test_pieces_are_all_rows_once_by_length_within_the_budget(tower):
    of = side(tower, budget=40)
    pieces = of.pieces(ROWS)
    assert len(pieces) > 1
    assert sorted(np.concatenate(pieces).tolist()) == list(range(len(ROWS)))
    tokens = [of.passages.tokens_per_text[ROWS[piece]] for piece in pieces]
    assert (np.diff(np.concatenate(tokens)) >= 0).all()
    # A piece begins before the budget is full: at most one text lies over its edge.
    assert all(each[:-1].sum() <= 40 for each in tokens)


def watched(of: Side, monkeypatch: pytest.MonkeyPatch) -> list[torch.Tensor]:
    """All vectors that `of.embed` gives, in their order."""
    seen: list[torch.Tensor] = []
    embed: Callable[..., torch.Tensor] = Side.embed

    def remembering(self: Side, rows: np.ndarray, budget: TokenBudget) -> torch.Tensor:
        seen.append(embed(self, rows, budget))
        return seen[-1]

    monkeypatch.setattr(Side, "embed", remembering)
    return seen


@pytest.mark.parametrize("headed", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_second_pass_replays_dropout_and_leaves_the_generator_alone(
    tower, monkeypatch, headed, dtype
):
    tower.train()
    of = side(tower, headed=headed, dtype=dtype)
    if of.encoder.head is not None:
        of.encoder.head.train()
    seen = watched(of, monkeypatch)
    torch.manual_seed(7)
    vectors = GradientVectors(of, ROWS, cached=True)
    torch.rand(3)  # somebody else draws in between
    after = torch.get_rng_state()
    first, n_pieces = [each.clone() for each in seen], len(seen)
    assert n_pieces > 1
    vectors.backward(torch.ones(len(ROWS), 32))
    assert torch.equal(torch.get_rng_state(), after)
    for replayed, before in zip(seen[n_pieces:], first, strict=True):
        assert torch.equal(replayed.detach(), before)
        assert replayed.requires_grad and not before.requires_grad
    torch.manual_seed(8)
    other = GradientVectors(of, ROWS, cached=True)
    assert not torch.allclose(other.vectors, vectors.vectors, atol=1e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_second_pass_gives_the_same_vectors_without_dropout_in_attention(
    tower, monkeypatch, dtype
):
    for name, module in tower.named_modules():
        if isinstance(module, torch.nn.Dropout) and ".attention.self" in name:
            module.p = 0.0
    tower.train()
    of = side(tower, dtype=dtype)
    seen = watched(of, monkeypatch)
    vectors = GradientVectors(of, ROWS, cached=True)
    first, n_pieces = [each.clone() for each in seen], len(seen)
    vectors.backward(torch.ones(len(ROWS), 32))
    for replayed, before in zip(seen[n_pieces:], first, strict=True):
        assert torch.equal(replayed.detach(), before)


def test_with_dropout_the_cached_gradient_is_that_of_the_vectors_it_gave(tower):
    """By a finite difference: the loss along the gradient, under the very same dropout."""
    tower.train()
    of = side(tower)
    direction = torch.randn(len(ROWS), 32, generator=torch.Generator().manual_seed(1))
    torch.manual_seed(7)
    vectors = GradientVectors(of, ROWS, cached=True)
    vectors.backward(direction)
    weight = dict(tower.named_parameters())["encoder.0.model.encoder.layer.1.output.dense.weight"]
    gradient = weight.grad.clone()

    def loss(step: float) -> float:
        moved = step * gradient / gradient.norm()
        with torch.no_grad():
            weight.add_(moved)
            torch.manual_seed(7)
            value = (GradientVectors(of, ROWS, cached=True).vectors.double() * direction).sum()
            weight.sub_(moved)
        return float(value)

    slope = (loss(1e-2) - loss(-1e-2)) / 2e-2
    assert slope == pytest.approx(float(gradient.norm()), rel=1e-2)


@pytest.mark.parametrize("cached", [False, True])
def test_bf16_towers_give_a_gradient_to_every_float32_weight(tower, cached):
    exact, expected = gradients(side(tower, headed=True), cached=cached)
    rounded, found = gradients(side(tower, headed=True, dtype=torch.bfloat16), cached=cached)
    assert rounded.dtype == torch.float32
    assert not torch.equal(rounded, exact)
    assert (rounded * exact).sum(1).min() > 0.99
    assert found.keys() == expected.keys()
    for name, gradient in expected.items():
        assert found[name].dtype == torch.float32
        # (The bias of attention's keys shifts all logits alike: its true gradient is zero.)
        if "key.bias" in name or "in_proj_bias" in name:
            continue
        cosine = torch.cosine_similarity(found[name].flatten(), gradient.flatten(), dim=0)
        assert cosine > 0.8, name


def test_every_weight_that_makes_the_vector_gets_a_gradient_inside_an_outer_bf16_block(tower):
    """Copies of weights that autocast made without gradients must not serve the second pass."""
    of = side(tower, dtype=torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        _, found = gradients(of, cached=True)
    _, expected = gradients(of, cached=True)
    assert found.keys() == expected.keys()


def test_two_backward_passes_add_up(tower):
    of = side(tower)
    _, once = gradients(of, cached=True)
    vectors = GradientVectors(of, ROWS, cached=True)
    direction = torch.randn(len(ROWS), 32, generator=torch.Generator().manual_seed(1))
    vectors.backward(direction)
    for name, gradient in once.items():
        assert torch.allclose(parameters(of)[name].grad, 2 * gradient, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("headed", [False, True])
def test_nothing_to_encode_is_no_vectors_and_no_gradient(tower, headed, cached):
    of = side(tower, headed=headed)
    vectors = GradientVectors(of, np.empty(0, np.int64), cached=cached)
    assert vectors.vectors.shape == (0, 32)
    vectors.backward(torch.empty(0, 32))
    assert all(parameter.grad is None for parameter in parameters(of).values())


def test_a_tower_that_is_frozen_whole_needs_no_backward_pass(tower):
    tower.requires_grad_(False)
    for cached in (False, True):
        vectors = GradientVectors(side(tower), ROWS, cached=cached)
        vectors.backward(torch.ones(len(ROWS), 32))
    assert all(parameter.grad is None for parameter in tower.parameters())


class SmallerBackwards(Tower):
    """A device whose memory holds 200 padded tokens, and 60 where activations are kept."""

    def forward(self, ids, mask, prompt_tokens=0):
        if ids.numel() > (60 if torch.is_grad_enabled() else 200):
            raise torch.OutOfMemoryError("CUDA out of memory")
        return super().forward(ids, mask, prompt_tokens)


def test_memory_that_runs_out_in_the_second_pass_is_said_until_the_pieces_are_small_enough(tower):
    of = side(SmallerBackwards(tower.encoder).train(), budget=150)
    tried = []
    while not (vectors := GradientVectors(of, ROWS, cached=True)).backward(torch.ones(6, 32)):
        tried.append(of.budget.tokens)
        of.forget_gradients()
    assert tried == sorted(tried, reverse=True) and 1 < tried[-1] < 150
    assert any(parameter.grad is not None for parameter in parameters(of).values())
    assert vectors.vectors.isfinite().all()


def test_memory_that_runs_out_in_the_first_pass_starts_it_again_with_the_same_dropout(tower):
    tight = side(SmallerBackwards(tower.encoder).train(), budget=1_000)
    torch.manual_seed(7)
    vectors = GradientVectors(tight, ROWS, cached=True).vectors
    assert tight.budget.tokens < 1_000
    tower.train()
    torch.manual_seed(7)
    small = GradientVectors(side(tower, budget=tight.budget.tokens), ROWS, cached=True)
    assert torch.equal(vectors, small.vectors)


def test_vectors_of_a_larger_budget_than_the_present_one_have_to_be_made_again(tower):
    """The other side of a batch, made later, has lowered it."""
    of = side(tower, budget=100)
    vectors = GradientVectors(of, ROWS, cached=True)
    of.budget.tokens = 50
    assert not vectors.backward(torch.ones(len(ROWS), 32))
    assert of.budget.tokens == 50
    assert all(parameter.grad is None for parameter in parameters(of).values())


def test_a_text_that_does_not_fit_alone_is_an_error(tower):
    class TooSmall(Tower):
        def forward(self, ids, mask, prompt_tokens=0):
            if torch.is_grad_enabled():
                raise torch.OutOfMemoryError("CUDA out of memory")
            return super().forward(ids, mask, prompt_tokens)

    of = side(TooSmall(tower.encoder))
    with pytest.raises(torch.OutOfMemoryError):
        while not GradientVectors(of, ROWS, cached=True).backward(torch.ones(len(ROWS), 32)):
            of.forget_gradients()
    assert of.budget.tokens == 1


def test_the_model_trains_as_a_whole_through_both_sides(tiny_bert):
    """A siamese tower's gradient is the sum of its two sides'."""
    model = BiEncoder.load(tiny_bert, device="cpu", dtype="float32")
    sides = [
        Side(encoder, encoder.tokenize(TEXTS), torch.float32, TokenBudget(40))
        for encoder in (model.query_encoder, model.article_encoder)
    ]
    apart = [gradients(each, cached=True)[1] for each in sides]
    for parameter in model.parameters():
        parameter.grad = None
    direction = torch.randn(len(ROWS), 32, generator=torch.Generator().manual_seed(1))
    held = [GradientVectors(each, ROWS, cached=True) for each in sides]
    for vectors in held:
        vectors.backward(direction)
    for name, parameter in sides[0].encoder.tower.named_parameters():
        if parameter.grad is not None:
            expected = apart[0][f"tower.{name}"] + apart[1][f"tower.{name}"]
            assert torch.allclose(parameter.grad, expected, atol=1e-4), name
