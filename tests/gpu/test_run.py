"""The GPU script itself, as far as a machine without one can tell."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
import torch

SCRIPT = Path(__file__).with_name("run.py")


def script():
    specification = importlib.util.spec_from_file_location("gpu_run", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.slow
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
    measured = run.check_index(checks, torch.device("cpu"), sizes=(1_500,), dim=48)
    assert checks.failed == []
    assert measured["1500"].keys() >= {"one_query_ms", "batch_ms"}


@pytest.mark.slow
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


# The ranker


@pytest.fixture(autouse=True)
def beside_the_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPT.parent))


@pytest.mark.slow
def test_its_checks_hold_on_the_cpu_but_for_speed():
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
