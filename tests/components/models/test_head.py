"""The head over the passages of an article."""

import pytest
import torch
from torch import nn

from components.models.encoding import HierarchicalArticleHead


def article_batch(counts=(3, 1, 4), dim=16, seed=0):
    """Passages of articles with `counts` real ones each, and rubbish in the padding."""
    generator = torch.Generator().manual_seed(seed)
    passages = torch.randn(len(counts), max(counts), dim, generator=generator)
    mask = torch.arange(max(counts)) < torch.tensor(counts)[:, None]
    passages[~mask] = float("nan")
    return passages, mask


def pooled(passages, mask, how):
    rows = [article[real] for article, real in zip(passages, mask, strict=True)]
    return torch.stack([r.mean(0) if how == "mean" else r.amax(0) for r in rows])


@pytest.mark.parametrize(
    ("pooling", "training", "gradients"), [("mean", True, True), ("max", False, False)]
)
def test_an_identity_is_the_pooled_passages_at_step_0(pooling, training, gradients):
    head = HierarchicalArticleHead(16, 4, pooling=pooling, init="identity").train(training)
    passages, mask = article_batch()
    with torch.set_grad_enabled(gradients):
        found = head(passages, mask)
    assert torch.allclose(found, pooled(passages, mask, pooling), atol=1e-7, rtol=0)
    one = head(passages[1:2, :1], mask[1:2, :1])
    assert torch.equal(one[0], passages[1, 0])


def test_every_zero_of_an_identity_learns_at_the_first_step_and_the_rest_at_the_second():
    torch.manual_seed(0)
    head = HierarchicalArticleHead(16, 4, dropout=0.0)
    passages, mask = article_batch()
    target = torch.randn(3, 16)
    optimiser = torch.optim.SGD(head.parameters(), lr=0.1)
    zeros = {name for name, weight in head.named_parameters() if not weight.any()}
    last = {
        f"layers.{layer}.{name}.{what}"
        for layer in range(2)
        for name in ("self_attn.out_proj", "linear2")
        for what in ("weight", "bias")
    }
    assert {"positions.weight", *last} <= zeros
    for learning in ({"positions.weight", *last}, {n for n, _ in head.named_parameters()}):
        optimiser.zero_grad()
        (head(passages, mask) - target).square().sum().backward()
        gradients = {name: weight.grad for name, weight in head.named_parameters()}
        for name in learning:
            if name.endswith("in_proj_bias"):
                continue  # the keys' third of it never matters: softmax is blind to a shift
            assert gradients[name] is not None and gradients[name].abs().sum() > 0, name
        optimiser.step()


@pytest.mark.parametrize("init", ["paper", "identity"])
def test_an_article_does_not_depend_on_its_batch_mates(init):
    torch.manual_seed(1)
    head = HierarchicalArticleHead(16, 4, init=init).eval()
    for weight in head.parameters():
        nn.init.normal_(weight, std=0.2)
    passages, mask = article_batch((3, 1, 4))
    together = head(passages, mask)
    for row, count in enumerate((3, 1, 4)):
        alone = head(passages[row : row + 1, :count], mask[row : row + 1, :count])
        assert torch.allclose(together[row], alone[0], atol=1e-5, rtol=0)
        with torch.no_grad():  # another code path of PyTorch's layer
            unrecorded = head(passages, mask)
        assert torch.allclose(unrecorded[row], together[row], atol=1e-5, rtol=0)
