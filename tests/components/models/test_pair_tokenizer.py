"""Articles into passages between words, and pairs cut as Hugging Face cuts them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from components.models.errors import ModelError
from components.models.pair_tokenizer import MOST_PASSAGES, PairTokenizer
from components.models.pair_tokens import truncated


@pytest.fixture(scope="module")
def plain(tiny_ranker: Path) -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained(tiny_ranker)


@pytest.fixture(scope="module")
def tokenizer(plain: PreTrainedTokenizerBase) -> PairTokenizer:
    return PairTokenizer(plain, 96)


def test_a_short_text_stays_whole(tokenizer: PairTokenizer) -> None:
    assert tokenizer.passages("  the roof \n", 4) == [(0, 12)]
    assert tokenizer.passages("", 4) == [(0, 0)]


def test_words_are_not_cut(tokenizer: PairTokenizer) -> None:
    text = "the landlord must mend the roof, xyz the tenant must pay"
    passages = [text[start:end] for start, end in tokenizer.passages(text, 6)]
    assert passages == ["the landlord must mend the roof", ", xyz the tenant", "must pay"]
    counts = [len(ids) for ids in tokenizer.token_ids(passages)]
    assert counts == [6, 6, 2]


def test_writing_without_spaces_is_cut_within(tokenizer: PairTokenizer) -> None:
    text = "abcdefghijklmnop"
    passages = [text[start:end] for start, end in tokenizer.passages(text, 6)]
    assert passages == ["abcdef", "ghijkl", "mnop"]


def test_a_text_of_any_length_has_a_bounded_number_of_passages(tokenizer: PairTokenizer) -> None:
    assert len(tokenizer.passages("the roof " * 100_000, 4)) == MOST_PASSAGES


@given(st.text(alphabet="ab c,\n第É", max_size=80), st.integers(1, 9))
def test_passages_follow_each_other_and_leave_only_blanks_out(
    tokenizer: PairTokenizer, text: str, passage_tokens: int
) -> None:
    spans = tokenizer.passages(text, passage_tokens)
    assert spans[0].start >= 0 and spans[-1].end <= len(text)
    assert all(one.end <= two.start for one, two in pairwise(spans))
    assert "".join("".join(text[a:b] for a, b in spans).split()) == "".join(text.split())
    assert all(
        len(ids) <= passage_tokens for ids in tokenizer.token_ids([text[a:b] for a, b in spans])
    )


@given(st.integers(0, 60), st.integers(0, 60))
def test_too_long_pairs_are_cut_as_hugging_face_does(
    plain: PreTrainedTokenizerBase, question: int, passage: int
) -> None:
    texts = ["roof " * question], ["rent " * passage]
    ids = plain(*texts, truncation="longest_first", max_length=33)["input_ids"][0]
    words = plain.convert_ids_to_tokens(ids)
    assert truncated(question, passage, 30) == (words.count("roof"), words.count("rent"))


def test_a_tokenizer_in_python_counts_words(
    tokenizer: PairTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokenizer._texts, "fast", None)
    text = "the landlord must mend the roof xyz the tenant must pay"
    passages = [text[start:end] for start, end in tokenizer.passages(text, 6)]
    assert passages == ["the landlord must mend the roof", "xyz the tenant must", "pay"]


def test_a_model_that_reads_next_to_nothing_is_refused(plain: PreTrainedTokenizerBase) -> None:
    with pytest.raises(ModelError, match=r"4 tokens leave no room"):
        PairTokenizer(plain, 4)
