"""The store's reads and writes, its checks, and Haystack's own test kit."""

import asyncio
import copy
import dataclasses
import json
import math
import pickle

import numpy as np
import pytest
from haystack import Document, Pipeline
from haystack.dataclasses import ByteStream
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from haystack.testing.document_store import (
    CountDocumentsByFilterTest,
    DocumentStoreBaseExtendedTests,
)

from components.retrievers.bm25 import StatuteBM25Retriever
from components.stores.publishing import StoreModel
from components.stores.sqlite import StatuteDocumentStore

OTHER_LAW = {"field": "meta.law", "operator": "==", "value": "Work Code"}


def article(id_, position=None, **fields):
    meta = {"law": "Housing Code", "number": id_, "headings": ["Title I", "Rent"]}
    if position is not None:
        meta["position"] = position
    return Document(id=id_, content=f"text {id_}", meta=meta, **fields)


def ids(documents):
    return [document.id for document in documents]


class TestHaystackKit(DocumentStoreBaseExtendedTests, CountDocumentsByFilterTest):
    # Our delete_all_documents has no index to recreate.
    test_delete_all_documents_without_recreate_index = None
    test_delete_all_documents_with_recreate_index = None

    @pytest.fixture
    def document_store(self, store):
        return store

    @staticmethod
    def assert_documents_are_equal(received, expected):
        """Equal up to float32 vectors (1e-6) and the order, which is the law's."""
        assert len(received) == len(expected)
        by_id = {document.id: document for document in received}
        for document in expected:
            twin = by_id[document.id]
            assert (twin.embedding is None) == (document.embedding is None)
            if document.embedding is not None:
                np.testing.assert_allclose(twin.embedding, document.embedding, atol=1e-6)
            bare = dataclasses.replace(document, embedding=None)
            assert dataclasses.replace(twin, embedding=None) == bare

    def test_write_documents(self, document_store):
        document = Document(content="test doc")
        assert document_store.write_documents([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents([document])
        assert document_store.filter_documents() == [document]


def test_async_methods_do_what_their_twins_do(store):
    async def use():
        assert await store.write_documents_async([article("a"), article("b")]) == 2
        assert ids(await store.filter_documents_async()) == ["a", "b"]
        assert await store.delete_by_filter_async(OTHER_LAW) == 0
        await store.close_async()

    asyncio.run(use())


def test_documents_come_in_the_order_of_the_law(store):
    store.write_documents([article("c", 2), article("none"), article("a", 0), article("b", 1)])
    assert ids(store.filter_documents()) == ["a", "b", "c", "none"]
    store.write_documents([article("a", 0)], DuplicatePolicy.OVERWRITE)
    assert [id_ for id_, _, _ in store.entries()] == ["a", "b", "c", "none"]


def test_vectors_come_in_order_and_fetched_documents_without(store):
    store.write_documents([article("text alone", 2)])
    keys, matrix = store.vectors()
    assert (len(keys), matrix.shape, store.has_vectors()) == (0, (0, 0), False)
    first, second = article("b", 1, embedding=[0.0, 2.0]), article("a", 0, embedding=[1.0, 0.5])
    store.write_documents([first, second])
    keys, matrix = store.vectors()
    assert (matrix.dtype, matrix.tolist()) == (np.float32, [[1.0, 0.5], [0.0, 2.0]])
    documents = store.fetch(keys[::-1])
    assert [(each.id, each.embedding) for each in documents] == [("b", None), ("a", None)]


def test_keys_are_never_reused_and_deleted_ones_are_left_out(store):
    store.write_documents([article(str(number), number) for number in range(1200)])
    keys = store.keys_matching(None)
    store.delete_documents(["600"])
    assert ids(store.fetch(keys)) == [str(number) for number in range(1200) if number != 600]
    (old,) = store.keys_of(["7"])
    store.write_documents([article("7", 7)], DuplicatePolicy.OVERWRITE)
    assert store.keys_of(["7"]) != [old]
    assert store.fetch([old]) == []


def test_texts_follow_the_models_rule_and_entries_name_law_and_number(store):
    store.write_documents([article("12", 0), Document(id="no law", content="x")])
    assert next(text for _, text, _ in store.texts()) == "Title I Rent text 12"
    store.publisher.record_model(StoreModel("m", "d", 2, "text"))
    assert next(text for _, text, _ in store.texts()) == "text 12"
    assert list(store.entries()) == [("12", "Housing Code", "12")]


DEEP = []
for _ in range(5_000):
    DEEP = [DEEP]
BAD = {
    "NaN": ({"embedding": [math.nan, 1.0]}, "embedding"),
    "zeros": ({"embedding": [0.0, 0.0]}, "embedding"),
    "an object": ({"meta": {"when": object()}}, "meta"),
    "very deep meta": ({"meta": {"levels": DEEP}}, "meta"),
    "too deep meta": ({"meta": {"levels": json.loads("[" * 210 + "]" * 210)}}, "meta"),
    "half a character": ({"content": "\ud800"}, "content"),
    "a blob": ({"blob": ByteStream(b"scan")}, "blob"),
}


@pytest.mark.parametrize(("fields", "named"), BAD.values(), ids=BAD)
def test_an_unusable_document_is_named_and_nothing_is_written(store, fields, named):
    bad = Document(**{"id": "bad", "content": "x", **fields})
    with pytest.raises(ValueError, match=f"'bad'.*{named}") as refused:
        store.write_documents([article("good", embedding=[1.0, 2.0]), bad])
    assert not isinstance(refused.value, UnicodeError)
    assert store.count_documents() == 0


def test_ids_and_arguments_of_other_types_are_refused(store):
    with pytest.raises(ValueError, match="id") as refused:
        store.write_documents([Document(id="\ud800", content="x")])
    str(refused.value).encode()
    for documents in ("text", [1], None, [{"id": "1"}]):
        with pytest.raises(ValueError, match="Documents"):
            store.write_documents(documents)
    store.write_documents([article("1"), article("12")])
    with pytest.raises(TypeError, match=r"\['12'\]"):
        store.delete_documents("12")
    deepest = {"levels": json.loads("[" * 190 + "]" * 190)}
    store.write_documents([Document(id="x", content="x", meta=deepest)])
    assert store.filter_documents()[-1].meta == deepest


@pytest.mark.parametrize("filters", [None, {}])
def test_deleting_and_updating_need_filters(store, filters):
    store.write_documents([article("a"), article("b")])
    version = store.content_version()
    for change in (store.delete_by_filter, lambda none: store.update_by_filter(none, {"law": "x"})):
        with pytest.raises(FilterError):
            change(filters)
    assert store.count_documents_by_filter(filters) == 2
    assert store.content_version() == version


@pytest.mark.parametrize(
    ("method", "arguments", "changes"),
    [
        ("write_documents", ([],), 0),
        ("write_documents", ([article("a")], DuplicatePolicy.SKIP), 0),
        ("delete_documents", (["unknown"],), 0),
        ("delete_by_filter", (OTHER_LAW,), 0),
        ("update_by_filter", (OTHER_LAW, {"note": "x"}), 0),
        ("write_documents", ([article("b")],), 1),
        ("write_documents", ([article("a")], DuplicatePolicy.OVERWRITE), 1),
        ("delete_documents", (["a", "unknown"],), 1),
        ("delete_all_documents", (), 1),
    ],
)
def test_the_version_counts_writes_that_change_something(store, method, arguments, changes):
    store.write_documents([article("a")])
    before = store.content_version()
    getattr(store, method)(*arguments)
    assert store.content_version() == before + changes


def test_a_blob_is_kept_with_its_version_and_the_latest_of_its_family(store):
    before = store.content_version()
    names = ["bm25", "bm25/1", "bm25/2", "bm25x/3", "bm25/4"]
    assert store.load_blob("bm25") is None
    store.save_blob("bm25", "1", b"old")
    for name, version in zip(names, "21112", strict=True):
        store.save_blob(name, version, b"index")
    kept = [("2", b"index"), None, None, ("1", b"index"), ("2", b"index")]
    assert [store.load_blob(name) for name in names] == kept
    assert store.content_version() == before


def test_a_store_is_serialised_and_copied_by_its_path(store):
    store.write_documents([article("a", 0), article("b", 1)])
    again = StatuteDocumentStore.from_dict(store.to_dict())
    assert (again.path, again.count_documents()) == (store.path, 2)
    pipeline = Pipeline()
    pipeline.add_component("bm25", StatuteBM25Retriever(StatuteDocumentStore(store.database.path)))
    assert f"path: {store.path}" in pipeline.dumps()
    for copied in (copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))):
        twin = copied(store)
        assert twin.to_dict() == store.to_dict()
        assert twin.database is not store.database
        twin.delete_documents(["a"])
        twin.close()
        assert store.count_documents() == 1
