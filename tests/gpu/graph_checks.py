"""The graph network at BSARD's size: the same bits twice, the CPU's values, and what it takes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from accelerate import Accelerator
from torch import Tensor
from torch.nn.functional import normalize
from train_checks import invented_law

from components.models.graph import GraphTensors, LegislativeGraphEncoder
from components.statutes.graph import LegislativeGraph
from components.statutes.question import Question
from training import graph as learner_module
from training.command_line import Place, Target
from training.data import TrainingData
from training.graph import Features, GraphLearner
from training.loop import fit
from training.settings import GraphSettings

TRAINING_S = 10.0
DIFFERENCE = 1e-4
POSITIVES = 5


def law_of_size(texts: Callable[..., list[str]], number: int, n_questions: int) -> TrainingData:
    """An invented law, and questions that some neighbouring articles answer each."""
    law = invented_law(texts(number), n_questions)
    ids = law.corpus.ids
    questions: list[Question] = []
    for question in law.train:
        first = min(law.corpus.position(question.relevant[0]), number - POSITIVES)
        questions.append(replace(question, relevant=tuple(ids[first : first + POSITIVES])))
    return TrainingData(law.corpus, questions, [], "")


def features_for(data: TrainingData, graph: LegislativeGraph, dim: int) -> Features:
    """Random directions; a question stands near its articles, so that there is what to learn."""
    chance = torch.Generator().manual_seed(0)
    nodes = normalize(torch.randn(graph.n_nodes, dim, generator=chance), dim=1)
    centres = torch.stack(
        [
            nodes[
                [graph.article_node(data.corpus.position(each)) for each in question.relevant]
            ].mean(dim=0)
            for question in data.train
        ]
    )
    train = centres + 0.5 * torch.randn(centres.shape, generator=chance) / dim**0.5
    return Features(nodes, normalize(train, dim=1), torch.empty(0, dim))


def training_seconds(
    device: torch.device, data: TrainingData, features: Features, epochs: int, **fields: Any
) -> tuple[float, list[float]]:
    """Seconds of a whole training on given vectors, and the losses of its steps."""
    with tempfile.TemporaryDirectory() as folder:
        settings = GraphSettings(
            corpus=Place("law"),
            questions=Place("law"),
            output=Target(f"{folder}/model"),
            views=("bm25",),
            schedule="fixed",
            buckets=1,
            negatives_per_question=1,
            temperature=0.05,
            epochs=epochs,
            min_steps=0,
            device=str(device),
            **fields,
        )
        on_device = Features(*(getattr(features, s).to(device) for s in ("nodes", "train", "dev")))
        given = patch.object(learner_module, "features_of", lambda *_: on_device)
        nothing = patch.object(learner_module, "starting_digests", lambda _: {})
        accelerator = Accelerator(cpu=device.type == "cpu")
        with given, nothing:
            started = time.perf_counter()
            _, state = fit(settings, data, accelerator, Path(folder) / "work", GraphLearner)
            took = time.perf_counter() - started
    return took, [loss for record in state.records for loss in record.get("losses", ())]


def gradients(
    encoder: LegislativeGraphEncoder, features: Tensor, graph: GraphTensors
) -> list[Tensor]:
    """Of the sum of squares of the outputs, and the outputs themselves."""
    encoder.zero_grad()
    out = encoder(features, graph)
    (out**2).sum().backward()
    return [out.detach(), *(p.grad.clone() for p in encoder.parameters() if p.grad is not None)]


def check_graph(
    checks: Callable[[str, bool], None],
    device: torch.device,
    seconds: Callable[..., float],
    texts: Callable[..., list[str]],
    *,
    number: int = 22_633,
    n_questions: int = 886,
    dim: int = 768,
    epochs: int = 10,
) -> dict[str, Any]:
    """Determinism, equality with the CPU, one pass, and a training as G-DSR has it."""
    data = law_of_size(texts, number, n_questions)
    graph = LegislativeGraph.of(data.corpus, neighbours=True)
    features = features_for(data, graph, dim)
    torch.manual_seed(0)
    encoder = LegislativeGraphEncoder(dim, init="paper", edge_kinds=graph.edge_kinds)
    few = graph.part(graph.neighbourhood(graph.article_nodes[:64], 3))
    part = features.nodes[torch.from_numpy(graph.neighbourhood(graph.article_nodes[:64], 3))]
    on_cpu = encoder(part, GraphTensors.of(few)).detach()
    encoder.to(device)
    on_device = encoder(part.to(device), GraphTensors.of(few, device)).detach().cpu()
    difference = float((on_device - on_cpu).abs().max())
    checks(f"graph: within {DIFFERENCE} of the CPU", difference <= DIFFERENCE)

    nodes, tensors = features.nodes.to(device), GraphTensors.of(graph, device)
    twice = [gradients(encoder, nodes, tensors) for _ in range(2)]
    same = all(torch.equal(one, other) for one, other in zip(*twice, strict=True))
    checks("graph: outputs and gradients are the same bits twice", same)

    def forward() -> None:
        with torch.no_grad():
            encoder(nodes, tensors)

    took, losses = training_seconds(device, data, features, epochs)
    if device.type == "cuda":
        checks(f"graph: {epochs} epochs within {TRAINING_S:.0f} s", took <= TRAINING_S)
    checks("graph: the loss falls", sum(losses[-3:]) < sum(losses[:3]))
    return {
        "nodes": graph.n_nodes,
        "cpu_difference": difference,
        "forward_ms": 1e3 * seconds(forward, device),
        "training_seconds": took,
        "steps": len(losses),
        "first_loss": losses[0],
        "last_loss": losses[-1],
    }
