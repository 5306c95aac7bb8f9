"""Thresholds kept in the store: by stage and model, damaged ones ignored with a warning."""

import dataclasses
import json
import logging

import pytest
from haystack import Document

from components.rankers.gate import AnswerThreshold, load_threshold, save_threshold

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


def record(**fields):
    return dataclasses.replace(RECORD, **fields)


def test_the_latest_threshold_of_a_stage_and_model_counts(store):
    store.write_documents([Document(id="1", content="law")])
    version = store.content_version()
    assert load_threshold(store, "dense", MODEL) is None
    saved = [record(threshold=0.1), record(), record(stage="reranker", threshold=1)]
    saved.append(record(model_digest="cc" * 32, threshold=0.2))
    for each in saved:
        save_threshold(store, each)
    store.close()
    for each in saved[1:]:
        assert load_threshold(store, each.stage, each.model_digest) == each
    assert load_threshold(store, "reranker", "cc" * 32) is None
    assert store.content_version() == version
    assert AnswerThreshold(**json.loads(json.dumps(RECORD.to_json()))) == RECORD


@pytest.mark.parametrize(
    ("version", "content"),
    [
        ("2", RECORD.to_json()),
        ("1", b"{"),
        ("1", b"\xff\xfe"),
        ("1", []),
        ("1", {**RECORD.to_json(), "more": 1}),
        ("1", {**RECORD.to_json(), "threshold": float("nan")}),
        ("1", {**RECORD.to_json(), "model_digest": "dd" * 32}),
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
    chosen = record(corpus_sha256="11" * 32)
    save_threshold(store, chosen)
    with caplog.at_level(logging.WARNING):
        assert load_threshold(store, "dense", MODEL) == chosen
        assert not caplog.records
        store.publisher.record_corpus("22" * 32)
        assert load_threshold(store, "dense", MODEL) == chosen
    assert caplog.records


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("stage", "fused"),
        ("how", "guessed"),
        ("threshold", float("inf")),
        ("threshold", "0.5"),
        ("threshold", True),
        ("precision", 1.1),
        ("recall", -0.1),
        ("nothing_precision", None),
        ("auc", float("nan")),
        ("n_answerable", 0),
        ("n_unanswerable", 3.0),
        ("model_digest", ""),
        ("questions", None),
        ("corpus_sha256", 5),
        ("date", "yesterday"),
    ],
)
def test_wrong_and_missing_fields_are_named(field, value):
    lacking = RECORD.to_json()
    del lacking[field]
    for fields in ({**RECORD.to_json(), field: value}, lacking):
        with pytest.raises(ValueError, match=f"(?m)^{field}$"):
            AnswerThreshold(**fields)
