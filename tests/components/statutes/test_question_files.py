"""Reading questions: everything wrong is named, nothing is lost silently."""

from __future__ import annotations

import pytest
from law_files import line, question, write

from components.statutes import (
    CorpusError,
    Question,
    read_questions,
)

# Each: the second of three lines, the field it names, a part of the message.
BAD_QUESTIONS = {
    "no JSON": (b"x\n", None, "is not JSON"),
    "not UTF-8": (b'{"id": "\xff"}\n', None, "is not UTF-8"),
    "text missing": (line(question("q2", text=...)), "text", "is missing"),
    "text empty": (line(question("q2", text=" ")), "text", "is empty"),
    "text invisible": (line(question("q2", text="\u200b")), "text", "the question is empty"),
    "text endless": (line(question("q2", text="a" * 10_001)), "text", "10,001 characters"),
    "id repeated": (line(question("q1")), "id", "'q1' is already the id of line 1"),
    "relevant missing": (line(question("q2", relevant=...)), "relevant", "is missing"),
    "relevant a text": (line(question("q2", relevant="a1")), "relevant", "is text, not a list"),
    "relevant a number": (line(question("q2", relevant=[1])), "relevant", "entry 1 is a number"),
    "relevant empty": (line(question("q2", relevant=[])), "relevant", "is empty"),
    "relevant unknown": (
        line(question("q2", relevant=["a1", "zz"])),
        "relevant",
        "names 'zz', which the corpus does not hold",
    ),
    "answerable a text": (
        line(question("q2", answerable="no")),
        "answerable",
        "is text, not true or false",
    ),
    "answerable denied": (
        line(question("q2", answerable=False)),
        "answerable",
        "is false, but 'relevant' names articles",
    ),
    "split unknown": (
        line(question("q2", split="validation")),
        "split",
        '\'validation\' is not "train", "dev" or "test"',
    ),
    "split a number": (line(question("q2", split=1)), "split", "is a number, not text"),
}


@pytest.mark.parametrize(("bad", "field", "message"), BAD_QUESTIONS.values(), ids=BAD_QUESTIONS)
def test_a_bad_question_is_named_and_can_be_left_out(tmp_path, bad, field, message):
    path = write(tmp_path / "questions.jsonl", line(question("q1")), bad, line(question("q9")))
    with pytest.raises(CorpusError) as raised:
        read_questions(path, corpus_ids=["a1"])
    (problem,) = raised.value.problems
    assert (problem.file, problem.line, problem.field) == (str(path), 2, field)
    assert message in problem.message
    questions = read_questions(path, corpus_ids=["a1"], skip_bad=True)
    assert [q.id for q in questions] == ["q1", "q9"]
    assert (questions.problems, questions.left_out) == ([problem], 1)


def test_relevant_ids_are_kept_once_and_the_repeats_counted(tmp_path):
    path = write(
        tmp_path / "questions.jsonl", line(question("q1", relevant=["a2", "a1", "a2", "a2"]))
    )
    questions = read_questions(path)
    assert questions[0].relevant == ("a2", "a1")
    assert questions.repeated_relevant == 2


def test_a_question_keeps_every_other_field(tmp_path):
    path = write(
        tmp_path / "questions.jsonl",
        line(question("q1", relevant=[], answerable=False, split=..., topic={"a": 1})),
    )
    (read,) = read_questions(path)
    assert read == Question("q1", "May I?", (), None, False, {"topic": {"a": 1}})
    hash(read)


def test_a_field_that_no_question_has_is_told_once_and_kept(tmp_path):
    path = write(
        tmp_path / "questions.jsonl",
        line(question("q1")),
        line(question("q2", split=..., splt="dev", topic=1)),
        line(question("q3", split=..., splt="dev", topic=2)),
    )
    questions = read_questions(path)
    assert [str(problem) for problem in questions.problems] == [
        f"{path}:2: field 'splt': is no field of a question (here first). Did you mean 'split'?",
        f"{path}:2: field 'topic': is no field of a question (here first). It is not used: "
        "the fields are answerable, id, relevant, split and text.",
    ]
    assert questions.left_out == 0
    assert questions[1].extra == {"splt": "dev", "topic": 1}


def test_one_split_is_read_but_the_whole_file_checked(tmp_path):
    path = write(
        tmp_path / "questions.jsonl", line(question("q1")), line(question("q2", split="dev"))
    )
    assert [q.id for q in read_questions(path, split="dev")] == ["q2"]
    with pytest.raises(CorpusError, match="holds no question of the split 'test'"):
        read_questions(path, split="test")
    write(path, line(question("q1", text="")), line(question("q2", split="dev")))
    with pytest.raises(CorpusError, match="field 'text': is empty"):
        read_questions(path, split="dev")


def test_questions_have_a_digest_of_their_own(tmp_path):
    first = read_questions(write(tmp_path / "a.jsonl", line(question("q1"))))
    second = read_questions(write(tmp_path / "b.jsonl", line(question("q1", relevant=["a2"]))))
    assert first.sha256 != second.sha256
    assert first.sha256 == read_questions(tmp_path / "a.jsonl").sha256
    assert first[:1] == [first[0]]
