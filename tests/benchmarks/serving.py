"""Fifty clients at once: `python tests/benchmarks/serving.py [--rounds N] [serve's flags]`.

Starts `python -m pipelines.serve` over the demo law (or what the flags name) in a process of its
own, asks its questions from 50 clients that each wait for one answer before they ask again, and
writes one line of Markdown a round: questions a second, latency, and the service's memory. In the
last round one more client sends bodies of 20 MB all the time. The clients run on the same cores.
"""

from __future__ import annotations

import asyncio
import os

import bench
import httpx
import psutil

LONG_BODY = b" " * 20_000_000


async def one_round(url: str, asked: list[str], *, disturbed: bool) -> tuple[bench.Floats, float]:
    """Milliseconds of each answer, and the seconds of the round."""
    limits = httpx.Limits(max_connections=bench.CLIENTS + 1)
    async with httpx.AsyncClient(timeout=60, limits=limits) as http:

        async def ask(number: int) -> None:
            response = await http.post(url, json={"query": asked[number % len(asked)]})
            assert response.status_code == 200, response.text
            assert response.json()["documents"]

        async def disturb() -> None:
            while True:
                response = await http.post(url, content=LONG_BODY)
                assert response.status_code == 413

        disturbing = asyncio.create_task(disturb()) if disturbed else None
        measured = await bench.ask_at_once(ask)
        if disturbing is not None:
            assert not disturbing.done()
            disturbing.cancel()
    return measured


async def measure(url: str, process: psutil.Process, rounds: int) -> None:
    asked = bench.demo_questions()
    async with httpx.AsyncClient() as http:
        while (await http.get(httpx.URL(url).join("/ready"))).is_error:
            await asyncio.sleep(0.1)
    print(
        f"{bench.CLIENTS} clients, {bench.QUESTIONS_A_ROUND} questions a round, "
        f"{os.cpu_count()} cores, {url}\n"
    )
    print("| round | questions/s | p50 ms | p95 ms | longest ms | memory MB |")
    print("|---|---|---|---|---|---|")
    for number in range(1, rounds + 1):
        disturbed = number == rounds
        took, seconds = await one_round(url, asked, disturbed=disturbed)
        name = f"{number}, and 20 MB bodies" if disturbed else str(number)
        rate, size = len(took) / seconds, process.memory_info().rss / 1e6
        print(f"| {name} | {rate:.1f} | {bench.quantiles(took)} | {size:.0f} |", flush=True)


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    options, flags = parser.parse_known_args()
    command = ["pipelines.serve", "--port", "0", *flags]
    with bench.service(command, r"Listening at (\S+) for POST ([^\s,;]+)") as (process, said):
        asyncio.run(measure(said[1].rstrip("/") + said[2], process, options.rounds))


if __name__ == "__main__":
    main()
