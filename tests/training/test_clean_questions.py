"""Questions that stand in two splits: refused by training, mended by the command that it names."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.statutes.corpus import read_questions
from components.statutes.question import Question
from components.statutes.twins import normalised
from training.clean_questions import each_in_one_split, main
from training.command_line import DONE, FAILED, WRONG_USE, SettingsError
from training.data import TrainingData

Asked = Callable[..., dict[str, Any]]


@pytest.fixture
def repeated(tmp_path: Path, write_law: Callable[..., Path], question: Asked) -> Path:
    """q3 of train is asked in dev, q4 of train and q6 of dev in test; q1 and q2 are one text."""
    lines = [question(n, [n]) for n in range(5)]
    lines += [question(n, [n, n + 1], "dev") for n in (5, 6, 7)]
    lines += [question(n, [n], "test") for n in (8, 9)]
    lines.append({**question(10, [1]), "split": None, "topic": "wages"})
    texts = {2: "Who pays?", 1: "who PAYS?", 3: "What  fine?", 5: "what ﬁne?", 6: "A", 4: "a"}
    for number, text in {**texts, 8: "a", 10: "A"}.items():
        lines[number]["text"] = text
    del lines[10]["split"]
    return write_law(tmp_path / "law", questions=lines)


def flags(folder: Path, output: Path) -> list[str]:
    return ["--questions", str(folder / "questions.jsonl"), "--output", str(output)]


def test_training_names_the_command_and_takes_what_it_makes(repeated, tmp_path):
    articles, questions = (str(repeated / f"{n}.jsonl") for n in ("articles", "questions"))
    with pytest.raises(SettingsError, match=r"python -m training\.clean_questions") as refused:
        TrainingData.read(articles, questions)
    assert refused.value.args[0].startswith("2 questions of dev are learnt too")
    output = tmp_path / "made" / "clean.jsonl"
    assert main(flags(repeated, output)) == DONE
    data = TrainingData.read(articles, str(output))
    assert [each.id for each in data.train] == ["q0", "q1", "q2"]
    assert [each.id for each in data.dev] == ["q5", "q7"]
    assert [path.name for path in output.parent.iterdir()] == ["clean.jsonl"]


def test_what_stays_is_as_it_was_and_what_goes_is_counted(repeated, tmp_path, capsys):
    output = tmp_path / "clean.jsonl.gz"
    assert main(flags(repeated, output)) == DONE
    lines = (repeated / "questions.jsonl").read_text().splitlines()
    expected = [json.loads(line) for n, line in enumerate(lines) if n not in (3, 4, 6)]
    found = gzip.decompress(output.read_bytes()).decode().splitlines()
    assert [json.loads(line) for line in found] == expected
    said = capsys.readouterr().err
    assert "2 of train left out: 'q3', 'q4'\n1 of dev left out: 'q6'\n" in said
    assert f"8 of 11 questions are in {output}" in said


def test_clean_questions_are_copied_unanswerable_ones_too(small_law, tmp_path, capsys):
    assert main(flags(small_law, tmp_path / "clean.jsonl")) == DONE
    same = [read_questions(each / name).questions for each, name in (
        (small_law, "questions.jsonl"), (tmp_path, "clean.jsonl"))]  # fmt: skip
    assert same[0] == same[1] and not all(each.answerable for each in same[0])
    assert "left out" not in capsys.readouterr().err


def test_nothing_is_written_over_and_a_faulty_file_is_said(repeated, tmp_path, capsys):
    source = repeated / "questions.jsonl"
    before = source.read_bytes()
    assert main(flags(repeated, source)) == WRONG_USE
    assert source.read_bytes() == before
    assert "is there already" in capsys.readouterr().err
    source.write_text('{"id": "q1"}\n')
    assert main(flags(repeated, tmp_path / "clean.jsonl")) == FAILED
    assert not (tmp_path / "clean.jsonl").exists()


SPLITS = st.sampled_from(["train", "dev", "test", "other", None])


@given(st.lists(st.tuples(st.sampled_from(["a", "A ", "b", "ﬁ", "fi"]), SPLITS), max_size=12))
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
