"""What stages add: measures, gains and ceilings against numbers worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from components.statutes.significance import bootstrap_interval, paired_randomisation
from pipelines.plotting import plot_stages
from pipelines.stage_gains import StageRun, gains, table
from pipelines.stages import Stage

# Question a is answered by two articles, b and c by one.
QRELS = {"a": {"1", "2"}, "b": {"3"}, "c": {"4"}}


def stage(
    name: str,
    *takes: str,
    top_k: int | None = 1000,
    anew: str | None = None,
    n_candidates: int | None = None,
) -> Stage:
    ranked = None if anew is None else (anew, "documents")
    return Stage(name, name, ("documents",), takes, ranked, None, top_k, n_candidates)


def ranking(**places: int) -> list[str]:
    """Twelve ids, those named by their place, from 1, the others irrelevant."""
    ids = [f"x{place}" for place in range(1, 13)]
    for id_, place in places.items():
        ids[place - 1] = id_.removeprefix("_")
    return ids


@pytest.fixture
def runs() -> list[StageRun]:
    """Five stages. The ranker was given six candidates, and for question b one pinned above."""
    none: list[str] = []
    fused = {"a": ranking(_1=2, _2=6), "b": ranking(_3=7), "c": ranking(_4=11)}
    reranked = {"a": ranking(_1=1, _2=2), "b": ranking(_3=2), "c": ranking(_4=11)}
    candidates = {
        "a": (none, fused["a"][:6]),
        "b": (["x1"], fused["b"][1:7]),
        "c": (none, fused["c"][:6]),
    }
    return [
        StageRun(stage("citation", top_k=10), {"a": none, "b": ["x1"], "c": none}),
        StageRun(
            stage("bm25"),
            {"a": ranking(_1=1, _2=4), "b": ranking(_3=12), "c": none},
        ),
        StageRun(
            stage("dense"),
            {"a": ranking(_1=5), "b": ranking(_3=10), "c": ranking(_4=12)},
        ),
        StageRun(stage("fused", "citation", "bm25", "dense"), fused),
        StageRun(
            stage("reranker", "citation", "fused", anew="fused", n_candidates=6),
            reranked,
            candidates,
        ),
    ]


def test_measures_are_worked_out_by_hand(runs: list[StageRun]) -> None:
    found = {each["stage"]: each for each in gains(runs, QRELS, 1000)}
    third = pytest.approx
    # R@10: means over a, b and c. AP of a is (1/1 + 2/4) / 2 for bm25, (1/5) / 2 for dense.
    expected = {
        "citation": {"R@10": 0, "MAP@10": 0, "MRR@10": 0},
        "bm25": {"R@10": 1 / 3, "R@100": 2 / 3, "MAP@10": 0.75 / 3, "MRR@10": 1 / 3},
        "dense": {"R@10": 1.5 / 3, "R@100": 2.5 / 3, "MAP@10": 0.2 / 3, "MRR@10": 0.3 / 3},
        "fused": {
            "R@10": 2 / 3,
            "R@100": 1,
            "MAP@10": ((1 / 2 + 2 / 6) / 2 + 1 / 7) / 3,
            "MRR@10": (1 / 2 + 1 / 7) / 3,
        },
        "reranker": {"R@10": 2 / 3, "R@100": 1, "MAP@10": 1.5 / 3, "MRR@10": 1.5 / 3},
    }
    assert {name: dict(each["metrics"]) for name, each in found.items()} == {
        name: {metric: third(value) for metric, value in of.items()}
        for name, of in expected.items()
    }
    assert found["bm25"]["intervals"]["R@10"] == bootstrap_interval([1.0, 0.0, 0.0])
    assert [each["n_found"] for each in found.values()] == [1, 2, 3, 3, 3]


def test_a_stage_is_compared_with_the_better_of_those_it_takes(runs: list[StageRun]) -> None:
    found = {each["stage"]: each for each in gains(runs, QRELS, 1000)}
    assert {name: each["before"] for name, each in found.items()} == {
        "citation": None,
        "bm25": None,
        "dense": "bm25",
        "fused": "bm25",  # MAP@10 .25 against dense's .067
        "reranker": "fused",
    }
    gain = found["reranker"]["gain"]["MRR@10"]
    test = paired_randomisation([1.0, 0.5, 0.0], [1 / 2, 1 / 7, 0.0])
    assert gain["difference"] == pytest.approx((0.5 + 0.5 - 1 / 7) / 3)
    assert (gain["p"], gain["interval"]) == (test.p, test.interval)
    assert found["bm25"]["gain"] == found["citation"]["gain"] == {}


def test_the_ceiling_is_what_the_candidates_hold_with_the_pinned_ones_above(
    runs: list[StageRun],
) -> None:
    found = {each["stage"]: each for each in gains(runs, QRELS, 1000)}
    ceiling = found["reranker"]["ceiling"]
    assert ceiling is not None
    # Both of a are among six; b's is the sixth below the pinned one; c's was not given.
    assert ceiling["n_candidates"] == 6
    assert ceiling["metrics"] == {"R@6": pytest.approx(2 / 3), "Exist@6": pytest.approx(2 / 3)}
    assert ceiling["intervals"]["R@6"] == bootstrap_interval([1.0, 1.0, 0.0])
    assert found["reranker"]["metrics"]["MRR@10"] <= ceiling["metrics"]["Exist@6"]
    assert [found[name]["ceiling"] for name in ("bm25", "dense", "fused")] == [None] * 3


def test_a_pinned_article_counts_for_the_ceiling_beside_the_candidates() -> None:
    candidates = {"a": (["1"], ["x1", "x2"]), "b": ([], ["x1", "3"]), "c": ([], ["x1"])}
    ranker = stage("reranker", "fused", anew="fused")
    run = StageRun(ranker, {question: ["x1"] for question in QRELS}, candidates)
    ceiling = gains([run], QRELS, 1000)[0]["ceiling"]
    assert ceiling is not None
    # At most two were given to be ranked; of a one article of two stands above them.
    assert ceiling["metrics"] == {"R@2": pytest.approx(1.5 / 3), "Exist@2": pytest.approx(2 / 3)}


def test_no_stage_is_compared_with_citations(runs: list[StageRun]) -> None:
    runs[0].rankings.update(a=["1", "2"], b=["3"], c=["4"])
    found = {each["stage"]: each for each in gains(runs, QRELS, 1000)}
    assert found["citation"]["metrics"]["MAP@10"] == 1
    assert [each["before"] for each in found.values()] == [None, None, "bm25", "bm25", "fused"]


def test_citations_are_left_out_where_no_question_cites(runs: list[StageRun]) -> None:
    runs[0].rankings.update({question: [] for question in QRELS})
    assert [each["stage"] for each in gains(runs, QRELS, 1000)] == [
        *("bm25", "dense", "fused", "reranker")
    ]


@pytest.mark.parametrize(
    ("depth", "metrics"),
    [
        (1000, ["R@10", "R@100", "MAP@10", "MRR@10"]),
        (25, ["R@10", "R@25", "MAP@10", "MRR@10"]),
        (10, ["R@10", "MAP@10", "MRR@10"]),
        (3, ["R@3", "MAP@3", "MRR@3"]),
    ],
)
def test_metrics_are_cut_at_the_runs_depth(
    runs: list[StageRun], depth: int, metrics: list[str]
) -> None:
    *_, last = gains(runs, QRELS, depth)
    assert list(last["metrics"]) == metrics


def test_a_stage_lacks_the_metrics_that_it_is_too_short_for(runs: list[StageRun]) -> None:
    short = StageRun(stage("short", top_k=10), runs[1].rankings)
    unsaid = StageRun(stage("unsaid", top_k=None), runs[1].rankings)  # its longest list has twelve
    tiny = StageRun(stage("tiny", top_k=3), runs[1].rankings)
    joined = StageRun(stage("joined", "tiny"), runs[2].rankings)
    found = {each["stage"]: each for each in gains([short, unsaid, tiny, joined], QRELS, 1000)}
    assert list(found["short"]["metrics"]) == ["R@10", "MAP@10", "MRR@10"]
    assert list(found["unsaid"]["metrics"]) == ["R@10", "MAP@10", "MRR@10"]
    assert found["tiny"]["metrics"] == {}
    assert found["joined"]["before"] is None
    text = table(list(found.values()))
    assert next(line for line in text.splitlines() if line.startswith("tiny")).split() == [
        *("tiny", "-", "-", "-", "-")
    ]


def test_no_more_than_a_hundred_ids_are_kept() -> None:
    class Found:
        def __init__(self, id_: str) -> None:
            self.id = id_

    kept = StageRun(stage("bm25"))
    kept.add("a", {"bm25": {"documents": [Found(str(n % 200)) for n in range(400)]}})
    kept.add("b", {})  # it did not run for this question
    assert kept.rankings == {"a": [str(n) for n in range(100)], "b": []}
    assert kept.candidates == {}


def test_the_table_holds_values_gains_and_the_ceiling(runs: list[StageRun]) -> None:
    lines = table(gains(runs, QRELS, 1000)).splitlines()
    assert lines[0].split() == ["stage", "R@10", "R@100", "MAP@10", "MRR@10"]
    assert [line.split()[0] for line in lines[1:] if line] == [
        *("citation", "bm25", "dense", "less", "fused", "less", "reranker", "less"),
        *("p:", "citation", "ceiling"),
    ]
    assert lines[8].startswith("  less fused")
    assert "+0.286 p " in lines[8]
    assert lines[-1].startswith("ceiling of reranker: R@6 0.667 0.000 to 1.000, Exist@6 0.667")
    assert max(map(len, lines)) <= 110


def test_the_report_is_json(runs: list[StageRun]) -> None:
    made = gains(runs, QRELS, 1000)
    assert json.loads(json.dumps(made, allow_nan=False))[-1]["before"] == "fused"


def test_the_plot_names_stages_values_gains_and_ceilings(
    runs: list[StageRun], tmp_path: Path
) -> None:
    files = [tmp_path / "stages.png", tmp_path / "stages.svg"]
    plot_stages(gains(runs, QRELS, 1000), files, "mine, 3 questions")
    assert files[0].read_bytes().startswith(b"\x89PNG")
    drawn = files[1].read_text(encoding="utf-8")  # matplotlib names each text in a comment
    for text in ("bm25", "reranker", "MAP@10", "0.500 (+0.286)", "ceiling at 6", "R@100"):
        assert f"<!-- {text} -->" in drawn
    # Six candidates say nothing of the first ten; and citations are left to the table.
    assert "Exist@6" not in drawn
    assert "<!-- citation -->" not in drawn


@pytest.mark.parametrize("depth", [1000, 6, 3])
def test_the_plot_shows_ceilings_where_they_bind(
    runs: list[StageRun], tmp_path: Path, depth: int
) -> None:
    plot_stages(gains(runs, QRELS, depth), [tmp_path / "stages.svg"], "mine")
    drawn = (tmp_path / "stages.svg").read_text(encoding="utf-8")
    assert ("<!-- Exist@6 0.667 -->" in drawn) == (depth <= 6)
    assert ("<!-- R@6 0.667 -->" in drawn) == (depth <= 6)
