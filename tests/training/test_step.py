"""One step: distinct texts through the towers once, and the loss and gradient of the whole."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from accelerate import Accelerator

from components.models.encoding import encode
from components.models.tower import Tower
from components.statutes.article import indexed_text
from training.batches import Batch, make_batch
from training.data import TrainingData
from training.negatives.sampling import CurriculumNegatives
from training.objective import contrastive_loss
from training.starting import starting_model, train_mode
from training.step import loss_and_gradient
from training.texts import RunTexts

CPU = torch.device("cpu")
HEADS = ({}, {"head": "paper", "passage_tokens": 16})


@pytest.fixture(scope="session")
def data(small_law) -> TrainingData:
    return TrainingData.read(str(small_law / "articles.jsonl"), str(small_law / "questions.jsonl"))


@pytest.fixture
def batch(data) -> Batch:
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


def test_each_distinct_text_goes_through_its_tower_once(
    data, batch, settings, accelerator, other_bert, tiny_bert, monkeypatch
):
    chosen = settings(model=None, query_model=str(tiny_bert), passage_model=str(other_bert))
    model = starting_model(chosen, CPU)
    rows: dict[int, int] = {}
    forward = Tower.forward

    def counting(self, ids, mask, prompt_tokens=0):
        rows[id(self)] = rows.get(id(self), 0) + len(ids)
        return forward(self, ids, mask, prompt_tokens)

    monkeypatch.setattr(Tower, "forward", counting)
    loss_and_gradient(batch, RunTexts(model, data, None), chosen, accelerator)
    assert rows == {id(model.query): len(batch.questions), id(model.passage): len(batch.articles)}


@pytest.mark.parametrize("reduction", ["mean", "question_sum"])
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("caching", [False, True])
def test_loss_and_gradient_are_those_of_encoding_every_text_by_itself(
    data, batch, settings, accelerator, reduction, head, caching
):
    chosen = settings(reduction=reduction, gradient_caching=caching, token_budget=60, **head)
    torch.manual_seed(0)
    model = starting_model(chosen, CPU).eval()
    found = loss_and_gradient(batch, RunTexts(model, data, 60), chosen, accelerator)
    gradients = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    model.zero_grad(set_to_none=True)

    def alone(encoder, text):
        return encoder.embed(encoder.tokenize([text]))[0]

    questions = [alone(model.query_encoder, data.train[q].text) for q in batch.questions]
    articles = [
        alone(model.article_encoder, indexed_text(data.corpus[a].headings, data.corpus[a].text))
        for a in batch.articles
    ]
    loss = contrastive_loss(
        torch.stack(questions),
        torch.stack(articles),
        torch.from_numpy(batch.pairs),
        torch.from_numpy(batch.candidates),
        temperature=chosen.temperature,
        reduction=reduction,
    )
    loss.backward()
    assert found == pytest.approx(float(loss.detach()), abs=1e-5)
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


@pytest.mark.parametrize("kind", ["forward", "backward"])
@pytest.mark.parametrize("head", HEADS)
def test_a_batch_that_ran_out_of_memory_is_one_begun_in_smaller_pieces_bit_for_bit(
    data, batch, settings, accelerator, monkeypatch, kind, head
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
            loss = loss_and_gradient(batch, texts, chosen, accelerator)
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


def test_a_step_in_bf16_has_nearly_the_loss_and_trains_float32_weights(
    data, batch, settings, accelerator
):
    losses = {}
    for dtype in ("float32", "bfloat16"):
        chosen = settings(dtype=dtype)
        model = starting_model(chosen, CPU).eval()
        texts = RunTexts(model, data, None)
        assert texts.dtype_name == dtype
        losses[dtype] = loss_and_gradient(batch, texts, chosen, accelerator)
        assert {p.grad.dtype for p in model.parameters() if p.grad is not None} == {torch.float32}
    assert losses["bfloat16"] != losses["float32"]
    assert losses["bfloat16"] == pytest.approx(losses["float32"], rel=0.05)


def test_vectors_between_epochs_are_those_of_the_encoding_engine(data, settings, accelerator):
    model = starting_model(settings(head="identity", passage_tokens=16), CPU).train()
    texts = RunTexts(model, data, None)
    done: list[int] = []
    vectors = texts.encode(accelerator, done.append)
    assert sum(done) == len(data.corpus) + len(data.train) + len(data.dev)
    assert model.training
    by_rule = [indexed_text(a.headings, a.text) for a in data.corpus]
    for found, encoder, strings in (
        (vectors.articles, model.article_encoder, by_rule),
        (vectors.train, model.query_encoder, [q.text for q in data.train]),
        (vectors.dev, model.query_encoder, [q.text for q in data.dev]),
    ):
        assert torch.allclose(found, encode(encoder, strings)[0], atol=1e-6)
        assert not found.requires_grad


def test_the_text_rule_decides_what_of_an_article_is_read(data, settings):
    lengths = {}
    for rule in ("text", "headings_text"):
        model = starting_model(settings(text_rule=rule), CPU)
        assert model.text_rule == rule
        lengths[rule] = RunTexts(model, data, None).articles.passages.text_tokens
    assert (lengths["headings_text"] > lengths["text"]).all()


def test_data_without_dev_questions_has_no_vectors_of_them(data, settings, accelerator):
    alone = TrainingData(data.corpus, data.train, [], data.questions_sha256)
    texts = RunTexts(starting_model(settings(), CPU), alone, None)
    vectors = texts.encode(accelerator, lambda _: None)
    assert vectors.dev.shape == (0, 32)
    assert np.isfinite(vectors.articles.numpy()).all()
