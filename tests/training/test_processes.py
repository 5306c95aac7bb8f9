"""Two processes (gloo, on the CPU) are one: the same loss, the same gradient, the same model."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from accelerate import Accelerator
from safetensors.torch import load_file
from serving import free_port

from components.models.biencoder import BiEncoder
from training.cusines import main

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
SCRIPT = Path(__file__).with_name("steps_of_one_run.py")
# What both runs of the command have in common; without dropout, which processes draw apart.
RUN = {"dropout": 0.0, "gradient_caching": True}


def in_two_processes(*arguments: list[str]) -> tuple[list[int], list[str]]:
    """Exit codes and words of two processes, as torchrun starts them."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "2",
        "ACCELERATE_USE_CPU": "true",
    }
    running = [
        subprocess.Popen(
            [sys.executable, *own],
            cwd=ROOT,
            env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank, own in enumerate(arguments)
    ]
    try:
        said = [process.communicate(timeout=240)[0] for process in running]
    finally:
        for process in running:
            process.kill()
    return [process.returncode for process in running], said


@pytest.fixture(scope="module")
def folder(tmp_path_factory, small_law: Path, tiny_bert: Path, any_flags) -> Path:
    """The inputs, and what two processes made of them."""
    folder = tmp_path_factory.mktemp("two")
    shutil.copytree(small_law, folder / "law")
    shutil.copytree(tiny_bert, folder / "bert")
    command = [str(SCRIPT), str(folder), *any_flags(output=folder / "of-two", **RUN)]
    codes, said = in_two_processes(command, command)
    assert codes == [0, 0], "\n\n".join(said)[-6_000:]
    return folder


@pytest.fixture(scope="module")
def of_two(folder: Path):
    """Each process's facts and tensors."""
    return [
        (
            json.loads((folder / f"rank-{rank}.json").read_text()),
            load_file(folder / f"rank-{rank}.safetensors"),
        )
        for rank in (0, 1)
    ]


@pytest.fixture(scope="module")
def of_one(folder: Path):
    """The same steps in this process."""
    spec = importlib.util.spec_from_file_location("steps_of_one_run", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.steps(Accelerator(cpu=True), folder)


def test_there_were_two_processes_with_uneven_shares(of_two):
    facts = [each for each, _ in of_two]
    assert [each["processes"] for each in facts] == [2, 2]
    uneven = [each["uneven"]["own_questions"] for each in facts]
    assert uneven[0] == uneven[1] + 1
    assert [each["one question"]["own_questions"] for each in facts] == [1, 0]


def test_two_processes_have_the_loss_and_the_summed_gradient_of_one(of_one, of_two):
    steps, gradients = of_one
    for facts, tensors in of_two:
        for name, step in steps.items():
            assert facts[name]["loss"] == pytest.approx(step["loss"], rel=1e-5, abs=1e-6), name
            # Weights that nothing uses, such as a pooler's, must not shrink by their decay.
            assert facts[name]["with_gradient"] == step["with_gradient"], name
        for name, gradient in gradients.items():
            scale = max(1.0, float(gradient.abs().max()))
            assert torch.allclose(tensors[name], gradient, atol=2e-5 * scale, rtol=0), name
    (_, first), (_, second) = of_two
    assert all(torch.equal(gradient, second[name]) for name, gradient in first.items())


def test_when_one_process_runs_out_of_memory_both_begin_the_batch_again(of_one, of_two):
    """Their loss and gradient are compared with those of one process like any other step's."""
    everyone = [of_one[0], *(facts for facts, _ in of_two)]
    budgets = [facts["short of memory"]["token_budget"] for facts in everyone]
    assert max(budgets[0], budgets[2]) < budgets[1] == 60


def test_a_run_of_two_processes_makes_the_model_of_one(folder, of_two, any_flags):
    assert [facts["exit code"] for facts, _ in of_two] == [0, 0]
    assert main(any_flags(output=folder / "of-one", **RUN)) == 0
    records = [
        [json.loads(line) for line in (folder / name / "metrics.jsonl").read_text().splitlines()]
        for name in ("of-one", "of-two")
    ]
    for one, two in zip(*records, strict=True):
        assert two["step"] == one["step"]
        assert two["dev"] == pytest.approx(one["dev"], abs=1e-6)
        assert two.get("losses", []) == pytest.approx(one.get("losses", []), abs=1e-3)
        assert two.get("articles_encoded") == one.get("articles_encoded")
    models = [BiEncoder.load(folder / name, dtype="float32") for name in ("of-one", "of-two")]
    vectors = [
        model.encode_articles(["the landlord must give notice", "wages"]) for model in models
    ]
    assert torch.allclose(*vectors, atol=1e-3)
    assert not (folder / "of-two.work").exists()
