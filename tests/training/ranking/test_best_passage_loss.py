"""The loss of an article is that of its best passage, and sentence-transformers' own for one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from sentence_transformers import CrossEncoder
from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss
from torch.nn.functional import binary_cross_entropy_with_logits

from training.ranking.best_passage_loss import BestPassageLoss
from training.ranking.starting import open_start

QUESTIONS = ["What must the tenant pay?", "When is notice due?", "Who repairs the roof?"]
FIRST = ["The tenant must pay rent.", "Wages are due monthly.", "The landlord repairs."]
LABELS = torch.tensor([1.0, 0.0, 1.0])


@pytest.fixture
def model(tiny_bert: Path) -> CrossEncoder:
    return open_start(tiny_bert, torch.device("cpu"), seed=0).eval()


def gradients(model: CrossEncoder, loss: torch.Tensor) -> dict[str, torch.Tensor]:
    model.zero_grad()
    loss.backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def test_of_articles_of_one_passage_it_is_the_parents_loss(model: CrossEncoder) -> None:
    own = BestPassageLoss(model)([QUESTIONS, [[text] for text in FIRST]], LABELS)
    parents = BinaryCrossEntropyLoss(model)([QUESTIONS, FIRST], LABELS)
    torch.testing.assert_close(own, parents)
    mine, theirs = gradients(model, own), gradients(model, parents)
    assert mine.keys() == theirs.keys()
    assert all(torch.allclose(mine[name], theirs[name], atol=1e-7) for name in mine)


def test_the_best_passage_counts_and_the_others_get_no_gradient(model: CrossEncoder) -> None:
    articles = [[FIRST[0], "Leave is granted."], [FIRST[1]], ["Custody.", FIRST[2], "Support."]]
    loss = BestPassageLoss(model)([QUESTIONS, articles], LABELS)
    with torch.no_grad():
        best = [
            max(own, key=lambda passage, asked=asked: float(model.predict([(asked, passage)])[0]))
            for asked, own in zip(QUESTIONS, articles, strict=True)
        ]
    alone = BestPassageLoss(model)([QUESTIONS, [[passage] for passage in best]], LABELS)
    torch.testing.assert_close(loss, alone)
    mine, theirs = gradients(model, loss), gradients(model, alone)
    assert all(torch.allclose(mine[name], theirs[name], atol=1e-6) for name in mine)


def test_it_is_binary_cross_entropy(model: CrossEncoder) -> None:
    pairs = list(zip(QUESTIONS, FIRST, strict=True))
    logits = model.predict(pairs, activation_fn=torch.nn.Identity(), convert_to_tensor=True)
    own = BestPassageLoss(model)([QUESTIONS, [[text] for text in FIRST]], LABELS)
    torch.testing.assert_close(own, binary_cross_entropy_with_logits(logits, LABELS))


def test_questions_and_passages_are_read_as_in_use(model: CrossEncoder) -> None:
    articles = [[text, "Leave is granted."] for text in FIRST]

    def read(text: str) -> str:
        return f"notice {text}"

    own = BestPassageLoss(model, read)([QUESTIONS, articles], LABELS)
    as_read = [[read(text) for text in passages] for passages in articles]
    expected = BestPassageLoss(model)([[read(each) for each in QUESTIONS], as_read], LABELS)
    torch.testing.assert_close(own, expected)
    assert own != BestPassageLoss(model)([QUESTIONS, articles], LABELS)
