"""Ways to fuse the lists of `hybrid`, on the same lists: by ranks as it does, and by scores.

For a store and the questions of a split: each way's R@10, R@100 and MAP@10, and the difference to
the pipeline's own way. By ranks: reciprocal rank fusion, with BM25's weight the same for every
question, or by coverage. By scores: each list's from 0 (its last) to 1 (its first), added up with
weights w for BM25 and 1 - w for the dense list (a convex combination: Bruch, Gai and Ingber, TOIS
2023); or by their distance to the list's mean in standard deviations, three each way. BM25's weight
is by coverage there too; articles that the question names stand first, hints do not count.

  python tests/benchmarks/fusing.py --store law.db --questions FOLDER --split dev
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from haystack import Document
from numpy.typing import NDArray
from tqdm import tqdm

from components.joiners.rank_fusion import StatuteRankFuser
from components.statutes.article import indexed_text
from components.statutes.corpus import read_questions
from components.statutes.lexical import coverage, trust
from components.statutes.metrics import evaluate
from components.statutes.significance import paired_randomisation
from pipelines.loading import load_pipeline

METRICS = ("R@10", "R@100", "MAP@10")
STAGES = ("citation", "bm25", "dense")
DEPTH = 100
FULL = 0.5

Lists = Mapping[str, Any]
Scores = NDArray[np.float64]
Way = Callable[[Lists], Sequence[str]]


def by_ranks(**options: Any) -> Way:
    fuser = StatuteRankFuser(weights={"citation": 0.25}, top_k=DEPTH, **options)
    return lambda lists: [each.id for each in fuser.run(**lists)["documents"]]


def to_unit(scores: Scores) -> Scores:
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.ones_like(scores)


def to_deviations(scores: Scores) -> Scores:
    spread = 6 * float(scores.std())
    return np.asarray(np.clip((scores - scores.mean()) / (spread or 1.0) + 0.5, 0.0, 1.0))


def by_scores(weight: float, scaled: Callable[[Scores], Scores]) -> Way:
    def fused(lists: Lists) -> Sequence[str]:
        pinned = [each.id for each in lists["pinned"]]
        total: dict[str, float] = {}
        words = weight * trusted(lists)
        for stage, own in (("bm25", words), ("dense", 1.0 - words)):
            if listed := lists[stage]:
                values = scaled(np.array([each.score for each in listed]))
                for each, value in zip(listed, values, strict=True):
                    total[each.id] = total.get(each.id, 0.0) + own * float(value)
        best = sorted(total, key=lambda id_: -total[id_])
        return list(dict.fromkeys([*pinned, *best]))[:DEPTH]

    return fused


def trusted(lists: Lists) -> float:
    """What the pipeline's fuser leaves of BM25's weight."""
    if not lists["bm25"]:
        return 0.0
    first: Document = lists["bm25"][0]
    text = indexed_text(first.meta["headings"], first.content or "")
    return trust(coverage(lists["query"], text, first.meta["language"]), FULL)


WAYS: dict[str, Way] = {
    "ranks, by coverage": by_ranks(full_coverage={"bm25": FULL}),
    "ranks, the same weight for all": by_ranks(),
    **{f"scores, w {w}": by_scores(w, to_unit) for w in (0.4, 0.5, 0.6, 0.7)},
    **{f"deviations, w {w}": by_scores(w, to_deviations) for w in (0.4, 0.5, 0.6)},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--store", required=True, type=Path)
    parser.add_argument("--questions", required=True, help="a file or folder, or 'aldermere'")
    parser.add_argument("--split", required=True)
    parser.add_argument("--most", type=int, help="so many questions at most, the first")
    options = parser.parse_args()
    pipeline = load_pipeline("hybrid", store=options.store)
    asked = [q for q in read_questions(options.questions, split=options.split) if q.answerable]
    gold = {q.id: q.relevant for q in asked[: options.most]}
    runs: dict[str, dict[str, Sequence[str]]] = {name: {} for name in WAYS}
    for question in tqdm(asked[: options.most]):
        query = {"query": question.text, "text": question.text, "as_of": "any"}
        found = pipeline.run(query, include_outputs_from=set(STAGES))
        lists = {
            "query": question.text,
            "pinned": found["citation"]["pinned"],
            **{stage: found[stage]["documents"] for stage in STAGES},
        }
        for name, way in WAYS.items():
            runs[name][question.id] = way(lists)
    print(f"{len(gold)} questions\n\n| | {' | '.join(METRICS)} |\n|{'---|' * (len(METRICS) + 1)}")
    own: dict[str, list[float]] = {}
    for name, run in runs.items():
        values = evaluate(run, gold, METRICS, depth=DEPTH)
        cells = []
        for metric in METRICS:
            scores = list(values[metric].values())
            cell = f"{np.mean(scores):.3f}"
            if scores is not (base := own.setdefault(metric, scores)):
                against = paired_randomisation(scores, base)
                cell += f" ({against.difference:+.3f}; p {against.p:.4f})"
            cells.append(cell)
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
