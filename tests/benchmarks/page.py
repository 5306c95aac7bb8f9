"""The demo's page, from the click on Search to the articles: `python tests/benchmarks/page.py`.

Starts `python -m ui` over Aldermere in a process and a home of its own, with the vectors of
all-MiniLM-L6-v2, and asks its questions in Debian's Chromium, on the same cores.
"""

from __future__ import annotations

from typing import Any

import bench

from ui.results import QUESTION_SHOWN

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


def answers(page: Any, rounds: int) -> list[float]:
    """Milliseconds from the click until the articles stand there; the first question is a try."""
    # The results name a longer question by its beginning.
    short = [each for each in bench.demo_questions() if len(each) <= QUESTION_SHOWN]
    took = []
    for question in short[: ANSWERS * rounds + 1]:
        page.locator("#question").fill(question)
        page.wait_for_timeout(100)
        took.append(float(page.evaluate(TIMED_SEARCH, question)))
    return took[1:]


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=2, help=f"of {ANSWERS} questions")
    options = parser.parse_args()
    with bench.demo_page("--model", "sentence-transformers/all-MiniLM-L6-v2") as page:
        waits = answers(page, options.rounds)
    print("| what, in ms | p50 | p95 | longest |\n|---|---|---|---|")
    print(f"| click to articles, {len(waits)} questions | {bench.quantiles(waits)} |")


if __name__ == "__main__":
    main()
