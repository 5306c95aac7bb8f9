"""A cross-encoder's tokenizer: articles into passages, passages and questions into pairs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from transformers import PreTrainedTokenizerBase

from components.models.errors import ModelError
from components.models.pair_tokens import Ids, PairFormat
from components.models.tokenizing import PassageTokenizer

# What of an article is looked at, so that no article, however long, holds up a question.
MOST_PASSAGES = 64
_CHARS_A_TOKEN = 16
_PROBES = ("law", "court")


class Span(NamedTuple):
    """Characters `start` to `end` of a text."""

    start: int
    end: int


class PairTokenizer:
    """Cuts articles into passages and gives token ids, safe to share by threads.

    Args:
        tokenizer: The model's tokenizer.
        max_tokens: Longest pair that the model reads, special tokens included.

    Raises:
        ModelError: It joins two texts in a way that is not known here.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, max_tokens: int) -> None:
        self._texts = PassageTokenizer(tokenizer)
        self.format = _pair_format(tokenizer, self._texts.pad_id, max_tokens)

    def token_ids(self, texts: Sequence[str]) -> list[Ids]:
        """Ids of each text, uncut, without special tokens."""
        return [np.array(ids, np.int32) for ids in self._texts.token_ids(texts)]

    def passages(self, text: str, passage_tokens: int) -> list[Span]:
        """Cut a text into passages of at most `passage_tokens` tokens, between words.

        A word is cut only where it would leave a passage less than half full, as in writing
        without spaces. Of a text of more than `MOST_PASSAGES` passages the rest is left out.

        Returns:
            At least one; a text that fits into one passage stays whole.
        """
        text = text[: MOST_PASSAGES * passage_tokens * _CHARS_A_TOKEN]
        pieces = list(self._pieces(text))
        if len(pieces) <= passage_tokens:
            return [Span(0, len(text))]
        spans: list[Span] = []
        first = 0
        while first < len(pieces) and len(spans) < MOST_PASSAGES:
            last = min(first + passage_tokens, len(pieces))
            if last < len(pieces):
                last = _between_words(pieces, first, last)
            spans.append(Span(pieces[first].start, pieces[last - 1].end))
            first = last
        return spans

    def _pieces(self, text: str) -> Iterator[_Piece]:
        """The tokens of a text, and where they stand."""
        if self._texts.fast is not None:
            encoding = self._texts.fast.encode(text, add_special_tokens=False)
            for (start, end), word in zip(encoding.offsets, encoding.word_ids, strict=True):
                yield _Piece(start, end, word)
            return
        # A tokenizer in Python does not say where its tokens stand: its words are counted.
        words = list(re.finditer(r"\S+", text))
        counts = map(len, self._texts.token_ids([word.group() for word in words]))
        for number, (match, count) in enumerate(zip(words, counts, strict=True)):
            for _ in range(count):
                yield _Piece(match.start(), match.end(), number)


class _Piece(NamedTuple):
    start: int
    end: int
    word: int | None


def _between_words(pieces: Sequence[_Piece], first: int, last: int) -> int:
    """The nearest end of a word at or before `last`, or `last` where that is too far back."""
    for cut in range(last, first + (last - first) // 2, -1):
        if pieces[cut].word is None or pieces[cut].word != pieces[cut - 1].word:
            return cut
    return last


def _pair_format(tokenizer: PreTrainedTokenizerBase, pad_id: int, max_tokens: int) -> PairFormat:
    name = type(tokenizer).__name__
    first, second = (tokenizer.encode(probe, add_special_tokens=False) for probe in _PROBES)
    encoded = tokenizer(*_PROBES)
    whole = list(encoded["input_ids"])
    start = _place(first, whole, 0)
    then = _place(second, whole, start + len(first))
    types = list(encoded.get("token_type_ids", ()))
    if types and (len(set(types[:then])) > 1 or len(set(types[then:])) > 1):
        raise ModelError(f"{name} marks pairs in a way that is not known here. Choose another.")
    layout = PairFormat(
        opening=tuple(whole[:start]),
        between=tuple(whole[start + len(first) : then]),
        closing=tuple(whole[then + len(second) :]),
        types=(types[0], types[then]) if types else None,
        pad_id=pad_id,
        max_tokens=max_tokens,
    )
    if layout.room < 2:
        raise ModelError(f"{max_tokens} tokens leave no room for a question and a passage.")
    return layout


def _place(part: list[int], whole: list[int], start: int) -> int:
    for place in range(start, len(whole) - len(part) + 1):
        if whole[place : place + len(part)] == part:
            return place
    raise ModelError(
        "its tokenizer does more to a pair of texts than to put special tokens around them. "
        "Choose another model."
    )
