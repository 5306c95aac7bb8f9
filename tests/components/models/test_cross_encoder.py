"""The cross-encoder scores as sentence-transformers does, and an article by its best passage."""

from __future__ import annotations

import random
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from sentence_transformers import CrossEncoder
from transformers import BertForSequenceClassification, RobertaForSequenceClassification

from components.models import token_budget
from components.models.biencoder import BiEncoder
from components.models.cross_encoder import CrossEncoderRanker
from components.models.errors import ModelError
from components.models.pair_tokenizer import MOST_PASSAGES
from components.models.passage_choice import PassageChooser
from components.models.ranker_folder import Calibration, RankerSettings
from components.models.registry import shared_ranker

SENTENCE = "the landlord must mend, a (leaking) roof § 14-2; État 第一条 [SEP] unquestionably"
WORDS = SENTENCE.split()


def texts(number: int, longest: int, seed: int = 0) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=chance.randint(0, longest))) for _ in range(number)]


PAIRS = list(zip(texts(40, 60), texts(40, 60, seed=1), strict=True))


@pytest.fixture(scope="module")
def ranker(tiny_ranker: Path) -> CrossEncoderRanker:
    return CrossEncoderRanker.load(tiny_ranker, device="cpu", dtype="float32")


def predicted(folder: Path, pairs: list[tuple[str, str]]) -> torch.Tensor:
    encoder = CrossEncoder(str(folder), device="cpu", local_files_only=True)
    identity = torch.nn.Identity()
    return encoder.predict(pairs, activation_fn=identity, convert_to_tensor=True)


def lexarbor_folder(
    target: Path, biencoder: str | Path, ranker: Path, settings: RankerSettings | None = None
) -> Path:
    def write(folder: Path) -> None:
        shutil.copytree(ranker, folder, dirs_exist_ok=True)
        (settings or RankerSettings()).save(folder)

    BiEncoder.load(biencoder, device="cpu").save(target, kept={"ranker": write})
    return target


def test_logits_are_those_of_sentence_transformers(
    ranker: CrossEncoderRanker, tiny_ranker: Path
) -> None:
    # Of many of these pairs, both texts or one are longer than the model reads.
    logits = ranker.logits(PAIRS)
    assert logits.shape == (40,)
    assert logits.std() > 0.1
    assert (logits - predicted(tiny_ranker, PAIRS)).abs().max() < 1e-5


def test_vietnamese_words_are_joined_in_what_is_read_and_passages_stay_in_the_text(
    ranker: CrossEncoderRanker, tiny_ranker: Path
) -> None:
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


def test_models_that_tell_pairs_apart_otherwise_agree_too(
    tiny_roberta: Path, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    bare = RobertaForSequenceClassification.from_pretrained(tiny_roberta, num_labels=1)
    bare.save_pretrained(tmp_path)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tiny_roberta / name, tmp_path)
    pairs = list(zip(texts(9, 3), texts(9, 3, seed=1), strict=True))
    logits = CrossEncoderRanker.load(tmp_path, device="cpu", dtype="float32").logits(pairs)
    assert (logits - predicted(tmp_path, pairs)).abs().max() < 1e-5


def test_a_logit_depends_on_its_own_pair_alone(
    ranker: CrossEncoderRanker, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = ranker.logits(PAIRS)
    monkeypatch.setitem(token_budget._TOKENS_A_BATCH, "cpu", 100)
    assert torch.allclose(ranker.logits(PAIRS[::-1]).flip(0), together, atol=1e-5)
    assert torch.allclose(ranker.logits(PAIRS[:1]), together[:1], atol=1e-5)
    assert ranker.logits([]).shape == (0,)


def test_several_threads_may_score_at_once(ranker: CrossEncoderRanker) -> None:
    expected = ranker.logits(PAIRS)
    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(lambda _: ranker.logits(PAIRS), range(8)):
            assert torch.allclose(found, expected, atol=1e-5)


def test_bfloat16_keeps_the_last_layer_exact(tiny_ranker: Path, ranker: CrossEncoderRanker) -> None:
    exact = ranker.logits(PAIRS)
    short = CrossEncoderRanker.load(tiny_ranker, device="cpu", dtype="bfloat16").logits(PAIRS)
    assert (short - exact).abs().max() < 0.1
    # Numbers of bfloat16 would have nothing in their lower sixteen bits.
    assert (short.view(torch.int32) & 0xFFFF).any()


def test_an_article_scores_as_its_best_passage(ranker: CrossEncoderRanker) -> None:
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


def test_a_long_article_is_read_where_the_bi_encoder_points(
    ranker: CrossEncoderRanker, minilm: str
) -> None:
    filling = " ".join(["the court must pay rent and the tenant a law"] * 60)
    article = f"{filling} The dog may not bark at night in the garden. {filling}"
    chooser = PassageChooser(BiEncoder.load(minilm, device="cpu"))
    question = "May my dog bark at night?"
    ((first, second),) = ranker.chosen_passages(question, [article], chooser)
    assert first.end <= second.start
    assert any("dog" in article[start:end] for start, end in (first, second))
    ((first, second),) = ranker.chosen_passages(question, [article])
    assert [first, second] == ranker.passages(article)[:2]


def test_a_question_in_several_portions_is_encoded_once(
    ranker: CrossEncoderRanker, minilm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = BiEncoder.load(minilm, device="cpu")
    encode, asked = encoder.encode_queries, list[str]()
    monkeypatch.setattr(
        encoder, "encode_queries", lambda texts: asked.extend(texts) or encode(texts)
    )
    chooser = PassageChooser(encoder)
    articles = [" ".join(random.Random(n).choices(WORDS, k=900)) for n in range(4)]
    both = ["Who pays rent?", "Who mends the roof?"]
    apart = [ranker.chosen_passages(q, [article], chooser) for q in both for article in articles]
    assert asked == both
    together = [ranker.chosen_passages(q, articles, PassageChooser(encoder)) for q in both]
    assert apart == [[passages] for of in together for passages in of]


def test_five_thousand_words_and_a_long_question(ranker: CrossEncoderRanker, minilm: str) -> None:
    article = " ".join(random.Random(5).choices(WORDS, k=5_000))
    assert len(ranker.passages(article)) == MOST_PASSAGES
    chooser = PassageChooser(BiEncoder.load(minilm, device="cpu"))
    question = "who mends the roof? " * 100
    passages = ranker.chosen_passages(question, [article], chooser)
    scores = ranker.score_articles(question, [article], passages)
    assert scores.logits.isfinite().all()


def test_a_trained_model_is_opened_with_its_settings(
    tiny_bert: Path, tiny_ranker: Path, tmp_path: Path
) -> None:
    settings = RankerSettings(3, 64, Calibration(0.5, -1.0), 0.25)
    folder = lexarbor_folder(tmp_path / "model", tiny_bert, tiny_ranker, settings)
    ranker = CrossEncoderRanker.load(folder, device="cpu", dtype="float32")
    assert ranker.settings == settings
    assert ranker.name == str(folder)
    assert torch.allclose(ranker.logits(PAIRS), predicted(folder / "ranker", PAIRS), atol=1e-5)


def test_the_part_alone_does_not_say_how_it_is_used(
    tiny_bert: Path, tiny_ranker: Path, tmp_path: Path
) -> None:
    folder = lexarbor_folder(tmp_path / "model", tiny_bert, tiny_ranker)
    with pytest.raises(
        ModelError, match=r"is the part of a model folder.*Give that folder, .*model"
    ):
        CrossEncoderRanker.load(folder / "ranker")


def test_a_passage_leaves_room_for_a_question(tiny_ranker: Path) -> None:
    encoder = CrossEncoder(str(tiny_ranker), device="cpu")
    ranker = CrossEncoderRanker(encoder, RankerSettings(passage_tokens=100_000))
    room = ranker.tokenizer.format.room
    assert ranker.passage_tokens == room - room // 4
    article = " ".join(random.Random(3).choices(["roof", "rent", "unquestionably"], k=room))
    spans = ranker.passages(article)
    assert len(spans) > 1
    assert ranker.score_articles("roof?", [article], [spans]).read == [spans]
    # A question that takes up more costs the end of each passage, in whole words.
    read = ranker.score_articles("roof? " * room, [article], [spans]).read[0]
    assert read != spans
    for span, kept in zip(spans, read, strict=True):
        assert kept.start == span.start and kept.end <= span.end
        first, then = ranker.tokenizer.token_ids([article[slice(*kept)], article[slice(*span)]])
        assert len(first) <= room // 2  # the longer of the two has one more
        if len(first) < len(then):
            assert article[kept.end] == " "
            word = article[kept.end : span.end].split()[0]
            more = ranker.tokenizer.token_ids([f"{article[slice(*kept)]} {word}"])[0]
            assert len(more) > room // 2


def test_a_model_without_a_ranker_says_how_to_get_one(tiny_bert: Path, tmp_path: Path) -> None:
    BiEncoder.load(tiny_bert, device="cpu").save(tmp_path / "model")
    with pytest.raises(ModelError, match=r"holds biencoder, but no ranker.*training.ranker"):
        CrossEncoderRanker.load(tmp_path / "model")
    with pytest.raises(ModelError, match=r"holds BertModel, which scores no pairs"):
        CrossEncoderRanker.load(tiny_bert)


def test_broken_folders_are_refused(tiny_bert: Path, tiny_ranker: Path, tmp_path: Path) -> None:
    folder = lexarbor_folder(tmp_path / "model", tiny_bert, tiny_ranker)
    (folder / "ranker" / "ranker.json").write_text("{}")
    with pytest.raises(ModelError, match=r"ranker.json: is not what was saved"):
        CrossEncoderRanker.load(folder)
    (folder / "manifest.json").unlink()
    with pytest.raises(ModelError, match=r"has no manifest.json"):
        CrossEncoderRanker.load(folder)


def test_models_that_are_no_rankers_are_refused(tiny_ranker: Path, tmp_path: Path) -> None:
    bare = BertForSequenceClassification.from_pretrained(tiny_ranker)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tiny_ranker / name, tmp_path)
    with torch.no_grad():
        bare.classifier.weight[0, 0] = float("nan")
    bare.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match=r"classifier.weight' hold NaN"):
        CrossEncoderRanker.load(tmp_path)
    two = BertForSequenceClassification.from_pretrained(
        tiny_ranker, num_labels=2, ignore_mismatched_sizes=True
    )
    two.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match=r"gives 2 scores a pair"):
        CrossEncoderRanker.load(tmp_path)


def test_rankers_are_shared_until_their_files_change(
    tiny_bert: Path, tiny_ranker: Path, tmp_path: Path
) -> None:
    folder = lexarbor_folder(tmp_path / "model", tiny_bert, tiny_ranker)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: shared_ranker(folder, "cpu"), range(4)))
    assert len({id(each) for each in found}) == 1
    shutil.rmtree(folder)
    lexarbor_folder(folder, tiny_bert, tiny_ranker, RankerSettings(passages=1))
    assert shared_ranker(folder, "cpu").settings.passages == 1
    assert found[0].settings.passages == 2
