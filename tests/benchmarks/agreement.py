"""Low confidence: how often two stages agree, and how often the answer is there where they do not.

Asks every question that has an answer. For several numbers of first ranks it says for what share of
the questions no article is among the first of two stages, and what share of those, and of the rest,
have an article that answers among the ten shown.

  python tests/benchmarks/agreement.py --store law.db --questions questions.jsonl.gz --split dev
"""

from __future__ import annotations

import argparse
from pathlib import Path

from components.statutes.corpus import read_questions
from pipelines.asking import ask
from pipelines.loading import load_pipeline

DEPTHS = (2, 5, 10, 20)
SEARCHING = {"bm25", "dense", "graph"}


def second_rank(ranks: dict[str, int]) -> float:
    """The worse of an article's two best ranks; endless where fewer than two stages found it."""
    found = sorted(rank for stage, rank in ranks.items() if stage in SEARCHING)
    return found[1] if len(found) > 1 else float("inf")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--store", required=True, type=Path)
    parser.add_argument("--questions", required=True, help="a file, or 'aldermere'")
    parser.add_argument("--split", help="default: all questions")
    options = parser.parse_args()
    pipeline = load_pipeline("hybrid", store=options.store)
    asked = []
    for question in read_questions(options.questions, split=options.split):
        if not question.relevant:
            continue
        documents = ask(pipeline, question.text, as_of="any")["documents"]
        named = any("citation" in each["ranks"] for each in documents)
        nearest = min((second_rank(each["ranks"]) for each in documents), default=float("inf"))
        hit = any(each["id"] in question.relevant for each in documents)
        asked.append((0.0 if named else nearest, hit))
    print(f"{len(asked)} questions, {sum(hit for _, hit in asked) / len(asked):.3f} answered\n")
    print("| first ranks | apart | answered where apart | answered where not |")
    print("|---|---|---|---|")
    for depth in DEPTHS:
        apart = [hit for nearest, hit in asked if nearest > depth]
        others = [hit for nearest, hit in asked if nearest <= depth]
        shares = [f"{sum(hits) / len(hits):.3f}" if hits else "-" for hits in (apart, others)]
        print(f"| {depth} | {len(apart) / len(asked):.3f} | {shares[0]} | {shares[1]} |")


if __name__ == "__main__":
    main()
