from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.statutes.question import Question
from training.ablation.folds import folds_of


def asked(texts: list[str]) -> list[Question]:
    return [Question(f"q{n}", text, ("a",)) for n, text in enumerate(texts)]


@given(
    st.lists(st.sampled_from([f"Who pays {n}?" for n in range(12)]), min_size=12, max_size=40),
    st.integers(2, 4),
    st.integers(0, 5),
)
def test_folds_part_the_questions_evenly_and_no_text_stands_in_two(
    texts: list[str], n_folds: int, seed: int
) -> None:
    # So that there are as many different texts as folds.
    texts += [f"Who pays {n}?" for n in range(n_folds)]
    varied = [text.upper() if n % 2 else f" {text} " for n, text in enumerate(texts)]
    folds = folds_of(asked(varied), n_folds, seed=seed)
    fold_of: dict[str, set[int]] = {}
    for text, fold in zip(texts, folds, strict=True):
        fold_of.setdefault(text, set()).add(fold)
    assert all(len(stands) == 1 for stands in fold_of.values())
    sizes = Counter(folds)
    assert set(sizes) == set(range(n_folds))
    assert max(sizes.values()) - min(sizes.values()) <= max(Counter(texts).values())


def test_a_seed_decides() -> None:
    questions = asked([f"Question {n}" for n in range(30)])
    assert folds_of(questions, 5, seed=3) == folds_of(questions, 5, seed=3)
    assert folds_of(questions, 5, seed=3) != folds_of(questions, 5, seed=4)


def test_more_folds_than_questions_are_refused() -> None:
    with pytest.raises(ValueError, match="2 different questions cannot be put into 3 folds"):
        folds_of(asked(["One?", "Two?", "two?  "]), 3, seed=0)


def test_folds_do_not_depend_on_the_hash_seed() -> None:
    code = (
        "from components.statutes.question import Question\n"
        "from training.ablation.folds import folds_of\n"
        "asked = [Question(str(n), f'Question {n % 20}', ('a',)) for n in range(30)]\n"
        "print(folds_of(asked, 5, seed=1))"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert printed[0] == printed[1] != b""
