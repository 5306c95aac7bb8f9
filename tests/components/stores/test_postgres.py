"""PostgreSQL: filters, words and vectors mean what they mean elsewhere; refusals are one line."""

import math
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from engine_articles import DOCUMENTS, FILTERS, ROWS
from haystack import Document
from haystack.utils import Secret
from haystack.utils.filters import document_matches_filter
from haystack_integrations.components.retrievers.pgvector import PgvectorEmbeddingRetriever
from haystack_integrations.document_stores.pgvector import PgvectorDocumentStore
from hypothesis import given, settings
from serving import free_port

from components.embedders.sparse_document import StatuteSparseDocumentEmbedder
from components.embedders.sparse_text import StatuteSparseTextEmbedder
from components.models.lexical_index import LexicalIndex
from components.retrievers.engines import EngineCitationRetriever, EngineEmbeddingRetriever
from components.statutes.lexical import K1, B
from components.stores.database import StoreError
from components.stores.engines import LAW, as_row, engine_filters
from components.stores.postgres import PostgresEngine

pytestmark = pytest.mark.integration
DIM = 8


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr("components.stores.engines._INDEXING", (0.01, 0.02))
    monkeypatch.setattr("components.stores.engines._ASKING", (0.01,))


@pytest.fixture
def opened(postgres):
    """Opens collections of the server; closes them after the test."""
    engines = []

    def opened(name="law", url=None, **parameters):
        address = Secret.from_token(url or postgres.url())
        parameters = {"table_name": name, "embedding_dimension": DIM, **parameters}
        engines.append(
            PostgresEngine(PgvectorDocumentStore(connection_string=address, **parameters))
        )
        return engines[-1]

    yield opened
    for each in engines:
        each.close()


def filled(engine, documents, laws=None):
    """The documents (meta from `as_row`), written law by law."""
    random = np.random.default_rng(0)
    engine.create(DIM)
    for law in laws or {each.meta["law"] for each in documents}:
        engine.begin_law(law, {})
        own = [
            replace(each, embedding=random.standard_normal(DIM).tolist())
            for each in documents
            if each.meta["law"] == law
        ]
        if own:
            engine.write(own)
        stale = set(engine.listed(law)) - {each.id for each in own}
        engine.finish_law(law, {"digest": f"{law} {len(own)}", "articles": len(own)}, [*stale])
    return engine


def weighed(documents, average=3.0):
    rows = [replace(each, meta=as_row(each, f"digest of {each.id}")) for each in documents]
    return StatuteSparseDocumentEmbedder(average).run(rows)["documents"]


def articles(*texts, law="Housing Code"):
    return [
        Document(
            id=f"{law}-{n}",
            content=text,
            meta={"law": law, "number": str(n), "headings": [], "position": n, "language": "en"},
        )
        for n, text in enumerate(texts)
    ]


@pytest.fixture(scope="module")
def rows(postgres):
    """The articles of the table of filters in Lexarbor's tables, and as any writer's documents."""
    address = Secret.from_token(postgres.url())
    ours = PgvectorDocumentStore(connection_string=address, table_name="filtered")
    content = [
        replace(row, content=each.content) for row, each in zip(ROWS, DOCUMENTS, strict=True)
    ]
    filled(PostgresEngine(ours), content)
    foreign = PgvectorDocumentStore(
        connection_string=address, table_name="foreign", embedding_dimension=DIM
    )
    foreign.write_documents([replace(each, embedding=[1.0] * DIM) for each in content])
    engines = PostgresEngine(ours), PostgresEngine(foreign)
    yield engines
    for each in engines:
        each.close()
    foreign.close()


@settings(max_examples=120)
@given(filters=FILTERS)
def test_filters_match_what_haystack_matches(rows, filters):
    ours, foreign = rows
    condition = engine_filters(filters)
    expected = {each.id for each in DOCUMENTS if document_matches_filter(filters, each)}
    if isinstance(condition, bool):
        assert expected == ({each.id for each in DOCUMENTS} if condition else set())
        return
    assert {each.id for each in ours.matching(condition, 100)} == expected
    for engine in (ours, foreign):
        assert {each.id for each in engine.nearest([1.0] * DIM, 100, condition)} == expected


def test_no_filter_reaches_the_database_as_code(rows):
    for value in ("'; DROP TABLE filtered; --", "%s", "{}", '"', "\\", "a\0b"):
        for engine in rows:
            condition = engine_filters({"field": "meta.law", "operator": "==", "value": value})
            assert engine.nearest([1.0] * DIM, 9, condition) == []


TEXTS = ("The landlord mends roof and roof.", "The tenant pays rent.", "Rent of the roof.", "Hens")


def test_words_are_bm25_and_count_what_is_there_now(opened):
    engine = opened("words")
    asked = StatuteSparseTextEmbedder(["en"]).run("Who mends the roof, and pays rent?")

    def expected(texts):
        index = LexicalIndex.build(((n, text, "en") for n, text in texts), k1=K1, b=B)
        keys, scores = index.search("Who mends the roof, and pays rent?", 10)
        return dict(zip(keys.tolist(), scores.tolist(), strict=True))

    def found(condition=None):
        documents = engine.by_words(asked["sparse_embedding"], 10, condition)
        return {each.meta["position"]: each.score for each in documents}

    documents = articles(*TEXTS)
    mean = np.mean([LENGTHS[text] for text in TEXTS])
    filled(engine, weighed(documents, mean))
    assert found() == pytest.approx(expected(enumerate(TEXTS)), rel=1e-5)
    # Fewer texts, and one in other words: how many have a term is counted again.
    kept = articles(*TEXTS[:2], "Hens")
    mean = np.mean([4, 3, 1])
    filled(engine, weighed(kept, mean))
    assert found() == pytest.approx(expected(enumerate((*TEXTS[:2], "Hens"))), rel=1e-5)
    engine.drop_law("Housing Code")
    assert (engine.count(), found(), engine.states(LAW)) == (0, {}, {})
    assert sum(n for (n,) in engine._execute("SELECT articles FROM {terms}")) == 0


# Terms of each text: stems without stop words.
LENGTHS = {TEXTS[0]: 4, TEXTS[1]: 3, TEXTS[2]: 2, TEXTS[3]: 1}


def test_an_article_of_very_many_words_and_an_empty_question(opened):
    text = " ".join(f"w{n}" for n in range(17_000))
    engine = filled(opened("long"), weighed(articles(text, "A roof \0 of it."), 3.0))
    embedder = StatuteSparseTextEmbedder(["en"])
    asked = embedder.run("What of w16999 and a roof?")["sparse_embedding"]
    assert engine.by_words(asked, 1, None)[0].content == "A roof  of it."
    assert engine.by_words(embedder.run("zzz")["sparse_embedding"], 5, None) == []


def test_an_hnsw_index_finds_nearly_all_and_its_filter_is_kept(opened):
    documents = weighed(articles(*(f"Rule {n}." for n in range(400))))
    exact = filled(opened("near"), documents)
    assert exact.settle(approximate=False) is None
    recall = exact.settle(approximate=True)
    assert 0.9 < recall <= 1.0
    assert exact.is_approximate()
    near = opened("near", search_strategy="hnsw")
    question = np.random.default_rng(1).standard_normal(DIM).tolist()
    ours, theirs = (
        [each.id for each in engine.nearest(question, 20, None)] for engine in (exact, near)
    )
    assert len(set(ours) & set(theirs)) > 15
    late = {"field": "meta.position", "operator": ">=", "value": 390}
    for engine in (exact, near):
        found = engine.nearest(question, 20, engine_filters(late))
        assert {each.meta["position"] for each in found} == set(range(390, 400))


@pytest.mark.parametrize("kind", ["vector", "halfvec"])
def test_haystacks_own_retriever_reads_the_table(opened, kind):
    # Its index by words has one name for all tables of a schema.
    engine = opened(f"of_{kind}", vector_type=kind, keyword_index_name=f"{kind}_words")
    filled(engine, weighed(articles("A roof.", "Rent.")))
    question = [1.0, *[0.5] * (DIM - 1)]
    with closing(engine._store) as store:
        (theirs,) = PgvectorEmbeddingRetriever(document_store=store).run(question, top_k=1).values()
    (ours,) = engine.nearest(question, 1, None)
    assert (ours.id, ours.content) == (theirs[0].id, theirs[0].content)
    assert ours.score == pytest.approx(theirs[0].score, abs=1e-6)


def test_a_collection_of_ones_own_is_searched_by_meaning(opened):
    note = Document(id="n1", content="A note.", meta={"by": "me"}, embedding=[1.0] * DIM)
    with closing(opened("mine", keyword_index_name="mine_words")._store) as store:
        store.write_documents([note])
        retriever = EngineEmbeddingRetriever(store)
        (found,) = retriever.run([1.0] * DIM)["documents"]
        assert (found.content, found.meta) == ("A note.", {"by": "me"})
        with pytest.raises(StoreError, match="collection 'mine', has no laws on record"):
            EngineCitationRetriever(store).run("What does article 12 say?")
        retriever.close()


def test_vectors_are_known_by_their_text_before_the_law_is_there(opened):
    engine = opened("staged")
    engine.create(DIM)
    documents = [replace(each, embedding=[0.5] * DIM) for each in weighed(articles("A", "B"))]
    engine.begin_law("Housing Code", {})
    engine.write(documents)
    ids = [each.id for each in documents]
    assert engine.fetch(ids) == []
    digests = {ids[0]: f"digest of {ids[0]}", ids[1]: "another text"}
    assert opened("staged").vectors(digests) == {ids[0]: [0.5] * DIM}
    engine.finish_law("Housing Code", {"digest": "d", "articles": 2}, [])
    assert {each.id for each in engine.fetch(ids)} == set(ids)


def test_a_refusal_is_one_line_that_says_what_to_do(opened, postgres):
    postgres.run("CREATE ROLE guarded LOGIN PASSWORD 'right'", "CREATE ROLE enciphered LOGIN")
    filled(opened("guarded"), weighed(articles("A roof.")))
    port, there = free_port(), postgres.url()
    for url, expected in (
        (
            f"postgresql://me@127.0.0.1:{port}/law",
            rf"127.0.0.1:{port}/law.* does not answer .*Check",
        ),
        (postgres.url("guarded:wrong"), "refuses .*password authentication.*Check user, password"),
        (postgres.url("guarded"), "refuses the connection .*password.*Check user, password"),
        (postgres.url(database="none"), 'database "none" does not exist.*Check user'),
        (f"{there}?sslmode=require", "refuses .*SSL was required.*Set sslmode"),
        (postgres.url("enciphered"), "refuses .*no encryption.*Set sslmode"),
        (postgres.url("guarded:right"), r"closed to this role .*permission denied.*takes SELECT"),
        ("postgresql://me:se#cret@[", "is malformed: write it as postgresql://"),
    ):
        with pytest.raises(StoreError, match=expected) as raised:
            opened("guarded", url).nearest([1.0] * DIM, 1, None)
        assert "\n" not in str(raised.value)
        assert "cret" not in str(raised.value)
        assert "wrong" not in str(raised.value)
    postgres.run(
        "CREATE ROLE standby LOGIN SUPERUSER",
        "ALTER ROLE standby SET default_transaction_read_only = on",
    )
    replica = opened("guarded", postgres.url("standby"))
    assert replica.nearest([1.0] * DIM, 1, None)
    with pytest.raises(StoreError, match=r"is read-only .*Index into the primary"):
        replica.put_state(LAW, "Housing Code", {})
    with pytest.raises(StoreError, match="over 50 bytes"):
        opened("a" * 51)
    with pytest.raises(StoreError, match=r"has not the tables .*Check the collection"):
        opened("nowhere").fetch(["a"])
    with pytest.raises(StoreError, match="refused the request: different vector dimensions"):
        opened("guarded").nearest([1.0, 2.0], 1, None)
    assert math.isfinite(opened("guarded").nearest([1.0] * DIM, 1, None)[0].score)
