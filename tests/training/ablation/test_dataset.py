from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rank_bm25 import BM25Okapi

from components.statutes.article import indexed_text
from components.statutes.lexical import analyzer
from training.ablation.dataset import Dataset
from training.command_line import SettingsError
from training.rank_fusion import FUSED_FROM


@pytest.fixture(scope="module")
def aldermere() -> Dataset:
    return Dataset.read("aldermere")


def test_small_data_is_measured_in_five_folds_and_large_on_its_dev_split(
    aldermere: Dataset, write_law: Any, question: Callable[..., Any], tmp_path: Path
) -> None:
    many = [question(n, [n % 30], "dev" if n < 50 else "train") for n in range(200)]
    large = Dataset.read(str(write_law(tmp_path / "large", questions=many)))
    assert aldermere.n_folds(None) == 5
    assert large.n_folds(None) == 1
    assert large.n_folds(3) == 3


def test_the_folds_of_a_seed_measure_every_question_once(aldermere: Dataset) -> None:
    splits = [aldermere.split(5, fold, seed=1) for fold in range(5)]
    rows = [row for split in splits for row in split.rows]
    assert sorted(rows) == list(range(len(aldermere.questions)))
    for split in splits:
        assert split.data.dev == [aldermere.questions[row] for row in split.rows]
        assert len(split.data.train) + len(split.data.dev) == len(aldermere.questions)
    assert len({split.sha256 for split in splits}) == 5


def test_one_fold_is_the_given_split(aldermere: Dataset) -> None:
    split = aldermere.split(1, 0, seed=3)
    assert split.data is aldermere.given
    assert [aldermere.questions[row] for row in split.rows] == aldermere.given.dev


def test_data_without_dev_questions_needs_folds(
    write_law: Any, question: Callable[..., Any], tmp_path: Path
) -> None:
    asked = [question(n, [n % 30]) for n in range(8)]
    dataset = Dataset.read(str(write_law(tmp_path / "law", questions=asked)))
    with pytest.raises(SettingsError, match="Set folds to 5"):
        dataset.n_folds(1)
    with pytest.raises(SettingsError, match="8 different questions cannot be put into 9 folds"):
        dataset.n_folds(9)
    assert dataset.n_folds(None) == 5


@pytest.mark.parametrize(("number", "cure"), [(1, "Give more questions"), (3, "Set folds to 3")])
def test_no_more_folds_are_advised_than_there_are_questions(
    write_law: Any, question: Callable[..., Any], tmp_path: Path, number: int, cure: str
) -> None:
    asked = [question(n, [n]) for n in range(number)]
    dataset = Dataset.read(str(write_law(tmp_path / "law", questions=asked)))
    with pytest.raises(SettingsError, match=cure):
        dataset.n_folds(1)


def test_bm25_ranks_as_rank_bm25_does(aldermere: Dataset) -> None:
    rankings = aldermere.lexical(k1=1.2, b=0.6, text_rule="headings_text")
    analyse = analyzer("en")
    oracle = BM25Okapi(
        [analyse(indexed_text(a.headings, a.text)) for a in aldermere.given.corpus], k1=1.2, b=0.6
    )
    assert len(rankings) == len(aldermere.questions)
    for question, found in list(zip(aldermere.questions, rankings, strict=True))[::9]:
        scores = oracle.get_scores(analyse(question.text))
        assert len(found) == min(FUSED_FROM, int((scores > 0).sum()))
        assert np.all(np.diff(scores[found]) <= 1e-5)
        left = np.delete(scores, found)
        assert left.max() <= scores[found].min() + 1e-5


def test_bm25_is_ranked_once(aldermere: Dataset) -> None:
    options: Any = {"k1": 1.5, "b": 0.75, "text_rule": "text"}
    assert aldermere.lexical(**options) is aldermere.lexical(**options)
    assert aldermere.lexical(**options) is not aldermere.lexical(**{**options, "b": 0.1})
