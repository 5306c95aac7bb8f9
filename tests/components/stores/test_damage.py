"""Crafted and damaged store files: each is refused with its name, or answers like any other."""

import contextlib
import io
import json
import random
import shutil
import sqlite3
import struct
from contextlib import closing
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from haystack import Document
from haystack.errors import FilterError

from components.rankers.gate import load_threshold
from components.retrievers.bm25 import StatuteBM25Retriever
from components.retrievers.citation import CitationRetriever
from components.retrievers.embedding import StatuteEmbeddingRetriever
from components.retrievers.structure import StructureExpander
from components.retrievers.validity import in_force_on
from components.stores.database import StoreError, limit_steps, upgrade
from components.stores.publishing import StoreModel
from components.stores.sqlite import StatuteDocumentStore

DIM = 8
PAGE = 4096
BM25 = "bm25/1.5/0.75"
DIGEST = "d" * 64
QUESTION = "What does article 3 of the Housing Code say of the tenant and the rent?"
IN_FORCE = in_force_on(date(2024, 1, 1))
# Answered by Haystack's own matcher, from inside SQLite.
MATCHED = {"field": "meta.valid_from", "operator": "<", "value": "2030-01-01T00:00:00"}


def article(number, **fields):
    meta = {
        "law": "Housing Code",
        "number": str(number),
        "headings": ["Title I", "Rent"],
        "language": "en",
        "valid_from": "2009-01-01",
        "position": number,
    }
    text = f"The tenant pays the rent of month {number}, as article {number + 1} says."
    vector = np.cos(np.arange(DIM) * (number + 1.0)).tolist()
    return Document(id=f"housing-{number}", content=text, meta=meta, embedding=vector, **fields)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A store with everything in it that one can have."""
    path = tmp_path_factory.mktemp("sound") / "law.db"
    store = StatuteDocumentStore(path)
    store.publisher.record_model(StoreModel("some-model", DIGEST, DIM, "headings_text"))
    store.write_documents([article(number) for number in range(12)])
    store.publisher.record_corpus("c" * 64, date(2024, 1, 1))
    vector = np.arange(1, DIM + 1, dtype=np.float32)
    store.journal.keep(DIGEST, {"1" * 64: vector, "2" * 64: vector})
    StatuteBM25Retriever(store).warm_up()
    store.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        upgrade(connection)
        connection.execute("INSERT INTO law_states VALUES ('Housing Code', 'state')")
    return path


@pytest.fixture
def path(sound, tmp_path):
    return Path(shutil.copy(sound, tmp_path / "law.db"))


# Everything that reads a store, by name.
READS = {
    "open": lambda store: store.content_version(),
    "count": lambda store: store.count_documents(),
    "documents": lambda store: store.filter_documents(),
    "filter": lambda store: store.filter_documents(IN_FORCE),
    "match": lambda store: store.filter_documents(MATCHED),
    "model": lambda store: store.model,
    "records": lambda store: (store.publisher.recorded_corpus(), store.publisher.recorded_days()),
    "published": lambda store: store.publisher.published(),
    "states": lambda store: store.publisher.law_states(),
    "known": lambda store: store.journal.known(DIGEST),
    "journal": lambda store: store.journal.vectors(DIGEST, ["1" * 64, "2" * 64]),
    "threshold": lambda store: load_threshold(store, "dense", DIGEST),
    "bm25": lambda store: StatuteBM25Retriever(store).run(QUESTION),
    "dense": lambda store: StatuteEmbeddingRetriever(store).run([1.0] * DIM, IN_FORCE),
    "citation": lambda store: CitationRetriever(store).run(QUESTION, MATCHED),
    "structure": lambda store: StructureExpander(store).run([article(3)]),
}


def refusals(path, among=tuple(READS)):
    """Which reads are refused, and how; anything but a result or a StoreError is raised.

    Haystack's filters refuse an unreadable day with a FilterError.
    """
    store = StatuteDocumentStore(path)
    refused = {}
    for name in among:
        try:
            READS[name](store)
        except FilterError:
            assert name in ("filter", "match")
        except StoreError as error:
            assert str(path) in str(error), name
            assert len(str(error)) < 1000, name
            refused[name] = str(error)
    store.close()
    return refused


def sql(*statements, values=()):
    """SQL that another program ran over the file; `values` are bound in the last statement."""

    def craft(path):
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA writable_schema = ON")
            for statement in statements[:-1]:
                connection.execute(statement)
            connection.execute(statements[-1], values)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    return craft


def column(name, value, where="id = 'housing-3'", of="documents"):
    return sql(f"UPDATE {of} SET {name} = ? WHERE {where}", values=(value,))


def embedding(*numbers):
    return column("embedding", np.array(numbers, dtype=np.float32).tobytes())


def fact(key, value):
    return sql("INSERT OR REPLACE INTO facts VALUES (?, ?)", values=(key, value))


def model(**fields):
    record = {"path": "m", "digest": DIGEST, "dim": DIM, "text_rule": "headings_text", **fields}
    return fact("model", json.dumps(record))


def redefined(definition):
    """The table of documents with another definition of its last column."""
    replaced = "UPDATE sqlite_master SET sql = replace(sql, 'embedding BLOB', ?) WHERE name = ?"
    return sql(replaced, values=(definition, "documents"))


def nested(levels):
    return '{"law": "Housing Code", "x": ' + "[" * levels + "]" * levels + "}"


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
COLUMNS = "key, id, content, meta, other, law, position, text_digest, embedding"
NOT_TEXT = "UPDATE sqlite_master SET sql = CAST(x'ff' AS TEXT) WHERE name = 'documents'"
TABLES = {
    "a view without end": sql(
        "ALTER TABLE documents RENAME TO kept",
        f"CREATE VIEW documents AS {ENDLESS} SELECT i AS key, {COLUMNS[5:]} FROM n, kept",
    ),
    "a trigger": sql("CREATE TRIGGER t AFTER INSERT ON blobs BEGIN DELETE FROM documents; END"),
    "a table": sql("CREATE TABLE others (x)"),
    "a virtual table": sql("CREATE VIRTUAL TABLE words USING fts5(x)"),
    "an index": sql("CREATE INDEX i ON documents (abs(position))"),
    "a missing index": sql("DROP INDEX documents_in_order"),
    "a table of a later format": sql("PRAGMA user_version = 1"),
    "an invalid definition": redefined("embedding BLOB, (("),
    "a definition that is not text": sql(NOT_TEXT),
}


@pytest.mark.parametrize("craft", TABLES.values(), ids=TABLES)
def test_a_file_of_other_tables_is_refused_before_it_is_read(path, craft):
    craft(path)
    before = path.read_bytes()
    assert set(refusals(path)) == set(READS)
    assert path.read_bytes() == before


# What a row or record holds, the reads that must refuse it (others may), and what they name.
META = ("documents", "housing-3")
VECTOR = ("documents dense", "housing-3")
MODEL = ("model documents dense", "'model'")
SHORT = np.float32([1.0]).tobytes()
VALUES = {
    "vector of NaN": (embedding(*[float("nan")] * DIM), VECTOR),
    "vector of zeros": (embedding(*[0.0] * DIM), VECTOR),
    "short vector": (embedding(1.0, 2.0), VECTOR),
    "all vectors short": (column("embedding", SHORT, "1"), ("dense", "housing-0")),
    "meta that is a list": (column("meta", "[1]"), ("filter match documents", "housing-3")),
    "meta of a million levels": (column("meta", nested(1_000_000)), META),
    "meta with NaN": (column("meta", '{"law": "Housing Code", "x": NaN}'), META),
    "meta with half of a character": (column("meta", '{"law": "\\ud800"}'), META),
    "meta of another law": (column("meta", '{"law": ["Housing Code"]}'), ("citation", "housing-3")),
    "meta of a number too long": (column("meta", f'{{"x": {"9" * 5000}}}'), META),
    "meta that is not UTF-8": (
        sql("UPDATE documents SET meta = CAST(x'7bff' AS TEXT) WHERE id = 'housing-3'"),
        ("documents filter bm25", "'meta'"),
    ),
    "content of bytes": (column("content", b"The tenant"), ("documents bm25", "housing-3")),
    "id of bytes": (column("id", b"housing-3"), ("documents bm25 citation", "housing-3")),
    "empty id": (column("id", ""), ("documents", "''")),
    "law of bytes": (column("law", b"Housing Code"), ("citation published", "housing-3")),
    "digest of bytes": (column("text_digest", b"1"), ("published", "housing-3")),
    "position of text": (column("position", "third"), ("", "")),
    "model of another length": (model(dim=DIM + 1), ("documents dense", "housing-0")),
    "model of a length in text": (model(dim="8"), MODEL),
    "model with an unknown key": (model(qath="m"), MODEL),
    "model that is a list": (fact("model", "[1]"), MODEL),
    "model of many levels": (fact("model", nested(100_000)), MODEL),
    "version of text": (fact("content_version", '"x"'), ("open bm25 dense", "'content_version'")),
    "no version": (
        sql("DELETE FROM facts WHERE key = 'content_version'"),
        ("open bm25", "'content_version'"),
    ),
    "an invalid day": (fact("snapshot", '"soon"'), ("records", "'snapshot'")),
    "kept vector too short": (column("vector", SHORT, "1", "journal"), ("known journal", "1" * 64)),
    "BM25 index of text": (column("content", "x", f"name = '{BM25}'", "blobs"), ("bm25", BM25)),
    "threshold of many levels": (
        sql(
            "INSERT INTO blobs VALUES (?, '1', ?)",
            values=(f"answer threshold dense {DIGEST}", b"[" * 100_000),
        ),
        ("", ""),
    ),
}


@pytest.mark.parametrize(("craft", "expected"), VALUES.values(), ids=VALUES)
def test_an_invalid_value_is_named(path, craft, expected):
    craft(path)
    refused = refusals(path)
    reads, named = expected
    assert set(reads.split()) <= set(refused)
    for name in reads.split():
        assert named in refused[name]


def test_the_statistics_of_analyze_are_no_damage(path):
    sql("ANALYZE")(path)
    assert refusals(path) == {}


def stored(parts, save=np.savez):
    file = io.BytesIO()
    save(file, **parts)
    return file.getvalue()


def words(terms, languages):
    text = json.dumps({"terms": terms, "languages": languages}).encode()
    return np.frombuffer(text, dtype=np.uint8)


def with_(name, change):
    return lambda parts: stored({**parts, name: change(parts[name])})


BLOBS = {
    "nothing": lambda _: b"",
    "a pickle": with_("keys", lambda _: np.array([{}], dtype=object)),
    "too few keys": with_("keys", lambda keys: keys[:1]),
    "half of it": lambda parts: stored(parts)[:-400],
    "packed": lambda parts: stored(parts, np.savez_compressed),
    "keys in a table": with_("keys", lambda keys: keys.reshape(-1, 1)),
    "rows out of range": with_("indices", lambda rows: rows + 100),
    "ranges that go back": with_("indptr", lambda ends: np.r_[0, ends[-1], ends[2:]]),
    "scores of NaN": with_("data", lambda data: data * np.float32("nan")),
    "a language of numbers": with_(
        "words", lambda old: words(json.loads(old.tobytes())["terms"], [7])
    ),
    "words of many levels": with_("words", lambda _: np.frombuffer(b"[" * 100_000, np.uint8)),
}


@pytest.mark.parametrize("make", BLOBS.values(), ids=BLOBS)
def test_a_crafted_bm25_index_is_built_again(path, make, caplog):
    store = StatuteDocumentStore(path)
    version, content = store.load_blob(BM25)
    with np.load(io.BytesIO(content)) as parts:
        store.save_blob(BM25, version, make(dict(parts)))
    found = StatuteBM25Retriever(store, top_k=2).run("month 7")["documents"]
    assert {document.id for document in found} == {"housing-6", "housing-7"}
    assert caplog.records
    assert store.load_blob(BM25) == (version, content)


def rewritten(path, change):
    """The file with other pages."""
    content = path.read_bytes()
    pages = [content[at : at + PAGE] for at in range(0, len(content), PAGE)]
    change(pages)
    pages[0] = pages[0][:28] + struct.pack(">I", len(pages)) + pages[0][32:]
    path.write_bytes(b"".join(pages))


def endless(tree):
    """A table or index whose pages lead to the same page hundreds of times each, on ten levels."""

    def craft(path):
        with closing(sqlite3.connect(path)) as connection:
            asked = "SELECT rootpage FROM sqlite_master WHERE name = ?"
            ((root,),) = connection.execute(asked, (tree,))

        def change(pages):
            leaf = pages[root - 1]
            is_index = leaf[0] == 10
            at = int.from_bytes(leaf[8:10])
            entry = leaf[at : at + 1 + leaf[at]] if is_index else b"\x01"
            pages.append(leaf)
            for _ in range(10):
                cell = struct.pack(">I", len(pages)) + entry
                number = (PAGE - 12) // (len(cell) + 2)
                places = [PAGE - len(cell) * (each + 1) for each in range(number)]
                kind = 2 if is_index else 5
                head = struct.pack(">BHHHBI", kind, 0, number, places[-1], 0, len(pages))
                page = head + b"".join(struct.pack(">H", place) for place in places)
                pages.append(page.ljust(places[-1], b"\0") + cell * number)
            pages[root - 1] = pages.pop()

        rewritten(path, change)

    return craft


PAGES = {
    "an index": (endless("documents_in_order"), "count documents filter dense"),
    "documents": (endless("documents"), "published"),
    "a journal's index": (endless("sqlite_autoindex_journal_1"), "known"),
}


@pytest.mark.parametrize(("craft", "reads"), PAGES.values(), ids=PAGES)
def test_an_endless_read_is_stopped(path, craft, reads):
    craft(path)
    assert set(refusals(path, reads.split())) == set(reads.split())


def test_the_limit_of_steps_allows_the_smallest_rows(store, monkeypatch):
    store.write_documents([Document(id=f"{number}") for number in range(3_000)])
    wide = {"operator": "OR", "conditions": [{**MATCHED, "value": "2030-01-01"}] * 50}
    listed = {"field": "meta.law", "operator": "in", "value": [str(each) for each in range(9_000)]}
    # Nothing but what the file's size accounts for, and a fifth of that.
    monkeypatch.setattr("components.stores.database._FREE_STEPS", 0)
    monkeypatch.setattr("components.stores.database._STEPS_A_LOOK", 1_000)
    monkeypatch.setattr(
        "components.stores.database.limit_steps",
        lambda at, most: limit_steps(at, most and most // 5),
    )
    assert store.count_documents() == len(store.keys_matching(None)) == 3_000
    for filters in (IN_FORCE, MATCHED, wide, listed):
        store.keys_matching(filters)
    assert len(store.filter_documents()) == 3_000
    assert len(store.vectors()[0]) == len(list(store.texts())) == len(list(store.entries())) == 0


CELLS = [
    ("documents", COLUMNS.split(", ")[1:]),
    ("facts", ["key", "value"]),
    ("journal", ["model", "text_digest", "vector"]),
    ("blobs", ["name", "version", "content"]),
    ("law_states", ["law", "state"]),
]
CONTENT = [None, 7, -(2**63), 1.5, *("", "x", "[]", "{}", "NaN", '{"law": []}'), b"", b"\xff"]


@pytest.mark.parametrize(
    ("seed", "turns"),
    [(0, 12), *(pytest.param(n, 40, marks=pytest.mark.slow) for n in range(1, 5))],
)
def test_random_damage_raises_no_other_error(sound, tmp_path, seed, turns):
    dice = random.Random(seed)
    for turn in range(turns):
        path = Path(shutil.copy(sound, tmp_path / f"{turn}.db"))
        if turn % 2:
            content = bytearray(path.read_bytes())
            for _ in range(dice.choice([1, 2, 8, 64])):
                content[dice.randrange(100, len(content))] = dice.randrange(256)
            path.write_bytes(content)
        else:
            table, names = dice.choice(CELLS)
            rowid = "" if table in ("facts", "law_states") else "rowid % 3 = 0"
            with contextlib.suppress(sqlite3.IntegrityError):
                column(dice.choice(names), dice.choice(CONTENT), rowid or "1", table)(path)
        refusals(path)
