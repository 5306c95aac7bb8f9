"""`pipelines.index --answered`: kept where they help, weighed by other questions, or refused."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from components.retrievers import hybrid
from components.retrievers.answered import AnsweredQuestions, recorded_questions
from components.stores.sqlite import StatuteDocumentStore
from pipelines.checking import LoadingError
from pipelines.indexing import index_corpus

SAID = ("lorry", "kettle", "violin", "meadow", "candle", "anchor")


def questions(path, *, helping=True, n=30):
    """Each article's questions share words with each other and none with the law.

    Where they do not help, the law's words find the article, and like questions had other answers.
    """
    rng = random.Random(1)
    lines = []
    for number in range(1, n + 1):
        own = rng.sample(SAID, 3)
        for split in ("train", "dev"):
            words = " ".join(rng.sample(own, 3)) if helping else f"rule {number} {split}"
            answer = number if helping or split == "dev" else n + 1 - number
            fields = {"id": f"{split}{number}", "text": words, "relevant": [f"a{answer}"]}
            lines.append(json.dumps({**fields, "split": split}))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def index(tmp_path, corpus, minilm):
    def run(answered, **options):
        said: list[str] = []
        path = tmp_path / "law.db"
        index_corpus(
            corpus, path, **{"model": minilm, **options}, answered=answered, say=said.append
        )
        return StatuteDocumentStore(str(path)), said

    return run


def test_their_weight_is_chosen_by_other_questions(index, tmp_path):
    store, said = index(questions(tmp_path / "q.jsonl"))
    kept = AnsweredQuestions.read(store, recorded_questions(store))
    assert len(kept.texts) == 30
    assert kept.weight > 0
    assert any("30 other questions" in line for line in said)
    # The next run leaves them as they are.
    assert recorded_questions(index(None)[0]) == recorded_questions(store)


def test_where_they_do_not_help_they_count_nothing(index, tmp_path):
    store, said = index(questions(tmp_path / "q.jsonl", helping=False))
    assert AnsweredQuestions.read(store, recorded_questions(store)).weight == 0
    assert any("did not help" in line for line in said)


class LearnedFusion:
    """Puts the article first that answers the question, or behind all others."""

    weights = {"bm25": 1.0, "division": 0.35, "dense": 1.0}  # noqa: RUF012 - as the real one's

    def __init__(self, row_of, *, first):
        self.row_of, self.first = row_of, first

    def ranked(self, law, lists, candidates, *, question, coverage):
        answers = candidates == self.row_of[question]
        order = np.argsort(answers != self.first, kind="stable")
        return candidates[order], np.arange(len(candidates), 0, -1.0)


@pytest.mark.parametrize("is_good", [True, False])
def test_a_learned_fusion_keeps_its_place_unless_they_find_more(
    index, tmp_path, monkeypatch, is_good
):
    source = questions(tmp_path / "q.jsonl")
    asked = [json.loads(line) for line in source.read_text().splitlines()]
    row_of = {each["text"]: int(each["relevant"][0][1:]) - 1 for each in asked}
    fusion = LearnedFusion(row_of, first=is_good)
    monkeypatch.setattr(hybrid, "learned_fusion_of", lambda *_, **__: fusion)
    store, _ = index(source)
    weight = AnsweredQuestions.read(store, recorded_questions(store)).weight
    assert (weight == 0) is is_good


def test_without_a_dev_split_each_is_asked_of_the_others(index, tmp_path):
    source = questions(tmp_path / "q.jsonl")
    source.write_text(source.read_text().replace('"split": "dev"', '"split": "train"'))
    store, said = index(source)
    kept = AnsweredQuestions.read(store, recorded_questions(store))
    assert len(kept.texts) == 60
    assert kept.weight > 0
    assert any("60 other questions" in line for line in said)


def test_too_few_are_refused(index, tmp_path):
    with pytest.raises(LoadingError, match="At least 20"):
        index(questions(tmp_path / "q.jsonl", n=19))


def test_another_model_asks_for_them_again(index, tmp_path, tiny_model):
    store, _ = index(questions(tmp_path / "q.jsonl"))
    store.delete_all_documents()
    store.close()
    other, said = index(None, model=str(tiny_model))
    assert recorded_questions(other) is None
    assert any("--answered again" in line for line in said)


def test_without_a_model_they_are_refused(index, tmp_path):
    with pytest.raises(LoadingError, match="needs a model"):
        index(questions(tmp_path / "q.jsonl"), model="none")
