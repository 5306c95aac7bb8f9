"""load_pipeline fills in store and model, and refuses what does not fit together."""

import gc
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from haystack import Pipeline
from safetensors.torch import load_file, save_file

from components.models.folder import ModelError, VectorError
from components.retrievers.structure import StructureExpander
from components.stores.publishing import StoreModel
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import ask
from pipelines.checking import FOLDER, LoadingError
from pipelines.command_line import WRONG_USE
from pipelines.home import resolve
from pipelines.indexing import index_corpus
from pipelines.loading import load_pipeline


@pytest.fixture
def mine(tmp_path) -> Any:
    """Writes `text` as a pipeline file and loads it."""

    def load(text: str, **arguments: Any) -> Pipeline:
        path = tmp_path / "mine.yaml"
        path.write_text(text)
        return load_pipeline(path, **arguments)

    return load


@pytest.mark.parametrize(
    ("name", "citing"),
    [("lexical", "citation"), ("dense", "citation"), ("hybrid", "retriever")],
)
def test_the_stores_path_and_model_are_filled_in(name, citing, law_store, minilm):
    pipeline = load_pipeline(name, store=law_store)
    for _, component in pipeline.walk():
        if getattr(component, "document_store", None):
            assert component.document_store.path == str(law_store)
        # In lexical.yaml the passages are ranked by words.
        if hasattr(component, "model") and name != "lexical":
            assert component.model == minilm
    assert pipeline.metadata["name"] == name
    # Dense searches no words, and no guides.
    others: dict[str, list[str]] = {
        each: [] for each in ("corrections", "expansions", "guide", "situations")
    }
    assert pipeline.metadata["outputs"] | others == {
        **others,
        "documents": ["result.documents"],
        "missing": [f"{citing}.missing"],
        "left_out": [f"{citing}.left_out"],
        "not_followed": [f"{citing}.not_followed"],
    }


@pytest.mark.parametrize("name", ["hybrid", "answer_hybrid", "lexical"])
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


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ({"bm52.k1": 1.0}, r"override 'bm52.k1' "),
        ({"bm25": 1}, "Write it as 'component.parameter'"),
        ({"bm25.k2": 1.0}, "bm25.k2: "),
        ({"bm25.k1": "high"}, "bm25.k1: .* number"),
        ({"bm25.k1": -1.0}, "bm25.*k1 must be 0 or more"),
        ({"fuser.stages": ["bm25"]}, "citation"),
    ],
)
def test_a_wrong_override_is_refused(law_store, override, message):
    with pytest.raises(LoadingError, match=message) as refusal:
        load_pipeline("lexical", store=law_store, overrides=override)
    assert len(str(refusal.value)) < 500


def test_a_store_without_vectors_says_how_to_index_with_a_model(text_store):
    load_pipeline("lexical", store=text_store)
    for name, model in (("dense", None), ("hybrid", "models/mine")):
        with pytest.raises(LoadingError, match=r": .*text alone.*--model DIR.*'lexical'"):
            load_pipeline(name, text_store, model)
    by_words = load_pipeline("hybrid", text_store).get_component("retriever")
    by_words.with_rankings = True
    assert set(by_words.run("Who decides on rule 7?")["rankings"]) == {
        "citation",
        "bm25",
        "division",
    }


def moved_to(place: Path | str, law_store: Path, tmp_path: Path) -> Path:
    """A copy of the store whose model folder is on record at another place."""
    shutil.copy(law_store, tmp_path / "law.db")
    store = StatuteDocumentStore(str(tmp_path / "law.db"))
    assert store.model is not None
    moved = StoreModel(str(place), store.model.digest, 384, store.model.text_rule)
    store.publisher.record_model(moved)
    store.close()
    return store.path


def test_a_model_that_is_gone_is_named_and_can_be_replaced(law_store, tmp_path, minilm):
    store = moved_to(tmp_path / "models" / "mine", law_store, tmp_path)
    with pytest.raises(LoadingError, match=r"models/mine, which is no longer there.*--model DIR"):
        load_pipeline("dense", store=store)
    pipeline = load_pipeline("dense", store=store, model=minilm)
    assert ask(pipeline, "Who decides on rent?", top_k=3)["documents"]


@pytest.mark.parametrize("kind", ["bundled", "multilingual"])
def test_an_own_model_moves_with_its_environment(kind, law_store, tmp_path, minilm, monkeypatch):
    old = "/old/home/multilingual-e5-small"
    if kind == "bundled":
        old = "/old/venv/site-packages/" + "/".join(Path(minilm).parts[-2:])
    else:
        monkeypatch.setattr("components.models.folder.multilingual_at_hand", lambda: True)
        monkeypatch.setattr("components.models.folder.multilingual_folder", lambda: Path(minilm))
    store = moved_to(old, law_store, tmp_path)
    assert load_pipeline("dense", store=store).get_component("embedder").model == minilm


def test_another_model_than_the_stores_is_refused(law_store, tiny_model):
    with pytest.raises(LoadingError, match=r"embedder.model .* is not the model that .*law.db"):
        load_pipeline("dense", store=law_store, model=tiny_model)


def test_an_index_pipeline_fills_a_store_that_can_be_asked(corpus, tmp_path, minilm):
    path = tmp_path / "made.db"
    pipeline = load_pipeline("index", store=path, model=minilm)
    assert pipeline.run({"converter": {"sources": [corpus]}})["writer"]["documents_written"] == 30
    found = ask(load_pipeline("hybrid", store=path), "Who decides on custody?", top_k=5)
    assert any("custody" in each["content"] for each in found["documents"])


def test_an_index_pipeline_through_a_graph_writes_what_the_command_does(
    corpus, tmp_path, tiny_graphs
):
    model = tiny_graphs["citing"]
    paths = tmp_path / "command.db", tmp_path / "pipeline.db"
    index_corpus(corpus, paths[0], model=str(model), graph=True)
    pipeline = load_pipeline("index_graph", store=paths[1], model=model)
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


def test_an_index_pipeline_needs_a_store_and_its_model(tmp_path, tiny_model, minilm):
    with pytest.raises(LoadingError, match=r"store=FILE"):
        load_pipeline("index", model=minilm)  # the demo store is not written to
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


@pytest.mark.parametrize("asked_before", [True, False])
def test_vectors_of_another_model_are_refused_when_a_store_is_replaced(
    corpus, tmp_path, tiny_model, change, asked_before
):
    law, new, other = tmp_path / "law.db", tmp_path / "new.db", tmp_path / "other"
    change(other)
    index_corpus(corpus, law, model=str(tiny_model))
    pipeline = load_pipeline("dense", store=law)
    if asked_before:
        assert ask(pipeline, QUESTION)["documents"]
    index_corpus(corpus, new, model=str(other))
    for log in (f"{law}-wal", f"{law}-shm"):
        Path(log).unlink(missing_ok=True)
    new.replace(law)
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


def test_a_files_own_store_is_asked_whatever_its_suffix(tmp_path):
    text = (FOLDER / "lexical.yaml").read_text(encoding="utf-8")
    path = tmp_path / "mine.yml"
    path.write_text(text.replace("path: null", f"path: {tmp_path / 'mine.db'}"), encoding="utf-8")
    assert resolve(str(path), None, None, print).store == str(tmp_path / "mine.db")


@pytest.mark.parametrize(("name", "model"), [("index", []), ("index_graph", ["--model", "m"])])
def test_a_pipeline_that_fills_a_store_cannot_be_asked(name, model, command):
    code, _, told = command("ask", "dog", "--pipeline", name, "--store", "law.db", *model)
    assert code == WRONG_USE
    assert f"'{name}' fills a store" in told
    assert "answer, answer_hybrid, dense, dense_rerank, hybrid" in told
