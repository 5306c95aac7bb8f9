"""Fifty clients at once: `python tests/benchmarks/serving.py [--rounds N] [serve's flags]`.

Starts `python -m pipelines.serve` over the demo law (or what the flags name) in a process of its
own, asks its questions from 50 clients that each wait for one answer before they ask again, and
writes one line of Markdown a round: questions a second, latency, and the service's memory. In the
last round one more client sends bodies of 20 MB all the time. The clients run on the same cores.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np
import psutil

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = 50
QUESTIONS_A_ROUND = 500
ROUNDS = 8
LONG_BODY = b" " * 20_000_000


def questions() -> list[str]:
    lines = (ROOT / "pipelines" / "demo" / "questions.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines]


def start(flags: list[str], log: Path) -> tuple[subprocess.Popen[bytes], str]:
    """The service, and the address of its (first) pipeline."""
    command = [sys.executable, "-m", "pipelines.serve", "--port", "0", *flags]
    # Into a file: a pipe that nobody reads would fill up with the log, and stop the service.
    with log.open("wb") as written:
        process = subprocess.Popen(command, cwd=ROOT, stderr=written)
    while process.poll() is None:
        said = re.search(r"Listening at (\S+) for POST ([^\s,;]+)", log.read_text("utf-8"))
        if said:
            return process, said[1].rstrip("/") + said[2]
        time.sleep(0.1)
    sys.exit(log.read_text("utf-8"))


async def one_round(url: str, asked: list[str], *, disturbed: bool) -> tuple[np.ndarray, float]:
    """Latencies in milliseconds of all answers, and the seconds of the round."""
    limits = httpx.Limits(max_connections=CLIENTS + 1)
    took: list[float] = []
    left = iter(range(QUESTIONS_A_ROUND))
    async with httpx.AsyncClient(timeout=60, limits=limits) as http:

        async def client() -> None:
            for number in left:
                begun = time.perf_counter()
                response = await http.post(url, json={"query": asked[number % len(asked)]})
                took.append((time.perf_counter() - begun) * 1e3)
                assert response.status_code == 200, response.text
                assert response.json()["documents"]

        async def disturb() -> None:
            while True:
                response = await http.post(url, content=LONG_BODY)
                assert response.status_code == 413

        disturbing = asyncio.create_task(disturb()) if disturbed else None
        begun = time.perf_counter()
        await asyncio.gather(*(client() for _ in range(CLIENTS)))
        seconds = time.perf_counter() - begun
        if disturbing is not None:
            assert not disturbing.done()
            disturbing.cancel()
    return np.array(took), seconds


async def measure(url: str, memory: psutil.Process, rounds: int) -> None:
    asked = questions()
    async with httpx.AsyncClient() as http:
        while (await http.get(httpx.URL(url).join("/ready"))).is_error:
            await asyncio.sleep(0.1)
    print(
        f"{CLIENTS} clients, {QUESTIONS_A_ROUND} questions a round, {os.cpu_count()} cores, {url}\n"
    )
    print("| round | questions/s | p50 ms | p95 ms | longest ms | memory MB |")
    print("|---|---|---|---|---|---|")
    for number in range(1, rounds + 1):
        disturbed = number == rounds
        took, seconds = await one_round(url, asked, disturbed=disturbed)
        p50, p95, longest = np.quantile(took, [0.5, 0.95, 1.0])
        name = f"{number}, and 20 MB bodies" if disturbed else str(number)
        rate, size = len(took) / seconds, memory.memory_info().rss / 1e6
        print(f"| {name} | {rate:.1f} | {p50:.0f} | {p95:.0f} | {longest:.0f} | {size:.0f} |")


def main() -> None:
    flags, rounds = sys.argv[1:], ROUNDS
    if flags[:1] == ["--rounds"]:
        rounds, flags = int(flags[1]), flags[2:]
    with tempfile.TemporaryDirectory() as folder:
        process, url = start(flags, Path(folder) / "log")
        try:
            asyncio.run(measure(url, psutil.Process(process.pid), rounds))
        finally:
            process.terminate()
            process.wait()
    print(f"\nended with {process.returncode}")


if __name__ == "__main__":
    main()
