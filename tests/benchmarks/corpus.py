"""Reading a corpus, and distances in its tree: `python tests/benchmarks/corpus.py [PATH ...]`.

Without a path it writes a corpus of 57,755 short articles, the number of the Chinese statutes of
STARD, and reads that. The bare time is the least that any reader does: unpack and parse the JSON.

Then the tree distance of all articles of a corpus of BSARD's size to a question's 5 positives, next
to a breadth-first search of networkx over the same tree.
"""

from __future__ import annotations

import gzip
import json
import random
import tempfile
from pathlib import Path

import bench
import networkx
import numpy as np

from components.statutes import LegislativeTree, StatuteCorpus

N_READ = 57_755
N_LAWS = 1_287
N_POSITIVES = 5
SENTENCE = "the court may order any person who owns a dwelling to repair it within a month"


def write_short(path: Path, n_articles: int) -> None:
    generator = random.Random(0)
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=6) as file:
        for n in range(n_articles):
            record = {
                "id": f"a{n:05}",
                "law": f"Act {n * N_LAWS // n_articles}",
                "number": str(n),
                "headings": [f"Part {n // 12}", f"Chapter {n // 4}"],
                "text": " ".join(generator.choices(SENTENCE.split(), k=30)),
                "language": "en",
            }
            file.write(json.dumps(record) + "\n")


def read(path: Path) -> None:
    file = path / "articles.jsonl.gz" if path.is_dir() else path
    lines: list[object] = []

    def parse() -> None:
        with gzip.open(file, "rb") as unpacked:
            lines.extend(json.loads(line) for line in unpacked)

    bare = bench.seconds(parse)
    took = bench.seconds(StatuteCorpus.read, file)
    corpus = StatuteCorpus.read(file)
    assert len(corpus) == len(lines)
    built = bench.seconds(LegislativeTree, corpus)
    print(
        f"{path.stem.removesuffix('.jsonl'):24} {len(lines):>8,} articles  bare {bare:5.2f} s"
        f"  read {took:5.2f} s  tree {built:5.2f} s"
    )


def distances(n_articles: int) -> None:
    articles = bench.law(n_articles)
    tree = LegislativeTree(articles)
    graph = tree.to_networkx()
    positives = np.random.default_rng(0).choice(n_articles, N_POSITIVES, replace=False)
    nodes = {int(node) for node in tree.article_node[positives]}

    def searched(_: object = None) -> list[int]:
        reached = networkx.multi_source_dijkstra_path_length(graph, nodes)
        return [reached[node] for node in tree.article_node.tolist()]

    assert tree.min_distances(positives, cross_law="path").tolist() == searched()
    built = bench.milliseconds(lambda _: LegislativeTree(articles), range(3))
    ours = bench.milliseconds(lambda _: tree.min_distances(positives), range(50))
    peer = bench.milliseconds(searched, range(5))
    print(f"\n{n_articles:,} articles, {tree.n_nodes:,} nodes, {N_POSITIVES} positives")
    print(f"  building the tree          {built:9.2f} ms")
    print(f"  tree distance              {ours:9.3f} ms   {bench.at_most(ours, 10)}")
    print(f"  networkx, the same         {peer:9.3f} ms   {peer / ours:,.0f} times ours")


def main() -> None:
    parser = bench.parser(__doc__, articles=bench.N_ARTICLES)
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="corpora to read")
    parser.add_argument("--read", type=int, default=N_READ, help="articles of the invented corpus")
    options = parser.parse_args()
    print(f"to hold: {N_READ:,} articles read in 3 s")
    for path in options.paths:
        read(path)
    if not options.paths:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "synthetic.jsonl.gz"
            write_short(path, options.read)
            read(path)
    distances(options.articles)


if __name__ == "__main__":
    main()
