"""The habits that every component keeps (design.md, section 4), each test over all of them."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from component_cases import (
    CASES,
    FAMILY,
    GRAPH_MODEL,
    MODEL,
    NAMES,
    RANKER,
    REPOSITORY,
    RETRIEVERS,
    STORE,
    Case,
    every_component,
)
from haystack import Document, Pipeline
from haystack.components.retrievers import MultiRetriever, TextEmbeddingRetriever

from components.stores.sqlite import StatuteDocumentStore


def documents_in(outputs: Any) -> Iterator[Document]:
    if isinstance(outputs, Document):
        yield outputs
    elif isinstance(outputs, (list, tuple)):
        for each in outputs:
            yield from documents_in(each)
    elif isinstance(outputs, dict):
        yield from documents_in(list(outputs.values()))


def without_times(outputs: dict[str, Any]) -> dict[str, Any]:
    meta = outputs.get("meta", {})
    kept = {name: value for name, value in meta.items() if name != "took_ms"}
    return {**outputs, "meta": kept} if meta else outputs


@every_component
def test_init_opens_and_loads_nothing(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "law.db"
    store = StatuteDocumentStore(str(path))
    places = dict.fromkeys((MODEL, GRAPH_MODEL, RANKER), "/nowhere/model") | {STORE: store}
    parameters = {
        name: places.get(value, value) if isinstance(value, str) else value
        for name, value in case.parameters.items()
    }
    component = case.kind(**parameters)
    assert not path.exists()
    for name, value in parameters.items():
        assert getattr(component, name) == value, f"{name} is not kept as it was given"


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if "device" in case.parameters],
    ids=lambda case: case.kind.__name__,
)
def test_a_device_of_another_kind_is_refused_at_once(case: Case) -> None:
    needed = {name: value for name, value in case.needed.items() if name != "model"}
    if "document_store" in needed:
        needed["document_store"] = StatuteDocumentStore()
    for device in ("cpu", torch.device("cpu")):
        with pytest.raises(TypeError, match=rf"{case.kind.__name__}\.device must be a Component"):
            case.kind(**needed, device=device)


@every_component
def test_a_text_in_place_of_a_number_is_refused_by_name(case: Case) -> None:
    needed = {name: value for name, value in case.needed.items() if name != "model"}
    if "document_store" in needed:
        needed["document_store"] = StatuteDocumentStore()
    for name, value in case.parameters.items():
        if isinstance(value, float):
            refusal = rf"{case.kind.__name__}\.{name} must be .* got '1'"
            with pytest.raises(ValueError, match=refusal):
                case.kind(**needed, **{name: "1"})


@every_component
def test_the_case_gives_every_parameter_another_value_than_its_default(case: Case) -> None:
    declared = inspect.signature(case.kind.__init__).parameters
    # A class without an __init__ of its own takes Python's `args` and `kwargs`, and no parameter.
    assert set(case.parameters) == set(declared) - {"self", "args", "kwargs"}
    for name, value in case.parameters.items():
        assert declared[name].default != value


def test_every_parameter_survives_yaml_in_a_fresh_process(
    make: Callable[[Case, dict[str, Any]], Any],
) -> None:
    pipeline = Pipeline()
    for name, case in NAMES.items():
        pipeline.add_component(name, make(case, case.parameters))
    text = pipeline.dumps()
    script = (
        "import sys; from haystack import Pipeline;"
        "print(Pipeline.loads(sys.stdin.read(), allowed_modules=['components']).dumps())"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", script],
        input=text,
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        env={**os.environ, "HAYSTACK_TELEMETRY_ENABLED": "False"},
        timeout=120,
    )
    assert loaded.returncode == 0, loaded.stderr
    assert yaml.safe_load(loaded.stdout) == yaml.safe_load(text)
    for name, case in NAMES.items():
        written = pipeline.to_dict()["components"][name]
        assert written["type"] == f"{case.kind.__module__}.{name}"
        assert set(written["init_parameters"]) == set(case.parameters)


@every_component
def test_from_dict_leaves_its_dictionary_alone(
    make: Callable[[Case, dict[str, Any]], Any], case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAYSTACK_DESERIALIZATION_ALLOWLIST", "components")
    data = make(case, case.parameters).to_dict()
    before = deepcopy(data)
    assert case.kind.from_dict(data).to_dict() == before
    assert data == before


@every_component
def test_run_changes_no_input_and_equals_run_async(
    make: Callable[[Case, dict[str, Any]], Any], case: Case
) -> None:
    component = make(case, case.parameters)
    inputs = deepcopy(case.inputs)
    found = without_times(component.run(**inputs))
    assert found == without_times(component.run(**inputs))
    assert found == without_times(asyncio.run(component.run_async(**inputs)))
    assert inputs == case.inputs
    assert any(found.values())


@every_component
def test_run_and_run_async_declare_the_same_outputs(case: Case) -> None:
    assert inspect.signature(case.kind.run) == inspect.signature(case.kind.run_async)


@pytest.mark.parametrize("case", RETRIEVERS, ids=lambda case: case.kind.__name__)
def test_what_run_is_given_counts_in_place_of_the_components_own(
    make: Callable[[Case, dict[str, Any]], Any], case: Case
) -> None:
    component = make(case, {**case.needed, "top_k": 3, "filters": FAMILY})
    query = {name: case.inputs[name] for name in case.inputs if name.startswith("query")}
    given = component.run(**query)
    given.pop("left_out", None)  # what the filters refused
    own = list(documents_in(given))
    assert {document.meta["law"] for document in own} == {"Family Code"}
    assert list(documents_in(component.run(**query, top_k=0))) == []
    everywhere = list(documents_in(component.run(**query, filters={}, top_k=10)))
    laws = {document.meta["law"] for document in everywhere}
    assert laws == {"Family Code", "Housing Code"}


@pytest.mark.parametrize(
    "case",
    [*RETRIEVERS, NAMES["StatuteRankFuser"], NAMES["StatuteRanker"]],
    ids=lambda case: case.kind.__name__,
)
def test_what_is_retrieved_carries_no_embedding(
    make: Callable[[Case, dict[str, Any]], Any], case: Case
) -> None:
    documents = list(documents_in(make(case, case.parameters).run(**case.inputs)))
    assert documents
    assert all(document.embedding is None for document in documents)
    assert all(document.score is not None for document in documents)


@every_component
def test_a_warm_component_is_written_as_it_was_made(
    make: Callable[[Case, dict[str, Any]], Any], case: Case
) -> None:
    component = make(case, case.needed)
    cold = component.to_dict()
    if hasattr(component, "warm_up"):
        component.warm_up()
    component.run(**{name: each for name, each in case.inputs.items() if name != "bm25"})
    assert component.to_dict() == cold
    assert cold["init_parameters"].get("device") is None
    assert "cpu" not in json.dumps(cold) and "cuda" not in json.dumps(cold)


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.protocol], ids=lambda case: case.kind.__name__
)
def test_haystacks_protocols_are_kept(case: Case) -> None:
    assert case.protocol is not None
    asked = inspect.signature(case.protocol.run).parameters  # type: ignore[attr-defined]
    ours = inspect.signature(case.kind.run).parameters
    assert [(name, ours[name].default) for name in asked] == [
        (name, each.default) for name, each in asked.items()
    ]
    assert all(
        each.default is not inspect.Parameter.empty
        for name, each in ours.items()
        if name not in asked
    )


def test_haystacks_multi_retriever_takes_ours(
    make: Callable[[Case, dict[str, Any]], Any],
) -> None:
    by_meaning = TextEmbeddingRetriever(
        retriever=make(NAMES["StatuteEmbeddingRetriever"], {"document_store": STORE}),
        text_embedder=make(NAMES["StatuteTextEmbedder"], {"model": MODEL}),
    )
    by_words = make(NAMES["StatuteBM25Retriever"], {"document_store": STORE})
    retriever = MultiRetriever(retrievers={"dense": by_meaning, "bm25": by_words})
    found = retriever.run("Who mends a leaking roof?", filters={}, top_k=2)["documents"]
    assert found[0].id == "h1"
    found = retriever.run("Who mends a leaking roof?", filters=FAMILY)["documents"]
    assert {document.meta["law"] for document in found} == {"Family Code"}
    again = asyncio.run(retriever.run_async("Who mends a leaking roof?", filters=FAMILY))
    assert again["documents"] == found
