"""The store's own reads and the checks of what is written."""

import asyncio
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from haystack import Document, Pipeline
from haystack.dataclasses import ByteStream
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError

from components.retrievers.bm25 import StatuteBM25Retriever
from components.stores.failures import StoreError
from components.stores.model_record import StoreModel
from components.stores.sqlite import StatuteDocumentStore

OTHER_LAW = {"field": "meta.law", "operator": "==", "value": "Work Code"}
# Answered by Haystack's own matcher, which is handed the meta.
OLD_LAW = {"field": "meta.valid_from", "operator": "<", "value": "2009-01-01T00:00:00"}


@pytest.fixture
def store(tmp_path: Path) -> StatuteDocumentStore:
    return StatuteDocumentStore(str(tmp_path / "law.db"))


def article(id_: str, position: int | None = None, **fields: Any) -> Document:
    meta = {"law": "Housing Code", "number": id_, "headings": ["Title I", "Rent"]}
    if position is not None:
        meta["position"] = position
    return Document(id=id_, content=f"text {id_}", meta=meta, **fields)


def test_documents_come_in_the_order_of_the_law(store: StatuteDocumentStore) -> None:
    store.write_documents([article("c", 2), article("none"), article("a", 0), article("b", 1)])
    assert [each.id for each in store.filter_documents()] == ["a", "b", "c", "none"]


@pytest.mark.parametrize(("positions", "order"), [((0, 1, 2), "abc"), ((None,) * 3, "bca")])
def test_a_position_keeps_the_place_of_what_is_overwritten(
    store: StatuteDocumentStore, positions: tuple[int | None, ...], order: str
) -> None:
    documents = [article(id_, place) for id_, place in zip("abc", positions, strict=True)]
    store.write_documents(documents)
    store.write_documents(documents[:1], DuplicatePolicy.OVERWRITE)
    assert [id_ for id_, _, _ in store.entries()] == list(order)


def test_vectors_are_in_the_order_of_the_law_and_fetch_gives_no_vectors(
    store: StatuteDocumentStore,
) -> None:
    store.write_documents(
        [
            article("b", 1, embedding=[0.0, 2.0]),
            article("a", 0, embedding=[1.0, 0.5]),
            article("text alone", 2),
        ]
    )
    keys, matrix = store.vectors()
    assert matrix.dtype == np.float32
    assert matrix.tolist() == [[1.0, 0.5], [0.0, 2.0]]
    documents = store.fetch(keys[::-1])
    assert [each.id for each in documents] == ["b", "a"]
    assert all(each.embedding is None for each in documents)


def test_fetch_leaves_out_what_is_gone(store: StatuteDocumentStore) -> None:
    store.write_documents([article(str(number), number) for number in range(1200)])
    keys = store.keys_matching(None)
    store.delete_documents(["600"])
    assert [each.id for each in store.fetch(keys)] == [
        str(number) for number in range(1200) if number != 600
    ]


async def _delete(store: StatuteDocumentStore, ids: Any) -> None:
    await store.delete_documents_async(ids)


def test_a_text_in_place_of_a_list_deletes_nothing(store: StatuteDocumentStore) -> None:
    store.write_documents([article("1", 0), article("12", 1)])
    for delete in (store.delete_documents, lambda ids: asyncio.run(_delete(store, ids))):
        with pytest.raises(TypeError, match=r"takes a list of ids: \['12'\]\."):
            delete("12")
    assert [each.id for each in store.filter_documents()] == ["1", "12"]


def test_a_key_is_never_used_twice(store: StatuteDocumentStore) -> None:
    store.write_documents([article("a", 0)])
    (old,) = store.keys_of(["a"])
    store.write_documents([article("a", 0)], DuplicatePolicy.OVERWRITE)
    (new,) = store.keys_of(["a"])
    assert new != old
    assert store.fetch([old]) == []


def test_texts_follow_the_models_rule(store: StatuteDocumentStore) -> None:
    store.write_documents([article("a", 0)])
    assert [text for _, text, _ in store.texts()] == ["Title I Rent text a"]
    store.publisher.record_model(StoreModel("m", "d", 2, "text"))
    assert [text for _, text, _ in store.texts()] == ["text a"]


def test_entries_name_law_and_number(store: StatuteDocumentStore) -> None:
    store.write_documents([article("12", 0), Document(id="no law", content="x")])
    assert list(store.entries()) == [("12", "Housing Code", "12")]


@pytest.mark.parametrize(
    ("embedding", "message"),
    [
        ([math.nan, 1.0], "'bad': its embedding holds NaN"),
        ([math.inf, 1.0], "'bad': its embedding holds NaN or infinite"),
        ([0.0, 0.0], "'bad': its embedding is all zeros"),
        ([1.0, 2.0, 3.0], r"'bad': its embedding has shape \[3\], expected 2 numbers"),
    ],
)
def test_an_unusable_vector_is_refused_by_name_and_nothing_is_written(
    store: StatuteDocumentStore, embedding: list[float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        store.write_documents(
            [article("good", embedding=[1.0, 2.0]), article("bad", embedding=embedding)]
        )
    assert store.count_documents() == 0


def test_meta_that_is_no_json_is_refused_by_name(store: StatuteDocumentStore) -> None:
    with pytest.raises(ValueError, match="document 'x': its meta cannot be stored"):
        store.write_documents([Document(id="x", content="x", meta={"when": object()})])


def test_meta_too_deep_to_be_read_again_is_refused_by_name(store: StatuteDocumentStore) -> None:
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    for levels in (deep, json.loads("[" * 101 + "]" * 101)):
        with pytest.raises(ValueError, match="document 'x': its meta cannot be stored"):
            store.write_documents([Document(id="x", content="x", meta={"levels": levels})])
    deepest = {"levels": json.loads("[" * 99 + "]" * 99)}
    store.write_documents([Document(id="x", content="x", meta=deepest)])
    assert [document.meta for document in store.filter_documents()] == [deepest]


@pytest.mark.parametrize("field", ["id", "content", "meta"])
def test_half_a_character_is_refused_by_name_and_nothing_is_written(
    store: StatuteDocumentStore, field: str
) -> None:
    half: dict[str, Any] = {"id": "bad", "content": "x", "meta": {}, field: "\ud800"}
    if field == "meta":
        half["meta"] = {"note": "\ud800"}
    with pytest.raises(ValueError, match=rf"^document '.+': its {field} holds half") as refused:
        store.write_documents([article("good"), Document(**half)])
    assert not isinstance(refused.value, UnicodeError)
    str(refused.value).encode()
    assert store.count_documents() == 0


def test_a_blob_goes_with_its_version(store: StatuteDocumentStore) -> None:
    assert store.load_blob("bm25") is None
    before = store.content_version()
    store.save_blob("bm25", "1", b"one")
    store.save_blob("bm25", "2", b"two")
    assert store.load_blob("bm25") == ("2", b"two")
    for name, version in (("bm25/1", "1"), ("bm25/2", "1"), ("bm25x/3", "1"), ("bm25/4", "2")):
        store.save_blob(name, version, b"index")
    kept = [name for name in ("1", "2", "4") if store.load_blob(f"bm25/{name}")]
    assert kept == ["4"]
    assert store.load_blob("bm25x/3") and store.load_blob("bm25")
    assert store.content_version() == before


def test_it_survives_a_round_trip_as_a_dictionary(store: StatuteDocumentStore) -> None:
    store.write_documents([article("a", 0)])
    again = StatuteDocumentStore.from_dict(store.to_dict())
    assert again.path == store.path
    assert again.count_documents() == 1


def test_a_path_is_kept_as_text(tmp_path: Path) -> None:
    store = StatuteDocumentStore(tmp_path / "law.db")
    pipeline = Pipeline()
    pipeline.add_component("bm25", StatuteBM25Retriever(store))
    assert f"path: {tmp_path / 'law.db'}" in pipeline.dumps()
    assert store.count_documents() == 0


@pytest.mark.parametrize("documents", ["text", [1], None, [{"id": "1"}]])
def test_only_documents_are_written(store: StatuteDocumentStore, documents: Any) -> None:
    with pytest.raises(ValueError, match="list of haystack Documents"):
        store.write_documents(documents)


@pytest.mark.parametrize("filters", [None, {}])
def test_what_changes_documents_wants_filters(store: StatuteDocumentStore, filters: Any) -> None:
    store.write_documents([article("a"), article("b")])
    before, version = store.filter_documents(filters), store.content_version()
    said = pytest.raises(FilterError, match=r"every document would match.*delete_all_documents")
    with said:
        store.delete_by_filter(filters)
    with said:
        store.update_by_filter(filters, {"law": "Work Code"})
    with said:
        asyncio.run(store.delete_by_filter_async(filters))
    with said:
        asyncio.run(store.update_by_filter_async(filters, {"law": "Work Code"}))
    assert store.filter_documents() == before
    assert store.count_documents_by_filter(filters) == 2
    assert store.content_version() == version


@pytest.mark.parametrize(
    "write",
    [
        lambda store: store.write_documents([]),
        lambda store: store.write_documents([article("a")], DuplicatePolicy.SKIP),
        lambda store: store.delete_documents([]),
        lambda store: store.delete_documents(["unknown"]),
        lambda store: store.delete_by_filter(OTHER_LAW),
        lambda store: store.update_by_filter(OTHER_LAW, {"note": "x"}),
    ],
)
def test_a_write_that_changes_nothing_leaves_the_indexes_as_they_are(
    store: StatuteDocumentStore, write: Callable[[StatuteDocumentStore], object]
) -> None:
    store.write_documents([article("a")])
    before = store.content_version()
    write(store)
    assert store.content_version() == before


@pytest.mark.parametrize(
    "write",
    [
        lambda store: store.write_documents([article("b")]),
        lambda store: store.write_documents([article("a")], DuplicatePolicy.OVERWRITE),
        lambda store: store.delete_documents(["a", "unknown"]),
        lambda store: store.delete_all_documents(),
    ],
)
def test_a_write_that_changes_a_document_has_the_indexes_built_anew(
    store: StatuteDocumentStore, write: Callable[[StatuteDocumentStore], object]
) -> None:
    store.write_documents([article("a")])
    before = store.content_version()
    write(store)
    assert store.content_version() == before + 1


@pytest.mark.parametrize(
    ("column", "read"),
    [
        ("meta", lambda store: store.filter_documents()),
        ("meta", lambda store: store.filter_documents(OTHER_LAW)),
        ("meta", lambda store: store.filter_documents(OLD_LAW)),
        ("meta", lambda store: store.fetch(store.keys_of(["a"]))),
        ("meta", lambda store: list(store.entries())),
        ("meta", lambda store: list(store.texts())),
        ("other", lambda store: store.filter_documents()),
    ],
)
def test_a_damaged_row_is_named_with_its_file(
    store: StatuteDocumentStore, column: str, read: Callable[[StatuteDocumentStore], object]
) -> None:
    store.write_documents([article("a", blob=ByteStream(b"scan"))])
    with store.database.writing() as connection:
        connection.execute(f"UPDATE documents SET {column} = substr({column}, 1, 9)")
    said = rf"law\.db is damaged: document 'a': its {column} is not JSON.*Copy it again"
    with pytest.raises(StoreError, match=said):
        read(store)


@pytest.mark.parametrize("value", ['{"qath": "m", "digest": "d"}', "[1]", "7"])
def test_a_model_s_record_of_other_keys_is_named_with_its_file(
    store: StatuteDocumentStore, value: str
) -> None:
    store.publisher.record_model(StoreModel("m", "d", 2, "text"))
    with store.database.writing() as connection:
        connection.execute("UPDATE facts SET value = ? WHERE key = 'model'", (value,))
    with pytest.raises(
        StoreError, match=r"law\.db is damaged: its record 'model' does not describe a model"
    ):
        _ = store.model


def test_a_damaged_fact_is_named_with_its_file(store: StatuteDocumentStore) -> None:
    store.publisher.record_model(StoreModel("m", "d", 2, "text"))
    with store.database.writing() as connection:
        connection.execute("UPDATE facts SET value = '{\"path' WHERE key = 'model'")
    with pytest.raises(StoreError, match=r"law\.db is damaged: its record 'model' is not JSON"):
        _ = store.model
