"""A model's digest: which weights and configuration made a vector, wherever they lie."""

from __future__ import annotations

import hashlib
import json
from fnmatch import fnmatch
from pathlib import Path

from components.models.errors import ModelError
from components.models.manifest import (
    GRAPH_PART,
    HEAD_PART,
    MANIFEST_FILE,
    PASSAGE_PART,
    QUERY_PART,
    Manifest,
    file_digest,
    read_manifest,
)

# README, licence, training logs and other frameworks' copies of the weights do not change a vector.
_MODEL_FILES = (
    "*.safetensors",
    "*.safetensors.index.json",
    "*.model",
    "config.json",
    "config_sentence_transformers.json",
    "modules.json",
    "router_config.json",
    "sentence_*_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "bpe.codes",
    "dict.txt",
)
_OTHER_FRAMEWORKS = {"onnx", "openvino"}


def model_digest(folder: Path) -> str:
    """sha256 that names the bi-encoder in a folder: the same on every machine and path.

    Raises:
        ModelError: The folder has a manifest, and it is broken or does not fit the files.
    """
    if (folder / MANIFEST_FILE).exists():
        return manifest_digest(read_manifest(folder))
    files = {
        path.relative_to(folder).as_posix(): file_digest(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and path.relative_to(folder).parts[0] not in _OTHER_FRAMEWORKS
        and any(fnmatch(path.name, pattern) for pattern in _MODEL_FILES)
    }
    return _sha256({"query": files})


def manifest_digest(manifest: Manifest) -> str:
    """As `model_digest`, of a folder whose manifest is read already.

    A graph or ranker in the same folder does not count: the bi-encoder's vectors stay the same.
    """
    parts = {part: manifest.files_of(part) for part in (QUERY_PART, PASSAGE_PART, HEAD_PART)}
    named = {**parts, "prompts": dict(manifest.prompts)}
    if manifest.segmentation is not None:
        named["segmentation"] = {"language": manifest.segmentation}
    return _sha256(named)


def graph_model_digest(folder: Path) -> str:
    """sha256 that names the graph network in a model folder, and the bi-encoder below it.

    Raises:
        ModelError: The folder has no graph network, or its manifest is broken or does not fit.
    """
    manifest = read_manifest(folder) if (folder / MANIFEST_FILE).exists() else None
    files = {} if manifest is None else manifest.files_of(GRAPH_PART)
    if manifest is None or not files:
        raise ModelError(
            f"{folder}: has no graph network. Train one over it (python -m training.graph --model "
            f"{folder} ...) and give the folder that this writes."
        )
    return _sha256({"biencoder": {"digest": manifest_digest(manifest)}, GRAPH_PART: files})


def _sha256(named: dict[str, dict[str, str]]) -> str:
    return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()
