"""Opening a cross-encoder's folder, and what must hold of a model that scores pairs of texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import torch
from sentence_transformers import CrossEncoder
from sentence_transformers.base.modules import Transformer
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedTokenizerBase

from components.models.errors import ModelError
from components.models.tower import OPENED_SAFELY, opening, token_limit
from components.models.weights import check_finite, check_loaded


def open_cross_encoder(folder: Path) -> CrossEncoder:
    """Open a sentence-transformers or Hugging Face folder on the CPU, in float32.

    Raises:
        ModelError: It holds no cross-encoder that can be opened without running foreign code, or
            its files do not hold exactly the model's weights, its head's included.
    """
    with opening(folder, "cross-encoder"):
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        kinds = config.get("architectures") or []
        if kinds and not any(kind.endswith("ForSequenceClassification") for kind in kinds):
            raise ModelError(
                f"holds {kinds[0]}, which scores no pairs. Give a cross-encoder, or train one from "
                "it (python -m training.ranker)."
            )
        encoder: CrossEncoder = CrossEncoder(
            str(folder), activation_fn=nn.Identity(), **OPENED_SAFELY
        )
        check_loaded(encoder, folder)
        return encoder


def prepare(encoder: CrossEncoder) -> tuple[PreTrainedTokenizerBase, int]:
    """Check that an encoder scores pairs of texts, and have it do so in float32.

    Returns:
        Its tokenizer, and how many tokens of a pair it reads at most.

    Raises:
        ModelError: It reads something else, gives more than one score, or is not finite.
    """
    reader: object = encoder[0]
    if not isinstance(reader, Transformer) or reader.tokenizer is None:
        raise ModelError(f"its first module, {type(reader).__name__}, is no text Transformer.")
    if "text" not in reader.modality_config or "message" in reader.modality_config:
        kinds = ", ".join(map(str, reader.modality_config))
        raise ModelError(f"it reads {kinds}, not pairs of texts. Choose a text cross-encoder.")
    if encoder.num_labels != 1:
        raise ModelError(
            f"it gives {encoder.num_labels} scores a pair. Choose a cross-encoder with one."
        )
    if encoder.default_prompt_name is not None:
        raise ModelError("it writes a prompt before its texts. Choose a cross-encoder without.")
    check_finite(encoder)
    _score_in_float32(encoder)
    return reader.tokenizer, token_limit(reader)


def _score_in_float32(encoder: CrossEncoder) -> None:
    """Compute the last layer, one number a pair, in float32 within autocast too.

    A logit in bfloat16 has three digits: too few to tell the best candidates apart.
    """
    scoring = [
        module
        for module in encoder.modules()
        if isinstance(module, nn.Linear) and module.out_features == 1
    ]
    if scoring and _exact not in scoring[-1]._forward_hooks.values():
        scoring[-1].register_forward_hook(_exact)


def _exact(layer: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> Tensor:
    if output.dtype == torch.float32:
        return output
    linear = cast(nn.Linear, layer)
    with torch.autocast(output.device.type, enabled=False):
        return functional.linear(inputs[0].float(), linear.weight, linear.bias)
