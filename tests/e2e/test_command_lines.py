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


@pytest.mark.slow
def test_a_question_finds_the_demo_store_built(demo_home: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "pipelines.ask", "What does art. 12 Housing Code say?"],
        cwd=ROOT,
        env={**os.environ, "LEXARBOR_HOME": str(demo_home), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
    )
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
@pytest.mark.parametrize(
    ("law", "split", "n_questions", "metric", "mark"),
    [("bsard_livre1_fr", "train", 129, "R@100", 0.7), ("obliqa_en", "dev", 569, "R@10", 0.77)],
)
def test_words_alone_reach_their_mark_on_real_law(
    real_data: Callable[[str], Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    law: str,
    split: str,
    n_questions: int,
    metric: str,
    mark: float,
) -> None:
    folder, store = str(real_data(law)), str(tmp_path / "law.db")
    assert index(["--corpus", folder, "--store", store, "--model", "none"]) == 0
    capsys.readouterr()
    arguments = ["--store", store, "--questions", folder, "--split", split, "--json"]
    assert evaluate([*arguments, "--pipeline", "lexical", "--depth", "100"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["n_questions"] == n_questions
    assert result["metrics"][metric] >= mark
