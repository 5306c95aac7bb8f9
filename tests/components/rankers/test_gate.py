"""AnswerabilityGate: nothing passes when no article found is near enough."""

import json
import logging
from dataclasses import asdict, replace

import pytest
from haystack import Document

from components.rankers.gate import (
    AnswerabilityGate,
    AnswerThreshold,
    load_threshold,
    save_threshold,
)


def document(id_, score=None, **meta):
    return Document(id=id_, score=score, meta={"law": "Housing Code", "number": id_, **meta})


FOUND = [document("1", 1.0), document("2", 0.4)]
SCORED = [document("2", 0.55), document("3", 0.5), document("1", None)]
READ = document("2", 0.2, ranks={"reranker": 1})


def ids(outcome):
    return " ".join(each.id for each in outcome["documents"])


@pytest.mark.parametrize(("threshold", "passed"), [(None, "1 2"), (0.55, "1 2"), (0.56, "")])
def test_the_best_score_decides(threshold, passed):
    outcome = AnswerabilityGate(threshold).run(FOUND, SCORED)
    assert ids(outcome) == passed
    assert outcome["closest"] == {
        "id": "2",
        "law": "Housing Code",
        "number": "2",
        "score": 0.55,
        "stage": "dense",
        "threshold": threshold,
        "enough": bool(passed),
        "unread": 0,
    }


def test_pinned_articles_pass_alone_and_negative_scores_count():
    outcome = AnswerabilityGate(0.9).run(FOUND, SCORED, pinned=[document("1", 1.0)])
    assert (ids(outcome), outcome["closest"]["enough"]) == ("1", False)
    outcome = AnswerabilityGate(-0.5).run(FOUND, [document("1", -0.2), document("2", -0.7)])
    assert (ids(outcome), outcome["closest"]["id"]) == ("1 2", "1")


@pytest.mark.parametrize("threshold", [None, 0.1])
def test_without_a_score_nothing_is_near(threshold):
    outcome = AnswerabilityGate(threshold).run(FOUND, [document("1", float("nan"))])
    assert outcome["closest"] == {}
    assert bool(outcome["documents"]) == (threshold is None)


def test_no_answered_question_about_what_is_searched_proves_nothing():
    near = document("2", 0.9, ranks={"dense": 1})
    gate = AnswerabilityGate(0.5, stage="answered")
    assert ids(gate.run(FOUND, [near])) == "1 2"
    assert ids(gate.run(FOUND, [near, document("2", 0.4, ranks={"answered": 1})])) == ""


@pytest.mark.parametrize(("n_ranked", "passed"), [(0, "1 2"), (1, "1 2"), (2, "")])
def test_articles_that_a_reranker_did_not_read_prove_nothing(n_ranked, passed):
    gate = AnswerabilityGate(0.5, stage="reranker")
    assert ids(gate.run([document("1", 1.0), READ], [document("1", 1.0), READ])) == ""
    best = [READ] if n_ranked else []
    outcome = gate.run(FOUND, best, ranking={"n_candidates": 2, "n_ranked": n_ranked})
    assert ids(outcome) == passed
    assert not best or outcome["closest"]["unread"] == 2 - n_ranked


@pytest.mark.parametrize(
    ("name", "value"), [("threshold", float("nan")), ("threshold", "0.5"), ("stage", "bm25")]
)
def test_wrong_parameters_are_refused(name, value):
    with pytest.raises(ValueError, match=rf"AnswerabilityGate\.{name}"):
        AnswerabilityGate(**{name: value})


# Thresholds kept in the store: by stage and model, damaged ones ignored with a warning

MODEL = "aa" * 32
RECORD = AnswerThreshold(
    stage="dense",
    threshold=0.42,
    model_digest=MODEL,
    questions="law.jsonl",
    questions_sha256="bb" * 32,
    split="dev",
    corpus_sha256=None,
    n_answerable=35,
    n_unanswerable=40,
    how="both",
    precision=0.7,
    recall=0.8,
    nothing_precision=0.75,
    nothing_recall=0.65,
    auc=0.81,
    date="2026-11-21",
)


def test_the_latest_threshold_of_a_stage_and_model_counts(store):
    store.write_documents([Document(id="1", content="law")])
    version = store.content_version()
    assert load_threshold(store, "dense", MODEL) is None
    saved = [replace(RECORD, threshold=0.1), RECORD, replace(RECORD, stage="reranker", threshold=1)]
    saved.append(replace(RECORD, model_digest="cc" * 32, threshold=0.2))
    for each in saved:
        save_threshold(store, each)
    store.close()
    for each in saved[1:]:
        assert load_threshold(store, each.stage, each.model_digest) == each
    assert load_threshold(store, "reranker", "cc" * 32) is None
    assert store.content_version() == version
    assert AnswerThreshold(**json.loads(json.dumps(asdict(RECORD)))) == RECORD


@pytest.mark.parametrize(
    ("version", "content"),
    [
        ("2", asdict(RECORD)),
        ("1", b"{"),
        ("1", b"\xff\xfe"),
        ("1", []),
        ("1", {**asdict(RECORD), "more": 1}),
        ("1", {**asdict(RECORD), "threshold": float("nan")}),
        ("1", {**asdict(RECORD), "model_digest": "dd" * 32}),
    ],
)
def test_a_damaged_record_is_ignored_with_a_warning(store, caplog, version, content):
    save_threshold(store, RECORD)
    ((name,),) = store.database.rows("SELECT name FROM blobs")
    written = content if isinstance(content, bytes) else json.dumps(content).encode()
    store.save_blob(name, version, written)
    with caplog.at_level(logging.WARNING):
        assert load_threshold(store, "dense", MODEL) is None
    assert "pipelines.calibrate" in caplog.text


def test_a_change_of_the_law_is_reported(store, caplog):
    store.publisher.record_corpus("11" * 32)
    chosen = replace(RECORD, corpus_sha256="11" * 32)
    save_threshold(store, chosen)
    with caplog.at_level(logging.WARNING):
        assert load_threshold(store, "dense", MODEL) == chosen
        assert not caplog.records
        store.publisher.record_corpus("22" * 32)
        assert load_threshold(store, "dense", MODEL) == chosen
    assert caplog.records
