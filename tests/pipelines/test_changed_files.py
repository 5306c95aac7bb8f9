"""A pipeline that is open while its store's file or its model's folder is changed."""

import gc
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from haystack import Document, Pipeline
from safetensors.torch import load_file, save_file

from components.models.errors import ModelError, VectorError
from components.retrievers.embedding import StatuteEmbeddingRetriever
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import ask
from pipelines.indexing import index_corpus
from pipelines.loading import load_pipeline

QUESTION = "Who decides on rent and wages?"


@pytest.fixture
def change(tiny_model: Path) -> Callable[[Path], None]:
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
def swapped(
    corpus: Path, tmp_path: Path, tiny_model: Path, change: Callable[[Path], None]
) -> Callable[[], Path]:
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
    swapped: Callable[[], Path], tmp_path: Path, asked_before: bool
) -> None:
    pipeline = load_pipeline("dense", store=tmp_path / "law.db")
    if asked_before:
        assert ask(pipeline, QUESTION)["documents"]
    law = swapped()
    for _ in range(2):
        with pytest.raises(VectorError, match="another file was put in its place"):
            ask(pipeline, QUESTION)
    assert ask(load_pipeline("dense", store=law), QUESTION)["documents"]


def test_a_retriever_by_itself_notices_too(swapped: Callable[[], Path], tmp_path: Path) -> None:
    store = StatuteDocumentStore(str(tmp_path / "law.db"))
    retriever = StatuteEmbeddingRetriever(store)
    assert retriever.run([1.0] * 16)["documents"]
    swapped()
    with pytest.raises(VectorError, match="another model"):
        retriever.run([1.0] * 16)
    with pytest.raises(VectorError, match="another model"):
        retriever.warm_up()


def test_a_store_of_the_same_model_is_taken_over(
    corpus: Path, tmp_path: Path, tiny_model: Path
) -> None:
    law, new = tmp_path / "law.db", tmp_path / "new.db"
    index_corpus(corpus, law, model=str(tiny_model))
    pipeline: Pipeline = load_pipeline("dense", store=law)
    found = ask(pipeline, QUESTION)["documents"]
    index_corpus(corpus, new, model=str(tiny_model))
    put_in_place(new, law)
    assert ask(pipeline, QUESTION)["documents"] == found


def test_a_model_that_changed_before_it_was_loaded_is_refused(
    corpus: Path, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    change(tmp_path / "model")
    index_corpus(corpus, tmp_path / "law.db", model=str(tmp_path / "model"))
    gc.collect()
    pipeline = load_pipeline("dense", store=tmp_path / "law.db")
    change(tmp_path / "model")
    with pytest.raises(ModelError, match="its folder was changed since"):
        ask(pipeline, QUESTION)


def test_what_is_written_and_read_goes_to_the_file_that_is_there(tmp_path: Path) -> None:
    def filled(name: str) -> StatuteDocumentStore:
        store = StatuteDocumentStore(str(tmp_path / f"{name}.db"))
        store.write_documents([Document(id=name, content=name)])
        return store

    store = filled("old")
    filled("new").close()
    put_in_place(tmp_path / "new.db", tmp_path / "old.db")
    assert [each.id for each in store.filter_documents()] == ["new"]

    filled("newer").close()
    put_in_place(tmp_path / "newer.db", tmp_path / "old.db")
    store.write_documents([Document(id="added", content="added")])
    store.close()
    again = StatuteDocumentStore(str(tmp_path / "old.db"))
    assert {each.id for each in again.filter_documents()} == {"newer", "added"}

    filled("newest").close()
    put_in_place(tmp_path / "newest.db", tmp_path / "old.db")
    assert again.count_documents() == 1
