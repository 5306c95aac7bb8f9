"""What the tree of the law is worth in the ranking: fused by ranks, or learned, with the control.

    python tests/benchmarks/learned_fusion.py --law FOLDER --store law.db --measure dev

Learns on the split train and measures on another one; with `--folds 5` it learns on four fifths of
all the questions of the splits that `--measure` names (train+dev) and measures on the fifth. The
vectors come from a store of the same law; several stores are several bi-encoders. Arms:

    by ranks              the articles' BM25 and the vectors, without the division list
    + division            and BM25 over the text of each lowest division
    learned, scores       from what the first two lists say of a candidate, its length, the question
    + division's scores   and from what the division list says of it
    + structure           and from what the lists say of the articles around it in the law
    structure, permuted   the same, articles having changed places in the tree: the control
    division, permuted    fused by ranks, likewise

What a question cites is left out in all of them. Each learned arm is the mean over `--seeds`; tests
are paired, over questions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import bench
import numpy as np
from tqdm import tqdm

from components.models.learned_fusion import (
    BM25,
    DIVISION,
    DIVISION_WEIGHT,
    PLACE_FEATURES,
    STRUCTURE_FEATURES,
    Example,
    LearnedFusion,
    Rows,
    feature_names,
    features,
    fused_by_rank,
    weights_for,
)
from components.models.registry import shared_model
from components.retrievers.embedding import recorded_weight
from components.statutes.corpus import StatuteCorpus, read_questions
from components.statutes.metrics import evaluate
from components.statutes.question import Question
from components.statutes.significance import bootstrap_interval, holm, paired_randomisation
from components.stores.sqlite import StatuteDocumentStore
from training.fusion import Asked, Found, Searches, folds_of

METRICS = ("R@10", "R@100", "MAP@10", "MAP")
DEPTH = 1_000
DIVISION_WEIGHTS = (0.2, 0.35, 0.5, 0.75)
BY_RANKS, DIVIDED, SCORES = "by ranks", "+ division", "learned, scores"
LISTS, STRUCTURE, PERMUTED = "+ division's scores", "+ structure", "structure, permuted"
DIVIDED_PERMUTED = "division, permuted"
COMPARED = (
    (DIVIDED, BY_RANKS),
    (DIVIDED, DIVIDED_PERMUTED),
    (SCORES, DIVIDED),
    (STRUCTURE, DIVIDED),
    (STRUCTURE, SCORES),
    (STRUCTURE, LISTS),
    (STRUCTURE, PERMUTED),
)

Values = Mapping[str, bench.Floats]


class Law:
    """A law, its questions, and what every list finds for them."""

    def __init__(self, folder: str, stores: Sequence[Path], splits: Sequence[str]) -> None:
        self.corpus = StatuteCorpus.read(folder)
        asked = read_questions(folder, corpus_ids=self.corpus.ids)
        self.questions = [each for each in asked if each.relevant and each.split in splits]
        vectors, of_questions, self.weights = {}, {}, {BM25: 1.0, DIVISION: DIVISION_WEIGHT}
        for place in stores:
            store = StatuteDocumentStore(place)
            keys, matrix = store.vectors()
            id_of = {key: id_ for key, id_, _ in store.metas()}
            rows = [self.corpus.position(id_of[key]) for key in keys.tolist()]
            vectors[place.stem] = np.empty_like(matrix)
            vectors[place.stem][rows] = matrix
            model = store.model
            assert model is not None
            texts = [each.text for each in self.questions]
            of_questions[place.stem] = shared_model(model.path).encode_queries(texts).numpy()
            weight = recorded_weight(store, model.biencoder_digest)
            self.weights[place.stem] = 1.0 if weight is None else weight
            print(f"{place.stem}: {model.path}, weight {self.weights[place.stem]:g}")
        articles = list(self.corpus)
        order = np.random.default_rng(0).permutation(len(articles))
        self.searches = {
            False: Searches(articles, vectors),
            True: Searches(articles, vectors, placed=[articles[place] for place in order]),
        }
        self.found = {
            permuted: [
                searches.find(each.text, {name: of_questions[name][n] for name in of_questions})
                for n, each in enumerate(tqdm(self.questions))
            ]
            for permuted, searches in self.searches.items()
        }

    def by_ranks(
        self, places: Sequence[int], division: float, *, permuted: bool = False
    ) -> list[Rows]:
        weights = {**self.weights, DIVISION: division}
        ranked = []
        for place in places:
            found = self.found[permuted][place]
            own = weights_for(weights, found.coverage)
            ranked.append(fused_by_rank(found.lists, own, len(self.corpus))[0])
        return ranked

    def asked(self, *, permuted: bool, division: bool) -> list[Asked]:
        """Every question with its candidates, with or without the division list."""
        weights = {n: w for n, w in self.weights.items() if division or n != DIVISION}
        return [
            Asked.of(question, found, self.searches[permuted].law, weights, self._rows(question))
            for question, found in zip(self.questions, self.found[permuted], strict=True)
        ]

    def measured(self, places: Sequence[int], ranked: Sequence[Rows]) -> Values:
        ids = self.corpus.ids
        questions = [self.questions[place] for place in places]
        run = {
            question.id: [ids[row] for row in rows[:DEPTH].tolist()]
            for question, rows in zip(questions, ranked, strict=True)
        }
        gold = {question.id: question.relevant for question in questions}
        by_metric = evaluate(run, gold, METRICS, depth=DEPTH)
        return {metric: np.array(list(each.values())) for metric, each in by_metric.items()}

    def _rows(self, question: Question) -> Rows:
        return np.array([self.corpus.position(each) for each in question.relevant])


def without_structure(asked: Sequence[Asked], lists: Sequence[str]) -> list[Asked]:
    """The same with the columns of structure made alike, which LightGBM leaves out."""
    names = feature_names(lists)
    blank = [n for n, name in enumerate(names) if name.split(".")[-1] in STRUCTURE_FEATURES]
    blank += [n for n, name in enumerate(names) if name in PLACE_FEATURES]
    made = []
    for each in asked:
        table = each.example.table.copy()
        table[:, blank] = 0
        made.append(Asked(each.question, each.by_rank, Example(table, each.example.relevant)))
    return made


def learned(
    asked: Sequence[Asked],
    learn: Sequence[int],
    measure: Sequence[int],
    folds: int,
    seed: int,
    weights: Mapping[str, float],
) -> list[Rows]:
    """The rows of the measured questions, each ranked by what has not learnt it."""
    if folds == 1:
        fusion = LearnedFusion.learn([asked[n].example for n in learn], weights, seed=seed)
        return [asked[n].learned(fusion) for n in measure]
    own = [asked[n] for n in measure]
    ranked: dict[int, Rows] = {}
    # The folds are the same for every seed, so that a question's values belong together.
    for fold in folds_of(own, folds, 0):
        others = [each.example for n, each in enumerate(own) if n not in set(fold)]
        fusion = LearnedFusion.learn(others, weights, seed=seed)
        ranked |= {n: own[n].learned(fusion) for n in fold}
    return [ranked[n] for n in range(len(own))]


def print_weights(law: Law, places: Sequence[int]) -> None:
    """The division list's weight on training questions."""
    base = law.measured(places, law.by_ranks(places, 0))
    print(f"\n{len(places)} questions of train, fused by ranks\n")
    print(f"| weight of divisions | {' | '.join(METRICS)} |\n|{'---|' * (len(METRICS) + 1)}")
    for permuted in (False, True):
        for weight in (0, *DIVISION_WEIGHTS)[int(permuted) :]:
            own = law.measured(places, law.by_ranks(places, weight, permuted=permuted))
            cells = []
            for metric in METRICS:
                p = paired_randomisation(own[metric], base[metric]).p
                difference = own[metric].mean() - base[metric].mean()
                cells.append(f"{own[metric].mean():.3f} ({difference:+.3f}; p {p:.3f})")
            print(f"| {weight:g}{', permuted' * permuted} | {' | '.join(cells)} |")


def print_arms(values: Mapping[str, Values], n_questions: int) -> None:
    print(f"\n{n_questions} questions\n\n| | {' | '.join(METRICS)} |")
    print(f"|{'---|' * (len(METRICS) + 1)}")
    for arm, own in values.items():
        cells = []
        for metric in METRICS:
            low, high = bootstrap_interval(own[metric])
            cells.append(f"{own[metric].mean():.3f} ({low:.3f} to {high:.3f})")
        print(f"| {arm} | {' | '.join(cells)} |")
    print(f"\n| difference; p after Holm | {' | '.join(METRICS)} |")
    print(f"|{'---|' * (len(METRICS) + 1)}")
    tests = {
        metric: [paired_randomisation(values[a][metric], values[b][metric]) for a, b in COMPARED]
        for metric in METRICS
    }
    adjusted = {metric: holm([each.p for each in own]) for metric, own in tests.items()}
    for n, (a, b) in enumerate(COMPARED):
        cells = []
        for metric in METRICS:
            low, high = tests[metric][n].interval
            difference = tests[metric][n].difference
            cells.append(
                f"{difference:+.3f} ({low:+.3f} to {high:+.3f}; p {adjusted[metric][n]:.3f})"
            )
        print(f"| {a} against {b} | {' | '.join(cells)} |")


def cpu_seconds(call: Callable[[], object]) -> float:
    """Of this process: on a busy machine a clock would measure the others."""
    begun = time.process_time()
    call()
    return time.process_time() - begun


def print_times(law: Law, found: Sequence[Found], fusion: LearnedFusion) -> None:
    arrays = law.searches[False].law
    times: dict[str, list[float]] = {"features": [], "scores": []}
    for each in found:
        own = {name: each.lists[name] for name in fusion.lists}
        weights = weights_for(fusion.weights, each.coverage)
        first = fused_by_rank(own, weights, len(arrays))[0][:200]
        asked = {"question": each.question, "coverage": each.coverage}
        times["features"].append(cpu_seconds(lambda: features(arrays, own, first, **asked)))  # noqa: B023
        table = features(arrays, own, first, **asked)
        times["scores"].append(cpu_seconds(lambda: fusion.scores(table)))  # noqa: B023
    print("\n| 200 candidates, ms of CPU | p50 | p95 | longest |\n|---|---|---|---|")
    for name, taken in times.items():
        p50, p95, longest = np.quantile(taken, [0.5, 0.95, 1.0]) * 1e3
        print(f"| {name} | {p50:.2f} | {p95:.2f} | {longest:.2f} |")


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("--law", required=True, help="folder with articles and questions")
    parser.add_argument("--store", required=True, type=Path, action="append")
    parser.add_argument("--measure", default="dev", help="splits, such as train+dev")
    parser.add_argument("--folds", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--weights", action="store_true", help="the division list's, on train")
    options = parser.parse_args()
    splits = options.measure.split("+")
    law = Law(options.law, options.store, ["train", *splits])
    learn = [n for n, each in enumerate(law.questions) if each.split == "train"]
    measure = [n for n, each in enumerate(law.questions) if each.split in splits]
    if options.weights:
        print_weights(law, learn)
    values = {
        BY_RANKS: law.measured(measure, law.by_ranks(measure, 0)),
        DIVIDED: law.measured(measure, law.by_ranks(measure, DIVISION_WEIGHT)),
        DIVIDED_PERMUTED: law.measured(
            measure, law.by_ranks(measure, DIVISION_WEIGHT, permuted=True)
        ),
    }
    lists = list(law.weights)
    two = [name for name in lists if name != DIVISION]
    whole = law.asked(permuted=False, division=True)
    arms = {
        SCORES: without_structure(law.asked(permuted=False, division=False), two),
        LISTS: without_structure(whole, lists),
        STRUCTURE: whole,
        PERMUTED: law.asked(permuted=True, division=True),
    }
    for arm, asked in arms.items():
        own = {name: law.weights[name] for name in (two if arm == SCORES else lists)}
        runs = [
            law.measured(measure, learned(asked, learn, measure, options.folds, seed, own))
            for seed in range(options.seeds)
        ]
        values[arm] = {m: np.mean([each[m] for each in runs], axis=0) for m in METRICS}
    print_arms(values, len(measure))
    fusion = LearnedFusion.learn([whole[n].example for n in learn], law.weights)
    print_times(law, [law.found[False][n] for n in measure[:200]], fusion)
    print(
        "\nShare of the gain: "
        + ", ".join(f"{name} {part:.3f}" for name, part in list(fusion.importance().items())[:12])
    )


if __name__ == "__main__":
    main()
