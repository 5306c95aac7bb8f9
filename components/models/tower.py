"""One side of a bi-encoder: a plain sentence-transformers folder, run on token ids."""

from __future__ import annotations

import copy
import logging
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import SafetensorError
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Router, Transformer
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.utils import logging as transformers_logging

from components.models.errors import ModelError
from components.models.tokenizing import PassageTokenizer
from components.models.weights import check_finite, check_loaded

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
    """A text encoder: token ids in, one vector a passage out.

    Anyone can open a saved tower with `SentenceTransformer(folder)`, and its vectors are those of
    `SentenceTransformer.encode`.

    Args:
        encoder: The model; its first module reads tokens, a later one pools.

    Raises:
        ModelError: The model is of a kind that does not read plain text as tokens, or holds weights
            that are not finite.
    """

    def __init__(self, encoder: SentenceTransformer) -> None:
        super().__init__()
        reader = encoder[0]
        if not isinstance(reader, Transformer) or reader.tokenizer is None:
            raise ModelError(
                f"its first module, {type(reader).__name__}, is no text Transformer. Choose a "
                "model that is built on one."
            )
        if "text" not in reader.modality_config or "message" in reader.modality_config:
            raise ModelError(
                f"it reads {', '.join(map(str, reader.modality_config))}, not plain text. Choose a "
                "text encoder."
            )
        if len(reader.tokenizer) <= len(set(reader.tokenizer.all_special_ids)):
            # Without its files a tokenizer opens all the same, and every word is unknown to it.
            raise ModelError(
                "its tokenizer knows no words: its files (tokenizer.json, vocab.txt or the like) "
                "are missing. Copy the model whole."
            )
        self.encoder = encoder
        self.tokenizer = PassageTokenizer(reader.tokenizer)
        dim = encoder.get_embedding_dimension()
        if dim is None:
            raise ModelError("it does not say how wide its vectors are. Choose another model.")
        self.dim = int(dim)
        self.max_tokens = token_limit(reader)
        check_finite(self)

    @property
    def attention_heads(self) -> int:
        """The base model's number of heads, brought down to one that divides `dim`."""
        model = cast(PreTrainedModel, self.encoder.transformers_model)
        heads = getattr(model.config, "num_attention_heads", 1)
        return math.gcd(self.dim, int(heads))

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    def limit(self, max_tokens: int) -> None:
        """Read at most so many tokens of a text from now on, special tokens included; saved too.

        Raises:
            ModelError: The model cannot read that many.
        """
        if max_tokens > self.max_tokens:
            raise ModelError(
                f"max_tokens is {max_tokens}, and the model reads at most {self.max_tokens}. "
                "Give fewer, or a head that joins passages."
            )
        self.encoder.max_seq_length = max_tokens
        self.max_tokens = max_tokens

    def prompt(self, *names: str) -> str:
        """The first of the model's own prompts of these names that says anything, else ""."""
        return next((p for name in names if (p := self.encoder.prompts.get(name))), "")

    def forward(self, ids: Tensor, mask: Tensor | None, prompt_tokens: int = 0) -> Tensor:
        """Vectors of passages, not brought to unit length unless the model itself does it.

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
            # RoBERTa's positions start behind the padding's own.
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
    if not any(folder.rglob("*.safetensors")):
        raise ModelError(
            f"{folder}: holds no weights (model.safetensors). Give a complete Hugging Face, "
            "sentence-transformers or Lexarbor model folder."
        )


@contextmanager
def opening(folder: Path, what: str) -> Iterator[None]:
    """A block that opens a folder of weights; all that goes wrong in it becomes a ModelError.

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
    """A block in which transformers draws no bars."""
    shown = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        if shown:
            transformers_logging.enable_progress_bar()  # type: ignore[no-untyped-call]
