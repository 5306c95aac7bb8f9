"""Killed by the system at any moment and started again, a run ends with the very same weights."""

from __future__ import annotations

import multiprocessing
import random
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess

import pytest
import torch
from runs import of_aldermere, outcome, work_of

from components.models.cpu_linear import settle_linear_library
from training.cusines import main

_KILLS = 5


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
    # Each process would race anew, and on a busy machine the run alone might begin another way.
    settle_linear_library("torch")
    sys.exit(main(arguments))


def test_killed_at_random_moments_a_run_ends_with_the_same_weights_bit_for_bit(
    start, tiny_bert, tmp_path
):
    start(["--help"]).join(120)  # the first start is the one that imports
    began = time.monotonic()
    alone = start(of_aldermere(tiny_bert, tmp_path / "alone"))
    alone.join(120)
    took = time.monotonic() - began
    assert alone.exitcode == 0
    expected = outcome(tmp_path / "alone")
    chance, landed = random.Random(0), 0
    for number in range(20):
        folder = tmp_path / f"killed-{number}"
        process = start(of_aldermere(tiny_bert, folder))
        process.join(took * chance.uniform(0.1, 0.95))
        process.kill()
        process.join()
        if process.exitcode != 0:  # it came in time
            landed += 1
            again = start(of_aldermere(tiny_bert, folder))
            again.join(120)
            assert again.exitcode == 0, f"kill {number}"
        assert outcome(folder) == expected, f"kill {number}"
        assert not work_of(folder).exists()
        if landed == _KILLS:
            return
    raise AssertionError(f"of 20 kills {landed} came in time")
