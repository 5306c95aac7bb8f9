"""The demo's page: `python tests/benchmarks/page.py [--rounds N] [--model DIR]`.

Starts `python -m ui` over Aldermere in a process and a home of its own, with the vectors of
all-MiniLM-L6-v2 (or of DIR, a model folder with a ranker: then with re-ranking), and writes what a
reader waits for, in Debian's Chromium: until the first paint of a page never seen before, from its
first byte until the box takes a question, and from the click on Search until the articles stand
there. Then 50 clients ask at once over HTTP, each as a
browser does (joins the queue, reads the stream, asks again), and the page's memory is told round by
round. Browser and clients run on the same cores.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

import bench
import httpx
import numpy as np
import psutil
from playwright.sync_api import Browser, sync_playwright

from pipelines.indexing import index_corpus
from ui.results import QUESTION_SHOWN

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
COLD_CONTEXTS = 10
ANSWERS = 40

# From the click until the articles of this very question are in the document.
TIMED_SEARCH = """question => new Promise((resolve) => {
  const answered = () => {
    const asked = document.querySelector('#results .asked q');
    return asked && asked.textContent === question && document.querySelector('#results article');
  };
  const watching = new MutationObserver(() => {
    if (!answered()) return;
    watching.disconnect();
    resolve(performance.now() - begun);
  });
  watching.observe(document.body, { childList: true, subtree: true, characterData: true });
  const begun = performance.now();
  document.getElementById('search').click();
})"""
FIRST_PAINT = """() => new Promise((resolve) => {
  new PerformanceObserver((seen) => {
    const paint = seen.getEntries().find((each) => each.name === 'first-contentful-paint');
    if (paint) resolve(paint.startTime);
  }).observe({ type: 'paint', buffered: true });
})"""


# Notes when the box and the button are drawn, from the first byte of the document.
BOX_DRAWN = """new MutationObserver((_, watching) => {
  if (!document.querySelector('#question textarea') || !document.querySelector('#search')) return;
  watching.disconnect();
  const [document_] = performance.getEntriesByType('navigation');
  window.boxDrawn = performance.now() - document_.responseStart;
}).observe(document, { childList: true, subtree: true })"""


def openings(browser: Browser, url: str) -> tuple[list[float], list[float]]:
    """Milliseconds until something is seen, and from the first byte until the box is drawn, each
    time in a browser that has never been here."""
    paints, boxes = [], []
    for _ in range(COLD_CONTEXTS):
        context = browser.new_context()
        page = context.new_page()
        page.add_init_script(BOX_DRAWN)
        page.goto(url)
        paints.append(float(page.evaluate(FIRST_PAINT)))
        for drawn in ("#question textarea", "#search"):
            page.locator(drawn).wait_for()
        boxes.append(float(page.evaluate("window.boxDrawn")))
        context.close()
    return paints, boxes


def answers(browser: Browser, url: str, asked: list[str]) -> list[float]:
    """Milliseconds from the click until the articles stand there; the first question is a try."""
    page = browser.new_page()
    page.goto(url)
    box = page.locator("#question textarea, #question input")
    box.wait_for()
    took = []
    # The results name a longer question by its beginning.
    short = [question for question in asked if len(question) <= QUESTION_SHOWN]
    for question in short[: ANSWERS + 1]:
        box.fill(question)
        page.wait_for_timeout(100)
        took.append(float(page.evaluate(TIMED_SEARCH, question)))
    page.close()
    return took[1:]


def search_of(url: str) -> tuple[int, Callable[[str], list[Any]]]:
    """Number of the function that searches, and its fields for a question in a fresh page."""
    document = httpx.get(url).text
    found = re.search(r"window\.gradio_config = (\{.*?\});</script>", document)
    assert found, "the page has no configuration"
    config = json.loads(found[1])
    search = next(each for each in config["dependencies"] if each["api_name"] == "search")
    fields = {each["id"]: each["props"] for each in config["components"]}

    def asking(question: str) -> list[Any]:
        return [
            question if fields[each].get("elem_id") == "question" else fields[each].get("value")
            for each in search["inputs"]
        ]

    assert "?" in asking("?"), "the search takes no question"
    return search["id"], asking


async def one_round(
    url: str, asked: Iterator[str], sessions: Iterator[str]
) -> tuple[bench.Floats, float]:
    """Milliseconds of each question, NaN where there was no answer, and the seconds of all."""
    index, asking = search_of(url)
    of_client = [next(sessions) for _ in range(bench.CLIENTS)]
    limits = httpx.Limits(max_connections=2 * bench.CLIENTS)
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits) as http:

        async def ask(client: int, _: int) -> bool:
            session = {"session_hash": of_client[client]}
            call = {"fn_index": index, "data": asking(next(asked)), **session}
            joined = await http.post("gradio_api/queue/join", json=call)
            stream = await http.get("gradio_api/queue/data", params=session)
            return joined.is_success and "<article" in stream.text

        return await bench.ask_at_once(ask)


def measure(url: str, process: psutil.Process, rounds: int) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        print(
            f"{platform.machine()}, {len(os.sched_getaffinity(0))} cores, "
            f"Python {platform.python_version()}, gradio {version('gradio')}, "
            f"torch {version('torch')}, Chromium {browser.version}; "
            f"`python {' '.join(sys.argv)}`\n"
        )
        print("| what, in ms | p50 | p95 | longest |")
        print("|---|---|---|---|")
        for address in ("", "fr"):
            paints, boxes = openings(browser, url + address)
            print(f"| first paint of /{address}, {len(paints)} times | {bench.quantiles(paints)} |")
            print(f"| first byte to box, {len(boxes)} times | {bench.quantiles(boxes)} |")
        waits = answers(browser, url, bench.demo_questions())
        print(f"| click to articles, {len(waits)} questions | {bench.quantiles(waits)} |")
        browser.close()
    print(f"\n{bench.CLIENTS} clients at once, {bench.QUESTIONS_A_ROUND} questions a round\n")
    print("| round | errors | questions/s | p50 ms | p95 ms | longest ms | memory MB |")
    print("|---|---|---|---|---|---|---|")
    asked = itertools.cycle(bench.demo_questions())
    sessions = (f"client{number}" for number in itertools.count())
    for number in range(1, rounds + 1):
        took, seconds = asyncio.run(one_round(url, asked, sessions))
        errors, rate = int(np.isnan(took).sum()), len(took) / seconds
        size = process.memory_info().rss / 1e6
        print(
            f"| {number} | {errors} | {rate:.1f} | {bench.quantiles(took)} | {size:.0f} |",
            flush=True,
        )


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--model", metavar="DIR", help="a model folder with a ranker")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        flags = ["--model", MODEL]
        if options.model:
            store = f"{home}/law.db"
            index_corpus("aldermere", store, model=options.model)
            flags = ["--store", store, "--pipeline", "hybrid_rerank"]
        command = ["ui", "--port", "0", *flags]
        with bench.service(command, r"The page is at (\S+)", LEXARBOR_HOME=home) as started:
            process, said = started
            measure(said[1], process, options.rounds)


if __name__ == "__main__":
    main()
