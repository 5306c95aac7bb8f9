"""The longest that a hostile question of 2,000 characters keeps the citation retriever busy.

    python tests/benchmarks/citation_bounds.py STORE

STORE is one of many articles, made by `python -m pipelines.index --model none`. Each time is the
processor's, the fastest of several runs.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import bench

from components.retrievers.citation import CitationRetriever
from components.stores.sqlite import StatuteDocumentStore

LENGTH = 2_000
RUNS = 15
TARGET = 50.0  # milliseconds
SHOWN = 10
N_RANDOM = 300

PIECES: dict[str, Callable[[int], str]] = {
    "ranges": lambda n: f"articles {n} to {n + 900}; ",
    "ranges in one list": lambda n: f"{n} to {n + 900}, " if n else "articles ",
    "Chinese ranges": lambda n: f"第{n}条至第{n + 900}条",
    "ranges backwards": lambda n: f"articles {n + 100} to {n + 1}; ",
    "ranges without a beginning": lambda n: f"articles 0.{n} to {n + 1}; ",
    "ranges without an end": lambda n: f"articles {n + 1} to 9{n:03d}; ",
    "dashes": lambda n: f"{n}–{n + 30}, " if n else "articles ",
    "numbers": lambda n: f"{n}, " if n else "articles ",
    "Chinese numbers": lambda n: f"第{n + 1}条、",
    "paragraphs": lambda n: f"art. {n % 9 + 1}({n // 9 + 1}) ",
    "Chinese paragraphs": lambda n: f"第{n % 9 + 1}条第{n // 9 + 1}款",
    "Vietnamese paragraphs": lambda n: f"khoản {n} Điều {n} ",
    "numbers with dots": lambda n: f"art. {n % 9 + 1}.{n // 9 + 1} ",
    "code numbers": lambda n: f"L. {1000 + n}-1, ",
    "one citation": lambda _: "art. 1 ",
    "one number": lambda n: "1" if n else "article ",
    "what may be a section": lambda _: "[s 12到",
    "signs": lambda n: f"§§ {n}: ",
    "brackets": lambda _: "《〈",
    "levels": lambda n: "(1)" if n else "section 1",
    "names": lambda _: "art. 5 Housing and Law of ",
    "Chinese names": lambda _: "中华人民共和国民法典",
    "capitals": lambda _: "Bb of the Cc and ",
    "many languages": lambda n: ("第2条", "art. 2 ", "§ 2 BGB ", "Điều 2 ", "art. L. 2-1 ")[n % 5],
}


def questions() -> Iterator[tuple[str, str]]:
    """Each hostile question, with its name: the pieces above, and random mixtures of them."""
    for name, piece in PIECES.items():
        yield name, "".join(piece(n) for n in range(LENGTH))[:LENGTH]
    rng = random.Random(0)
    for _ in range(N_RANDOM):
        names = rng.sample(list(PIECES), rng.randint(2, 5))
        mixed = "".join(PIECES[rng.choice(names)](rng.randrange(1, 999)) for _ in range(LENGTH))
        yield " + ".join(names), mixed[:LENGTH]


def milliseconds(ask: Callable[[], object]) -> float:
    times = []
    for _ in range(RUNS):
        started = time.thread_time()
        ask()
        times.append((time.thread_time() - started) * 1e3)
    return min(times)


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("store", type=Path)
    retriever = CitationRetriever(StatuteDocumentStore(parser.parse_args().store), top_k=100)
    retriever.warm_up()
    times = sorted(
        ((milliseconds(lambda q=text: retriever.run(q)), name) for name, text in questions()),
        reverse=True,
    )
    print(f"{retriever.document_store.count_documents():,} articles, {len(times)} questions")
    for ms, name in times[:SHOWN]:
        print(f"{ms:8.1f} ms  {name}")
    print(bench.at_most(times[0][0], TARGET))


if __name__ == "__main__":
    main()
