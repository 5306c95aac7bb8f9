"""Writes laws into the store, whole laws per transaction: their model, vectors and articles."""

import json
import sqlite3
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import numpy as np
from haystack import Document
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from components.converters.articles import LAW_ARTICLES, identity_of
from components.models.folder import Similarity
from components.models.stored_vectors import KNOWN, OF_DOCUMENTS
from components.statutes.article import TextRule
from components.statutes.identity import DistinctLaws, LawIdentity
from components.stores.database import (
    COLUMNS,
    NO_POSITION,
    StatuteDatabase,
    StoreError,
    as_row,
    damaged,
    parsed,
    upgrade,
    vector_of,
)


@dataclass(frozen=True)
class StoreModel:
    """The model whose vectors a store holds.

    Attributes:
        path: folder or name that opens it.
        digest: of its weights and settings; two models with one digest give the same vectors.
        dim: length of its vectors.
        text_rule: what of an article it encodes.
        biencoder: digest of the bi-encoder below, if a graph network makes the articles' vectors
            (`digest` then covers both); None if the vectors are the bi-encoder's own.
        similarity: how its vectors are compared.
        questions: digest of the model whose tower encodes the questions, where that is another than
            the one that encoded the articles, over which it was trained; else None.
    """

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")

    path: Annotated[str, Field(min_length=1)]
    digest: Annotated[str, Field(min_length=1)]
    dim: Annotated[int, Field(gt=0)]
    text_rule: TextRule
    biencoder: str | None = None
    similarity: Similarity = "cosine"
    questions: str | None = None

    @property
    def through_graph(self) -> bool:
        """Whether the articles' vectors went through a graph network."""
        return self.biencoder is not None

    @property
    def biencoder_digest(self) -> str:
        """Digest of the bi-encoder that encodes the articles' texts."""
        return self.digest if self.biencoder is None else self.biencoder

    @property
    def question_digest(self) -> str:
        """Digest of the bi-encoder that encodes the questions."""
        return self.questions or self.biencoder_digest

    @property
    def scores_digest(self) -> str:
        """Digest that names both sides, and so the scores of a search."""
        return self.digest if self.questions is None else f"{self.questions} {self.digest}"


_STORE_MODEL = TypeAdapter(StoreModel)


def read_model(database: StatuteDatabase) -> StoreModel | None:
    """The recorded model, or None.

    Raises:
        StoreError: the file is damaged or cannot be read.
    """
    fact = database.fact("model")
    try:
        # Of JSON, since a dictionary is not a dataclass in pydantic's strict mode.
        return None if fact is None else _STORE_MODEL.validate_json(json.dumps(fact))
    except ValidationError as error:
        what = "its record 'model' does not describe a model"
        raise damaged(database.path, what) from error


def has_vectors(database: StatuteDatabase) -> bool:
    """Whether any document has a vector."""
    sql = "SELECT 1 FROM documents WHERE embedding IS NOT NULL LIMIT 1"
    return database.first(sql) is not None


_HOLD = f"""
INSERT OR IGNORE INTO journal
SELECT ?, text_digest, embedding FROM documents
WHERE text_digest = ? AND embedding IS NOT NULL AND {OF_DOCUMENTS} = ? LIMIT 1
"""


class VectorJournal:
    """Encoded vectors by the digests of model and text, so that a kill costs one block.

    At the end of a complete run the vectors of provisions stay. Those of articles go, since they
    are in the documents; if a graph makes the documents' vectors from these, they stay as base
    vectors, so that a changed article costs one encoding.
    """

    def __init__(self, database: StatuteDatabase) -> None:
        self._database = database

    def keep(self, model_digest: str, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Keep vectors `{text digest: [dim]}` of an encoder; one transaction.

        Raises:
            StoreError: the disk is full; none of these vectors was kept.
        """
        with self._database.writing(content=False) as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO journal VALUES (?, ?, ?)",
                (
                    (model_digest, digest, np.ascontiguousarray(vector, np.float32).tobytes())
                    for digest, vector in vectors.items()
                ),
            )

    def known(self, model_digest: str) -> set[str]:
        """Digests of the texts that need not be encoded again with this encoder.

        Raises:
            StoreError: a vector of the journal is not one, or the file cannot be read.
        """
        known = set()
        dim = self._dim(model_digest)
        size_of = "CASE typeof(vector) WHEN 'blob' THEN length(vector) END"
        sql = f"SELECT text_digest, {size_of} FROM {KNOWN}"
        for digest, size in self._database.rows(sql, (model_digest, model_digest)):
            dim = dim or (size or 0) // 4
            if not size or size != 4 * dim:
                raise self._damaged(digest, f"is not {dim} float32 numbers")
            known.add(digest)
        return known

    def vectors(
        self, model_digest: str, text_digests: Collection[str]
    ) -> dict[str, NDArray[np.float32]]:
        """This encoder's vectors `{text digest: [dim]}`, of those texts that are known.

        Raises:
            StoreError: one of them is not a vector, or the file cannot be read.
        """
        dim = self._dim(model_digest)
        found: dict[str, NDArray[np.float32]] = {}
        sql = f"SELECT text_digest, vector FROM {KNOWN} WHERE text_digest IN ({{}})"
        for digest, blob in self._database.rows_in(sql, text_digests, model_digest, model_digest):
            try:
                found[digest] = vector_of(blob, dim)
            except ValueError as error:
                raise self._damaged(digest, str(error)) from error
            dim = dim or len(found[digest])
        return found

    def hold(self, model_digest: str, text_digests: Iterable[str]) -> None:
        """Keep the published vectors of these texts before their documents are replaced."""
        rows = ((model_digest, each, model_digest) for each in text_digests)
        with self._database.writing(content=False) as connection:
            connection.executemany(_HOLD, rows)

    def keep_only(self, model_digest: str | None, text_digests: Collection[str]) -> None:
        """Drop all vectors except this encoder's of these texts, and free the space.

        Args:
            model_digest: of the encoder; None drops everything.
            text_digests: of the texts.
        """
        wanted = set(text_digests)
        with self._database.writing(content=False) as connection:
            # IS NOT, since nothing differs from NULL by <>.
            connection.execute("DELETE FROM journal WHERE model IS NOT ?", (model_digest,))
            texts = connection.execute("SELECT text_digest FROM journal")  # of one model by now
            gone = [row for row in texts if row[0] not in wanted]
            connection.executemany("DELETE FROM journal WHERE text_digest = ?", gone)
        # A script is stepped to its end; execute() would stop after the first page.
        with self._database.in_use() as opened:
            opened.connection.executescript("PRAGMA incremental_vacuum")

    def _dim(self, model_digest: str) -> int | None:
        """Length of this encoder's vectors, where it is on record."""
        model = read_model(self._database)
        if model is None or model_digest not in (model.digest, model.biencoder_digest):
            return None
        return model.dim

    def _damaged(self, digest: object, what: str) -> StoreError:
        return damaged(self._database.path, f"the kept vector of the text {digest!r:.80} {what}")


# Without a vector of its own SQLite copies that of the journal; an id's old row is replaced.
_PUBLISH = f"""
INSERT OR REPLACE INTO documents ({COLUMNS}, text_digest, embedding)
VALUES (?, ?, ?, ?, ?, ?,
  ifnull(?, (SELECT vector FROM journal WHERE model = ? AND text_digest = ?)))
"""
_UPDATE = (
    "UPDATE documents SET embedding = ifnull(?, embedding), content = ?, meta = ?, "
    "law = ?, position = ? WHERE id = ?"
)


@dataclass(frozen=True, slots=True)
class Published:
    """One published article: its law, its text's digest, and whether it has a vector."""

    law: str
    text_digest: str | None
    has_vector: bool


@dataclass(frozen=True, slots=True)
class LawVectors:
    """The vectors of one law from a graph network.

    Attributes:
        state: digest of all that they were computed from, the law's own articles and those around
            it.
        matrix: float32 `[n_articles, dim]`, in the order of the law's articles.
    """

    state: str
    matrix: NDArray[np.float32]


class Place(NamedTuple):
    """The place of an article in the store."""

    key: int
    id: str
    law: str
    position: int


def arrange(
    stored: Iterable[Place], given: Mapping[str, str], partial: Collection[str] = ()
) -> dict[str, int]:
    """The position of every article once some laws are written over a store, in that order.

    Laws that are not given stay where they are. A law that the store has keeps its place among the
    laws: its k-th article takes the place of the k-th one it had, and further articles follow its
    last. A new law comes after all others. Where every law of the store is given whole, positions
    count from 0 as given; otherwise an article moves only as far as it must to keep the order.
    Articles without a position that are not given come last, and are left out here.

    Args:
        stored: the articles in the store, in its order.
        given: the law of each article that is written, by id, in the order of the law. An article
            that the store has in another law leaves that law.
        partial: laws of which only some articles are given. The law keeps its other articles, and
            a new one follows the one before it in `given`.
    """
    laws: dict[str, list[str]] = {}
    for id_, law in given.items():
        laws.setdefault(law, []).append(id_)
    whole = laws.keys() - set(partial)
    # A law that is given whole keeps all its places, whichever articles take them.
    places = [
        each for each in stored if each.law in whole or given.get(each.id, each.law) == each.law
    ]
    left = Counter(each.law for each in places)
    if left.keys() <= whole:
        return {id_: position for position, id_ in enumerate(given)}
    known: dict[str, list[str]] = {law: [] for law in partial}
    for place in places:
        if place.law in known:
            known[place.law].append(place.id)
    for law, ids in known.items():
        laws[law] = _completed(ids, laws[law])
    waiting = {law: deque(ids) for law, ids in laws.items()}
    positions: dict[str, int] = {}
    last = -1
    for place in places:
        has_position = place.position < NO_POSITION
        queue = waiting.get(place.law)
        if queue is None:
            here = [place.id] if has_position else []
        else:
            here = [queue.popleft()] if queue else []
            left[place.law] -= 1
            if not left[place.law]:
                here += queue
                queue.clear()
        if here and has_position:
            last = max(last, place.position - 1)
        for id_ in here:
            last += 1
            positions[id_] = last
    new = [id_ for id_ in given if id_ not in positions]
    return positions | {id_: position for position, id_ in enumerate(new, last + 1)}


def _completed(known: Sequence[str], given: Sequence[str]) -> list[str]:
    """A law's articles in order, where `given` has some of the known ones and new ones."""
    following: dict[str, list[str]] = {id_: [id_] for id_ in known}
    first: list[str] = []
    anchor: list[str] | None = None
    for id_ in given:
        if id_ in following:
            anchor = following[id_]
            anchor[:0], first = first, []
        elif anchor is None:
            first.append(id_)
        else:
            anchor.append(id_)
    return [id_ for each in following.values() for id_ in each] + first


_MOST_CHECKS = 20  # sources whose check is kept


class LawPublisher:
    """The store's writing side, for indexing.

    A law appears in one transaction, so that readers see whole laws only. An article's vector is
    that of its text in the journal, or the one that is given where a graph made it.
    """

    def __init__(self, database: StatuteDatabase) -> None:
        self._database = database

    def record_model(self, model: StoreModel) -> None:
        """Record the model.

        Raises:
            StoreError: when vectors of another model are in the store.
        """
        present = read_model(self._database)
        if present == model:
            return
        if present is not None and present.digest != model.digest and has_vectors(self._database):
            raise StoreError(
                f"{self._database.path} holds vectors of the model {present.path}; {model.path} is "
                "another, or has another graph. Index with the first, or name a new store."
            )
        with self._database.writing(content=False) as connection:
            self._write_model(connection, model)

    def record_corpus(self, sha256: str, snapshot: date | None = None) -> None:
        """Record that this corpus is completely indexed, and the day of its text.

        Args:
            sha256: its digest.
            snapshot: day of the law's text; None keeps what is recorded for this corpus.
        """
        known = self._database.fact("corpus") == sha256
        with self._database.writing(content=False) as connection:
            _record(connection, "corpus", sha256)
            if not known or self._database.fact("indexed") is None:
                _record(connection, "indexed", date.today().isoformat())
            if snapshot is not None:
                _record(connection, "snapshot", snapshot.isoformat())
            elif not known:
                connection.execute("DELETE FROM facts WHERE key = 'snapshot'")

    def recorded_days(self) -> tuple[str | None, str | None]:
        """ISO days of the law's text and of its indexing; None if unknown."""
        database = self._database.follow()
        return _day(database, "snapshot"), _day(database, "indexed")

    def record_check(self, source: str, report: str, *, alone: bool) -> None:
        """Record what was read of a source, in place of what is on record for it.

        Args:
            source: its name.
            report: of the check after reading.
            alone: whether the store holds no other law.
        """
        checks = {} if alone else self.recorded_checks()
        checks.pop(source, None)
        kept = [*checks.items(), (source, report)][-_MOST_CHECKS:]
        with self._database.writing(content=False) as connection:
            _record(connection, "checks", dict(kept))

    def recorded_checks(self) -> dict[str, str]:
        """Reports of the check after reading, by source, in the order of indexing."""
        checks = self._database.follow().fact("checks", dict) or {}
        return {str(source): str(report) for source, report in checks.items()}

    def recorded_corpus(self) -> str | None:
        """Digest of the corpus that was last indexed completely, or None."""
        digest: str | None = self._database.follow().fact("corpus", str)
        return digest

    def published(self) -> dict[str, Published]:
        """Every article in the store that belongs to a law, by id."""
        rows = self._database.rows(
            "SELECT id, law, text_digest, embedding IS NOT NULL FROM documents "
            "WHERE law IS NOT NULL",
            types={"id": str, "law": str, "digest": str | None},
        )
        return {id_: Published(law, digest, bool(has)) for id_, law, digest, has in rows}

    def laws(self) -> Iterator[LawIdentity]:
        """Every law, each as often as its articles name it differently."""
        rows = self._database.rows(
            "SELECT DISTINCT law, json_object('law_id', json_extract(meta, '$.law_id'), "
            "'law_names', json_extract(meta, '$.law_names')) FROM documents "
            "WHERE typeof(law) = 'text'"
        )
        aliases: dict[str, list[str]] = {}
        for alias, law in self.aliases().items():
            aliases.setdefault(law, []).append(alias)
        for law, fields in rows:
            identity = identity_of({"law": law, **parsed(self._database.path, law, fields)})
            names = (*identity.law_names, *aliases.get(law, ()))
            yield identity._replace(law_names=names)

    def aliases(self) -> dict[str, str]:
        """The users' names of laws, each with the law that it means."""
        recorded = self._database.fact("aliases", str) or ""
        return dict(line.split("=", 1) for line in recorded.splitlines() if "=" in line)

    def record_aliases(self, aliases: Mapping[str, str]) -> None:
        """Record users' names of laws in place of those on record.

        Args:
            aliases: laws by name.
        """
        lines = "\n".join(f"{name}={law}" for name, law in aliases.items())
        with self._database.writing(content=False) as connection:
            _record(connection, "aliases", lines)

    def places(self) -> list[Place]:
        """The place of every document that names a law, in the order of the law."""
        rows = self._database.rows(
            "SELECT key, id, law, position FROM documents WHERE law IS NOT NULL "
            "ORDER BY position, key",
            types={"key": int, "id": str, "law": str, "position": int},
        )
        return [Place(*row) for row in rows]

    def law_states(self) -> dict[str, str]:
        """`LawVectors.state` of every law whose vectors came through the graph on record."""
        model = read_model(self._database)
        if model is None or not model.through_graph:
            return {}
        types = {"law": str, "state": str}
        return dict(self._database.rows("SELECT law, state FROM law_states", types=types))

    def publish(
        self,
        laws: Mapping[str, Sequence[tuple[Document, str | None]]],
        vectors: Mapping[str, LawVectors] = MappingProxyType({}),
        *,
        convert_to: StoreModel | None = None,
        moved: Mapping[str, int] = MappingProxyType({}),
    ) -> int:
        """Replace each law's documents, all in one transaction.

        Unchanged documents are left as they are; if nothing changed, nothing is written. A document
        whose text is unchanged keeps its key, and its vector unless it is given another.

        Args:
            laws: for each law all its documents with the digests of the texts that their vectors
                stand for, and none for a law that is removed. A document whose digest is None
                keeps the vector that it has; those come last.
            vectors: of laws whose vectors a graph made; the others' come from the journal.
            convert_to: the model to record in the same transaction, if `laws` are all laws of the
                store and `vectors` has every one.
            moved: new positions of documents of other laws, by id.

        Returns:
            Number of documents written, changed or removed.

        Raises:
            StoreError: a vector is neither given nor in the journal, or the disk is full.
            ValueError: meta is not JSON; names the document.
        """
        model = convert_to or read_model(self._database)
        changes = [
            change
            for law in laws
            for change in self._changes(law, laws[law], model, vectors.get(law))
        ]
        if not changes and not vectors and not moved:
            return 0
        with self._database.writing(content=bool(changes or moved)) as connection:
            if convert_to is not None:
                self._check_all_in(connection, laws)
                self._write_model(connection, convert_to)
            # Removals come last: an article that moved to another law is then no longer in its old.
            for sql, values in sorted(changes, key=lambda change: change[0].startswith("DELETE")):
                connection.execute(sql, values)
            for id_, position in moved.items():
                self.update_meta(connection, id_, {"position": position})
            if model is not None:
                self._check_vectors(connection, laws)
            if model is not None and model.through_graph:
                for law, articles in laws.items():
                    if law in vectors or not articles:
                        connection.execute("DELETE FROM law_states WHERE law = ?", (law,))
                    if law in vectors:
                        state = (law, vectors[law].state)
                        connection.execute("INSERT INTO law_states VALUES (?, ?)", state)
        return len(changes) + len(moved)

    def placed(
        self, connection: sqlite3.Connection, documents: Sequence[Document], *, keep: bool
    ) -> list[Document]:
        """Documents as they are to be written, those of StatuteConverter at their place in the law.

        A law whose title is that of another law in the store gets a name of its own.

        The converter numbers the articles that it reads, which may be one section of a law.
        `arrange` gives each its place among the articles of the store, and `meta.law_articles`
        becomes the number of articles that the store will hold of the law. If a source had more of
        them than were written, the higher number stays, so that a part is not mistaken for the
        whole. Stored documents are updated within the caller's transaction.

        Args:
            connection: of the transaction that will write the documents.
            documents: those with `meta.law_articles` are placed, the others stay as they are.
            keep: whether documents that are there already will not be written.
        """
        laws = DistinctLaws(self.laws() if any("law_id" in each.meta for each in documents) else ())
        documents = [_named(each, laws) for each in documents]
        given = {
            each.id: str(each.meta["law"])
            for each in documents
            if isinstance(each.meta.get("law"), str) and _stated_size(each.meta) is not None
        }
        if not given:
            return documents
        places = self.places()
        law_of = {each.id: each.law for each in places}
        if keep:
            given |= {id_: law_of[id_] for id_ in given if id_ in law_of}
        members: dict[str, set[str]] = {law: set() for law in given.values()}
        for id_, law in (law_of | given).items():
            if law in members:
                members[law].add(id_)
        partial = {
            law
            for law, ids in members.items()
            if ids & law_of.keys() and (keep or ids - given.keys())
        }
        positions = arrange(places, given, partial)
        sizes = {law: len(ids) for law, ids in members.items()}
        for each in documents:
            if each.id in given and not (keep and each.id in law_of):
                law = given[each.id]
                sizes[law] = max(sizes[law], _stated_size(each.meta) or 0)
        sql = "SELECT id, meta FROM documents WHERE law = ?"
        metas = {
            id_: parsed(self._database.path, id_, meta)
            for law in members
            for id_, meta in connection.execute(sql, (law,))
        }
        for id_, meta in metas.items():
            if law_of[id_] in partial:
                sizes[law_of[id_]] = max(sizes[law_of[id_]], _stated_size(meta) or 0)

        def placing(id_: str, law: str) -> dict[str, Any]:
            size = {LAW_ARTICLES: sizes[law]} if law in sizes else {}
            return ({"position": positions[id_]} if id_ in positions else {}) | size

        for place in places:
            if keep or place.id not in given:
                old = {"position": place.position, **metas.get(place.id, {})}
                new = placing(place.id, place.law)
                if any(old.get(name) != value for name, value in new.items()):
                    self.update_meta(connection, place.id, new)
        return [
            replace(each, meta={**each.meta, **placing(each.id, given[each.id])})
            if each.id in given
            else each
            for each in documents
        ]

    def update_meta(
        self, connection: sqlite3.Connection, id_: str, fields: Mapping[str, Any]
    ) -> None:
        """Merge fields into a document's meta, with the same checks as a write.

        Args:
            connection: of the transaction.
            id_: of the document.
            fields: in place of those of their names.
        """
        (text,) = connection.execute("SELECT meta FROM documents WHERE id = ?", (id_,)).fetchone()
        meta = {**parsed(self._database.path, id_, text), **fields}
        _, _, *values = as_row(Document(id=id_, meta=meta))
        sql = "UPDATE documents SET meta = ?, law = ?, position = ? WHERE id = ?"
        connection.execute(sql, (*values, id_))

    def _changes(
        self,
        law: str,
        articles: Sequence[tuple[Document, str | None]],
        model: StoreModel | None,
        vectors: LawVectors | None,
    ) -> Iterator[tuple[str, tuple[Any, ...]]]:
        # Vectors are read only if there are new ones to compare them with, since they are large.
        vector = "embedding IS NOT NULL" if vectors is None else "embedding"
        present = {
            row[0]: row[1:]
            for row in self._database.rows(
                f"SELECT id, text_digest, meta, {vector} FROM documents WHERE law = ?", (law,)
            )
        }
        for index, (document, digest) in enumerate(articles):
            row = as_row(document)
            old_digest, old_meta, old_vector = present.pop(document.id, (None, None, None))
            keeps = digest is None
            new = None if vectors is None or keeps else vectors.matrix[index].tobytes()
            if not keeps and (old_digest != digest or (model is not None and not old_vector)):
                yield _PUBLISH, (*row, digest, new, model.digest if model else None, digest)
            elif old_meta != row[2] or new not in (None, old_vector):
                yield _UPDATE, (new, *row[1:], row[0])
        for id_ in present:
            yield "DELETE FROM documents WHERE id = ? AND law = ?", (id_, law)

    def _check_vectors(self, connection: sqlite3.Connection, laws: Iterable[str]) -> None:
        sql = "SELECT id FROM documents WHERE law = ? AND embedding IS NULL"
        for law in laws:
            if row := connection.execute(sql, (law,)).fetchone():
                raise StoreError(
                    f"{self._database.path}: the vector of article '{row[0]}' is not in the "
                    "journal. Let one process index into this store, and run the command again."
                )

    def _check_all_in(self, connection: sqlite3.Connection, laws: Iterable[str]) -> None:
        present = "SELECT DISTINCT law FROM documents WHERE embedding IS NOT NULL"
        if others := {law for (law,) in connection.execute(present)} - set(laws):
            other = "no law" if None in others else f"the law {min(others)}"
            held = f"vectors of articles of {other}, which the corpus does not have"
            raise StoreError(f"{self._database.path} holds {held}. Name a new store.")

    def _write_model(self, connection: sqlite3.Connection, model: StoreModel) -> None:
        present = read_model(self._database)
        if model.through_graph and (present is None or present.digest != model.digest):
            upgrade(connection)
            connection.execute("DELETE FROM law_states")  # those of another graph say nothing
        # Without None values, so that a plain store's record stays as it always was.
        fields = {name: value for name, value in asdict(model).items() if value is not None}
        _record(connection, "model", fields)


def _named(document: Document, laws: DistinctLaws) -> Document:
    """The document under the name of its law."""
    law, law_id, _ = identity_of(document.meta)
    name = laws.name(law, law_id) if law else law
    return document if name == law else replace(document, meta={**document.meta, "law": name})


def _stated_size(meta: Mapping[str, Any]) -> int | None:
    size = meta.get(LAW_ARTICLES)
    return size if type(size) is int else None


def _record(connection: sqlite3.Connection, key: str, value: object) -> None:
    connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (key, json.dumps(value)))


def _day(database: StatuteDatabase, key: str) -> str | None:
    day = database.fact(key, str)
    try:
        return None if day is None else date.fromisoformat(day).isoformat()
    except ValueError as error:
        raise damaged(database.path, f"its record {key!r} is not a day") from error
