"""Stages: which components they are, what they are called, and what one run says of them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from haystack import Pipeline

from components.statutes.question import Question
from pipelines.asking import run
from pipelines.evaluating import measure, stage_gains
from pipelines.files import FOLDER
from pipelines.indexing import index_corpus
from pipelines.loading import load_pipeline
from pipelines.stages import stages_of

QUESTION = "Who decides on custody?"
CITING = "Does art. 12 Housing Code say who decides on custody?"

Definition = dict[str, Any]


@pytest.fixture
def mine(tmp_path: Path) -> Callable[..., str]:
    """A user's file: one of ours, changed."""

    def written(name: str, change: Callable[[Definition], object]) -> str:
        definition = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
        change(definition)
        (tmp_path / "mine.yaml").write_text(yaml.safe_dump(definition, sort_keys=False))
        return str(tmp_path / "mine.yaml")

    return written


@pytest.fixture
def reranking(mine: Callable[..., str], tiny_ranker: Path) -> str:
    """`hybrid_rerank` with a tiny cross-encoder of random weights that reads five candidates."""

    def change(definition: Definition) -> None:
        parameters = definition["components"]["ranker"]["init_parameters"]
        parameters.update(model=str(tiny_ranker), candidates=5)

    return mine("hybrid_rerank", change)


def described(pipeline: Pipeline) -> list[tuple[str, str, set[str]]]:
    return [(each.name, each.component, set(each.takes)) for each in stages_of(pipeline)]


def test_the_stages_stand_in_their_order(law_store: Path) -> None:
    assert described(load_pipeline("hybrid", store=law_store)) == [
        ("citation", "citation", set()),
        ("bm25", "bm25", set()),
        ("dense", "dense", set()),
        ("fused", "fuser", {"citation", "bm25", "dense"}),
    ]
    assert [name for name, _, _ in described(load_pipeline("lexical", store=law_store))] == [
        *("citation", "bm25", "fused")
    ]


def test_a_re_ranker_stands_last_and_knows_what_it_was_given(
    law_store: Path, reranking: str
) -> None:
    *first, last = stages_of(load_pipeline(reranking, store=law_store))
    assert (last.name, set(last.takes)) == ("reranker", {"citation", "fused"})
    assert (last.ranked_anew, last.pinned) == (("fuser", "documents"), ("citation", "pinned"))
    assert (last.n_candidates, last.top_k) == (5, 10)
    assert [each.ranked_anew for each in first] == [None] * 4


def test_vectors_through_a_graph_are_the_stage_graph(
    tiny_graphs: dict[str, Path], corpus: Path, tmp_path: Path
) -> None:
    store = tmp_path / "law.db"
    index_corpus(corpus, store, model=str(tiny_graphs["tree"]), graph=True)
    assert described(load_pipeline("dense", store=store)) == [
        ("citation", "citation", set()),
        ("graph", "dense", set()),
        ("fused", "fuser", {"citation", "graph"}),
    ]


def test_two_of_a_kind_and_foreign_classes_go_by_the_files_names(
    law_store: Path, mine: Callable[..., str]
) -> None:
    def change(definition: Definition) -> None:
        components = definition["components"]
        bm25 = components.pop("bm25")
        flat = {**bm25["init_parameters"], "b": 0.0}
        joiner = "haystack.components.joiners.document_joiner.DocumentJoiner"
        top = "haystack.components.rankers.meta_field.MetaFieldRanker"
        components |= {
            "long": bm25,
            "flat": {**bm25, "init_parameters": copy.deepcopy(flat)},
            "both": {"type": joiner, "init_parameters": {"join_mode": "reciprocal_rank_fusion"}},
            # Nothing comes of this one: it is no stage of the answer.
            "aside": {"type": top, "init_parameters": {"meta_field": "position"}},
        }
        definition["connections"] = [
            *(each for each in definition["connections"] if "bm25" not in each["sender"]),
            {"sender": "long.documents", "receiver": "both.documents"},
            {"sender": "flat.documents", "receiver": "both.documents"},
            {"sender": "both.documents", "receiver": "fuser.bm25"},
            {"sender": "both.documents", "receiver": "aside.documents"},
        ]
        definition["inputs"] = {"query": ["citation.query", "long.query", "flat.query"]}

    pipeline = load_pipeline(mine("lexical", change), store=law_store)
    assert described(pipeline) == [
        ("citation", "citation", set()),
        ("long", "long", set()),
        ("flat", "flat", set()),
        ("both", "both", {"long", "flat"}),
        ("fused", "fuser", {"citation", "both"}),
    ]
    assert stages_of(pipeline)[3].ranked_anew is None


def test_a_name_that_another_component_bears_is_not_taken(
    law_store: Path, mine: Callable[..., str]
) -> None:
    def change(definition: Definition) -> None:
        text = yaml.safe_dump(definition).replace("citation", "fused")
        definition.clear()
        definition.update(yaml.safe_load(text))
        definition["components"]["fused"]["type"] = (
            "components.retrievers.citation.CitationRetriever"
        )

    names = [each.name for each in stages_of(load_pipeline(mine("lexical", change), law_store))]
    assert names == ["citation", "bm25", "fuser"]


def test_one_run_tells_what_every_stage_found(law_store: Path, reranking: str) -> None:
    pipeline = load_pipeline(reranking, store=law_store)
    stages = {each.name: each for each in stages_of(pipeline)}
    outputs = run(pipeline, CITING, {each.component for each in stages.values()})
    found = {name: each.ranking(outputs) for name, each in stages.items()}
    assert found["citation"] == ["a12"]
    for name, alone in (("bm25", "lexical"), ("dense", "dense")):
        component = load_pipeline(alone, store=law_store).get_component(name)
        query: dict[str, Any] = {"query": CITING}
        if name == "dense":
            embedder = pipeline.get_component("embedder")
            query = {"query_embedding": embedder.run(CITING)["embedding"]}
        documents = component.run(**query, top_k=30)["documents"]
        assert found[name] == [each.id for each in documents]
    fused = found["fused"]
    assert (len(fused), len(found["reranker"])) == (30, 10)  # the last hands out ten
    # The pinned one is the first of both, and the five below it are those that were read.
    pinned, candidates = stages["reranker"].candidates(outputs)
    assert (pinned, candidates) == (["a12"], fused[1:6])
    assert found["reranker"][0] == "a12"
    assert sorted(found["reranker"][1:6]) == sorted(candidates)
    assert found["reranker"][6:] == fused[6:10]


def test_the_stages_are_measured_in_the_pipelines_own_run(
    law_store: Path, reranking: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = [Question("one", QUESTION, ("a6", "a14")), Question("two", CITING, ("a12",))]
    asked: list[str] = []
    ask = Pipeline.run

    def counted(self: Pipeline, data: dict[str, Any], **options: Any) -> dict[str, Any]:
        asked.append(data["bm25"]["query"])
        return ask(self, data, **options)

    monkeypatch.setattr(Pipeline, "run", counted)
    measured = measure(reranking, questions, store=law_store, model=None, depth=25)
    assert asked == [QUESTION, CITING]
    stages = {each["stage"]: each for each in stage_gains(measured, questions)}
    assert list(stages) == ["citation", "bm25", "dense", "fused", "reranker"]
    assert stages["citation"]["n_found"] == 1
    last = stages["reranker"]
    assert list(last["metrics"]) == ["R@10", "R@25", "MAP@10", "MRR@10"]
    for metric in ("R@10", "MAP@10", "MRR@10"):
        assert last["metrics"][metric] == measured.means()[metric]
    assert last["ceiling"] is not None
    assert list(last["ceiling"]["metrics"]) == ["R@5", "Exist@5"]
