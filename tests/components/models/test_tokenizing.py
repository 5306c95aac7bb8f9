from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer, PhobertTokenizer

from components.models.errors import ModelError
from components.models.tokenizing import PassageTokenizer

EVERY_LETTER = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def rows(passages):
    return [
        passages.ids[a:b].tolist()
        for a, b in zip(passages.starts[:-1], passages.starts[1:], strict=True)
    ]


@pytest.fixture(params=["bert", "roberta"])
def both(request, tiny_bert, tiny_roberta):
    return AutoTokenizer.from_pretrained(tiny_bert if request.param == "bert" else tiny_roberta)


@EVERY_LETTER
@given(texts=st.lists(st.text(max_size=60), min_size=1, max_size=5), limit=st.integers(3, 30))
def test_one_passage_is_what_the_model_s_own_tokenizer_cuts(both, texts, limit):
    expected = both(texts, truncation=True, max_length=limit)["input_ids"]
    assert rows(PassageTokenizer(both).passages(texts, passage_tokens=limit)) == expected


@EVERY_LETTER
@given(
    words=st.lists(st.sampled_from(["rent", "court", "notice", "zzz"]), max_size=60),
    limit=st.integers(3, 12),
    most=st.integers(1, 5),
)
def test_passages_hold_the_text_in_order_and_count_what_is_cut(tiny_bert, words, limit, most):
    slow = AutoTokenizer.from_pretrained(tiny_bert)
    text = " ".join(words)
    whole = slow(text, add_special_tokens=False, truncation=False)["input_ids"]
    passages = PassageTokenizer(slow).passages([text], passage_tokens=limit, max_passages=most)
    found = rows(passages)
    bodies = [token for row in found for token in row[1:-1]]
    assert bodies == whole[: (limit - 2) * most]
    assert all(row[0] == 2 and row[-1] == 3 and len(row) <= limit for row in found)
    assert passages.per_text.tolist() == [len(found)]
    assert passages.text_tokens.tolist() == [len(whole)]
    assert passages.kept_tokens.tolist() == [len(bodies)]


def test_the_prompt_stands_before_every_passage(tiny_bert):
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    prompt = tokenizer("query", add_special_tokens=False)["input_ids"]
    body = tokenizer("rent court notice", add_special_tokens=False)["input_ids"]
    passages = PassageTokenizer(tokenizer).passages(
        ["rent court notice"],
        passage_tokens=2 + len(prompt) + 2,
        max_passages=9,
        prompt="query ",
    )
    found = rows(passages)
    assert len(found) == -(-len(body) // 2) > 1
    assert all(row[: 1 + len(prompt)] == [2, *prompt] for row in found)
    assert [token for row in found for token in row[1 + len(prompt) : -1]] == body
    assert passages.prompt_tokens == 1 + len(prompt)
    assert passages.text_tokens.tolist() == [len(body)]


def test_an_empty_text_is_one_passage_of_special_tokens(tiny_bert):
    passages = PassageTokenizer(AutoTokenizer.from_pretrained(tiny_bert)).passages(
        ["", "rent"], passage_tokens=8, max_passages=3
    )
    assert rows(passages)[0] == [2, 3]
    assert passages.per_text.tolist() == [1, 1]


def test_a_passage_without_room_for_text_is_refused(tiny_bert):
    tokenizer = PassageTokenizer(AutoTokenizer.from_pretrained(tiny_bert))
    with pytest.raises(ModelError, match="passages of 3 tokens leave no room"):
        tokenizer.passages(["rent"], passage_tokens=3, prompt="query ")


def test_a_batch_is_padded_on_the_right_and_unmasked_where_nothing_is_padded(tiny_bert):
    passages = PassageTokenizer(AutoTokenizer.from_pretrained(tiny_bert)).passages(
        ["rent", "rent court", "judge", "court rent"], passage_tokens=8
    )
    short, long = passages.lengths[:2]
    ids, mask = passages.batch(np.array([0, 1]))
    assert short < long
    assert ids[0].tolist() == [*rows(passages)[0], *[0] * (long - short)]
    assert mask is not None
    assert mask.tolist() == [[1] * short + [0] * (long - short), [1] * long]
    ids, mask = passages.batch(np.array([3, 1]))
    assert mask is None
    assert ids[0].tolist() == rows(passages)[3]


def test_others_who_set_the_shared_tokenizer_s_length_do_not_cut_our_texts(tiny_bert):
    shared = AutoTokenizer.from_pretrained(tiny_bert)
    ours = PassageTokenizer(shared)
    text = " ".join(["rent"] * 50)

    def disturb(length: int) -> None:
        for _ in range(200):
            shared(text, truncation=True, max_length=length)

    whole = len(ours.token_ids([text])[0])
    shared(text, truncation=True, max_length=4)
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(disturb, 5)
        lengths = {len(ours.token_ids([text])[0]) for _ in range(200)}
        running.result()
    assert lengths == {whole}
    assert whole >= 50


def test_a_tokenizer_written_in_python_works_too(tmp_path):
    (tmp_path / "vocab.txt").write_text("r@@ 1\nent 1\nrent 1\nlaw 1\n", encoding="utf-8")
    (tmp_path / "bpe.codes").write_text("e n 1\nen t</w> 1\nr ent</w> 1\n", encoding="utf-8")
    python_only = PhobertTokenizer(str(tmp_path / "vocab.txt"), str(tmp_path / "bpe.codes"))
    texts = ["rent", "rent law rent law rent"]
    expected = python_only(texts, truncation=True, max_length=5)["input_ids"]
    assert rows(PassageTokenizer(python_only).passages(texts, passage_tokens=5)) == expected
