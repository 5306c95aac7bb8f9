"""The habits that every component keeps (CONTRIBUTING.md), each tested over all components."""

import asyncio
import gc
import inspect
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

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
    RETRIEVERS,
    STORE,
    every_component,
    loading_components,
    placed,
)
from haystack import Document, Pipeline, component
from haystack.components.agents import Agent
from haystack.components.generators.chat import MockChatGenerator
from haystack.components.retrievers import MultiRetriever, TextEmbeddingRetriever
from haystack.core.errors import BreakpointException
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.dataclasses.breakpoints import Breakpoint, PipelineSnapshot
from haystack.tools import ComponentTool

from components.builders.citation_auditor import CitationAuditor
from components.embedders.sparse_document import StatuteSparseDocumentEmbedder
from components.embedders.sparse_text import StatuteSparseTextEmbedder
from components.embedders.text import StatuteTextEmbedder
from components.models.folder import ModelError
from components.stores.sqlite import StatuteDocumentStore


def documents_in(outputs):
    if isinstance(outputs, Document):
        yield outputs
    elif isinstance(outputs, (list, tuple, dict)):
        for each in outputs.values() if isinstance(outputs, dict) else outputs:
            yield from documents_in(each)


def without_times(outputs):
    meta = outputs.get("meta", {})
    kept = {name: value for name, value in meta.items() if name != "took_ms"}
    return {**outputs, "meta": kept} if meta else outputs


@every_component
def test_init_keeps_every_parameter_and_opens_nothing(case, tmp_path):
    path = tmp_path / "law.db"
    store = StatuteDocumentStore(str(path))
    places = dict.fromkeys((MODEL, GRAPH_MODEL, RANKER), "/nowhere/model") | {STORE: store}
    parameters, needed = placed(case.parameters, places), placed(case.needed, places)
    component = case.kind(**parameters)
    assert not path.exists()
    declared = inspect.signature(case.kind.__init__).parameters
    # A class without an __init__ of its own has Python's `args` and `kwargs`, and no parameter.
    assert set(parameters) == set(declared) - {"self", "args", "kwargs"}
    for name, value in parameters.items():
        assert getattr(component, name) == value, f"{name} is not kept as given"
        assert declared[name].default != case.parameters[name], "the case uses no default"
        if isinstance(value, float):
            with pytest.raises(ValueError, match=rf"{case.kind.__name__}\.{name}"):
                case.kind(**{**needed, name: "1"})
    if "device" in parameters:
        for device in ("cpu", torch.device("cpu")):
            with pytest.raises(TypeError, match=rf"{case.kind.__name__}\.device"):
                case.kind(**{**needed, "device": device})


def test_every_parameter_survives_yaml(make):
    pipeline = Pipeline()
    for name, case in NAMES.items():
        pipeline.add_component(name, make(case, case.parameters))
    text = pipeline.dumps()
    loaded = Pipeline.loads(text)
    assert yaml.safe_load(loaded.dumps()) == yaml.safe_load(text)
    for name, case in NAMES.items():
        written = pipeline.to_dict()["components"][name]
        assert written["type"] == f"{case.kind.__module__}.{name}"
        assert set(written["init_parameters"]) == set(case.parameters)


@every_component
def test_run_changes_no_input_and_equals_run_async(make, case):
    component = make(case, case.parameters)
    data = component.to_dict()
    before = deepcopy(data)
    assert case.kind.from_dict(data).to_dict() == data == before
    inputs = deepcopy(case.inputs)
    found = without_times(component.run(**inputs))
    assert found == without_times(component.run(**inputs))
    assert found == without_times(asyncio.run(component.run_async(**inputs)))
    assert inputs == case.inputs
    assert any(found.values())
    assert inspect.signature(case.kind.run) == inspect.signature(case.kind.run_async)


@component
class Sink:
    """Takes every output of a component, and hands it on."""

    def __init__(self, names):
        component.set_input_types(self, **dict.fromkeys(names, Any))

    @component.output_types(outputs=dict[str, Any])
    def run(self, **outputs):
        return {"outputs": outputs}


@every_component
def test_outputs_reach_agents_snapshots_and_json_whole(make, case, monkeypatch):
    monkeypatch.setenv("HAYSTACK_DESERIALIZATION_ALLOWLIST", "components")
    call = ToolCall("tool", deepcopy(case.inputs))
    replies = MockChatGenerator([ChatMessage.from_assistant(tool_calls=[call]), "Done."])
    made = make(case, case.parameters)
    tool = ComponentTool(made, name="tool", description="A component.")
    agent = Agent(chat_generator=replies, tools=[tool])
    messages = agent.run([ChatMessage.from_user("Ask it.")])["messages"]
    (result,) = (each.tool_call_result for each in messages if each.tool_call_result)
    assert not result.error
    outputs = made.run(**deepcopy(case.inputs))
    # `str()`, which Haystack falls back to, cuts texts.
    assert without_times(json.loads(result.result)) == without_times(plain(outputs))
    pipeline = Pipeline()
    pipeline.add_component("made", made)
    pipeline.add_component("sink", Sink(outputs))
    for name in outputs:
        pipeline.connect(f"made.{name}", f"sink.{name}")
    with pytest.raises(BreakpointException) as stopped:
        pipeline.run({"made": case.inputs}, break_point=Breakpoint("sink"))
    saved = json.loads(json.dumps(stopped.value.pipeline_snapshot.to_dict()))
    resumed = pipeline.run({}, pipeline_snapshot=PipelineSnapshot.from_dict(saved))
    assert without_times(resumed["sink"]["outputs"]) == without_times(outputs)


def plain(value):
    return json.loads(json.dumps(value, default=lambda each: each.to_dict()))


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        *(
            (lambda kind=case.kind: kind("law.db"), TypeError, f"{name}.document_store.*'law.db'")
            for name, case in NAMES.items()
            if case.needed.get("document_store") == STORE
        ),
        (lambda: StatuteTextEmbedder().run("A roof?"), ModelError, r"StatuteTextEmbedder\.model"),
        (
            lambda: StatuteSparseDocumentEmbedder().run("A roof?"),
            TypeError,
            "SparseDocumentEmbedder takes Documents; StatuteSparseTextEmbedder takes questions",
        ),
        (lambda: StatuteSparseTextEmbedder(["english"]), ValueError, "languages.*'english'"),
        (
            lambda: CitationAuditor(StatuteDocumentStore("law.db")).run(None),
            TypeError,
            r"CitationAuditor\.text.*None",
        ),
    ],
)
def test_a_wrong_use_is_one_line_that_names_the_component(use, error, message):
    with pytest.raises(error, match=message) as refusal:
        use()
    assert "\n" not in str(refusal.value)


@every_component
def test_a_warm_component_is_serialised_as_it_was_made(make, case):
    component = make(case, case.needed)
    cold = component.to_dict()
    if hasattr(component, "warm_up"):
        component.warm_up()
    component.run(**{name: each for name, each in case.inputs.items() if name != "bm25"})
    assert component.to_dict() == cold
    assert cold["init_parameters"].get("device") is None
    assert "cpu" not in json.dumps(cold) and "cuda" not in json.dumps(cold)


def test_haystacks_protocols_are_kept():
    for case in CASES:
        if case.protocol is None:
            continue
        asked = inspect.signature(case.protocol.run).parameters
        ours = inspect.signature(case.kind.run).parameters
        assert [(name, ours[name].default) for name in asked] == [
            (name, each.default) for name, each in asked.items()
        ]
        extra = [each for name, each in ours.items() if name not in asked]
        assert all(each.default is not inspect.Parameter.empty for each in extra)


@pytest.mark.parametrize("case", RETRIEVERS, ids=lambda case: case.kind.__name__)
def test_run_time_parameters_replace_the_components_own_but_filters_hold(make, case):
    component = make(case, {**case.needed, "top_k": 3, "filters": FAMILY})
    query = {name: case.inputs[name] for name in case.inputs if name.startswith("query")}
    given = component.run(**query)
    given.pop("left_out", None)  # what the filters refused
    assert {each.meta["law"] for each in documents_in(given)} == {"Family Code"}
    assert list(documents_in(component.run(**query, top_k=0))) == []
    others = component.run(**query, filters={**FAMILY, "operator": "!="}, top_k=10)
    others.pop("left_out", None)
    others.pop("evidence", None)
    assert list(documents_in(others)) == []
    component = make(case, {**case.needed, "top_k": 3})
    everywhere = list(documents_in(component.run(**query, filters={}, top_k=10)))
    assert {each.meta["law"] for each in everywhere} == {"Family Code", "Housing Code"}
    assert all(each.embedding is None for each in everywhere)
    assert all(each.score is not None for each in everywhere)


def test_haystacks_multi_retriever_accepts_ours(make):
    by_meaning = TextEmbeddingRetriever(
        retriever=make(NAMES["StatuteEmbeddingRetriever"], {"document_store": STORE}),
        text_embedder=make(NAMES["StatuteTextEmbedder"], {"model": MODEL}),
    )
    by_words = make(NAMES["StatuteBM25Retriever"], {"document_store": STORE})
    retriever = MultiRetriever(retrievers={"dense": by_meaning, "bm25": by_words})
    question = "Who mends a leaking roof?"
    assert retriever.run(question, filters={}, top_k=2)["documents"][0].id == "h1"
    found = retriever.run(question, filters=FAMILY)["documents"]
    assert {document.meta["law"] for document in found} == {"Family Code"}
    again = asyncio.run(retriever.run_async(question, filters=FAMILY))
    assert again["documents"] == found


# What is opened and loaded, when, how often and where


@pytest.fixture
def slow_loads(monkeypatch):
    """`slow_loads(case)`: the thread of each load from now on, each of which takes a while."""

    def watch(case):
        where, name = case.loads
        threads = []
        load = getattr(where, name)

        def slow(*args, **kwargs):
            threads.append(threading.get_ident())
            time.sleep(0.05)
            return load(*args, **kwargs)

        # Models that another test has loaded must not be found.
        monkeypatch.setattr("components.models.registry._models", WeakValueDictionary())
        gc.collect()
        monkeypatch.setattr(where, name, slow)
        return threads

    return watch


@loading_components
def test_models_and_indexes_are_loaded_once_and_off_the_event_loop(make, case, slow_loads):
    loads = slow_loads(case)
    unshared = {"k1": 0.9} if "k1" in case.parameters else {}
    components = [make(case, {**case.parameters, **unshared}) for _ in range(3)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda each: each.warm_up(), components * 3))
        list(threads.map(lambda each: each.run(**case.inputs), components))
    assert len(loads) == 1
    del components
    loads = slow_loads(case)
    unshared = {"k1": 0.8} if "k1" in case.parameters else {}
    pipeline = Pipeline()
    pipeline.add_component("it", make(case, {**case.parameters, **unshared}))

    async def asked():
        await asyncio.gather(*(pipeline.run_async({"it": case.inputs}) for _ in range(2)))

    asyncio.run(asked())
    assert len(loads) == 1
    assert threading.get_ident() not in loads


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if STORE in case.parameters.values()],
    ids=lambda case: case.kind.__name__,
)
def test_a_closed_pipeline_closes_its_store_and_opens_it_again(make, case, store_path, store):
    store.write_documents(StatuteDocumentStore(store_path).filter_documents())
    store.close()
    name = next(name for name, value in case.parameters.items() if value == STORE)
    pipeline = Pipeline()
    pipeline.add_component("it", make(case, {**case.parameters, name: store}))
    log = Path(f"{store.path}-wal")  # exists as long as the file is open

    async def asked():
        found = await pipeline.run_async({"it": case.inputs})
        assert log.exists()
        await pipeline.close_async()
        return found

    for _ in range(2):
        found = pipeline.run({"it": case.inputs})
        assert log.exists()
        pipeline.close()
        assert not log.exists()
        assert asyncio.run(asked()) == found
        assert not log.exists()
