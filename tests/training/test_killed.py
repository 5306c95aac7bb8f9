"""Killed by the system at any moment and started again, a run ends with the very same weights."""

from __future__ import annotations

import json
import multiprocessing
import random
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
import torch

from training.cusines import main


def steady(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records without what a clock says."""
    return [
        {k: v for k, v in record.items() if "seconds" not in k and k != "refresh_share"}
        for record in records
    ]


@pytest.fixture(scope="module")
def start() -> Iterator[Callable[[list[str]], BaseProcess]]:
    """Starts the command in a process that has everything imported already."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["training.loop", "training.starting", "matplotlib.pyplot"])
    running: list[BaseProcess] = []

    def started(arguments: list[str]) -> BaseProcess:
        process = context.Process(target=command, args=(arguments,))
        process.start()
        running.append(process)
        return process

    yield started
    for process in running:
        process.kill()


def command(arguments: list[str]) -> None:
    torch.set_num_threads(1)
    sys.exit(main(arguments))


def of_aldermere(model: Path, output: Path) -> list[str]:
    values = {
        "corpus": "aldermere",
        "questions": "aldermere",
        "model": model,
        "output": output,
        "max_steps": 12,
        "checkpoint_every": 2,
        "negatives_per_question": 4,
        "batch_size": 24,
        "learning_rate": 1e-3,
        "temperature": 0.05,
        "dtype": "float32",
        "device": "cpu",
    }
    return [part for name, value in values.items() for part in (f"--{name}", str(value))]


def result(folder: Path) -> tuple[bytes, list[dict[str, Any]]]:
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    weights = (folder / "biencoder" / "query" / "model.safetensors").read_bytes()
    return weights, steady([json.loads(line) for line in lines])


def test_killed_at_random_moments_a_run_ends_with_the_same_weights_bit_for_bit(
    start, tiny_bert, tmp_path
):
    start(["--help"]).join(120)  # the first start is the one that imports
    began = time.monotonic()
    alone = start(of_aldermere(tiny_bert, tmp_path / "alone"))
    alone.join(120)
    took = time.monotonic() - began
    assert alone.exitcode == 0
    expected = result(tmp_path / "alone")
    chance, landed = random.Random(0), 0
    for number in range(5):
        folder = tmp_path / f"killed-{number}"
        process = start(of_aldermere(tiny_bert, folder))
        process.join(took * chance.uniform(0.1, 0.95))
        process.kill()
        process.join()
        landed += process.exitcode != 0
        again = start(of_aldermere(tiny_bert, folder))
        again.join(120)
        assert again.exitcode == 0, f"kill {number}"
        assert result(folder) == expected, f"kill {number}"
        assert not folder.with_name(folder.name + ".work").exists()
    assert landed
