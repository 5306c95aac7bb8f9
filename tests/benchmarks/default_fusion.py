"""Does a fusion learnt on other laws help on a law without questions?

    python tests/benchmarks/default_fusion.py --law FOLDER STORE --law FOLDER STORE ...

For each law a fusion is learnt from the questions of all the others, without the columns that have
one law's own scale, and compared with rank fusion on all questions of this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import bench
import numpy as np
from learned_fusion import METRICS, Law, Values

from components.models.learned_fusion import (
    BM25,
    DENSE,
    DIVISION,
    Example,
    LearnedFusion,
    Scores,
    feature_names,
)
from components.statutes.significance import bootstrap_interval, holm, paired_randomisation
from training.fusion import Asked, weights_of

SPLITS = ("train", "dev", "test")
MOST_LEARNT = 1_000
LISTS = (BM25, DIVISION, DENSE)
NAMES = feature_names(LISTS)
# Scores differ by law and model, places and lengths by law; a share of the list's best does not.
BEST = ("best_in_division", "best_in_parent", "best_in_law", "best_neighbour", "best_second")
OF_ONE_LAW = ("score", "gap", "sequence_distance", "depth", "siblings", "length", "question_length")


def without_scale(table: Scores) -> Scores:
    """The columns that mean the same in every law; the others made alike."""
    made = table.copy()
    for name in LISTS:
        highest = np.nanmax(table[:, NAMES.index(f"{name}.score")], initial=0) or np.nan
        made[:, [NAMES.index(f"{name}.{each}") for each in BEST]] /= highest
    made[:, [n for n, name in enumerate(NAMES) if name.split(".")[-1] in OF_ONE_LAW]] = 0
    return made


def scaled(asked: Sequence[Asked]) -> list[Asked]:
    return [
        Asked(
            each.question,
            each.by_rank,
            Example(without_scale(each.example.table), each.example.relevant),
        )
        for each in asked
    ]


def compared(law: Law, asked: Sequence[Asked], fusion: LearnedFusion) -> tuple[Values, Values]:
    places = range(len(asked))
    ours = law.measured(places, [each.learned(fusion) for each in asked])
    return ours, law.measured(places, [each.by_rank for each in asked])


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument(
        "--law", nargs=2, action="append", required=True, metavar=("FOLDER", "STORE")
    )
    options = parser.parse_args()
    laws = {Path(store).stem: Law(folder, [Path(store)], SPLITS) for folder, store in options.law}
    asked = {name: scaled(law.asked(permuted=False, division=True)) for name, law in laws.items()}
    rows = []
    for name, law in laws.items():
        learnt = [
            each.example for other, own in asked.items() if other != name
            for each in own[:MOST_LEARNT]
        ]  # fmt: skip
        fusion = LearnedFusion.learn(learnt, weights_of(1.0), seed=0)
        rows.append((name, len(asked[name]), *compared(law, asked[name], fusion)))
    print(f"\n| law, questions | {' | '.join(METRICS)} |\n|{'---|' * (len(METRICS) + 1)}")
    for name, n, ours, ranks in rows:
        for label, values in (("by ranks", ranks), ("learnt on the others", ours)):
            cells = []
            for metric in METRICS:
                low, high = bootstrap_interval(values[metric])
                cells.append(f"{values[metric].mean():.3f} ({low:.3f} to {high:.3f})")
            print(f"| {name}, {n}, {label} | {' | '.join(cells)} |")
    print(f"\n| difference; p after Holm | {' | '.join(METRICS)} |\n|{'---|' * (len(METRICS) + 1)}")
    tests = {
        metric: [paired_randomisation(ours[metric], ranks[metric]) for _, _, ours, ranks in rows]
        for metric in METRICS
    }
    for place, (name, *_) in enumerate(rows):
        cells = []
        for metric in METRICS:
            own = tests[metric][place]
            p = holm([each.p for each in tests[metric]])[place]
            low, high = own.interval
            cells.append(f"{own.difference:+.3f} ({low:+.3f} to {high:+.3f}; p {p:.3f})")
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
