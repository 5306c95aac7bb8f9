"""What a model's tokenizer reads is fetched with the model, and counts in its digest."""

from __future__ import annotations

from pathlib import Path

import pytest
import transformers
from huggingface_hub.utils import filter_repo_objects

from components.models.digest import model_digest
from components.models.locate import _WANTED

# BERT's serves Electra too.
TOKENIZERS = (
    "AlbertTokenizer",
    "BertTokenizer",
    "BertweetTokenizer",
    "CamembertTokenizer",
    "DebertaV2Tokenizer",
    "MPNetTokenizer",
    "PhobertTokenizer",
    "RobertaTokenizer",
    "XLMRobertaTokenizer",
)


def vocabulary_files() -> list[str]:
    names = {"tokenizer.json", "dict.txt"}
    for tokenizer in TOKENIZERS:
        names.update(getattr(transformers, tokenizer).vocab_files_names.values())
    return sorted(names)


def test_the_tokenizers_that_split_by_codes_are_among_them():
    assert {"bpe.codes", "vocab.txt", "merges.txt", "spm.model"} <= set(vocabulary_files())


@pytest.mark.parametrize("name", vocabulary_files())
def test_every_file_of_a_tokenizer_is_fetched(name: str) -> None:
    files = [name, f"0_Transformer/{name}"]
    assert list(filter_repo_objects(files, allow_patterns=_WANTED)) == files


@pytest.mark.parametrize("name", vocabulary_files())
def test_every_file_of_a_tokenizer_counts_in_the_digest(tmp_path: Path, name: str) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    digests = []
    for content in (None, b"one", b"two"):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        digests.append(model_digest(tmp_path))
    assert len(set(digests)) == 3
