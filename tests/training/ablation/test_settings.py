from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from training.ablation.arms import CUSINES_ARMS, RANKER_ARMS
from training.ablation.settings import (
    RANKER_RESULTS,
    AblationSettings,
    GraphAblationSettings,
    GridSettings,
    RankerAblationSettings,
)
from training.command_line import SettingsError, settings_from
from training.ranking.settings import RankerTrainingSettings
from training.settings import CusinesSettings

Settings = Callable[..., GridSettings]


def read(*arguments: str) -> GridSettings:
    return settings_from("ablate", "What it does.", AblationSettings, arguments)


def test_what_all_runs_have_in_common_reaches_training(grid_settings: Settings) -> None:
    base = grid_settings(temperature=0.07, epochs=9, head="identity").base("aldermere")
    assert isinstance(base, CusinesSettings)
    assert (base.temperature, base.epochs, base.head) == (0.07, 9, "identity")
    assert base.corpus == base.questions == "aldermere"


def test_the_defaults_are_those_of_training() -> None:
    settings = read("--datasets", "[aldermere]", "--output", "out")
    own = {field.name for field in dataclasses.fields(settings)}
    assert {"epochs", "learning_rate", "select_by", "device"} <= own
    # What the arms and seeds decide cannot be said twice.
    assert not {"views", "schedule", "permute_tree", "seed", "corpus", "final"} & own
    expected = CusinesSettings(corpus="aldermere", questions="aldermere", output="out")
    assert settings.base("aldermere") == expected


def test_a_file_and_flags_set_both_kinds_of_fields(tmp_path: Path) -> None:
    file = tmp_path / "grid.yaml"
    file.write_text("datasets: [aldermere]\nseeds: [3, 4]\nepochs: 5\ntemperature: 0.2\n")
    settings = read("--epochs", "7", "--config", str(file), "--output", "o", "--arms", "[tree]")
    base = settings.base("aldermere")
    assert (list(settings.seeds), list(settings.arms)) == ([3, 4], ["tree"])
    assert (base.epochs, base.temperature) == (7, 0.2)


@pytest.mark.parametrize("preset", ["ablate_small", "ablate"])
def test_presets_are_read(preset: str) -> None:
    file = Path(__file__).parents[3] / "training" / "configs" / f"{preset}.yaml"
    settings = read("--config", str(file), "--output", "out")
    assert "cusines" in settings.chosen_arms
    settings.base(settings.datasets[0])


def test_help_explains_the_grid_and_every_shared_setting(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit, match="0"):
        read("--help")
    text = " ".join(capsys.readouterr().out.split())
    assert "One run of each arm (and fold) a seed." in text
    assert "Times that each (question, positive) pair is seen. Paper: 15." in text
    assert "--select_by SELECT_BY Metric on dev that chooses the best epoch, such as R@10" in text
    assert "1 measures on the given dev split." in text


def test_a_grid_of_graphs_takes_no_setting_that_its_arms_decide(
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = Path(__file__).parents[3] / "training" / "configs" / "ablate_graph.yaml"
    flags = ["--config", str(file), "--output", "out"]
    settings_from("ablate_graph", "What it does.", GraphAblationSettings, flags)
    for name, value in (
        ("views", "tree"),
        ("buckets", "5"),
        ("candidates", "9"),
        ("network", "gat"),
    ):
        with pytest.raises(SystemExit, match="2"):
            settings_from(
                *("ablate_graph", "What it does.", GraphAblationSettings),
                [*flags, f"--{name}", value],
            )
        assert f"--{name}" in capsys.readouterr().err


def of_rankers(*arguments: str) -> GridSettings:
    return settings_from("ablate_ranker", "What it does.", RankerAblationSettings, arguments)


def test_a_grid_of_rankers_has_every_setting_of_their_training_but_what_it_decides(
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings = of_rankers("--datasets", "[aldermere]", "--output", "out", "--passages", "3")
    own = {field.name for field in dataclasses.fields(settings)}
    trained = {field.name for field in dataclasses.fields(RankerTrainingSettings)}
    decided = {"corpus", "questions", "seed", "strategy", "negatives"}
    assert trained - own == decided
    assert settings.base("aldermere") == RankerTrainingSettings(
        corpus="aldermere", questions="aldermere", output="out", passages=3
    )
    assert (settings.results, settings.measured_on) == (RANKER_RESULTS, "dev")
    assert settings.chosen_arms == RANKER_ARMS.tables["table2"]
    with pytest.raises(SystemExit, match="0"):
        of_rankers("--help")
    text = " ".join(capsys.readouterr().out.split())
    assert "The split that is measured, dev or test." in text
    assert "Articles that the first stage finds for a question" in text
    assert "--folds" not in text


def test_the_preset_of_rankers_is_the_whole_table_2_on_test() -> None:
    file = Path(__file__).parents[3] / "training" / "configs" / "ablate_ranker.yaml"
    settings = of_rankers("--config", str(file), "--output", "out")
    assert settings.chosen_arms == RANKER_ARMS.tables["table2"]
    assert (len(settings.seeds), settings.measured_on) == (3, "test")
    settings.base(settings.datasets[0])


def test_without_arms_the_main_ones_are_compared(grid_settings: Settings) -> None:
    assert grid_settings(arms=()).chosen_arms == CUSINES_ARMS.tables["main"]
    assert grid_settings(tables=("table4",), arms=("tree",)).chosen_arms == (
        "bm25_fixed",
        "tree",
        "static",
        "cusines",
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"datasets": ()}, "datasets: name at least one"),
        ({"seeds": (1, 1)}, "seeds: .* each once"),
        ({"folds": 0}, "folds is 0"),
        ({"compare": ("R@7",)}, "'R@7' is not measured"),
        ({"output": ""}, "output: '.?' has no name"),
        ({"output": "."}, "output: '.' has no name"),
        ({"budget_s": -5.0}, "budget_s is -5"),
        ({"arms": ("best",)}, "none is called 'best'"),
    ],
)
def test_wrong_settings_are_refused(
    grid_settings: Settings, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        grid_settings(**fields)


def test_a_wrong_shared_setting_is_refused_too(grid_settings: Settings) -> None:
    with pytest.raises(SettingsError, match="epochs is 0"):
        grid_settings(epochs=0).base("aldermere")
