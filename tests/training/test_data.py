"""What training learns from and is chosen by, checked before any work starts."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.statutes.problems import CorpusError
from training.command_line import SettingsError
from training.data import TrainingData


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


def test_questions_that_no_article_answers_are_left_out_and_counted(small_law, capsys):
    data = read(small_law)
    assert all(question.relevant for question in [*data.train, *data.dev])
    assert "2 questions that no article answers are left out" in capsys.readouterr().err


def test_a_test_question_is_neither_learnt_nor_chosen_by(
    tmp_path, write_law, article, question, capsys
):
    folder = write_law(
        tmp_path,
        [article(n) for n in range(9)],
        [question(1, [1]), question(2, [2], "test"), question(3, [3], "dev")],
    )
    data = read(folder, dev_share=0.5)
    assert [q.id for q in data.train] == ["q1"]
    assert [q.id for q in data.dev] == ["q3"]
    assert "choose the model" not in capsys.readouterr().err


def test_dev_questions_that_stand_in_train_are_refused_in_other_words_too(
    tmp_path, write_law, article, question
):
    train = {**question(1, [1]), "text": "Who pays the ﬁne?"}
    dev = {**question(2, [2], "dev"), "text": " who PAYS\nthe fine?"}
    folder = write_law(tmp_path, [article(n) for n in range(9)], [train, dev])
    with pytest.raises(SettingsError, match=r"1 questions of dev.*'q2' \(as 'q1' in train\)"):
        read(folder)


def test_a_test_question_that_stands_in_train_is_refused(tmp_path, write_law, article, question):
    test = {**question(2, [2], "test"), "text": question(1, [1])["text"]}
    folder = write_law(tmp_path, [article(n) for n in range(9)], [question(1, [1]), test])
    with pytest.raises(SettingsError, match=r"1 questions of test.*'q2' \(as 'q1' in train\)"):
        read(folder)


def test_a_test_question_that_stands_in_dev_is_told_and_refused_where_dev_is_learnt_in_the_end(
    tmp_path, write_law, article, question, capsys
):
    test = {**question(3, [3], "test"), "text": question(2, [2])["text"]}
    asked = [question(1, [1]), question(2, [2], "dev"), test]
    folder = write_law(tmp_path, [article(n) for n in range(9)], asked)
    assert len(read(folder).dev) == 1
    twice = "questions of test choose the model as questions of dev: 'q3' (as 'q2' in dev)."
    assert f"1 {twice}" in capsys.readouterr().err
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


def test_positives_that_are_not_in_the_corpus_are_refused_with_their_line(
    tmp_path, write_law, article, question
):
    folder = write_law(
        tmp_path, [article(n) for n in range(9)], [question(1, [1]), question(2, [99])]
    )
    with pytest.raises(CorpusError, match=r"questions.jsonl:2: field 'relevant'.*a99"):
        read(folder)


@pytest.mark.parametrize("split", ["dev", "test"])
def test_without_a_training_question_there_is_nothing_to_learn(
    tmp_path, write_law, article, question, split
):
    folder = write_law(
        tmp_path, [article(n) for n in range(9)], [question(1, [1], split), question(2, [])]
    )
    with pytest.raises(SettingsError, match="split 'train'"):
        read(folder, dev_share=0.5)


def test_train_and_dev_joined_are_all_learnt_from_and_nothing_chosen_by(small_law):
    data = read(small_law)
    joined = data.joined()
    assert [q.id for q in joined.train] == [q.id for q in [*data.train, *data.dev]]
    assert not joined.dev
    assert len(joined.pairs) == 22 + 8
    assert joined.digests() == data.digests()


def test_digests_follow_the_content(small_law, tmp_path, write_law, article):
    same = write_law(tmp_path / "same")
    other = write_law(tmp_path / "other", [article(n, law="Other") for n in range(30)])
    assert read(same).digests() == read(small_law).digests()
    changed = read(other).digests()
    assert changed["corpus_sha256"] != read(small_law).digests()["corpus_sha256"]
    assert changed["questions_sha256"] == read(small_law).digests()["questions_sha256"]


def test_a_share_is_set_aside_only_where_no_question_is_of_dev(small_law, capsys):
    assert len(read(small_law, dev_share=0.5).dev) == 4
    assert "set aside" not in capsys.readouterr().err


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


def test_a_share_that_leaves_nothing_to_learn_is_refused(tmp_path, write_law, article, question):
    folder = write_law(tmp_path, [article(n) for n in range(9)], [question(1, [1])])
    with pytest.raises(SettingsError, match=r"dev_share is 0\.9, which sets all 1 questions"):
        read(folder, dev_share=0.9)


def test_a_larger_share_holds_a_smaller(tmp_path, write_law, article, question):
    folder = write_law(
        tmp_path, [article(n) for n in range(30)], [question(n, [n]) for n in range(30)]
    )
    fewer, more = ({q.id for q in read(folder, dev_share=share).dev} for share in (0.1, 0.3))
    assert (len(fewer), len(more)) == (3, 9)
    assert fewer < more


@pytest.mark.parametrize(("number", "share"), [(2, 0.1), (4, 0.1), (5, 0.1), (20, 0.01)])
def test_where_a_share_comes_to_less_than_one_question_one_is_set_aside(
    tmp_path, write_law, article, question, capsys, number, share
):
    folder = write_law(
        tmp_path, [article(n) for n in range(30)], [question(n, [n]) for n in range(number)]
    )
    assert len(read(folder, dev_share=share).dev) == 1
    assert "1 of train are set aside for it" in capsys.readouterr().err
    assert not read(folder).dev


def test_one_question_alone_is_learnt_from(tmp_path, write_law, article, question, capsys):
    folder = write_law(tmp_path, [article(n) for n in range(9)], [question(1, [1, 2])])
    data = read(folder, dev_share=0.1)
    assert (len(data.train), len(data.dev), len(data.pairs)) == (1, 0, 2)
    said = capsys.readouterr().err
    assert "set aside" not in said and "the last epoch is taken" in said
