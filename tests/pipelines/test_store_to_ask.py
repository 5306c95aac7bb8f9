"""Which store is asked: the one given, the one that the pipeline's file gives, the demo's."""

from pathlib import Path

import pytest

from pipelines import ask, home
from pipelines.command_line import WRONG_USE
from pipelines.files import FOLDER, LoadingError, names_to_ask, store_named_in


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    text = (FOLDER / "lexical.yaml").read_text(encoding="utf-8")
    path = tmp_path / "mine.yml"
    path.write_text(text.replace("path: null", f"path: {tmp_path / 'mine.db'}"), encoding="utf-8")
    return path


def test_the_store_given_comes_first(mine: Path) -> None:
    assert home.store_to_ask("law.db", str(mine), print) == Path("law.db")


def test_a_files_own_store_is_asked_whatever_its_suffix(mine: Path) -> None:
    assert home.store_to_ask(None, str(mine), print) == mine.parent / "mine.db"


def test_the_demo_store_is_the_last_resort(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    demo = tmp_path / "demo.db"
    monkeypatch.setattr(home, "ensure_demo_store", lambda say, trained: demo)
    assert home.store_to_ask(None, "lexical", print) == demo
    assert home.store_to_ask(None, None, print) == demo


def test_a_file_that_is_refused_is_refused_here_too(tmp_path: Path) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text("components: [1, 2]", encoding="utf-8")
    assert store_named_in(path) is None  # its shape is the loader's to refuse
    path.write_text("a: &x 1\nb: *x\n", encoding="utf-8")
    with pytest.raises(LoadingError, match=r"odd.yaml:1"):
        store_named_in(path)


@pytest.mark.parametrize("name", ["index", "index_graph"])
@pytest.mark.parametrize("model", [[], ["--model", "some/model"]])
def test_a_pipeline_that_fills_a_store_is_none_to_ask(
    name: str, model: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask.main(["dog", "--pipeline", name, "--store", "law.db", *model]) == WRONG_USE
    told = capsys.readouterr().err
    assert f"'{name}' fills a store; it is no pipeline to ask." in told
    assert "answer, answer_hybrid, dense, hybrid" in told


def test_only_what_can_be_asked_is_offered() -> None:
    assert {"hybrid", "lexical", "qdrant"} <= set(names_to_ask())
    with pytest.raises(LoadingError, match="The names are") as raised:
        home.store_to_ask("law.db", "hybird", print)
    assert "index" not in str(raised.value)
