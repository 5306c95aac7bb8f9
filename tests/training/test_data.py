"""What training learns from, and which articles a step encodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from repeated_law import forbidden, repeated_laws

from components.models.folder import MANIFEST_FILE, Manifest
from components.statutes.article import normalised
from components.statutes.question import Question
from training.clean_questions import each_in_one_split, main
from training.command_line import DONE, SettingsError
from training.compare import Dataset, n_folds
from training.data import TrainingData, trainings_on
from training.negatives.gold import DrawnNegatives, Gold
from training.objective import make_batch
from training.settings import CusinesSettings

# Questions and splits


def read(folder, **arguments) -> TrainingData:
    return TrainingData.read(
        str(folder / "articles.jsonl"), str(folder / "questions.jsonl"), **arguments
    )


def test_questions_are_taken_by_their_splits_and_pairs_are_their_positives(small_law):
    data = read(small_law)
    assert (len(data.corpus), len(data.train), len(data.dev)) == (30, 12, 4)
    expected = [
        (row, data.corpus.position(article))
        for row, question in enumerate(data.train)
        for article in question.relevant
    ]
    assert [tuple(pair) for pair in data.pairs.tolist()] == expected
    assert len(expected) == 22


def test_dev_questions_that_stand_in_train_are_refused_in_other_words_too(
    tmp_path, write_law, article, question
):
    train = {**question(1, [1]), "text": "Who pays the ﬁne?"}
    dev = {**question(2, [2], "dev"), "text": " who PAYS\nthe fine?"}
    folder = write_law(tmp_path, [article(n) for n in range(9)], [train, dev])
    with pytest.raises(SettingsError, match=r"1 questions of dev.*'q2' \(as 'q1' in train\)"):
        read(folder)


def test_a_test_question_in_dev_is_reported_and_refused_with_final(
    tmp_path, write_law, article, question, capsys
):
    test = {**question(3, [3], "test"), "text": question(2, [2])["text"]}
    asked = [question(1, [1]), question(2, [2], "dev"), test]
    folder = write_law(tmp_path, [article(n) for n in range(9)], asked)
    assert len(read(folder).dev) == 1
    assert "1 questions of test are also in dev" in capsys.readouterr().err
    with pytest.raises(SettingsError, match=r"1 questions of test.*'q3' \(as 'q2' in dev\)"):
        read(folder, final=True)


def test_a_run_that_negatives_are_taken_from_is_part_of_the_data(small_law, tmp_path):
    run = tmp_path / "run.trec"
    run.write_text("q1 Q0 a1 1 2.0 x\n")
    given = read(small_law, run_file=str(run))
    assert given.digests() == {
        **read(small_law).digests(),
        "run_file_sha256": given.run_file_sha256,
    }
    assert given.joined().digests() == given.digests()
    run.write_text("q1 Q0 a1 1 -2.0 x\n")
    assert read(small_law, run_file=str(run)).digests() != given.digests()
    with pytest.raises(SettingsError, match=r"run_file: /none\.trec cannot be read"):
        read(small_law, run_file="/none.trec")


WORDS = ["Who pays?", "who  PAYS?", "Who evicts?", "Who repairs?", "When?", "Where?", "Why?"]


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.sampled_from(WORDS), min_size=2, max_size=14))
def test_what_is_set_aside_is_a_share_of_the_texts_and_never_stands_in_train(
    tmp_path, write_law, article, question, texts
):
    asked = [{**question(n, [n % 9]), "text": text} for n, text in enumerate(texts)]
    folder = write_law(tmp_path, [article(n) for n in range(9)], asked)
    distinct = {" ".join(text.casefold().split()) for text in texts}
    data = read(folder, dev_share=0.4)
    aside = {" ".join(q.text.casefold().split()) for q in data.dev}
    learnt = {" ".join(q.text.casefold().split()) for q in data.train}
    assert not aside & learnt
    assert aside | learnt == distinct
    assert len(aside) == round(0.4 * len(distinct))
    again = read(folder, dev_share=0.4)
    assert [q.id for q in again.dev] == [q.id for q in data.dev]


# training.clean_questions

Asked = Callable[..., dict[str, Any]]


@pytest.fixture
def repeated(tmp_path: Path, write_law: Callable[..., Path], question: Asked) -> Path:
    """q3 of train is asked in dev, q4 of train and q6 of dev in test; q1 and q2 are one text."""
    lines = [question(n, [n]) for n in range(5)]
    lines += [question(n, [n, n + 1], "dev") for n in (5, 6, 7)]
    lines += [question(n, [n], "test") for n in (8, 9)]
    lines.append({**question(10, [1]), "split": None, "topic": "wages"})
    texts = {2: "Who pays?", 1: "who PAYS", 3: "What  fine ?", 5: "what ﬁ\u00adne", 6: "A", 4: "a"}
    for number, text in {**texts, 8: "a", 10: "A"}.items():
        lines[number]["text"] = text
    del lines[10]["split"]
    return write_law(tmp_path / "law", questions=lines)


def test_training_names_the_command_and_takes_what_it_makes(repeated, tmp_path):
    articles, questions = (str(repeated / f"{n}.jsonl") for n in ("articles", "questions"))
    with pytest.raises(SettingsError, match=r"python -m training\.clean_questions") as refused:
        TrainingData.read(articles, questions)
    assert refused.value.args[0].startswith("2 questions of dev are also in train")
    output = tmp_path / "made" / "clean.jsonl"
    assert main(["--questions", questions, "--output", str(output)]) == DONE
    data = TrainingData.read(articles, str(output))
    assert [each.id for each in data.train] == ["q0", "q1", "q2"]
    assert [each.id for each in data.dev] == ["q5", "q7"]
    assert [path.name for path in output.parent.iterdir()] == ["clean.jsonl"]


SPLITS = st.sampled_from(["train", "dev", "test", "other", None])


@given(
    st.lists(st.tuples(st.sampled_from(["a", "A ?", "b", "ﬁ", "f\u200bi"]), SPLITS), max_size=12)
)
def test_no_text_stands_in_two_splits_and_each_stays_where_it_is_last(drawn):
    asked = [Question(str(n), text, ("a1",), split) for n, (text, split) in enumerate(drawn)]
    kept, left_out = each_in_one_split(asked)
    assert sorted([*kept, *left_out], key=lambda q: int(q.id)) == asked
    order = {"train": 0, "dev": 1, "test": 2}
    for question in asked:
        rank = order.get(question.split)
        later = [
            each for each in asked
            if rank is not None and order.get(each.split, -1) > rank
            and normalised(each.text) == normalised(question.text)
        ]  # fmt: skip
        assert (question in left_out) == bool(later)


# Batches


def as_drawn(negatives) -> DrawnNegatives:
    starts = np.concatenate([[0], np.cumsum([len(each) for each in negatives])])
    articles = np.array([n for each in negatives for n in each], dtype=np.int64)
    return DrawnNegatives(
        articles, starts, np.zeros(len(articles), np.int8), np.full(len(articles), -1, np.int8)
    )


@st.composite
def steps(draw: st.DrawFn):
    """A law and questions that repeat their words, drawn negatives, and some of the pairs."""
    articles, questions = case = draw(repeated_laws())
    gold = Gold.of(articles, questions)
    negatives = []
    for excluded in gold.excluded:
        allowed = [n for n in range(len(articles)) if n not in excluded]
        negatives.append(
            draw(st.lists(st.sampled_from(allowed), max_size=3, unique=True)) if allowed else []
        )
    pairs = [(row, p) for row, own in enumerate(gold.positives) for p in own.tolist()]
    chosen = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=8, unique=True))
    return case, gold, negatives, np.array(chosen, dtype=np.int64)


@given(steps(), st.booleans())
def test_a_batch_encodes_each_text_once_and_has_the_candidates_that_plain_loops_find(
    step, in_batch
):
    case, gold, negatives, pairs = step
    batch = make_batch(pairs, as_drawn(negatives), gold, in_batch=in_batch)
    listed = {p for _, p in pairs.tolist()} | {n for q, _ in pairs.tolist() for n in negatives[q]}
    for (question, _), row in zip(pairs.tolist(), batch.candidates, strict=True):
        pool = listed if in_batch else set(negatives[question])
        found = set(batch.articles[row].tolist())
        assert found == pool - set(forbidden(case, case[1][question]))
    for (question, _), row in zip(pairs.tolist(), batch.buckets, strict=True):
        assert set(batch.articles[row >= 0].tolist()) == set(negatives[question])
    assert batch.articles.tolist() == sorted(listed)
    assert batch.questions.tolist() == sorted(set(pairs[:, 0].tolist()))
    assert batch.n_listed == len(pairs) + sum(len(negatives[q]) for q, _ in pairs.tolist())
    back = np.stack([batch.questions[batch.pairs[:, 0]], batch.articles[batch.pairs[:, 1]]], 1)
    assert back.tolist() == pairs.tolist()


# Questions that the start has learnt

Made = Callable[..., Path]


@pytest.fixture
def learnt_law(write_law: Any, article: Any, question: Any, tmp_path: Path) -> Path:
    """A law whose questions are all of train: 20 of them."""
    return write_law(
        tmp_path / "law", [article(n) for n in range(30)], [question(n, [n]) for n in range(20)]
    )


@pytest.fixture
def made(learnt_law: Path, tmp_path: Path) -> Made:
    """`made(name, data=..., **config)`: a model folder, as its manifest tells, of that law."""

    def folder(name: str, questions: str | None = None, **config: Any) -> Path:
        questions = questions or Dataset(str(learnt_law)).given.questions_sha256
        path = tmp_path / name
        path.mkdir()
        sides = dict.fromkeys(("query", "passage"), "biencoder/query")
        manifest = Manifest(
            *(("biencoder",), "base", sides, 32),
            config=config,
            data={"questions_sha256": questions},
        )
        (path / MANIFEST_FILE).write_text(manifest.to_json(), encoding="utf-8")
        return path

    return folder


def test_questions_that_the_start_has_learnt_are_not_put_into_folds(learnt_law, made):
    model = made("model")
    dataset = Dataset(str(learnt_law), dev_share=0.1)
    start = [CusinesSettings(corpus="law", questions="law", output="out", model=str(model))]
    with pytest.raises(SettingsError, match=f"{model} has learnt"):
        n_folds(dataset, 5, start)
    assert n_folds(dataset, None, start) == 1
    assert n_folds(dataset, 1, start) == 1
    final = replace(start[0], model=str(made("final", final=True)))
    with pytest.raises(SettingsError, match=r"\(final\)"):
        n_folds(dataset, 1, [final])


def test_what_a_start_was_made_from_has_learnt_for_it(learnt_law, made, tmp_path):
    below = made("below", final=True)
    middle = made("middle", "0" * 64, model=str(below))
    top = made("top", query_model=str(middle), passage_model=str(tmp_path / "gone"))
    settings = CusinesSettings(corpus="law", questions="law", output="out", model=str(top))
    digest = Dataset(str(learnt_law)).given.questions_sha256
    found = trainings_on(digest, settings)
    assert [training.model for training in found] == [str(top), str(below)]
    assert found[1].config["final"]
