"""Articles in PostgreSQL: in the table of Haystack's integration, and a few next to it."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any

from haystack import Document
from haystack.dataclasses import SparseEmbedding
from typing_extensions import override

from components.models.folder import Similarity
from components.statutes.extras import needs_extra
from components.stores.database import StoreError
from components.stores.engines import (
    LAW,
    Condition,
    Engine,
    Listed,
    SharedClients,
    article_meta,
    one_line,
    retried,
)

with needs_extra("PostgreSQL", "postgres"):
    import psycopg
    from haystack_integrations.document_stores.pgvector import PgvectorDocumentStore
    from psycopg import sql
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
    from psycopg.types.json import Jsonb

# The articles are in a table as the integration makes it, so that its own retrievers can read it.
# Next to it, each article has a narrow row: what filters read, and its terms as a sparse vector of
# their shares of BM25. The inner product with the question's IDFs is then BM25 itself, in one scan
# that filters on the way. Postings by term were measured too: faster for a few rare words, slower
# for a sentence (three times, with a filter), and three times as large.
_TABLES = ("", "_rows", "_terms", "_states", "_staged")
_CREATED = """
CREATE TABLE IF NOT EXISTS {main} (
  id text PRIMARY KEY, embedding {kind} NOT NULL, content text,
  blob_data bytea, blob_meta jsonb, blob_mime_type varchar(255), meta jsonb);
CREATE TABLE IF NOT EXISTS {rows} (
  id text PRIMARY KEY, law text NOT NULL, number text NOT NULL, core text NOT NULL,
  language text NOT NULL, source_url text NOT NULL, position bigint NOT NULL,
  valid_from_day integer NOT NULL, valid_to_day integer NOT NULL, words sparsevec NOT NULL,
  jurisdiction text NOT NULL DEFAULT '')
  WITH (toast_tuple_target = 8160);
CREATE TABLE IF NOT EXISTS {terms} (term integer PRIMARY KEY, articles bigint NOT NULL);
CREATE TABLE IF NOT EXISTS {states} (
  kind text, key text, value jsonb NOT NULL, PRIMARY KEY (kind, key));
CREATE TABLE IF NOT EXISTS {staged} (
  run text, id text, law text NOT NULL, embedding {kind} NOT NULL, content text,
  meta jsonb NOT NULL, words sparsevec NOT NULL, PRIMARY KEY (run, id));
"""
_HAS_PLACES = (
    "SELECT 1 FROM information_schema.columns "
    "WHERE table_schema = %s AND table_name = %s AND column_name = 'jurisdiction'"
)
_ADD_PLACES = "ALTER TABLE {rows} ADD COLUMN jurisdiction text NOT NULL DEFAULT ''"
_INDEXED = ("law, position", "core", "language", "position", "valid_from_day", "valid_to_day")
# How many articles have each term; term 0 stands for every article.
_COUNT = """
INSERT INTO {terms} AS known (term, articles)
SELECT term::integer, {sign} count(*) FROM (
  SELECT split_part(unnest(array_prepend('0', string_to_array(
    split_part(ltrim(r.words::text, '{{'), '}}', 1), ','))), ':', 1) AS term
  FROM {rows} r WHERE {which}) AS found
GROUP BY term ON CONFLICT (term) DO UPDATE SET articles = known.articles + excluded.articles
"""
_STAGED = "r.id IN (SELECT id FROM {staged} WHERE run = %(run)s AND law = %(law)s)"
_GONE = f"{_STAGED} OR (r.law = %(law)s AND r.id = ANY(%(stale)s))"
_DELETED = (
    "DELETE FROM {main} m USING {rows} r WHERE m.id = r.id AND ({which})",
    "DELETE FROM {rows} r WHERE {which}",
)
_MOVED = (
    "INSERT INTO {main} (id, embedding, content, meta) SELECT id, embedding, content, meta "
    "FROM {staged} WHERE run = %(run)s AND law = %(law)s",
    "INSERT INTO {rows} SELECT id, law, meta->>'number', meta->>'core', meta->>'language', "
    "meta->>'source_url', (meta->>'position')::bigint, (meta->>'valid_from_day')::integer, "
    "(meta->>'valid_to_day')::integer, words, meta->>'jurisdiction' FROM {staged} "
    "WHERE run = %(run)s AND law = %(law)s",
)
_STAGE = (
    "INSERT INTO {staged} "
    "SELECT %s, id, law, vector::{kind}, content, meta::jsonb, words::sparsevec "
    "FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[]) "
    "AS given(id, law, vector, content, meta, words) ON CONFLICT (run, id) DO NOTHING"
)
_PUT = (
    "INSERT INTO {states} VALUES (%s, %s, %s) "
    "ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value"
)
_DROP = "DELETE FROM {states} WHERE kind = %s AND key = %s"
_QUESTION = """
SELECT ('{{' || string_agg(term || ':' ||
    ln(1 + (n - articles + 0.5) / (articles + 0.5))::float8, ',') || '}}/{dim}')::sparsevec
FROM (
  SELECT term, articles, (SELECT articles FROM {terms} WHERE term = 0) AS n FROM {terms}
  WHERE term = ANY(%(terms)s) AND articles > 0 ORDER BY articles LIMIT {most}) AS asked
"""
_PGVECTOR = (0, 8)  # the first that goes on where a filter leaves out what an index found
# The longest sparse vector of pgvector; its terms' numbers end there too.
_DIM, _MOST_TERMS = 1_000_000_000, 16_000
# A row with a longer vector would not fit into a page next to its other columns.
_LONGEST_INLINE = 1_500

# The operator of a distance, the name of its index, and what the distance is taken from.
_DISTANCES: Mapping[Similarity, tuple[str, str, float]] = {
    "cosine": ("<=>", "cosine", 1.0),
    "dot": ("<#>", "ip", 0.0),
    "l2": ("<->", "l2", 0.0),
}
_SIMILARITIES: Mapping[str, Similarity] = {
    "cosine_similarity": "cosine",
    "inner_product": "dot",
    "l2_distance": "l2",
}
# Reasons why a connection is refused for good, but for those that pass.
_REFUSED = ("FATAL", "no password supplied")
_PASSING = ("starting up", "shutting down", "recovery", "too many", "slots are reserved")
_TLS = ("SSL was required", "support SSL", "encryption", "certificate")
_LONGEST_NAME = 50  # of a collection: PostgreSQL cuts longer names of tables without a word
_LONGEST_ANSWER = "30s"
_TOO_LONG = psycopg.errors.QueryCanceled.sqlstate
_IDLE = 8  # connections kept for the next question


Run = Callable[..., list[Any]]


class _Connections:
    """Connections to a database, one for each thread that asks at the same time."""

    def __init__(self, address: str, patient: bool) -> None:
        self._address = address
        self._timeout = "0" if patient else _LONGEST_ANSWER
        self._idle: list[psycopg.Connection] = []
        self._pid = os.getpid()

    @contextmanager
    def one(self) -> Iterator[psycopg.Connection]:
        """A connection; one that broke takes the others that wait with it."""
        if self._pid != os.getpid():  # a forked process must not talk over its parent's
            self._pid, self._idle = os.getpid(), []
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._made()
        try:
            yield connection
        finally:
            if connection.closed or connection.broken:
                self.close()
            elif len(self._idle) < _IDLE:
                self._idle.append(connection)
            else:
                connection.close()

    def close(self) -> None:
        """Close those that wait."""
        while self._idle:
            with suppress(IndexError, psycopg.Error):
                self._idle.pop().close()

    def _made(self) -> psycopg.Connection:
        # Plans depend on the filter's values, so none is prepared for all of them; compiling one
        # takes longer than it runs.
        connection = psycopg.connect(self._address, autocommit=True, prepare_threshold=None)
        connection.execute(f"SET jit = off; SET statement_timeout = '{self._timeout}'")
        return connection


_clients: SharedClients[_Connections] = SharedClients(_Connections.close)


class PostgresEngine(Engine):
    """A collection of articles in PostgreSQL, in tables of its name.

    A law is written into a table of its own first and moved in one transaction, so that readers
    see whole laws only. Stores with the same address share their connections.

    Args:
        store: names the address and, as `table_name`, the collection.
        patient: wait half a minute for an engine that restarts, not a second.

    Raises:
        StoreError: the address is malformed, or the collection's name too long.
    """

    _refusals = (psycopg.Error, UnicodeError)

    def __init__(self, store: PgvectorDocumentStore, *, patient: bool = False) -> None:
        self._store = store
        address = store.connection_string.resolve_value() or ""
        try:
            parts: dict[str, Any] = {"connect_timeout": 10, **conninfo_to_dict(address)}
        except psycopg.Error:  # its message would repeat the password
            raise StoreError(
                "The address of PostgreSQL is malformed: write it as "
                "postgresql://USER@HOST:5432/DATABASE#COLLECTION, with special characters as %23."
            ) from None
        self._address, self._patient = make_conninfo(**parts), patient
        self._key = f"{patient} {self._address}"
        host = f"{parts.get('host', 'localhost')}:{parts.get('port', 5432)}"
        database = parts.get("dbname") or parts.get("user") or ""
        name = store.table_name
        place = f"{host}/{database}".rstrip("/")
        where = f"PostgreSQL at {place}, collection '{name}',"
        super().__init__(name, where, patient=patient)
        if len(name.encode()) > _LONGEST_NAME:
            raise StoreError(f"{where} has a name of over {_LONGEST_NAME} bytes. Shorten it.")
        self._run = uuid.uuid4().hex
        self._begun: dict[str, str | None] = {}

    @override
    def exists(self) -> bool:
        return self._has_table("", self._execute)

    @override
    @retried
    def create(self, dim: int, similarity: Similarity = "cosine") -> None:
        vectors = self._store.vector_type
        with self._transaction() as run:
            found = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
            if not run(found):
                run("CREATE EXTENSION vector")
            ((version,),) = run(found)
            if tuple(map(int, version.split(".")[:2])) < _PGVECTOR:
                raise StoreError(f"{self.where} has pgvector {version}; it needs 0.8 or later.")
            if self._has_table("_rows", run):
                # A collection made before articles had the field. Only the owner may alter it.
                if not run(_HAS_PLACES, (self._store.schema_name, f"{self.name}_rows")):
                    run(_ADD_PLACES)
                return
            for statement in _CREATED.split(";\n")[:-1]:
                run(statement, kind=sql.SQL(f"{vectors}({dim})"))
            for columns in _INDEXED:
                run(f"CREATE INDEX ON {{rows}} ({columns})")
            if vectors == "vector" and dim <= _LONGEST_INLINE:
                # Otherwise every vector is a look-up in another table.
                run("ALTER TABLE {main} ALTER embedding SET STORAGE PLAIN")

    @override
    def count(self) -> int:
        return int(self._execute("SELECT count(*) FROM {main}")[0][0])

    @override
    def states(self, kind: str) -> dict[str, dict[str, Any]]:
        if not self._has_table("_states", self._execute):
            return {}
        return dict(self._execute("SELECT key, value FROM {states} WHERE kind = %s", (kind,)))

    @override
    def put_state(self, kind: str, key: str, value: dict[str, Any]) -> None:
        self._execute(_PUT, (kind, key, Jsonb(value)))

    @override
    def drop_state(self, kind: str, key: str) -> None:
        self._execute(_DROP, (kind, key))

    @override
    def listed(self, law: str) -> dict[str, Listed]:
        found = self._execute(
            "SELECT id, meta->>'text_digest', meta->>'row_digest', r.position "
            "FROM {rows} r JOIN {main} m USING (id) WHERE r.law = %s",
            (law,),
        )
        return {id_: Listed(*digests) for id_, *digests in found}

    @override
    def vectors(self, digests: Mapping[str, str]) -> dict[str, list[float]]:
        # Also what a run that was interrupted has encoded.
        found = self._execute(
            "SELECT id, embedding::real[] FROM (SELECT id, meta, embedding FROM {main} UNION ALL "
            "SELECT id, meta, embedding FROM {staged}) AS both_ "
            "JOIN unnest(%s::text[], %s::text[]) AS known(id, digest) USING (id) "
            "WHERE meta->>'text_digest' = digest",
            (list(digests), list(digests.values())),
        )
        return dict(found)

    @override
    def begin_law(self, law: str, unfinished: dict[str, Any]) -> None:
        # Readers see the law as it is until it is finished.
        self._begun[law] = self._digest(law, self._execute)

    @override
    def write(self, documents: Sequence[Document]) -> None:
        columns = map(list, zip(*map(_staged, documents), strict=True))
        self._execute(_STAGE, (self._run, *columns), kind=sql.SQL(self._store.vector_type))

    @override
    @retried
    def finish_law(self, law: str, state: dict[str, Any], stale: Sequence[str]) -> None:
        given = {"run": self._run, "law": law, "stale": list(stale)}
        with self._transaction() as run:
            digest = self._digest(law, run)
            if digest == self._begun[law]:
                run(_COUNT, given, which=_GONE, sign=sql.SQL("-"))
                for statement in _DELETED:
                    run(statement, given, which=_GONE)
                for statement in _MOVED:
                    run(statement, given)
                run(_COUNT, given, which=_STAGED, sign=sql.SQL("+"))
                run(_PUT, (LAW, law, Jsonb(state)))
            elif digest != state["digest"]:  # what was written is a difference from another law
                raise StoreError(
                    f"{self.where} got another text of '{law}' from another run meanwhile. Run "
                    "the command again if this one's is to stand."
                )
            run("DELETE FROM {staged} WHERE law = %(law)s", given)

    @override
    @retried
    def drop_law(self, law: str) -> None:
        given, which = {"law": law}, "r.law = %(law)s"
        with self._transaction() as run:
            run(_COUNT, given, which=which, sign=sql.SQL("-"))
            for statement in _DELETED:
                run(statement, given, which=which)
            run("DELETE FROM {staged} WHERE law = %(law)s", given)
            run(_DROP, (LAW, law))

    @override
    def settle(self, *, approximate: bool) -> float | None:
        if approximate and not self.is_approximate():
            _, name, _ = _DISTANCES[self._search[0]]
            opclass = sql.SQL(f"{self._store.vector_type}_{name}_ops")
            self._execute("CREATE INDEX ON {main} USING hnsw (embedding {kind})", kind=opclass)
        for table in ("{main}", "{rows}", "{terms}", "{staged}"):
            # What was moved left room behind, and the plans of questions depend on the counts.
            self._execute(f"VACUUM (ANALYZE) {table}")
        return self._recall() if approximate else None

    @override
    def successor(self) -> str:
        return f"{self.name}_new"

    @override
    @retried
    def point_to(self, collection: str) -> None:
        granted = (
            "SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END, "
            "privilege_type FROM pg_class, aclexplode(relacl) "
            "WHERE oid = to_regclass(%s) AND grantee <> relowner"
        )
        with self._transaction() as run:
            for suffix in _TABLES:
                old, new = (self._table(f"{each}{suffix}") for each in (self.name, collection))
                for role, right in run(granted, (old.as_string(),)):
                    # The server's own words, quoted where they must be.
                    names = {"right": sql.SQL(right), "role": sql.SQL(role)}
                    run("GRANT {right} ON {new} TO {role}", new=new, **names)
                run("DROP TABLE IF EXISTS {old}", old=old)
                own = sql.Identifier(f"{self.name}{suffix}")
                run("ALTER TABLE {new} RENAME TO {own}", new=new, own=own)

    @override
    def nearest(
        self, embedding: list[float], k: int, condition: Condition | None
    ) -> list[Document]:
        exact = self._store.search_strategy != "hnsw"
        return self._nearest(_vector(embedding), k, condition, exact=exact)

    @override
    def by_words(
        self, terms: SparseEmbedding, k: int, condition: Condition | None
    ) -> list[Document]:
        where, values = self._where(condition)
        values |= {"terms": [*_shares(terms)], "k": k}
        question = self._sql(_QUESTION, dim=sql.Literal(_DIM), most=sql.Literal(_MOST_TERMS))
        found = self._execute(
            "SELECT id, content, meta, -distance FROM (SELECT r.id, r.position, "
            "(r.words <#> ({question}))::real AS distance FROM {rows} r WHERE {where} "
            "ORDER BY distance, r.position LIMIT %(k)s) AS best "
            "JOIN {main} m USING (id) WHERE distance < 0",
            values,
            question=question,
            where=where,
        )
        return [_document(*row) for row in found]

    @override
    def matching(self, condition: Condition, limit: int) -> list[Document]:
        where, values = self._where(condition)
        found = self._execute(
            "SELECT id, NULL, m.meta FROM {rows} r JOIN {main} m USING (id) WHERE {where} "
            "LIMIT %(limit)s",
            {**values, "limit": limit},
            where=where,
        )
        return [_document(*row) for row in found]

    @override
    def fetch(self, ids: Sequence[str]) -> list[Document]:
        found = self._execute(
            "SELECT id, content, meta FROM {main} WHERE id = ANY(%s)", (list(ids),)
        )
        return [_document(*row) for row in found]

    @override
    def close(self) -> None:
        _clients.release(self._key, self)
        self.__dict__.pop("_search", None)

    @override
    def is_approximate(self) -> bool:
        found = self._execute(
            "SELECT 1 FROM pg_indexes WHERE schemaname = %s AND tablename = %s "
            "AND indexdef LIKE '%%USING hnsw%%'",
            (self._store.schema_name, self.name),
        )
        return bool(found)

    @override
    def _may_pass(self, error: BaseException) -> bool:
        if not isinstance(error, psycopg.OperationalError):
            return False
        if error.sqlstate is not None:
            return error.sqlstate != _TOO_LONG
        message = str(error)
        refused = any(each in message for each in (*_REFUSED, *_TLS))
        return not refused or any(each in message for each in _PASSING)

    @override
    def _failure(self, error: Exception) -> str:
        reason = one_line(error)
        if isinstance(error, psycopg.errors.InsufficientPrivilege):
            return (
                f"is closed to this role ({reason}). Asking takes SELECT on its tables, indexing a "
                "role that owns them; an administrator adds the extension vector."
            )
        if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
            return f"is read-only ({reason}). Index into the primary server."
        if isinstance(error, psycopg.errors.UndefinedTable | psycopg.errors.UndefinedColumn):
            return f"has not the tables that Lexarbor makes ({reason}). Check the collection."
        if self._may_pass(error) or not isinstance(error, psycopg.OperationalError):
            return super()._failure(error)
        if error.sqlstate == _TOO_LONG:
            return (
                f"took longer than {_LONGEST_ANSWER} ({reason}). Narrow the question by a filter."
            )
        if any(each in str(error) for each in _TLS):
            return f"refuses the connection ({reason}). Set sslmode in its address as it demands."
        return f"refuses the connection ({reason}). Check user, password and database."

    @cached_property
    def _search(self) -> tuple[Similarity, bool]:
        """How vectors are compared, and whether the tables are Lexarbor's."""
        record = self.record()
        similarity = record and record.model.similarity
        ours = self._has_table("_rows", self._execute)
        return similarity or _SIMILARITIES[self._store.vector_function], ours

    def _recall(self, n_articles: int = 100, k: int = 10) -> float:
        """Share of the exact nearest of some articles that the HNSW index finds."""
        found = total = 0
        sample = "SELECT id, embedding::text FROM {main} ORDER BY md5(id) LIMIT %s"
        for id_, vector in self._execute(sample, (n_articles,)):
            exact, near = (
                {each.id for each in self._nearest(vector, k + 1, None, exact=each)} - {id_}
                for each in (True, False)
            )
            found, total = found + len(exact & near), total + len(exact)
        return found / total if total else 1.0

    @retried
    def _nearest(
        self, vector: str, k: int, condition: Condition | None, *, exact: bool
    ) -> list[Document]:
        similarity, ours = self._search
        operator, _, base = _DISTANCES[similarity]
        where, values = self._where(condition)
        # A sum is not what an index is ordered by.
        distance = f"(m.embedding {operator} %(vector)s::{self._store.vector_type})" + (
            " + 0" if exact else ""
        )
        joined = "JOIN {rows} r USING (id)" if ours and condition is not None else ""
        query = (
            f"SELECT id, content, m.meta, {distance} FROM {{main}} m {joined} WHERE {{where}} "
            "ORDER BY 4 LIMIT %(k)s"
        )
        with self._transaction(lock=False) as run:
            if not exact:
                wide = min(max(k, self._store.hnsw_ef_search or 40), 1000)
                run(f"SET LOCAL hnsw.ef_search = {wide}")
                # A filter may leave out what the index finds first: it goes on until it has enough.
                run("SET LOCAL hnsw.iterative_scan = strict_order")
            found = run(query, {**values, "vector": vector, "k": k}, where=where)
        return [
            _document(id_, content, meta, base - distance) for id_, content, meta, distance in found
        ]

    def _where(self, condition: Condition | None) -> tuple[sql.Composable, dict[str, Any]]:
        values: dict[str, Any] = {}
        if condition is None:
            return sql.SQL("TRUE"), values
        return _sql_of(condition, values, ours=self._search[1]), values

    def _digest(self, law: str, run: Run) -> str | None:
        found = "SELECT value->>'digest' FROM {states} WHERE kind = %s AND key = %s"
        return next((digest for (digest,) in run(found, (LAW, law))), None)

    def _has_table(self, suffix: str, run: Run) -> bool:
        found = "SELECT 1 FROM pg_tables WHERE schemaname = %s AND tablename = %s"
        return bool(run(found, (self._store.schema_name, f"{self.name}{suffix}")))

    @retried
    def _execute(self, text: str, values: Any = None, **parts: sql.Composable) -> list[Any]:
        """Execute one statement; its rows."""
        with self._running() as run:
            return run(text, values, **parts)

    @contextmanager
    def _running(self) -> Iterator[Run]:
        """A function that executes statements on a connection, and returns their rows."""
        connections = _clients.acquire(
            self._key, lambda: _Connections(self._address, self._patient), self
        )
        with connections.one() as connection:

            def run(text: str, values: Any = None, **parts: sql.Composable | str) -> list[Any]:
                cursor = connection.execute(self._sql(text, **parts), values)
                return cursor.fetchall() if cursor.description else []

            yield run

    @contextmanager
    def _transaction(self, *, lock: bool = True) -> Iterator[Run]:
        """As `_running`, in a transaction; with the lock of those that change the collection."""
        with self._running() as run:
            run("BEGIN")
            try:
                if lock:
                    run("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (self.name,))
                yield run
                run("COMMIT")
            except BaseException:
                with suppress(psycopg.Error):
                    run("ROLLBACK")
                raise

    def _sql(self, text: str, **parts: sql.Composable | str) -> sql.Composed:
        """A statement with the names of the tables, and these parts, in their places."""
        names = {suffix[1:] or "main": self._table(f"{self.name}{suffix}") for suffix in _TABLES}
        filled = {
            name: self._sql(part) if isinstance(part, str) else part for name, part in parts.items()
        }
        return sql.SQL(text).format(**names, **filled)

    def _table(self, name: str) -> sql.Identifier:
        return sql.Identifier(self._store.schema_name, name)


def _sql_of(condition: Condition, values: dict[str, Any], *, ours: bool) -> sql.Composable:
    """A condition of `engine_filters` in SQL.

    Args:
        condition: comparisons of stored fields.
        values: takes the values, by the names of their places.
        ours: whether fields are columns of rows; in another's table they are in the metadata.
    """
    operator = condition["operator"]
    if "field" not in condition:
        parts = [_sql_of(each, values, ours=ours) for each in condition["conditions"]]
        if operator == "NOT":
            return sql.SQL("({}) IS NOT TRUE").format(parts[0])  # a missing field is not equal
        return sql.SQL("({})").format(sql.SQL(f" {operator} ").join(parts))
    value, place = condition["value"], f"v{len(values)}"
    if isinstance(value, str) and "\0" in value:  # no text of PostgreSQL holds it
        return sql.SQL("FALSE")
    values[place] = value
    field = str(condition["field"]).removeprefix("meta.")
    left: sql.Composable = sql.Identifier("r" if ours else "m", field)
    if not ours and field != "id":
        kind = "text" if isinstance(value, str | list) else "numeric"
        left = sql.SQL(f"(m.meta->>{{}})::{kind}").format(sql.Literal(field))
    form = "{} = ANY({})" if operator == "in" else "{} " + operator.replace("==", "=") + " {}"
    return sql.SQL(form).format(left, sql.Placeholder(place))


def _shares(terms: SparseEmbedding | None) -> dict[int, float]:
    """Weights of terms by their numbers in a vector of pgvector, the heaviest of very many."""
    found: dict[int, float] = {}
    for number, weight in zip(terms.indices, terms.values, strict=True) if terms else ():
        place = number % (_DIM - 1) + 1
        found[place] = found.get(place, 0.0) + weight
    if len(found) > _MOST_TERMS:
        found = dict(sorted(found.items(), key=lambda each: -each[1])[:_MOST_TERMS])
    return found


def _sparse(terms: SparseEmbedding | None) -> str:
    inside = ",".join(f"{place}:{weight}" for place, weight in _shares(terms).items())
    return f"{{{inside}}}/{_DIM}"


def _vector(embedding: Sequence[float]) -> str:
    return f"[{','.join(map(str, embedding))}]"


def _staged(document: Document) -> tuple[str, ...]:
    meta = json.dumps(document.meta, ensure_ascii=False)
    # No text of PostgreSQL holds a NUL.
    content = (document.content or "").replace("\0", "")
    words = _sparse(document.sparse_embedding)
    vector = _vector(document.embedding or [])
    return document.id, document.meta["law"], vector, content, meta, words


def _document(
    id_: str, content: str | None, meta: Mapping[str, Any] | None, score: float | None = None
) -> Document:
    return Document(id=id_, content=content, meta=article_meta(meta or {}), score=score)
