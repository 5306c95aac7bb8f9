"""load_pipeline fills in store and model, and refuses what does not fit together."""

import gc
import re
import shutil
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from haystack import Pipeline
from safetensors.torch import load_file, save_file

from components.models.errors import ModelError, VectorError
from components.retrievers.structure import StructureExpander
from components.stores.journal import StoreModel
from components.stores.sqlite import StatuteDocumentStore
from pipelines.ask import main as ask_main
from pipelines.asking import ask
from pipelines.calibrate import main as calibrate_main
from pipelines.command_line import WRONG_USE
from pipelines.evaluate import main as evaluate_main
from pipelines.files import FOLDER, LoadingError
from pipelines.home import store_to_ask
from pipelines.indexing import index_corpus
from pipelines.loading import load_pipeline
from pipelines.serve import main as serve_main
from ui.__main__ import main as page_main


@pytest.fixture
def mine(tmp_path) -> Any:
    """Writes `text` as a pipeline file and loads it."""

    def load(text: str, **arguments: Any) -> Pipeline:
        path = tmp_path / "mine.yaml"
        path.write_text(text)
        return load_pipeline(path, **arguments)

    return load


@pytest.mark.parametrize("name", ["lexical", "dense", "hybrid"])
def test_the_stores_path_and_model_are_filled_in(name, law_store, minilm):
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


def test_the_example_runs_as_it_stands(law_store, tmp_path, monkeypatch):
    shutil.copy(law_store, tmp_path / "adgm.db")
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", str(load_pipeline.__doc__), re.DOTALL)
    names: dict[str, Any] = {}
    exec(textwrap.dedent(example), names)
    assert len(names["documents"]) == 10


@pytest.mark.parametrize("name", ["hybrid", "answer_hybrid"])
def test_a_loaded_pipeline_can_be_written_and_read_again(name, law_store, mine):
    written = load_pipeline(name, store=law_store)
    again = mine(written.dumps())
    assert dict(again.walk()).keys() == dict(written.walk()).keys()
    for side in ("inputs", "outputs"):
        assert again.metadata[side] == written.metadata[side]
    question = "Who decides on custody?"
    found = (ask(each, question) for each in (written, again))
    one, other = ({**each, "took_ms": 0, "pipeline": ""} for each in found)
    assert one == other


def test_overrides_win_over_the_file(law_store):
    pipeline = load_pipeline("lexical", store=law_store, overrides={"bm25.k1": 0.9, "fuser.k": 3})
    assert pipeline.get_component("bm25").k1 == 0.9
    assert pipeline.get_component("fuser").k == 3


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ({"bm52.k1": 1.0}, r"override 'bm52.k1' .*did you mean 'bm25.k1'"),
        ({"bm25": 1}, "Write it as 'component.parameter'"),
        ({"bm25.k2": 1.0}, "bm25.k2: .* no such parameter"),
        ({"bm25.k1": "high"}, "bm25.k1: 'high' is not a number"),
        ({"bm25.k1": -1.0}, "bm25.*k1 must be 0 or more"),
        ({"fuser.stages": ["bm25"]}, "citation"),
    ],
)
def test_a_wrong_override_is_refused(law_store, override, message):
    with pytest.raises(LoadingError, match=message) as refusal:
        load_pipeline("lexical", store=law_store, overrides=override)
    assert len(str(refusal.value)) < 500


def test_a_missing_store_says_how_to_make_one(tmp_path):
    with pytest.raises(LoadingError, match=r"no store .*law.db.*pipelines.index --corpus"):
        load_pipeline("lexical", store=tmp_path / "law.db")
    assert not (tmp_path / "law.db").exists()


def test_a_store_without_vectors_says_how_to_index_with_a_model(text_store):
    load_pipeline("lexical", store=text_store)
    for name in ("dense", "hybrid"):
        with pytest.raises(LoadingError, match=r"dense: .*text alone.*--model DIR.*'lexical'"):
            load_pipeline(name, store=text_store)


@pytest.fixture
def moved_model(law_store, tmp_path) -> StatuteDocumentStore:
    """A store whose model folder is on record at a place where it no longer is."""
    shutil.copy(law_store, tmp_path / "law.db")
    store = StatuteDocumentStore(str(tmp_path / "law.db"))
    assert store.model is not None
    gone = str(tmp_path / "models" / "mine")
    store.publisher.record_model(StoreModel(gone, store.model.digest, 384, store.model.text_rule))
    store.close()
    return store


def test_a_model_that_is_gone_is_named(moved_model):
    with pytest.raises(LoadingError, match=r"models/mine, which is no longer there.*--model DIR"):
        load_pipeline("dense", store=moved_model.path)


def test_a_model_that_moved_can_be_named(moved_model, minilm):
    pipeline = load_pipeline("dense", store=moved_model.path, model=minilm)
    assert ask(pipeline, "Who decides on rent?", top_k=3)["documents"]


def test_the_bundled_model_moves_with_its_environment(law_store, tmp_path, minilm):
    shutil.copy(law_store, tmp_path / "law.db")
    store = StatuteDocumentStore(str(tmp_path / "law.db"))
    assert store.model is not None
    old = "/old/venv/site-packages/" + "/".join(Path(minilm).parts[-2:])
    store.publisher.record_model(StoreModel(old, store.model.digest, 384, store.model.text_rule))
    store.close()
    assert load_pipeline("dense", store=store.path).get_component("embedder").model == minilm


def test_another_model_than_the_stores_is_refused(law_store, tiny_model):
    with pytest.raises(LoadingError, match=r"embedder.model .* is not the model that .*law.db"):
        load_pipeline("dense", store=law_store, model=tiny_model)


def test_an_index_pipeline_fills_a_store_that_can_be_asked(corpus, tmp_path, minilm):
    path = tmp_path / "made.db"
    pipeline = load_pipeline("index", store=path, model=minilm)
    assert pipeline.run({"converter": {"sources": [corpus]}})["writer"]["documents_written"] == 30
    found = ask(load_pipeline("hybrid", store=path), "Who decides on custody?", top_k=5)
    assert any("custody" in each["content"] for each in found["documents"])


def test_an_index_pipeline_never_falls_back_to_the_demo_store(minilm):
    with pytest.raises(LoadingError, match=r"store=FILE"):
        load_pipeline("index", model=minilm)


@pytest.fixture
def graph_store(corpus, tmp_path, tiny_graphs) -> Path:
    """Thirty articles whose vectors went through a graph."""
    path = tmp_path / "graph.db"
    index_corpus(corpus, path, model=str(tiny_graphs["tree"]), graph=True)
    return path


@pytest.mark.parametrize("name", ["dense", "hybrid"])
def test_a_graphs_store_is_asked_as_any_other(graph_store, tiny_graphs, name):
    pipeline = load_pipeline(name, store=graph_store)
    assert pipeline.get_component("embedder").model == str(tiny_graphs["tree"])
    assert len(ask(pipeline, "Who decides on rent?", top_k=5)["documents"]) == 5
    # Whatever network lies over it, the bi-encoder that reads the question is the same.
    load_pipeline(name, store=graph_store, model=tiny_graphs["other"])


@pytest.mark.parametrize("model", ["tree", "citing"])
def test_an_index_pipeline_through_a_graph_writes_what_the_command_does(
    corpus, tmp_path, tiny_graphs, model
):
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


def test_an_amended_article_keeps_its_neighbours(tmp_path, tiny_model, articles, write_corpus):
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


def test_an_index_pipeline_through_a_graph_needs_one(tmp_path, tiny_model):
    with pytest.raises(ModelError, match="has no graph network"):
        load_pipeline("index_graph", store=tmp_path / "made.db", model=tiny_model)
    with pytest.raises(LoadingError, match=r"embedder.model is null"):
        load_pipeline("index_graph", store=tmp_path / "made.db")


QUESTION = "Who decides on rent and wages?"


@pytest.fixture
def change(tiny_model) -> Callable[[Path], None]:
    """Makes a model folder, or the one there, into one of the same form with other weights."""

    def to(folder: Path) -> None:
        if not folder.exists():
            shutil.copytree(tiny_model, folder)
        file = folder / "model.safetensors"
        weights = {name: weight.flip(0).contiguous() for name, weight in load_file(file).items()}
        save_file(weights, file, metadata={"format": "pt"})

    return to


def put_in_place(new: Path, old: Path) -> None:
    for log in (f"{old}-wal", f"{old}-shm"):
        Path(log).unlink(missing_ok=True)
    new.replace(old)


@pytest.fixture
def swapped(corpus, tmp_path, tiny_model, change) -> Callable[[], Path]:
    """A store of the tiny model; when called, one of another model is put in its place."""
    law, new, other = tmp_path / "law.db", tmp_path / "new.db", tmp_path / "other"
    change(other)
    index_corpus(corpus, law, model=str(tiny_model))

    def swap() -> Path:
        if not new.exists():
            index_corpus(corpus, new, model=str(other))
            put_in_place(new, law)
        return law

    return swap


@pytest.mark.parametrize("asked_before", [True, False])
def test_vectors_of_another_model_are_refused_when_a_store_is_replaced(
    swapped, tmp_path, asked_before
):
    pipeline = load_pipeline("dense", store=tmp_path / "law.db")
    if asked_before:
        assert ask(pipeline, QUESTION)["documents"]
    law = swapped()
    for _ in range(2):
        with pytest.raises(VectorError, match="another file was put in its place"):
            ask(pipeline, QUESTION)
    assert ask(load_pipeline("dense", store=law), QUESTION)["documents"]


def test_a_model_that_changed_before_it_was_loaded_is_refused(corpus, tmp_path, change):
    change(tmp_path / "model")
    index_corpus(corpus, tmp_path / "law.db", model=str(tmp_path / "model"))
    gc.collect()
    pipeline = load_pipeline("dense", store=tmp_path / "law.db")
    change(tmp_path / "model")
    with pytest.raises(ModelError, match="changed since the law was indexed"):
        ask(pipeline, QUESTION)


COMMANDS: dict[str, tuple[Callable[[list[str]], int], list[str]]] = {
    "ask": (ask_main, ["rent"]),
    "serve": (serve_main, ["--port", "0"]),
    "page": (page_main, ["--port", "0"]),
    "evaluate": (evaluate_main, ["--questions", "aldermere"]),
    "calibrate": (calibrate_main, ["--questions", "aldermere"]),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_model_for_a_pipeline_without_one_is_refused_over_any_store(
    name, text_store, law_store, capsys
):
    main, arguments = COMMANDS[name]
    for store in (text_store, law_store):
        given = ["--store", str(store), "--pipeline", "lexical", "--model", "no-such/model"]
        assert main([*arguments, *given]) == WRONG_USE
        told = capsys.readouterr().err
        assert "--model no-such/model: no model is read by the pipeline 'lexical'" in told
        assert "Leave --model out, or ask a pipeline that reads one" in told


@pytest.fixture
def own_store(tmp_path) -> Path:
    text = (FOLDER / "lexical.yaml").read_text(encoding="utf-8")
    path = tmp_path / "mine.yml"
    path.write_text(text.replace("path: null", f"path: {tmp_path / 'mine.db'}"), encoding="utf-8")
    return path


def test_a_files_own_store_is_asked_whatever_its_suffix(own_store):
    assert store_to_ask(None, str(own_store), print) == own_store.parent / "mine.db"


@pytest.mark.parametrize("name", ["index", "index_graph"])
@pytest.mark.parametrize("model", [[], ["--model", "some/model"]])
def test_a_pipeline_that_fills_a_store_cannot_be_asked(name, model, capsys):
    assert ask_main(["dog", "--pipeline", name, "--store", "law.db", *model]) == WRONG_USE
    told = capsys.readouterr().err
    assert f"'{name}' fills a store" in told
    assert "answer, answer_hybrid, dense, hybrid" in told
