"""A start that has learnt the questions: no folds over it, and a word where dev is among them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from graph_runs import GRAPH_SHORT

from components.models.manifest import MANIFEST_FILE, Manifest
from training import cusines, graph
from training.ablation.dataset import Dataset
from training.ablation.settings import (
    AblationSettings,
    GraphAblationSettings,
    GridSettings,
    RankerAblationSettings,
)
from training.command_line import DONE, SettingsError
from training.learnt_questions import say_where_dev_is_learnt, trainings_on
from training.ranking.settings import RankerTrainingSettings
from training.settings import CusinesSettings

Made = Callable[..., Path]


@pytest.fixture
def law(write_law: Any, article: Any, question: Any, tmp_path: Path) -> Path:
    """A law whose questions are all of train: 20 of them."""
    return write_law(
        tmp_path / "law", [article(n) for n in range(30)], [question(n, [n]) for n in range(20)]
    )


@pytest.fixture
def made(law: Path, tmp_path: Path) -> Made:
    """`made(name, data=..., **config)`: a model folder, as its manifest tells, of that law."""

    def folder(name: str, questions: str | None = None, **config: Any) -> Path:
        questions = questions or Dataset.read(str(law)).given.questions_sha256
        path = tmp_path / name
        path.mkdir()
        sides = dict.fromkeys(("query", "passage"), "biencoder/query")
        manifest = Manifest(
            *(("biencoder",), "base", sides, 32),
            config=config,
            data={"questions_sha256": questions},
        )
        (path / MANIFEST_FILE).write_text(manifest.to_json(), encoding="utf-8")
        return path

    return folder


@pytest.fixture
def grid(law: Path, tiny_bert: Path, tmp_path: Path) -> Callable[..., tuple[GridSettings, Dataset]]:
    """`grid(kind, field=value, ...)`: a grid on that law, and the law as it reads it."""

    def of(kind: type[GridSettings], **fields: Any) -> tuple[GridSettings, Dataset]:
        values = {"datasets": (str(law),), "output": str(tmp_path / "grid"), **fields}
        settings = kind(**{"model": str(tiny_bert), **values})
        return settings, Dataset.read(str(law), dev_share=settings.base(str(law)).dev_share)

    return of


KINDS = [AblationSettings, GraphAblationSettings]


@pytest.mark.parametrize("kind", KINDS)
def test_questions_that_the_start_has_learnt_are_not_put_into_folds(
    kind: type[GridSettings], grid: Any, made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    model = made("model")
    settings, dataset = grid(kind, model=str(model), folds=5)
    with pytest.raises(SettingsError, match=f"{model} has learnt these questions.*Set folds to 1"):
        settings.folds_of(dataset)
    settings, dataset = grid(kind, model=str(model))
    assert settings.folds_of(dataset) == 1
    assert f"law: measured on dev alone, in no folds, as {model}" in capsys.readouterr().err
    settings, dataset = grid(kind, model=str(model), folds=1)
    assert settings.folds_of(dataset) == 1
    assert "in no folds" not in capsys.readouterr().err


@pytest.mark.parametrize("kind", KINDS)
def test_a_start_that_has_learnt_none_of_them_is_measured_in_folds(
    kind: type[GridSettings], grid: Any, made: Made
) -> None:
    for model in ({}, {"model": str(made("other", "0" * 64, final=True))}):
        settings, dataset = grid(kind, **model)
        assert settings.folds_of(dataset) == 5


@pytest.mark.parametrize("learnt", [{"final": True}, {"dev_share": 0.05}, {"dev_share": 0.0}])
def test_a_grid_measures_no_dev_question_that_the_start_has_learnt(
    learnt: dict[str, Any], grid: Any, made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(made("model", **learnt))
    for kind, fields in ((GraphAblationSettings, {"folds": 1}), (RankerAblationSettings, {})):
        settings, dataset = grid(kind, model=model, **fields)
        with pytest.raises(SettingsError, match=f"{model} has learnt questions of dev"):
            settings.folds_of(dataset)
    settings, dataset = grid(RankerAblationSettings, model=model, measure_on="test")
    assert settings.folds_of(dataset) == 1
    assert f"WARNING: {model}" in capsys.readouterr().err


def test_what_a_start_was_made_from_has_learnt_for_it(
    law: Path, made: Made, tmp_path: Path
) -> None:
    below = made("below", final=True)
    middle = made("middle", "0" * 64, model=str(below))
    top = made("top", query_model=str(middle), passage_model=str(tmp_path / "gone"))
    settings = CusinesSettings(corpus="law", questions="law", output="out", model=str(top))
    digest = Dataset.read(str(law)).given.questions_sha256
    found = trainings_on(digest, settings)
    assert [training.model for training in found] == [str(top), str(below)]
    assert found[1].config["final"]


def test_a_ranker_over_a_first_stage_that_has_learnt_dev_says_so(
    law: Path, made: Made, tiny_bert: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = Dataset.read(str(law), dev_share=0.1).given
    values: dict[str, Any] = {"corpus": str(law), "questions": str(law), "output": "out"}
    fine, final = str(made("fine", dev_share=0.1, final=False)), str(made("final", final=True))
    for first, start, said in (
        (fine, str(tiny_bert), 0),
        (final, str(tiny_bert), 1),
        (fine, final, 1),
    ):
        settings = RankerTrainingSettings(**values, model=first, start=start)
        say_where_dev_is_learnt(settings, data)
        assert capsys.readouterr().err.count("WARNING") == said


def test_a_graph_over_a_bi_encoder_that_learnt_dev_in_the_end_says_so(
    flags: Any, tmp_path: Path, small_law: Path, no_plots: None, capsys: pytest.CaptureFixture[str]
) -> None:
    for final in ("false", "true"):
        below = tmp_path / f"below-{final}"
        assert cusines.main(flags(output=below, max_steps=2, final=final)) == DONE
        capsys.readouterr()
        asked = {"corpus": small_law, "questions": small_law, "model": below, **GRAPH_SHORT}
        asked |= {"max_steps": 1, "output": tmp_path / f"graph-{final}", "final": final}
        assert graph.main([p for n, v in asked.items() for p in (f"--{n}", f"{v}")]) == DONE
        said = capsys.readouterr().err.count(
            f"WARNING: {below} has learnt questions of dev (final)"
        )
        assert said == (final == "true")
