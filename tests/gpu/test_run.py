"""The GPU script itself, as far as a machine without one can tell."""

from __future__ import annotations

import gzip
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from training.ablation.dataset import Dataset

SCRIPT = Path(__file__).with_name("run.py")


def script():
    specification = importlib.util.spec_from_file_location("gpu_run", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_without_a_gpu_it_says_so_and_exits_1(tmp_path):
    done = subprocess.run(
        [sys.executable, SCRIPT, "--out", tmp_path / "metrics"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "no GPU" in done.stdout
    assert not (tmp_path / "metrics").exists()


def test_its_index_checks_hold_on_the_cpu():
    run = script()
    checks = run.Checks()
    measured = run.check_index(checks, torch.device("cpu"), sizes=(2_500,), dim=48)
    assert checks.failed == []
    assert measured["2500"].keys() >= {"one_query_ms", "batch_ms"}


def test_its_encoding_checks_hold_on_the_cpu_but_for_speed():
    run = script()
    checks = run.Checks()
    measured = run.check_encode(checks, torch.device("cpu"), number=48, hidden=64, layers=1)
    assert [name for name in checks.failed if "times" not in name and "rate" not in name] == []
    assert measured["articles"] == 48


def test_its_graph_checks_hold_on_the_cpu():
    run = script()
    sys.path.insert(0, str(SCRIPT.parent))
    try:
        from graph_checks import check_graph
    finally:
        sys.path.remove(str(SCRIPT.parent))
    checks = run.Checks()
    small = {"number": 300, "n_questions": 20, "dim": 32, "epochs": 6}
    measured = check_graph(checks, torch.device("cpu"), run.seconds, run.texts, **small)
    assert checks.failed == []
    assert measured["steps"] == 6


def test_its_grids_run_on_laws_whose_questions_stand_in_two_splits(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    import grids

    seen = []

    def reading(settings):
        (place,) = settings.datasets
        data = Dataset.read(str(place))
        seen.append((data.name, [q.id for q in data.given.train], [q.id for q in data.given.dev]))

    monkeypatch.setattr(grids, "ablate", reading)
    monkeypatch.setattr(grids, "_encoder", lambda *_: tmp_path / "model")
    articles = [
        {"id": f"a{n}", "law": "L", "number": str(n), "headings": [], "text": f"rule {n}"}
        for n in range(3)
    ]
    asked = [("q0", "who pays?", "train"), ("q1", "when?", "train"), ("q2", "Who pays?", "dev")]
    for law, questions in (("code_du_travail_fr", asked), ("obliqa_en", asked[1:])):
        (tmp_path / law).mkdir()
        lines = {
            "articles": articles,
            "questions": [
                {"id": name, "text": text, "relevant": ["a1"], "split": split}
                for name, text, split in questions
            ],
        }
        for file, rows in lines.items():
            text = "".join(json.dumps(row) + "\n" for row in rows).encode()
            (tmp_path / law / f"{file}.jsonl.gz").write_bytes(gzip.compress(text))
    grids.go_on(tmp_path, tmp_path / "out", tmp_path / "results.jsonl", 60.0)
    assert seen == [("obliqa_en", ["q1"], ["q2"]), ("code_du_travail_fr", ["q1"], ["q2"])]
    assert not (tmp_path / "out").exists()
