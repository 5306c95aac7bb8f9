"""load_pipeline fills in store and model, and refuses what does not fit together."""

import pickle
import re
import shutil
import textwrap
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from haystack import Document, Pipeline
from haystack.core.errors import PipelineRuntimeError

from components.models.errors import ModelError
from components.retrievers.bm25 import StatuteBM25Retriever
from components.retrievers.citation import CitationRetriever
from components.retrievers.structure import StructureExpander
from components.stores.failures import StoreError
from components.stores.model_record import StoreModel
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import ask
from pipelines.files import LoadingError
from pipelines.indexing import index_corpus
from pipelines.loading import load_pipeline


@pytest.fixture
def mine(tmp_path: Path) -> Any:
    """Writes `text` as a pipeline file and loads it."""

    def load(text: str, **arguments: Any) -> Pipeline:
        path = tmp_path / "mine.yaml"
        path.write_text(text)
        return load_pipeline(path, **arguments)

    return load


@pytest.mark.parametrize("name", ["lexical", "dense", "hybrid"])
def test_the_stores_path_and_model_are_filled_in(name: str, law_store: Path, minilm: str) -> None:
    pipeline = load_pipeline(name, store=law_store)
    for _, component in pipeline.walk():
        if hasattr(component, "document_store"):
            assert component.document_store.path == str(law_store)
        if hasattr(component, "model"):
            assert component.model == minilm
    assert pipeline.metadata["name"] == name
    assert pipeline.metadata["outputs"] == {
        "documents": ["fuser.documents"],
        "missing": ["citation.missing"],
        "left_out": ["citation.left_out"],
        "not_followed": ["citation.not_followed"],
    }


def test_the_example_runs_as_it_stands(
    law_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(law_store, tmp_path / "adgm.db")
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", str(load_pipeline.__doc__), re.DOTALL)
    names: dict[str, Any] = {}
    exec(textwrap.dedent(example), names)
    assert len(names["documents"]) == 10


@pytest.mark.parametrize("name", ["hybrid", "answer_hybrid"])
def test_a_loaded_pipeline_can_be_written_and_read_again(
    name: str, law_store: Path, mine: Any
) -> None:
    written = load_pipeline(name, store=law_store)
    again = mine(written.dumps())
    assert dict(again.walk()).keys() == dict(written.walk()).keys()
    for side in ("inputs", "outputs"):
        assert again.metadata[side] == written.metadata[side]
    question = "Who decides on custody?"
    found = (ask(each, question) for each in (written, again))
    one, other = ({**each, "took_ms": 0, "pipeline": ""} for each in found)
    assert one == other


@pytest.mark.parametrize("copied", [deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_a_pipeline_that_has_answered_can_be_copied(law_store: Path, copied: Any) -> None:
    pipeline = load_pipeline("answer_hybrid", store=law_store)
    question = "Who decides on custody?"
    first = ask(pipeline, question)
    again = ask(copied(pipeline), question)
    assert again["documents"] == first["documents"]


def test_a_name_that_is_given_is_kept(law_store: Path, mine: Any) -> None:
    text = load_pipeline("lexical", store=law_store).dumps()
    assert mine(text).metadata["name"] == "lexical"
    assert mine(text.replace("name: lexical", "name: my search")).metadata["name"] == "my search"
    assert mine(text.replace("  name: lexical\n", "")).metadata["name"] == "mine"


def test_what_components_share_is_written_with_anchors_and_a_refusal_says_the_way_out(
    law_store: Path, mine: Any
) -> None:
    store = StatuteDocumentStore(str(law_store))
    filters = {"field": "meta.law", "operator": "==", "value": "Family Code"}

    def written(of_each: Callable[[dict[str, str]], dict[str, str]]) -> str:
        pipeline = Pipeline()
        for retriever in (StatuteBM25Retriever, CitationRetriever):
            pipeline.add_component(retriever.__name__, retriever(store, filters=of_each(filters)))
        return pipeline.dumps()

    with pytest.raises(LoadingError, match=r"filters: anchor '&id001'\..* copy\.deepcopy"):
        mine(written(lambda shared: shared))
    mine(written(deepcopy))


def test_sockets_in_the_metadata_are_checked_too(law_store: Path, mine: Any) -> None:
    text = load_pipeline("hybrid", store=law_store).dumps().replace("citation.query", "citatoin.q")
    with pytest.raises(LoadingError, match=r"inputs.query: .*did you mean 'citation'"):
        mine(text)


def test_overrides_win_over_the_file(law_store: Path) -> None:
    pipeline = load_pipeline("lexical", store=law_store, overrides={"bm25.k1": 0.9, "fuser.k": 3})
    assert pipeline.get_component("bm25").k1 == 0.9
    assert pipeline.get_component("fuser").k == 3


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ({"bm52.k1": 1.0}, r"override 'bm52.k1' .*did you mean 'bm25.k1'"),
        ({"bm25": 1}, "Write it as 'component.parameter'"),
        ({"bm25.k2": 1.0}, "bm25.k2: .* no such parameter"),
        ({"bm25.k1": "high"}, "bm25.k1: 'high' is no number"),
        ({"bm25.k1": -1.0}, "bm25.*k1 must be 0 or more"),
        ({"fuser.stages": ["bm25"]}, "citation"),
    ],
)
def test_a_wrong_override_is_refused(
    law_store: Path, override: dict[str, Any], message: str
) -> None:
    with pytest.raises(LoadingError, match=message) as refusal:
        load_pipeline("lexical", store=law_store, overrides=override)
    assert len(str(refusal.value)) < 500


def test_a_missing_store_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(LoadingError, match=r"no store .*law.db.*pipelines.index --corpus"):
        load_pipeline("lexical", store=tmp_path / "law.db")
    assert not (tmp_path / "law.db").exists()


def test_a_pipeline_over_an_empty_store_waits_for_its_articles(tmp_path: Path) -> None:
    store = StatuteDocumentStore(tmp_path / "law.db")
    assert store.count_documents() == 0
    pipeline = load_pipeline("lexical", store.path)
    pipeline.warm_up()
    with pytest.raises(StoreError, match="holds no article yet"):
        ask(pipeline, "Is the rent due?")
    store.write_documents([Document(id="a1", content="The rent is due.", meta={"law": "Rents"})])
    assert [each["id"] for each in ask(pipeline, "Is the rent due?")["documents"]] == ["a1"]
    assert ask(pipeline, "zzzz")["documents"] == []
    store.close()


def test_the_demo_store_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEXARBOR_HOME", str(tmp_path))
    with pytest.raises(LoadingError, match=r"demo store is not built.*demo.db.*python -m ui"):
        load_pipeline("hybrid")


def test_a_store_without_vectors_says_how_to_index_with_a_model(text_store: Path) -> None:
    load_pipeline("lexical", store=text_store)
    for name in ("dense", "hybrid"):
        with pytest.raises(LoadingError, match=r"dense: .*text alone.*--model DIR.*'lexical'"):
            load_pipeline(name, store=text_store)


@pytest.fixture
def moved_model(law_store: Path, tmp_path: Path) -> StatuteDocumentStore:
    """A store whose model folder is on record at a place where it no longer is."""
    shutil.copy(law_store, tmp_path / "law.db")
    store = StatuteDocumentStore(str(tmp_path / "law.db"))
    assert store.model is not None
    gone = str(tmp_path / "models" / "mine")
    store.publisher.record_model(StoreModel(gone, store.model.digest, 384, store.model.text_rule))
    store.close()
    return store


def test_a_model_that_is_gone_is_named(moved_model: StatuteDocumentStore) -> None:
    with pytest.raises(LoadingError, match=r"models/mine, which is no longer there.*--model DIR"):
        load_pipeline("dense", store=moved_model.path)


def test_a_model_that_moved_can_be_named(moved_model: StatuteDocumentStore, minilm: str) -> None:
    pipeline = load_pipeline("dense", store=moved_model.path, model=minilm)
    assert ask(pipeline, "Who decides on rent?", top_k=3)["documents"]


def test_the_bundled_model_moves_with_its_environment(
    law_store: Path, tmp_path: Path, minilm: str
) -> None:
    shutil.copy(law_store, tmp_path / "law.db")
    store = StatuteDocumentStore(str(tmp_path / "law.db"))
    assert store.model is not None
    old = "/old/venv/site-packages/" + "/".join(Path(minilm).parts[-2:])
    store.publisher.record_model(StoreModel(old, store.model.digest, 384, store.model.text_rule))
    store.close()
    assert load_pipeline("dense", store=store.path).get_component("embedder").model == minilm


def test_another_model_than_the_stores_is_refused(law_store: Path, tiny_model: Path) -> None:
    with pytest.raises(LoadingError, match=r"embedder.model .* is not the model that .*law.db"):
        load_pipeline("dense", store=law_store, model=tiny_model)


def test_a_model_that_cannot_be_had_says_what_to_do(law_store: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"absent"):
        load_pipeline("dense", store=law_store, model=tmp_path / "absent")


def test_an_input_without_a_socket_is_named(law_store: Path, mine: Any) -> None:
    text = load_pipeline("lexical", store=law_store).dumps()
    with pytest.raises(LoadingError, match=r"inputs.query: bm25 has no open socket 'querry'"):
        mine(text + "\ninputs:\n  query: bm25.querry\n")


def test_wrongly_joined_sockets_are_refused(law_store: Path, mine: Any) -> None:
    text = load_pipeline("hybrid", store=law_store).dumps()
    with pytest.raises(LoadingError, match=r"mine.yaml"):
        mine(text.replace("sender: embedder.embedding", "sender: embedder.vector"))


def test_an_index_pipeline_fills_a_store_that_can_be_asked(
    corpus: Path, tmp_path: Path, minilm: str
) -> None:
    path = tmp_path / "made.db"
    pipeline = load_pipeline("index", store=path, model=minilm)
    assert pipeline.run({"converter": {"sources": [corpus]}})["writer"]["documents_written"] == 30
    found = ask(load_pipeline("hybrid", store=path), "Who decides on custody?", top_k=5)
    assert any("custody" in each["content"] for each in found["documents"])


@pytest.mark.parametrize("name", ["index", "index_graph"])
def test_a_model_by_a_relative_path_is_found_from_every_folder(
    name: str,
    corpus: Path,
    tmp_path: Path,
    tiny_graphs: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tiny_graphs["tree"].parent)
    pipeline = load_pipeline(name, store=tmp_path / "law.db", model=tiny_graphs["tree"].name)
    pipeline.run({"converter": {"sources": [corpus]}})
    monkeypatch.chdir(tmp_path)
    asking = load_pipeline("dense", store="law.db")
    assert asking.get_component("embedder").model == str(tiny_graphs["tree"].resolve())
    assert ask(asking, "Who decides on rent?")["documents"]


def test_an_index_pipeline_never_falls_back_to_the_demo_store(minilm: str) -> None:
    with pytest.raises(LoadingError, match=r"store=FILE"):
        load_pipeline("index", model=minilm)


def test_an_index_pipeline_needs_a_model(tmp_path: Path) -> None:
    with pytest.raises(LoadingError, match=r"embedder.model is null"):
        load_pipeline("index", store=tmp_path / "made.db")


@pytest.fixture
def graph_store(corpus: Path, tmp_path: Path, tiny_graphs: dict[str, Path]) -> Path:
    """Thirty articles whose vectors went through a graph."""
    path = tmp_path / "graph.db"
    index_corpus(corpus, path, model=str(tiny_graphs["tree"]), graph=True)
    return path


@pytest.mark.parametrize("name", ["dense", "hybrid"])
def test_a_graphs_store_is_asked_as_any_other(
    graph_store: Path, tiny_graphs: dict[str, Path], name: str
) -> None:
    pipeline = load_pipeline(name, store=graph_store)
    assert pipeline.get_component("embedder").model == str(tiny_graphs["tree"])
    assert len(ask(pipeline, "Who decides on rent?", top_k=5)["documents"]) == 5
    # Whatever network lies over it, the bi-encoder that reads the question is the same.
    load_pipeline(name, store=graph_store, model=tiny_graphs["other"])


def test_a_graphs_store_refuses_another_bi_encoder(graph_store: Path, minilm: str) -> None:
    with pytest.raises(LoadingError, match=r"embedder.model .* is not the model that .*graph.db"):
        load_pipeline("dense", store=graph_store, model=minilm)


def test_plain_vectors_are_not_written_into_a_graphs_store(
    graph_store: Path, tiny_graphs: dict[str, Path]
) -> None:
    with pytest.raises(StoreError, match=r"through its graph network.*name a new store"):
        load_pipeline("index", store=graph_store, model=tiny_graphs["tree"])


@pytest.mark.parametrize("model", ["tree", "citing"])
def test_an_index_pipeline_through_a_graph_writes_what_the_command_does(
    corpus: Path, tmp_path: Path, tiny_graphs: dict[str, Path], model: str
) -> None:
    paths = tmp_path / "command.db", tmp_path / "pipeline.db"
    index_corpus(corpus, paths[0], model=str(tiny_graphs[model]), graph=True)
    pipeline = load_pipeline("index_graph", store=paths[1], model=tiny_graphs[model])
    assert pipeline.run({"converter": {"sources": [corpus]}})["writer"]["documents_written"] == 30
    stores = [StatuteDocumentStore(str(path)) for path in paths]
    assert stores[0].model == stores[1].model
    matrices = [store.vectors()[1] for store in stores]
    # The command may encode in bfloat16, and other texts together.
    assert (matrices[0] * matrices[1]).sum(axis=1).min() > 0.999
    ask(load_pipeline("dense", store=paths[1]), "Who decides on rent?", top_k=5)


def test_an_amended_article_keeps_its_neighbours(
    tmp_path: Path,
    tiny_model: Path,
    articles: list[dict[str, Any]],
    write_corpus: Callable[..., Path],
) -> None:
    store = tmp_path / "law.db"
    pipeline = load_pipeline("index", store=store, model=tiny_model)

    def index(*given: dict[str, Any]) -> None:
        source = write_corpus(tmp_path / "part.jsonl", given)
        pipeline.run({"converter": {"sources": [source]}})

    def around(id_: str) -> list[str]:
        opened = StatuteDocumentStore(store)
        found = opened.filter_documents({"field": "id", "operator": "==", "value": id_})
        (found,) = StructureExpander(opened, cited=0).run(found)["documents"]
        return [each["id"] for each in found.meta["neighbours"]]

    index(*articles)
    expected = {each["id"]: around(each["id"]) for each in articles}
    index({**articles[14], "text": "Rule 15 was amended."})
    assert {each["id"]: around(each["id"]) for each in articles} == expected
    documents = StatuteDocumentStore(store).filter_documents()
    assert [each.id for each in documents] == [each["id"] for each in articles]
    assert {each.meta["law_articles"] for each in documents} == {10}
    assert documents[14].content == "Rule 15 was amended."


def test_a_part_of_a_law_does_not_go_through_a_graph(
    corpus: Path,
    tmp_path: Path,
    tiny_graphs: dict[str, Path],
    articles: list[dict[str, Any]],
    write_corpus: Callable[..., Path],
) -> None:
    store = tmp_path / "law.db"
    pipeline = load_pipeline("index_graph", store=store, model=tiny_graphs["tree"])
    pipeline.run({"converter": {"sources": [corpus]}})
    before = StatuteDocumentStore(store).filter_documents()
    part = write_corpus(tmp_path / "part.jsonl", articles[:1])
    with pytest.raises(PipelineRuntimeError, match="the store has 9 more articles of it"):
        pipeline.run({"converter": {"sources": [part]}})
    assert StatuteDocumentStore(store).filter_documents() == before
    law = [each for each in articles if each["law"] == articles[0]["law"]]
    pipeline.run({"converter": {"sources": [write_corpus(tmp_path / "law.jsonl", law)]}})
    assert [each.id for each in StatuteDocumentStore(store).filter_documents()] == [
        each["id"] for each in articles
    ]


def test_an_index_pipeline_through_a_graph_needs_one(tmp_path: Path, tiny_model: Path) -> None:
    with pytest.raises(ModelError, match="has no graph network"):
        load_pipeline("index_graph", store=tmp_path / "made.db", model=tiny_model)
    with pytest.raises(LoadingError, match=r"embedder.model is null"):
        load_pipeline("index_graph", store=tmp_path / "made.db")


def test_a_graphs_vectors_are_not_written_into_a_plain_store(
    corpus: Path, tmp_path: Path, tiny_graphs: dict[str, Path]
) -> None:
    index_corpus(corpus, tmp_path / "plain.db", model=str(tiny_graphs["tree"]))
    with pytest.raises(StoreError, match=r"is another \(through its graph network"):
        load_pipeline("index_graph", store=tmp_path / "plain.db", model=tiny_graphs["tree"])
