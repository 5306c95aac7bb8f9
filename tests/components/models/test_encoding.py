"""Texts into tokens, passages and vectors."""

import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sentence_transformers import SentenceTransformer
from transformers import AutoTokenizer

from components.models import encoding
from components.models.biencoder import BiEncoder
from components.models.encoding import (
    HierarchicalArticleHead,
    PassageTokenizer,
    TextEncoder,
    TokenBudget,
    Tower,
    embed_passages,
    encode,
    encode_tokenized,
    open_tower,
)
from components.models.folder import ModelError, model_digest

# Tokens

EVERY_LETTER = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
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


def test_tokens_that_were_added_to_a_tokenizer_stay_whole(both):
    both.add_tokens(["art.§"])
    both.add_special_tokens({"additional_special_tokens": ["<law>"]})
    text = "rent <law> court art.§ notice"
    assert {both.vocab_size, both.vocab_size + 1} <= {*both(text)["input_ids"]}
    passages = PassageTokenizer(both)
    assert (passages.fast is not None) == both.is_fast
    assert passages.token_ids([text]) == [both.encode(text, add_special_tokens=False)]


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


# Towers

LONG = "the landlord must pay rent within the period " * 20


@pytest.mark.parametrize("kind", ["tiny_bert", "tiny_roberta", "tiny_prompted"])
def test_a_limit_cuts_texts_and_is_saved(request, tmp_path, kind):
    tower = open_tower(request.getfixturevalue(kind))
    tower.limit(12)
    assert tower.max_tokens == 12
    passages = TextEncoder(tower, tower.max_tokens).tokenize([LONG, "rent"])
    assert passages.lengths.max() == 12
    tower.save(tmp_path / "tower")
    again = open_tower(tmp_path / "tower")
    theirs = SentenceTransformer(str(tmp_path / "tower"), device="cpu")
    assert again.max_tokens == theirs.max_seq_length == 12
    expected = torch.from_numpy(theirs.encode([LONG], normalize_embeddings=True))
    for each in (tower, again):
        found = TextEncoder(each, each.max_tokens).embed(passages.take(passages.per_text[:1] * 0))
        assert torch.allclose(found.detach(), expected, atol=1e-5)


def test_a_model_without_its_tokenizer_s_files_is_refused(tiny_bert, tmp_path):
    """transformers opens it with a tokenizer to which every word is unknown."""
    shutil.copytree(tiny_bert, tmp_path / "half")
    for path in (tmp_path / "half").glob("tokenizer*"):
        path.unlink()
    with pytest.raises(ModelError, match="tokenizer"):
        open_tower(tmp_path / "half")


# Vectors


@pytest.fixture
def tower(tiny_bert):
    return open_tower(tiny_bert)


def moved_head(**arguments):
    """A head that has left its identity, as after training."""
    torch.manual_seed(3)
    head = HierarchicalArticleHead(32, 4, passage_tokens=12, max_passages=4, **arguments)
    for weight in head.parameters():
        torch.nn.init.normal_(weight, std=0.1)
    return head.eval()


@pytest.mark.parametrize("kind", ["tiny_bert", "tiny_roberta", "tiny_prompted"])
def test_vectors_are_those_of_sentence_transformers(request, law_texts, kind):
    folder = request.getfixturevalue(kind)
    texts = [*law_texts(40, 90), "", "日本 é 123"]
    encoder = TextEncoder(open_tower(folder), open_tower(folder).max_tokens)
    found, _ = encode(encoder, texts)
    theirs = SentenceTransformer(str(folder), device="cpu")
    if kind == "tiny_roberta":
        theirs.max_seq_length = 48  # its 50 positions less the padding's: theirs would overflow
    expected = theirs.encode(texts, normalize_embeddings=True)
    assert np.abs(found.numpy() - expected).max() < 1e-5


@pytest.mark.parametrize(("headed", "budget"), [(False, 1), (True, 100), (True, 100_000)])
def test_a_vector_depends_on_its_own_text_alone(monkeypatch, tower, law_texts, headed, budget):
    monkeypatch.setitem(encoding._TEXTS_A_BLOCK, "cpu", 7)
    head = moved_head() if headed else None
    encoder = TextEncoder(tower, 12 if headed else 30, "", head)
    texts = law_texts(20, 40)
    monkeypatch.setitem(encoding._TOKENS_A_BATCH, "cpu", budget)
    together, _ = encode(encoder, texts)
    backwards, _ = encode(encoder, texts[::-1])
    alone = torch.cat([encode(encoder, [text])[0] for text in texts])
    assert torch.allclose(together, alone, atol=1e-5, rtol=0)
    assert torch.allclose(together, backwards.flip(0), atol=1e-5, rtol=0)
    assert torch.allclose(together.norm(dim=1), torch.ones(20), atol=1e-5)


class CountingTower(Tower):
    def __init__(self, encoder):
        super().__init__(encoder)
        self.rows = 0

    def forward(self, ids, mask, prompt_tokens=0):
        self.rows += len(ids)
        return super().forward(ids, mask, prompt_tokens)


def test_each_distinct_text_is_encoded_once_and_the_report_counts_all(monkeypatch, tower):
    monkeypatch.setitem(encoding._TEXTS_A_BLOCK, "cpu", 2)
    texts = ["", "rent " * 100, "rent"]
    _, long, short = map(len, tower.tokenizer.token_ids(texts))
    encoder = TextEncoder(CountingTower(tower.encoder), 12, "", moved_head())
    steps = []
    vectors, report = encode(encoder, [*texts, texts[1]], progress=steps.append)
    assert encoder.tower.rows == int(encoder.tokenize(texts).per_text.sum())
    assert torch.equal(vectors[1], vectors[3])
    assert (report.n_texts, report.n_tokens) == (4, 2 * long + short)
    assert (report.n_cut, report.tokens_cut) == (2, 2 * (long - 4 * 10))
    assert (sum(steps), len(steps)) == (4, 2)


def test_the_next_texts_are_tokenised_while_the_device_works(monkeypatch, tower):
    monkeypatch.setitem(encoding._TEXTS_A_BLOCK, "cpu", 1)
    tokenised, ahead = threading.Event(), []

    class Encoder(TextEncoder):
        def tokenize(self, texts):
            if "court" in texts:
                tokenised.set()
            return super().tokenize(texts)

    tower.register_forward_pre_hook(lambda *_: ahead.append(tokenised.wait(5)))
    encode(Encoder(tower, 30), ["rent", "court"])
    assert ahead == [True, True]


class SmallMemory(CountingTower):
    """A device that holds 64 padded tokens."""

    def forward(self, ids, mask, prompt_tokens=0):
        if ids.numel() > 64:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return super().forward(ids, mask, prompt_tokens)


def test_out_of_memory_halves_the_budget_and_goes_on(tower, law_texts):
    texts = law_texts(60, 30)
    encoder = TextEncoder(SmallMemory(tower.encoder), 40)
    passages = encoder.tokenize(texts)
    budget = TokenBudget(2_000)
    found = embed_passages(encoder.tower, passages, budget)
    assert budget.tokens <= 64
    expected = embed_passages(tower, passages, TokenBudget(2_000))
    assert torch.allclose(found, expected, atol=1e-5)
    assert encoder.tower.rows == len(passages)


def test_bf16_keeps_the_masters_and_the_direction(minilm):
    tower = open_tower(Path(minilm))
    encoder = TextEncoder(tower, 64)
    texts = ["Who repairs a broken boiler?", "The landlord keeps the dwelling in repair. " * 9]
    exact, _ = encode(encoder, texts)
    rounded, _ = encode(encoder, texts, dtype=torch.bfloat16)
    assert rounded.dtype == torch.float32
    assert (exact * rounded).sum(1).min() > 0.9995
    assert not torch.equal(exact, rounded)
    assert {weight.dtype for weight in tower.parameters()} == {torch.float32}


def test_nothing_to_encode_gives_no_vectors(tower):
    encoder = TextEncoder(tower, 30, "", moved_head())
    nothing = encoder.tokenize([])
    vectors, report = encode(encoder, [])
    assert report.n_texts == 0
    for each in (vectors, encode_tokenized(encoder, nothing), encoder.embed(nothing)):
        assert each.shape == (0, 32)


# Vietnamese words

PLAIN, JOINED = "hợp đồng lao động", "hợp_đồng lao_động"


def test_a_saved_model_keeps_its_segmentation_and_is_another_model(tower, tmp_path):
    BiEncoder(tower, segmentation="vi", dtype="float32").save(tmp_path / "words")
    BiEncoder(tower, dtype="float32").save(tmp_path / "syllables")
    found = BiEncoder.load(tmp_path / "words", device="cpu", dtype="float32")
    other = BiEncoder.load(tmp_path / "syllables", device="cpu", dtype="float32")
    assert (found.segmentation, other.segmentation) == ("vi", None)
    torch.testing.assert_close(found.encode_queries([PLAIN]), other.encode_queries([JOINED]))
    # Vectors are kept under this name.
    assert model_digest(tmp_path / "words") != model_digest(tmp_path / "syllables")
