"""Reading a corpus of law: `python tests/benchmarks/corpus_reading.py [PATH ...]`.

Without a path it writes a corpus of 57,755 short articles, the number of the Chinese statutes of
STARD, and reads that. The bare row is the least that any reader does: unpack and parse the JSON.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from components.statutes import LegislativeTree, StatuteCorpus

N_ARTICLES = 57_755
N_LAWS = 1_287
TARGET_SECONDS = 3.0
SENTENCE = "the court may order any person who owns a dwelling to repair it within a month"


def write_synthetic(path: Path) -> None:
    generator = random.Random(0)
    words = SENTENCE.split()
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=6) as file:
        for n in range(N_ARTICLES):
            law = n * N_LAWS // N_ARTICLES
            record = {
                "id": f"a{n:05}",
                "law": f"Act {law}",
                "number": str(n),
                "headings": [f"Part {n // 12}", f"Chapter {n // 4}"],
                "text": " ".join(generator.choices(words, k=30)),
                "language": "en",
            }
            file.write(json.dumps(record) + "\n")


def bare(path: Path) -> int:
    with gzip.open(path, "rb") as file:
        return len([json.loads(line) for line in file])


def measure(path: Path) -> None:
    file = path / "articles.jsonl.gz" if path.is_dir() else path
    started = time.perf_counter()
    n_articles = bare(file)
    parsed = time.perf_counter()
    corpus = StatuteCorpus.read(file)
    read = time.perf_counter()
    tree = LegislativeTree(corpus)
    built = time.perf_counter()
    assert len(corpus) == n_articles
    print(
        f"{path.stem.removesuffix('.jsonl'):24} {n_articles:>8,} articles"
        f"  bare {parsed - started:5.2f} s  read {read - parsed:5.2f} s"
        f"  tree of {tree.n_nodes:,} nodes {built - read:5.2f} s"
    )


def main() -> None:
    print(f"target: {N_ARTICLES:,} articles read in {TARGET_SECONDS:.0f} s")
    for path in map(Path, sys.argv[1:]):
        measure(path)
    if len(sys.argv) == 1:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "synthetic.jsonl.gz"
            write_synthetic(path)
            measure(path)


if __name__ == "__main__":
    main()
