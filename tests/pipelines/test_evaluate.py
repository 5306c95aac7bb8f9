"""Measuring: metrics and comparisons by hand, and what each stage adds."""

from typing import Any

import pytest
import yaml
from haystack import Pipeline
from indexed import indexed

from components.statutes.question import Question
from components.statutes.significance import bootstrap_interval
from pipelines.asking import ask
from pipelines.checking import FOLDER
from pipelines.evaluation import Measured, StageRun, gains, measure, report, summary
from pipelines.loading import load_pipeline
from pipelines.stages import Stage


def question(id_: str, *relevant: str) -> Question:
    return Question(id_, f"Who decides on {id_}?", relevant)


def test_a_pipeline_is_asked_as_deep_as_the_run_says(law_store):
    questions = [question("rent", "a8", "a16", "a24"), question("custody", "a6")]
    measured = measure("hybrid", questions, store=law_store, model=None, depth=25)
    assert measured.pipeline == "hybrid"
    assert {id_: len(found) for id_, found in measured.run.items()} == {"rent": 25, "custody": 25}
    # What looks deeper than the run is left out, and every metric covers every question.
    assert {"R@20", "MRR@10", "R-precision"} <= set(measured.values)
    assert not {"R@50", "MAP", "MAP@100", "Exist@50"} & set(measured.values)
    assert all(set(of) == {"rent", "custody"} for of in measured.values.values())
    found = set(measured.run["rent"][:10])
    assert measured.values["R@10"]["rent"] == len(found & {"a8", "a16", "a24"}) / 3


def test_all_of_the_law_is_measured_whenever_it_was_in_force(tmp_path, make_article):
    store = indexed(tmp_path, [make_article(8, valid_to="2001-01-01"), make_article(16)])
    asked = [question("rent", "a8")]
    found = measure("lexical", asked, store=store, model=None, depth=25).run["rent"]
    assert set(found) == {"a8", "a16"}


def test_what_is_fused_is_what_is_served(law_store, tmp_path):
    text = (FOLDER / "hybrid.yaml").read_text(encoding="utf-8")
    mine = tmp_path / "mine.yaml"
    mine.write_text(text.replace("top_k: 10", "depth: 4"), encoding="utf-8")
    asked = [question("rent", "a8"), question("custody", "a6")]
    pipeline = load_pipeline(mine, law_store)
    for depth in (3, 25):
        found = measure(str(mine), asked, store=law_store, model=None, depth=depth).run
        for each in asked:
            served = ask(pipeline, each.text, top_k=depth)["documents"]
            assert found[each.id] == [document["id"] for document in served]


def test_the_report_is_worked_out_by_hand():
    ours, other = (
        Measured(name, {}, {"R@10": dict(zip("abcd", values, strict=True))}, 3.0, [], 10)
        for name, values in (("ours", (1.0, 0.5, 0.0, 1.0)), ("other", (0.0, 0.5, 0.0, 0.0)))
    )
    questions = [
        question("a", "1"),
        question("b", "2", "9"),
        question("c", "3"),
        question("d", "4"),
    ]
    made = report(ours, [other], questions, [question("t", "2"), question("u", "4")])
    assert made["metrics"] == {"R@10": 0.625}
    assert made["intervals"] == {"R@10": bootstrap_interval([1.0, 0.5, 0.0, 1.0])}
    # b and d share an article with training questions.
    assert made["unseen"]["n_questions"] == 2
    assert made["unseen"]["metrics"] == {"R@10": 0.5}
    compared = made["comparison"]["other"]["R@10"]
    assert (compared["value"], compared["difference"]) == (0.125, 0.5)
    assert compared["interval"][0] <= 0.5 <= compared["interval"][1]
    assert 0 < compared["p"] <= 1


QUESTION = "Who decides on custody?"
CITING = "Does art. 12 Housing Code say who decides on custody?"


@pytest.fixture
def reranking(tmp_path, tiny_ranker) -> str:
    """`hybrid_rerank` with a tiny cross-encoder of random weights that reads five candidates."""
    definition = yaml.safe_load((FOLDER / "hybrid_rerank.yaml").read_text(encoding="utf-8"))
    parameters = definition["components"]["ranker"]["init_parameters"]
    parameters.update(model=str(tiny_ranker), candidates=5)
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(definition))
    return str(tmp_path / "mine.yaml")


def test_the_stages_are_measured_in_the_pipelines_own_run(law_store, reranking, monkeypatch):
    questions = [Question("one", QUESTION, ("a6", "a14")), Question("two", CITING, ("a12",))]
    asked: list[str] = []
    ask = Pipeline.run

    def counted(self: Pipeline, data: dict[str, Any], **options: Any) -> dict[str, Any]:
        asked.append(data["retriever"]["query"])
        return ask(self, data, **options)

    monkeypatch.setattr(Pipeline, "run", counted)
    measured = measure(reranking, questions, store=law_store, model=None, depth=25)
    assert asked == [QUESTION, CITING]
    stages = {each["stage"]: each for each in report(measured, [], questions, [])["stages"]}
    assert list(stages) == ["citation", "bm25", "division", "dense", "fused", "reranker"]
    assert stages["citation"]["n_found"] == 1
    last = stages["reranker"]
    assert list(last["metrics"]) == ["R@10", "R@25", "MAP@10", "MRR@10"]
    for metric in ("R@10", "MAP@10", "MRR@10"):
        assert last["metrics"][metric] == summary(measured.values)["metrics"][metric]
    assert last["ceiling"] is not None
    assert list(last["ceiling"]["metrics"]) == ["R@5", "Exist@5"]


# Question a is answered by two articles, b and c by one.
QRELS = {"a": {"1", "2"}, "b": {"3"}, "c": {"4"}}


def stage(name: str, *takes: str, top_k: int = 1000, reads: int | None = None) -> Stage:
    """A stage; one that reads a number of candidates ranks the fused ones again."""
    ranked = None if reads is None else ("fused", "documents")
    return Stage(name, name, ("documents",), None, takes, ranked, None, top_k, reads)


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
        StageRun(stage("bm25"), {"a": ranking(_1=1, _2=4), "b": ranking(_3=12), "c": none}),
        StageRun(stage("dense"), {"a": ranking(_1=5), "b": ranking(_3=10), "c": ranking(_4=12)}),
        StageRun(stage("fused", "citation", "bm25", "dense"), fused),
        StageRun(stage("reranker", "citation", "fused", reads=6), reranked, candidates),
    ]


def test_measures_are_worked_out_by_hand(runs):
    found = {each["stage"]: each for each in gains(runs, QRELS, 1000)}
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
    assert found.keys() == expected.keys()
    for name, of in expected.items():
        assert dict(found[name]["metrics"]) == pytest.approx(of), name
    assert found["bm25"]["intervals"]["R@10"] == bootstrap_interval([1.0, 0.0, 0.0])
    assert [each["n_found"] for each in found.values()] == [1, 2, 3, 3, 3]
    # The ceiling is what the candidates hold, with the pinned ones above.
    ceiling = found["reranker"]["ceiling"]
    assert ceiling is not None
    # Both of a are among six; b's is the sixth below the pinned one; c's was not given.
    assert ceiling["n_candidates"] == 6
    assert ceiling["metrics"] == {"R@6": pytest.approx(2 / 3), "Exist@6": pytest.approx(2 / 3)}
    assert ceiling["intervals"]["R@6"] == bootstrap_interval([1.0, 1.0, 0.0])
    assert found["reranker"]["metrics"]["MRR@10"] <= ceiling["metrics"]["Exist@6"]
    assert [found[name]["ceiling"] for name in ("bm25", "dense", "fused")] == [None] * 3
