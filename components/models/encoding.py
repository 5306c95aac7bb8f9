"""The encoding engine: many texts to vectors, fast, in little memory, the same in any company.

Training, indexing and evaluation all encode through this module: `encode` without gradients,
`embed_texts` inside a training step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from components.models.cpu_linear import fast_linear
from components.models.head import HierarchicalArticleHead
from components.models.passages import Passages
from components.models.tower import Tower

# Tokens a batch: a CPU wants a batch's activations in its caches, a GPU wants its units filled.
_TOKENS_A_BATCH = {"cpu": 1_024, "cuda": 65_536}
# Texts tokenised, sorted by length and encoded together, while the next ones are tokenised.
_TEXTS_A_BLOCK = {"cpu": 256, "cuda": 8_192}
_DEFAULT_TOKENS_A_BATCH = 8_192
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


@dataclass
class TokenBudget:
    """Padded tokens that one batch may have; halved whenever the device runs out of memory."""

    tokens: int

    @classmethod
    def for_device(cls, device: torch.device) -> TokenBudget:
        """The size that is fastest on this kind of device."""
        return cls(_TOKENS_A_BATCH.get(device.type, _DEFAULT_TOKENS_A_BATCH))


@dataclass(frozen=True)
class TextEncoder:
    """One way from texts to vectors: a tower, how its texts are cut, and what joins the passages.

    Attributes:
        tower: Encodes passages.
        passage_tokens: Longest passage, special tokens and prompt included.
        prompt: Written before each passage.
        head: Joins the passages of a text; None where a text is one passage.
    """

    tower: Tower
    passage_tokens: int
    prompt: str = ""
    head: HierarchicalArticleHead | None = None

    def tokenize(self, texts: Sequence[str]) -> Passages:
        """The texts as passages, cut to what the model reads."""
        return self.tower.tokenizer.passages(
            texts,
            passage_tokens=self.passage_tokens,
            max_passages=1 if self.head is None else self.head.max_passages,
            prompt=self.prompt,
        )

    def embed(self, passages: Passages, budget: TokenBudget | None = None) -> Tensor:
        """Unit vectors of tokenised texts, on the tower's device, with gradients where enabled.

        Returns:
            float32 `[n_texts, dim]`.
        """
        budget = budget or TokenBudget.for_device(self.tower.device)
        vectors = embed_passages(self.tower, passages, budget)
        if self.head is not None:
            vectors = _join(self.head, vectors, passages.per_text)
        return torch.nn.functional.normalize(vectors, dim=-1)


def encode(
    encoder: TextEncoder,
    texts: Sequence[str],
    *,
    dtype: torch.dtype = torch.float32,
    token_budget: int | None = None,
    progress: Callable[[int], None] | None = None,
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
    budget = TokenBudget.for_device(tower.device)
    if token_budget is not None:
        budget.tokens = token_budget
    distinct = list(dict.fromkeys(texts))
    place = {text: index for index, text in enumerate(distinct)}
    source = np.array([place[text] for text in texts], np.int64)
    repeats = np.bincount(source, minlength=len(distinct))
    vectors = torch.empty(len(distinct), tower.dim, dtype=torch.float32, device=tower.device)
    report = EncodingReport()
    with _inference(encoder, dtype):
        for start, passages in _tokenized_blocks(encoder, distinct):
            stop = start + len(passages.per_text)
            vectors[start:stop] = encoder.embed(passages, budget)
            report += _report(passages, repeats[start:stop])
            if progress is not None:
                progress(int(repeats[start:stop].sum()))
    if len(distinct) == len(texts):
        return vectors, report
    return vectors[torch.from_numpy(source).to(tower.device)], report


def embed_passages(tower: Tower, passages: Passages, budget: TokenBudget) -> Tensor:
    """Vectors of passages in their order, as the tower gives them.

    When memory runs out the budget is halved, for good, and the batch is tried again in pieces.

    Returns:
        float32 `[n_passages, dim]` on the tower's device, with gradients where enabled.

    Raises:
        torch.OutOfMemoryError: One passage alone does not fit.
    """
    device = tower.device
    rows: list[NDArray[np.int64]] = []
    vectors: list[Tensor] = []
    todo = _batches(np.arange(len(passages)), passages.lengths, budget.tokens)
    while todo:
        batch = todo.pop()
        ids, mask = passages.batch(batch)
        try:
            vectors.append(
                tower(
                    ids.to(device, non_blocking=True),
                    None if mask is None else mask.to(device, non_blocking=True),
                    passages.prompt_tokens,
                )
            )
        except torch.OutOfMemoryError:
            if len(batch) == 1:
                raise
            budget.tokens = max(1, min(budget.tokens, ids.numel()) // 2)
            rest = np.concatenate([batch, *reversed(todo)])
            todo = _batches(rest, passages.lengths, budget.tokens)
            if device.type == "cuda":
                torch.cuda.empty_cache()
        else:
            rows.append(batch)
    if not rows:
        return torch.empty(0, tower.dim, device=device)
    inverse = np.argsort(np.concatenate(rows))
    return torch.cat(vectors)[torch.from_numpy(inverse).to(device)]


def _batches(
    rows: NDArray[np.int64], lengths: NDArray[np.int64], budget: int
) -> list[NDArray[np.int64]]:
    """Rows by length in batches of at most `budget` padded tokens, to be taken from the end.

    The longest come first: what runs out of memory does so at once.
    """
    ordered = rows[np.argsort(lengths[rows], kind="stable")]
    ascending = lengths[ordered]
    batches = []
    start = 0
    while start < len(ordered):
        # Padded size of the batch start..j is (j - start + 1) * length of j, which only grows.
        sizes = np.arange(1, len(ordered) - start + 1) * ascending[start:]
        stop = start + max(1, int(np.searchsorted(sizes, budget, side="right")))
        batches.append(ordered[start:stop])
        start = stop
    return batches


def _join(head: HierarchicalArticleHead, vectors: Tensor, per_text: NDArray[np.int64]) -> Tensor:
    """Passage vectors `[n_passages, dim]` to text vectors `[n_texts, dim]`, padded per text."""
    counts = torch.from_numpy(per_text).to(vectors.device)
    mask = torch.arange(int(per_text.max(initial=1)), device=vectors.device) < counts[:, None]
    padded = vectors.new_zeros(*mask.shape, vectors.shape[-1])
    padded[mask] = vectors
    joined: Tensor = head(padded, mask)
    return joined


def _tokenized_blocks(encoder: TextEncoder, texts: Sequence[str]) -> Iterator[tuple[int, Passages]]:
    """Blocks of texts as passages; the next block is tokenised while the caller uses this one."""
    size = _TEXTS_A_BLOCK.get(encoder.tower.device.type, _DEFAULT_TEXTS_A_BLOCK)
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


@contextmanager
def _inference(encoder: TextEncoder, dtype: torch.dtype) -> Iterator[None]:
    modules = [module for module in (encoder.tower, encoder.head) if module is not None]
    training = [module for module in modules if module.training]
    for module in training:
        module.eval()
    device_type = encoder.tower.device.type
    exact = dtype == torch.float32
    try:
        # no_grad, not inference_mode: autocast keeps its bf16 copies of the weights from batch to
        # batch only for what requires a gradient, and so casts them once a call.
        with (
            torch.no_grad(),
            torch.autocast(device_type, dtype, enabled=not exact),
            fast_linear() if exact and device_type == "cpu" else nullcontext(),
        ):
            yield
    finally:
        # Copies made without gradients must not serve a caller's own autocast block; not every
        # release of PyTorch sees to that itself.
        torch.clear_autocast_cache()
        for module in training:
            module.train()


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
