"""Thresholds in the store: round trip, another model, another format, faulty records."""

import dataclasses
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from haystack import Document

from components.stores.answerability import AnswerThreshold, load_threshold, save_threshold
from components.stores.sqlite import StatuteDocumentStore


@pytest.fixture
def store(tmp_path: Path) -> StatuteDocumentStore:
    return StatuteDocumentStore(str(tmp_path / "law.db"))


def record(**fields: Any) -> AnswerThreshold:
    given: dict[str, Any] = {
        "stage": "dense",
        "threshold": 0.42,
        "model_digest": "aa" * 32,
        "questions": "law.jsonl",
        "questions_sha256": "bb" * 32,
        "split": "dev",
        "corpus_sha256": None,
        "n_answerable": 35,
        "n_unanswerable": 40,
        "how": "both",
        "precision": 0.7,
        "recall": 0.8,
        "nothing_precision": 0.75,
        "nothing_recall": 0.65,
        "auc": 0.81,
        "date": "2026-11-21",
    }
    return AnswerThreshold(**{**given, **fields})


def test_a_threshold_comes_back_as_it_was(store: StatuteDocumentStore) -> None:
    save_threshold(store, record())
    save_threshold(store, record(stage="reranker", threshold=1))
    store.close()
    assert load_threshold(store, "dense", "aa" * 32) == record()
    assert load_threshold(store, "reranker", "aa" * 32) == record(stage="reranker", threshold=1)
    assert AnswerThreshold.from_json(json.loads(json.dumps(record().to_json()))) == record()


def test_the_latest_of_a_stage_and_model_counts(store: StatuteDocumentStore) -> None:
    save_threshold(store, record())
    save_threshold(store, record(threshold=0.5))
    assert load_threshold(store, "dense", "aa" * 32) == record(threshold=0.5)


def test_another_stages_or_models_threshold_is_none(store: StatuteDocumentStore) -> None:
    assert load_threshold(store, "dense", "aa" * 32) is None
    save_threshold(store, record())
    assert load_threshold(store, "dense", "cc" * 32) is None
    assert load_threshold(store, "reranker", "aa" * 32) is None
    # Two rankers over one store keep each its own.
    save_threshold(store, record(model_digest="cc" * 32, threshold=0.1))
    assert load_threshold(store, "dense", "aa" * 32) == record()


def test_nothing_is_indexed_anew_for_a_threshold(store: StatuteDocumentStore) -> None:
    store.write_documents([Document(id="1", content="law")])
    before = store.content_version()
    save_threshold(store, record())
    assert store.content_version() == before


@pytest.mark.parametrize(
    ("version", "content"),
    [
        ("2", json.dumps(record().to_json()).encode()),
        ("1", b"{"),
        ("1", b"\xff\xfe"),
        ("1", b"[]"),
        ("1", json.dumps({**record().to_json(), "more": 1}).encode()),
        ("1", json.dumps({**record().to_json(), "threshold": float("nan")}).encode()),
        ("1", json.dumps({**record().to_json(), "model_digest": "dd" * 32}).encode()),
    ],
)
def test_what_cannot_be_read_counts_as_none_and_is_said(
    store: StatuteDocumentStore, caplog: pytest.LogCaptureFixture, version: str, content: bytes
) -> None:
    save_threshold(store, record())
    ((name,),) = store.database.rows("SELECT name FROM blobs")
    store.save_blob(name, version, content)
    with caplog.at_level(logging.WARNING):
        assert load_threshold(store, "dense", "aa" * 32) is None
    assert "python -m pipelines.calibrate" in caplog.text


def test_a_law_that_changed_since_is_said(
    store: StatuteDocumentStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.publisher.record_corpus("11" * 32)
    chosen = record(corpus_sha256="11" * 32)
    save_threshold(store, chosen)
    with caplog.at_level(logging.WARNING):
        assert load_threshold(store, "dense", "aa" * 32) == chosen
        assert not caplog.records
        store.publisher.record_corpus("22" * 32)
        assert load_threshold(store, "dense", "aa" * 32) == chosen
    assert "law has changed since" in caplog.text


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("stage", "fused"),
        ("stage", None),
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
        ("date", None),
    ],
)
def test_a_wrong_field_is_named(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"^{field} "):
        record(**{field: value})


def test_every_field_must_be_there() -> None:
    for field in dataclasses.fields(AnswerThreshold):
        lacking = record().to_json()
        del lacking[field.name]
        with pytest.raises(ValueError, match="and no others"):
            AnswerThreshold.from_json(lacking)
