"""A model that nothing of what is asked would read is refused by every command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines import ask, calibrate, evaluate, serve
from pipelines.files import LoadingError
from pipelines.home import check_model_is_read
from ui import __main__ as page

WRONG_USE = 2
COMMANDS: dict[str, tuple[Callable[[list[str]], int], list[str]]] = {
    "ask": (ask.main, ["rent"]),
    "serve": (serve.main, ["--port", "0"]),
    "page": (page.main, ["--port", "0"]),
    "evaluate": (evaluate.main, ["--questions", "aldermere"]),
    "calibrate": (calibrate.main, ["--questions", "aldermere"]),
}
CHOOSING = ("ask", "serve", "page")


@pytest.mark.parametrize("name", CHOOSING)
def test_a_model_over_text_alone_is_refused(
    name: str, text_store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main, arguments = COMMANDS[name]
    assert main([*arguments, "--store", str(text_store), "--model", "no-such/model"]) == WRONG_USE
    told = capsys.readouterr().err
    assert f"{text_store} holds text alone, no vectors" in told
    assert f"--store {text_store} --model DIR" in told
    assert "or use the pipeline 'lexical', without a model." in told


@pytest.mark.parametrize("name", COMMANDS)
def test_a_model_for_a_pipeline_without_one_is_refused_over_any_store(
    name: str, text_store: Path, law_store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main, arguments = COMMANDS[name]
    for store in (text_store, law_store):
        given = ["--store", str(store), "--pipeline", "lexical", "--model", "no-such/model"]
        assert main([*arguments, *given]) == WRONG_USE
        told = capsys.readouterr().err
        assert "--model no-such/model: no model is read by the pipeline 'lexical'" in told
        assert "Leave --model out, or ask a pipeline that reads one" in told


def test_one_of_several_pipelines_may_leave_the_model_alone() -> None:
    check_model_is_read(["lexical", "hybrid"], "my/model")
    check_model_is_read(["lexical"], None)
    check_model_is_read([None], "my/model")
    with pytest.raises(LoadingError, match="by the pipeline 'lexical', 'lexical'"):
        check_model_is_read(["lexical", "lexical"], "my/model")


def test_a_ranker_over_words_alone_reads_the_model(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(
        "components:\n  ranker:\n    type: components.rankers.cross_encoder.StatuteRanker\n"
    )
    check_model_is_read([str(mine)], "my/model")
