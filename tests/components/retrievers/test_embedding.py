"""The dense retriever finds exactly what brute force finds, over any store, at any moment."""

from __future__ import annotations

import gc
import logging
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from haystack import Document
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from numpy.typing import NDArray

from components.models.errors import VectorError
from components.retrievers import dense_vectors
from components.retrievers.embedding import StatuteEmbeddingRetriever
from components.retrievers.snapshot import reload
from components.stores.failures import StoreError
from components.stores.model_record import StoreModel
from components.stores.sqlite import StatuteDocumentStore

InMemory = Callable[[list[Document]], InMemoryDocumentStore]
LawOf = Callable[..., list[Document]]
Vectors = Callable[..., NDArray[np.float32]]

EVEN = {"field": "meta.even", "operator": "==", "value": True}


def positions(found: dict[str, list[Document]]) -> list[int]:
    return [document.meta["position"] for document in found["documents"]]


def brute_force(matrix: NDArray[Any], query: NDArray[Any], k: int) -> list[int]:
    """Positions by cosine in float64, ties by position."""
    exact = matrix.astype(np.float64)
    cosines = exact @ query / np.linalg.norm(exact, axis=1)
    return sorted(range(len(matrix)), key=lambda row: (-cosines[row], row))[:k]


def test_finds_what_brute_force_finds(
    store: StatuteDocumentStore, law_of: LawOf, random_vectors: Vectors
) -> None:
    matrix = random_vectors(300)
    store.write_documents(law_of(matrix))
    retriever = StatuteEmbeddingRetriever(store, top_k=25)
    for query in random_vectors(20, seed=1):
        found = retriever.run(query.tolist())
        assert positions(found) == brute_force(matrix, query, 25)
        best = matrix[positions(found)[0]]
        cosine = best @ query / np.linalg.norm(best) / np.linalg.norm(query)
        assert found["documents"][0].score == pytest.approx(cosine, abs=1e-6)


def test_twins_at_the_boundary_stand_in_the_order_of_the_law(
    store: StatuteDocumentStore, law_of: LawOf, random_vectors: Vectors
) -> None:
    matrix = random_vectors(400)
    twins = np.random.default_rng(2).permutation(400)[:200]
    matrix[twins] = matrix[twins[0]]
    store.write_documents(law_of(matrix))
    retriever = StatuteEmbeddingRetriever(store, top_k=100)
    assert positions(retriever.run(matrix[twins[0]].tolist())) == sorted(twins.tolist())[:100]


@pytest.mark.parametrize("filters", [None, EVEN])
def test_haystacks_own_store_gives_the_same(
    store: StatuteDocumentStore,
    in_memory: InMemory,
    law_of: LawOf,
    random_vectors: Vectors,
    filters: dict[str, Any] | None,
) -> None:
    matrix = random_vectors(60)
    matrix[10:30] = matrix[10]
    store.write_documents(law_of(matrix))
    ours = StatuteEmbeddingRetriever(store, top_k=20)
    theirs = StatuteEmbeddingRetriever(in_memory(law_of(matrix)), top_k=20)
    for query in [*random_vectors(5, seed=3), matrix[10]]:
        one = ours.run(query.tolist(), filters)["documents"]
        other = theirs.run(query.tolist(), filters)["documents"]
        assert [(d.id, d.score, d.content, d.meta) for d in one] == [
            (d.id, d.score, d.content, d.meta) for d in other
        ]
        assert all(document.embedding is None for document in [*one, *other])


def test_filters_choose_before_the_cut(
    store: StatuteDocumentStore, law_of: LawOf, random_vectors: Vectors
) -> None:
    matrix = random_vectors(50)
    store.write_documents(law_of(matrix))
    query = random_vectors(1, seed=4)[0]
    expected = [row for row in brute_force(matrix, query, 50) if row % 2 == 0][:10]
    assert positions(StatuteEmbeddingRetriever(store).run(query.tolist(), EVEN)) == expected
    assert positions(StatuteEmbeddingRetriever(store, filters=EVEN).run(query.tolist())) == expected
    nothing = {"field": "meta.law", "operator": "==", "value": "No Such Code"}
    assert positions(StatuteEmbeddingRetriever(store).run(query.tolist(), nothing)) == []


def test_malformed_filters_are_refused(
    store: StatuteDocumentStore, in_memory: InMemory, law_of: LawOf, random_vectors: Vectors
) -> None:
    documents = law_of(random_vectors(3))
    store.write_documents(documents)
    for each in (store, in_memory(documents)):
        with pytest.raises(FilterError):
            StatuteEmbeddingRetriever(each).run([1.0] * 8, {"field": "meta.law", "value": 1})


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ([float("nan")] * 8, "NaN"),
        ([float("inf")] * 8, "NaN or infinite"),
        ([0.0] * 8, "zeros"),
        ([1.0] * 7, "7 numbers, the store's vectors have 8"),
        ([], "shape"),
        ([[1.0] * 8], "shape"),
        (["a"] * 8, "no list of numbers"),
        (None, "must be one list"),
    ],
)
def test_an_unusable_query_is_refused_by_name(
    store: StatuteDocumentStore,
    law_of: LawOf,
    random_vectors: Vectors,
    query: Any,
    reason: str,
) -> None:
    store.write_documents(law_of(random_vectors(3)))
    with pytest.raises(VectorError, match="query_embedding") as refused:
        StatuteEmbeddingRetriever(store).run(query)
    assert reason in str(refused.value)


def test_tiny_and_huge_queries_keep_their_direction(
    store: StatuteDocumentStore, law_of: LawOf, random_vectors: Vectors
) -> None:
    matrix = random_vectors(20)
    store.write_documents(law_of(matrix))
    retriever = StatuteEmbeddingRetriever(store)
    expected = brute_force(matrix, matrix[7], 10)
    for scale in (1e-30, 1e30):
        assert positions(retriever.run((matrix[7].astype(float) * scale).tolist())) == expected


def test_an_empty_store_finds_nothing_and_a_store_of_text_says_why(
    store: StatuteDocumentStore,
) -> None:
    retriever = StatuteEmbeddingRetriever(store)
    assert retriever.run([1.0] * 8) == {"documents": []}
    store.write_documents([Document(id="a", content="Words.")])
    with pytest.raises(StoreError, match=r"holds text alone.*--model.*lexical"):
        retriever.warm_up()


def test_a_foreign_store_that_keeps_its_embeddings_back_is_told_to_return_them(
    law_of: LawOf, random_vectors: Vectors
) -> None:
    store = InMemoryDocumentStore(return_embedding=False)
    store.write_documents(law_of(random_vectors(3)))
    with pytest.raises(StoreError, match=r"without embeddings.*return_embedding=True") as refused:
        StatuteEmbeddingRetriever(store).warm_up()
    assert "pipelines.index" not in str(refused.value)


def test_follows_what_others_write(
    store: StatuteDocumentStore, law_of: LawOf, random_vectors: Vectors
) -> None:
    matrix = random_vectors(10)
    store.write_documents(law_of(matrix))
    retriever = StatuteEmbeddingRetriever(store, top_k=20)
    assert len(retriever.run([1.0] * 8)["documents"]) == 10
    other = StatuteDocumentStore(store.path)
    other.write_documents(law_of(random_vectors(5, seed=5), "Family Code"))
    assert len(retriever.run([1.0] * 8)["documents"]) == 15
    other.delete_documents(["Housing Code-3"])
    left = retriever.run([1.0] * 8, {**EVEN, "value": False})["documents"]
    assert "Housing Code-3" not in [document.id for document in left]
    assert len(left) == 6


def test_articles_without_a_vector_are_counted_once_for_every_index(
    store: StatuteDocumentStore,
    law_of: LawOf,
    random_vectors: Vectors,
    caplog: pytest.LogCaptureFixture,
) -> None:
    documents = law_of(random_vectors(10))
    store.publisher.record_model(StoreModel("models/one", "d", 8, "headings_text"))
    store.write_documents(documents)
    retriever = StatuteEmbeddingRetriever(store)
    retriever.warm_up()
    assert not caplog.records
    bare = [replace(document, embedding=None) for document in documents[:3]]
    store.write_documents(bare, DuplicatePolicy.OVERWRITE)
    for _ in range(2):
        retriever.run([1.0] * 8)
    (told,) = caplog.messages
    assert f"3 of 10 articles of {store.path} have no vector and are not found by meaning" in told
    assert f"python -m pipelines.index --corpus ... --store {store.path} --model models/one" in told


@pytest.mark.parametrize("filters", [None, EVEN])
def test_a_law_published_in_between_is_still_found(
    store: StatuteDocumentStore,
    law_of: LawOf,
    random_vectors: Vectors,
    monkeypatch: pytest.MonkeyPatch,
    filters: dict[str, Any] | None,
) -> None:
    documents = law_of(random_vectors(12))
    store.write_documents(documents)
    retriever = StatuteEmbeddingRetriever(store, top_k=4)
    expected = positions(retriever.run([1.0] * 8, filters))
    current = retriever._vectors().current
    republished = []

    def current_then_published(each: Any) -> Any:
        resident = current(each)
        if not republished:
            republished.append(True)
            store.write_documents(documents, DuplicatePolicy.OVERWRITE)
        return resident

    monkeypatch.setattr(retriever._vectors(), "current", current_then_published)
    assert positions(retriever.run([1.0] * 8, filters)) == expected


def test_a_law_that_is_written_all_the_time_gives_what_can_be_read(
    store: StatuteDocumentStore,
    law_of: LawOf,
    random_vectors: Vectors,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    matrix = random_vectors(6)
    store.write_documents(law_of(matrix))
    retriever = StatuteEmbeddingRetriever(store, top_k=6)
    scores = {d.id: d.score for d in retriever.run([1.0] * 8)["documents"]}
    current = retriever._vectors().current

    def current_then_deleted(each: Any) -> Any:
        resident = current(each)
        gone = store.filter_documents()[0].id
        store.delete_documents([gone])
        return resident

    monkeypatch.setattr(retriever._vectors(), "current", current_then_deleted)
    found = retriever.run([1.0] * 8)["documents"]
    assert len(found) == 4
    assert all(document.score == scores[document.id] for document in found)


def test_retrievers_of_one_file_share_one_matrix_and_let_it_go(
    store: StatuteDocumentStore,
    law_of: LawOf,
    random_vectors: Vectors,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    store.write_documents(law_of(random_vectors(5)))
    (tmp_path / "link.db").symlink_to(Path(store.path or ""))
    made: list[int] = []
    build = dense_vectors.DenseIndex

    def counted(*args: Any, **kwargs: Any) -> Any:
        made.append(1)
        return build(*args, **kwargs)

    monkeypatch.setattr(dense_vectors, "DenseIndex", counted)
    first = StatuteEmbeddingRetriever(store)
    second = StatuteEmbeddingRetriever(StatuteDocumentStore(store.path), top_k=3)
    third = StatuteEmbeddingRetriever(StatuteDocumentStore(str(tmp_path / "link.db")))
    for retriever in (first, second, third):
        retriever.warm_up()
        retriever.run([1.0] * 8)
    assert len(made) == 1
    del first, second, third, retriever
    gc.collect()
    StatuteEmbeddingRetriever(store).warm_up()
    assert len(made) == 2


def test_results_are_the_callers_own(
    store: StatuteDocumentStore, in_memory: InMemory, law_of: LawOf, random_vectors: Vectors
) -> None:
    documents = law_of(random_vectors(3))
    store.write_documents(documents)
    for each in (store, in_memory(documents)):
        retriever = StatuteEmbeddingRetriever(each)
        changed = retriever.run([1.0] * 8)["documents"][0]
        changed.meta["headings"].append("scribble")
        changed.meta["law"] = "scribble"
        again = retriever.run([1.0] * 8)["documents"][0]
        assert (again.meta["headings"], again.meta["law"]) == ([], "Housing Code")


def test_a_foreign_store_with_an_unusable_vector_is_refused_by_name(
    in_memory: InMemory, law_of: LawOf, random_vectors: Vectors
) -> None:
    for bad in ([float("nan")] * 8, [0.0] * 8, [1.0] * 5):
        documents = [
            *law_of(random_vectors(2)),
            Document(id="bad", content="Words.", meta={"position": 9}, embedding=bad),
        ]
        with pytest.raises(VectorError, match="document 'bad'"):
            StatuteEmbeddingRetriever(in_memory(documents)).warm_up()


def test_a_foreign_store_is_read_again_when_it_grows_or_when_told(
    in_memory: InMemory,
    law_of: LawOf,
    random_vectors: Vectors,
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = in_memory(law_of(random_vectors(2)))
    retriever = StatuteEmbeddingRetriever(store)
    assert len(retriever.run([1.0] * 8)["documents"]) == 2
    with caplog.at_level(logging.WARNING):
        store.write_documents([Document(id="bare", content="No vector.")])
        assert len(retriever.run([1.0] * 8)["documents"]) == 2
    assert "1 of 3 documents have no embedding" in caplog.text
    store.write_documents(
        [Document(id="bare", content="A vector.", embedding=[1.0] * 8)],
        policy=DuplicatePolicy.OVERWRITE,
    )
    reload(store)
    assert retriever.run([1.0] * 8)["documents"][0].id == "bare"


def test_top_k_is_checked(store: StatuteDocumentStore) -> None:
    with pytest.raises(ValueError, match=r"StatuteEmbeddingRetriever\.top_k must be 1 or more"):
        StatuteEmbeddingRetriever(store, top_k=0)
    with pytest.raises(TypeError, match=r"top_k must be a whole number, got '3'"):
        StatuteEmbeddingRetriever(store, top_k="3")  # type: ignore[arg-type]
    retriever = StatuteEmbeddingRetriever(store)
    assert retriever.run([1.0] * 8, top_k=0) == {"documents": []}
    with pytest.raises(ValueError, match="0 or more, got -1"):
        retriever.run([1.0] * 8, top_k=-1)


def test_a_missing_path_is_said_at_first_use() -> None:
    retriever = StatuteEmbeddingRetriever(StatuteDocumentStore())
    with pytest.raises(StoreError, match="path is null"):
        retriever.warm_up()


def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (x)")
    with pytest.raises(StoreError, match="another program"):
        StatuteEmbeddingRetriever(StatuteDocumentStore(str(path))).warm_up()
