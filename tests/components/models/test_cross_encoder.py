"""The cross-encoder: pairs into logits, an article by its best passage, and how scores are used."""

import dataclasses
import json
import random
import shutil
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sentence_transformers import CrossEncoder
from transformers import AutoTokenizer, RobertaForSequenceClassification

from components.models import encoding
from components.models.biencoder import BiEncoder
from components.models.cross_encoder import (
    MOST_PASSAGES,
    CrossEncoderRanker,
    PairTokenizer,
    PassageChooser,
    RankerSettings,
    truncated,
)
from components.models.folder import ModelError
from components.models.registry import shared_ranker

# Passages and pairs


@pytest.fixture(scope="module")
def plain(tiny_ranker):
    return AutoTokenizer.from_pretrained(tiny_ranker)


@pytest.fixture(scope="module")
def tokenizer(plain):
    return PairTokenizer(plain, 96)


def test_words_are_not_cut(tokenizer):
    text = "the landlord must mend the roof, xyz the tenant must pay"
    passages = [text[start:end] for start, end in tokenizer.passages(text, 6)]
    assert passages == ["the landlord must mend the roof", ", xyz the tenant", "must pay"]
    counts = [len(ids) for ids in tokenizer.token_ids(passages)]
    assert counts == [6, 6, 2]


def test_a_text_of_any_length_has_a_bounded_number_of_passages(tokenizer):
    assert len(tokenizer.passages("the roof " * 100_000, 4)) == MOST_PASSAGES


@given(st.text(alphabet="ab c,\n第É", max_size=80), st.integers(1, 9))
def test_passages_follow_each_other_and_leave_only_blanks_out(tokenizer, text, passage_tokens):
    spans = tokenizer.passages(text, passage_tokens)
    assert spans[0].start >= 0 and spans[-1].end <= len(text)
    assert all(one.end <= two.start for one, two in pairwise(spans))
    assert "".join("".join(text[a:b] for a, b in spans).split()) == "".join(text.split())
    assert all(
        len(ids) <= passage_tokens for ids in tokenizer.token_ids([text[a:b] for a, b in spans])
    )


@given(st.integers(0, 60), st.integers(0, 60))
def test_too_long_pairs_are_cut_as_hugging_face_does(plain, question, passage):
    texts = ["roof " * question], ["rent " * passage]
    ids = plain(*texts, truncation="longest_first", max_length=33)["input_ids"][0]
    words = plain.convert_ids_to_tokens(ids)
    assert truncated(question, passage, 30) == (words.count("roof"), words.count("rent"))


DIM = 384


class MadeUp:
    """A text's vector is drawn from its letters, a question's from "?" alone."""

    similarity = "cosine"

    def question_vector(self, _):
        return self.encode_articles(["?"])[0]

    def encode_articles(self, texts):
        return torch.stack([torch.from_numpy(vector(text)) for text in texts])


def vector(text):
    drawn = np.random.default_rng(list(text.encode())).normal(size=DIM)
    return (drawn / np.linalg.norm(drawn)).astype(np.float32)


def chosen(passages, most):
    (found,) = PassageChooser(MadeUp()).choose("q", [passages], most)
    return found


@pytest.mark.parametrize("most", [1, 2, 5])
def test_the_nearest_are_read_in_the_order_of_the_article(most):
    # Of equal passages the earlier are read.
    passages = [f"passage {n % 30}" for n in range(40)]
    exact = [float(vector(each).astype(np.float64) @ vector("?")) for each in passages]
    assert chosen(passages, most) == sorted(sorted(range(40), key=lambda n: -exact[n])[:most])


# Logits

SENTENCE = "the landlord must mend, a (leaking) roof § 14-2; État 第一条 [SEP] unquestionably"
WORDS = SENTENCE.split()


def texts(number, longest, seed=0):
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=chance.randint(0, longest))) for _ in range(number)]


PAIRS = list(zip(texts(40, 60), texts(40, 60, seed=1), strict=True))


@pytest.fixture(scope="module")
def ranker(tiny_ranker):
    return CrossEncoderRanker.load(tiny_ranker, device="cpu", dtype="float32")


def predicted(folder, pairs):
    encoder = CrossEncoder(str(folder), device="cpu", local_files_only=True)
    identity = torch.nn.Identity()
    return encoder.predict(pairs, activation_fn=identity, convert_to_tensor=True)


def test_logits_are_those_of_sentence_transformers(ranker, tiny_ranker):
    # Of many of these pairs, both texts or one are longer than the model reads.
    logits = ranker.logits(PAIRS)
    assert logits.shape == (40,)
    assert logits.std() > 0.1
    assert (logits - predicted(tiny_ranker, PAIRS)).abs().max() < 1e-5


def test_vietnamese_words_are_joined_in_what_is_read_and_passages_stay_in_the_text(
    ranker, tiny_ranker
):
    question, article = "hợp đồng lao động", "Người lao động ký hợp đồng với công ty. " * 8
    settings = RankerSettings(passages=3, passage_tokens=40, segmentation="vi")
    joining = CrossEncoderRanker.load(tiny_ranker, device="cpu", dtype="float32")
    joining.settings = settings
    assert joining.as_read(question) == "hợp_đồng lao_động"
    spans = joining.chosen_passages(question, [article])[0]
    scores = joining.score_articles(question, [article], [spans])
    assert len(spans) == 3
    joined = [("hợp_đồng lao_động", joining.as_read(article[a:b])) for a, b in spans]
    expected = ranker.logits(joined)
    assert (expected - ranker.logits([(question, article[a:b]) for a, b in spans])).abs().max() > 0
    assert scores.logits[0] == pytest.approx(float(expected.max()), abs=1e-5)
    assert scores.best[0] == spans[int(expected.argmax())]


def test_models_that_tell_pairs_apart_otherwise_agree_too(tiny_roberta, tmp_path):
    torch.manual_seed(0)
    bare = RobertaForSequenceClassification.from_pretrained(tiny_roberta, num_labels=1)
    bare.save_pretrained(tmp_path)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tiny_roberta / name, tmp_path)
    pairs = list(zip(texts(9, 3), texts(9, 3, seed=1), strict=True))
    logits = CrossEncoderRanker.load(tmp_path, device="cpu", dtype="float32").logits(pairs)
    assert (logits - predicted(tmp_path, pairs)).abs().max() < 1e-5


def test_a_logit_depends_on_its_own_pair_alone(ranker, monkeypatch):
    together = ranker.logits(PAIRS)
    monkeypatch.setitem(encoding._TOKENS_A_BATCH, "cpu", 100)
    assert torch.allclose(ranker.logits(PAIRS[::-1]).flip(0), together, atol=1e-5)
    assert torch.allclose(ranker.logits(PAIRS[:1]), together[:1], atol=1e-5)
    assert ranker.logits([]).shape == (0,)


def test_bfloat16_keeps_the_last_layer_exact(tiny_ranker, ranker):
    exact = ranker.logits(PAIRS)
    short = CrossEncoderRanker.load(tiny_ranker, device="cpu", dtype="bfloat16").logits(PAIRS)
    assert (short - exact).abs().max() < 0.1
    # Numbers of bfloat16 would have nothing in their lower sixteen bits.
    assert (short.view(torch.int32) & 0xFFFF).any()


def test_an_article_scores_as_its_best_passage(ranker):
    article = " ".join(texts(1, 400, seed=3))
    question = "who must mend the roof?"
    spans = ranker.passages(article)[:2]
    each = ranker.logits([(question, article[start:end]) for start, end in spans])
    articles = ["a roof", article, "a roof"]
    scores = ranker.score_articles(question, articles, ranker.chosen_passages(question, articles))
    assert scores.logits[1] == pytest.approx(float(each.max()), abs=1e-5)
    assert scores.best[1] == spans[int(each.argmax())]
    assert scores.best[0] == (0, 6)
    assert scores.read == [[(0, 6)], spans, [(0, 6)]]
    assert scores.logits[0] == scores.logits[2]
    assert ranker.score_articles(question, [], []).logits.shape == (0,)


def test_a_long_article_is_read_where_the_bi_encoder_points(ranker, minilm):
    filling = " ".join(["the court must pay rent and the tenant a law"] * 60)
    article = f"{filling} The dog may not bark at night in the garden. {filling}"
    chooser = PassageChooser(BiEncoder.load(minilm, device="cpu"))
    question = "May my dog bark at night?"
    ((first, second),) = ranker.chosen_passages(question, [article], chooser)
    assert first.end <= second.start
    assert any("dog" in article[start:end] for start, end in (first, second))
    ((first, second),) = ranker.chosen_passages(question, [article])
    assert [first, second] == ranker.passages(article)[:2]


def test_a_trained_model_is_opened_with_its_settings(tiny_bert, tiny_ranker, tmp_path):
    settings = RankerSettings(3, 64, 0.25)

    def write(folder):
        shutil.copytree(tiny_ranker, folder, dirs_exist_ok=True)
        settings.save(folder)

    folder = tmp_path / "model"
    BiEncoder.load(tiny_bert, device="cpu").save(folder, kept={"ranker": write})
    ranker = shared_ranker(folder, "cpu", "float32")
    assert ranker is shared_ranker(folder, "cpu", "float32")
    assert (ranker.settings, ranker.name) == (settings, str(folder))
    assert torch.allclose(ranker.logits(PAIRS), predicted(folder / "ranker", PAIRS), atol=1e-5)


# Settings


def test_settings_are_read_as_they_were_written(tmp_path):
    full = RankerSettings(3, 64, 0.25, "vi")
    for settings in (RankerSettings(), full):
        settings.save(tmp_path)
        assert RankerSettings.load(tmp_path) == settings
    fields = json.loads((tmp_path / "ranker.json").read_text())
    assert fields == dataclasses.asdict(full)
    # What older releases wrote is ignored.
    older = {"calibration": {"scale": 1.0, "offset": 0.0}, "learned_order": None}
    (tmp_path / "ranker.json").write_text(json.dumps({**fields, **older}))
    assert RankerSettings.load(tmp_path) == full


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"passages": 0}, "passages"),
        ({"passage_tokens": "12"}, "passage_tokens"),
        ({"fusion_weight": -1}, "fusion_weight"),
        ({"segmentation": "th"}, "segmentation"),
    ],
)
def test_wrong_settings_name_their_file_and_field(tmp_path, change, message):
    fields = {**dataclasses.asdict(RankerSettings()), **change}
    (tmp_path / "ranker.json").write_text(json.dumps(fields))
    with pytest.raises(ModelError, match=rf"ranker\.json: field '{message}"):
        RankerSettings.load(tmp_path)
