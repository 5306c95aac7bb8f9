from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from components.models import encoding
from components.models.encoding import encode, encode_tokenized
from components.models.head import HierarchicalArticleHead
from components.models.text_encoder import TextEncoder
from components.models.token_budget import TokenBudget, embed_passages
from components.models.tower import Tower, open_towers


@pytest.fixture
def tower(tiny_bert) -> Tower:
    return open_towers(tiny_bert)[0]


def moved_head(**arguments) -> HierarchicalArticleHead:
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
    encoder = TextEncoder(open_towers(folder)[0], open_towers(folder)[0].max_tokens)
    found, _ = encode(encoder, texts)
    theirs = SentenceTransformer(str(folder), device="cpu")
    if kind == "tiny_roberta":
        theirs.max_seq_length = 48  # its 50 positions less the padding's: theirs would overflow
    expected = theirs.encode(texts, normalize_embeddings=True)
    assert np.abs(found.numpy() - expected).max() < 1e-5


def test_a_prompt_is_written_before_the_text_as_sentence_transformers_does(tiny_prompted):
    encoder = TextEncoder(open_towers(tiny_prompted)[0], 40, "query: ")
    found, _ = encode(encoder, ["who pays rent", "may a landlord appeal"])
    theirs = SentenceTransformer(str(tiny_prompted), device="cpu")
    expected = theirs.encode_query(["who pays rent", "may a landlord appeal"])
    assert np.abs(found.numpy() - expected).max() < 1e-5


def test_pooling_without_the_prompt_leaves_its_tokens_out(tiny_bert):
    theirs = SentenceTransformer(str(tiny_bert), device="cpu")
    theirs.set_pooling_include_prompt(False)
    expected = theirs.encode(["rent"], prompt="query: ", normalize_embeddings=True)
    found, _ = encode(TextEncoder(Tower(theirs), 64, "query: "), ["rent"])
    assert np.abs(found.numpy() - expected).max() < 1e-5


@pytest.mark.parametrize("headed", [False, True])
@pytest.mark.parametrize("budget", [1, 100, 100_000])
def test_a_vector_depends_on_its_own_text_alone(monkeypatch, tower, law_texts, headed, budget):
    monkeypatch.setitem(encoding._TEXTS_A_BLOCK, "cpu", 7)
    head = moved_head() if headed else None
    encoder = TextEncoder(tower, 12 if headed else 30, "", head)
    texts = law_texts(20, 40)
    together, _ = encode(encoder, texts, token_budget=budget)
    backwards, _ = encode(encoder, texts[::-1], token_budget=budget)
    alone = torch.cat([encode(encoder, [text])[0] for text in texts])
    assert torch.allclose(together, alone, atol=1e-5, rtol=0)
    assert torch.allclose(together, backwards.flip(0), atol=1e-5, rtol=0)
    assert torch.allclose(together.norm(dim=1), torch.ones(20), atol=1e-5)


def test_a_headed_text_is_the_head_over_its_own_passages(tower):
    head = moved_head()
    text = " ".join(["rent court notice judge repair appeal"] * 5)
    passages = tower.tokenizer.passages([text], passage_tokens=12, max_passages=4)
    rows = [tower(*passages.batch(np.array([i]))) for i in range(len(passages))]
    expected = head(torch.stack(rows, 1), torch.ones(1, len(rows), dtype=torch.bool))
    found, _ = encode(TextEncoder(tower, 12, "", head), [text])
    assert len(rows) == 4
    expected = torch.nn.functional.normalize(expected, dim=1)
    assert torch.allclose(found, expected, atol=1e-5)


class CountingTower(Tower):
    def __init__(self, encoder):
        super().__init__(encoder)
        self.rows = 0

    def forward(self, ids, mask, prompt_tokens=0):
        self.rows += len(ids)
        return super().forward(ids, mask, prompt_tokens)


def test_only_real_passages_are_encoded_and_each_distinct_text_once(tower):
    counting = CountingTower(tower.encoder)
    texts = ["rent", "rent court " * 10, "rent", "judge", "rent court " * 10]
    encoder = TextEncoder(counting, 12, "", moved_head())
    vectors, report = encode(encoder, texts)
    assert counting.rows == int(encoder.tokenize(["rent", texts[1], "judge"]).per_text.sum())
    assert torch.equal(vectors[0], vectors[2])
    assert torch.equal(vectors[1], vectors[4])
    assert report.n_texts == 5


def test_the_report_counts_what_is_cut_off_and_progress_counts_texts(monkeypatch, tower):
    monkeypatch.setitem(encoding._TEXTS_A_BLOCK, "cpu", 2)
    long = "rent " * 100
    tokens = len(tower.tokenizer.token_ids([long])[0])
    steps: list[int] = []
    encoder = TextEncoder(tower, 12, "", moved_head())
    _, report = encode(encoder, ["", long, "rent", long], progress=steps.append)
    short = len(tower.tokenizer.token_ids(["rent"])[0])
    assert report.n_texts == 4
    assert report.n_tokens == 2 * tokens + short
    assert report.n_cut == 2
    assert report.tokens_cut == 2 * (tokens - 4 * 10)
    assert sum(steps) == 4
    assert len(steps) == 2


@pytest.mark.parametrize("headed", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_is_tokenised_already_has_the_same_vectors(
    monkeypatch, tower, law_texts, headed, dtype
):
    monkeypatch.setitem(encoding._TEXTS_A_BLOCK, "cpu", 7)
    encoder = TextEncoder(tower, 12 if headed else 30, "", moved_head() if headed else None)
    texts = law_texts(20, 40)
    steps: list[int] = []
    found = encode_tokenized(encoder, encoder.tokenize(texts), dtype=dtype, progress=steps.append)
    assert torch.equal(found, encode(encoder, texts, dtype=dtype)[0])
    assert steps == [7, 7, 6]
    assert not found.requires_grad


def test_what_is_tokenised_already_is_encoded_without_dropout(tower):
    encoder = TextEncoder(tower, 12, "", moved_head())
    passages = encoder.tokenize(["rent court notice", "judge"])
    expected = encode_tokenized(encoder, passages)
    tower.train()
    encoder.head.train()
    assert torch.equal(encode_tokenized(encoder, passages), expected)
    assert tower.training and encoder.head.training


def test_tokenised_texts_keep_to_a_token_budget(tower, law_texts):
    encoder = TextEncoder(SmallMemory(tower.encoder).eval(), 40)
    passages = encoder.tokenize(law_texts(30, 20))
    found = encode_tokenized(encoder, passages, token_budget=64)
    assert encoder.tower.rows == len(passages)
    expected = encode_tokenized(TextEncoder(tower, 40), passages)
    assert torch.allclose(found, expected, atol=1e-5)


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


def test_out_of_memory_with_one_passage_is_said(tower):
    encoder = TextEncoder(SmallMemory(tower.encoder), 64)
    encoder.tower.tokenizer = tower.tokenizer
    passages = tower.tokenizer.passages(["rent court " * 60], passage_tokens=70)
    with pytest.raises(torch.OutOfMemoryError):
        embed_passages(encoder.tower, passages, TokenBudget(10))


def test_bf16_keeps_the_masters_and_the_direction(minilm):
    tower = open_towers(Path(minilm))[0]
    encoder = TextEncoder(tower, 64)
    texts = ["Who repairs a broken boiler?", "The landlord keeps the dwelling in repair. " * 9]
    exact, _ = encode(encoder, texts)
    rounded, _ = encode(encoder, texts, dtype=torch.bfloat16)
    assert rounded.dtype == torch.float32
    assert (exact * rounded).sum(1).min() > 0.9995
    assert not torch.equal(exact, rounded)
    assert {weight.dtype for weight in tower.parameters()} == {torch.float32}


def test_encoding_inside_a_training_step_leaves_the_gradients_alone(tower):
    encoder = TextEncoder(tower, 20, "", moved_head().train())
    tower.train()
    with torch.autocast("cpu", torch.bfloat16):
        encode(encoder, ["rent"], dtype=torch.bfloat16)
        vectors = encoder.embed(encoder.tokenize(["rent court", "judge"]))
        vectors[0, 0].backward()
    assert tower.training and encoder.head.training
    weight = tower.encoder.transformers_model.encoder.layer[0].intermediate.dense.weight
    assert weight.grad is not None and weight.grad.abs().sum() > 0


def test_a_model_in_training_encodes_without_dropout(tower):
    texts = ["rent court notice", "judge"]
    encoder = TextEncoder(tower, 12, "", moved_head())
    expected, _ = encode(encoder, texts)
    tower.train()
    encoder.head.train()
    assert torch.allclose(encode(encoder, texts)[0], expected, atol=1e-6)


def test_embedding_in_pieces_has_the_gradient_of_the_whole(tower, law_texts):
    encoder = TextEncoder(tower, 12, "", moved_head())
    passages = encoder.tokenize(law_texts(6, 30))
    direction = torch.randn(6, 32, generator=torch.Generator().manual_seed(0))
    gradients = []
    for budget in (13, 100_000):
        tower.zero_grad()
        (encoder.embed(passages, TokenBudget(budget)) * direction).sum().backward()
        gradients.append([w.grad.clone() for w in tower.parameters() if w.grad is not None])
    assert gradients[0]
    for piecewise, whole in zip(*gradients, strict=True):
        assert torch.allclose(piecewise, whole, atol=1e-4)


def test_threads_may_share_a_model(tower, law_texts):
    encoder = TextEncoder(tower, 30)
    texts = law_texts(24, 20)
    expected, _ = encode(encoder, texts)
    with ThreadPoolExecutor(4) as threads:
        parts = list(threads.map(lambda i: encode(encoder, texts[i::4])[0], range(4)))
    for offset, part in enumerate(parts):
        assert torch.allclose(part, expected[offset::4], atol=1e-5)


def test_nothing_to_encode_is_no_vectors(tower):
    vectors, report = encode(TextEncoder(tower, 30, "", moved_head()), [])
    assert vectors.shape == (0, 32)
    assert report.n_texts == 0
    encoder = TextEncoder(tower, 30, "", moved_head())
    assert encode_tokenized(encoder, encoder.tokenize([])).shape == (0, 32)
    assert encoder.embed(encoder.tokenize([])).shape == (0, 32)


@pytest.mark.parametrize(
    ("texts", "message"),
    [("rent", r"encode\(\[text\]\)"), (["rent", None], r"texts\[1\] is a NoneType")],
)
def test_what_is_no_list_of_strings_is_refused(tower, texts, message):
    with pytest.raises(TypeError, match=message):
        encode(TextEncoder(tower, 30), texts)
