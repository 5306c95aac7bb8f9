"""What the lists of `hybrid` tell: how to fuse them, and what BM25's is worth.

    python tests/benchmarks/hybrid_lists.py --store law.db --questions FOLDER --split dev

Asks a store every question of a split that has an answer, and prints two tables.

Fusing: each way's R@10, R@100 and MAP@10, and the difference to the pipeline's own way. By ranks:
reciprocal rank fusion, with BM25's weight the same for every question, or by coverage. By scores:
each list's from 0 (its last) to 1 (its first), added up with weights w for BM25 and 1 - w for the
dense list (a convex combination: Bruch, Gai and Ingber, TOIS 2023); or by their distance to the
list's mean in standard deviations, three each way. BM25's weight is by coverage there too; articles
that the question names stand first, hints do not count.

Coverage: BM25's R@10 by how much of the question its first article covers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bench
import numpy as np
from tqdm import tqdm

from components.joiners.rank_fusion import StatuteRankFuser
from components.statutes.article import indexed_text
from components.statutes.corpus import read_questions
from components.statutes.lexical import coverage, trust
from components.statutes.metrics import evaluate
from components.statutes.significance import paired_randomisation
from pipelines.loading import load_pipeline

METRICS = ("R@10", "R@100", "MAP@10")
STAGES_FILE = Path(__file__).resolve().parents[2] / "examples" / "stages.yaml"
STAGES = ("citation", "bm25", "dense")
DEPTH = 100
FULL = 0.5
COVERED = (0.0, 0.25, 0.5, 1.01)

Lists = Mapping[str, Any]
Way = Callable[[Lists], Sequence[str]]


def ids(documents: Sequence[Any]) -> list[str]:
    return [each.id for each in documents]


def covered(lists: Lists) -> float:
    """The share of the question's terms in BM25's first article."""
    if not lists["bm25"]:
        return 0.0
    first = lists["bm25"][0]
    text = indexed_text(first.meta["headings"], first.content or "")
    return coverage(lists["query"], text, first.meta["language"])


# Fusing


def by_ranks(**options: Any) -> Way:
    fuser = StatuteRankFuser(weights={"citation": 0.25}, top_k=DEPTH, **options)
    taken = ("query", "pinned", "citation", "bm25", "dense")
    return lambda lists: ids(fuser.run(**{name: lists[name] for name in taken})["documents"])


def to_unit(scores: bench.Floats) -> bench.Floats:
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.ones_like(scores)


def to_deviations(scores: bench.Floats) -> bench.Floats:
    spread = 6 * float(scores.std())
    return np.asarray(np.clip((scores - scores.mean()) / (spread or 1.0) + 0.5, 0.0, 1.0))


def by_scores(weight: float, scaled: Callable[[bench.Floats], bench.Floats]) -> Way:
    def fused(lists: Lists) -> Sequence[str]:
        total: dict[str, float] = {}
        # What the pipeline's fuser leaves of BM25's weight.
        words = weight * trust(covered(lists), FULL)
        for stage, own in (("bm25", words), ("dense", 1.0 - words)):
            if listed := lists[stage]:
                values = scaled(np.array([each.score for each in listed]))
                for each, value in zip(listed, values, strict=True):
                    total[each.id] = total.get(each.id, 0.0) + own * float(value)
        best = sorted(total, key=lambda id_: -total[id_])
        return list(dict.fromkeys([*ids(lists["pinned"]), *best]))[:DEPTH]

    return fused


WAYS: dict[str, Way] = {
    "ranks, by coverage": by_ranks(full_coverage={"bm25": FULL}),
    "ranks, the same weight for all": by_ranks(),
    **{f"scores, w {w}": by_scores(w, to_unit) for w in (0.4, 0.5, 0.6, 0.7)},
    **{f"deviations, w {w}": by_scores(w, to_deviations) for w in (0.4, 0.5, 0.6)},
}


@dataclass(frozen=True)
class Asked:
    """What is kept of a question's lists."""

    fused: dict[str, Sequence[str]]
    covered: float
    bm25: list[str]

    @classmethod
    def of(cls, lists: Lists) -> Asked:
        return cls(
            fused={name: way(lists) for name, way in WAYS.items()},
            covered=covered(lists),
            bm25=ids(lists["bm25"])[:10],
        )


Answers = Mapping[str, Sequence[str]]


def print_fused(asked: Mapping[str, Asked], gold: Answers) -> None:
    print(f"| | {' | '.join(METRICS)} |\n|{'---|' * (len(METRICS) + 1)}")
    own: dict[str, list[float]] = {}
    for name in WAYS:
        run = {id_: each.fused[name] for id_, each in asked.items()}
        cells = []
        for metric, by_question in evaluate(run, gold, METRICS, depth=DEPTH).items():
            scores = list(by_question.values())
            cell = f"{np.mean(scores):.3f}"
            if scores is not (base := own.setdefault(metric, scores)):
                against = paired_randomisation(scores, base)
                cell += f" ({against.difference:+.3f}; p {against.p:.4f})"
            cells.append(cell)
        print(f"| {name} | {' | '.join(cells)} |")


# Coverage


def mean(values: Sequence[float]) -> str:
    return f"{np.mean(values):.3f}" if values else "-"


def print_coverage(asked: Mapping[str, Asked], gold: Answers) -> None:
    shares = [each.covered for each in asked.values()]
    run = {id_: each.bm25 for id_, each in asked.items()}
    recalls = list(evaluate(run, gold, ["R@10"], depth=10)["R@10"].values())
    print(
        f"\nmedian share of a question that BM25's first article covers: {np.median(shares):.2f}\n"
    )
    print("| covered | questions | BM25's R@10 |\n|---|---|---|")
    for low, high in itertools.pairwise(COVERED):
        own = [recall for s, recall in zip(shares, recalls, strict=True) if low <= s < high]
        print(f"| from {low} below {min(high, 1)} | {len(own)} | {mean(own)} |")


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("--store", required=True, type=Path)
    parser.add_argument("--questions", required=True, help="a file or folder, or 'aldermere'")
    parser.add_argument("--split", help="default: all")
    parser.add_argument("--most", type=int, help="so many questions at most, the first")
    options = parser.parse_args()
    pipeline = load_pipeline(STAGES_FILE, store=options.store)
    questions = [q for q in read_questions(options.questions, split=options.split) if q.answerable]
    questions = questions[: options.most]
    asked: dict[str, Asked] = {}
    for question in tqdm(questions):
        given = {"query": question.text, "text": question.text, "as_of": "any"}
        found = pipeline.run(given, include_outputs_from=set(STAGES))
        lists = {stage: found[stage]["documents"] for stage in STAGES}
        pinned = found["citation"]["pinned"]
        asked[question.id] = Asked.of({"query": question.text, "pinned": pinned, **lists})
    gold = {question.id: question.relevant for question in questions}
    print(f"{len(gold)} questions\n")
    for table in (print_fused, print_coverage):
        table(asked, gold)


if __name__ == "__main__":
    main()
