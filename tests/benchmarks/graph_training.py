"""Training the graph network at BSARD's size, on given vectors.

    python tests/benchmarks/graph_training.py [--epochs 10] [--articles N] [--dim D]

22,633 articles, 886 questions of five articles each, batches of 512 pairs, one BM25 negative a
question, as G-DSR trains it (the paper: 5 minutes on a V100). To hold: 5 minutes on two cores.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gpu"))

import torch
from graph_checks import features_for, law_of_size, training_seconds
from run import texts

from components.statutes.graph import LegislativeGraph


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--articles", type=int, default=22_633)
    parser.add_argument("--questions", type=int, default=886)
    parser.add_argument("--dim", type=int, default=768)
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args()
    data = law_of_size(texts, options.articles, options.questions)
    started = time.perf_counter()
    graph = LegislativeGraph.of(data.corpus)
    built = time.perf_counter() - started
    features = features_for(data, graph, options.dim)
    took, losses = training_seconds(torch.device("cpu"), data, features, options.epochs)
    print(
        f"{graph.n_nodes:,} nodes of {options.dim} numbers; the graph was built in {built:.2f} s\n"
        f"{options.epochs} epochs, {len(losses)} steps: {took:.0f} s, {took / len(losses):.2f} s a "
        f"step, {torch.get_num_threads()} threads\nloss {losses[0]:.3f} to {losses[-1]:.3f}"
    )


if __name__ == "__main__":
    main()
