"""From texts to vectors, fast and in little memory: tokens, the tower that reads them, batches.

A `Tower` is a plain sentence-transformers folder, run on token ids. A `TextEncoder` cuts texts into
passages for it and joins their vectors. A vector does not depend on the other texts in its batch.

Indexing, serving and evaluation encode here; a training step, which needs gradients, uses the same
parts through `TextEncoder`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import numpy as np
import torch
from numpy import int64
from numpy.typing import NDArray
from pydantic import PositiveInt, validate_call
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from components.models import weights
from components.models.devices import inference
from components.models.folder import ModelError, Similarity
from components.statutes.article import TextRule, indexed_text
from components.statutes.lexical import Segmentation, words_joined


@dataclass(frozen=True)
class Passages:
    """The passages of some texts, in the order of the texts, every text with at least one.

    Attributes:
        ids: int32 `[n_tokens]`, the token ids of all passages end to end, special tokens included.
        starts: int64 `[n_passages + 1]`, where each passage begins in `ids`.
        per_text: int64 `[n_texts]`, passages of each text.
        text_tokens: int64 `[n_texts]`, tokens of each text before cutting, special tokens and
            prompt left out.
        kept_tokens: int64 `[n_texts]`, how many of those are in its passages.
        prompt_tokens: Leading tokens of every passage that belong to the prompt; 0 without one.
        pad_id: What fills up a shorter row of a batch.
    """

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    per_text: NDArray[np.int64]
    text_tokens: NDArray[np.int64]
    kept_tokens: NDArray[np.int64]
    prompt_tokens: int
    pad_id: int

    def __len__(self) -> int:
        """Number of passages."""
        return len(self.starts) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64 `[n_passages]`, tokens of each passage."""
        return np.diff(self.starts)

    def take(self, texts: NDArray[np.int64]) -> Passages:
        """The passages of some texts.

        Args:
            texts: int64 `[n_taken]`, which texts, in the order wanted.
        """
        first = np.concatenate([[0], np.cumsum(self.per_text)])
        passages = _ranges(first[texts], self.per_text[texts])
        lengths = self.lengths[passages]
        return Passages(
            ids=self.ids[_ranges(self.starts[passages], lengths)],
            starts=np.concatenate([[0], np.cumsum(lengths)]),
            per_text=self.per_text[texts],
            text_tokens=self.text_tokens[texts],
            kept_tokens=self.kept_tokens[texts],
            prompt_tokens=self.prompt_tokens,
            pad_id=self.pad_id,
        )

    @property
    def tokens_per_text(self) -> NDArray[np.int64]:
        """int64 `[n_texts]`, tokens of all passages of each text, special tokens included."""
        first = np.concatenate([[0], np.cumsum(self.per_text)])
        tokens: NDArray[np.int64] = np.diff(self.starts[first])
        return tokens

    def batch(self, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor | None]:
        """Passages as a rectangle, padded on the right.

        Args:
            rows: int64 `[n_rows]`, which passages.

        Returns:
            int64 ids `[n_rows, longest]` and an int64 mask of that shape, 1 where a token is real;
            None instead of the mask where nothing is padded, which lets attention run unmasked.
        """
        lengths = self.lengths[rows]
        longest = int(lengths.max())
        columns = np.arange(longest)
        real = columns < lengths[:, None]
        # Places beyond a passage point at any token and are overwritten.
        places = np.where(real, self.starts[rows][:, None] + columns, 0)
        ids = self.ids[places].astype(np.int64)
        if real.all():
            return torch.from_numpy(ids), None
        ids[~real] = self.pad_id
        return torch.from_numpy(ids), torch.from_numpy(real.astype(np.int64))


def _ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """start, start + 1, ... of each range, `length` numbers long, one range after the other."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + lengths, lengths)


_PROBE = "law"


class PassageTokenizer:
    """A model's tokenizer without truncation and padding. Thread-safe.

    A Hugging Face tokenizer sets its length limit on each call, in the one object that all threads
    share; this is a private copy without a limit, and texts are cut here.

    Args:
        tokenizer: The model's tokenizer.

    Attributes:
        fast: The copy; None if the model only has a tokenizer in Python.

    Raises:
        ModelError: It adds more than special tokens before and after a text, or needs token
            types.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._slow = tokenizer
        self.fast: Tokenizer | None = None
        if getattr(tokenizer, "is_fast", False):
            self.fast = _bare_copy(tokenizer.backend_tokenizer)
        self.prefix, self.suffix = _special_tokens(tokenizer)
        pad = tokenizer.pad_token_id
        self.pad_id = int(pad) if pad is not None else 0

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text, uncut, without special tokens."""
        if self.fast is not None:
            encodings = self.fast.encode_batch_fast(list(texts), add_special_tokens=False)
            return [encoding.ids for encoding in encodings]
        return [
            self._slow.encode(text, add_special_tokens=False, truncation=False, verbose=False)
            for text in texts
        ]

    def is_whole(self, word: str) -> bool:
        """Whether the vocabulary has the word as one piece."""
        return len(self.token_ids([word])[0]) == 1

    def passages(
        self, texts: Sequence[str], *, passage_tokens: int, max_passages: int = 1, prompt: str = ""
    ) -> Passages:
        """Cut texts into passages of at most `passage_tokens` tokens, each complete in itself.

        Every passage carries the special tokens and the prompt. What lies beyond `max_passages`
        passages is left out, and counted in the result.

        Args:
            texts: What to encode.
            passage_tokens: Longest passage, special tokens and prompt included.
            max_passages: Passages a text may have.
            prompt: Written before each text.

        Raises:
            ModelError: Special tokens and prompt leave no room for a text.
        """
        prompt_ids, pooled_over = self._prompt(prompt)
        before = [*self.prefix, *prompt_ids]
        room = passage_tokens - len(before) - len(self.suffix)
        if room < 1:
            raise ModelError(f"passages of {passage_tokens} tokens leave no room for a text.")
        ids: list[int] = []
        starts = [0]
        per_text, text_tokens, kept_tokens = [], [], []
        for whole in self.token_ids([prompt + text for text in texts] if prompt else texts):
            body = whole[len(prompt_ids) :] if prompt_ids else whole
            kept = min(len(body), room * max_passages)
            for start in range(0, max(kept, 1), room):
                # The tokenizer may have merged the prompt's end with this text's beginning.
                ids += before if start else [*self.prefix, *whole[: len(prompt_ids)]]
                ids += body[start : min(start + room, kept)]
                ids += self.suffix
                starts.append(len(ids))
            per_text.append(max(1, -(-kept // room)))
            text_tokens.append(len(body))
            kept_tokens.append(kept)
        return Passages(
            ids=np.array(ids, np.int32),
            starts=np.array(starts, np.int64),
            per_text=np.array(per_text, np.int64),
            text_tokens=np.array(text_tokens, np.int64),
            kept_tokens=np.array(kept_tokens, np.int64),
            prompt_tokens=pooled_over,
            pad_id=self.pad_id,
        )

    def _prompt(self, prompt: str) -> tuple[list[int], int]:
        """The prompt's ids in front of a text, and how many tokens pooling may leave out.

        A prompt's last token can merge with the text ("query: " ends in a space): only what a lone
        prompt and a prompt with a text have in common is repeated before each passage. Pooling
        without the prompt counts the lone one, as sentence-transformers does.
        """
        if not prompt:
            return [], 0
        alone, before_text = self.token_ids([prompt, prompt + _PROBE])
        agree = [one == other for one, other in zip(alone, before_text, strict=False)]
        shared = [*agree, False].index(False)
        return alone[:shared], len(self.prefix) + len(alone)


def _bare_copy(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer without cutting and padding; both share one vocabulary, which is only read."""
    copied = Tokenizer(tokenizer.model)
    for step in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
        if (own := getattr(tokenizer, step)) is not None:
            setattr(copied, step, own)
    # In the order of their ids, tokens that the vocabulary lacks get the same ones again.
    for _, token in sorted(tokenizer.get_added_tokens_decoder().items()):
        (copied.add_special_tokens if token.special else copied.add_tokens)([token])
    return copied


def _special_tokens(tokenizer: PreTrainedTokenizerBase) -> tuple[list[int], list[int]]:
    body = tokenizer.encode(_PROBE, add_special_tokens=False)
    encoded = tokenizer(_PROBE, return_token_type_ids=True)
    if any(encoded.get("token_type_ids", ())):
        raise ModelError("its tokenizer marks a single text with token types. Choose another.")
    whole = list(encoded["input_ids"])
    start = place_of(body, whole)
    return whole[:start], whole[start + len(body) :]


def place_of(part: Sequence[int], whole: Sequence[int], start: int = 0) -> int:
    """Where a text's ids stand among those with special tokens.

    Raises:
        ModelError: They are not there.
    """
    for place in range(start, len(whole) - len(part) + 1):
        if whole[place : place + len(part)] == part:
            return place
    raise ModelError("its tokenizer does more than put special tokens around texts.")


# For a model that states no limit (relative positions, no tokenizer limit).
_DEFAULT_TOKENS = 512
_UNLIMITED = 1_000_000


class Tower(nn.Module):
    """A text encoder: token ids in, one vector per passage out.

    A saved tower opens with `SentenceTransformer(folder)`, and gives the vectors of
    `SentenceTransformer.encode`.

    Args:
        encoder: The model; its first module reads tokens, a later one pools.

    Raises:
        ModelError: The model is of a kind that does not read plain text as tokens, or holds weights
            that are not finite.
    """

    def __init__(self, encoder: SentenceTransformer) -> None:
        super().__init__()
        first = encoder[0]
        if isinstance(first, StaticEmbedding):
            tokenizer, self.max_tokens = _static_tokenizer(first.float())
        else:
            reader, tokenizer = text_reader(encoder)
            self.max_tokens = token_limit(reader)
        if len(tokenizer) <= len(set(tokenizer.all_special_ids)):
            # Without its files a tokenizer still opens, but every word is unknown to it.
            raise ModelError("its tokenizer's files are missing. Copy the model whole.")
        self.encoder = encoder
        self.tokenizer = PassageTokenizer(tokenizer)
        self.dim = int(encoder.get_embedding_dimension() or 0)
        weights.check_finite(self)

    @property
    def attention_heads(self) -> int:
        """The base model's number of heads, reduced to one that divides `dim`."""
        model = self.encoder.transformers_model  # None of a StaticEmbedding
        heads = getattr(getattr(model, "config", None), "num_attention_heads", 1)
        return math.gcd(self.dim, int(heads))

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    @property
    def blocks(self) -> nn.ModuleList:
        """The blocks of the Transformer from the first to the last.

        Raises:
            ModelError: They cannot be found.
        """
        model = self.encoder.transformers_model or self.encoder[0]
        n_blocks = getattr(getattr(model, "config", None), "num_hidden_layers", None)
        for module in model.modules():
            if isinstance(module, nn.ModuleList) and len(module) == n_blocks:
                return module
        raise ModelError(f"a {type(model).__name__} has no layers that are known.")

    def limit(self, max_tokens: int) -> None:
        """Read at most `max_tokens` tokens of a text, special tokens included; saved too.

        Raises:
            ModelError: The model cannot read that many.
        """
        if max_tokens > self.max_tokens:
            raise ModelError(f"max_tokens is {max_tokens}; the model reads {self.max_tokens}.")
        if isinstance(first := self.encoder[0], StaticEmbedding):
            first.tokenizer.enable_truncation(max_tokens)
        else:
            self.encoder.max_seq_length = max_tokens
        self.max_tokens = max_tokens

    def prompt(self, *names: str) -> str:
        """The first non-empty of the model's own prompts with these names, else ""."""
        return next((p for name in names if (p := self.encoder.prompts.get(name))), "")

    def forward(self, ids: Tensor, mask: Tensor | None, prompt_tokens: int = 0) -> Tensor:
        """Vectors of passages, normalised only if the model itself does so.

        Args:
            ids: int64 `[n_passages, n_tokens]`, padded on the right.
            mask: int64, same shape, 1 where a token is real; None where all are.
            prompt_tokens: Leading tokens that pooling leaves out, in models that say so.

        Returns:
            float32 `[n_passages, dim]`.
        """
        features: dict[str, object] = {"input_ids": ids, "modality": "text"}
        if isinstance(self.encoder[0], StaticEmbedding):
            features = {**_bags(ids, mask)}
        elif mask is not None:
            features["attention_mask"] = mask
        if prompt_tokens:
            features["prompt_length"] = prompt_tokens
        vectors: Tensor = self.encoder(features)["sentence_embedding"]
        return vectors[:, : self.dim].float()

    def save(self, folder: Path) -> None:
        """Write the tower as a sentence-transformers folder (safetensors and JSON)."""
        with weights.no_progress_bars():
            self.encoder.save_pretrained(str(folder), create_model_card=False)


def open_tower(folder: Path) -> Tower:
    """Open a Hugging Face or sentence-transformers folder on the CPU, in float32, to encode.

    Raises:
        ModelError: The folder holds no model that can be opened without running foreign code, or
            its files do not hold exactly the model's weights.
    """
    with weights.opening(folder, "model") as reports:
        encoder = SentenceTransformer(str(folder), **weights.OPENED_SAFELY)
        weights.check_loaded(encoder, reports)
        return Tower(encoder).eval()


def text_reader(encoder: nn.Sequential) -> tuple[Transformer, PreTrainedTokenizerBase]:
    """The first module of a model that reads text, and its tokenizer.

    Raises:
        ModelError: The model reads something else.
    """
    reader = encoder[0]
    if not isinstance(reader, Transformer) or (tokenizer := reader.tokenizer) is None:
        raise ModelError(
            f"its first module, {type(reader).__name__}, is neither a text Transformer nor a "
            "StaticEmbedding. Choose another model."
        )
    if "message" in reader.modality_config:
        raise ModelError("it is a chat model, not a text encoder. Choose a model for embeddings.")
    if "text" not in reader.modality_config:
        kinds = ", ".join(map(str, reader.modality_config))
        raise ModelError(f"it reads {kinds}, not plain text. Choose a model for text.")
    return reader, tokenizer


def _static_tokenizer(reader: StaticEmbedding) -> tuple[PreTrainedTokenizerBase, int]:
    """The tokenizer of a model without a Transformer, and how many tokens it reads.

    Such a model averages the vectors of a text's own tokens: no special ones, and by itself no
    limit.
    """
    bare = _bare_copy(reader.tokenizer)
    bare.post_processor = None
    limit = (reader.tokenizer.truncation or {}).get("max_length", _UNLIMITED)
    wrapped = PreTrainedTokenizerFast(tokenizer_object=bare)  # type: ignore[no-untyped-call]
    return wrapped, limit


def _bags(ids: Tensor, mask: Tensor | None) -> dict[str, Tensor]:
    """Rows of tokens as `nn.EmbeddingBag` reads them: end to end, and where each begins."""
    real = torch.ones_like(ids) if mask is None else mask
    counts = real.sum(dim=1)
    return {"input_ids": ids[real.bool()], "offsets": counts.cumsum(0) - counts}


def token_limit(reader: Transformer) -> int:
    """Tokens that a model reads at most, special tokens included."""
    limits = [reader.max_seq_length or _UNLIMITED]
    for module in reader.model.modules():
        positions = getattr(module, "position_embeddings", None)
        if isinstance(positions, nn.Embedding):
            # RoBERTa's positions start after the padding's own.
            offset = 0 if positions.padding_idx is None else positions.padding_idx + 1
            limits.append(positions.num_embeddings - offset)
    limit = int(min(limits))
    return limit if limit < _UNLIMITED else _DEFAULT_TOKENS


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


Init = Literal["identity", "paper"]
Pooling = Literal["mean", "max"]


class HierarchicalArticleHead(weights.SavedModule):
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
        ValidationError: A value is out of its range.
        ModelError: `heads` does not divide `dim`.
    """

    description = "article head"

    @validate_call
    def __init__(
        self,
        dim: PositiveInt,
        heads: PositiveInt,
        *,
        passage_tokens: PositiveInt = 128,
        max_passages: PositiveInt = 8,
        layers: PositiveInt = 2,
        dropout: weights.Dropout = 0.1,
        pooling: Pooling = "mean",
        init: Init = "identity",
    ) -> None:
        super().__init__()
        weights.check_heads("head", heads, dim)
        self.dim = dim
        self.passage_tokens = passage_tokens
        self.max_passages = max_passages
        self.pooling = pooling
        tokens = {"passage_tokens": passage_tokens, "max_passages": max_passages}
        shape = {"dim": dim, "heads": heads, **tokens, "layers": layers, "dropout": dropout}
        self.arguments = {**shape, "pooling": pooling, "init": init}
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

    def _pooled(self, states: Tensor, real: Tensor) -> Tensor:
        if self.pooling == "max":
            return states.masked_fill(~real, float("-inf")).amax(dim=1)
        return states.masked_fill(~real, 0.0).sum(dim=1) / real.sum(dim=1)


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
        TypeError: `texts` is one string.
        torch.OutOfMemoryError: One passage alone does not fit.
    """
    if isinstance(texts, str):
        raise TypeError("texts is one string. Give a list: encode([text]).")
    distinct = list(dict.fromkeys(texts))
    place = {text: index for index, text in enumerate(distinct)}
    source = np.array([place[text] for text in texts], np.int64)
    repeats = np.bincount(source, minlength=len(distinct))
    tokens, kept = np.zeros((2, len(distinct)), np.int64)
    tower = encoder.tower
    budget = TokenBudget.for_device(tower.device)
    vectors = torch.empty(len(distinct), tower.dim, device=tower.device)
    done = 0
    with inference([tower, encoder.head], tower.device, dtype):
        for passages in _tokenized_blocks(encoder, distinct):
            block = slice(done, done + len(passages.per_text))
            vectors[block] = encoder.embed(passages, budget)
            tokens[block], kept[block] = passages.text_tokens, passages.kept_tokens
            if progress is not None:
                progress(int(repeats[block].sum()))
            done = block.stop
    cut = tokens - kept
    report = EncodingReport(
        n_texts=len(texts),
        n_tokens=int(tokens @ repeats),
        n_cut=int(repeats[cut > 0].sum()),
        tokens_cut=int(cut @ repeats),
    )
    if len(distinct) == len(texts):
        return vectors, report
    return vectors[torch.from_numpy(source).to(vectors.device)], report


def encode_tokenized(
    encoder: TextEncoder, passages: Passages, *, dtype: torch.dtype = torch.float32
) -> Tensor:
    """As `encode`, for tokenised texts: the same vectors, without tokenising again.

    Args:
        encoder: What to encode with.
        passages: What its `tokenize` made of `n` texts.
        dtype: As for `encode`.

    Returns:
        float32 `[n, dim]` on the tower's device.

    Raises:
        torch.OutOfMemoryError: One passage alone does not fit.
    """
    tower, n_texts = encoder.tower, len(passages.per_text)
    budget, size = TokenBudget.for_device(tower.device), _texts_a_block(tower.device)
    vectors = torch.empty(n_texts, tower.dim, device=tower.device)
    with inference([tower, encoder.head], tower.device, dtype):
        for start in range(0, n_texts, size):
            block = np.arange(start, min(start + size, n_texts))
            vectors[start : start + size] = encoder.embed(passages.take(block), budget)
    return vectors


def _texts_a_block(device: torch.device) -> int:
    return _TEXTS_A_BLOCK.get(device.type, _DEFAULT_TEXTS_A_BLOCK)


def _tokenized_blocks(encoder: TextEncoder, texts: Sequence[str]) -> Iterator[Passages]:
    """Blocks of texts as passages; the next block is tokenised while the caller uses this one."""
    size = _texts_a_block(encoder.tower.device)
    passages = encoder.tokenize(texts[:size])
    with ThreadPoolExecutor(1, thread_name_prefix="tokenize") as thread:
        for start in range(size, len(texts), size):
            ahead = thread.submit(encoder.tokenize, texts[start : start + size])
            yield passages
            passages = ahead.result()
    yield passages
