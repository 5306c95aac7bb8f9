"""One side of a bi-encoder: a plain sentence-transformers folder, run on token ids."""

from __future__ import annotations

import copy
import json
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Router, Transformer
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging as transformers_logging

from components.models.errors import ModelError
from components.models.weights import check_finite, check_loaded


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
        # Places beyond a passage point at its first token and are overwritten.
        places = self.starts[rows][:, None] + np.where(real, columns, 0)
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

    @property
    def special_tokens(self) -> int:
        """Number of tokens that the model puts around every text."""
        return len(self.prefix) + len(self.suffix)

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
        opening = [*self.prefix, *prompt_ids]
        room = passage_tokens - len(opening) - len(self.suffix)
        if room < 1:
            raise ModelError(
                f"passages of {passage_tokens} tokens leave no room next to the prompt {prompt!r} "
                f"and {self.special_tokens} special tokens. Take longer passages."
            )
        ids: list[int] = []
        starts = [0]
        per_text, text_tokens, kept_tokens = [], [], []
        for whole in self.token_ids([prompt + text for text in texts] if prompt else texts):
            body = whole[len(prompt_ids) :] if prompt_ids else whole
            kept = min(len(body), room * max_passages)
            for start in range(0, max(kept, 1), room):
                ids += opening
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
        shared = 0
        while shared < min(len(alone), len(before_text)) and alone[shared] == before_text[shared]:
            shared += 1
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
    whole = list(encoded["input_ids"])
    if any(encoded.get("token_type_ids", ())):
        raise ModelError(
            f"{type(tokenizer).__name__} marks a single text with token types, which this encoder "
            "does not pass on. Choose a model of another kind (BERT, RoBERTa, MPNet, ...)."
        )
    for start in range(len(whole) - len(body) + 1):
        if whole[start : start + len(body)] == body:
            return whole[:start], whole[start + len(body) :]
    raise ModelError(
        f"{type(tokenizer).__name__} does more to a text than to put special tokens around it. "
        "Choose another model."
    )


# For a model that states no limit (relative positions, no tokenizer limit).
_DEFAULT_TOKENS = 512
_UNLIMITED = 1_000_000

# How sentence-transformers opens a folder: nothing is fetched, no foreign code runs.
OPENED_SAFELY: Mapping[str, Any] = {
    "device": "cpu",
    "local_files_only": True,
    "trust_remote_code": False,
    "model_kwargs": {
        # A checkpoint opens in its stored format; the masters of the weights are float32.
        "dtype": torch.float32,
        "use_safetensors": True,
        # `check_loaded` refuses them, and names the first.
        "ignore_mismatched_sizes": True,
    },
}


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
        reader, tokenizer = text_reader(encoder)
        if len(tokenizer) <= len(set(tokenizer.all_special_ids)):
            # Without its files a tokenizer still opens, but every word is unknown to it.
            raise ModelError(
                "its tokenizer knows no words: its files (tokenizer.json, vocab.txt or the like) "
                "are missing. Copy the model whole."
            )
        self.encoder = encoder
        self.tokenizer = PassageTokenizer(tokenizer)
        dim = encoder.get_embedding_dimension()
        if dim is None:
            raise ModelError("it does not say how wide its vectors are. Choose another model.")
        self.dim = int(dim)
        self.max_tokens = token_limit(reader)
        check_finite(self)

    @property
    def attention_heads(self) -> int:
        """The base model's number of heads, reduced to one that divides `dim`."""
        model = cast(PreTrainedModel, self.encoder.transformers_model)
        heads = getattr(model.config, "num_attention_heads", 1)
        return math.gcd(self.dim, int(heads))

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    def limit(self, max_tokens: int) -> None:
        """Read at most `max_tokens` tokens of a text, special tokens included; saved too.

        Raises:
            ModelError: The model cannot read that many.
        """
        if max_tokens > self.max_tokens:
            raise ModelError(
                f"max_tokens is {max_tokens}, but the model reads at most {self.max_tokens}. "
                "Give fewer, or a head that joins passages."
            )
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
        if mask is not None:
            features["attention_mask"] = mask
        if prompt_tokens:
            features["prompt_length"] = prompt_tokens
        vectors: Tensor = self.encoder(features)["sentence_embedding"]
        return vectors[:, : self.dim].float()

    def save(self, folder: Path) -> None:
        """Write the tower as a sentence-transformers folder (safetensors and JSON)."""
        with no_progress_bars():
            self.encoder.save_pretrained(str(folder), create_model_card=False)


def open_towers(folder: Path) -> tuple[Tower, Tower | None]:
    """Open a Hugging Face or sentence-transformers folder on the CPU, in float32, to encode.

    A model that routes queries and documents to different modules becomes two towers.

    Returns:
        The query tower, and the passage tower or None where one serves for both.

    Raises:
        ModelError: The folder holds no model that can be opened without running foreign code, or
            its files do not hold exactly the model's weights.
    """
    with opening(folder, "model"):
        encoder = SentenceTransformer(str(folder), **OPENED_SAFELY)
        check_loaded(encoder, folder)
        if isinstance(encoder[0], Router):
            return _route(encoder, "query"), _route(encoder, "document")
        return Tower(encoder).eval(), None


def text_reader(encoder: nn.Sequential) -> tuple[Transformer, PreTrainedTokenizerBase]:
    """The first module of a model that reads text, and its tokenizer.

    Raises:
        ModelError: The model reads something else.
    """
    reader = encoder[0]
    if not isinstance(reader, Transformer) or (tokenizer := reader.tokenizer) is None:
        raise ModelError(
            f"its first module, {type(reader).__name__}, is not a text Transformer. Choose a model "
            "that is built on one."
        )
    if "text" not in reader.modality_config or "message" in reader.modality_config:
        kinds = ", ".join(map(str, reader.modality_config))
        raise ModelError(f"it reads {kinds}, not plain text. Choose a model for text.")
    return reader, tokenizer


def _route(encoder: SentenceTransformer, name: str) -> Tower:
    modules = cast(nn.ModuleDict, encoder[0].sub_modules)
    if name not in modules:
        raise ModelError(f"it routes to {', '.join(modules)}, but has no route {name!r}.")
    # A copy of what follows the router: two towers train apart.
    rest = copy.deepcopy(list(encoder)[1:])
    route = [*cast(nn.Sequential, modules[name]), *rest]
    prompts = {key: prompt or "" for key, prompt in encoder.prompts.items()}
    return Tower(SentenceTransformer(modules=route, prompts=prompts, device="cpu")).eval()


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


def check_weight_files(folder: Path) -> None:
    """Refuse a folder whose weights are pickles, or that has none.

    Raises:
        ModelError: Names the file, or the folder.
    """
    for pickled in folder.rglob("pytorch_model*.bin"):
        if not any(pickled.parent.glob("*.safetensors")):
            raise ModelError(
                f"{pickled}: these weights are a pickle, which can run code when it is opened. "
                "Give a copy of the model with model.safetensors."
            )
    for index in folder.rglob("*.safetensors.index.json"):
        for name in _files_named_in(index):
            if not name.endswith(".safetensors") or name != Path(name).name:
                raise ModelError(
                    f"{index}: names the file {name!r:.80}; weights are *.safetensors files next "
                    "to it. Give a copy of the model with those."
                )
    if not any(folder.rglob("*.safetensors")):
        raise ModelError(
            f"{folder}: holds no weights (model.safetensors). Give a complete Hugging Face, "
            "sentence-transformers or Lexarbor model folder."
        )


def _files_named_in(index: Path) -> set[str]:
    try:
        return {str(name) for name in json.loads(index.read_bytes())["weight_map"].values()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelError(f"{index}: lists no files of weights ({error!r:.80}).") from error


@contextmanager
def opening(folder: Path, what: str) -> Iterator[None]:
    """A block that opens a folder of weights; every error in it becomes a ModelError.

    Args:
        folder: It must hold safetensors; every message names it.
        what: What it is opened as.

    Raises:
        ModelError: It holds no such model that can be opened without running foreign code.
    """
    check_weight_files(folder)
    try:
        with no_progress_bars(), _no_load_report():
            yield
    except ModelError as error:
        raise ModelError(f"{folder}: {error}") from error
    except (
        OSError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        ImportError,
        RuntimeError,
        SafetensorError,
    ) as error:
        # The second line of torch's errors names the first weight that does not fit.
        lines = (str(error).strip() or type(error).__name__).splitlines()[:2]
        reason = " ".join(line.strip() for line in lines)
        raise ModelError(
            f"{folder}: cannot be opened as a {what}: {reason} "
            "Give a complete Hugging Face, sentence-transformers or Lexarbor model folder."
        ) from error


@contextmanager
def _no_load_report() -> Iterator[None]:
    """A block without the table of weights that transformers logs; `check_loaded` reads it."""
    logger = logging.getLogger("transformers.modeling_utils")

    def without_report(record: logging.LogRecord) -> bool:
        return "LOAD REPORT" not in record.getMessage()

    logger.addFilter(without_report)
    try:
        yield
    finally:
        logger.removeFilter(without_report)


@contextmanager
def no_progress_bars() -> Iterator[None]:
    """A block in which transformers shows no progress bars."""
    shown = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        if shown:
            transformers_logging.enable_progress_bar()  # type: ignore[no-untyped-call]
