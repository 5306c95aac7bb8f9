"""Vectors that a graph made: per law with what they were made of, beside the encoder's own."""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from haystack import Document

from components.stores.failures import StoreError
from components.stores.journal import text_digest
from components.stores.model_record import StoreModel
from components.stores.opening import FIRST_FORMAT, FORMAT_VERSION
from components.stores.publishing import LawVectors
from components.stores.sqlite import StatuteDocumentStore

PLAIN = StoreModel("models/one", "digest-one", 4, "headings_text")
GRAPH = replace(PLAIN, digest="digest-graph", biencoder=PLAIN.digest)


def law(name: str, *texts: str, start: int = 0) -> list[tuple[Document, str]]:
    return [
        (
            Document(id=f"{name}/{n}", content=text, meta={"law": name, "position": start + n}),
            text_digest(text),
        )
        for n, text in enumerate(texts, start=1)
    ]


def made(state: str, *rows: Sequence[float]) -> LawVectors:
    return LawVectors(state, np.float32(rows))


def vectors(store: StatuteDocumentStore) -> dict[str, list[float] | None]:
    return {each.id: each.embedding for each in store.filter_documents()}


def format_of(store: StatuteDocumentStore) -> int:
    return int(next(store.database.rows("PRAGMA user_version"))[0])


ONE, TWO, THREE = [1.0, 0, 0, 0], [0, 2.0, 0, 0], [0, 0, 3.0, 0]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[StatuteDocumentStore]:
    store = StatuteDocumentStore(str(tmp_path / "law.db"))
    store.publisher.record_model(GRAPH)
    yield store
    store.close()


def test_a_law_is_published_with_given_vectors_and_their_state(
    store: StatuteDocumentStore,
) -> None:
    assert store.publisher.publish({"L": law("L", "a", "b")}, {"L": made("s1", ONE, TWO)}) == 2
    assert vectors(store) == {"L/1": ONE, "L/2": TWO}
    assert store.publisher.law_states() == {"L": "s1"}
    assert store.model == GRAPH
    assert (GRAPH.through_graph, GRAPH.biencoder_digest) == (True, PLAIN.digest)
    assert (PLAIN.through_graph, PLAIN.biencoder_digest) == (False, PLAIN.digest)


def test_only_vectors_that_differ_are_written_and_keys_stay(store: StatuteDocumentStore) -> None:
    store.publisher.publish({"L": law("L", "a", "b")}, {"L": made("s1", ONE, TWO)})
    keys = store.keys_of(["L/1", "L/2"])
    before = store.content_version()
    assert store.publisher.publish({"L": law("L", "a", "b")}, {"L": made("s2", ONE, THREE)}) == 1
    assert vectors(store) == {"L/1": ONE, "L/2": THREE}
    assert store.keys_of(["L/1", "L/2"]) == keys
    assert store.content_version() > before
    assert store.publisher.law_states() == {"L": "s2"}


def test_a_state_alone_changes_nothing_that_readers_see(store: StatuteDocumentStore) -> None:
    store.publisher.publish({"L": law("L", "a")}, {"L": made("s1", ONE)})
    before = store.content_version()
    assert store.publisher.publish({"L": law("L", "a")}, {"L": made("s2", ONE)}) == 0
    assert store.content_version() == before
    assert store.publisher.law_states() == {"L": "s2"}


def test_a_law_that_only_moved_needs_no_vectors(store: StatuteDocumentStore) -> None:
    store.publisher.publish({"L": law("L", "a")}, {"L": made("s1", ONE)})
    assert store.publisher.publish({"L": law("L", "a", start=9)}) == 1
    assert [each.meta["position"] for each in store.filter_documents()] == [10]
    assert vectors(store) == {"L/1": ONE}
    assert store.publisher.law_states() == {"L": "s1"}


def test_a_changed_text_without_a_vector_is_refused(store: StatuteDocumentStore) -> None:
    store.publisher.publish({"L": law("L", "a")}, {"L": made("s1", ONE)})
    # The encoder's vector of this text is known; it is none of the graph's.
    store.journal.keep(PLAIN.digest, {text_digest("new"): np.float32(TWO)})
    with pytest.raises(StoreError, match=r"L/1.*one at a time"):
        store.publisher.publish({"L": law("L", "new")})
    assert vectors(store) == {"L/1": ONE}


def test_an_article_that_moves_and_a_law_that_goes(store: StatuteDocumentStore) -> None:
    first = {"L": law("L", "a", "b"), "M": law("M", "c")}
    store.publisher.publish(first, {"L": made("s1", ONE, TWO), "M": made("s2", THREE)})
    moved = [
        (replace(document, meta={**document.meta, "law": "M"}), digest)
        for document, digest in law("L", "a", "b")
    ]
    store.publisher.publish({"L": [], "M": moved}, {"M": made("s3", TWO, ONE)})
    assert vectors(store) == {"L/1": TWO, "L/2": ONE}
    assert {each.meta["law"] for each in store.filter_documents()} == {"M"}
    assert store.publisher.law_states() == {"M": "s3"}


def test_a_plain_store_is_of_the_first_format_and_says_nothing_of_graphs(tmp_path: Path) -> None:
    store = StatuteDocumentStore(str(tmp_path / "plain.db"))
    store.publisher.record_model(PLAIN)
    assert format_of(store) == FIRST_FORMAT
    assert store.database.fact("model") == {
        name: value for name, value in asdict(PLAIN).items() if name != "biencoder"
    }
    assert store.publisher.law_states() == {}
    store.publisher.record_model(GRAPH)  # nothing is encoded yet: the first choice may be changed
    assert format_of(store) == FORMAT_VERSION
    assert store.publisher.law_states() == {}


def test_a_file_from_before_graphs_opens_and_takes_one(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    store = StatuteDocumentStore(str(path))
    store.publisher.record_model(PLAIN)
    store.journal.keep(PLAIN.digest, {text_digest("a"): np.float32(ONE)})
    store.publisher.publish({"L": law("L", "a")})
    store.close()
    connection = sqlite3.connect(path)
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    connection.close()
    assert "law_states" not in tables
    assert vectors(store) == {"L/1": ONE}
    store.publisher.publish({"L": law("L", "a")}, {"L": made("s1", TWO)}, convert_to=GRAPH)
    assert vectors(store) == {"L/1": TWO}
    assert (store.model, format_of(store)) == (GRAPH, FORMAT_VERSION)


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[StatuteDocumentStore]:
    """Two laws with an encoder's own vectors."""
    store = StatuteDocumentStore(str(tmp_path / "plain.db"))
    store.publisher.record_model(PLAIN)
    store.journal.keep(
        PLAIN.digest, {text_digest("a"): np.float32(ONE), text_digest("b"): np.float32(TWO)}
    )
    store.publisher.publish({"L": law("L", "a"), "M": law("M", "b")})
    store.journal.clear()
    yield store
    store.close()


def test_vectors_of_both_kinds_never_stand_together(plain: StatuteDocumentStore) -> None:
    with pytest.raises(StoreError, match=r"models/one is another \(through its graph network"):
        plain.publisher.record_model(GRAPH)
    with pytest.raises(StoreError, match=r"articles of the law M.*Name a new store"):
        plain.publisher.publish({"L": law("L", "a")}, {"L": made("s1", THREE)}, convert_to=GRAPH)
    assert vectors(plain) == {"L/1": ONE, "M/1": TWO}
    assert (plain.model, format_of(plain)) == (PLAIN, FIRST_FORMAT)


def test_vectors_of_no_law_are_not_converted(plain: StatuteDocumentStore) -> None:
    plain.write_documents([Document(id="x", content="x", embedding=ONE)])
    both = {"L": made("s1", THREE), "M": made("s2", ONE)}
    with pytest.raises(StoreError, match=r"articles of no law"):
        plain.publisher.publish({"L": law("L", "a"), "M": law("M", "b")}, both, convert_to=GRAPH)


def test_a_conversion_is_one_step(
    plain: StatuteDocumentStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    laws = {"L": law("L", "a"), "M": law("M", "b")}
    both = {"L": made("s1", THREE), "M": made("s2", ONE)}
    check = type(plain.publisher)._check_vectors

    def fails(*_: object) -> None:
        raise RuntimeError("pulled the plug")

    monkeypatch.setattr(type(plain.publisher), "_check_vectors", fails)
    with pytest.raises(RuntimeError, match="plug"):
        plain.publisher.publish(laws, both, convert_to=GRAPH)
    assert vectors(plain) == {"L/1": ONE, "M/1": TWO}
    assert (plain.model, format_of(plain)) == (PLAIN, FIRST_FORMAT)
    monkeypatch.setattr(type(plain.publisher), "_check_vectors", check)
    assert plain.publisher.publish(laws, both, convert_to=GRAPH) == 2
    assert vectors(plain) == {"L/1": THREE, "M/1": ONE}
    assert plain.publisher.law_states() == {"L": "s1", "M": "s2"}


def test_another_graph_starts_without_states_and_one_that_moved_keeps_them(
    store: StatuteDocumentStore,
) -> None:
    store.publisher.publish({"L": law("L", "a")}, {"L": made("s1", ONE)})
    store.publisher.record_model(replace(GRAPH, path="elsewhere/one"))
    assert store.publisher.law_states() == {"L": "s1"}
    store.delete_all_documents()
    store.publisher.record_model(replace(GRAPH, digest="another graph"))
    assert store.publisher.law_states() == {}
