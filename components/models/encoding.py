"""The encoding engine: many texts to vectors, fast and in little memory.

A vector does not depend on the other texts in its batch.

Indexing, serving and evaluation encode here; a training step, which needs gradients, uses the same
parts through `TextEncoder`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from typing import cast

import numpy as np
import torch
from numpy import int64
from numpy.typing import NDArray
from torch import Tensor

from components.models.devices import inference
from components.models.errors import ModelError
from components.models.head import HierarchicalArticleHead
from components.models.similarity import Similarity
from components.models.tower import Passages, Tower
from components.statutes.article import TextRule, indexed_text
from components.statutes.lexical import Segmentation, words_joined

# Small enough that a batch's activations stay in a CPU's caches, large enough to fill a GPU.
_TOKENS_A_BATCH = {"cpu": 1_024, "cuda": 65_536}
_DEFAULT_TOKENS_A_BATCH = 8_192


@dataclass
class TokenBudget:
    """Padded tokens that one batch may have; halved whenever the device runs out of memory."""

    tokens: int

    @classmethod
    def for_device(cls, device: torch.device) -> TokenBudget:
        """The size that is fastest on this kind of device."""
        return cls(_TOKENS_A_BATCH.get(device.type, _DEFAULT_TOKENS_A_BATCH))


def embed_passages(tower: Tower, passages: Passages, budget: TokenBudget) -> Tensor:
    """Vectors of passages in order, as the tower returns them.

    If memory runs out, the budget is halved permanently and the batch is tried again in pieces.

    Returns:
        float32 `[n_passages, dim]` on the tower's device, with gradients where enabled.

    Raises:
        torch.OutOfMemoryError: One passage alone does not fit.
    """
    device = tower.device
    if not len(passages):
        return torch.empty(0, tower.dim, device=device)

    def embed(rows: NDArray[np.int64]) -> Tensor:
        ids, mask = passages.batch(rows)
        return cast(
            Tensor,
            tower(
                ids.to(device, non_blocking=True),
                None if mask is None else mask.to(device, non_blocking=True),
                passages.prompt_tokens,
            ),
        )

    return in_batches(embed, passages.lengths, budget, device)


def in_batches(
    compute: Callable[[NDArray[np.int64]], Tensor],
    lengths: NDArray[np.int64],
    budget: TokenBudget,
    device: torch.device,
) -> Tensor:
    """Compute some rows of tokens in batches; the results are in the order of the rows.

    Args:
        compute: Takes int64 `[n_rows]`, which rows, and returns a tensor `[n_rows, ...]`.
        lengths: int64 `[n]`, tokens of each row; at least one row.
        budget: As for `embed_passages`.
        device: Where `compute` works.

    Returns:
        `[n, ...]` on `device`.

    Raises:
        torch.OutOfMemoryError: One row alone does not fit.
    """
    rows: list[NDArray[np.int64]] = []
    computed: list[Tensor] = []
    todo = _batches(np.arange(len(lengths)), lengths, budget.tokens)
    while todo:
        batch = todo.pop()
        try:
            computed.append(compute(batch))
        except torch.OutOfMemoryError:
            if len(batch) == 1:
                raise
            padded = len(batch) * int(lengths[batch].max())
            budget.tokens = max(1, min(budget.tokens, padded) // 2)
            rest = np.concatenate([batch, *reversed(todo)])
            todo = _batches(rest, lengths, budget.tokens)
            if device.type == "cuda":
                torch.cuda.empty_cache()
        else:
            rows.append(batch)
    inverse = np.argsort(np.concatenate(rows))
    return torch.cat(computed)[torch.from_numpy(inverse).to(device)]


def _batches(
    rows: NDArray[np.int64], lengths: NDArray[np.int64], budget: int
) -> list[NDArray[np.int64]]:
    """Rows by length in batches of at most `budget` padded tokens, to be taken from the end.

    The longest come first, so that memory runs out at once if at all.
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


def scaled(vectors: Tensor, similarity: Similarity) -> Tensor:
    """A model's output as it is compared and kept: of unit length for cosine, else unchanged.

    Args:
        vectors: `[n, dim]`.
        similarity: Of the model.
    """
    return torch.nn.functional.normalize(vectors, dim=-1) if similarity == "cosine" else vectors


@dataclass(frozen=True)
class TextEncoder:
    """One way from texts to vectors: a tower, how texts are cut, and what joins passages.

    Attributes:
        tower: Encodes passages.
        passage_tokens: Longest passage, special tokens and prompt included.
        prompt: Written before each passage.
        head: Joins the passages of a text; None where a text is one passage.
        segmentation: Language whose words are joined by "_" before the tower's tokenizer reads a
            text; None for texts as they are.
        similarity: By which vectors are compared: those compared by cosine are of unit length.
    """

    tower: Tower
    passage_tokens: int
    prompt: str = ""
    head: HierarchicalArticleHead | None = None
    segmentation: Segmentation | None = None
    similarity: Similarity = "cosine"

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
        """The share of each article's text that is read; 1 if nothing is cut off.

        Args:
            articles: Headings and text of each.
            text_rule: Which parts of an article are encoded.

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
        """Vectors of tokenised texts, on the tower's device, with gradients where enabled.

        Returns:
            float32 `[n_texts, dim]`.
        """
        budget = budget or TokenBudget.for_device(self.tower.device)
        vectors = embed_passages(self.tower, passages, budget)
        if self.head is not None and len(passages):
            vectors = self.head(*_padded(vectors, passages.per_text))
        return scaled(vectors, self.similarity)

    def head_change(self, passages: Passages) -> float:
        """Mean of the head's |out - in| / |in| over some texts; 0 without a head."""
        if self.head is None or not len(passages):
            return 0.0
        with torch.no_grad():
            budget = TokenBudget.for_device(self.tower.device)
            vectors = embed_passages(self.tower, passages, budget)
            change = self.head.relative_change(*_padded(vectors, passages.per_text))
        return float(change.mean())


def checked_segmentation(segmentation: Segmentation | None) -> Segmentation | None:
    """The argument unchanged; loads the word segmenter, so that no question waits for it.

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
        pairs = zip(astuple(self), astuple(other), strict=True)
        return EncodingReport(*(mine + theirs for mine, theirs in pairs))


def encode(
    encoder: TextEncoder,
    texts: Sequence[str],
    *,
    dtype: torch.dtype = torch.float32,
    progress: Callable[[int], object] | None = None,
) -> tuple[Tensor, EncodingReport]:
    """Encode texts without gradients; equal texts are encoded once.

    In float32 a vector depends only on its own text (to 1e-5), not on the other texts, their order,
    or the batch size.

    Args:
        encoder: What to encode with.
        texts: `n` texts.
        dtype: bfloat16 runs the tower in autocast; its weights and the head stay float32.
        progress: Called with the number of texts done since the last call.

    Returns:
        float32 `[n, dim]` on the tower's device, and the report.

    Raises:
        TypeError: `texts` is one string, or holds anything but strings.
        torch.OutOfMemoryError: One passage alone does not fit.
    """
    if isinstance(texts, str):
        raise TypeError("texts is one string. Give a list: encode([text]).")
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"texts[{index}] is a {type(text).__name__}, not a string.")
    distinct = list(dict.fromkeys(texts))
    place = {text: index for index, text in enumerate(distinct)}
    source = np.array([place[text] for text in texts], np.int64)
    repeats = np.bincount(source, minlength=len(distinct))
    report = EncodingReport()

    def done(start: int, passages: Passages) -> None:
        nonlocal report
        own = repeats[start : start + len(passages.per_text)]
        report += _report(passages, own)
        if progress is not None:
            progress(int(own.sum()))

    blocks = _tokenized_blocks(encoder, distinct)
    vectors = _encoded(encoder, blocks, len(distinct), dtype, done)
    if len(distinct) == len(texts):
        return vectors, report
    return vectors[torch.from_numpy(source).to(vectors.device)], report


def encode_tokenized(
    encoder: TextEncoder,
    passages: Passages,
    *,
    dtype: torch.dtype = torch.float32,
    progress: Callable[[int], object] | None = None,
) -> Tensor:
    """As `encode`, for tokenised texts: the same vectors, without tokenising again.

    Args:
        encoder: What to encode with.
        passages: What its `tokenize` made of `n` texts.
        dtype: As for `encode`.
        progress: Called with the number of texts done since the last call.

    Returns:
        float32 `[n, dim]` on the tower's device.

    Raises:
        torch.OutOfMemoryError: One passage alone does not fit.
    """
    n_texts = len(passages.per_text)
    size = _texts_a_block(encoder.tower.device)
    blocks = (
        (start, passages.take(np.arange(start, min(start + size, n_texts))))
        for start in range(0, n_texts, size)
    )

    def done(_: int, block: Passages) -> None:
        if progress is not None:
            progress(len(block.per_text))

    return _encoded(encoder, blocks, n_texts, dtype, done)


def _encoded(
    encoder: TextEncoder,
    blocks: Iterable[tuple[int, Passages]],
    n_texts: int,
    dtype: torch.dtype,
    done: Callable[[int, Passages], None],
) -> Tensor:
    """Vectors of blocks of texts, each with the position of its first text."""
    tower = encoder.tower
    budget = TokenBudget.for_device(tower.device)
    vectors = torch.empty(n_texts, tower.dim, dtype=torch.float32, device=tower.device)
    with inference([tower, encoder.head], tower.device, dtype):
        for start, passages in blocks:
            vectors[start : start + len(passages.per_text)] = encoder.embed(passages, budget)
            done(start, passages)
    return vectors


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
