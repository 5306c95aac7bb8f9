"""training.fusion: from a law and a model to a folder with a fusion, and what it leaves out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.models.biencoder import BiEncoder
from components.models.devices import BF16
from components.models.folder import articles_digest, model_digest, read_manifest
from components.models.learned_fusion import learned_fusion_of
from components.statutes.article import indexed_text
from components.statutes.corpus import StatuteCorpus, read_questions
from components.statutes.fusion import BM25, DENSE, DIVISION, RankedList
from components.statutes.question import Question
from pipelines.asking import ask
from pipelines.indexing import index_corpus
from pipelines.loading import load_pipeline
from training import fusion as command
from training.command_line import DONE
from training.cusines import main as cusines
from training.data import TrainingData
from training.fusion import (
    CandidateTable,
    Searches,
    SearchResult,
    main,
    provision_vectors,
    rank_weights,
)
from training.settings import FusionSettings

LISTS = [BM25, DIVISION, DENSE]


@pytest.mark.parametrize(
    ("by_meaning", "by_words", "weight"),
    [(20, 0, 1.5), (0, 20, 1.0), (11, 9, 1.0), (1, 0, 1.5)],
    ids=["meaning is right", "words are right", "they do not agree", "one question"],
)
def test_questions_move_the_weight_of_meaning_only_where_they_agree(by_meaning, by_words, weight):
    # Of two articles each list has another one first; at equal weights that of the words is first.
    words, meaning = (
        RankedList.of(np.array(rows), np.array([2.0, 1.0])) for rows in ([0, 1], [1, 0])
    )
    nothing = RankedList.of(np.array([], dtype=int), np.array([]))
    found = [
        (
            Question(id=f"{right}-{n}", text="Who pays?", relevant=("b" if right else "a",)),
            SearchResult("Who pays?", {BM25: words, DIVISION: nothing, DENSE: meaning}, 1.0),
        )
        for right, number in ((True, by_meaning), (False, by_words))
        for n in range(number)
    ]
    assert rank_weights(found, ["a", "b"], "MRR@10")[DENSE] == weight


@pytest.fixture(scope="module", autouse=True)
def few_rounds() -> Iterator[None]:
    """Twenty trees: what is learnt from 60 questions is in the first ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("components.models.learned_fusion._MOST_ROUNDS", 20)
        yield


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory, aldermere_questions: Path) -> Path:
    """60 of the demo law's training questions and 20 of dev."""
    lines = [json.loads(line) for line in aldermere_questions.read_text().splitlines()]
    chosen = [
        each
        for split, most in (("train", 60), ("dev", 20))
        for each in [q for q in lines if q.get("split") == split and q["relevant"]][:most]
    ]
    path = tmp_path_factory.mktemp("demo") / "questions.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in chosen), encoding="utf-8")
    return path


def flags(demo: Path, model: Path, output: Path, **fields: Any) -> list[str]:
    values = {
        "corpus": "aldermere",
        "questions": demo,
        "model": model,
        "output": output,
        "device": "cpu",
        "dtype": "float32",
        **fields,
    }
    return [part for name, value in values.items() for part in (f"--{name}", str(value))]


@pytest.fixture(scope="module")
def fused(demo: Path, tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run over few questions, and over a model of others."""
    output = tmp_path_factory.mktemp("fusion") / "fused"
    assert main(flags(demo, tiny_bert, output)) == DONE
    return output


def test_a_folder_holds_the_model_and_the_fusion(fused: Path, tiny_bert: Path) -> None:
    manifest = read_manifest(fused)
    assert manifest.kind == ("biencoder", "fusion")
    measured = manifest.metrics["fusion"]
    assert measured["measured_on"] == "5 folds of 60 questions"
    assert measured["wins"] and measured["learned"] > measured["by_rank"]
    fusion = learned_fusion_of(fused, lists=LISTS, model=model_digest(fused))
    assert fusion is not None and fusion.weights == measured["weights"]
    given, written = (
        BiEncoder.load(each, device="cpu", dtype="float32") for each in (tiny_bert, fused)
    )
    texts = ["Who must mend the roof?"]
    assert written.encode_queries(texts).equal(given.encode_queries(texts))
    assert sorted(each.name for each in fused.parent.iterdir()) == ["fused"]


def test_a_store_of_the_model_takes_the_fusion_over_and_encodes_nothing(
    fused: Path, tiny_bert: Path, small_law: Path, tmp_path: Path
) -> None:
    law = small_law / "articles.jsonl"
    index_corpus(law, tmp_path / "law.db", model=str(tiny_bert))
    report = index_corpus(law, tmp_path / "law.db", model=str(fused))
    assert (report.model, report.encoded) == (str(fused), 0)
    assert articles_digest(fused) == model_digest(tiny_bert) != model_digest(fused)


Ranked = Callable[[str], Iterator[tuple[Question, list[str], list[str]]]]


@pytest.fixture(scope="module")
def ranked(fused: Path, demo: Path) -> Ranked:
    """`ranked(split)`: each question, and its articles in the order of ranks and of the fusion."""
    corpus = StatuteCorpus.read("aldermere")
    model = BiEncoder.load(fused, device="cpu", dtype="float32")
    texts = [indexed_text(each.headings, each.text) for each in corpus]
    provisions = provision_vectors(list(corpus), model)
    assert provisions
    searches = Searches(list(corpus), model.encode_articles(texts), provisions=provisions)
    fusion = learned_fusion_of(fused, lists=LISTS, model=model.digest)
    assert fusion is not None

    def of(split: str) -> Iterator[tuple[Question, list[str], list[str]]]:
        questions = list(read_questions(demo, split=split))
        vectors = model.encode_queries([each.text for each in questions]).numpy()
        for question, vector in zip(questions, vectors, strict=True):
            found = searches.find(question.text, vector)
            asked = CandidateTable.of(question, found, searches.law, fusion.weights, corpus)
            by_rank, learned = (
                [corpus.ids[row] for row in rows.tolist()]
                for rows in (asked.by_rank, asked.learned(fusion))
            )
            yield question, by_rank, learned

    return of


def test_the_pipeline_ranks_as_training_did(
    fused: Path, ranked: Ranked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BF16, "_settled", "float32")  # whatever is faster here
    index_corpus("aldermere", tmp_path / "law.db", model=str(fused))
    pipeline = load_pipeline("hybrid", tmp_path / "law.db")
    differ = 0
    for question, by_rank, learned in ranked("dev"):
        answer = ask(pipeline, question.text, top_k=50, as_of="any")
        if "corrections" in answer:  # training takes words as they are written
            continue
        differ += [each["id"] for each in answer["documents"]] != learned[:50]
        assert learned[:50] != by_rank[:50]
    # Two vectors that differ in their last bit may change places.
    assert differ <= 1


def test_the_same_command_writes_the_same_fusion(fused: Path, demo: Path, tmp_path: Path) -> None:
    # Over the folder that the first run has made, whose fusion gives way.
    assert main(flags(demo, fused, tmp_path / "again")) == DONE
    again = read_manifest(tmp_path / "again")
    assert again.files == read_manifest(fused).files
    weights = "biencoder/query/model.safetensors"
    assert (tmp_path / "again" / weights).samefile(fused / weights)


def test_with_a_store_neither_articles_nor_provisions_are_encoded(
    fused: Path, demo: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BF16, "_settled", "float32")
    store = tmp_path / "law.db"
    index_corpus("aldermere", store, model=str(tiny_bert))

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("an article was encoded")

    monkeypatch.setattr(BiEncoder, "encode_articles_report", refuse)
    assert main(flags(demo, tiny_bert, tmp_path / "again", store=store)) == DONE
    first, again = (
        read_manifest(each).metrics["fusion"]["by_rank"] for each in (fused, tmp_path / "again")
    )
    assert again == pytest.approx(first, abs=0.01)


def test_many_questions_are_measured_on_dev_and_where_ranks_are_better_no_fusion_is_written(
    demo: Path,
    tiny_bert: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(command, "FEW_QUESTIONS", 30)
    monkeypatch.setattr(CandidateTable, "learned", lambda self, _: self.by_rank[::-1])
    assert main(flags(demo, tiny_bert, tmp_path / "ranks")) == DONE
    manifest = read_manifest(tmp_path / "ranks")
    measured = manifest.metrics["fusion"]
    assert manifest.kind == ("biencoder",) and measured["wins"] is False
    assert measured["measured_on"] == "20 of dev"
    assert learned_fusion_of(tmp_path / "ranks", lists=LISTS, model="") is None
    assert "none is written" in capsys.readouterr().err


# Questions that the model has learnt


@pytest.fixture(scope="module")
def holding_out(
    any_flags: Callable[..., list[str]], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A bi-encoder that has not learnt a third of the small law's questions."""
    output = tmp_path_factory.mktemp("held") / "model"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("training.loop.plot_run", lambda *_: None)
        assert cusines(any_flags(output=output, hold_out=0.3, max_steps=2)) == DONE
    return output


def test_held_out_questions_are_in_the_manifest_and_not_learnt(
    holding_out: Path, small_law: Path
) -> None:
    held_out = set(read_manifest(holding_out).held_out)
    sources = str(small_law / "articles.jsonl"), str(small_law / "questions.jsonl")
    whole = TrainingData.read(*sources)
    data = TrainingData.read(*sources, hold_out=0.3)
    assert {each.id for each in data.aside} == held_out and len(held_out) == 4
    assert {each.id for each in data.train} == {each.id for each in whole.train} - held_out


def test_a_fusion_learns_from_what_was_held_out_alone(
    holding_out: Path, cusines_model: Path, small_law: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus, questions = (str(small_law / f"{name}.jsonl") for name in ("articles", "questions"))
    of_law: Any = {"corpus": corpus, "questions": questions, "output": "unused"}
    data = TrainingData.read(corpus, questions)
    kept = command.unlearnt(FusionSettings(**of_law, model=str(holding_out)), data)
    assert {each.id for each in kept} == set(read_manifest(holding_out).held_out)
    # A model that held out nothing has learnt all: reported, since there may be no other.
    settings = FusionSettings(**of_law, model=str(cusines_model))
    assert command.unlearnt(settings, data) == data.train
    assert "--hold_out" in capsys.readouterr().err
