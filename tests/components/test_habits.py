"""The habits that every component keeps (design.md, section 4), each test over all of them."""

from __future__ import annotations

import asyncio
import gc
import inspect
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import pytest
import torch
import yaml
from haystack import Document, Pipeline
from haystack.components.embedders.types import DocumentEmbedder, TextEmbedder
from haystack.components.generators.chat import MockChatGenerator
from haystack.components.retrievers import MultiRetriever, TextEmbeddingRetriever
from haystack.components.retrievers.types import EmbeddingRetriever, TextRetriever
from haystack.dataclasses import ByteStream, ChatMessage, SparseEmbedding
from haystack.utils import ComponentDevice
from haystack_integrations.document_stores.qdrant import QdrantDocumentStore

from components.builders.cited_answer import CitedAnswerBuilder
from components.builders.prompt import StatutePromptBuilder
from components.builders.quote_verifier import QuoteVerifier
from components.converters.statutes import StatuteConverter
from components.embedders.document import StatuteDocumentEmbedder
from components.embedders.graph import LegislativeGraphEmbedder
from components.embedders.sparse_document import StatuteSparseDocumentEmbedder
from components.embedders.sparse_text import StatuteSparseTextEmbedder
from components.embedders.text import StatuteTextEmbedder
from components.evaluators.retrieval import RetrievalEvaluator
from components.generators.tolerant import TolerantChatGenerator
from components.joiners.rank_fusion import StatuteRankFuser
from components.models import registry
from components.models.graph import LegislativeGraphEncoder
from components.models.ranker_folder import Calibration, RankerSettings
from components.rankers.cross_encoder import StatuteRanker
from components.rankers.gate import AnswerabilityGate
from components.retrievers import bm25, citation, embedding, structure
from components.retrievers.bm25 import StatuteBM25Retriever
from components.retrievers.citation import CitationRetriever
from components.retrievers.embedding import StatuteEmbeddingRetriever
from components.retrievers.engine_citation import EngineCitationRetriever
from components.retrievers.engine_dense import EngineEmbeddingRetriever
from components.retrievers.engine_lexical import EngineLexicalRetriever
from components.retrievers.structure import StructureExpander
from components.statutes.term_weights import question_numbers
from components.stores.engines.engine import LAW, engine_of
from components.stores.engines.rows import as_row
from components.stores.sqlite import StatuteDocumentStore

REPOSITORY = Path(__file__).resolve().parents[2]
CPU = ComponentDevice.from_str("cpu")
FAMILY = {"field": "meta.law", "operator": "==", "value": "Family Code"}
ARTICLE = {"id": "h1", "law": "Housing Code", "number": "1", "headings": [], "text": "A roof."}


@dataclass
class Case:
    """One component: how to make it, how to run it, and what it loads."""

    kind: type[Any]
    # A value of every parameter, none of them its default; STORE and MODEL are filled in.
    parameters: dict[str, Any]
    inputs: dict[str, Any]
    # What warm_up loads: (where, name) of the function that must be called once.
    loads: tuple[Any, str] | None = None
    needed: dict[str, Any] = field(default_factory=dict)
    protocol: type[Any] | None = None


STORE, MODEL, GRAPH_MODEL, RANKER = "<store>", "<model>", "<graph model>", "<ranker>"
ENGINE = "<engine>"
OF_A_RETRIEVER = {"document_store": STORE, "top_k": 7, "filters": FAMILY}
OF_AN_ENGINE = {**OF_A_RETRIEVER, "document_store": ENGINE}
TERMS = question_numbers("Who shares the household, and who mends the roof?", ["en"])
OF_A_MODEL = {"model": MODEL, "device": CPU, "dtype": "float32"}

CASES = [
    Case(
        StatuteConverter,
        {"skip_bad": True},
        {
            "sources": [ByteStream(json.dumps(ARTICLE).encode(), meta={"file_path": "law"})],
            "meta": {"edition": {"year": 2024}},
        },
    ),
    Case(
        StatuteTextEmbedder,
        OF_A_MODEL,
        {"text": "Who mends the roof?"},
        loads=(registry.BiEncoder, "load"),
        needed={"model": MODEL},
        protocol=TextEmbedder,
    ),
    Case(
        StatuteDocumentEmbedder,
        {**OF_A_MODEL, "progress_bar": False},
        {"documents": [Document(id="h1", content="A roof.", meta={"headings": ["Repairs"]})]},
        loads=(registry.BiEncoder, "load"),
        needed={"model": MODEL},
        protocol=DocumentEmbedder,
    ),
    Case(
        LegislativeGraphEmbedder,
        {
            "model": GRAPH_MODEL,
            "device": CPU,
            "dtype": "float32",
            "store": STORE,
            "incomplete_laws": "without_graph",
            "progress_bar": False,
        },
        {
            "documents": [
                Document(id="h9", content="A roof.", meta={"law": "Tax Code", "law_articles": 1}),
                Document(id="h1", content="A roof.", meta={"law": "Housing Code"}),
            ]
        },
        loads=(registry.BiEncoder, "load"),
        needed={"model": GRAPH_MODEL, "incomplete_laws": "without_graph"},
        protocol=DocumentEmbedder,
    ),
    Case(
        StatuteEmbeddingRetriever,
        {**OF_A_RETRIEVER, "device": CPU},
        {"query_embedding": [1.0] + [0.1] * 383, "filters": FAMILY, "top_k": 3},
        loads=(embedding.DenseVectors, "read"),
        needed={"document_store": STORE},
        protocol=EmbeddingRetriever,
    ),
    Case(
        StatuteBM25Retriever,
        {**OF_A_RETRIEVER, "k1": 2.5, "b": 0.2},
        {
            "query": "Who shares the household, and who mends the roof?",
            "filters": FAMILY,
            "top_k": 3,
        },
        loads=(bm25.LexicalIndex, "build"),
        needed={"document_store": STORE},
        protocol=TextRetriever,
    ),
    Case(
        CitationRetriever,
        OF_A_RETRIEVER,
        {"query": "art. 1 Housing Code, art. 2 Family Code", "filters": FAMILY, "top_k": 3},
        loads=(citation, "CitationResolver"),
        needed={"document_store": STORE},
        protocol=TextRetriever,
    ),
    Case(
        StatuteSparseTextEmbedder,
        {"languages": ["en", None]},
        {"text": "Who mends the roof?"},
        protocol=TextEmbedder,
    ),
    Case(
        StatuteSparseDocumentEmbedder,
        {"average_length": 7.5, "weighting": "count"},
        {"documents": [Document(id="h1", content="A roof.", meta={"headings": ["Repairs"]})]},
        protocol=DocumentEmbedder,
    ),
    Case(
        EngineEmbeddingRetriever,
        OF_AN_ENGINE,
        {"query_embedding": [1.0] + [0.1] * 383, "filters": FAMILY, "top_k": 3},
        needed={"document_store": ENGINE},
        protocol=EmbeddingRetriever,
    ),
    Case(
        EngineLexicalRetriever,
        OF_AN_ENGINE,
        {
            "query_sparse_embedding": SparseEmbedding(TERMS, [1.0] * len(TERMS)),
            "filters": FAMILY,
            "top_k": 3,
        },
        needed={"document_store": ENGINE},
    ),
    Case(
        EngineCitationRetriever,
        OF_AN_ENGINE,
        {"query": "art. 1 Housing Code, art. 2 Family Code", "filters": FAMILY, "top_k": 3},
        needed={"document_store": ENGINE},
        protocol=TextRetriever,
    ),
    Case(
        StatuteRankFuser,
        {"stages": ["bm25", "graph"], "weights": {"graph": 2.0}, "k": 60, "top_k": 3},
        {
            "pinned": [Document(id="p", meta={"ranks": {"bm25": 9}}, embedding=[1.0])],
            "bm25": [Document(id="a", embedding=[1.0]), Document(id="p")],
            "top_k": 2,
        },
    ),
    Case(
        StatuteRanker,
        {
            "model": RANKER,
            "device": CPU,
            "dtype": "float32",
            "top_k": 3,
            "candidates": 2,
            "score_threshold": 0.0,
            "meta_fields": ["law"],
            "calibrated": True,
            "fuse_with_first_stage": True,
            "time_budget_ms": 60_000.0,
            "biencoder": MODEL,
        },
        {
            "query": "Who mends the roof?",
            "documents": [
                Document(id="h1", content="The landlord mends it.", embedding=[1.0]),
                # Of two that can be read, it would hang on the clock which are read together.
                Document(id="h2", meta={"ranks": {"bm25": 2}}, embedding=[1.0]),
            ],
            "pinned": [Document(id="p", content="A roof.", embedding=[1.0])],
            "top_k": 2,
        },
        loads=(registry.CrossEncoderRanker, "load"),
        needed={"model": RANKER},
    ),
    Case(
        StructureExpander,
        {"document_store": STORE, "adjacent": 2, "cited": 1},
        {"documents": [Document(id="h1", content="See art. 2.", embedding=[1.0])]},
        loads=(structure, "CitationResolver"),
        needed={"document_store": STORE},
    ),
    Case(
        AnswerabilityGate,
        {"threshold": 0.5, "stage": "reranker"},
        {
            "documents": [Document(id="h1", embedding=[1.0])],
            "scored": [Document(id="h1", score=0.9, meta={"ranks": {"reranker": 1}})],
        },
    ),
    Case(
        StatutePromptBuilder,
        {"max_articles": 2, "max_neighbours": 1, "max_chars": 500},
        {"query": "Who mends the roof?", "documents": [Document(id="h1", content="A roof.")]},
    ),
    Case(
        TolerantChatGenerator,
        {"chat_generator": MockChatGenerator("The landlord [1]."), "time_limit": 5.0},
        {"messages": [ChatMessage.from_user("Who mends the roof?")]},
    ),
    Case(
        QuoteVerifier,
        {},
        {
            "replies": [ChatMessage.from_assistant('"The landlord mends it" [1].')],
            "documents": [Document(id="h1", content="The landlord mends it.")],
        },
    ),
    Case(
        CitedAnswerBuilder,
        {"max_articles": 1},
        {"query": "Who mends the roof?", "documents": [Document(id="h1", content="A roof.")]},
    ),
    Case(
        RetrievalEvaluator,
        {"metrics": ["R@5", "MRR@10"], "depth": 10},
        {"ground_truth_ids": [["a"]], "retrieved_documents": [[Document(id="a")]]},
    ),
]
every_component = pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind.__name__)
loading_components = pytest.mark.parametrize(
    "case", [case for case in CASES if case.loads], ids=lambda case: case.kind.__name__
)
NAMES = {case.kind.__name__: case for case in CASES}
RETRIEVERS = [
    case
    for case in CASES
    if "filters" in case.inputs and (case.loads or case.needed.get("document_store") == ENGINE)
]


@pytest.fixture(scope="module")
def store_path(tmp_path_factory: pytest.TempPathFactory, minilm: str) -> Iterator[str]:
    """Two small laws with vectors; the models stay loaded meanwhile."""
    documents = [
        Document(
            id=f"{law[0].lower()}{number}",
            content=text,
            meta={"law": law, "number": str(number), "headings": [], "position": position},
        )
        for position, (law, number, text) in enumerate(
            [
                ("Housing Code", 1, "The landlord mends the roof."),
                ("Housing Code", 2, "The tenant pays the rent."),
                ("Family Code", 1, "Spouses share the household."),
                ("Family Code", 2, "Parents keep their children."),
            ]
        )
    ]
    embedder = StatuteDocumentEmbedder(minilm, CPU, "float32", progress_bar=False)
    by_default = StatuteTextEmbedder(minilm)
    by_default.warm_up()
    path = tmp_path_factory.mktemp("habits") / "law.db"
    StatuteDocumentStore(str(path)).write_documents(embedder.run(documents)["documents"])
    yield str(path)
    del embedder, by_default


@pytest.fixture(scope="module")
def engine_path(tmp_path_factory: pytest.TempPathFactory, store_path: str) -> str:
    """The same laws in Qdrant, in a folder."""
    path = str(tmp_path_factory.mktemp("engine") / "qdrant")
    engine = engine_of(QdrantDocumentStore(path=path))
    engine.create(384)
    documents = [
        replace(each, meta=as_row(each, "digest"))
        for each in StatuteDocumentStore(store_path).filter_documents()
    ]
    engine.write(StatuteSparseDocumentEmbedder().run(documents)["documents"])
    for law in ("Housing Code", "Family Code"):
        engine.put_state(LAW, law, {"digest": "", "articles": 2})
    return path


@pytest.fixture(scope="module")
def graph_model(tmp_path_factory: pytest.TempPathFactory, minilm: str) -> str:
    """MiniLM with a fresh graph network over it."""
    folder = tmp_path_factory.mktemp("graph") / "model"
    network = LegislativeGraphEncoder(384, layers=1)
    registry.BiEncoder.load(minilm, device="cpu").save(folder, kept={"graph": network.save})
    return str(folder)


@pytest.fixture(scope="module")
def ranker_model(tmp_path_factory: pytest.TempPathFactory, minilm: str, tiny_ranker: Path) -> str:
    """MiniLM with a tiny ranker over it that has everything."""
    folder = tmp_path_factory.mktemp("ranker") / "model"

    def write(part: Path) -> None:
        shutil.copytree(tiny_ranker, part, dirs_exist_ok=True)
        RankerSettings(2, 32, Calibration(0.5, -1.0), fusion_weight=0.5).save(part)

    registry.BiEncoder.load(minilm, device="cpu").save(folder, kept={"ranker": write})
    return str(folder)


@pytest.fixture
def make(
    store_path: str, engine_path: str, minilm: str, graph_model: str, ranker_model: str
) -> Callable[[Case, dict[str, Any]], Any]:
    """A component with these parameters, its store and model filled in."""

    def filled(case: Case, parameters: dict[str, Any]) -> Any:
        store = StatuteDocumentStore(store_path)
        places = {STORE: store, MODEL: minilm, GRAPH_MODEL: graph_model, RANKER: ranker_model}
        places[ENGINE] = QdrantDocumentStore(path=engine_path)
        return case.kind(
            **{
                name: places.get(value, value) if isinstance(value, str) else value
                for name, value in parameters.items()
            }
        )

    return filled


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
    started = time.perf_counter()
    component = case.kind(**parameters)
    assert time.perf_counter() - started < 0.05
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


def slow_loads(case: Case, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The thread of each load from now on, every one of which takes its time."""
    assert case.loads is not None
    where, name = case.loads
    threads: list[int] = []
    load = getattr(where, name)

    def slow(*args: Any, **kwargs: Any) -> Any:
        threads.append(threading.get_ident())
        time.sleep(0.05)
        return load(*args, **kwargs)

    # Nothing that another test has loaded may be found.
    monkeypatch.setattr(registry, "_models", WeakValueDictionary())
    monkeypatch.setattr(registry, "_rankers", WeakValueDictionary())
    gc.collect()
    monkeypatch.setattr(where, name, slow)
    return threads


@loading_components
def test_warm_up_loads_once_from_any_number_of_threads(
    make: Callable[[Case, dict[str, Any]], Any], case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = slow_loads(case, monkeypatch)
    parameters = {**case.parameters, **({"k1": 0.9} if "k1" in case.parameters else {})}
    components = [make(case, parameters) for _ in range(4)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda each: each.warm_up(), components * 4))
        list(threads.map(lambda each: each.run(**case.inputs), components * 2))
    components[0].warm_up()
    assert len(loads) == 1


@loading_components
def test_a_pipeline_in_an_event_loop_loads_once_and_beside_the_loop(
    make: Callable[[Case, dict[str, Any]], Any], case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = slow_loads(case, monkeypatch)
    pipeline = Pipeline()
    parameters = {**case.parameters, **({"k1": 0.8} if "k1" in case.parameters else {})}
    pipeline.add_component("it", make(case, parameters))

    async def asked() -> None:
        await asyncio.gather(*(pipeline.run_async({"it": case.inputs}) for _ in range(2)))

    asyncio.run(asked())
    assert len(loads) == 1
    assert threading.get_ident() not in loads


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if STORE in case.parameters.values()],
    ids=lambda case: case.kind.__name__,
)
def test_a_closed_pipeline_closes_its_store_and_opens_it_again(
    make: Callable[[Case, dict[str, Any]], Any], case: Case, store_path: str, tmp_path: Path
) -> None:
    path = tmp_path / "law.db"
    store = StatuteDocumentStore(str(path))
    store.write_documents(StatuteDocumentStore(store_path).filter_documents())
    store.close()
    name = next(name for name, value in case.parameters.items() if value == STORE)
    pipeline = Pipeline()
    pipeline.add_component("it", make(case, {**case.parameters, name: store}))
    log = Path(f"{path}-wal")  # stands beside the file as long as that is open

    async def asked() -> Any:
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
