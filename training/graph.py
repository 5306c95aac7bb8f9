"""python -m training.graph: train a graph network over the tree of the law, G-DSR's.

    python -m training.graph --config training/configs/demo_graph.yaml --model models/demo \
        --output models/graph

The same command resumes where it was interrupted.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from components.models.biencoder import BiEncoder
from components.models.encoding import scaled
from components.models.folder import (
    FUSION_PART,
    GRAPH_PART,
    DtypeName,
    find_model,
    folder_lock,
    model_digest,
    whole_file,
)
from components.models.graph import GraphTensors, LegislativeGraphEncoder, node_texts
from components.models.onednn import LINEAR
from components.statutes.graph import LegislativeGraph
from training.checkpoint import kept_parts, work_folder_of
from training.command_line import SettingsError, run, say, settings_from
from training.data import TrainingData
from training.loop import Learner, train
from training.negatives.curriculum import random_generator
from training.objective import Batch, Optimizer, StepLoss, Vectors, propagate
from training.settings import GraphSettings

# The frozen vectors that a graph network is trained on.


DTYPE: DtypeName = "float32"
"""The encoder's. "auto" is measured in each process on a CPU, so two processes could differ."""

_VECTORS = "vectors"


@dataclass(frozen=True)
class Features:
    """Vectors of a bi-encoder, float32, for cosine of unit length.

    Attributes:
        nodes: The graph's nodes: titles and headings, then articles, `[n_nodes, dim]`.
        train: The training questions, `[n_train, dim]`.
        dev: The dev questions, `[n_dev, dim]`.
    """

    nodes: Tensor
    train: Tensor
    dev: Tensor


def starting_digests(settings: GraphSettings) -> dict[str, str]:
    """Digest of the bi-encoder below, by the setting that names it.

    Raises:
        ModelError: There is no such model.
    """
    return {"model_sha256": model_digest(find_model(settings.starting_model))}


def features_of(
    settings: GraphSettings,
    data: TrainingData,
    graph: LegislativeGraph,
    folder: Path,
    device: torch.device,
) -> Features:
    """Encode every text once, or load the vectors that an earlier run has kept.

    They are looked up by the digests of the model and of the texts and by the number format, so
    another model's are never used. Articles and questions are kept apart: the law is not encoded
    again for other questions, such as a fold's in a cross-validation.

    Args:
        settings: They name the model.
        data: Articles and questions.
        graph: Its labels are encoded too.
        folder: Where vectors are kept.
        device: Where they are computed and returned.

    Raises:
        ModelError: The model cannot be opened.
        SettingsError: `text_rule` or `similarity` is not the model's.
    """
    digest = starting_digests(settings)
    texts = {
        "nodes": list(node_texts(graph, data.corpus, settings.text_rule)),
        "train": [question.text for question in data.train],
        "dev": [question.text for question in data.dev],
    }
    model: BiEncoder | None = None
    vectors = {}
    with folder_lock(folder, wait=True):  # of several processes of a grid only one encodes
        for side, own in texts.items():
            # An encoder reads the same words differently as an article and as a question.
            key = json.dumps([digest, DTYPE, side == "nodes", own])
            path = folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.safetensors"
            try:
                vectors[side] = load_file(path, device=str(device))[_VECTORS]
            except (FileNotFoundError, SafetensorError):  # a damaged file is replaced
                if model is None:
                    model = _opened(settings, device)
                    n_texts = sum(map(len, texts.values()))
                    say(f"Encoding {n_texts:,} articles, headings and questions, once")
                encode = model.encode_articles if side == "nodes" else model.encode_queries
                vectors[side] = encode(own).to(device)
                with whole_file(path) as partial:
                    save_file({_VECTORS: vectors[side]}, partial)
    return Features(**vectors)


def _opened(settings: GraphSettings, device: torch.device) -> BiEncoder:
    """The bi-encoder below, which must compare texts as the settings say."""
    model = BiEncoder.load(settings.starting_model, device=str(device), dtype=DTYPE)
    for name in ("text_rule", "similarity"):
        own, given = getattr(model, name), getattr(settings, name)
        if own != given:
            raise SettingsError(f"{name} is {given}, but {settings.starting_model} has {own}.")
    return model


class GraphLearner(Learner):
    """A graph network that learns to enrich a frozen bi-encoder's article vectors.

    Args:
        settings: Of the run.
        data: Law and questions.
        accelerator: Device.

    Attributes:
        model: The network, trained in place.

    Raises:
        ModelError: The bi-encoder cannot be opened.
        SettingsError: A setting does not fit the bi-encoder; or there are several processes.
    """

    def __init__(
        self, settings: GraphSettings, data: TrainingData, accelerator: Accelerator
    ) -> None:
        if accelerator.num_processes > 1:
            raise SettingsError("a graph is trained in one process: run it without torchrun.")
        self._settings = settings
        device = accelerator.device
        graph = LegislativeGraph.of(
            data.corpus, neighbours=settings.neighbours, citations=settings.citations
        )
        self._report = graph.report()
        say(f"Graph: {self._report}")
        work = work_folder_of(Path(settings.output))
        kept = work / _VECTORS if settings.vectors is None else Path(settings.vectors)
        self._features = features_of(settings, data, graph, kept, device)
        self._graph = GraphTensors.of(graph, device)
        self._nodes = torch.from_numpy(graph.article_nodes).long().to(device)
        if settings.permute_tree:
            # As in the views of the negatives: the same articles take the same wrong places.
            places = random_generator(settings.seed, "leaves").permutation(len(data.corpus))
            self._nodes = self._nodes[torch.from_numpy(places).to(device)]
        self._inputs = self._features.nodes.clone()
        self._inputs[self._nodes] = self._features.nodes[graph.n_inner :]
        torch.manual_seed(settings.seed)
        self.model: LegislativeGraphEncoder = LegislativeGraphEncoder(
            self._inputs.shape[1],
            hidden=settings.hidden,
            layers=settings.layers,
            heads=settings.heads,
            dropout=settings.dropout,
            similarity=settings.similarity,
            kind=settings.network,
            init=settings.init,
            edge_kinds=graph.edge_kinds,
        ).to(device)
        self._change: float | None = None

    @property
    def fixed(self) -> Mapping[str, Any]:
        """Digest of the bi-encoder below, number format and library for linear layers."""
        return {
            **starting_digests(self._settings),
            "dtype": DTYPE,
            "linear": LINEAR.on(self._nodes.device),
        }

    def optimizer(self, total_steps: int) -> Optimizer:  # noqa: ARG002
        """AdamW with the same rate at every step (G-DSR, Table 5)."""
        return Optimizer(
            self.model,
            learning_rate=self._settings.learning_rate,
            weight_decay=self._settings.weight_decay,
            rates=lambda _: 1.0,
        )

    def encode(self, *, train: bool) -> Vectors:  # noqa: ARG002
        """Enriched vectors of all articles, and the questions' vectors, which do not change."""
        with torch.no_grad():
            enriched = self.model(self._inputs, self._graph, self._nodes)
            plain = self._inputs[self._nodes]
            self._change = float(((enriched - plain).norm(dim=1) / plain.norm(dim=1)).mean())
        articles = scaled(enriched, self._settings.similarity)
        return Vectors(articles, self._features.train, self._features.dev)

    def loss_and_gradient(self, batch: Batch) -> StepLoss:
        """The loss, computed on the part of the graph that the batch's articles can see."""
        rows = self._nodes[self._rows(batch.articles)]
        enriched = self.model(self._inputs, self._graph, rows)
        articles = scaled(enriched, self._settings.similarity)
        questions = self._features.train[self._rows(batch.questions)]
        return propagate(questions, articles, batch, self._settings)

    def changes(self) -> dict[str, float]:
        """How far the network moved articles, |out - in| / |in|, when last encoded."""
        return {} if self._change is None else {"graph_change": self._change}

    def save(
        self, output: Path, data: TrainingData, metrics: Mapping[str, Any], *, dense_weight: float
    ) -> None:
        """Write the model folder: the bi-encoder as it is, a ranker without its learnt order."""
        base = self._settings.starting_model
        # A fusion was learnt from the vectors without this graph.
        kept = kept_parts(base, without=(GRAPH_PART, FUSION_PART))
        model = BiEncoder.load(base, device="cpu")
        model.dense_weight = dense_weight
        model.save(
            output,
            articles=model.articles_digest,
            base_model=base,
            config=self._settings.to_dict(),
            data=data.digests(),
            metrics={**metrics, "graph": self._report},
            kept={**kept, GRAPH_PART: self.model.save},
        )

    def _rows(self, rows: Any) -> Tensor:
        return torch.from_numpy(rows).to(self._nodes.device)


_DESCRIPTION = """\
Trains a graph network that enriches a bi-encoder's vectors of articles by their place in the law.
The bi-encoder stays as it is. Writes a model folder with both, for python -m pipelines.index
--graph."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    settings = settings_from("graph", _DESCRIPTION, GraphSettings, arguments)
    return run(lambda: train(settings, GraphLearner))


if __name__ == "__main__":
    sys.exit(main())
