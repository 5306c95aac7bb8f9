"""Distances in the tree of a law: `python tests/benchmarks/corpus.py`.

The tree distance of all articles of a corpus of BSARD's size to a question's 5 positives, next to a
breadth-first search of networkx over the same tree.
"""

from __future__ import annotations

import bench
import networkx
import numpy as np

from components.statutes import LegislativeTree

N_POSITIVES = 5


def main() -> None:
    n_articles = bench.parser(__doc__, articles=bench.N_ARTICLES).parse_args().articles
    articles = bench.law(n_articles)
    tree = LegislativeTree(articles)
    graph = networkx.Graph([(up, node) for node, up in enumerate(tree.parent.tolist()) if node])
    positives = np.random.default_rng(0).choice(n_articles, N_POSITIVES, replace=False)
    nodes = {int(node) for node in tree.article_node[positives]}

    def searched(_: object = None) -> list[int]:
        reached = networkx.multi_source_dijkstra_path_length(graph, nodes)
        return [reached[node] for node in tree.article_node.tolist()]

    assert tree.distances(positives, cross_law="path").min(axis=0).tolist() == searched()
    ours = bench.milliseconds(lambda _: tree.distances(positives).min(axis=0), range(50))
    peer = bench.milliseconds(searched, range(5))
    print(f"{n_articles:,} articles, {tree.n_nodes:,} nodes, {N_POSITIVES} positives")
    print(f"  tree distance              {ours:9.3f} ms   {bench.at_most(ours, 10)}")
    print(f"  networkx, the same         {peer:9.3f} ms   {peer / ours:,.0f} times ours")


if __name__ == "__main__":
    main()
