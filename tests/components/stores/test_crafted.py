"""Files that were made to do harm: each is refused with its name, or answers like any other."""

import contextlib
import io
import json
import random
import shutil
import sqlite3
import struct
import zipfile
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from haystack import Document
from haystack.dataclasses import ByteStream, SparseEmbedding
from haystack.errors import FilterError

from components.retrievers.bm25 import StatuteBM25Retriever
from components.retrievers.citation import CitationRetriever
from components.retrievers.embedding import StatuteEmbeddingRetriever
from components.retrievers.structure import StructureExpander
from components.retrievers.validity import in_force_on
from components.stores import open_file
from components.stores.answerability import load_threshold
from components.stores.failures import StoreError
from components.stores.model_record import StoreModel
from components.stores.opening import upgrade
from components.stores.sqlite import StatuteDocumentStore
from pipelines import export, tree

DIM = 8
PAGE = 4096
BM25 = "bm25/1.5/0.75"
DIGEST = "d" * 64
REFERENCE = "What does article 3 of the Housing Code say of the tenant and the rent?"
IN_FORCE = in_force_on(date(2024, 1, 1))
# Answered by Haystack's own matcher, from inside SQLite.
MATCHED = {"field": "meta.valid_from", "operator": "<", "value": "2030-01-01T00:00:00"}

Craft = Callable[[Path], object]


def article(number: int, **fields: Any) -> Document:
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
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with everything in it that one can have."""
    path = tmp_path_factory.mktemp("honest") / "law.db"
    store = StatuteDocumentStore(path)
    store.publisher.record_model(StoreModel("some-model", DIGEST, DIM, "headings_text"))
    first = {"blob": ByteStream(b"scan", mime_type="image/png"), "score": 0.5}
    sparse = SparseEmbedding([1, 2], [0.5, 1.0])
    store.write_documents([article(0, **first, sparse_embedding=sparse)])
    store.write_documents([article(number) for number in range(1, 12)])
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
def path(honest: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(honest, tmp_path / "law.db"))


def asks(store: StatuteDocumentStore) -> Iterator[tuple[str, Callable[[], object]]]:
    """Everything that reads a store, by name."""
    path = str(store.path)
    publisher, journal = store.publisher, store.journal
    yield "open", store.content_version
    yield "count", store.count_documents
    yield "documents", store.filter_documents
    yield "filter", lambda: store.filter_documents(IN_FORCE)
    yield "match", lambda: store.filter_documents(MATCHED)
    yield "model", lambda: store.model
    yield "records", lambda: (publisher.recorded_corpus(), publisher.recorded_days())
    yield "published", publisher.published
    yield "states", publisher.law_states
    yield "known", lambda: journal.known(DIGEST)
    yield "journal", lambda: journal.vectors(DIGEST, ["1" * 64, "2" * 64])
    yield "threshold", lambda: load_threshold(store, "dense", DIGEST)
    yield "bm25", lambda: StatuteBM25Retriever(store).run(REFERENCE)
    yield "dense", lambda: StatuteEmbeddingRetriever(store).run([1.0] * DIM, IN_FORCE)
    yield "citation", lambda: CitationRetriever(store).run(REFERENCE, MATCHED)
    yield "structure", lambda: StructureExpander(store).run([article(3)])
    yield "export", lambda: command(export.main, path, "--output", f"{path}.jsonl")
    yield "tree", lambda: command(tree.main, path, "--neighbours", "--json")


def command(main: Callable[[list[str]], int], path: str, *arguments: str) -> None:
    """A command line, whose own report of a refusal is one again."""
    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipelines.command_line.say", said.append)
        patch.setattr("pipelines.export.show", said.append)
        patch.setattr("pipelines.tree.show", said.append)
        patch.setattr("os.fsync", lambda _: None)
        code = main(["--store", path, *arguments])
    Path(f"{path}.jsonl").unlink(missing_ok=True)
    if code:
        raise StoreError("\n".join(said))


def refusals(path: Path, among: Collection[str] = ()) -> dict[str, str]:
    """What of a file is refused, and how; anything but a result and a StoreError is raised.

    A day that is not one, Haystack's filters refuse by a FilterError.
    """
    store = StatuteDocumentStore(path)
    refused = {}
    for name, ask in asks(store):
        if among and name not in among:
            continue
        try:
            ask()
        except FilterError:
            assert name in ("filter", "match")
        except StoreError as error:
            assert str(path) in str(error), name
            assert len(str(error)) < 1000, name
            refused[name] = str(error)
    store.close()
    return refused


def sql(*statements: str, values: tuple[Any, ...] = ()) -> Craft:
    """SQL that another program ran over the file; `values` are bound in the last statement."""

    def craft(path: Path) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA writable_schema = ON")
            for statement in statements[:-1]:
                connection.execute(statement)
            connection.execute(statements[-1], values)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    return craft


def column(
    name: str, value: object, where: str = "id = 'housing-3'", of: str = "documents"
) -> Craft:
    return sql(f"UPDATE {of} SET {name} = ? WHERE {where}", values=(value,))


def fact(key: str, value: object) -> Craft:
    return sql("INSERT OR REPLACE INTO facts VALUES (?, ?)", values=(key, value))


def model(**fields: Any) -> Craft:
    record = {"path": "m", "digest": DIGEST, "dim": DIM, "text_rule": "headings_text", **fields}
    return fact("model", json.dumps(record))


def both(first: Craft, second: Craft) -> Craft:
    return lambda path: (first(path), second(path))


def documents_made_anew(definition: str, old: str = "embedding BLOB") -> Craft:
    """The table of documents under another definition, its content as it was."""

    def craft(path: Path) -> None:
        replaced = f"UPDATE sqlite_master SET sql = replace(sql, '{old}', ?) WHERE name='documents'"
        sql(replaced, values=(definition,))(path)

    return craft


def vector(*numbers: float) -> bytes:
    return np.array(numbers, dtype=np.float32).tobytes()


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
COLUMNS = "key, id, content, meta, other, law, position, text_digest, embedding"
TABLES = {
    "a view without end": sql(
        "ALTER TABLE documents RENAME TO kept",
        f"CREATE VIEW documents AS {ENDLESS} SELECT i AS key, {COLUMNS[5:]} FROM n, kept",
    ),
    "records without end": sql(
        "DROP TABLE facts",
        f"CREATE VIEW facts AS {ENDLESS} SELECT 'none' AS key, i AS value FROM n",
    ),
    "a trigger": sql(
        "CREATE TRIGGER t AFTER INSERT ON blobs BEGIN DELETE FROM documents; END",
    ),
    "a table": sql("CREATE TABLE others (x)"),
    "a virtual table": sql("CREATE VIRTUAL TABLE words USING fts5(x)"),
    "an index": sql("CREATE INDEX i ON documents (abs(position))"),
    "no index": sql("DROP INDEX documents_in_order"),
    "a column that is computed": documents_made_anew(
        "embedding BLOB, more TEXT AS (hex(zeroblob(1000000)))"
    ),
    "a check": documents_made_anew("embedding BLOB CHECK (length(hex(zeroblob(1000000))) > 0)"),
    "a table of a later format": sql("PRAGMA user_version = 1"),
    "no table of its format": sql("DROP TABLE law_states"),
    "a definition that is not one": documents_made_anew("embedding BLOB, (("),
    "a definition that is not text": sql(
        "UPDATE sqlite_master SET sql = CAST(x'ff' AS TEXT) WHERE name = 'documents'"
    ),
}


@pytest.mark.parametrize("craft", TABLES.values(), ids=TABLES)
def test_a_file_of_other_tables_is_refused_before_it_is_read(path: Path, craft: Craft) -> None:
    craft(path)
    before = path.read_bytes()
    assert set(refusals(path)) == {name for name, _ in asks(StatuteDocumentStore(path))}
    assert path.read_bytes() == before


def test_what_a_users_analysis_left_is_no_fault(path: Path) -> None:
    sql("ANALYZE")(path)
    assert refusals(path) == {}


def nested(levels: int) -> str:
    return '{"law": "Housing Code", "x": ' + "[" * levels + "]" * levels + "}"


# Of a row or record: what it is made to hold, the asks that must refuse it (others may, where they
# read it), and what they must name.
DOCUMENT = ("documents", "housing-3")
META = ("documents export", "housing-3")
VECTOR = ("documents dense tree", "housing-3")
MODEL = ("model documents dense tree", "'model'")
OTHER = ("documents export", "housing-0")
VALUES: dict[str, tuple[Craft, tuple[str, str]]] = {
    "vector of NaN": (column("embedding", vector(*[float("nan")] * DIM)), VECTOR),
    "vector of infinity": (column("embedding", vector(*[float("-inf")] * DIM)), VECTOR),
    "vector of zeros": (column("embedding", vector(*[0.0] * DIM)), VECTOR),
    "short vector": (column("embedding", vector(1.0, 2.0)), VECTOR),
    "long vector": (column("embedding", vector(*[1.0] * 99)), VECTOR),
    "vector of odd bytes": (column("embedding", b"12345"), VECTOR),
    "empty vector": (column("embedding", b""), VECTOR),
    "vector of text": (column("embedding", "v" * 4 * DIM), VECTOR),
    "vector of one number": (column("embedding", 7), VECTOR),
    "all vectors short": (column("embedding", vector(1.0, 2.0), "1"), ("dense tree", "housing-0")),
    "meta of bytes": (column("meta", b'{"law": "x"}'), META),
    "meta that is a list": (column("meta", "[1]"), ("filter match documents export", "housing-3")),
    "meta that is null": (column("meta", "null"), META),
    "meta cut short": (column("meta", '{"law": "Housing'), META),
    "meta of a million levels": (column("meta", nested(1_000_000)), META),
    "meta of 1,500 levels": (column("meta", nested(1_500)), META),
    "meta of 300 levels": (column("meta", nested(300)), META),
    "meta with NaN": (column("meta", '{"law": "Housing Code", "x": NaN}'), META),
    "meta with half of a character": (column("meta", '{"law": "\\ud800"}'), META),
    "meta of another law": (column("meta", '{"law": ["Housing Code"]}'), ("citation", "housing-3")),
    "meta of a number too long": (column("meta", f'{{"x": {"9" * 5000}}}'), META),
    "meta that is not UTF-8": (
        sql("UPDATE documents SET meta = CAST(x'7bff' AS TEXT) WHERE id = 'housing-3'"),
        ("documents filter bm25 export", "'meta'"),
    ),
    "content of bytes": (column("content", b"The tenant"), ("documents bm25 export", "housing-3")),
    "id of bytes": (column("id", b"housing-3"), ("documents bm25 citation", "housing-3")),
    "empty id": (column("id", ""), ("documents export", "''")),
    "law of bytes": (column("law", b"Housing Code"), ("citation published", "housing-3")),
    "digest of bytes": (column("text_digest", b"1"), ("published", "housing-3")),
    "position of text": (column("position", "third"), ("", "")),
    "position of bytes": (column("position", b"\xff"), ("", "")),
    "other that is a list": (column("other", "[1]", "id = 'housing-0'"), OTHER),
    "other with a number of bytes": (
        column("other", '{"blob": {"data": 999999999999, "meta": {}}}', "id = 'housing-0'"),
        OTHER,
    ),
    "other with bytes out of range": (
        column("other", '{"blob": {"data": [256], "meta": {}}}', "id = 'housing-0'"),
        OTHER,
    ),
    "other with a blob of text": (column("other", '{"blob": "x"}', "id = 'housing-0'"), OTHER),
    "other with a score of text": (column("other", '{"score": "x"}', "id = 'housing-0'"), OTHER),
    "other with an uneven sparse vector": (
        column("other", '{"sparse_embedding": {"indices": [1], "values": []}}', "id='housing-0'"),
        OTHER,
    ),
    "other with a sparse vector of text": (
        column(
            "other", '{"sparse_embedding": {"indices": ["1"], "values": [1]}}', "id='housing-0'"
        ),
        OTHER,
    ),
    "model of another length": (model(dim=DIM + 1), ("documents dense", "housing-0")),
    "model of a length in text": (model(dim="8"), MODEL),
    "model of length 0": (model(dim=0), MODEL),
    "model of another rule": (model(text_rule="all"), MODEL),
    "model with a path of numbers": (model(path=7), MODEL),
    "model with an unknown key": (model(qath="m"), MODEL),
    "model that is a list": (fact("model", "[1]"), MODEL),
    "model of bytes": (fact("model", b"{}"), MODEL),
    "model of many levels": (fact("model", nested(100_000)), MODEL),
    "version of text": (fact("content_version", '"x"'), ("open bm25 dense", "'content_version'")),
    "version that is true": (fact("content_version", "true"), ("open", "'content_version'")),
    "no version": (
        sql("DELETE FROM facts WHERE key = 'content_version'"),
        ("open bm25", "'content_version'"),
    ),
    "corpus of numbers": (fact("corpus", "7"), ("records export", "'corpus'")),
    "day that is none": (fact("snapshot", '"soon"'), ("records", "'snapshot'")),
    "state of bytes": (
        both(model(biencoder="b" * 64), column("state", b"x", "1", "law_states")),
        ("states", "law_states"),
    ),
    "kept vector too short": (
        column("vector", vector(1.0), "1", "journal"),
        ("known journal", "1" * 64),
    ),
    "kept vector of NaN": (
        column("vector", vector(*[float("nan")] * DIM), "1", "journal"),
        ("journal", "1" * 64),
    ),
    "kept vector of text": (column("vector", "x", "1", "journal"), ("known journal", "1" * 64)),
    "BM25 index of text": (column("content", "x", f"name = '{BM25}'", "blobs"), ("bm25", BM25)),
    "threshold of many levels": (
        sql(
            "INSERT INTO blobs VALUES (?, '1', ?)",
            values=(f"answer threshold dense {DIGEST}", b"[" * 100_000),
        ),
        ("", ""),
    ),
}


@pytest.mark.parametrize(("craft", "told"), VALUES.values(), ids=VALUES)
def test_a_value_that_no_store_has_is_named(
    path: Path, craft: Craft, told: tuple[str, str]
) -> None:
    craft(path)
    refused = refusals(path)
    asked, named = told
    assert set(asked.split()) <= set(refused)
    for name in asked.split():
        assert named in refused[name]


def packed(parts: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **parts)
    return file.getvalue()


def stored(parts: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    np.savez(file, **parts)
    return file.getvalue()


def claims(parts: dict[str, Any], shape: bytes) -> bytes:
    """The keys said to be of another shape; the checksum of the file is as it must be."""
    file = io.BytesIO()
    np.lib.format.write_array(file, parts["keys"])
    whole = file.getvalue()
    shaped = whole.replace(b"(12,), }" + b" " * (len(shape) - 5), shape + b", }", 1)
    assert len(shaped) == len(whole) and shaped != whole
    content = io.BytesIO(stored({name: part for name, part in parts.items() if name != "keys"}))
    with zipfile.ZipFile(content, "a") as archive:
        archive.writestr("keys.npy", shaped)
    return content.getvalue()


def words(terms: object, languages: object) -> Any:
    text = json.dumps({"terms": terms, "languages": languages}).encode()
    return np.frombuffer(text, dtype=np.uint8)


def with_(name: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], bytes]:
    return lambda parts: stored({**parts, name: change(parts[name])})


BLOBS: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "nothing": lambda _: b"",
    "half of it": lambda parts: stored(parts)[:-400],
    "packed": packed,
    "a claim of 2**60 keys": lambda parts: claims(parts, b"(1152921504606846976,)"),
    "a claim of 2**36 keys": lambda parts: claims(parts, b"(68719476736,)"),
    "keys of text": with_("keys", lambda keys: keys.astype(str)),
    "keys in a table": with_("keys", lambda keys: keys.reshape(-1, 1)),
    "rows out of range": with_("indices", lambda rows: rows + 100),
    "rows below 0": with_("indices", lambda rows: rows - 1),
    "rows of floats": with_("indices", lambda rows: rows.astype(float)),
    "ranges that go back": with_("indptr", lambda ends: np.r_[0, ends[-1], ends[2:]]),
    "ranges from below 0": with_("indptr", lambda ends: np.r_[-5, ends[1:]]),
    "scores of NaN": with_("data", lambda data: data * np.float32("nan")),
    "scores of infinity": with_("data", lambda data: data + np.float32("inf")),
    "terms of numbers": with_("words", lambda _: words(list(range(99)), ["en"])),
    "one term for all": with_("words", lambda _: words(["rent"] * 99, ["en"])),
    "a language of numbers": with_(
        "words", lambda old: words(json.loads(old.tobytes())["terms"], [7])
    ),
    "words of many levels": with_("words", lambda _: np.frombuffer(b"[" * 100_000, np.uint8)),
}


@pytest.mark.parametrize("make", BLOBS.values(), ids=BLOBS)
def test_a_crafted_bm25_index_is_built_again(
    path: Path, make: Callable[[dict[str, Any]], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    store = StatuteDocumentStore(path)
    version, content = store.load_blob(BM25) or ("", b"")
    with np.load(io.BytesIO(content)) as parts:
        store.save_blob(BM25, version, make(dict(parts)))
    found = StatuteBM25Retriever(store, top_k=2).run("month 7")["documents"]
    assert {document.id for document in found} == {"housing-6", "housing-7"}
    assert "It is built again" in caplog.text
    assert store.load_blob(BM25) == (version, content)


def rewritten(path: Path, change: Callable[[list[bytes]], None]) -> None:
    """The file with other pages."""
    content = path.read_bytes()
    pages = [content[at : at + PAGE] for at in range(0, len(content), PAGE)]
    change(pages)
    pages[0] = pages[0][:28] + struct.pack(">I", len(pages)) + pages[0][32:]
    path.write_bytes(b"".join(pages))


def endless(tree: str) -> Craft:
    """A table or index whose pages lead to the same page hundreds of times each, on ten levels."""

    def craft(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            ((root,),) = connection.execute(
                "SELECT rootpage FROM sqlite_master WHERE name = ?", (tree,)
            )

        def change(pages: list[bytes]) -> None:
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


def varint(number: int) -> bytes:
    """A number of four bytes, as SQLite writes it."""
    sevens = [number >> shift & 127 for shift in (21, 14, 7, 0)]
    return bytes([*(each | 128 for each in sevens[:3]), sevens[3]])


def circular_text(path: Path) -> None:
    """A text of 2 MB whose last page leads back to its first, said to be of 100 MB."""
    length, claim = 2_200_000, 100_000_000
    column("content", "x" * length)(path)

    def change(pages: list[bytes]) -> None:
        first = None
        for number, page in enumerate(pages):
            at = page.find(varint(2 * length + 13))
            if at > 0:
                # Before it: the row's length, its key, and three numbers of one byte each.
                row = at - 8
                size = int("".join(f"{each & 127:07b}" for each in page[row : row + 4]), 2)
                assert varint(size) == page[row : row + 4]
                said = varint(size + claim - length) + page[row + 4 : at] + varint(2 * claim + 13)
                pages[number] = page[:row] + said + page[at + 4 :]
            if page[4:5] == b"x" * 1 and page[:4] != b"\0" * 4 and first is None:
                first = number
        assert first is not None
        ends = [
            n for n, page in enumerate(pages) if page[:4] == b"\0" * 4 and page[4:9] == b"xxxxx"
        ]
        for number in ends:
            pages[number] = struct.pack(">I", first + 1) + pages[number][4:]

    rewritten(path, change)


PAGES: dict[str, tuple[Craft, str]] = {
    "an index without end": (endless("documents_in_order"), "count documents filter dense export"),
    "documents without end": (endless("documents"), "dense tree"),
    "a journal's index without end": (endless("sqlite_autoindex_journal_1"), "known"),
    "a text in a circle": (circular_text, "documents bm25 export"),
}


@pytest.mark.parametrize(("craft", "asked"), PAGES.values(), ids=PAGES)
def test_a_read_without_end_is_ended(path: Path, craft: Craft, asked: str) -> None:
    craft(path)
    assert set(refusals(path, asked.split())) == set(asked.split())


def test_the_limit_leaves_the_smallest_rows_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = StatuteDocumentStore(tmp_path / "law.db")
    store.write_documents([Document(id=f"{number}") for number in range(3_000)])
    wide = {"operator": "OR", "conditions": [{**MATCHED, "value": "2030-01-01"}] * 50}
    listed = {"field": "meta.law", "operator": "in", "value": [str(each) for each in range(9_000)]}
    # Nothing but what the file's size accounts for, and a fifth of that.
    monkeypatch.setattr("components.stores.open_file._FREE_STEPS", 0)
    monkeypatch.setattr("components.stores.open_file._STEPS_A_LOOK", 1_000)
    honest = open_file.limit_steps
    monkeypatch.setattr(open_file, "limit_steps", lambda at, most: honest(at, most and most // 5))
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
CONTENT = [
    None,
    7,
    -(2**63),
    1.5,
    "",
    "x",
    "[]",
    "{}",
    "NaN",
    '{"law": []}',
    b"",
    b"\xff",
    b"1" * 99,
]


@pytest.mark.parametrize("seed", range(5))
def test_chance_finds_no_other_error(honest: Path, tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    for turn in range(40):
        path = Path(shutil.copy(honest, tmp_path / f"{turn}.db"))
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
