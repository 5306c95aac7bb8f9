"""The commands of the README, each in a process of its own, on the demo law and on real law."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from components.statutes.excerpts import provision_at
from pipelines.asking import ask
from pipelines.evaluate import main as evaluate
from pipelines.index import main as index
from pipelines.loading import load_pipeline

ROOT = Path(__file__).resolve().parents[2]


def command(name: str, *arguments: object, home: Path) -> subprocess.CompletedProcess[str]:
    """Run `python -m pipelines.<name>` as a user would, without a network."""
    return subprocess.run(
        [sys.executable, "-m", f"pipelines.{name}", *(str(each) for each in arguments)],
        cwd=ROOT,
        env={**os.environ, "LEXARBOR_HOME": str(home), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
def test_a_question_finds_the_demo_store_built(demo_home: Path) -> None:
    run = command("ask", "What does art. 12 Housing Code say?", home=demo_home)
    assert run.returncode == 0
    assert run.stderr == ""
    assert run.stdout.startswith("1. Housing Code of Aldermere (invented), 12 ")


@pytest.mark.parametrize(
    ("question", "article", "label"),
    [
        ("bailiff came today, can he take my car i need it for work", "procedure-48", "2"),
        ("My wages are three weeks late", "work-30", "3"),
        ("how long have i got to appeal", "procedure-38", "1"),
        pytest.param(
            *("got a letter from the court saying i owe 2300", "procedure-19", "1"),
            marks=pytest.mark.xfail(strict=True, reason="not yet quoted"),
        ),
    ],
)
def test_the_paragraph_that_decides_is_quoted(
    demo_home: Path, question: str, article: str, label: str
) -> None:
    found = ask(load_pipeline("hybrid", demo_home / "demo.db"), question)["documents"]
    passages = [
        (-passage["score"], document["id"], provision.labels)
        for document in found
        for passage in document["passages"][:2]
        if (provision := provision_at(document["content"], passage))
    ]
    assert any(id_ == article and label in labels for _, id_, labels in sorted(passages)[:3])


@pytest.mark.slow
def test_lay_questions_find_their_articles(
    demo_home: Path, aldermere_questions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, questions = str(demo_home / "demo.db"), str(aldermere_questions)
    arguments = ["--store", store, "--questions", questions, "--split", "dev"]
    assert evaluate([*arguments, "--json", "--depth", "100"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["metrics"]["Exist@50"] >= 0.8
    assert result["n_unanswerable"] > 0


@pytest.mark.slow
def test_real_law_in_another_language_is_searched_by_words(
    real_data: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, store = real_data("bsard_livre1_fr"), str(tmp_path / "civil.db")
    assert index(["--corpus", str(folder), "--store", store, "--model", "none"]) == 0
    capsys.readouterr()
    arguments = ["--store", store, "--questions", str(folder), "--split", "train"]
    assert evaluate([*arguments, "--pipeline", "lexical", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["R@100"] >= 0.7


@pytest.mark.slow
def test_words_alone_reach_their_mark_on_obliqa(
    real_data: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, store = real_data("obliqa_en"), str(tmp_path / "adgm.db")
    corpus = str(folder / "articles.jsonl.gz")
    assert index(["--corpus", corpus, "--store", store, "--model", "none"]) == 0
    capsys.readouterr()
    questions = str(folder / "questions.jsonl.gz")
    arguments = ["--store", store, "--questions", questions, "--split", "dev", "--json"]
    assert evaluate([*arguments, "--pipeline", "lexical", "--depth", "10"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["n_questions"] == 569
    assert result["metrics"]["R@10"] >= 0.77
