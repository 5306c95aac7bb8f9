"""What the benchmarks share: an invented law, clocks, memory, and processes to ask.

Import it before other libraries: it puts the repository on the path and keeps them off the network.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy as np
import psutil
import torch
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]

Floats = NDArray[np.float64]
Vectors = NDArray[np.float32]
Call = Callable[[Any], object]

N_ARTICLES = 22_633  # BSARD's size
N_LAWS = 32
N_WORDS = 40_000
MEDIAN_LENGTH = 77  # words; the mean is 140
AT_ONCE = 10_000
CLIENTS, QUESTIONS_A_ROUND = 50, 500


def parser(doc: str | None, *, articles: int | None = None) -> argparse.ArgumentParser:
    """Its `--help` prints the docstring; `articles` is the default of `--articles`."""
    made = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    if articles is not None:
        made.add_argument("--articles", type=int, default=articles, help="default: %(default)s")
    return made


def at_most(value: float, target: float) -> str:
    return f"at most {target:g}: {'holds' if value <= target else 'FAILS'}"


def at_least(value: float, target: float) -> str:
    return f"at least {target:g}: {'holds' if value >= target else 'FAILS'}"


# Clocks


def seconds(call: Callable[..., object], *inputs: Any, device: str | torch.device = "cpu") -> float:
    started = time.perf_counter()
    call(*inputs)
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - started


def milliseconds(call: Call, inputs: Iterable[Any]) -> float:
    """Time of the fastest call, after one that warms up: what other processes cost is left out."""
    inputs = list(inputs)
    call(inputs[0])
    return min(seconds(call, each) for each in inputs) * 1e3


def in_turns(
    ways: Mapping[str, Call], inputs: Iterable[Any], device: str | torch.device = "cpu"
) -> dict[str, Floats]:
    """Seconds of each way for each input; in turns, so that a busy moment meets all of them."""
    times = [[seconds(way, each, device=device) for way in ways.values()] for each in inputs]
    return dict(zip(ways, np.array(times).T, strict=True))


def of_parts(ways: Mapping[str, tuple[Call, Sequence[Any]]]) -> dict[str, float]:
    """Milliseconds of each way with its inputs: the median of five parts' fastest calls, in turns.

    For calls so short that another way's call before each would change what the cache holds.
    """
    n_inputs = len(next(iter(ways.values()))[1])
    size = -(-n_inputs // 5)
    rounds = [
        [milliseconds(call, inputs[start : start + size]) for call, inputs in ways.values()]
        for start in range(0, n_inputs, size)
    ]
    return dict(zip(ways, np.median(rounds, axis=0).tolist(), strict=True))


def peak_gib() -> float:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


# An invented law


def word(rank: int) -> str:
    """A word of letters, the frequent ones short."""
    return "".join("etaoinshrd"[int(digit)] for digit in str(rank + 10)) + "x"


def documents(n_articles: int) -> list[Any]:
    """Haystack documents without vectors: words by Zipf's law, lengths as law has them."""
    from haystack import Document

    rng = np.random.default_rng(0)
    words = np.array([word(rank) for rank in range(N_WORDS)])
    frequency = 1 / (np.arange(N_WORDS) + 2.7)
    frequency /= frequency.sum()
    lengths = np.maximum(5, rng.lognormal(np.log(MEDIAN_LENGTH), 1.1, n_articles)).astype(int)
    drawn = np.split(rng.choice(N_WORDS, lengths.sum(), p=frequency), np.cumsum(lengths)[:-1])
    return [
        Document(
            id=f"a{position}",
            content=" ".join(words[ranks]),
            meta={
                "law": f"Code {position * N_LAWS // n_articles}",
                "number": str(position),
                "headings": [f"Book {position // 700}", f"Chapter {position // 40}"],
                "position": position,
                "language": "en",
            },
        )
        for position, ranks in enumerate(drawn)
    ]


def unit_vectors(n: int, dim: int = 768, seed: int = 0) -> Vectors:
    """Random directions, float32 `[n, dim]`."""
    vectors = np.random.default_rng(seed).standard_normal((n, dim), dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def fill(store: Any, n: int, dim: int, articles: Callable[[int, int], Iterable[Any]]) -> None:
    """Write n articles with random vectors, some thousand a transaction.

    `articles(start, stop)` gives some of them, as `as_row` writes them.
    """
    from components.stores.database import INSERT

    for start in range(0, n, AT_ONCE):
        stop = min(start + AT_ONCE, n)
        rows = zip(articles(start, stop), unit_vectors(stop - start, dim, start + 2), strict=True)
        with store.database.writing() as connection:
            connection.executemany(INSERT, [(*row, vector.tobytes()) for row, vector in rows])


# Processes to ask


def demo_questions() -> list[str]:
    from components.statutes import read_questions

    return [question.text for question in read_questions("aldermere")]


@contextmanager
def service(
    command: Sequence[str], listening: str, **environment: str
) -> Iterator[tuple[psutil.Process, re.Match[str]]]:
    """`python -m command` while the block runs, and where its log matched `listening`."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        # Into a file: a pipe that nobody reads would fill up with the log, and stop the service.
        with log.open("wb") as written:
            process = subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=ROOT,
                env={**os.environ, **environment},
                stderr=written,
            )
        try:
            while not (found := re.search(listening, log.read_text("utf-8"))):
                if process.poll() is not None:
                    sys.exit(log.read_text("utf-8"))
                time.sleep(0.1)
            yield psutil.Process(process.pid), found
        finally:
            process.terminate()
            process.wait()
    print(f"\nended with {process.returncode}")


@contextmanager
def demo_page(*flags: str) -> Iterator[Any]:
    """`python -m ui` with these flags, in a home of its own, opened in Debian's Chromium."""
    from playwright.sync_api import sync_playwright

    command = ["ui", "--port", "0", *flags]
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with (
        tempfile.TemporaryDirectory() as home,
        service(command, r"The page is at (\S+)", LEXARBOR_HOME=home) as (_, said),
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(said[1])
        page.locator("#question").wait_for()
        yield page
        browser.close()


async def ask_at_once(ask: Callable[[int], Awaitable[None]]) -> tuple[Floats, float]:
    """500 questions, by number, of 50 clients that each wait for one answer before the next.

    Returns:
        Milliseconds of each question, and the seconds of all.
    """
    took: list[float] = []
    left = iter(range(QUESTIONS_A_ROUND))

    async def client() -> None:
        for question in left:
            begun = time.perf_counter()
            await ask(question)
            took.append((time.perf_counter() - begun) * 1e3)

    begun = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return np.array(took), time.perf_counter() - begun


def quantiles(values: Iterable[float]) -> str:
    """Three cells of a Markdown table: p50, p95 and the longest."""
    p50, p95, longest = np.quantile(list(values), [0.5, 0.95, 1.0])
    return f"{p50:.0f} | {p95:.0f} | {longest:.0f}"
