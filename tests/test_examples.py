"""The examples run, print what they promise, and stand in the README as they are."""

import re
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest
from indexed import indexed

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"


@pytest.fixture
def ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """`ran(name, *arguments)`: what an example prints, run in an empty folder."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # of the processes that it starts
    monkeypatch.chdir(tmp_path)

    def run(name: str, *arguments: Path) -> str:
        path = str(EXAMPLES / f"{name}.py")
        monkeypatch.setattr("sys.argv", [path, *map(str, arguments)])
        runpy.run_path(path, run_name="__main__")
        assert list(tmp_path.iterdir()) == []
        return capsys.readouterr().out

    return run


def test_the_quickstart_goes_from_a_law_to_an_answer(ran: Callable[..., str]) -> None:
    printed = ran("quickstart")
    indexed, found, cited, answer = re.split(r"\n\s*\n", printed, maxsplit=3)
    assert "8 articles of 1 law; 8 texts encoded" in indexed

    _, place, text, *_ = found.splitlines()
    assert "Allotment Gardens Act (invented) > Part 2. Use of the plot > 6" in place
    assert "'dense': 1" in place
    assert "six hens" in text

    assert "3: The council may end the tenancy" in cited
    assert answer.startswith("Answer (verbatim):\n“Up to six hens may be kept.")


def test_the_readmes_ten_lines_print_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    ((code, shown),) = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", readme, re.S)
    exec(code, {})
    assert capsys.readouterr().out == shown


def test_a_text_file_goes_to_an_answer(ran: Callable[..., str]) -> None:
    printed = ran("text_file")
    assert "2 articles; numbered Section 1 to Section 2" in printed
    assert "Barge Licences Act (invented) > PART I. Licences > Section 2" in printed


def test_the_wrapper_answers_in_hayhooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = pytest.importorskip("hayhooks.settings").settings
    from fastapi.testclient import TestClient
    from hayhooks import create_app

    article = {"id": "g6", "law": "Gardens Act", "number": "6", "headings": [], "text": "Six hens."}
    monkeypatch.setattr(settings, "pipelines_dir", str(EXAMPLES / "hayhooks"))
    monkeypatch.setenv("LEXARBOR_STORE", str(indexed(tmp_path, [article])))
    monkeypatch.setenv("LEXARBOR_PIPELINE", "lexical")
    with TestClient(create_app()) as client:
        found, refused = (
            client.post("/statutes/run", json={"query": query, "top_k": 1})
            for query in ("Who keeps hens?", "")
        )
    assert found.status_code == 200
    assert '"id":"g6"' in found.text.replace(" ", "")
    assert refused.status_code == 422


@pytest.mark.slow
def test_the_other_examples_print_what_they_promise(
    ran: Callable[..., str], demo_home: Path
) -> None:
    own = ran("own_pipeline")
    assert own.startswith("Parks Act (invented), 2: Dogs are kept on a lead")
    assert "section 2: verified" in own
    assert "section 9: does not exist the Parks Act (invented) has no section 9" in own

    agent = ran("agent", demo_home / "demo.db")
    calls = re.findall(r"^-> (\w+)", agent, re.M)
    assert calls == ["find_articles", "read_article", "check_citations"]
    assert "does not exist" in agent
    assert agent.rstrip().endswith("Within 30 days (Article 14 of the Housing Code).")

    questions = ran("own_questions", demo_home / "demo.db")
    recall = re.search(r"^R@10 +([\d.]+) ", questions, re.M)
    assert recall and float(recall[1]) >= 0.5
    assert "Not among the first five:" in questions


@pytest.mark.slow
def test_a_model_of_ones_own_is_trained_stored_and_asked(ran: Callable[..., str]) -> None:
    printed = ran("own_model")
    assert "384 dimensions" in printed
    assert "40 articles of 1 law; 40 texts encoded" in printed
    assert len(re.findall(r"\{'dense': \d\}", printed)) == 3


@pytest.mark.slow
def test_qdrant_is_filled_and_asked(ran: Callable[..., str]) -> None:
    indexed, asked, own = ran("qdrant").split("\n\n")
    assert "40 articles of 1 law; 40 texts encoded, 40 written" in indexed
    assert re.search(r"What does art. 19 say on entry\?\n.*, 19  \{'citation': 1", asked)
    assert own.startswith(
        "How high may the deposit be?\n  Housing Code of Aldermere (invented), 12"
    )
