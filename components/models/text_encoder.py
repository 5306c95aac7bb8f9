"""From texts to vectors, with gradients where they are wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy import int64
from numpy.typing import NDArray
from torch import Tensor

from components.models.errors import ModelError
from components.models.head import HierarchicalArticleHead
from components.models.passages import Passages
from components.models.token_budget import TokenBudget, embed_passages
from components.models.tower import Tower
from components.statutes.article import TextRule, indexed_text
from components.statutes.lexical import Segmentation, words_joined


@dataclass(frozen=True)
class TextEncoder:
    """One way from texts to vectors: a tower, how its texts are cut, and what joins the passages.

    Attributes:
        tower: Encodes passages.
        passage_tokens: Longest passage, special tokens and prompt included.
        prompt: Written before each passage.
        head: Joins the passages of a text; None where a text is one passage.
        segmentation: Language whose words are joined by "_" before the tower's tokenizer reads a
            text; None for texts as they are.
    """

    tower: Tower
    passage_tokens: int
    prompt: str = ""
    head: HierarchicalArticleHead | None = None
    segmentation: Segmentation | None = None

    def tokenize(self, texts: Sequence[str]) -> Passages:
        """The texts as passages, cut to what the model reads."""
        if self.segmentation is not None:
            texts = [words_joined(text) for text in texts]
        return self.tower.tokenizer.passages(
            texts,
            passage_tokens=self.passage_tokens,
            max_passages=1 if self.head is None else self.head.max_passages,
            prompt=self.prompt,
        )

    def shares_read(
        self, articles: Sequence[tuple[Sequence[str], str]], text_rule: TextRule
    ) -> list[float]:
        """What is read of each article's text; 1 where nothing is cut off.

        Args:
            articles: Headings and text of each.
            text_rule: What of an article is encoded.

        Returns:
            Shares of the text's tokens, 0 to 1; the headings, which stand before it, do not count.
        """
        whole, before = (
            self.tokenize([indexed_text(headings, part, text_rule) for headings, part in parts])
            for parts in (articles, [(headings, "") for headings, _ in articles])
        )
        tokens = np.maximum(whole.text_tokens - before.text_tokens, 1)
        read = np.clip(whole.kept_tokens - before.text_tokens, 0, tokens)
        complete = whole.kept_tokens == whole.text_tokens
        return [float(share) for share in np.where(complete, 1.0, read / tokens)]

    def embed(self, passages: Passages, budget: TokenBudget | None = None) -> Tensor:
        """Unit vectors of tokenised texts, on the tower's device, with gradients where enabled.

        Returns:
            float32 `[n_texts, dim]`.
        """
        budget = budget or TokenBudget.for_device(self.tower.device)
        vectors = embed_passages(self.tower, passages, budget)
        if self.head is not None and len(passages):
            vectors = self.head(*_padded(vectors, passages.per_text))
        return torch.nn.functional.normalize(vectors, dim=-1)

    def head_change(self, passages: Passages) -> float:
        """Mean of the head's |out - in| / |in| over some texts; 0 where there is no head."""
        if self.head is None or not len(passages):
            return 0.0
        with torch.no_grad():
            budget = TokenBudget.for_device(self.tower.device)
            vectors = embed_passages(self.tower, passages, budget)
            change = self.head.relative_change(*_padded(vectors, passages.per_text))
        return float(change.mean())


def checked_segmentation(segmentation: Segmentation | None) -> Segmentation | None:
    """The same; what tells words apart is loaded, so that no question waits for it.

    Raises:
        ModelError: It is not installed, or does not work.
    """
    if segmentation is not None:
        try:
            words_joined("luật")
        except ImportError as error:
            raise ModelError(str(error)) from error
    return segmentation


def _padded(vectors: Tensor, per_text: NDArray[int64]) -> tuple[Tensor, Tensor]:
    """Passage vectors `[n_passages, dim]` as `[n_texts, most, dim]`, and which of them are real."""
    counts = torch.from_numpy(per_text).to(vectors.device)
    mask = torch.arange(int(per_text.max(initial=1)), device=vectors.device) < counts[:, None]
    padded = vectors.new_zeros(*mask.shape, vectors.shape[-1])
    padded[mask] = vectors
    return padded, mask
