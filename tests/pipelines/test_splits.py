"""Which questions of a file the commands ask."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from components.stores.answerability import load_threshold
from components.stores.sqlite import StatuteDocumentStore
from pipelines import calibrate, evaluate

SUBJECTS = ("rent", "repairs", "deposit", "notice", "wages", "leave", "custody", "support")
LAWS = ("housing", "work", "family")


def write(path: Path, splits: Sequence[str | None]) -> str:
    lines: list[dict[str, Any]] = []
    for n, split in enumerate(splits, start=7):
        text = f"Rule {n} on {SUBJECTS[n % 8]}: the {LAWS[n % 3]} officer decides."
        line = {"id": f"q{n}", "text": text, "relevant": [f"a{n}"]}
        lines.append(line if split is None else {**line, "split": split})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def test_questions_without_splits_are_all_measured(
    text_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    questions = write(tmp_path / "own.jsonl", [None, None, None])
    arguments = ["--questions", questions, "--store", str(text_store), "--pipeline", "lexical"]
    assert evaluate.main(arguments) == 0
    out, err = capsys.readouterr()
    assert out.startswith("lexical, 3 questions of all splits, ")
    assert f"No question of {questions} names a split: all 3 are asked." in err
    assert evaluate.main([*arguments, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["split"], result["n_questions"]) == ("all", 3)


def test_questions_without_splits_calibrate_together(
    law_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "own.db"
    shutil.copy(law_store, store)
    questions = write(tmp_path / "own.jsonl", [None] * 18)
    arguments = ["--questions", questions, "--store", str(store), "--pipeline", "dense"]
    assert calibrate.main(arguments) == 0
    out, err = capsys.readouterr()
    assert out.startswith("dense, best score of the stage 'dense', all splits\n")
    assert f"No question of {questions} names a split: all 18 are asked." in err
    opened = StatuteDocumentStore(str(store))
    assert opened.model is not None
    kept = load_threshold(opened, "dense", opened.model.digest)
    opened.close()
    assert kept is not None
    assert (kept.split, kept.n_answerable) == ("all", 18)


@pytest.mark.parametrize("command", [calibrate, evaluate])
@pytest.mark.parametrize(
    ("splits", "asked", "message"),
    [
        (["test", "train", None], ("--split", "dev"), "It has the splits (none), test, train."),
        ([None, None], ("--split", "dev"), "leave --split out to ask them all."),
        (["train", None], (), "It has the splits (none), train."),
    ],
)
def test_a_split_that_is_not_there_is_refused(
    text_store: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    command: Any,
    splits: list[str | None],
    asked: tuple[str, ...],
    message: str,
) -> None:
    questions = write(tmp_path / "own.jsonl", splits)
    arguments = ["--questions", questions, "--store", str(text_store), "--pipeline", "lexical"]
    assert command.main([*arguments, *asked]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"error: --split: {questions} has no question of the split" in err
    assert err.rstrip().endswith(message)


def test_a_split_that_no_article_answers_is_refused(
    text_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    questions = tmp_path / "own.jsonl"
    questions.write_text('{"id": "q", "text": "Pets?", "relevant": [], "answerable": false}\n')
    arguments = ["--questions", str(questions), "--store", str(text_store)]
    assert evaluate.main([*arguments, "--pipeline", "lexical"]) == 2
    assert "has no answerable question of all splits" in capsys.readouterr().err
