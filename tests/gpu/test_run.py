"""The GPU script itself, as far as a machine without one can tell."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from slow_cases import slow

SCRIPT = Path(__file__).with_name("run.py")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    specification = importlib.util.spec_from_file_location("gpu_run", SCRIPT)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)

    def once(call: Any, *_: Any) -> float:
        call()
        return 1.0

    # Speed is not checked here, so each measurement is made once.
    monkeypatch.setattr(module, "seconds", once)
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


@pytest.mark.parametrize(
    ("name", "sizes", "expected"),
    [
        ("graph", {"number": 300, "n_questions": 20, "dim": 32, "epochs": 6}, {"steps": 6}),
        *slow(
            ("encode", {"number": 48, "hidden": 64, "layers": 1}, {"articles": 48}),
            ("ranker", {"n_questions": 1, "hidden": 256, "layers": 1}, {"pairs": 90}),
        ),
    ],
)
def test_its_checks_hold_on_the_cpu_but_for_speed(script, name, sizes, expected):
    checks = script.Checks()
    measured = script.CHECKS[name](checks, torch.device("cpu"), **sizes)
    assert [each for each in checks.failed if "times" not in each and "rate" not in each] == []
    assert measured.items() >= expected.items()


def test_its_index_checks_hold_on_the_cpu(script):
    checks = script.Checks()
    measured = script.check_index(checks, torch.device("cpu"), sizes=(1_500,), dim=48)
    assert checks.failed == []
    assert measured["1500"].keys() >= {"one_query_ms", "batch_ms"}
