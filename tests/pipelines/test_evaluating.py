"""Measuring: depth, means by hand, questions apart, comparisons."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.statutes.question import Question
from components.statutes.significance import bootstrap_interval
from pipelines.asking import ask
from pipelines.evaluating import Measured, distinct_names, measure, report
from pipelines.files import FOLDER, LoadingError
from pipelines.indexing import index_corpus
from pipelines.loading import load_pipeline


def question(id_: str, *relevant: str) -> Question:
    return Question(id_, f"Who decides on {id_}?", relevant)


def test_a_pipeline_is_asked_as_deep_as_the_run_says(law_store: Path) -> None:
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


def test_r_precision_is_left_out_where_the_run_is_too_shallow(law_store: Path) -> None:
    questions = [question("rent", "a8", "a16", "a24")]
    assert (
        "R-precision"
        not in measure("lexical", questions, store=law_store, model=None, depth=2).values
    )


def test_all_of_the_law_is_measured_whenever_it_was_in_force(
    tmp_path: Path, make_article: Callable[..., dict[str, Any]], write_corpus: Callable[..., Path]
) -> None:
    articles = [make_article(8, valid_to="2001-01-01"), make_article(16)]
    store = tmp_path / "law.db"
    index_corpus(write_corpus(tmp_path / "law.jsonl", articles), store, model="none")
    asked = [question("rent", "a8")]
    found = measure("lexical", asked, store=store, model=None, depth=25).run["rent"]
    assert set(found) == {"a8", "a16"}


def test_what_is_fused_is_what_is_served(law_store: Path, tmp_path: Path) -> None:
    text = (FOLDER / "hybrid.yaml").read_text(encoding="utf-8")
    mine = tmp_path / "mine.yaml"
    mine.write_text(text.replace("top_k: 250", "top_k: 4"), encoding="utf-8")
    asked = [question("rent", "a8"), question("custody", "a6")]
    pipeline = load_pipeline(mine, law_store)
    for depth in (3, 25):
        found = measure(str(mine), asked, store=law_store, model=None, depth=depth).run
        for each in asked:
            served = ask(pipeline, each.text, top_k=depth)["documents"]
            assert found[each.id] == [document["id"] for document in served]
            assert len(served) <= 8


def test_a_file_that_takes_no_top_k_is_asked_for_all_that_it_fuses(
    law_store: Path, tmp_path: Path
) -> None:
    lines = (FOLDER / "lexical.yaml").read_text(encoding="utf-8").splitlines()
    mine = tmp_path / "mine.yaml"
    kept = [line for line in lines if "fuser.top_k" not in line]
    mine.write_text("\n".join(kept), encoding="utf-8")
    asked = [Question("q", "Which rule on rent does the officer decide?", ("a8",))]
    assert len(measure(str(mine), asked, store=law_store, model=None, depth=25).run["q"]) == 25


def test_each_pipeline_is_measured_once_and_names_are_their_own(tmp_path: Path) -> None:
    same = str(FOLDER / "lexical.yaml")
    assert distinct_names(["lexical", "hybrid", same]) == ["lexical", "hybrid"]
    (tmp_path / "lexical.yaml").write_text("components: {}", encoding="utf-8")
    with pytest.raises(LoadingError, match="two pipelines are called 'lexical'"):
        distinct_names(["lexical", str(tmp_path / "lexical.yaml")])


@pytest.fixture
def ours() -> Measured:
    return Measured("ours", {}, {"R@10": {"a": 1.0, "b": 0.5, "c": 0.0, "d": 1.0}}, 3.0, [], 10)


def test_the_report_is_worked_out_by_hand(ours: Measured) -> None:
    other = Measured("other", {}, {"R@10": {"a": 0.0, "b": 0.5, "c": 0.0, "d": 0.0}}, 1.0, [], 10)
    questions = [
        question("a", "1"),
        question("b", "2", "9"),
        question("c", "3"),
        question("d", "4"),
    ]
    training = [question("t", "2"), question("u", "4")]
    made = report(ours, [other], questions, training)
    assert made["metrics"] == {"R@10": 0.625}
    assert made["intervals"] == {"R@10": bootstrap_interval([1.0, 0.5, 0.0, 1.0])}
    # b and d share an article with training questions.
    assert made["unseen"]["n_questions"] == 2
    assert made["unseen"]["metrics"] == {"R@10": 0.5}
    compared = made["comparison"]["other"]["R@10"]
    assert compared["value"] == 0.125
    assert compared["difference"] == 0.5
    assert compared["interval"][0] <= 0.5 <= compared["interval"][1]
    assert 0 < compared["p"] <= 1


def test_the_report_is_json_also_for_one_question(ours: Measured) -> None:
    one = Measured("one", {}, {"R@10": {"a": 1.0}}, 3.0, [], 10)
    made = report(one, [one], [question("a", "1")], [question("t", "1")])
    text = json.dumps(made, allow_nan=False)
    assert json.loads(text)["comparison"]["one"]["R@10"]["detectable"] is None
    assert made["unseen"] == {"n_questions": 0, "metrics": {}, "intervals": {}}


def test_without_training_questions_nothing_is_apart(ours: Measured) -> None:
    assert report(ours, [], [question(id_, "1") for id_ in "abcd"], [])["unseen"] is None


def test_a_component_may_be_told_top_k_that_is_no_parameter_of_it(
    law_store: Path, tmp_path: Path
) -> None:
    lexical = yaml.safe_load((FOLDER / "lexical.yaml").read_text(encoding="utf-8"))
    lexical["components"]["prompt"] = {
        "type": "haystack.components.builders.prompt_builder.PromptBuilder",
        "init_parameters": {"template": "The best {{ top_k }}."},
    }
    lexical["inputs"]["top_k"].append("prompt.top_k")
    mine = tmp_path / "mine.yaml"
    mine.write_text(yaml.safe_dump(lexical), encoding="utf-8")
    asked = [question("rent", "a8")]
    assert len(measure(str(mine), asked, store=law_store, model=None, depth=25).run["rent"]) == 25
