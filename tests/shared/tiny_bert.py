"""BERTs with random weights and tokenizers made on the spot: real classes, no download."""

from __future__ import annotations

import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertModel, PreTrainedModel, PreTrainedTokenizerFast

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def trained_wordpiece(texts: Sequence[str], vocabulary: int) -> Tokenizer:
    """WordPiece of these texts' words, in lower case; of the same texts always the same."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    as_in_bert(tokenizer)
    # The trainer numbers the letters within words as its hash map has them, which another process
    # has in another order, and ties between pairs go by number: numbered first, all is settled.
    letters = sorted({letter for text in texts for letter in text.lower() if letter.isalnum()})
    within = [f"##{letter}" for letter in letters]
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary, special_tokens=[*SPECIAL, *within], show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    ids = tokenizer.get_vocab()
    return fixed_wordpiece(sorted(set(ids) - set(SPECIAL), key=ids.__getitem__))


def fixed_wordpiece(pieces: Sequence[str]) -> Tokenizer:
    """WordPiece of these pieces, behind the special tokens; for pairs of texts too."""
    ids = {piece: number for number, piece in enumerate((*SPECIAL, *pieces))}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    as_in_bert(tokenizer, pair="[CLS] $A [SEP] $B:1 [SEP]:1")
    return tokenizer


def as_in_bert(tokenizer: Tokenizer, **templates: str) -> None:
    """Lower case, words apart, special tokens around a text (and, by a template, a pair)."""
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
        **templates,
    )


def trained_bpe(texts: Sequence[str], vocabulary: int, special: Sequence[str]) -> Tokenizer:
    """Byte-level BPE of these texts, behind the special tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=list(special),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def save_plain(
    folder: Path,
    tokenizer: Tokenizer,
    kind: type[PreTrainedModel],
    config: Any,
    seed: int = 0,
    **tokens: Any,
) -> Path:
    """A model with random weights and a tokenizer, as transformers saves them."""
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **tokens)
    torch.manual_seed(seed)
    kind(config).save_pretrained(folder)
    wrapped.save_pretrained(folder)
    return folder


def save_bert(
    folder: Path,
    tokenizer: Tokenizer,
    *,
    longest: int,
    hidden: int = 32,
    layers: int = 2,
    heads: int = 4,
    inner: int = 64,
    spread: float = 0.3,
    seed: int = 0,
    kind: type[PreTrainedModel] = BertModel,
    **config: Any,
) -> Path:
    """Write a plain Hugging Face folder.

    Args:
        folder: Where to.
        tokenizer: Knows the special tokens.
        longest: Tokens that the model has positions for.
        hidden: Dimensions.
        layers: How many.
        heads: Of attention.
        inner: Width of the feed-forward layers.
        spread: Standard deviation of the weights; at BERT's own .02 all texts look alike.
        seed: Of the weights.
        kind: Class of the model.
        **config: Further fields of BertConfig.
    """
    tokens = {f"{token.strip('[]').lower()}_token": token for token in SPECIAL}
    sizes = BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=inner,
        max_position_embeddings=longest,
        initializer_range=spread,
        **config,
    )
    return save_plain(folder, tokenizer, kind, sizes, seed, model_max_length=longest, **tokens)


def tiny_ranker(folder: Path) -> Path:
    """Write a cross-encoder folder with random weights: few words, others letter by letter."""
    from sentence_transformers import CrossEncoder
    from transformers import BertForSequenceClassification

    words = ["the", "landlord", "tenant", "court", "must", "pay", "mend", "roof", "rent", "law"]
    letters = string.ascii_lowercase + string.digits
    tokenizer = fixed_wordpiece([*words, *letters, *(f"##{each}" for each in letters), *".,?"])
    kind = BertForSequenceClassification
    save_bert(folder / "bert", tokenizer, longest=96, kind=kind, num_labels=1)
    encoder = CrossEncoder(str(folder / "bert"), device="cpu", local_files_only=True)
    encoder.save_pretrained(str(folder / "model"), create_model_card=False)
    return folder / "model"
