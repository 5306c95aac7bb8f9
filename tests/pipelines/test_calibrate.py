"""Choosing the threshold: which questions are asked, what is written, what is refused."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import law_files
import numpy as np
import pytest
from haystack import Document
from law_files import line

from components.models.biencoder import BiEncoder
from components.models.cross_encoder import ranker_digest
from components.rankers.gate import AnswerThreshold, load_threshold
from components.retrievers.answered import AnsweredQuestions
from components.statutes.corpus import QuestionSet, read_questions
from components.statutes.question import Question
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import run
from pipelines.calibration import Calibration, answers_taken_out, calibrate
from pipelines.loading import Scorer, load_pipeline, scorer_of

OFF_TOPIC = ("volcanoes", "chess openings", "the moon's orbit", "bread", "jazz", "penguins")


@pytest.fixture
def answerable(make_article) -> list[Question]:
    """Each has the very words of its article, which nothing but itself can match as well."""
    return [Question(f"q{n}", make_article(n)["text"], (f"a{n}",), "dev") for n in range(7, 25)]


def marked(n: int) -> list[Question]:
    texts = [f"What about {topic} in part {part}?" for part in range(9) for topic in OFF_TOPIC]
    return [Question(f"m{each}", texts[each], (), "dev", False) for each in range(n)]


def write(path: Path, questions: Iterable[Question]) -> Path:
    fields = ("id", "text", "relevant", "split", "answerable")
    lines = (line({name: getattr(each, name) for name in fields}) for each in questions)
    return law_files.write(path, *lines)


@pytest.fixture
def store(law_store, tmp_path) -> Path:
    """A law store of one's own."""
    with sqlite3.connect(law_store) as source, sqlite3.connect(tmp_path / "own.db") as copy:
        source.backup(copy)
    return tmp_path / "own.db"


def measured(store: Path, questions: list[Question]) -> Calibration:
    return calibrate("dense", QuestionSet(questions), "dev", store=store, model=None)


def kept(store: Path) -> AnswerThreshold | None:
    opened = StatuteDocumentStore(str(store))
    assert opened.model is not None
    return load_threshold(opened, "dense", opened.model.digest)


def test_enough_marked_questions_are_taken_alone(law_store, answerable):
    found = measured(law_store, [*answerable, *marked(20)])
    assert found.how == "marked"
    assert Counter(each.kind for each in found.scored) == {"answerable": 18, "marked": 20}
    # The articles' own words against volcanoes: nobody errs.
    assert found.separation.auc == 1
    assert found.separation.held_out["j"] == 1
    low = max(each.score for each in found.scored if each.kind == "marked")
    high = min(each.score for each in found.scored if each.kind == "answerable")
    assert found.separation.threshold == pytest.approx((low + high) / 2)


def test_without_marked_questions_all_answers_are_taken_out(law_store, answerable):
    found = measured(law_store, answerable)
    assert found.how == "taken out"
    scores: dict[str, dict[str, float]] = {}
    for each in found.scored:
        scores.setdefault(each.question, {})[each.kind] = each.score
    assert len(scores) == 18
    assert all(of["answerable"] > of["taken out"] for of in scores.values())
    assert found.separation.separates


def test_the_command_writes_what_it_prints(command, store, tmp_path, answerable):
    questions = write(tmp_path / "law.jsonl", answerable)
    before = StatuteDocumentStore(str(store)).content_version()
    code, out, err = command("calibrate", "--questions", questions, "--store", store, "--json")
    assert code == 0
    assert f"wrote the threshold of the stage dense into {store}" in err
    result = json.loads(out)
    assert (result["pipeline"], result["stage"], result["split"]) == ("hybrid", "dense", "dev")
    assert result["kinds"]["answerable"]["median"] > result["kinds"]["taken out"]["median"]
    threshold = kept(store)
    assert threshold is not None
    assert threshold.threshold == result["threshold"]
    for rate in ("precision", "recall", "nothing_precision", "nothing_recall"):
        assert getattr(threshold, rate) == result["held_out"][rate]
    assert (threshold.n_answerable, threshold.n_unanswerable) == (18, 18)
    assert threshold.auc == result["auc"]
    low, high = result["intervals"]["auc"]
    assert 0.5 < low <= result["auc"] <= high <= 1
    assert threshold.how == result["how"] == "taken out"
    assert threshold.questions_sha256 == read_questions(questions).sha256
    assert StatuteDocumentStore(str(store)).content_version() == before


def test_answered_questions_decide_where_the_store_has_them(command, store, tmp_path, answerable):
    def gate() -> tuple[str, float | None]:
        loaded = load_pipeline("answer_hybrid", store).get_component("gate")
        return loaded.stage, loaded.threshold

    questions = write(tmp_path / "law.jsonl", [*answerable, *marked(20)])
    calibrating = ("calibrate", "--questions", questions, "--store", store, "--json")
    assert command(*calibrating)[0] == 0
    by_vectors = gate()
    assert by_vectors[0] == "dense"

    opened = StatuteDocumentStore(str(store))
    assert opened.model is not None
    texts = [each.text for each in answerable]
    vectors = BiEncoder.load(opened.model.path).encode_queries(texts).numpy()
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    relevant = [each.relevant for each in answerable]
    known = AnsweredQuestions(texts, relevant, vectors, 1.0)
    known.keep(opened)
    # Until it is calibrated again, the nearest article decides.
    assert gate() == by_vectors
    code, out, err = command(*calibrating)
    assert code == 0
    assert "threshold of the stage answered" in err
    result = json.loads(out)
    assert result["stage"] == "answered"
    assert gate() == ("answered", result["threshold"])
    # Each was asked without itself.
    itself = [
        max(known.search(text, vector, lambda _: True).values())
        for text, vector in zip(texts, vectors, strict=True)
    ]
    assert result["kinds"]["answerable"]["median"] < np.median(itself) - 0.1


def test_no_threshold_is_written_where_none_is_good(
    command, store, tmp_path, answerable, make_article
):
    questions = write(tmp_path / "law.jsonl", answerable)
    assert command("calibrate", "--questions", questions, "--store", store)[0] == 0
    earlier = kept(store)
    assert earlier is not None
    turned = [
        *(Question(f"x{n}", make_article(n)["text"], (), "dev", False) for n in range(1, 25)),
        *(replace(each, relevant=("a1",), answerable=True) for each in marked(20)),
    ]
    code, out, err = command(
        "calibrate", "--questions", write(tmp_path / "no.jsonl", turned), "--store", store
    )
    assert code == 1
    assert "threshold" in out  # what was measured is shown all the same
    assert "does not tell" in err
    assert "No threshold is written" in err
    assert kept(store) == earlier


def test_pipelines_and_stores_without_a_score_are_refused(
    command, law_store, text_store, tmp_path, answerable
):
    questions = write(tmp_path / "law.jsonl", answerable)
    asked = ("--questions", questions, "--store")
    code, out, err = command("calibrate", *asked, law_store, "--pipeline", "lexical")
    assert (code, out) == (2, "")
    assert "a ranker or one dense retriever" in err
    code, out, err = command("calibrate", *asked, text_store)
    assert (code, out) == (2, "")
    assert "a ranker or one dense retriever" in err


def document(score: float | None, **ranks: int) -> Document:
    return Document(id=str(score), content="law", score=score, meta={"ranks": ranks})


def test_a_ranker_comes_before_a_dense_retriever(law_store, tiny_ranker):
    ranker = {"ranker.model": str(tiny_ranker)}
    pipeline = load_pipeline("hybrid_rerank", law_store, overrides=ranker)
    scorer = scorer_of(pipeline)
    assert scorer == Scorer("reranker", "ranker", ranker_digest(tiny_ranker))
    outputs = run(pipeline, "What does art. 12 Housing Code say on custody?", {"ranker"})
    first, second = outputs["ranker"]["documents"][:2]
    # The cited article stands first, unread.
    assert (first.id, first.score) == ("a12", 1.0)
    assert scorer.best(outputs) == second.score


@pytest.mark.parametrize(
    ("stage", "documents", "best"),
    [
        ("dense", [], None),
        ("dense", [document(float("nan")), document(0.2), document(0.3)], 0.3),
        ("dense", [document(float("nan"))], None),
        ("reranker", [document(0.4, reranker=1)], 0.4),
    ],
)
def test_the_best_score_is_one_that_the_stage_gave(stage, documents, best):
    # What else a ranker lists is pinned, unread, or below its best.
    listed = {"best": documents, "documents": [document(1.0)]}
    outputs = {"documents": documents} if stage == "dense" else listed
    assert Scorer(stage, "own", "d").best({"own": outputs}) == best


RENT, WORK = ["Title I", "Chapter 1. Rent"], ["Title I", "Chapter 2. Work"]


@pytest.fixture
def small_store(tmp_path) -> StatuteDocumentStore:
    made = StatuteDocumentStore(str(tmp_path / "law.db"))
    lines = [
        ("gold", "Housing", RENT, "The tenant pays the rent."),
        ("sibling", "Housing", RENT, "Rent is due monthly."),
        ("cousin", "Housing", WORK, "The caretaker works."),
        ("above", "Housing", RENT[:1], "This title is on dwellings."),
        ("below", "Housing", [*RENT, "Section 1"], "Rent may rise."),
        ("namesake", "Trade", RENT, "Shops pay rent too."),
        ("twin", "Trade", WORK, "the TENANT  pays the rent."),
        ("beside-twin", "Trade", WORK, "Shops close on Sunday."),
        ("bare", "Decree", [], "Deposits are held in trust."),
        ("other-bare", "Decree", [], "This decree is short."),
        ("empty", "Decree", [], ""),
        ("other-empty", "Trade", WORK, ""),
    ]
    for id_, law, headings, text in lines:
        meta = {"law": law, "headings": headings, "number": id_, "position": 0}
        made.write_documents([Document(id=id_, content=text, meta=meta)])
    return made


def taken(small_store: StatuteDocumentStore, question: Question, *others: Question) -> set[str]:
    return answers_taken_out(small_store, [question], [question, *others])[question.id]


def test_the_answer_its_twins_and_its_division_are_taken_out(small_store):
    paid, decided = Question("q", "Who pays?", ("gold",)), Question("q", "Who pays?", ("bare",))
    again = Question("r", "who  PAYS?", ("gold",), split="train")
    both = Question("q", "Who pays?", ("gold", "beside-twin"))
    gone = {"gold", "sibling", "twin"}
    assert taken(small_store, paid) == gone
    assert taken(small_store, decided) == {"bare"}
    assert taken(small_store, decided, again) == {"bare", *gone}  # a question asked twice
    assert taken(small_store, both) == {*gone, "beside-twin", "other-empty"}
