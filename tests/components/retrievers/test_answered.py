"""Answered questions: nearest ones vote for their articles, kept with the store and followed."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from haystack import Document

from components.retrievers import hybrid
from components.retrievers.answered import AnsweredQuestions
from components.retrievers.hybrid import StatuteHybridRetriever
from components.stores.journal import StoreModel
from components.stores.rows import StoreError
from components.stores.sqlite import StatuteDocumentStore

HOUSING = {"field": "meta.law", "operator": "==", "value": "Housing Code"}


def unit(rng, n, dim=8):
    vectors = rng.normal(size=(n, dim)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("n", [1, 3, 80])
def test_the_nearest_vote_for_their_articles(n):
    rng = np.random.default_rng(n)
    vectors, query = unit(rng, n), rng.normal(size=8).astype(np.float32)
    relevant = [[f"a{row % 7}", f"a{row % 5}"][: row % 2 + 1] for row in range(n)]
    cosines = [float(each @ query) / math.sqrt(float(query @ query)) for each in vectors]
    nearest = sorted(range(n), key=lambda row: -cosines[row])[:50]
    first, last = cosines[nearest[0]], cosines[nearest[-1]]
    expected: dict[str, float] = {}
    for row in nearest:
        vote = math.exp(2.5 * (cosines[row] - first) / (first - last)) if first > last else 1.0
        for id_ in relevant[row]:
            expected[id_] = expected.get(id_, 0.0) + vote
    found = of([f"word{row}" for row in range(n)], relevant, vectors).search("x", query, everything)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    most, near = max(expected.values()), max(0, sum(cosines[row] for row in nearest[:10]))
    assert found == pytest.approx(
        {id_: near / min(n, 10) * votes / most for id_, votes in expected.items()}, rel=1e-4
    )


def of(texts, relevant, vectors, weight=1.0):
    return AnsweredQuestions(texts, relevant, ["en"] * len(texts), vectors, weight)


def test_words_and_meaning_have_the_same_number_of_votes():
    vectors = np.eye(3, 8, dtype=np.float32)
    questions = of(
        ["Who keeps a deposit?", "Who pays the rent?", "deposits"], [["a"], ["b"], ["c"]], vectors
    )
    # By meaning a is nearest, by words b alone is found.
    found = questions.search("rents", np.float32([1, 0, 0, 0, 0, 0, 0, 0]), everything)
    by_meaning = 1 + 2 * math.exp(-2.5)
    first = 1 + math.exp(-2.5) / by_meaning
    assert list(found) == ["b", "a", "c"]
    assert found == pytest.approx(
        {
            "b": 1 / 3,
            "a": 1 / 3 / by_meaning / first,
            "c": 1 / 3 * math.exp(-2.5) / by_meaning / first,
        }
    )


def everything(_):
    return True


def test_questions_without_a_searched_article_have_no_vote():
    vectors = unit(np.random.default_rng(0), 60)
    texts = [f"Question {row}?" for row in range(60)]
    answered = of(texts, [["a", "b"] if row % 2 else ["c"] for row in range(60)], vectors)
    odd = of(texts[1::2], [["a"]] * 30, vectors[1::2])
    found = answered.search("question", vectors[0], lambda id_: id_ == "a")
    assert found == pytest.approx(odd.search("question", vectors[0], everything))
    assert answered.search("question", vectors[0], lambda _: False) == {}
    kept = answered.without({f"question {row}?" for row in range(0, 60, 2)})
    assert set(kept.search("question", vectors[0], everything)) == {"a", "b"}


class Embedder:
    """Embeds every question as one vector, without a model."""

    digest = "b" * 64

    def __init__(self, vector):
        self.query = self.tokenizer = self  # as far as a model is asked for its vocabulary
        self.vector = vector

    def loaded(self):
        return self

    def encode_queries(self, questions):
        return torch.from_numpy(self.vector)[None].repeat(len(questions), 1)

    def is_whole(self, _):
        return True


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(hybrid, "learned_fusion_of", lambda *_, **__: None)
    rng = np.random.default_rng(0)
    laws = ["Housing Code", "Work Code"]
    store = StatuteDocumentStore(str(tmp_path / "law.db"))
    store.write_documents(
        [
            Document(
                id=f"a{row}",
                content=f"rule {row}",
                meta={"law": laws[row % 2], "number": str(row), "headings": [], "position": row},
                embedding=vector.tolist(),
            )
            for row, vector in enumerate(unit(rng, 10))
        ]
    )
    store.publisher.record_model(StoreModel("tiny", "b" * 64, 8, "headings_text"))
    return store


def retriever_over(store, vector, **options):
    retriever = StatuteHybridRetriever(store, model="tiny", **options)
    retriever.embedder = Embedder(vector)
    return retriever


def test_hybrid_searches_those_of_the_store_and_follows_it(store):
    vectors = unit(np.random.default_rng(1), 2)
    retriever = retriever_over(store, vectors[0])
    assert "answered" not in retriever.run("who pays")["rankings"]
    of(["q", "r"], [["a7", "gone"], ["a2"]], vectors, 4.0).keep(store)
    found = retriever.run("who pays")
    assert found["rankings"]["answered"] == {"a7": 1, "a2": 2}
    assert found["documents"][0].id == "a7"
    assert found["documents"][0].meta["ranks"]["answered"] == 1
    told = {stage: each for each in found["evidence"] for stage in each.meta["ranks"]}
    assert told["answered"].id == "a7"
    assert told["answered"].score == pytest.approx((1 + vectors[0] @ vectors[1]) / 2)
    # One that is not allowed is not found by this list either.
    assert retriever.run("who pays", filters=HOUSING)["rankings"]["answered"] == {"a2": 1}
    of(["q"], [["a1"]], vectors[:1], 4.0).keep(store)
    assert retriever.run("who pays")["rankings"]["answered"] == {"a1": 1}
    alone = retriever_over(store, vectors[0], weights={"answered": 0})
    assert "answered" not in alone.run("who pays")["rankings"]
    of(["q"], [["a1"]], vectors[:1], 0.0).keep(store)
    assert "answered" not in retriever.run("who pays")["rankings"]


def test_a_stop_between_two_writes_leaves_none(store, monkeypatch):
    vectors = unit(np.random.default_rng(1), 1)
    of(["q"], [["a7"]], vectors, 4.0).keep(store)
    save, left = store.save_blob, 2

    def stop(*blob):
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        save(*blob)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(store, "save_blob", stop)
        of(["q"], [["a3"]], vectors, 4.0).keep(store)
    assert "answered" not in retriever_over(store, vectors[0]).run("who pays")["rankings"]


def test_those_of_an_older_release_are_not_searched(store):
    vectors = unit(np.random.default_rng(1), 1)
    of(["q"], [["a7"]], vectors, 4.0).keep(store)
    digest, record = store.load_blob("answered-record")
    store.save_blob("answered-record", digest, record.removeprefix(b"2 "))
    assert "answered" not in retriever_over(store, vectors[0]).run("who pays")["rankings"]


def test_broken_ones_are_refused(store):
    vectors = unit(np.random.default_rng(1), 1)
    of(["q"], [["a7"]], vectors, 4.0).keep(store)
    blob = store.load_blob("answered")
    store.save_blob("answered", blob[0], blob[1][:-9])
    with pytest.raises(StoreError, match="answered questions"):
        retriever_over(StatuteDocumentStore(str(store.path)), vectors[0]).run("who pays")
