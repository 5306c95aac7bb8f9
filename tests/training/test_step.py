"""One step: the loss, its gradient in pieces, and the optimizer."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from hypothesis import given
from hypothesis import strategies as st
from sentence_transformers import util
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from slow_cases import slow
from torch.nn.functional import normalize
from torch.utils._python_dispatch import TorchDispatchMode

from components.models.encoding import (
    HierarchicalArticleHead,
    TextEncoder,
    TokenBudget,
    Tower,
    open_tower,
)
from components.statutes.article import indexed_text
from training import objective
from training.command_line import settings_from
from training.cusines import (
    GradientVectors,
    RunTexts,
    Side,
    loss_and_gradient,
    starting_model,
    train_mode,
)
from training.negatives.sampling import CurriculumNegatives
from training.objective import (
    Batch,
    Optimizer,
    loss_of,
    make_batch,
    own_mass,
    propagate_whole_law,
    warm_up_and_decay,
)
from training.settings import CusinesSettings

# The loss


def unit(rows: int, dim: int, seed: int) -> torch.Tensor:
    vectors = torch.randn(rows, dim, generator=torch.Generator().manual_seed(seed))
    return normalize(vectors, dim=1)


def loss_at(temperature: float, reduction: str = "mean") -> Callable[..., torch.Tensor]:
    chosen = SimpleNamespace(
        loss="contrastive", temperature=temperature, reduction=reduction, similarity="cosine"
    )
    return lambda *batch: loss_of(chosen, *batch).value


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


@given(batches(), st.sampled_from(["mean", "question_sum"]), st.sampled_from([0.05, 0.2, 1.0]))
def test_the_loss_is_equation_1_of_the_given_vectors(batch, reduction, temperature):
    loss = loss_at(temperature, reduction)
    expected = written_out(*batch, temperature, reduction)
    assert math.isclose(float(loss(*batch)), expected, rel_tol=1e-5, abs_tol=1e-5)
    exactly = loss(batch[0].double(), batch[1].double(), *batch[2:])
    assert math.isclose(float(exactly), expected, rel_tol=1e-12, abs_tol=1e-12)


@pytest.mark.parametrize("reduction", ["mean", "question_sum"])
def test_the_loss_is_exact_to_a_hundred_thousandth_at_the_paper_s_temperature(reduction):
    """A logit of 100 has a place value of 8e-6 in float32, so this takes more than float32."""
    for seed in range(10):
        # As texts of one field lie: near each other.
        field = 2 * unit(1, 384, seed + 2)
        questions, articles = (
            normalize(unit(rows, 384, seed + which) + field, dim=1)
            for which, rows in enumerate((3, 60))
        )
        pairs = torch.tensor([[0, 0], [0, 1], [1, 2]])[: 1 + seed % 3]
        candidates = torch.ones(len(pairs), 60, dtype=torch.bool)
        candidates[:, :3] = False
        batch = (questions, articles, pairs, candidates)
        found = loss_at(0.01, reduction)(*batch)
        assert abs(float(found) - written_out(*batch, 0.01, reduction)) < 1e-5


@pytest.mark.parametrize("temperature", [0.01, 0.05])
def test_the_loss_is_as_exact_inside_a_bf16_step(temperature):
    questions, articles = unit(24, 384, 0), unit(200, 384, 1)
    pairs = torch.stack([torch.arange(24), torch.arange(24)], dim=1)
    candidates = torch.ones(24, 200, dtype=torch.bool)
    candidates[torch.arange(24), torch.arange(24)] = False
    with torch.autocast("cpu", torch.bfloat16):
        found = loss_at(temperature)(questions, articles, pairs, candidates)
        in_bf16 = float((questions @ articles.T).float().max() - (questions @ articles.T).min())
    expected = written_out(questions, articles, pairs, candidates, temperature, "mean")
    assert math.isclose(float(found), expected, rel_tol=1e-5)
    # The block does round: what is not taken out of it is off by far more.
    exact = float((questions @ articles.T).max() - (questions @ articles.T).min())
    assert abs(in_bf16 - exact) > 1e-4


def test_loss_and_gradient_are_those_of_multiple_negatives_ranking_at_scale_20():
    """With the settings of the preset whose paper trains with it."""
    preset = Path(__file__).resolve().parents[2] / "training" / "configs" / "soict.yaml"
    law = ["--corpus", "aldermere", "--questions", "aldermere", "--output", "x"]
    chosen = settings_from("cusines", "", CusinesSettings, ["--config", str(preset), *law])
    assert chosen.reduction == "mean"
    vectors = [unit(6, 16, seed).requires_grad_() for seed in (0, 1)]
    pairs = torch.arange(6)[:, None].expand(6, 2)
    ours = loss_of(chosen, *vectors, pairs, torch.full((6, 6), chosen.in_batch)).value
    paper = MultipleNegativesRankingLoss(None, scale=20.0, similarity_fct=util.cos_sim)
    # Theirs divides by the norms, so that its gradient has no part along a vector.
    theirs = paper.compute_loss_from_embeddings(vectors, None)
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-5)
    found, expected = (torch.autograd.grad(loss, vectors) for loss in (ours, theirs))
    for one, other, side in zip(found, expected, vectors, strict=True):
        along = (one * side).sum(1, keepdim=True)
        assert torch.allclose(one - along * side, other, atol=1e-6)


@given(batches(), st.sampled_from(["cosine", "dot", "l2"]), st.sampled_from([0.2, 1.0]))
def test_the_triplet_loss_is_a_mean_of_hinges_of_any_similarity(batch, similarity, margin):
    questions, articles, pairs, candidates = batch
    if similarity != "cosine":
        questions, articles = (
            3 * questions,
            articles * torch.arange(1.0, 1 + len(articles))[:, None],
        )
    chosen = SimpleNamespace(loss="triplet", margin=margin, reduction="mean", similarity=similarity)
    found = loss_of(chosen, questions, articles, pairs, candidates).value

    def score(asked: int, article: int) -> float:
        both = list(zip(questions[asked].tolist(), articles[article].tolist(), strict=True))
        if similarity == "l2":
            return -math.dist(*zip(*both, strict=True))
        return math.fsum(q * a for q, a in both)

    losses = []
    for (asked, positive), row in zip(pairs.tolist(), candidates.tolist(), strict=True):
        negatives = [n for n, is_negative in enumerate(row) if is_negative]
        hinges = [max(0.0, margin - score(asked, positive) + score(asked, n)) for n in negatives]
        losses.append(sum(hinges) / max(1, len(hinges)))
    assert math.isclose(float(found), math.fsum(losses) / len(losses), abs_tol=1e-9)


@given(
    batches(),
    st.sampled_from(["cosine", "dot", "l2"]),
    st.sampled_from(["mean", "question_sum"]),
    st.sampled_from([0.01, 0.05, 1.0]),
    st.integers(1, 8),
)
def test_the_whole_law_in_pieces_has_the_loss_and_gradient_of_the_whole(
    batch, similarity, reduction, temperature, piece
):
    vectors, articles, pairs, candidates = batch
    if similarity != "cosine":
        articles = articles * torch.arange(1.0, 1 + len(articles))[:, None]
    chosen = SimpleNamespace(
        loss="contrastive",
        temperature=temperature,
        reduction=reduction,
        similarity=similarity,
        buckets=1,
    )
    # Leaves in float64: the comparison is not blurred by rounding to float32.
    one, other = (vectors.double().requires_grad_() for _ in range(2))
    expected = loss_of(chosen, one, articles.double(), pairs, candidates).value
    expected.backward()
    none_drawn = np.full(candidates.shape, -1, dtype=np.int8)
    made = Batch(None, None, pairs.numpy(), candidates.numpy(), none_drawn, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(objective, "_ARTICLES_AT_A_TIME", piece)
        found = propagate_whole_law(other, articles, made, chosen)
    assert math.isclose(found.loss, expected.item(), rel_tol=1e-9, abs_tol=1e-9)
    assert torch.allclose(other.grad, one.grad, rtol=1e-8, atol=1e-8)


class Largest(TorchDispatchMode):
    """Notes the most elements of any tensor that an operation makes."""

    elements = 0

    def __torch_dispatch__(self, operation, types, arguments=(), keywords=None):
        made = operation(*arguments, **(keywords or {}))
        if isinstance(made, torch.Tensor) and not made._is_view():
            self.elements = max(self.elements, made.numel())
        return made


def test_the_scores_of_a_large_law_never_exist_at_once():
    questions, articles = unit(8, 4, 0).requires_grad_(), unit(20_000, 4, 1)
    pairs = np.stack([np.arange(8), np.arange(8)], axis=1)
    candidates = np.arange(20_000) != np.arange(8)[:, None]
    settings = SimpleNamespace(temperature=0.05, reduction="mean", similarity="cosine", buckets=1)
    made = Batch(None, None, pairs, candidates, np.full(candidates.shape, -1, np.int8), 0)
    with Largest() as largest:
        propagate_whole_law(questions, articles, made, settings)
    assert 0 < largest.elements < candidates.size / 4


@given(batches(), st.sampled_from([0.01, 0.05, 1.0]), st.data())
def test_own_mass_is_the_drawn_negatives_share_of_the_softmax_mass(batch, temperature, data):
    questions, articles, pairs, candidates = batch
    shape = tuple(candidates.shape)
    flat = st.lists(st.integers(-1, 2), min_size=math.prod(shape), max_size=math.prod(shape))
    buckets = np.array(data.draw(flat), dtype=np.int8).reshape(shape)
    chosen = SimpleNamespace(
        loss="contrastive", temperature=temperature, reduction="mean", similarity="cosine"
    )
    _, scores = loss = loss_of(chosen, questions, articles.requires_grad_(), pairs, candidates)
    scores.retain_grad()
    loss.value.backward()
    made = Batch(None, None, pairs.numpy(), candidates.numpy(), buckets, 0)
    found = own_mass(scores.grad.numpy(), made, 3).tolist()
    expected = []
    for row, (is_negative, of_bucket) in enumerate(zip(candidates.tolist(), buckets, strict=True)):
        negatives = [n for n, each in enumerate(is_negative) if each]
        if negatives:
            top = max(float(scores[row, n]) for n in negatives)
            mass = {n: math.exp((float(scores[row, n]) - top) / temperature) for n in negatives}
            expected.append(
                [
                    sum(mass[n] for n in negatives if of_bucket[n] == b) / sum(mass.values())
                    for b in range(3)
                ]
            )
    assert np.allclose(found, expected) if expected else found == []


# The optimizer

CPU = torch.device("cpu")


@given(st.integers(1, 500), st.floats(0, 0.99))
def test_no_rate_of_a_run_is_above_the_highest_or_not_above_zero(total, warmup):
    rate = warm_up_and_decay(total, warmup)
    rates = [rate(step) for step in range(total)]
    assert all(0 < rate <= 1 for rate in rates)
    top = rates.index(max(rates))
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)
    assert max(rates) == 1


def test_biases_and_norms_are_not_decayed_and_a_head_has_its_own_rate(settings):
    model = starting_model(settings(head="paper", passage_tokens=16), CPU)
    rates = {"learning_rate": 1e-2, "head_lr": 1e-1}
    of = Optimizer(model, **rates, weight_decay=0.5, rates=warm_up_and_decay(10, 0.0))
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


# Gradients in pieces

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
    return open_tower(tiny_bert)


def side(tower: Tower, *, headed: bool = False, dtype: torch.dtype = torch.float32) -> Side:
    head = None
    if headed:
        torch.manual_seed(3)
        head = HierarchicalArticleHead(32, 4, passage_tokens=20, max_passages=4)
        for weight in head.parameters():
            torch.nn.init.normal_(weight, std=0.1)
        head.eval()
    encoder = TextEncoder(tower, 20 if headed else 48, "", head)
    return Side(encoder, encoder.tokenize(TEXTS), dtype, TokenBudget(40))


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


def watched(of: Side, monkeypatch: pytest.MonkeyPatch) -> list[torch.Tensor]:
    """All vectors that `of.embed` gives, in their order."""
    seen: list[torch.Tensor] = []
    embed: Callable[..., torch.Tensor] = Side.embed

    def remembering(self: Side, rows: np.ndarray) -> torch.Tensor:
        seen.append(embed(self, rows))
        return seen[-1]

    monkeypatch.setattr(Side, "embed", remembering)
    return seen


@pytest.mark.parametrize(("headed", "dtype"), [(True, torch.float32), (False, torch.bfloat16)])
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


# A whole step

HEADS = ({}, {"head": "paper", "passage_tokens": 16})


@pytest.fixture
def real_batch(data) -> Batch:
    """Pairs of which some share a question and some an article."""
    negatives = CurriculumNegatives(
        data.corpus, data.train, views=("tree", "sequence"), negatives_per_question=4
    )
    made = make_batch(data.pairs, negatives.draw(0, 0.5), negatives.gold, in_batch=True)
    assert len(made.questions) < len(made.pairs) == 22
    assert len(made.articles) < made.n_listed
    return made


@pytest.fixture
def accelerator() -> Accelerator:
    return Accelerator(cpu=True)


@pytest.mark.parametrize(
    ("reduction", "head", "caching"),
    [("mean", HEADS[0], False), ("question_sum", HEADS[1], True), ("mean", HEADS[1], False)],
)
def test_loss_and_gradient_are_those_of_encoding_every_text_by_itself(
    data, real_batch, settings, accelerator, reduction, head, caching
):
    chosen = settings(reduction=reduction, gradient_caching=caching, token_budget=60, **head)
    torch.manual_seed(0)
    model = starting_model(chosen, CPU).eval()
    found = loss_and_gradient(real_batch, RunTexts(model, data, 60), chosen, accelerator)
    gradients = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    model.zero_grad(set_to_none=True)

    def alone(encoder, text):
        return encoder.embed(encoder.tokenize([text]))[0]

    questions = [alone(model.query_encoder, data.train[q].text) for q in real_batch.questions]
    articles = [
        alone(model.article_encoder, indexed_text(data.corpus[a].headings, data.corpus[a].text))
        for a in real_batch.articles
    ]
    loss = loss_of(
        chosen,
        torch.stack(questions),
        torch.stack(articles),
        torch.from_numpy(real_batch.pairs),
        torch.from_numpy(real_batch.candidates),
    ).value
    loss.backward()
    assert found.loss == pytest.approx(float(loss.detach()), abs=1e-5)
    assert gradients.keys() == {n for n, p in model.named_parameters() if p.grad is not None}
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            scale = max(1.0, float(parameter.grad.abs().max()))
            assert torch.allclose(gradients[name], parameter.grad, atol=2e-5 * scale), name


class OutOfMemoryOnce:
    """A device that lacks memory at one moment: in the n-th forward or backward pass."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kind: str, moment: int | None) -> None:
        self.passes = {"forward": 0, "backward": 0}
        forward = Tower.forward

        def passing(name: str) -> None:
            self.passes[name] += 1
            if (name, self.passes[name] - 1) == (kind, moment):
                raise torch.OutOfMemoryError("CUDA out of memory")

        def short(tower, ids, mask, prompt_tokens=0):
            passing("forward")
            vectors = forward(tower, ids, mask, prompt_tokens)
            if vectors.requires_grad:
                vectors.register_hook(lambda _: passing("backward"))
            return vectors

        monkeypatch.setattr(Tower, "forward", short)


@pytest.mark.parametrize(
    ("kind", "head"), [("backward", HEADS[0]), *slow(("forward", HEADS[0]), ("backward", HEADS[1]))]
)
def test_a_batch_that_ran_out_of_memory_is_one_begun_in_smaller_pieces_bit_for_bit(
    data, real_batch, settings, accelerator, monkeypatch, kind, head
):
    """With dropout, in every pass that there is, of both sides."""
    chosen = settings(gradient_caching=True, dropout=0.3, **head)

    def step(budget: int, moment: int | None = None):
        torch.manual_seed(0)
        model = starting_model(chosen, CPU)
        train_mode(model)
        texts = RunTexts(model, data, budget)
        torch.manual_seed(7)
        with monkeypatch.context() as patched:
            device = OutOfMemoryOnce(patched, kind, moment)
            loss = loss_and_gradient(real_batch, texts, chosen, accelerator).loss
        gradients = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
        return loss, gradients, texts.budget.tokens, device.passes[kind]

    loss, gradients, budget, passes = step(400)
    assert budget == 400 and passes >= 4
    for moment in range(passes):
        found, partly, lowered, _ = step(400, moment)
        assert lowered < 400
        expected, whole, same, _ = step(lowered)
        assert found == expected != loss and same == lowered
        assert partly.keys() == whole.keys() == gradients.keys()
        assert all(torch.equal(partly[name], whole[name]) for name in whole), moment
