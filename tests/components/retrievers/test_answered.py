"""Answered questions: those like a new one vote; kept with the store, and followed."""

from __future__ import annotations

import math
import re
from collections import Counter

import numpy as np
import pytest
from haystack import Document
from question_embedder import Embedder

from components.retrievers import hybrid
from components.retrievers.answered import AnsweredQuestions
from components.retrievers.hybrid import StatuteHybridRetriever
from components.statutes.article import normalised
from components.stores.database import StoreError
from components.stores.publishing import StoreModel
from components.stores.sqlite import StatuteDocumentStore

HOUSING = {"field": "meta.law", "operator": "==", "value": "Housing Code"}


def unit(rng, n, dim=8):
    vectors = rng.normal(size=(n, dim)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def of(texts, relevant, vectors, weight=1.0):
    return AnsweredQuestions(texts, relevant, vectors, weight)


def everything(_):
    return True


def four_letters(text):
    """Sequences of four characters of each word with a blank around it, shorter ones whole."""
    words = [f" {word} " for word in re.findall(r"\S+", text.lower())]
    return Counter(
        word[start : start + 4] for word in words for start in range(max(1, len(word) - 3))
    )


def spelled(texts):
    """TF-IDF vectors of length 1, by sequence."""
    counts = [four_letters(text) for text in texts]
    frequency = Counter(each for count in counts for each in count)
    n = len(texts)

    def vector(count):
        weights = {
            each: (1 + math.log(times)) * (1 + math.log((1 + n) / (1 + frequency[each])))
            for each, times in count.items()
            if each in frequency
        }
        length = math.sqrt(sum(weight**2 for weight in weights.values())) or 1.0
        return {each: weight / length for each, weight in weights.items()}

    return vector


def slow(texts, relevant, vectors, question, query):
    """The votes of each article and of all questions with an answer, by the formula."""
    n = len(texts)
    vector = spelled(texts)
    spread = 1 - sum(vectors[i] @ vectors[j] for i in range(n) for j in range(n)) / n**2

    def kernel(one, other):
        (words, meaning), (other_words, other_meaning) = one, other
        alike = sum(weight * other_words.get(each, 0) for each, weight in words.items())
        return math.exp(3.5 * (float(meaning @ other_meaning) - 1) / spread) + alike / 4

    known = [(vector(four_letters(text)), each) for text, each in zip(texts, vectors, strict=True)]
    asked = (vector(four_letters(question)), query / np.linalg.norm(query))
    nearest = sorted(range(n), key=lambda row: -kernel(known[row], asked))[:150]
    matrix = [[kernel(known[i], known[j]) + 0.3 * (i == j) for j in nearest] for i in nearest]
    weights = np.linalg.solve(matrix, [kernel(known[row], asked) for row in nearest])
    votes: dict[str, float] = {}
    for row, weight in zip(nearest, weights, strict=True):
        for id_ in relevant[row]:
            votes[id_] = votes.get(id_, 0.0) + weight
    answerable = sum(weight for row, weight in zip(nearest, weights, strict=True) if relevant[row])
    return votes, answerable


WORDS = ("lorry", "kettle", "violin", "meadow", "candle", "anchor", "to", "a")


@pytest.mark.parametrize("n", [3, 40, 170, 340])
def test_votes_are_those_of_kernel_ridge_regression(n):
    rng = np.random.default_rng(n)
    vectors, query = unit(rng, n), rng.normal(size=8).astype(np.float32)
    texts = [" ".join(rng.choice(WORDS, 4)) for _ in range(n)]
    relevant = [[f"a{row % 7}", f"a{row % 5}"][: (row + 1) % 3] for row in range(n)]
    found = of(texts, relevant, vectors).search("kettel meadow", query, everything)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    votes, answerable = slow(texts, relevant, vectors, "kettel meadow", query)
    assert {id_ for id_, vote in votes.items() if vote > 1e-3} <= set(found)
    for id_, score in found.items():
        assert score == pytest.approx((answerable + votes[id_]) / 2, rel=1e-3, abs=1e-4)
        assert votes[id_] > -1e-3


def test_a_question_with_typing_mistakes_is_like_the_one_without():
    vectors = np.ones((2, 8), dtype=np.float32) / math.sqrt(8)  # by meaning they are the same
    questions = of(["deposit withheld", "heating broken"], [["a"], ["b"]], vectors)
    assert next(iter(questions.search("my depositt is gone", vectors[0], everything))) == "a"
    assert next(iter(questions.search("heatings", vectors[0], everything))) == "b"


@pytest.mark.parametrize("n", [20, 170])  # of 170 there are more than are read
def test_among_questions_without_an_answer_one_has_none(n):
    rng = np.random.default_rng(0)
    middle = unit(rng, 1)[0]
    near, far = (unit(rng, size) * 0.3 + side for size, side in ((n, middle), (20, -middle)))
    vectors = np.concatenate([near, far]).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    relevant = [[]] * n + [["a"]] * 20
    questions = of([f"word{row}" for row in range(n + 20)], relevant, vectors)
    assert max(questions.search("x", -middle, everything).values()) > 0.8
    # The gate reads the score of the first article, so there is always one.
    assert max(questions.search("x", middle, everything).values()) < 0.1


def test_questions_without_a_searched_article_have_no_vote():
    vectors = unit(np.random.default_rng(0), 60)
    texts = [f"Question {row}?" for row in range(60)]
    answered = of(texts, [["a", "b"] if row % 2 else ["c"] for row in range(60)], vectors)
    found = answered.search("question", vectors[0], lambda id_: id_ == "a")
    assert set(found) == {"a"}
    assert answered.search("question", vectors[0], lambda _: False) == {}
    kept = answered.without({normalised(texts[row]) for row in range(0, 60, 2)})
    assert set(kept.search("question", vectors[0], everything)) == {"a", "b"}
    # The others are measured as before.
    assert kept.search("question", vectors[0], lambda id_: id_ == "a") == pytest.approx(found)


def test_the_questions_of_a_searched_article_vote_however_far_they_are():
    rng = np.random.default_rng(0)
    middle = unit(rng, 1)[0]
    vectors = np.concatenate([unit(rng, 690) + 2 * middle, unit(rng, 10) - 2 * middle])
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    texts = [f"word{row}" for row in range(700)]
    answered = of(texts, [["far" if row >= 690 else "near"] for row in range(700)], vectors)
    found = answered.search("x", middle, lambda id_: id_ == "far")
    alone = answered.without(set(texts[:690])).search("x", middle, everything)
    assert set(found) == {"far"}
    assert found == pytest.approx(alone)


@pytest.fixture
def store(store, monkeypatch):
    monkeypatch.setattr(hybrid, "learned_fusion_of", lambda *_, **__: None)
    rng = np.random.default_rng(0)
    laws = ["Housing Code", "Work Code"]
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
    retriever = StatuteHybridRetriever(store, "tiny", with_rankings=True, **options)
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
    votes, answerable = slow(["q", "r"], [["a7"], ["a2"]], vectors, "who pays", vectors[0])
    assert told["answered"].score == pytest.approx((answerable + votes["a7"]) / 2, rel=1e-3)
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
    store.save_blob("answered-record", digest, record.removeprefix(b"3 "))
    assert "answered" not in retriever_over(store, vectors[0]).run("who pays")["rankings"]


class Backwards:
    """A learned fusion that turns all candidates round."""

    weights = {"bm25": 1.0, "division": 0.35, "dense": 1.0}  # noqa: RUF012 - as the real one's

    def ranked(self, law, lists, candidates, *, question, coverage):
        return candidates[::-1], np.arange(len(candidates), 0, -1.0)


def test_they_take_the_place_of_a_learned_fusion_where_they_have_a_weight(store):
    vectors = unit(np.random.default_rng(1), 1)

    def found(weight, fusion):
        of(["q"], [["a7"]], vectors, weight).keep(store)
        retriever = retriever_over(store, vectors[0])
        retriever._fusion = fusion
        return [each.id for each in retriever.run("who pays")["documents"]]

    by_rank, searched = found(0.0, None), found(8.0, None)
    assert searched[0] == "a7" != by_rank[-1]
    assert found(8.0, Backwards()) == searched
    assert found(0.0, Backwards()) == by_rank[::-1]


def test_those_of_another_question_tower_are_not_searched_which_is_logged_once(store, caplog):
    vectors = unit(np.random.default_rng(1), 1)
    of(["q"], [["a7"]], vectors, 4.0).keep(store)
    retriever = retriever_over(store, vectors[0])
    retriever.embedder.digest = "c" * 64
    for _ in range(2):
        assert "answered" not in retriever.run("who pays")["rankings"]
    assert sum("--answered" in each.message for each in caplog.records) == 1


def test_broken_ones_are_refused(store):
    vectors = unit(np.random.default_rng(1), 1)
    of(["q"], [["a7"]], vectors, 4.0).keep(store)
    blob = store.load_blob("answered")
    store.save_blob("answered", blob[0], blob[1][:-9])
    with pytest.raises(StoreError, match="answered questions"):
        retriever_over(StatuteDocumentStore(str(store.path)), vectors[0]).run("who pays")
