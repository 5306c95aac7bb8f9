"""The weight of a store's vectors, measured by the law's own headings."""

import shutil
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import torch
from haystack import Document

from components.retrievers.embedding import (
    StatuteEmbeddingRetriever,
    record_weight,
    recorded_weight,
)
from components.stores.database import StoreError
from components.stores.publishing import StoreModel
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import run
from pipelines.indexing import measure_weight
from pipelines.loading import load_pipeline

DIGEST = "0" * 64
STAGES = Path(__file__).resolve().parents[2] / "examples" / "stages.yaml"
TOPICS = [f"{first}{second}" for first in ("deposit", "notice", "repair") for second in "bcdfghjkl"]


class Encoder:
    """Knows the headings of some topics, and mistakes the rest for the first."""

    def __init__(self, known):
        self.known = known

    def encode_queries(self, texts):
        rows = [TOPICS.index(each) if TOPICS.index(each) < self.known else 0 for each in texts]
        return torch.eye(len(TOPICS))[rows]


@pytest.fixture
def store(tmp_path):
    """A law of one division a topic; the vectors of its articles are the topic's."""
    store = StatuteDocumentStore(tmp_path / "law.db")
    vectors = np.eye(len(TOPICS), dtype=np.float32)
    store.write_documents(
        [
            Document(
                id=f"{topic}-{number}",
                content=f"Article {number} of it.",
                meta={"law": "Code", "number": str(number), "headings": ["Book", topic]},
                embedding=vectors[row].tolist(),
            )
            for row, topic in enumerate(TOPICS)
            for number in range(3)
        ]
    )
    store.publisher.record_model(StoreModel("model", DIGEST, len(TOPICS), "headings_text"))
    yield store
    store.close()


@pytest.mark.parametrize(("known", "weight"), [(27, 1.0), (18, 0.47), (1, 0.0)])
def test_the_weight_grows_with_what_the_model_finds(store, known, weight):
    assert measure_weight(store, Encoder(known)) == pytest.approx(weight, abs=0.01)
    found = StatuteEmbeddingRetriever(store).run(np.eye(len(TOPICS))[0].tolist())
    assert found["weight"] == recorded_weight(store, DIGEST) == pytest.approx(weight, abs=0.01)


def test_a_law_of_few_divisions_and_another_model_have_no_weight(store):
    measure_weight(store, Encoder(1))
    store.save_blob("weight", "1" * 64, b"0.5")
    assert recorded_weight(store, DIGEST) is None
    assert StatuteEmbeddingRetriever(store).run([1.0] * len(TOPICS))["weight"] == 1
    store.delete_documents([f"{topic}-{number}" for topic in TOPICS[9:] for number in range(3)])
    assert measure_weight(store, Encoder(1)) == recorded_weight(store, DIGEST) == 1


@pytest.mark.parametrize("content", [b"", b"x", b"nan", b"-1", b"inf"])
def test_a_damaged_weight_is_refused(store, content):
    store.save_blob("weight", DIGEST, content)
    with pytest.raises(StoreError, match=r"law\.db"):
        recorded_weight(store, DIGEST)


def test_without_any_weight_the_words_alone_decide(law_store, tmp_path):
    shutil.copy(law_store, tmp_path / "law.db")
    with closing(StatuteDocumentStore(tmp_path / "law.db")) as store:
        record_weight(store, 0.0)
    question = "Who decides on rule 7?"
    without = {"retriever.weights": {"division": 0}}
    for name, part, overrides in (("hybrid", "retriever", without), (STAGES, "fuser", {})):
        pipeline = load_pipeline(name, tmp_path / "law.db", overrides=overrides)
        found = run(pipeline, question, {part})[part]["documents"]
        listed = [each.meta["ranks"].get("bm25") for each in found]
        assert listed == list(range(1, 11)), name
