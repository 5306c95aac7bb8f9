from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from training.ablation.dataset import Dataset
from training.ablation.grid import runs_of
from training.ablation.identity import key_of
from training.ablation.run import Run
from training.ablation.settings import RankerAblationSettings

Runs = Callable[..., list[Run]]


def key(runs: Runs, arm: str = "cusines", **fields: Any) -> str:
    return next(run.key for run in runs(arms=("bm25_fixed", arm), **fields) if run.arm == arm)


def test_a_run_is_the_same_wherever_data_and_model_lie_and_whatever_it_runs_on(
    runs: Runs, small_law: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    law, model = tmp_path / "a law", tmp_path / "a model"
    shutil.copytree(small_law, law)
    shutil.copytree(tiny_bert, model)
    elsewhere = key(
        runs,
        datasets=(str(law),),
        model=str(model),
        output=str(tmp_path / "other"),
        checkpoint_every=7,
        seeds=(1, 0),
    )
    assert key(runs, seeds=(0,)) in {elsewhere, *(run.key for run in runs(seeds=(1, 0)))}
    assert key(runs, seeds=(1,)) == elsewhere


@pytest.mark.parametrize(
    "fields",
    [
        {"learning_rate": 1e-5},
        {"negatives_per_question": 2},
        {"max_steps": 3},
        {"seeds": (1,)},
        {"folds": 2},
        {"dtype": "auto"},
        {"select_by": "R@100"},
        # With dropout other pieces draw other numbers.
        {"gradient_caching": True},
        {"gradient_caching": True, "token_budget": 512},
    ],
)
def test_what_a_result_depends_on_is_in_the_key(runs: Runs, fields: dict[str, Any]) -> None:
    assert key(runs) != key(runs, **fields)


def test_another_model_is_another_run(runs: Runs, other_bert: Path) -> None:
    assert key(runs) != key(runs, model=str(other_bert))


def test_other_splits_of_the_same_questions_are_other_runs(
    runs: Runs, small_law: Path, tmp_path: Path
) -> None:
    law = tmp_path / "law"
    shutil.copytree(small_law, law)
    lines = [json.loads(line) for line in (law / "questions.jsonl").open(encoding="utf-8")]
    lines[0]["split"] = "dev"
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (law / "questions.jsonl").write_text(text, encoding="utf-8")
    assert key(runs) != key(runs, datasets=(str(law),))


def test_every_fold_and_arm_has_a_key_of_its_own_but_for_arms_with_equal_settings(
    runs: Runs,
) -> None:
    made = runs(tables=("main", "figure1"), folds=2)
    keys = {run.key for run in made}
    # Three buckets are what CuSINeS has.
    assert len(keys) == len(made) - 2


def test_an_untrained_model_does_not_depend_on_how_others_are_trained(runs: Runs) -> None:
    untrained = key(runs, "untrained")
    assert untrained == key(runs, "untrained", learning_rate=1e-5, epochs=9)
    assert untrained != key(runs, "untrained", pooling="cls")


def test_a_line_from_before_a_setting_existed_keeps_its_key(runs: Runs) -> None:
    about = json.loads(json.dumps(runs()[0].about))
    before = key_of(about)
    del about["settings"]["reduction"]
    assert key_of(about) == before
    about["settings"]["reduction"] = "question_sum"
    assert key_of(about) != before


@pytest.fixture
def ranker_keys(small_law: Path, tiny_bert: Path, tmp_path: Path) -> Callable[..., dict[str, str]]:
    """`ranker_keys(field=value, ...)`: arm to key of a grid of rankers."""
    place = str(small_law)

    def of(**fields: Any) -> dict[str, str]:
        values = {"model": str(tiny_bert), "start": str(tiny_bert), **fields}
        settings = RankerAblationSettings(
            datasets=(place,), output=str(tmp_path / "grid"), seeds=(0,), **values
        )
        return {run.arm: run.key for run in runs_of(settings, [Dataset.read(place)])}

    return of


def test_every_arm_of_a_ranker_has_a_key_of_its_own(
    ranker_keys: Callable[..., dict[str, str]],
) -> None:
    keys = ranker_keys()
    assert len(set(keys.values())) == len(keys) == 11


def test_what_is_not_trained_does_not_depend_on_how_others_are(
    ranker_keys: Callable[..., dict[str, str]], other_bert: Path
) -> None:
    before = ranker_keys()

    def changed(**fields: Any) -> set[str]:
        after = ranker_keys(**fields)
        return {arm for arm in before if after[arm] != before[arm]}

    trained = set(before) - {"first_stage", "untrained"}
    assert changed(checkpoint_every=7, device="cpu") == set()
    assert changed(learning_rate=1e-3) == trained
    assert changed(passages=3) == {*trained, "untrained"}
    assert changed(candidates=30) == set(before)
    assert changed(model=str(other_bert)) == set(before)
