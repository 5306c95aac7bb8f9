"""Publishing whole laws: vectors, graphs, the order of articles, and failures on the way."""

import sqlite3
import threading
from contextlib import closing
from dataclasses import asdict, replace
from datetime import date

import numpy as np
import pytest
from haystack import Document
from haystack.components.writers import DocumentWriter
from haystack.dataclasses import ByteStream
from haystack.document_stores.types import DuplicatePolicy
from hypothesis import given
from hypothesis import strategies as st

from components.converters.statutes import StatuteConverter
from components.models.stored_vectors import text_digest
from components.stores.database import FIRST_FORMAT, FORMAT_VERSION, StoreError
from components.stores.publishing import (
    LawVectors,
    Place,
    Published,
    StoreModel,
    arrange,
)
from components.stores.sqlite import StatuteDocumentStore

PLAIN = StoreModel("models/one", "digest-one", 4, "headings_text")
GRAPH = replace(PLAIN, digest="digest-graph", biencoder=PLAIN.digest)


def vector(text):
    seed = int(text_digest(text)[:8], 16)
    return np.random.default_rng(seed).standard_normal(4).astype(np.float32)


def law(name, *texts, start=0):
    """A law whose articles have the positions from `start`."""
    articles = []
    for n, text in enumerate(texts, start=1):
        meta = {"law": name, "position": start + n - 1}
        articles.append((Document(id=f"{name}/{n}", content=text, meta=meta), text_digest(text)))
    return articles


def digests(*texts):
    return {text_digest(text) for text in texts}


def encode(store, *texts, model=PLAIN.digest):
    store.journal.keep(model, {text_digest(text): vector(text) for text in texts})


def contents(store):
    return {document.id: document.content for document in store.filter_documents()}


def vectors(store):
    return {each.id: each.embedding for each in store.filter_documents()}


def check_vectors(store):
    for document in store.filter_documents():
        found = np.float32(document.embedding or [])
        np.testing.assert_array_equal(found, vector(document.content))


@pytest.fixture
def plain(store):
    """A store with the law L, its texts "a" and "b" encoded, and an empty journal."""
    store.publisher.record_model(PLAIN)
    encode(store, "a", "b")
    assert store.publisher.publish({"L": law("L", "a", "b")}) == 2
    store.journal.keep_only(None, ())
    return store


def test_only_what_changed_is_written(plain):
    check_vectors(plain)
    assert plain.publisher.published() == {
        f"L/{n}": Published("L", text_digest(text), has_vector=True)
        for n, text in enumerate("ab", start=1)
    }
    before = plain.content_version()
    assert plain.publisher.publish({"L": law("L", "a", "b")}) == 0
    with pytest.raises(StoreError, match="L/2"):  # its vector is missing
        plain.publisher.publish({"L": law("L", "a", "new")})
    assert contents(plain) == {"L/1": "a", "L/2": "b"}
    assert plain.content_version() == before
    keys = plain.keys_of(["L/1"])
    encode(plain, "new")
    other = StatuteDocumentStore(plain.path)
    assert other.content_version() == before, "readers do not see the journal"
    assert plain.publisher.publish({"L": law("L", "a", "new")}) == 1
    assert other.content_version() > before
    assert contents(plain) == {"L/1": "a", "L/2": "new"}
    assert plain.keys_of(["L/1"]) == keys
    # A law that moved needs no vectors.
    plain.journal.keep_only(None, ())
    assert plain.publisher.publish({"L": law("L", "a", "new", start=7)}) == 2
    assert [each.meta["position"] for each in plain.filter_documents()] == [7, 8]
    check_vectors(plain)


def test_articles_and_laws_go_and_move(plain):
    plain.journal.hold(PLAIN.digest, [text_digest("b")])
    moved = [(Document(id="L/2", content="b", meta={"law": "M", "position": 1}), text_digest("b"))]
    plain.publisher.publish({"L": law("L", "a"), "M": moved})
    laws = {id_: each.law for id_, each in plain.publisher.published().items()}
    assert laws == {"L/1": "L", "L/2": "M"}
    check_vectors(plain)
    assert plain.publisher.publish({"L": []}) == 1
    assert contents(plain) == {"L/2": "b"}


def test_the_model_may_change_until_there_are_vectors(store):
    other = StoreModel("models/two", "digest-two", 8, "text")
    store.publisher.record_model(other)
    store.publisher.record_model(PLAIN)
    encode(store, "a")
    store.publisher.publish({"L": law("L", "a")})
    with pytest.raises(StoreError, match=r"models/one.*models/two"):
        store.publisher.record_model(other)
    moved = replace(PLAIN, path="elsewhere/one")
    store.publisher.record_model(moved)
    assert store.model == moved
    with closing(StatuteDocumentStore(store.path)) as again:  # it stands in the file
        assert again.model == moved


def test_a_full_disk_keeps_what_was_there(plain):
    with plain.database.in_use() as opened:
        connection = opened.connection
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    texts = ["x" * 5000 + str(number) for number in range(20)]
    with pytest.raises(StoreError, match="full"):
        encode(plain, *texts)
        plain.publisher.publish({"M": law("M", *texts)})
    assert contents(plain) == {"L/1": "a", "L/2": "b"}
    connection.execute("PRAGMA max_page_count = 1000000")
    encode(plain, *texts)
    plain.publisher.publish({"M": law("M", *texts)})
    assert plain.count_documents() == 22
    check_vectors(plain)


def test_a_reader_never_sees_part_of_a_law(store):
    reader = StatuteDocumentStore(store.path)
    versions = [law("L", *(f"{edition}-{n}" for n in range(30))) for edition in ("one", "two")]
    store.publisher.publish({"L": versions[0]})
    seen = set()
    done = threading.Event()

    def read():
        while not done.is_set():
            texts = [each.content for each in reader.filter_documents()]
            seen.add((len(texts), len({text.split("-")[0] for text in texts})))

    thread = threading.Thread(target=read)
    thread.start()
    for turn in range(30):
        store.publisher.publish({"L": versions[turn % 2]})
    done.set()
    thread.join()
    assert seen == {(30, 1)}


def test_the_day_of_a_corpus_is_kept_until_there_is_another_corpus(store, monkeypatch):
    class Day(date):
        @classmethod
        def today(cls):
            return date(2026, 5, 1)

    publisher = store.publisher
    assert publisher.recorded_days() == (None, None)
    publisher.record_corpus("11", date(2026, 3, 31))
    today = date.today().isoformat()
    assert publisher.recorded_days() == ("2026-03-31", today)
    monkeypatch.setattr("components.stores.publishing.date", Day)
    publisher.record_corpus("11")  # the same law again is not newer
    assert publisher.recorded_days() == ("2026-03-31", today)
    publisher.record_corpus("22")
    assert publisher.recorded_days() == (None, "2026-05-01")
    publisher.record_corpus("22", date(2026, 4, 1))
    assert publisher.recorded_days() == ("2026-04-01", "2026-05-01")


def test_the_check_of_each_source_is_kept(store):
    publisher = store.publisher
    assert publisher.recorded_checks() == {}
    for source in ("a.md", "b.md", "a.md"):
        publisher.record_check(source, f"Read {source}", alone=False)
    assert publisher.recorded_checks() == {"b.md": "Read b.md", "a.md": "Read a.md"}
    publisher.record_check("c.md", "Read c.md", alone=True)
    assert list(publisher.recorded_checks()) == ["c.md"]


# The journal: vectors of texts, by encoder


def test_vectors_come_from_the_journal_or_the_documents(plain):
    many = [f"text {number}" for number in range(1_200)]
    encode(plain, *many)
    encode(plain, "a", "other", model="another model")
    assert plain.journal.known(PLAIN.digest) == digests("a", "b", *many)
    assert plain.journal.known("another model") == digests("a", "other")
    found = plain.journal.vectors(PLAIN.digest, digests("a", "other", *many))
    assert set(found) == digests("a", *many)
    for text in ("a", *many):
        np.testing.assert_array_equal(found[text_digest(text)], vector(text))


@pytest.mark.parametrize("kept", [None, "article 7"])
def test_the_file_shrinks_with_the_journal(store, kept):
    wide = np.ones(512, dtype=np.float32)
    store.journal.keep(PLAIN.digest, {text_digest(f"article {n}"): wide for n in range(1000)})
    store.close()
    full = store.database.path.stat().st_size
    if kept is None:
        store.journal.keep_only(None, ())
    else:
        store.journal.keep_only(PLAIN.digest, digests(kept))
    store.close()
    assert store.database.path.stat().st_size < full / 10


# Vectors that a graph made, with the state of each law that they were made from

ONE, TWO, THREE = [1.0, 0, 0, 0], [0, 2.0, 0, 0], [0, 0, 3.0, 0]


def made(state, *rows):
    return LawVectors(state, np.float32(rows))


def format_of(store):
    return int(next(store.database.rows("PRAGMA user_version"))[0])


@pytest.fixture
def graph(store):
    store.publisher.record_model(GRAPH)
    laws = {"L": law("L", "a", "b"), "M": law("M", "c")}
    states = {"L": made("s1", ONE, TWO), "M": made("s2", THREE)}
    assert store.publisher.publish(laws, states) == 3
    return store


def test_only_vectors_that_differ_are_written(graph):
    assert vectors(graph) == {"L/1": ONE, "L/2": TWO, "M/1": THREE}
    assert (graph.model, graph.publisher.law_states()) == (GRAPH, {"L": "s1", "M": "s2"})
    publish = graph.publisher.publish
    keys, before = graph.keys_of(["L/1", "L/2"]), graph.content_version()
    assert publish({"L": law("L", "a", "b")}, {"L": made("s9", ONE, TWO)}) == 0
    assert graph.content_version() == before
    assert graph.publisher.law_states()["L"] == "s9"
    assert publish({"L": law("L", "a", "b")}, {"L": made("s8", ONE, THREE)}) == 1
    assert graph.content_version() > before
    assert vectors(graph) == {"L/1": ONE, "L/2": THREE, "M/1": THREE}
    assert graph.keys_of(["L/1", "L/2"]) == keys
    # A law that only moved needs no vectors.
    assert publish({"L": law("L", "a", "b", start=9)}) == 2
    assert vectors(graph)["L/2"] == THREE
    assert graph.publisher.law_states()["L"] == "s8"
    # The encoder's vector of a text is not the graph's.
    encode(graph, "new")
    with pytest.raises(StoreError, match="L/1"):
        publish({"L": law("L", "new", "b")})


def test_a_plain_store_has_the_first_format_and_takes_a_graph(plain):
    assert format_of(plain) == FIRST_FORMAT
    known = {name: value for name, value in asdict(PLAIN).items() if value is not None}
    assert plain.database.fact("model") == known
    assert plain.publisher.law_states() == {}
    plain.close()
    with closing(sqlite3.connect(plain.path)) as connection:
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    assert "law_states" not in tables
    states = {"L": made("s1", TWO, ONE)}
    plain.publisher.publish({"L": law("L", "a", "b")}, states, convert_to=GRAPH)
    assert vectors(plain) == {"L/1": TWO, "L/2": ONE}
    assert (plain.model, format_of(plain)) == (GRAPH, FORMAT_VERSION)


def test_vectors_of_both_kinds_are_never_mixed(plain, monkeypatch):
    encode(plain, "c")
    plain.publisher.publish({"M": law("M", "c")})
    before = vectors(plain)
    laws = {"L": law("L", "a", "b"), "M": law("M", "c")}
    states = {"L": made("s1", THREE, TWO), "M": made("s2", ONE)}
    with pytest.raises(StoreError, match="models/one"):
        plain.publisher.record_model(GRAPH)
    with pytest.raises(StoreError, match="M"):
        plain.publisher.publish({"L": laws["L"]}, {"L": states["L"]}, convert_to=GRAPH)

    def fails(*_):
        raise RuntimeError("pulled the plug")

    with monkeypatch.context() as patch:
        patch.setattr(type(plain.publisher), "_check_vectors", fails)
        with pytest.raises(RuntimeError, match="plug"):
            plain.publisher.publish(laws, states, convert_to=GRAPH)
    assert vectors(plain) == before
    assert (plain.model, format_of(plain)) == (PLAIN, FIRST_FORMAT)
    plain.write_documents([Document(id="x", content="x", embedding=ONE)])
    with pytest.raises(StoreError, match="no law"):
        plain.publisher.publish(laws, states, convert_to=GRAPH)
    plain.delete_documents(["x"])
    assert plain.publisher.publish(laws, states, convert_to=GRAPH) == 3
    assert plain.publisher.law_states() == {"L": "s1", "M": "s2"}


# The order of articles, whatever part of the law is written


def converted(*ids):
    """Articles from one source; the letter of an id is its law, its digit the number."""
    lines = (
        f'{{"id": "{id_}", "law": "{id_[0]}", "number": "{id_[1:]}", "headings": [], '
        f'"text": "Rule {id_}."}}\n'
        for id_ in ids
    )
    return list(StatuteConverter().run([ByteStream("".join(lines).encode())])["documents"])


def write(store, ids, policy=DuplicatePolicy.OVERWRITE):
    DocumentWriter(store, policy).run(converted(*ids.split()))
    return " ".join(each.id for each in store.filter_documents())


def sizes(store):
    return {each.meta["law"]: each.meta["law_articles"] for each in store.filter_documents()}


@pytest.mark.parametrize(
    ("written", "then", "order", "laws"),
    [
        ("A1 A2 A3 B1 B2", "A2", "A1 A2 A3 B1 B2", {"A": 3, "B": 2}),  # amended
        ("B1 B2", "A1 A2", "B1 B2 A1 A2", {"B": 2, "A": 2}),  # another law
        # New articles follow the known one before them.
        ("A1 A2 A5 B1", "A2 A3 A4", "A1 A2 A3 A4 A5 B1", {"A": 5, "B": 1}),
        ("A1 A2 B1", "A0 A1", "A0 A1 A2 B1", {"A": 3, "B": 1}),
        ("A1 A2 B1", "A9", "A1 A2 A9 B1", {"A": 3, "B": 1}),
        # A whole law is numbered as given at its place.
        ("A1 B1 B2 C1", "B2 B3 B1", "A1 B2 B3 B1 C1", {"A": 1, "B": 3, "C": 1}),
        ("A1 B1 C1", "C1 B1 B2 A1", "C1 B1 B2 A1", {"A": 1, "B": 2, "C": 1}),
    ],
)
def test_articles_are_placed_in_their_law(store, written, then, order, laws):
    write(store, written)
    assert write(store, then) == order
    assert sizes(store) == laws


def test_skipped_and_foreign_documents_keep_their_place(store):
    write(store, "A1 A2 B1")
    assert write(store, "A2 A3 A1", DuplicatePolicy.SKIP) == "A1 A2 A3 B1"
    moved = Document(id="A2", content="x", meta={"law": "C", "position": 0, "law_articles": 1})
    store.write_documents([moved], DuplicatePolicy.OVERWRITE)
    assert [each.id for each in store.filter_documents()] == ["A1", "A3", "B1", "A2"]
    store.delete_all_documents()
    own = Document(id="own", content="Mine.", meta={"law": "Z", "position": 7})
    last = Document(id="last", content="Mine too.", meta={"law": "Z"})
    store.write_documents([own, last, Document(id="note", meta={"position": 0})])
    assert write(store, "A1") == "note own A1 last"
    assert store.filter_documents()[1] == own


def test_a_law_of_a_stored_title_is_written_as_another(store):
    acts = {
        law_id: [
            replace(each, id=f"{law_id}:{each.id}", meta={**each.meta, "law_id": law_id})
            for each in converted("A1", "A2")
        ]
        for law_id in ("x/1", "x/2")
    }
    for law_id in ("x/1", "x/2", "x/1", "x/2"):
        DocumentWriter(store, DuplicatePolicy.OVERWRITE).run(acts[law_id])
    assert sizes(store) == {"A": 2, "A (x/2)": 2}
    assert sorted(store.laws()) == [("A", "x/1", ()), ("A (x/2)", "x/2", ())]
    assert store.count_documents() == 4


def test_part_of_a_law_is_never_taken_for_the_whole(store):
    documents = converted("A1", "A2", "A3", "A4")
    store.write_documents(documents[:2])
    write(store, "A1")
    assert sizes(store) == {"A": 4}
    store.write_documents(documents[2:])
    assert [each.id for each in store.filter_documents()] == ["A1", "A2", "A3", "A4"]
    store.delete_documents(["A4"])
    write(store, "A1 A2 A3")
    assert sizes(store) == {"A": 3}


LAWS = "ABC"
ARTICLES = st.lists(
    st.tuples(st.sampled_from(LAWS), st.integers(0, 5)).map(lambda each: f"{each[0]}{each[1]}"),
    unique=True,
    max_size=12,
)


@given(ARTICLES, ARTICLES, st.lists(st.integers(0, 3), min_size=12, max_size=12))
def test_the_order_of_laws_holds(before, after, gaps):
    position = 0
    stored = []
    for key, (id_, gap) in enumerate(zip(before, gaps, strict=False)):
        position += gap + 1
        stored.append(Place(key, id_, id_[0], position))
    laws = {id_[0] for id_ in after}
    positions = arrange(stored, {id_: id_[0] for id_ in after})
    order = list(positions)
    assert list(positions.values()) == sorted(set(positions.values()))
    assert set(order) == {id_ for id_ in before if id_[0] not in laws} | set(after)
    for each in LAWS:
        expected = after if each in laws else before
        assert [x for x in order if x[0] == each] == [x for x in expected if x[0] == each]
    # What is not given stays in its order, new laws come last, and repeating changes nothing.
    assert [x for x in order if x[0] not in laws] == [x for x in before if x[0] not in laws]
    if before and not {id_[0] for id_ in before} <= laws:
        new = [id_ for id_ in after if id_[0] not in {each[0] for each in before}]
        assert order[len(order) - len(new) :] == new
    again = [Place(0, id_, id_[0], place) for id_, place in positions.items()]
    rest = {id_[0] for id_ in order} - laws
    expected = positions if rest else {x: n for n, x in enumerate(after)}
    assert arrange(again, {id_: id_[0] for id_ in after}) == expected
