"""The encoding engine: many texts to vectors, fast, in little memory, the same in any company.

Indexing, serving and evaluation encode here; a training step, which wants gradients, uses the same
parts through `TextEncoder`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from components.models.inference import inference
from components.models.passages import Passages
from components.models.text_encoder import TextEncoder
from components.models.token_budget import TokenBudget

# Texts tokenised, sorted by length and encoded together, while the next ones are tokenised.
_TEXTS_A_BLOCK = {"cpu": 256, "cuda": 8_192}
_DEFAULT_TEXTS_A_BLOCK = 1_024


@dataclass(frozen=True)
class EncodingReport:
    """What encoding did to some texts.

    Attributes:
        n_texts: Texts encoded.
        n_tokens: Their tokens before cutting, special tokens and prompts left out.
        n_cut: Texts of which something was cut off.
        tokens_cut: Tokens that were cut off.
    """

    n_texts: int = 0
    n_tokens: int = 0
    n_cut: int = 0
    tokens_cut: int = 0

    def __add__(self, other: EncodingReport) -> EncodingReport:
        return EncodingReport(
            self.n_texts + other.n_texts,
            self.n_tokens + other.n_tokens,
            self.n_cut + other.n_cut,
            self.tokens_cut + other.tokens_cut,
        )


def encode(
    encoder: TextEncoder,
    texts: Sequence[str],
    *,
    dtype: torch.dtype = torch.float32,
    token_budget: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> tuple[Tensor, EncodingReport]:
    """Encode texts without gradients; a text that stands there twice is encoded once.

    In float32 a vector depends on its own text alone (to 1e-5): not on the texts beside it, their
    order, or the budget.

    Args:
        encoder: What to encode with.
        texts: `n` texts.
        dtype: bfloat16 runs the tower in autocast; its weights and the head stay float32.
        token_budget: Padded tokens a batch; by default what suits the device.
        progress: Called with the number of texts done since the last call.

    Returns:
        float32 `[n, dim]` on the tower's device, unit length, and the report.

    Raises:
        TypeError: `texts` is one string, or holds something else than strings.
        torch.OutOfMemoryError: One passage alone does not fit.
    """
    _check_texts(texts)
    tower = encoder.tower
    budget = _budget(encoder, token_budget)
    distinct = list(dict.fromkeys(texts))
    place = {text: index for index, text in enumerate(distinct)}
    source = np.array([place[text] for text in texts], np.int64)
    repeats = np.bincount(source, minlength=len(distinct))
    vectors = torch.empty(len(distinct), tower.dim, dtype=torch.float32, device=tower.device)
    report = EncodingReport()
    with inference([tower, encoder.head], tower.device, dtype):
        for start, passages in _tokenized_blocks(encoder, distinct):
            stop = start + len(passages.per_text)
            vectors[start:stop] = encoder.embed(passages, budget)
            report += _report(passages, repeats[start:stop])
            if progress is not None:
                progress(int(repeats[start:stop].sum()))
    if len(distinct) == len(texts):
        return vectors, report
    return vectors[torch.from_numpy(source).to(tower.device)], report


def encode_tokenized(
    encoder: TextEncoder,
    passages: Passages,
    *,
    dtype: torch.dtype = torch.float32,
    token_budget: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Tensor:
    """As `encode`, of texts that are tokenised already: the same vectors, nothing cut twice.

    Args:
        encoder: What to encode with.
        passages: What its `tokenize` made of `n` texts.
        dtype: As for `encode`.
        token_budget: As for `encode`.
        progress: Called with the number of texts done since the last call.

    Returns:
        float32 `[n, dim]` on the tower's device, unit length.

    Raises:
        torch.OutOfMemoryError: One passage alone does not fit.
    """
    tower = encoder.tower
    budget = _budget(encoder, token_budget)
    n_texts = len(passages.per_text)
    vectors = torch.empty(n_texts, tower.dim, dtype=torch.float32, device=tower.device)
    size = _texts_a_block(tower.device)
    with inference([tower, encoder.head], tower.device, dtype):
        for start in range(0, n_texts, size):
            block = np.arange(start, min(start + size, n_texts))
            vectors[start : start + len(block)] = encoder.embed(passages.take(block), budget)
            if progress is not None:
                progress(len(block))
    return vectors


def _budget(encoder: TextEncoder, tokens: int | None) -> TokenBudget:
    return TokenBudget.for_device(encoder.tower.device) if tokens is None else TokenBudget(tokens)


def _texts_a_block(device: torch.device) -> int:
    return _TEXTS_A_BLOCK.get(device.type, _DEFAULT_TEXTS_A_BLOCK)


def _tokenized_blocks(encoder: TextEncoder, texts: Sequence[str]) -> Iterator[tuple[int, Passages]]:
    """Blocks of texts as passages; the next block is tokenised while the caller uses this one."""
    size = _texts_a_block(encoder.tower.device)
    starts = range(0, len(texts), size)
    if len(starts) <= 1:
        if texts:
            yield 0, encoder.tokenize(texts)
        return
    with ThreadPoolExecutor(1, thread_name_prefix="tokenize") as thread:
        ahead = thread.submit(encoder.tokenize, texts[:size])
        for start in starts:
            passages = ahead.result()
            if start + size < len(texts):
                ahead = thread.submit(encoder.tokenize, texts[start + size : start + 2 * size])
            yield start, passages


def _report(passages: Passages, repeats: NDArray[np.int64]) -> EncodingReport:
    cut = (passages.text_tokens - passages.kept_tokens) * repeats
    return EncodingReport(
        n_texts=int(repeats.sum()),
        n_tokens=int((passages.text_tokens * repeats).sum()),
        n_cut=int(repeats[cut > 0].sum()),
        tokens_cut=int(cut.sum()),
    )


def _check_texts(texts: Sequence[str]) -> None:
    if isinstance(texts, str):
        raise TypeError("texts is one string. Give a list: encode([text]).")
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"texts[{index}] is a {type(text).__name__}, not a string.")
