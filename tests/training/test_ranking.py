"""What a ranker learns from, how it is measured, and how its scores are used."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from haystack.utils import ComponentDevice
from numpy.typing import NDArray
from sentence_transformers import CrossEncoder
from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss
from slow_cases import slow

from components.converters.statutes import StatuteConverter
from components.embedders.graph import LegislativeGraphEmbedder
from components.models.biencoder import BiEncoder
from components.models.graph import LegislativeGraphEncoder
from components.statutes.article import Article
from components.statutes.fusion import FULL_COVERAGE
from components.statutes.lexical import coverage
from components.statutes.question import Question
from pipelines.asking import ask
from pipelines.indexing import index_corpus
from pipelines.loading import load_pipeline
from training.candidates import (
    ArticlePairs,
    DevLists,
    FirstStage,
    FusionWeight,
    mine_negatives,
    open_network,
    pipeline_candidates,
    score_statistics,
    stage_digest,
)
from training.data import TrainingData
from training.negatives.gold import Gold
from training.ranker import (
    BestPassageLoss,
    RankerMeasuring,
    best_record,
    make_examples,
    open_starting_model,
    records_of,
)


def test_an_article_scores_as_its_best_passage():
    pairs = ArticlePairs.of(["q", "q", "r"], [["aa", "b"], ["c"], ["d", "ee", "fff"]])
    assert pairs.pairs[:3] == [("q", "aa"), ("q", "b"), ("q", "c")]
    logits = pairs.logits(lambda all_of: np.array([len(p) for _, p in all_of], np.float32))
    assert logits.tolist() == [2, 1, 3]


# The loss

QUESTIONS = ["What must the tenant pay?", "When is notice due?", "Who repairs the roof?"]
FIRST = ["The tenant must pay rent.", "Wages are due monthly.", "The landlord repairs."]
LABELS = torch.tensor([1.0, 0.0, 1.0])


@pytest.fixture
def model(tiny_bert: Path) -> CrossEncoder:
    return open_starting_model(tiny_bert, torch.device("cpu"), seed=0).eval()


def gradients(model: CrossEncoder, loss: torch.Tensor) -> dict[str, torch.Tensor]:
    model.zero_grad()
    loss.backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def test_of_articles_of_one_passage_it_is_the_parents_loss(model):
    own = BestPassageLoss(model)([QUESTIONS, [[text] for text in FIRST]], LABELS)
    parents = BinaryCrossEntropyLoss(model)([QUESTIONS, FIRST], LABELS)
    torch.testing.assert_close(own, parents)
    mine, theirs = gradients(model, own), gradients(model, parents)
    assert mine.keys() == theirs.keys()
    assert all(torch.allclose(mine[name], theirs[name], atol=1e-7) for name in mine)


def test_the_best_passage_counts_and_the_others_get_no_gradient(model):
    articles = [[FIRST[0], "Leave is granted."], [FIRST[1]], ["Custody.", FIRST[2], "Support."]]
    loss = BestPassageLoss(model)([QUESTIONS, articles], LABELS)
    with torch.no_grad():
        best = [
            max(own, key=lambda passage, asked=asked: float(model.predict([(asked, passage)])[0]))
            for asked, own in zip(QUESTIONS, articles, strict=True)
        ]
    alone = BestPassageLoss(model)([QUESTIONS, [[passage] for passage in best]], LABELS)
    torch.testing.assert_close(loss, alone)
    mine, theirs = gradients(model, loss), gradients(model, alone)
    assert all(torch.allclose(mine[name], theirs[name], atol=1e-6) for name in mine)


def test_pieces_of_a_batch_have_the_loss_of_its_pairs_one_by_one(model, monkeypatch):
    articles = [["Rent. " * 9, "Leave."], ["Wages are due monthly."], ["Custody.", "Roofs. " * 30]]
    best = [
        torch.stack(
            [model(model.preprocess([(asked, each)]))["scores"].view(()) for each in own]
        ).max()
        for asked, own in zip(QUESTIONS, articles, strict=True)
    ]
    whole = torch.nn.functional.binary_cross_entropy_with_logits(torch.stack(best), LABELS)
    theirs = gradients(model, whole)
    monkeypatch.setattr("training.ranker._PIECE_TOKENS", 16)
    lengths = []
    model[0].register_forward_pre_hook(
        lambda _, inputs: lengths.append(tuple(inputs[0]["input_ids"].shape))
    )
    loss = BestPassageLoss(model)([QUESTIONS, articles], LABELS)
    assert sum(n for n, _ in lengths) == 5
    assert [length for _, length in lengths] == sorted({length for _, length in lengths})
    torch.testing.assert_close(loss, whole)
    mine = gradients(model, loss)
    assert all(torch.allclose(mine[name], theirs[name], atol=1e-6) for name in mine)


ARTICLES = [Article(f"a{n}", "Code", str(n), (), f"Rule {n}.") for n in range(6)]
QUESTIONS_EXAMPLES = [Question("q0", "Who pays?", ("a1", "a2")), Question("q1", "When?", ("a0",))]


def passages(question: str, articles: Sequence[int]) -> list[list[str]]:
    return [[f"{question} {position}", "more"] for position in articles]


def test_positives_come_before_negatives_with_the_passages_that_are_read():
    gold = Gold.of(ARTICLES, QUESTIONS_EXAMPLES)
    found = np.array([[3, 1, 4], [0, 5, 2]])
    mined = mine_negatives(gold, found, strategy="hard", n=2, seed=0)
    data = make_examples(gold, mined, QUESTIONS_EXAMPLES, passages)
    assert data["label"][:] == [1, 1, 1, 0, 0, 0, 0]
    assert [each[0] for each in data["passages"]] == [
        *("Who pays? 1", "Who pays? 2", "When? 0"),
        *("Who pays? 3", "Who pays? 4", "When? 5", "When? 2"),
    ]
    assert data["question"][3] == "Who pays?"


# The first stage


def test_a_graph_in_the_folder_finds_what_the_indexed_law_would(
    small_law, data, tiny_bert, tmp_path
):
    biencoder = BiEncoder.load(tiny_bert, device="cpu", dtype="float32")
    dim = biencoder.encode_queries(["who?"]).shape[1]
    plain, folder = tmp_path / "plain", tmp_path / "graph"
    biencoder.save(plain)
    torch.manual_seed(0)
    made = LegislativeGraphEncoder(dim, layers=2, heads=2, init="paper")
    biencoder.save(folder, kept={"graph": made.save})
    assert open_network(str(plain), "cpu") is None
    network = open_network(str(folder), "cpu")
    assert network is not None
    stage = FirstStage.search(biencoder, data, 7, network)
    documents = StatuteConverter().run([str(small_law / "articles.jsonl")])["documents"]
    embedder = LegislativeGraphEmbedder(
        str(folder), ComponentDevice.from_str("cpu"), dtype="float32", progress_bar=False
    )
    indexed = {each.id: each.embedding for each in embedder.run(documents)["documents"]}
    expected = np.array([indexed[id_] for id_ in data.corpus.ids])
    assert stage.articles == pytest.approx(expected, abs=1e-5)
    assert not np.array_equal(stage.train.found, FirstStage.search(biencoder, data, 7).train.found)
    assert stage_digest(str(folder)) != stage_digest(str(plain))
    assert stage_digest(str(plain)) == BiEncoder.load(plain, device="cpu").digest


@pytest.mark.parametrize("rule", ["text", *slow("headings_text")])
def test_the_lists_are_those_of_the_pipeline(
    rule, tiny_bert, write_law, article, tmp_path, monkeypatch
):
    # In bfloat16 the other texts of a batch can swap two that are nearly alike.
    monkeypatch.setattr("components.models.devices.fast_bf16", lambda _: False)
    # Words that repeat, and articles of different length: k1 and b count.
    words = ("must notice case", "lease", "the council of case", "tenant deposit")
    said = [" ".join(words[n % 4 : n % 4 + 2]) for n in range(100)]
    law = [article(n, text=f"{each}. " * (1 + n % 7)) for n, each in enumerate(said)]
    write_law(tmp_path, law)
    plain = BiEncoder.load(tiny_bert, device="cpu")
    model = BiEncoder(plain.query, text_rule=rule)
    model.dense_weight = 2.0
    model.save(tmp_path / "model")
    biencoder = BiEncoder.load(tmp_path / "model", device="cpu")
    corpus, questions = (tmp_path / f"{name}.jsonl" for name in ("articles", "questions"))
    index_corpus(corpus, tmp_path / "law.db", model=str(tmp_path / "model"))
    pipeline = load_pipeline("hybrid", tmp_path / "law.db")
    data = TrainingData.read(str(corpus), str(questions))
    stage = FirstStage.search(biencoder, data, 5)
    found = pipeline_candidates(stage, data, biencoder, None, 90)
    assert found.questions == data.dev
    covered = []
    for question, positions in zip(data.dev, found.found.tolist(), strict=True):
        expected = ask(pipeline, question.text, top_k=90)["documents"]
        assert [data.corpus.ids[position] for position in positions] == [
            each["id"] for each in expected
        ]
        first = data.corpus[positions[0]]
        covered.append(coverage(question.text, f"{' '.join(first.headings)} {first.text}", "en"))
    assert min(covered) < FULL_COVERAGE  # so that what weight BM25 has is seen in the order
    assert not np.array_equal(found.found[:, :5], stage.dev.found)
    monkeypatch.setattr(BiEncoder, "encode_articles", None)  # the store's vectors do
    stored = FirstStage.search(biencoder, data, 5, store=str(tmp_path / "law.db"))
    assert stored.articles == pytest.approx(stage.articles, abs=1e-6)


# Measuring

QUESTIONS_MEASURING = [Question("q0", "first", ("a3",)), Question("q1", "second", ("a0", "a9"))]
FOUND = [["a1", "a2", "a3", "a4"], ["a5", "a0", "a6", "a7"]]
DEPTH = 3
# The logit of a passage is the number that it says.
PASSAGES = [["1"], ["-1", "0.5"], ["2", "-9"], ["0"], ["0"], ["-1"]]


def score(pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
    return np.array([float(passage) for _, passage in pairs], np.float32)


@pytest.fixture
def lists() -> DevLists:
    asked = [question.text for question in QUESTIONS_MEASURING for _ in range(DEPTH)]
    return DevLists(QUESTIONS_MEASURING, FOUND, ArticlePairs.of(asked, PASSAGES), DEPTH)


def test_the_first_are_re_ranked_and_the_others_stay(lists):
    ranked = lists.re_ranked(lists.logits(score))
    assert ranked == [["a3", "a1", "a2", "a4"], ["a5", "a0", "a6", "a7"]]


def test_before_training_after_one_epoch_and_after_two(lists):
    negatives = ArticlePairs.of(["q", "q"], [["3", "-3"], ["-2"]])
    measuring = RankerMeasuring(
        score,
        dev=lists,
        negatives=negatives,
        cosines=[0.85, 0.4],
        select_by="MRR@3",
        start_ranks=True,
    )
    before, after_one, after_two = (
        measuring(None, epoch=epoch)["measured"] for epoch in (0, 1.0, 2.0)
    )
    assert before["first_stage"]["MRR@3"] == pytest.approx((1 / 3 + 1 / 2) / 2)
    assert before["dev"]["MRR@3"] == after_two["dev"]["MRR@3"] == pytest.approx(0.75)
    # As in the paper's Table 3, a bound belongs to the part above it.
    assert list(score_statistics([0.1, 0.5, 0.8, 0.9]).values())[1:5] == [0.25] * 4
    scores = before["negatives"]
    assert scores["ranker"]["from_0.9"] == scores["ranker"]["below_0.5"] == 0.5
    assert after_one["negatives"] == scores
    assert scores["biencoder"]["0.8_to_0.9"] == 0.5
    assert scores["biencoder"]["mean"] == pytest.approx(0.625)
    assert before["start_ranks"]
    assert set(after_two) == {"dev"} and set(after_two["dev"]) == {"R@1", "MRR@3"}


SCORES = {"ranker": {"n": 2, "below_0.5": 0.5}}
START = {"first_stage": {"MRR@10": 0.4}, "dev": {"MRR@10": 0.9}, "negatives": SCORES}
TRAINED = {"dev": {"MRR@10": 0.6}}
HISTORY = [
    {"step": 0, "eval_measured": START, "eval_runtime": 1},
    {"step": 10, "epoch": 0.5, "loss": 0.6, "learning_rate": 2e-5, "grad_norm": 1.0},
    {"step": 20, "epoch": 1.0, "loss": 0.4, "learning_rate": 1e-5},
    {"step": 20, "epoch": 1.0, "eval_measured": TRAINED},
    {"step": 25, "epoch": 2.0, "loss": 0.2, "learning_rate": 0.0},
    {"step": 25, "epoch": 2.0, "eval_measured": TRAINED},
    {"step": 25, "epoch": 2.0, "train_runtime": 3.0},
]


def test_a_record_for_each_measuring():
    records = records_of(HISTORY)
    assert [(record["step"], record["epoch"]) for record in records] == [(0, 0), (20, 1), (25, 2)]
    assert records[0]["first_stage"] == {"MRR@10": 0.4}
    assert records[0]["negatives"] == SCORES
    assert "loss" not in records[0]
    assert records[1]["loss"] == pytest.approx(0.5)
    assert records[2] == {
        "step": 25,
        "epoch": 2.0,
        "dev": {"MRR@10": 0.6},
        "loss": pytest.approx(0.2),
        "learning_rate": 0.0,
    }


def test_the_first_of_the_best_epochs_counts_and_chance_before_the_first_step_does_not():
    best = best_record(records_of(HISTORY), "MRR@10")
    assert best is not None
    assert best["step"] == 20
    assert best_record(records_of(HISTORY[:1]), "MRR@10") is None


# Fusion


def test_a_question_does_not_choose_the_weight_that_it_is_measured_with():
    # The first fold alone (questions 0, 5 and 10) needs the order before the ranker, which is right
    # there; two others need the ranker's own; of the rest both orders are right.
    by_first, by_ranker = {0, 5, 10}, {2, 3}
    questions = [Question(f"q{n}", f"case {n}", ("a1",)) for n in range(12)]
    orders = [["a0", "a1"] if n in by_ranker else ["a1", "a0"] for n in range(12)]
    lists = DevLists(questions, orders, ArticlePairs.of([], []), 2)
    logits = np.array(
        [[0.0, 1.0] if n in by_first | by_ranker else [1.0, 0.0] for n in range(12)], np.float32
    )
    weight = FusionWeight.choose(lists, logits, "MRR@2")
    assert weight.chosen > 0
    chosen = lists.values(lists.re_ranked(logits, weight.chosen), "MRR@2")
    assert chosen == [0.5 if n in by_ranker else 1.0 for n in range(12)]
    # The other folds choose 0 for the first one, which has nothing of what it needs.
    assert weight.held_out == [0.5 if n in by_first | by_ranker else 1.0 for n in range(12)]
