"""The hierarchical article encoder's upper half (G-DSR, section 3.2): passages to one article."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor, nn

from components.models.weights import SavedModule, check_arguments

Init = Literal["identity", "paper"]
Pooling = Literal["mean", "max"]


class HierarchicalArticleHead(SavedModule):
    """Passage vectors of an article to the article's vector.

    h_i = p_i + e_i with position embeddings e, then `layers` Transformer layers over the real
    passages only (a padding mask: an article does not depend on its batch-mates), then the mean or
    maximum over them. Feed-forward width 4 x dim, GELU, dropout on the branches.

    `init="paper"` is post-LN with random weights, as published. `init="identity"` is pre-LN without
    a final LayerNorm, with the position embeddings and each branch's last projection at zero: at
    step 0 it *is* the pooled passages, bit for bit, in training mode too, while every zero receives
    a gradient at the first step.

    Args:
        dim: Width of passage and article vectors.
        heads: Attention heads; must divide `dim`.
        passage_tokens: Longest passage in tokens, special tokens included.
        max_passages: Passages an article may have; what lies beyond is cut off and reported.
        layers: Transformer layers.
        dropout: Probability, on attention weights and branches.
        pooling: How passages become one article.
        init: How a fresh head is initialised.

    Raises:
        ModelError: A value is out of its range.
    """

    description = "article head"

    def __init__(
        self,
        dim: int,
        heads: int,
        *,
        passage_tokens: int = 128,
        max_passages: int = 8,
        layers: int = 2,
        dropout: float = 0.1,
        pooling: Pooling = "mean",
        init: Init = "identity",
    ) -> None:
        super().__init__()
        counts = {
            "dim": dim,
            "heads": heads,
            "passage_tokens": passage_tokens,
            "max_passages": max_passages,
            "layers": layers,
        }
        choices = {"pooling": (pooling, get_args(Pooling)), "init": (init, get_args(Init))}
        check_arguments("head", counts, dropout, choices)
        self.dim = dim
        self.heads = heads
        self.passage_tokens = passage_tokens
        self.max_passages = max_passages
        self.dropout = dropout
        self.pooling = pooling
        self.init = init
        self.arguments = {**counts, "dropout": dropout, "pooling": pooling, "init": init}
        self.positions = nn.Embedding(max_passages, dim)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                dim,
                heads,
                dim_feedforward=4 * dim,
                dropout=dropout,
                activation="gelu",
                batch_first=True,
                norm_first=init == "identity",
            )
            for _ in range(layers)
        )
        nn.init.normal_(self.positions.weight, std=0.02)
        if init == "identity":
            self._start_as_identity()

    def _start_as_identity(self) -> None:
        nn.init.zeros_(self.positions.weight)
        for layer in self.layers:
            assert isinstance(layer, nn.TransformerEncoderLayer)
            for projection in (layer.self_attn.out_proj, layer.linear2):
                nn.init.zeros_(projection.weight)
                nn.init.zeros_(projection.bias)

    def forward(self, passages: Tensor, mask: Tensor) -> Tensor:
        """Vectors of articles.

        Always float32, autocast or not: the head is a thousandth of the work, and an identity has
        to stay one.

        Args:
            passages: `[n_articles, n_passages, dim]`; what stands in padding places is ignored.
            mask: bool `[n_articles, n_passages]`, True where a passage is real; at least one per
                row.

        Returns:
            float32 `[n_articles, dim]`.
        """
        real = mask.unsqueeze(-1)
        with torch.autocast(passages.device.type, enabled=False):
            # Zeros, not whatever padding holds: 0 * NaN would leak out of attention and mean.
            states = passages.float().masked_fill(~real, 0.0)
            states = states + self.positions.weight[: states.shape[1]]
            for layer in self.layers:
                states = layer(states, src_key_padding_mask=~mask)
            return self._pooled(states, real)

    def relative_change(self, passages: Tensor, mask: Tensor) -> Tensor:
        """How far the head moves articles from their pooled passages, |out - in| / |in|.

        0 for a head that is still an identity: it has learnt nothing.

        Args:
            passages: As for `forward`.
            mask: As for `forward`.

        Returns:
            float32 `[n_articles]`.
        """
        pooled = self._pooled(passages.float(), mask.unsqueeze(-1))
        moved: Tensor = self(passages, mask) - pooled
        change: Tensor = moved.norm(dim=1) / pooled.norm(dim=1)
        return change

    def _pooled(self, states: Tensor, real: Tensor) -> Tensor:
        if self.pooling == "max":
            return states.masked_fill(~real, float("-inf")).amax(dim=1)
        return states.masked_fill(~real, 0.0).sum(dim=1) / real.sum(dim=1)
