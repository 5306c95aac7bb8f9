"""The graph network at BSARD's size: `python tests/benchmarks/graph_network.py`.

Next to torch_geometric: a tree of some 4,700 laws and divisions, three layers of GATv2 with four
heads, the kind of edge as a feature. Both run in turns in one process with the same weights, and
the outputs are compared. Memory is the highest that a call reaches above what stood before it.

Then its training on given vectors: 886 questions of five articles each, batches of 512 pairs, one
BM25 negative a question, as G-DSR trains it (the paper: 5 minutes on a V100).
"""

from __future__ import annotations

from collections.abc import Callable

import bench
import torch
from graph_checks import features_for, law_of_size, training_seconds
from run import texts
from torch import Tensor, nn
from torch.nn.functional import elu, normalize
from torch_geometric.nn import GATv2Conv

from components.models.graph import GraphTensors, LegislativeGraphEncoder
from components.statutes import EDGE_KINDS, LegislativeGraph, StatuteCorpus

HEADS, LAYERS = 4, 3
N_ROWS = 2_000  # articles that a training step compares
PEER, PAPER, IDENTITY = "torch_geometric", "ours, init: paper", "ours, init: identity"

Step = Callable[[object], object]


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


def backward(network: nn.Module, forward: Step) -> Step:
    def step(_: object) -> None:
        network.zero_grad()
        forward(_).square().sum().backward()  # type: ignore[attr-defined]

    return step


def show(title: str, steps: dict[str, Step], rounds: int) -> None:
    peaks = {name: bench.peak_bytes(lambda step=step: step(0)) for name, step in steps.items()}
    best = {name: times.min() for name, times in bench.in_turns(steps, range(rounds)).items()}
    print(title)
    for name, seconds in best.items():
        print(
            f"  {name:34}{seconds * 1e3:9.1f} ms   {seconds / best[PEER]:6.2f} of "
            f"torch_geometric's{peaks[name] / 2**20:9,.0f} MiB"
        )


def compare(n_articles: int, dim: int, rounds: int) -> None:
    law = LegislativeGraph.of(StatuteCorpus(bench.law(n_articles)))
    graph = GraphTensors.of(law)
    features = normalize(torch.randn(law.n_nodes, dim), dim=1)
    paper, identity = (
        LegislativeGraphEncoder(dim, layers=LAYERS, heads=HEADS, init=init)
        for init in ("paper", "identity")
    )
    peer = Peer(paper)
    edges = torch.stack([graph.edges.source, graph.edges.target])
    kinds = torch.eye(len(EDGE_KINDS))[graph.edges.kind][:, : len(paper.edge_kinds)]
    rows = torch.randperm(law.n_articles)[:N_ROWS] + law.n_inner
    networks = {PEER: peer, PAPER: paper, IDENTITY: identity}
    forward: dict[str, Step] = {
        PEER: lambda _: peer(features, edges, kinds),
        PAPER: lambda _: paper(features, graph),
        IDENTITY: lambda _: identity(features, graph),
    }
    some: dict[str, Step] = {
        f"{name}, {N_ROWS:,} rows": backward(own, lambda _, own=own: own(features, graph, rows))
        for name, own in networks.items()
        if name != PEER
    }
    with torch.no_grad():
        furthest = float((forward[PAPER](0) - forward[PEER](0)).abs().max())  # type: ignore[operator]
    assert furthest < 1e-4, furthest
    print(
        f"{law.n_nodes:,} nodes, {len(law.kind):,} edges, {dim} dimensions, "
        f"{torch.get_num_threads()} threads; largest difference {furthest:.1e}"
    )
    with torch.no_grad():
        show("forward (to hold: 1.3 of torch_geometric's time, less memory)", forward, rounds)
    steps = {name: backward(networks[name], step) for name, step in forward.items()}
    show("forward and backward", steps | some, rounds)
    prepared = bench.milliseconds(lambda _: graph.receptive_field(rows, LAYERS), range(rounds))
    print(f"finding what {len(rows):,} rows need  {prepared:9.1f} ms")


def train(n_articles: int, dim: int, n_questions: int, epochs: int) -> None:
    data = law_of_size(texts, n_articles, n_questions)
    features = features_for(data, LegislativeGraph.of(data.corpus), dim)
    took, losses = training_seconds(torch.device("cpu"), data, features, epochs)
    print(
        f"\n{epochs} epochs, {len(losses)} steps: {took:.0f} s ({bench.at_most(took, 300)}), "
        f"{took / len(losses):.2f} s a step\nloss {losses[0]:.3f} to {losses[-1]:.3f}"
    )


def main() -> None:
    parser = bench.parser(__doc__, articles=bench.N_ARTICLES)
    parser.add_argument("--dim", type=int, default=768)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--questions", type=int, default=886)
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    compare(options.articles, options.dim, options.rounds)
    train(options.articles, options.dim, options.questions, options.epochs)


if __name__ == "__main__":
    main()
