"""The graph network as a training loop sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor
from torch.nn import functional

from components.models.biencoder import BiEncoder
from components.models.cpu import linear_library
from components.models.folder import MANIFEST_FILE, find_model, read_manifest
from components.models.graph import GraphTensors, LegislativeGraphEncoder
from components.statutes.graph import LegislativeGraph
from training.batches import Batch
from training.command_line import SettingsError, say
from training.data import TrainingData
from training.graph_training.features import DTYPE, features_of, start_digests
from training.graph_training.settings import GraphSettings
from training.learner import Vectors
from training.negatives.seeding import generator
from training.objective import contrastive_loss
from training.optimizer import Optimizer, constant
from training.work_folder import work_folder_of

FEATURES = "vectors"


class GraphLearner:
    """A graph network that learns to enrich a frozen bi-encoder's vectors of articles.

    Args:
        settings: Of the run.
        data: Law and questions.
        accelerator: Device.

    Attributes:
        network: Is trained in place.

    Raises:
        ModelError: The bi-encoder cannot be opened.
        SettingsError: A setting does not fit the bi-encoder; or there are several processes.
    """

    def __init__(
        self, settings: GraphSettings, data: TrainingData, accelerator: Accelerator
    ) -> None:
        if accelerator.num_processes > 1:
            raise SettingsError("a graph is trained in one process: start it without torchrun.")
        self._settings = settings
        device = accelerator.device
        graph = LegislativeGraph.of(
            data.corpus, neighbours=settings.neighbours, citations=settings.citations
        )
        self._report = graph.report()
        say(_described(self._report))
        work = work_folder_of(Path(settings.output))
        kept = work / FEATURES if settings.vectors is None else Path(settings.vectors)
        self._features = features_of(settings, data, graph, kept, device)
        self._graph = GraphTensors.of(graph, device)
        self._nodes = torch.from_numpy(graph.article_nodes).long().to(device)
        if settings.permute_tree:
            # As for the views of the negatives: the same articles stand in the same wrong places.
            places = generator(settings.seed, "leaves").permutation(len(data.corpus))
            self._nodes = self._nodes[torch.from_numpy(places).to(device)]
        self._inputs = self._features.nodes.clone()
        self._inputs[self._nodes] = self._features.nodes[graph.n_inner :]
        torch.manual_seed(settings.seed)
        self.network = LegislativeGraphEncoder(
            self._inputs.shape[1],
            layers=settings.layers,
            heads=settings.heads,
            kind=settings.network,
            init=settings.init,
            edge_kinds=graph.edge_kinds,
        ).to(device)
        self._change: float | None = None

    @property
    def fixed(self) -> Mapping[str, Any]:
        """Digest of the bi-encoder below, and what the network computes in and with."""
        return {
            **start_digests(self._settings),
            "dtype": DTYPE,
            "linear": linear_library(self._nodes.device),
        }

    def optimizer(self, total_steps: int) -> Optimizer:  # noqa: ARG002
        """AdamW with the same rate at every step (G-DSR, Table 5)."""
        return Optimizer(
            self.network,
            learning_rate=self._settings.learning_rate,
            weight_decay=self._settings.weight_decay,
            rates=constant,
        )

    def encode(self, progress: Callable[[int], None]) -> Vectors:
        """Enriched vectors of all articles, and those of the questions, which stay."""
        with torch.no_grad():
            enriched = self.network(self._inputs, self._graph, self._nodes)
            plain = self._inputs[self._nodes]
            self._change = float(((enriched - plain).norm(dim=1) / plain.norm(dim=1)).mean())
        progress(len(enriched))
        articles = functional.normalize(enriched, dim=1)
        return Vectors(articles, self._features.train, self._features.dev)

    def loss_and_gradient(self, batch: Batch) -> float:
        """The loss, computed from what the batch's articles can see of the graph."""
        articles = functional.normalize(
            self.network(self._inputs, self._graph, self._nodes[self._rows(batch.articles)]), dim=1
        )
        loss = contrastive_loss(
            self._features.train[self._rows(batch.questions)],
            articles,
            self._rows(batch.pairs),
            torch.from_numpy(batch.candidates).to(articles.device),
            temperature=self._settings.temperature,
            reduction=self._settings.reduction,
        )
        torch.autograd.backward(loss)
        return float(loss.detach())

    def changes(self) -> dict[str, float]:
        """How far the network moves articles, |out - in| / |in|, when last encoded."""
        return {} if self._change is None else {"graph_change": self._change}

    def train_mode(self) -> None:
        """Be trained."""
        self.network.train()

    def eval_mode(self) -> None:
        """Be measured."""
        self.network.eval()

    def state(self) -> dict[str, Any]:
        """Nothing beside the weights."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Nothing to put back."""

    def save(self, output: Path, data: TrainingData, metrics: Mapping[str, Any]) -> None:
        """Write the model folder; the bi-encoder and a ranker are those that were there."""
        start = self._settings.start
        folder = find_model(start)
        kept: dict[str, Path] = {}
        if (folder / MANIFEST_FILE).exists():
            kept = {p: folder / p for p in read_manifest(folder).parts if p != "graph"}
        BiEncoder.load(folder, device="cpu").save(
            output,
            base_model=start,
            config=self._settings.to_dict(),
            data=data.digests(),
            metrics={**metrics, "graph": self._report},
            kept={**kept, "graph": self.network.save},
        )

    def _rows(self, rows: Any) -> Tensor:
        return torch.from_numpy(rows).to(self._nodes.device)


def _described(report: Mapping[str, Any]) -> str:
    nodes, edges = (
        ", ".join(f"{count:,} {name}" for name, count in report[part].items())
        for part in ("nodes", "edges")
    )
    lost = report["unresolved_citations"]
    return (
        f"Graph: nodes {nodes}; edges {edges}; {report['mean_degree']:.1f} a node, "
        f"{report['largest_degree']:,} at most"
        + (f"; {lost:,} citations lead to no article" if lost else "")
    )
