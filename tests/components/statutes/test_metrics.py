"""Metrics: worked by hand, compared with plain Python, and their protocol."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from pathlib import Path

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.statutes.metrics import (
    DEFAULT_METRICS,
    evaluate,
    metric_depth,
    write_trec_run,
)

RANKING = ["a", "x", "b", "y", "z"]  # gold: a, b, c


def one(metric: str, ranking: Sequence[str], gold: Collection[str], depth: int = 1000) -> float:
    return evaluate({"q": ranking}, {"q": gold}, [metric], depth=depth)[metric]["q"]


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("R@1", 1 / 3),
        ("R@2", 1 / 3),
        ("R@5", 2 / 3),
        ("MAP", (1 / 1 + 2 / 3) / 3),
        ("MAP@100", (1 / 1 + 2 / 3) / 3),
        ("MAP@2", 1 / 3),
        ("R-precision", 2 / 3),
        ("MRR@10", 1.0),
        ("nDCG@10", (1 + 1 / math.log2(4)) / (1 + 1 / math.log2(3) + 1 / math.log2(4))),
        ("Exist@1", 1.0),
    ],
)
def test_worked_by_hand(metric: str, value: float) -> None:
    assert one(metric, RANKING, {"a", "b", "c"}) == pytest.approx(value)


@pytest.mark.parametrize(
    ("metric", "value"), [("MRR@10", 0.25), ("MRR@3", 0.0), ("Exist@3", 0.0), ("Exist@4", 1.0)]
)
def test_first_relevant_article_at_rank_four(metric: str, value: float) -> None:
    assert one(metric, RANKING, {"y"}) == value


def test_the_order_of_the_run_is_the_ranking_whatever_the_ids() -> None:
    # Providers break ties by id, some up, some down: neither direction may show.
    up, down = ["a", "b", "c"], ["c", "b", "a"]
    for metric in ("R@1", "MAP", "MRR@10", "nDCG@10", "Exist@1", "R-precision"):
        assert one(metric, up, {"a"}) == 1.0
        assert one(metric, down, {"c"}) == 1.0


def test_a_gold_id_listed_twice_counts_once() -> None:
    assert one("R@10", ["a", "b"], ["a", "a", "b"]) == 1.0
    assert one("R-precision", ["a", "b"], ["a", "a", "b"]) == 1.0


def test_a_question_that_found_nothing_counts_zero() -> None:
    values = evaluate({"q1": ["a"]}, {"q1": ["a"], "q2": ["b"]}, ["R@1", "MAP"], depth=1000)
    assert values == {"R@1": {"q1": 1.0, "q2": 0.0}, "MAP": {"q1": 1.0, "q2": 0.0}}


def test_unanswerable_questions_are_left_out() -> None:
    values = evaluate({"q1": ["a"], "q2": ["b"]}, {"q1": ["a"], "q2": []}, ["R@1"], depth=1)
    assert values == {"R@1": {"q1": 1.0}}


def test_ids_may_hold_spaces() -> None:
    assert one("R@1", ["Part 1.1 (a)"], {"Part 1.1 (a)"}) == 1.0


def test_map_is_cut_at_one_thousand() -> None:
    ranking = [f"x{i}" for i in range(1000)] + ["a"]
    assert one("MAP", ranking, {"a"}, depth=1001) == 0.0


@pytest.mark.parametrize("metric", ["R@100", "MAP"])
def test_a_metric_deeper_than_the_run_is_refused(metric: str) -> None:
    with pytest.raises(ValueError, match=f"{metric} reads .* the run is 50 deep"):
        one(metric, RANKING, {"a"}, depth=50)


def test_r_precision_is_refused_where_a_question_has_more_gold_than_the_run_is_deep() -> None:
    with pytest.raises(ValueError, match="reads 3 articles for question 'q'"):
        one("R-precision", ["a", "b"], {"a", "b", "c"}, depth=2)


def test_a_ranking_with_a_repeated_id_is_refused() -> None:
    with pytest.raises(ValueError, match="question 'q' holds article 'a' twice"):
        one("R@10", ["a", "b", "a"], {"a"})


def test_a_ranking_longer_than_its_stated_depth_is_refused() -> None:
    with pytest.raises(ValueError, match="said to be 2 deep, but question 'q' has 5"):
        one("R@1", RANKING, {"a"}, depth=2)


@pytest.mark.parametrize("metric", ["P@10", "R@0", "recall", "R@", "R@1.5", "map", "Success@10"])
def test_an_unknown_metric_is_refused(metric: str) -> None:
    with pytest.raises(ValueError, match="no metric is called"):
        one(metric, RANKING, {"a"})


def test_nothing_to_measure_is_an_error() -> None:
    with pytest.raises(ValueError, match="no question in qrels has a relevant article"):
        evaluate({"q": ["a"]}, {"q": []}, ["R@1"], depth=1)


def test_depths() -> None:
    assert [metric_depth(m) for m in ("R@200", "MAP", "R-precision")] == [200, 1000, 1]
    assert max(map(metric_depth, DEFAULT_METRICS)) == 1000


rankings = st.lists(st.integers(0, 30).map(str), unique=True, max_size=30)
golds = st.sets(st.integers(0, 30).map(str), min_size=1, max_size=8)


def plain(metric: str, ranking: list[str], gold: set[str]) -> float:
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


@given(ranking=rankings, gold=golds)
def test_every_metric_equals_its_definition(ranking: list[str], gold: set[str]) -> None:
    metrics = [*DEFAULT_METRICS, "R@3", "MAP@4", "MRR@2", "nDCG@3", "Exist@2"]
    values = evaluate({"q": ranking}, {"q": gold}, metrics, depth=1000)
    for metric in metrics:
        assert values[metric]["q"] == pytest.approx(plain(metric, ranking, gold)), metric


@given(ranking=rankings, gold=golds)
def test_recall_never_falls_with_depth_and_a_perfect_run_is_perfect(
    ranking: list[str], gold: set[str]
) -> None:
    recalls = [one(f"R@{k}", ranking, gold) for k in (1, 5, 10, 20, 50)]
    assert recalls == sorted(recalls)
    perfect = sorted(gold) + [article for article in ranking if article not in gold]
    for metric in ("R@10", "MAP", "R-precision", "MRR@10", "nDCG@10", "Exist@10"):
        assert one(metric, perfect, gold) == pytest.approx(1.0)


def test_a_run_file_reads_back_as_the_same_ranking(tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    write_trec_run(path, {"q 1": ["Part 1", "100%", "c"], "q2": []}, "hybrid k=10")
    rows = [line.split(" ") for line in path.read_text(encoding="utf-8").splitlines()]
    assert rows[0] == ["q%201", "Q0", "Part%201", "1", "-1", "hybrid%20k=10"]
    assert [row[2] for row in rows] == ["Part%201", "100%25", "c"]
    read = list(ir_measures.read_trec_run(str(path)))
    assert [row.doc_id for row in sorted(read, key=lambda row: -row.score)] == [
        row[2] for row in rows
    ]


def test_two_names_of_one_measure_have_its_values_both() -> None:
    both = ["MAP", "MAP@1000", "R@1"]
    found = evaluate({"q": RANKING}, {"q": ["a", "b", "c"]}, both, depth=1000)
    assert found["MAP"] == found["MAP@1000"] == {"q": pytest.approx((1 + 2 / 3) / 3)}
    assert found["R@1"] == {"q": pytest.approx(1 / 3)}
