"""How long reading published law takes, compared with parsing its XML alone.

    python -m tests.benchmarks.reading FILE_OR_FOLDER ...

Prints, for each file of XML, its size, the seconds that lxml takes to parse it, those that its
reader takes, and their ratio, which is to stay under 3; then the articles of the whole folder and
the peak of memory. Each time is the best of five.
"""

import argparse
import gzip
import resource
import time
from collections.abc import Callable
from pathlib import Path

from lxml import etree

from components.statutes.sources import opening

REPEATS = 5


def best(work: Callable[[], object]) -> float:
    """The shortest of some runs, in seconds of the processor."""
    seconds: list[float] = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def parse(path: Path) -> None:
    """What reading cannot do without: unpack the file, and parse it."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        etree.parse(file, etree.XMLParser(resolve_entities=False, no_network=True))


def read(path: Path) -> int:
    """The number of articles of a file or folder."""
    return sum(1 for _ in opening.open_articles(path, []))


def main() -> None:
    """Measure the files and folders of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path)
    paths: list[Path] = parser.parse_args().paths
    for path in paths:
        for file in sorted(path.rglob("*.xml*")) if path.is_dir() else [path]:
            if not read(file):
                continue
            parsing, reading = best(lambda file=file: parse(file)), best(lambda f=file: read(f))
            size = file.stat().st_size / 2**20
            print(
                f"{reading / parsing:5.2f}  {parsing:.4f} s  {reading:.4f} s  {size:.2f} MB  {file}"
            )
    articles = sum(map(read, paths))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{articles:,} articles, peak memory {peak:.0f} MB")


if __name__ == "__main__":
    main()
