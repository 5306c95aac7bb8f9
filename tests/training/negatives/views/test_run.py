"""A run file as a view."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from components.statutes import Article, Question
from components.statutes.metrics import write_trec_run
from training.negatives.gold import Gold
from training.negatives.sampling import CurriculumNegatives
from training.negatives.views.run import RunView

CPU = torch.device("cpu")
OWN = (np.array([0]), np.array([1]))
GOLD = Gold(("q 0", "q1"), ("a", "b", "c", "d%20", "e f"), OWN, OWN)


def view_of(folder: Path, text: str) -> RunView:
    path = folder / "some.run"
    path.write_text(text)
    return RunView(path, GOLD, CPU)


def test_the_score_orders_and_what_was_not_found_is_easiest_and_tied(tmp_path):
    view = view_of(
        tmp_path,
        "q%200 Q0 c 1 -3.5 tag\nq1 Q0 a 1 9 tag\n\n"
        "q%200 Q0 a 2 1e30 tag\nq%200 Q0 e%20f 3 -3.5 tag\n",
    )
    assert view.difficulty(np.array([1, 0])).tolist() == [[1, 0, 0, 0, 0], [2, 0, 1, 0, 1]]


def test_scores_that_float32_cannot_tell_apart_keep_their_order(tmp_path):
    close = "".join(f"q1 Q0 {a} 1 {1 + n * 1e-12} t\n" for n, a in enumerate("abc"))
    view = view_of(tmp_path, close + "q%200 Q0 a 1 1 t\n")
    assert view.difficulty(np.array([1])).tolist() == [[1, 2, 3, 0, 0]]


def test_runs_that_the_house_writes_are_read_and_other_questions_left_out(tmp_path):
    path = tmp_path / "written.run"
    run = {"q 0": ["e f", "d%20"], "q1": ["b"], "of another split": ["not in the corpus"]}
    write_trec_run(path, run, "tag")
    assert RunView(path, GOLD, CPU).difficulty(np.array([0])).tolist() == [[0, 0, 0, 1, 2]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q1 Q0 a 1 9\n", r"some\.run:1: 5 columns where a run has six"),
        ("\nq1 Q0 x 1 9 t\n", r"some\.run:2: article 'x' is not in the corpus"),
        ("q1 Q0 a 1 9 t\nq1 Q0 a 2 8 t\n", r"some\.run:2: article 'a' stands twice for .* 'q1'"),
        ("q1 Q0 a 1 high t\n", r"some\.run:1: score 'high' is not a number"),
        ("q1 Q0 a 1 nan t\n", r"some\.run:1: score 'nan' is not a number"),
        ("q1 Q0 a 1 9 t\n", r"some\.run: 1 questions found nothing: 'q 0'"),
    ],
)
def test_a_faulty_run_is_refused_by_file_and_line(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        view_of(tmp_path, text)


@pytest.mark.parametrize(
    "line", [b"q1 Q0 \xff 1 9 t", b"q1 Q0 a 1 9 \xe9t", "\ud800".encode("utf-8", "surrogatepass")]
)
def test_bytes_that_are_no_text_are_refused_by_line(tmp_path, line):
    path = tmp_path / "some.run"
    path.write_bytes("other Q0 a 1 9 é\n".encode() * 5000 + line + b"\n")
    with pytest.raises(ValueError, match=r"some\.run:5001: is not UTF-8 text. Save it as UTF-8"):
        RunView(path, GOLD, CPU)


def test_a_missing_run_is_no_empty_one(tmp_path):
    with pytest.raises(FileNotFoundError):
        RunView(tmp_path / "absent.run", GOLD, CPU)


def test_the_setting_is_named_that_the_run_was_given_in(tmp_path):
    articles = [Article(f"a{n}", "Law", str(n), (), f"words {n}") for n in range(10)]

    def negatives(path: Path) -> CurriculumNegatives:
        return CurriculumNegatives(
            *(articles, [Question("q0", "?", ("a0",))]),
            views=("run",),
            negatives_per_question=1,
            run=path,
        )

    with pytest.raises(FileNotFoundError, match=r"^run_file .*run\): .*absent\.run cannot be read"):
        negatives(tmp_path / "absent.run")
    with pytest.raises(IsADirectoryError, match=r"^run_file .* cannot be read \(Is a directory\)"):
        negatives(tmp_path)
    (tmp_path / "some.run").write_text("\nq0 Q0 moon 1 9 t\n")
    with pytest.raises(ValueError, match=r"^run_file .*some\.run:2: article 'moon' is not in"):
        negatives(tmp_path / "some.run")
