"""Publishing: whole laws, vectors from the journal, and what a full disk or a kill leaves."""

import hashlib
import threading
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from haystack import Document

from components.stores.failures import StoreError
from components.stores.model_record import StoreModel
from components.stores.publishing import Published
from components.stores.sqlite import StatuteDocumentStore

MODEL = StoreModel("models/one", "digest-one", 4, "headings_text")


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def vector(text: str) -> np.ndarray:
    seed = int(digest(text)[:8], 16)
    return np.random.default_rng(seed).standard_normal(4).astype(np.float32)


def law(name: str, *texts: str, start: int = 0) -> list[tuple[Document, str]]:
    """A law whose articles are numbered from `start` + 1."""
    return [
        (
            Document(
                id=f"{name}/{number}",
                content=text,
                meta={"law": name, "number": str(number), "position": start + number - 1},
            ),
            digest(text),
        )
        for number, text in enumerate(texts, start=1)
    ]


@pytest.fixture
def store(tmp_path: Path) -> StatuteDocumentStore:
    store = StatuteDocumentStore(str(tmp_path / "law.db"))
    store.publisher.record_model(MODEL)
    return store


def encode(store: StatuteDocumentStore, *texts: str) -> None:
    store.journal.keep(MODEL.digest, {digest(text): vector(text) for text in texts})


def contents(store: StatuteDocumentStore) -> dict[str, str | None]:
    return {document.id: document.content for document in store.filter_documents()}


def assert_vectors_fit(store: StatuteDocumentStore) -> None:
    for document in store.filter_documents():
        assert document.content is not None
        np.testing.assert_array_equal(
            np.float32(document.embedding or []), vector(document.content)
        )


def test_a_published_law_has_the_journals_vectors(store: StatuteDocumentStore) -> None:
    encode(store, "a", "b")
    assert store.publisher.publish({"L": law("L", "a", "b")}) == 2
    assert contents(store) == {"L/1": "a", "L/2": "b"}
    assert_vectors_fit(store)
    assert store.publisher.published() == {
        "L/1": Published("L", digest("a"), has_vector=True),
        "L/2": Published("L", digest("b"), has_vector=True),
    }


def test_publishing_the_same_again_writes_nothing(store: StatuteDocumentStore) -> None:
    encode(store, "a", "b")
    store.publisher.publish({"L": law("L", "a", "b")})
    before = store.content_version()
    assert store.publisher.publish({"L": law("L", "a", "b")}) == 0
    assert store.content_version() == before


def test_a_changed_article_leaves_the_others_keys_and_vectors(store: StatuteDocumentStore) -> None:
    encode(store, "a", "b", "new")
    store.publisher.publish({"L": law("L", "a", "b")})
    (kept,) = store.keys_of(["L/1"])
    assert store.publisher.publish({"L": law("L", "a", "new")}) == 1
    assert contents(store) == {"L/1": "a", "L/2": "new"}
    assert store.keys_of(["L/1"]) == [kept]
    assert_vectors_fit(store)


def test_a_moved_law_needs_no_vectors(store: StatuteDocumentStore) -> None:
    encode(store, "a", "b")
    store.publisher.publish({"L": law("L", "a", "b")})
    store.journal.clear()
    assert store.publisher.publish({"L": law("L", "a", "b", start=7)}) == 2
    assert [each.meta["position"] for each in store.filter_documents()] == [7, 8]
    assert_vectors_fit(store)


def test_an_article_that_a_law_lost_goes(store: StatuteDocumentStore) -> None:
    encode(store, "a", "b")
    store.publisher.publish({"L": law("L", "a", "b")})
    assert store.publisher.publish({"L": law("L", "a")}) == 1
    assert contents(store) == {"L/1": "a"}


def test_a_law_that_the_corpus_lost_goes(store: StatuteDocumentStore) -> None:
    encode(store, "a", "b")
    store.publisher.publish({"L": law("L", "a"), "M": law("M", "b")})
    store.publisher.publish({"L": []})
    assert contents(store) == {"M/1": "b"}


def test_an_article_moves_to_another_law_with_its_vector(store: StatuteDocumentStore) -> None:
    encode(store, "a", "b")
    store.publisher.publish({"L": law("L", "a", "b")})
    store.journal.clear()
    moved = [
        (Document(id="L/2", content="b", meta={"law": "M", "number": "2", "position": 1}), "x"),
    ]
    moved = [(document, digest("b")) for document, _ in moved]
    store.journal.hold(MODEL.digest, [digest("b")])
    store.publisher.publish({"L": law("L", "a"), "M": moved})
    assert store.publisher.published() == {
        "L/1": Published("L", digest("a"), has_vector=True),
        "L/2": Published("M", digest("b"), has_vector=True),
    }
    assert_vectors_fit(store)


def test_a_missing_vector_is_named_and_nothing_is_published(store: StatuteDocumentStore) -> None:
    encode(store, "a")
    with pytest.raises(StoreError, match=r"L/2.*one at a time"):
        store.publisher.publish({"L": law("L", "a", "b")})
    assert contents(store) == {}


def test_without_a_model_laws_are_published_without_vectors(tmp_path: Path) -> None:
    store = StatuteDocumentStore(str(tmp_path / "text.db"))
    store.publisher.publish({"L": law("L", "a")})
    assert contents(store) == {"L/1": "a"}
    assert not store.has_vectors()
    # Later with a model: the same text is now written again, with its vector.
    store.publisher.record_model(MODEL)
    encode(store, "a")
    assert store.publisher.publish({"L": law("L", "a")}) == 1
    assert_vectors_fit(store)


def test_another_model_is_refused_while_there_are_vectors(store: StatuteDocumentStore) -> None:
    other = StoreModel("models/two", "digest-two", 8, "text")
    store.publisher.record_model(other)  # nothing is encoded yet: the first choice may be changed
    store.publisher.record_model(MODEL)
    encode(store, "a")
    store.publisher.publish({"L": law("L", "a")})
    with pytest.raises(StoreError, match=r"models/one.*models/two is another.*name a new store"):
        store.publisher.record_model(other)
    assert store.model == MODEL


def test_a_model_that_moved_is_the_same_model(store: StatuteDocumentStore) -> None:
    encode(store, "a")
    store.publisher.publish({"L": law("L", "a")})
    moved = StoreModel("elsewhere/one", MODEL.digest, MODEL.dim, MODEL.text_rule)
    store.publisher.record_model(moved)
    assert store.model == moved


def test_a_full_disk_keeps_what_stood_before_and_says_so(store: StatuteDocumentStore) -> None:
    encode(store, "a")
    store.publisher.publish({"L": law("L", "a")})
    with store.database.connected() as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    texts = ["x" * 5000 + str(number) for number in range(20)]
    with pytest.raises(StoreError, match="the disk is full"):
        encode(store, *texts)
        store.publisher.publish({"M": law("M", *texts)})
    assert contents(store) == {"L/1": "a"}
    connection.execute("PRAGMA max_page_count = 1000000")
    encode(store, *texts)
    store.publisher.publish({"M": law("M", *texts)})
    assert store.count_documents() == 21
    assert_vectors_fit(store)


def test_a_reader_never_sees_part_of_a_law(tmp_path: Path) -> None:
    path = str(tmp_path / "law.db")
    writer, reader = StatuteDocumentStore(path), StatuteDocumentStore(path)
    versions = [law("L", *(f"{edition}-{n}" for n in range(30))) for edition in ("one", "two")]
    writer.publisher.publish({"L": versions[0]})
    seen: set[tuple[int, int]] = set()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            texts = [each.content or "" for each in reader.filter_documents()]
            seen.add((len(texts), len({text.split("-")[0] for text in texts})))

    thread = threading.Thread(target=read)
    thread.start()
    for turn in range(40):
        writer.publisher.publish({"L": versions[turn % 2]})
    done.set()
    thread.join()
    assert seen == {(30, 1)}


def test_a_resident_reader_sees_a_change_by_the_version(store: StatuteDocumentStore) -> None:
    other = StatuteDocumentStore(store.path)
    before = other.content_version()
    encode(store, "a")
    assert other.content_version() == before  # the journal is nothing that readers see
    store.publisher.publish({"L": law("L", "a")})
    assert other.content_version() > before


def test_a_model_without_vectors_can_be_forgotten_and_one_with_vectors_stays(
    store: StatuteDocumentStore,
) -> None:
    store.publisher.record_model(StoreModel("m", "d" * 64, 2, "headings_text"))
    store.publisher.forget_model()
    assert store.model is None
    store.publisher.record_model(StoreModel("m", "d" * 64, 2, "headings_text"))
    store.write_documents([Document(id="a", content="x", embedding=[1.0, 0.0])])
    store.publisher.forget_model()
    assert store.model is not None


def test_the_day_of_a_corpus_is_kept_until_there_is_another_corpus(
    store: StatuteDocumentStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert store.publisher.recorded_days() == (None, None)
    publisher = store.publisher

    class Day(date):
        @classmethod
        def today(cls) -> date:
            return date(2026, 5, 1)

    publisher.record_corpus("11", date(2026, 3, 31))
    today = date.today().isoformat()
    assert publisher.recorded_days() == ("2026-03-31", today)
    monkeypatch.setattr("components.stores.publishing.date", Day)
    publisher.record_corpus("11")  # the same law again is no newer
    assert publisher.recorded_days() == ("2026-03-31", today)
    publisher.record_corpus("22")
    assert publisher.recorded_days() == (None, "2026-05-01")
    publisher.record_corpus("22", date(2026, 4, 1))
    assert publisher.recorded_days() == ("2026-04-01", "2026-05-01")
