"""Passages of tokenised texts: some of them taken, against plain lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.models.passages import Passages

THOROUGH = settings(max_examples=200, deadline=None)
# Texts as lists of passages, passages as lists of token ids.
Texts = list[list[list[int]]]
TEXTS = st.lists(
    st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=5), min_size=1, max_size=4),
    min_size=1,
    max_size=8,
)


def packed(texts: Texts) -> Passages:
    passages = [passage for text in texts for passage in text]
    return Passages(
        ids=np.array([token for passage in passages for token in passage], np.int32),
        starts=np.concatenate([[0], np.cumsum([len(passage) for passage in passages])]),
        per_text=np.array([len(text) for text in texts]),
        text_tokens=np.array([10 + sum(map(len, text)) for text in texts]),
        kept_tokens=np.array([sum(map(len, text)) for text in texts]),
        prompt_tokens=2,
        pad_id=7,
    )


def unpacked(passages: Passages) -> Texts:
    ends = zip(passages.starts[:-1], passages.starts[1:], strict=True)
    flat = [passages.ids[start:end].tolist() for start, end in ends]
    rest = iter(flat)
    return [[next(rest) for _ in range(n)] for n in passages.per_text.tolist()]


@THOROUGH
@given(TEXTS, st.data())
def test_taken_texts_are_those_texts_in_the_order_wanted(texts, data):
    rows = data.draw(st.lists(st.integers(0, len(texts) - 1), max_size=10))
    taken = packed(texts).take(np.array(rows, dtype=np.int64))
    assert unpacked(taken) == [texts[row] for row in rows]
    assert taken.text_tokens.tolist() == [10 + sum(map(len, texts[row])) for row in rows]
    assert taken.kept_tokens.tolist() == [sum(map(len, texts[row])) for row in rows]
    assert (taken.prompt_tokens, taken.pad_id) == (2, 7)
    assert (taken.ids.dtype, taken.starts.dtype) == (np.int32, np.int64)
    assert len(taken) == sum(len(texts[row]) for row in rows)


@THOROUGH
@given(TEXTS)
def test_tokens_per_text_are_those_of_all_its_passages(texts):
    found = packed(texts).tokens_per_text
    assert found.tolist() == [sum(map(len, text)) for text in texts]
    assert found.dtype == np.int64


@THOROUGH
@given(TEXTS, st.data())
def test_taking_again_is_taking_at_once(texts, data):
    rows = np.array(data.draw(st.lists(st.integers(0, len(texts) - 1), min_size=1, max_size=8)))
    again = np.array(data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=8)), np.int64)
    twice, once = packed(texts).take(rows).take(again), packed(texts).take(rows[again])
    assert unpacked(twice) == unpacked(once)
    assert twice.tokens_per_text.tolist() == once.tokens_per_text.tolist()


def test_taking_no_text_leaves_none():
    taken = packed([[[1, 2]], [[3]]]).take(np.array([], dtype=np.int64))
    assert len(taken) == 0
    assert taken.tokens_per_text.tolist() == []
    assert unpacked(taken) == []


def test_a_text_that_is_not_there_cannot_be_taken():
    with pytest.raises(IndexError):
        packed([[[1, 2]], [[3]]]).take(np.array([2]))
