"""Encoders that want Vietnamese words joined get them joined, wherever they are used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, pre_tokenizers, processors
from tokenizers.models import WordLevel
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from components.models.biencoder import BiEncoder
from components.models.digest import model_digest
from components.models.errors import ModelError
from components.models.tower import Tower, open_towers
from components.statutes import word_segmentation
from components.statutes.word_segmentation import segmenter

PLAIN = "hợp đồng lao động"
JOINED = "hợp_đồng lao_động"


@pytest.fixture(scope="module")
def word_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT whose tokens are words between spaces, as PhoBERT's begin as."""
    folder = tmp_path_factory.mktemp("words") / "bert"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "query:", *PLAIN.split(), *JOINED.split()]
    tokenizer = Tokenizer(WordLevel({w: n for n, w in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=16,
    )
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=16,
        initializer_range=0.3,
    )
    BertModel(config).save_pretrained(folder)
    wrapped.save_pretrained(folder)
    return folder


@pytest.fixture
def tower(word_model: Path) -> Tower:
    return open_towers(word_model)[0]


@pytest.mark.parametrize("side", ["encode_queries", "encode_articles"])
def test_both_sides_are_encoded_by_words(tower: Tower, side: str) -> None:
    by_words = getattr(BiEncoder(tower, segmentation="vi", dtype="float32"), side)([PLAIN])
    as_given = BiEncoder(tower, dtype="float32")
    torch.testing.assert_close(by_words, getattr(as_given, side)([JOINED]))
    assert (by_words @ getattr(as_given, side)([PLAIN]).T).item() < 0.999


def test_a_prompt_stands_before_the_words(tower: Tower) -> None:
    prompts = {"query": "query: ", "passage": ""}
    by_words = BiEncoder(tower, prompts=prompts, segmentation="vi", dtype="float32")
    as_given = BiEncoder(tower, prompts=prompts, dtype="float32")
    torch.testing.assert_close(by_words.encode_queries([PLAIN]), as_given.encode_queries([JOINED]))


def test_a_saved_model_keeps_it_and_is_another_model(tower: Tower, tmp_path: Path) -> None:
    BiEncoder(tower, segmentation="vi", dtype="float32").save(tmp_path / "words")
    BiEncoder(tower, dtype="float32").save(tmp_path / "syllables")
    found = BiEncoder.load(tmp_path / "words", device="cpu", dtype="float32")
    other = BiEncoder.load(tmp_path / "syllables", device="cpu", dtype="float32")
    assert (found.segmentation, other.segmentation) == ("vi", None)
    torch.testing.assert_close(found.encode_queries([PLAIN]), other.encode_queries([JOINED]))
    # Vectors are kept under this name.
    assert model_digest(tmp_path / "words") != model_digest(tmp_path / "syllables")


@pytest.fixture
def without_pyvi(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def missing(_: str) -> str:
        raise word_segmentation.PackageNotFoundError

    with monkeypatch.context() as patched:
        patched.setattr(word_segmentation, "version", missing)
        for each in (segmenter, word_segmentation._loaded):
            each.cache_clear()
        yield
    for each in (segmenter, word_segmentation._loaded):
        each.cache_clear()


def test_without_pyvi_such_a_model_is_refused_with_what_to_install(
    tower: Tower, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    BiEncoder(tower, segmentation="vi").save(tmp_path / "words")
    BiEncoder(tower).save(tmp_path / "syllables")
    request.getfixturevalue("without_pyvi")
    with pytest.raises(ModelError, match=r"pip install 'lexarbor\[vi\]'"):
        BiEncoder.load(tmp_path / "words", device="cpu")
    BiEncoder.load(tmp_path / "syllables", device="cpu")
