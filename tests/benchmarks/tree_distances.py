"""Difficulty distances of one question: `python tests/benchmarks/tree_distances.py`.

Tree distance of all articles of a corpus of BSARD's size (22,633 articles) to the question's 5
positives, beside a breadth-first search of networkx over the same tree.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import networkx
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from components.statutes import Article, LegislativeTree

N_ARTICLES = 22_633
N_LAWS = 32
N_POSITIVES = 5
TARGET_MS = 10.0


def corpus() -> list[Article]:
    articles = []
    for n in range(N_ARTICLES):
        law = n * N_LAWS // N_ARTICLES
        # Five levels, from books of 350 articles to sections of 4; every law starts its own.
        headings = tuple(f"Division {n // size}" for size in (350, 120, 40, 12, 4))
        articles.append(Article(str(n), f"Code {law}", str(n), headings[: 1 + n // 700 % 5], "-"))
    return articles


def milliseconds(call: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        times.append((time.perf_counter() - started) * 1e3)
    return statistics.median(times)


def main() -> None:
    articles = corpus()
    built = milliseconds(lambda: LegislativeTree(articles), 3)
    tree = LegislativeTree(articles)
    graph = tree.to_networkx()
    positives = np.random.default_rng(0).choice(N_ARTICLES, N_POSITIVES, replace=False)
    nodes = {int(node) for node in tree.article_node[positives]}

    def searched() -> list[int]:
        reached = networkx.multi_source_dijkstra_path_length(graph, nodes)
        return [reached[node] for node in tree.article_node.tolist()]

    oracle = searched()
    assert tree.min_distances(positives, cross_law="path").tolist() == oracle
    by_tree = milliseconds(lambda: tree.min_distances(positives), 50)
    peer = milliseconds(searched, 5)
    print(f"{tree.n_articles:,} articles, {tree.n_nodes:,} nodes, {N_POSITIVES} positives")
    print(f"  building the tree          {built:9.2f} ms")
    print(f"  tree distance              {by_tree:9.3f} ms   target {TARGET_MS} ms")
    print(f"  networkx, the same         {peer:9.3f} ms   {peer / by_tree:,.0f} times ours")


if __name__ == "__main__":
    main()
