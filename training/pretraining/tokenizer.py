"""A tokenizer trained on a corpus, for a language or a wording that no model at hand reads well."""

from __future__ import annotations

from collections.abc import Sequence

from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerFast

from training.command_line import SettingsError
from training.pretraining.settings import TokenizerKind

_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_PAD, _UNKNOWN, _FIRST, _LAST, _MASK = _SPECIAL
_INSIDE = "##"


def train_tokenizer(
    texts: Sequence[str], kind: TokenizerKind, vocabulary: int, *, max_tokens: int
) -> PreTrainedTokenizerFast:
    """Train a tokenizer; the same texts always give the same one.

    Both kinds first bring characters to one form (NFKC), so that full-width and decomposed letters
    are read like any others, and keep accents. WordPiece is in lower case, splits at white space
    and punctuation and takes each Chinese character as a word, as BERT does. Byte-level BPE keeps
    case, knows every character, and joins characters across a whole Chinese phrase.

    Args:
        texts: What to learn the vocabulary from.
        kind: "wordpiece" or "bpe".
        vocabulary: Most tokens, special ones included; a small corpus gives fewer.
        max_tokens: Longest text that the model reads, special tokens included.

    Returns:
        A tokenizer with BERT's special tokens, [PAD] being 0.

    Raises:
        SettingsError: The characters alone are more than `vocabulary`.
    """
    tokenizer = _wordpiece(texts, vocabulary) if kind == "wordpiece" else _bpe(texts, vocabulary)
    ids = {token: tokenizer.token_to_id(token) for token in (_FIRST, _LAST)}
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{_FIRST} $A {_LAST}", special_tokens=list(ids.items())
    )
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        pad_token=_PAD,
        unk_token=_UNKNOWN,
        cls_token=_FIRST,
        sep_token=_LAST,
        mask_token=_MASK,
        model_max_length=max_tokens,
    )


def _wordpiece(texts: Sequence[str], vocabulary: int) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token=_UNKNOWN))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.BertNormalizer(lowercase=True, strip_accents=False)]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    words = _words(tokenizer, texts)
    # The trainer numbers pieces as a hash map of random order gives them, and equal counts are
    # decided by number. Given all single characters beforehand, it has no choice left. And a letter
    # that only ever began a word is known inside one too.
    characters = sorted({each for word in words for each in word})
    inside = sorted({_INSIDE + each for word in words if len(word) > 1 for each in word})
    known = [*_SPECIAL, *characters, *inside]
    if len(known) > vocabulary:
        raise SettingsError(
            f"vocabulary is {vocabulary}, and the characters of the corpus alone are {len(known)} "
            "tokens. Take more, or tokenizer bpe."
        )
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary, min_frequency=2, special_tokens=known, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    # A new one, in which single characters are not special.
    trained = Tokenizer(models.WordPiece(tokenizer.get_vocab(), unk_token=_UNKNOWN))
    trained.normalizer = tokenizer.normalizer
    trained.pre_tokenizer = tokenizer.pre_tokenizer
    trained.decoder = decoders.WordPiece(prefix=_INSIDE)
    trained.add_special_tokens(list(_SPECIAL))
    return trained


def _bpe(texts: Sequence[str], vocabulary: int) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        min_frequency=2,
        special_tokens=list(_SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def _words(tokenizer: Tokenizer, texts: Sequence[str]) -> set[str]:
    normalizer, splitter = tokenizer.normalizer, tokenizer.pre_tokenizer
    return {
        word
        for text in texts
        for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text))
    }
