"""How often the page is right: `python tests/benchmarks/answers.py [--split dev] [ui options]`.

Starts `python -m ui` with the options given (such as --store FILE --model DIR), in a home of its
own, and types 40 questions of the demo that the law answers and 10 that it does not into the page,
in Debian's Chromium. They are drawn with a fixed seed. Counts whether a passage of an article that
answers stands above the results, whether it is among the results, whether the page doubts or
refuses, whether law that is not in force is marked, and whether every excerpt ends where a
paragraph of its article ends, or in an ellipsis.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from datetime import date
from random import Random
from typing import Any

import bench
from playwright.sync_api import Page

from components.statutes.article import Article
from components.statutes.corpus import StatuteCorpus, read_questions
from components.statutes.question import Question

ANSWERED, UNANSWERED, SEED = 40, 10, 40
PATIENCE_MS = 100
LOOKS = 600

# What stands on the page: of each article its id, its mark and the lines of its excerpt.
SHOWN = """() => {
  const idOf = (part) => {
    const link = part.querySelector('a[href*="article?id="]');
    return new URL(link.href).searchParams.get('id');
  };
  const read = (part, selector) => ({
    id: idOf(part),
    marked: part.querySelector('.not-binding, .state:is(.repealed, .coming)') !== null,
    lines: [...part.querySelectorAll(selector)].map((line) => line.innerText),
  });
  const all = (selector) => [...document.querySelectorAll(selector)];
  return {
    told: document.querySelector('#status [class^=told-]')?.className ?? '',
    doubts: document.querySelector('#status .message:is(.doubt, .nothing)') !== null,
    quoted: all('#results .answer .passage').map((each) => read(each, '.law p')),
    found: all('#results article').map((each) => read(each, ':scope > .law p')),
  };
}"""


def drawn(split: str) -> tuple[list[Question], list[Question]]:
    """Questions with an answer, and without one."""
    questions = [each for each in read_questions("aldermere") if each.split == split]
    random = Random(SEED)
    answered = random.sample([each for each in questions if each.relevant], ANSWERED)
    return answered, random.sample([each for each in questions if not each.relevant], UNANSWERED)


def answer(page: Page, question: str) -> dict[str, Any]:
    """Type a question and return what the page then shows."""
    before = page.evaluate(SHOWN)["told"]
    page.locator("#question").fill(question)
    page.locator("#search").click()
    for _ in range(LOOKS):
        page.wait_for_timeout(PATIENCE_MS)
        shown: dict[str, Any] = page.evaluate(SHOWN)
        # Each status line has a class of its own, which tells it from the one before.
        if shown["told"] != before:
            page.wait_for_timeout(PATIENCE_MS)
            return dict(page.evaluate(SHOWN))
    raise TimeoutError(question)


def is_cut_off(lines: list[str], text: str) -> bool:
    """Whether a line ends within a paragraph of the article, and no ellipsis or line follows it."""
    words = [" ".join(line.split()) for line in lines]
    paragraphs = [" ".join(line.split()) for line in text.splitlines()]

    def goes_on(line: str, following: str) -> bool:
        end = re.sub(r"^\(?\w{1,3}[.)]\s", "", line.split("…")[-1].strip())
        rests = [each.partition(end)[2].strip() for each in paragraphs if end in each]
        # The points of a list, and what follows it, stand on lines of their own.
        return not any(not rest or (following and rest.startswith(following)) for rest in rests)

    following = [*(each.split("…")[0].strip() for each in words[1:]), ""]
    return any(
        not line.endswith("…") and goes_on(line, after)
        for line, after in zip(words, following, strict=True)
    )


def measure(page: Page, split: str) -> None:
    articles: dict[str, Article] = {each.id: each for each in StatuteCorpus.read("aldermere")}
    today = date.today()
    answered, unanswered = drawn(split)
    counts: Counter[str] = Counter()
    page.wait_for_timeout(2_000)
    for question in (*answered, *unanswered):
        shown = answer(page, question.text)
        right = set(question.relevant)
        quoted = [each["id"] for each in shown["quoted"]]
        found = [each["id"] for each in shown["found"]]
        kind = "answered" if right else "unanswered"
        counts[f"{kind}, doubted"] += shown["doubts"]
        for name, ids in (("quoted", quoted), ("first three", found[:3]), ("found", found)):
            counts[name] += not right.isdisjoint(ids)
        for each in (*shown["quoted"], *shown["found"]):
            article = articles[each["id"]]
            binds = article.state(today) in ("in force", "unknown")
            counts["unmarked"] += not binds and not each["marked"]
            if each["lines"]:
                counts["excerpts"] += 1
                counts["cut off"] += is_cut_off(each["lines"], article.text)
    print(f"`python {' '.join(sys.argv)}`\n")
    print(f"| {split}, seed {SEED} | of | |\n|---|---|---|")
    for words, of, name in (
        ("an article that answers is quoted above the results", len(answered), "quoted"),
        ("one is among the first three results", len(answered), "first three"),
        ("one is among the ten results", len(answered), "found"),
        ("doubted though the law answers", len(answered), "answered, doubted"),
        ("doubted or refused where it does not", len(unanswered), "unanswered, doubted"),
        ("articles not in force and not marked so", len(answered) + len(unanswered), "unmarked"),
        ("excerpts cut off without an ellipsis", counts["excerpts"], "cut off"),
    ):
        print(f"| {words} | {of} | {counts[name]} |")


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("--split", default="test", choices=("dev", "test"))
    options, flags = parser.parse_known_args()
    with bench.demo_page(*flags) as page:
        measure(page, options.split)


if __name__ == "__main__":
    main()
