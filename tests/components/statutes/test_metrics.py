"""Metrics: compared with their definitions, and their protocol."""

import math

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.statutes.metrics import (
    DEFAULT_METRICS,
    evaluate,
    metric_depth,
    read_trec_run,
    write_trec_run,
)

RANKING = ["a", "x", "b", "y", "z"]


def one(metric, ranking, gold, depth=1000):
    return evaluate({"q": ranking}, {"q": gold}, [metric], depth=depth)[metric]["q"]


def test_a_repeated_gold_id_counts_once():
    assert one("R@10", RANKING, ["a", "a", "b"]) == 1.0
    assert one("R-precision", RANKING, ["a", "a", "x"]) == 1.0


def test_the_order_of_the_run_is_the_ranking_whatever_the_ids():
    # Providers break ties by id, some up, some down: neither direction may show.
    for metric in ("R@1", "MAP", "MRR@10", "nDCG@10", "Exist@1", "R-precision"):
        assert one(metric, ["a", "b", "c"], {"a"}) == 1.0
        assert one(metric, ["c", "b", "a"], {"c"}) == 1.0


def test_empty_runs_unanswerable_questions_and_two_names_of_one_measure():
    values = evaluate({"q1": ["a"]}, {"q1": ["a"], "q2": ["b"]}, ["R@1", "MAP"], depth=1000)
    assert values == {"R@1": {"q1": 1.0, "q2": 0.0}, "MAP": {"q1": 1.0, "q2": 0.0}}
    values = evaluate({"q1": ["a"], "q2": ["b"]}, {"q1": ["a"], "q2": []}, ["R@1"], depth=1)
    assert values == {"R@1": {"q1": 1.0}}
    assert one("R@1", ["Part 1.1 (a)"], {"Part 1.1 (a)"}) == 1.0
    assert one("MAP", [f"x{i}" for i in range(1000)] + ["a"], {"a"}, depth=1001) == 0.0
    found = evaluate({"q": RANKING}, {"q": ["a", "b", "c"]}, ["MAP", "MAP@1000"], depth=1000)
    assert found["MAP"] == found["MAP@1000"]
    assert [metric_depth(m) for m in ("R@200", "MAP", "R-precision")] == [200, 1000, 1]
    assert max(map(metric_depth, DEFAULT_METRICS)) == 1000


@pytest.mark.parametrize(
    ("metric", "ranking", "gold", "depth", "named"),
    [
        ("R@100", RANKING, "a", 50, "R@100"),  # deeper than the run
        ("MAP", RANKING, "a", 50, "MAP"),
        ("R-precision", ["a", "b"], "abc", 2, "R-precision"),  # more gold than the run is deep
        ("R@10", ["a", "b", "a"], "a", 1000, "twice"),
        ("R@1", RANKING, "a", 2, "'q'"),  # longer than its stated depth
        ("R@1", RANKING, "", 1, "qrels"),
        *(
            (name, RANKING, "a", 1000, name)
            for name in ("P@10", "R@0", "recall", "R@", "R@1.5", "map", "Success@10")
        ),
    ],
)
def test_wrong_input_is_refused(metric, ranking, gold, depth, named):
    with pytest.raises(ValueError, match=named):
        one(metric, ranking, set(gold), depth)


def plain(metric, ranking, gold):
    """The metric as its definition reads."""
    name, _, cut = metric.partition("@")
    top = ranking[: int(cut or 1000)]
    hits = [rank for rank, article in enumerate(top, start=1) if article in gold]
    if name == "R":
        return len(hits) / len(gold)
    if name == "MAP":
        return sum(i / rank for i, rank in enumerate(hits, start=1)) / len(gold)
    if name == "R-precision":
        return len(gold & set(ranking[: len(gold)])) / len(gold)
    if name == "MRR":
        return 1 / hits[0] if hits else 0.0
    if name == "Exist":
        return float(bool(hits))
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(gold), int(cut)) + 1))
    return sum(1 / math.log2(rank + 1) for rank in hits) / ideal


@given(
    st.lists(st.integers(0, 30).map(str), unique=True, max_size=30),
    st.sets(st.integers(0, 30).map(str), min_size=1, max_size=8),
)
def test_every_metric_equals_its_definition(ranking, gold):
    metrics = [*DEFAULT_METRICS, "R@3", "MAP@4", "MRR@2", "nDCG@3", "Exist@2"]
    values = evaluate({"q": ranking}, {"q": gold}, metrics, depth=1000)
    for metric in metrics:
        assert values[metric]["q"] == pytest.approx(plain(metric, ranking, gold)), metric


def test_a_run_file_reads_back_as_the_same_ranking(tmp_path):
    path = tmp_path / "run.trec"
    run = {"q 1": ["Part 1", "100%", "c"], "q2": []}
    write_trec_run(path, run, "hybrid k=10")
    assert read_trec_run(path) == {"q 1": run["q 1"]}
    rows = [line.split(" ") for line in path.read_text(encoding="utf-8").splitlines()]
    assert rows[0] == ["q%201", "Q0", "Part%201", "1", "-1", "hybrid%20k=10"]
    ids = ["Part%201", "100%25", "c"]
    assert [row[2] for row in rows] == ids
    read = sorted(ir_measures.read_trec_run(str(path)), key=lambda row: -row.score)
    assert [row.doc_id for row in read] == ids
