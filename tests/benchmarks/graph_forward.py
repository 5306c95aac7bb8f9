"""The graph network beside torch_geometric: `python tests/benchmarks/graph_forward.py`.

A tree of BSARD's size (22,633 articles, some 4,700 laws and divisions), 768 dimensions, three
layers of GATv2 with four heads, the kind of edge as a feature. Both run in turns in one process
with the same weights, and the outputs are compared. Memory is the highest that a call reaches above
what stood before it (Linux counts it).
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import elu
from torch_geometric.nn import GATv2Conv

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from components.models.graph import GraphTensors, LegislativeGraphEncoder
from components.statutes import EDGE_KINDS, Article, LegislativeGraph, StatuteCorpus

N_ARTICLES = 22_633
N_LAWS = 32
DIM, HEADS, LAYERS = 768, 4, 3
N_ROWS = 2_000  # articles that a training step compares
ROUNDS = 5
TARGET_RATIO = 1.3

Step = Callable[[], object]


class Peer(nn.Module):
    """The same network out of torch_geometric's layers."""

    def __init__(self, encoder: LegislativeGraphEncoder) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            GATv2Conv(
                encoder.dim,
                encoder.dim // encoder.heads,
                encoder.heads,
                add_self_loops=False,
                edge_dim=len(encoder.edge_kinds),
            )
            for _ in range(encoder.layers)
        )
        with torch.no_grad():
            for theirs, ours in zip(self.layers, encoder.convolutions, strict=True):
                theirs.lin_l.weight.copy_(ours.source.weight)
                theirs.lin_r.weight.copy_(ours.target.weight)
                theirs.lin_edge.weight.copy_(ours.kinds.weight.t())
                theirs.att.copy_(ours.score[None])
                theirs.lin_l.bias.zero_()
                theirs.lin_r.bias.zero_()

    def forward(self, states: Tensor, edges: Tensor, kinds: Tensor) -> Tensor:
        for number, layer in enumerate(self.layers):
            states = layer(elu(states) if number else states, edges, kinds)
        return states


def law_graph(n_articles: int) -> LegislativeGraph:
    articles = []
    for n in range(n_articles):
        law = n * N_LAWS // n_articles
        # Five levels, from books of 350 articles to sections of 5; every law starts its own.
        headings = tuple(f"Division {n // size}" for size in (350, 120, 40, 12, 5))
        articles.append(Article(str(n), f"Code {law}", str(n), headings[: 3 + n // 90 % 3], "-"))
    return LegislativeGraph.of(StatuteCorpus(articles))


def peak_above(step: Step) -> float:
    """MiB that a call needs at its highest."""
    # What earlier calls have freed and the allocator keeps would hide what this one needs.
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = _memory("VmRSS")
    step()
    return (_memory("VmHWM") - before) / 1024


def _memory(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def in_turns(steps: dict[str, Step], rounds: int) -> dict[str, float]:
    """Seconds of the fastest round of each; a busy moment does not fall on one alone."""
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            seconds[name].append(time.perf_counter() - start)
    return {name: min(times) for name, times in seconds.items()}


def trained(network: nn.Module, forward: Callable[[], Tensor]) -> Step:
    def step() -> None:
        network.zero_grad()
        forward().square().sum().backward()

    return step


def show(title: str, steps: dict[str, Step], rounds: int) -> None:
    peaks = {name: peak_above(step) for name, step in steps.items()}
    times = in_turns(steps, rounds)
    peer = times["torch_geometric"]
    print(title)
    for name, seconds in times.items():
        print(
            f"  {name:34}{seconds * 1e3:9.1f} ms   {seconds / peer:6.2f} of torch_geometric's"
            f"{peaks[name]:9,.0f} MiB"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--articles", type=int, default=N_ARTICLES)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    law = law_graph(arguments.articles)
    graph = GraphTensors.of(law)
    features = nn.functional.normalize(torch.randn(law.n_nodes, DIM), dim=1)
    paper, identity = (
        LegislativeGraphEncoder(DIM, layers=LAYERS, heads=HEADS, init=init)
        for init in ("paper", "identity")
    )
    peer = Peer(paper)
    edges = torch.stack([graph.edges.source, graph.edges.target])
    kinds = torch.eye(len(EDGE_KINDS))[graph.edges.kind][:, : len(paper.edge_kinds)]
    rows = torch.randperm(law.n_articles)[:N_ROWS] + law.n_inner
    with torch.no_grad():
        furthest = (paper(features, graph) - peer(features, edges, kinds)).abs().max()
    assert furthest < 1e-4, furthest
    print(
        f"{law.n_nodes:,} nodes, {len(law.kind):,} edges, {DIM} dimensions, {arguments.threads} "
        f"threads; largest difference {furthest:.1e}"
    )
    peer_name, ours, residual = "torch_geometric", "ours, init: paper", "ours, init: identity"
    with torch.no_grad():
        show(
            f"forward pass (target: {TARGET_RATIO} of torch_geometric's time, less memory)",
            {
                peer_name: lambda: peer(features, edges, kinds),
                ours: lambda: paper(features, graph),
                residual: lambda: identity(features, graph),
            },
            arguments.rounds,
        )
    show(
        "forward and backward",
        {
            peer_name: trained(peer, lambda: peer(features, edges, kinds)),
            ours: trained(paper, lambda: paper(features, graph)),
            f"{ours}, {N_ROWS:,} rows": trained(paper, lambda: paper(features, graph, rows)),
            residual: trained(identity, lambda: identity(features, graph)),
            f"{residual}, {N_ROWS:,} rows": trained(
                identity, lambda: identity(features, graph, rows)
            ),
        },
        arguments.rounds,
    )
    prepared = in_turns({"rows": lambda: graph.receptive_field(rows, LAYERS)}, arguments.rounds)
    print(f"finding what {len(rows):,} rows need  {prepared['rows'] * 1e3:9.1f} ms")


if __name__ == "__main__":
    main()
