"""The ranker's part of the GPU script, as far as a machine without one can tell."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import torch

from components.models.errors import ModelError
from training.ablation.arms import RANKER_ARMS
from training.ablation.settings import RankerAblationSettings

SCRIPT = Path(__file__).with_name("run.py")


@pytest.fixture(autouse=True)
def beside_the_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPT.parent))


def test_its_checks_hold_on_the_cpu_but_for_speed() -> None:
    specification = importlib.util.spec_from_file_location("gpu_run", SCRIPT)
    assert specification is not None and specification.loader is not None
    run = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(run)
    from ranker_checks import check_ranker

    checks = run.Checks()
    small = {"n_questions": 2, "hidden": 384, "layers": 6}
    measured = check_ranker(
        checks, torch.device("cpu"), run.seconds, run.texts, run.base_model, **small
    )
    assert [name for name in checks.failed if "times" not in name] == []
    assert measured["pairs"] == 180


@pytest.mark.parametrize("models", [("all-MiniLM-L6-v2",) * 2, ("minilm",) * 2])
def test_the_whole_table_is_made_on_each_law_that_is_there_and_only_tables_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, models: tuple[str, str]
) -> None:
    import ranker_grid

    asked: list[RankerAblationSettings] = []

    def made(settings: RankerAblationSettings) -> None:
        asked.append(settings)
        output = Path(settings.output)
        (output / "work").mkdir()
        (output / f"{Path(settings.datasets[0]).name}.md").write_text("## table\n")

    monkeypatch.setattr(ranker_grid, "ablate", made)
    for law in ("pdpa_en", "obliqa_en", "first_stage/obliqa_en"):
        (tmp_path / "data" / law).mkdir(parents=True)
    if models[0] == "minilm":
        (tmp_path / "data" / "models" / "minilm").mkdir(parents=True)
    out, results = tmp_path / "out", tmp_path / "ranker.jsonl"
    ranker_grid.go_on(tmp_path / "data", out, results, 60.0)
    assert [(Path(each.datasets[0]).name, each.measure_on, each.epochs) for each in asked] == [
        ("obliqa_en", "dev", 2),
        ("pdpa_en", "test", 4),
    ]
    assert [each.dev_candidates for each in asked] == [20, 20]
    assert [Path(each.model).name for each in asked] == ["obliqa_en", models[1]]
    for each in asked:
        assert Path(each.start).name == models[0]
        assert each.chosen_arms == RANKER_ARMS.tables["table2"]
        assert each.budget_s is not None and 0 < each.budget_s <= 60
        assert each.results == str(results)
    assert sorted(str(path.relative_to(out)) for path in out.rglob("*")) == [
        "ranker",
        "ranker/obliqa_en.md",
        "ranker/pdpa_en.md",
    ]


def test_a_law_that_wants_a_trained_first_stage_is_passed_over_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import ranker_grid

    monkeypatch.setattr(ranker_grid, "ablate", lambda settings: pytest.fail("nothing can be run"))
    (tmp_path / "obliqa_en").mkdir()
    ranker_grid.go_on(tmp_path, tmp_path / "out", tmp_path / "ranker.jsonl", 60.0)
    out = capsys.readouterr().out
    assert f"{tmp_path / 'first_stage' / 'obliqa_en'} is not there: no grid on obliqa_en" in out
    assert f"{tmp_path / 'pdpa_en'} is not there: no grid on pdpa_en" in out


def test_a_machine_without_the_model_is_told_so_before_any_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import starting_model

    monkeypatch.setattr(starting_model, "MINILM", "sentence-transformers/no-such-model")
    with pytest.raises(ModelError):
        starting_model.minilm(tmp_path)
    (tmp_path / "models" / "minilm").mkdir(parents=True)
    assert starting_model.minilm(tmp_path) == str(tmp_path / "models" / "minilm")
