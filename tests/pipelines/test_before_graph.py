"""Where a graph's vectors are searched, the bi-encoder by itself is measured beside it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from components.statutes.question import Question
from components.stores.sqlite import StatuteDocumentStore
from pipelines.evaluating import Measured, measure, stage_gains
from pipelines.files import FOLDER
from pipelines.indexing import index_corpus

ASKED = [
    Question("rent", "Who decides on rent?", ("a8", "a16")),
    Question("custody", "Who decides on custody?", ("a6",)),
]


@pytest.fixture
def plain(tiny_graphs: dict[str, Path], corpus: Path, tmp_path: Path) -> Path:
    index_corpus(corpus, tmp_path / "plain.db", model=str(tiny_graphs["tree"]))
    return tmp_path / "plain.db"


@pytest.fixture
def through_graph(tiny_graphs: dict[str, Path], corpus: Path, tmp_path: Path) -> Path:
    index_corpus(corpus, tmp_path / "law.db", model=str(tiny_graphs["tree"]), graph=True)
    return tmp_path / "law.db"


def measured(store: Path, top_k: int = 250, **of_dense: object) -> Measured:
    """Of hybrid.yaml, whose lists are this long before they are fused."""
    text = (FOLDER / "hybrid.yaml").read_text(encoding="utf-8")
    pipeline = yaml.safe_load(text.replace("top_k: 250", f"top_k: {top_k}"))
    pipeline["components"]["dense"]["init_parameters"] |= of_dense
    mine = store.with_name("mine.yaml")
    mine.write_text(yaml.safe_dump(pipeline), encoding="utf-8")
    return measure(str(mine), ASKED, store=store, model=None, depth=25)


def rankings(of: Measured, name: str) -> dict[str, list[str]]:
    return next(run.rankings for run in of.stages if run.stage.name == name)


@pytest.mark.parametrize("top_k", [7, 250])
def test_dense_and_graph_stand_in_one_table(plain: Path, through_graph: Path, top_k: int) -> None:
    before, after = measured(plain, top_k), measured(through_graph, top_k)
    assert [run.stage.name for run in before.stages] == ["citation", "bm25", "dense", "fused"]
    assert [run.stage.name for run in after.stages] == [
        *("citation", "bm25", "dense", "graph", "fused")
    ]
    assert rankings(after, "dense") == rankings(before, "dense")
    assert all(len(found) == min(top_k, 30) for found in rankings(after, "dense").values())
    assert rankings(after, "graph") != rankings(after, "dense")
    gains = {gain["stage"]: gain["before"] for gain in stage_gains(after, ASKED)}
    assert gains["dense"] == "bm25"
    assert gains["graph"] == "dense"
    assert gains["fused"] != "dense"


def test_a_store_without_base_vectors_has_the_graphs_alone(through_graph: Path) -> None:
    store = StatuteDocumentStore(str(through_graph))
    store.journal.clear()
    store.close()
    names = [run.stage.name for run in measured(through_graph).stages]
    assert names == ["citation", "bm25", "graph", "fused"]


def test_a_retrievers_filters_hold_for_both(plain: Path, through_graph: Path) -> None:
    filters = {"field": "meta.law", "operator": "==", "value": "Family Code"}
    before, after = measured(plain, filters=filters), measured(through_graph, filters=filters)
    assert rankings(after, "dense") == rankings(before, "dense")
    assert {len(found) for found in rankings(after, "dense").values()} == {10}


def test_a_component_that_is_merely_called_graph_is_none(text_store: Path, tmp_path: Path) -> None:
    pipeline = yaml.safe_load((FOLDER / "lexical.yaml").read_text(encoding="utf-8"))
    joiner = "haystack.components.joiners.document_joiner.DocumentJoiner"
    pipeline["components"]["graph"] = {"type": joiner, "init_parameters": {}}
    last = pipeline["outputs"]["documents"]
    pipeline["connections"].append({"sender": last, "receiver": "graph.documents"})
    pipeline["outputs"]["documents"] = "graph.documents"
    mine = tmp_path / "mine.yaml"
    mine.write_text(yaml.safe_dump(pipeline), encoding="utf-8")
    of = measure(str(mine), ASKED, store=text_store, model=None, depth=25)
    assert [run.stage.name for run in of.stages][-1] == "graph"
    assert "dense" not in [run.stage.name for run in of.stages]
