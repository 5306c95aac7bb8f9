"""The dense retriever finds exactly what brute force finds, over any store, at any moment."""

import numpy as np
import pytest
from haystack import Document
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError

from components.models.folder import VectorError
from components.retrievers.embedding import DenseVectors, StatuteEmbeddingRetriever
from components.stores.database import StoreError
from components.stores.sqlite import StatuteDocumentStore

EVEN = {"field": "meta.even", "operator": "==", "value": True}
ONES = [1.0] * 8


def random_vectors(n, seed=0):
    """`[n, 8]`, not of unit length."""
    return np.random.default_rng(seed).normal(size=(n, 8)).astype(np.float32)


def law_of(vectors, law="Housing Code"):
    """Documents with these vectors `[n, dim]`; written backwards, placed forwards."""
    made = []
    for position, vector in enumerate(vectors):
        meta = {"law": law, "number": str(position), "headings": [], "position": position}
        meta |= {"language": "en", "even": position % 2 == 0}
        text = f"Words of article {position}."
        embedding = np.asarray(vector, dtype=np.float32).tolist()
        made.append(Document(id=f"{law}-{position}", content=text, meta=meta, embedding=embedding))
    return made[::-1]


@pytest.fixture
def retriever_of(store):
    """`retriever_of(vectors)`: over our store with these vectors."""

    def made(vectors, **parameters):
        store.write_documents(law_of(vectors))
        return StatuteEmbeddingRetriever(store, **parameters)

    return made


def positions(found):
    return [document.meta["position"] for document in found["documents"]]


def brute_force(matrix, query, k):
    """Positions by cosine in float64, ties by position."""
    exact = matrix.astype(np.float64)
    cosines = exact @ query / np.linalg.norm(exact, axis=1)
    return sorted(range(len(matrix)), key=lambda row: (-cosines[row], row))[:k]


def test_finds_what_brute_force_finds(retriever_of):
    matrix = random_vectors(300)
    twins = np.random.default_rng(2).permutation(300)[:150]
    matrix[twins] = matrix[twins[0]]
    retriever = retriever_of(matrix, top_k=25)
    for query in random_vectors(10, seed=1):
        found = retriever.run(query.tolist())
        assert positions(found) == brute_force(matrix, query, 25)
        best = matrix[positions(found)[0]]
        cosine = best @ query / np.linalg.norm(best) / np.linalg.norm(query)
        assert found["documents"][0].score == pytest.approx(cosine, abs=1e-6)
    query = matrix[twins[0]]
    assert positions(retriever.run(query.tolist(), top_k=100)) == sorted(twins.tolist())[:100]
    for scale in (1e-30, 1e30):
        scaled = (matrix[7].astype(float) * scale).tolist()
        assert positions(retriever.run(scaled)) == brute_force(matrix, matrix[7], 25)


def test_filters_choose_before_the_cut_and_any_store_gives_the_same(retriever_of, in_memory):
    matrix = random_vectors(60)
    matrix[10:30] = matrix[10]
    ours = retriever_of(matrix, top_k=20)
    theirs = StatuteEmbeddingRetriever(in_memory(law_of(matrix)), top_k=20)
    query = random_vectors(1, seed=4)[0]
    even = [row for row in brute_force(matrix, query, 60) if row % 2 == 0][:20]
    own = StatuteEmbeddingRetriever(ours.document_store, filters=EVEN, top_k=20)
    nothing = {"field": "meta.law", "operator": "==", "value": "No Such Code"}
    for retriever in (ours, theirs):
        assert positions(retriever.run(query.tolist(), EVEN)) == even
        assert positions(retriever.run(query.tolist(), nothing)) == []
        with pytest.raises(FilterError):
            retriever.run(query.tolist(), {"field": "meta.law", "value": 1})
    assert positions(own.run(query.tolist())) == even
    for query in [*random_vectors(5, seed=3), matrix[10]]:
        one, other = (each.run(query.tolist())["documents"] for each in (ours, theirs))
        same = [(d.id, d.score, d.content, d.meta) for d in other]
        assert [(d.id, d.score, d.content, d.meta) for d in one] == same
        assert all(document.embedding is None for document in [*one, *other])


@pytest.mark.parametrize(
    "query",
    [[float("nan")] * 8, [float("inf")] * 8, [0.0] * 8, [1.0] * 7, [], [ONES], ["a"] * 8, None],
    ids=repr,
)
def test_an_unusable_query_is_refused_by_name(retriever_of, query):
    with pytest.raises(VectorError, match="query_embedding"):
        retriever_of(random_vectors(3)).run(query)


def test_stores_without_vectors_say_why_and_top_k_is_checked(store):
    retriever = StatuteEmbeddingRetriever(store)
    assert store.count_documents() == 0  # which makes the file
    for top_k in (None, 0):
        assert retriever.run(ONES, top_k=top_k)["documents"] == []
    with pytest.raises(ValueError, match="top_k"):
        retriever.run(ONES, top_k=-1)
    for top_k, error in ((0, ValueError), ("3", TypeError)):
        with pytest.raises(error, match="top_k"):
            StatuteEmbeddingRetriever(store, top_k=top_k)
    store.write_documents([Document(id="a", content="Words.")])
    with pytest.raises(StoreError, match="--model"):
        retriever.warm_up()
    foreign = InMemoryDocumentStore(return_embedding=False)
    foreign.write_documents(law_of(random_vectors(3)))
    with pytest.raises(StoreError, match="embeddings"):
        StatuteEmbeddingRetriever(foreign).warm_up()
    with pytest.raises(StoreError):
        StatuteEmbeddingRetriever(StatuteDocumentStore()).warm_up()


@pytest.mark.parametrize("filters", [None, EVEN])
def test_a_law_published_during_the_search_is_found(retriever_of, monkeypatch, filters):
    vectors = random_vectors(12)
    retriever = retriever_of(vectors, top_k=4)
    expected = positions(retriever.run(ONES, filters))
    current = retriever._resident.current
    republished = []

    def current_then_published(*given):
        resident = current(*given)
        if not republished:
            republished.append(True)
            documents = law_of(vectors)
            retriever.document_store.write_documents(documents, DuplicatePolicy.OVERWRITE)
        return resident

    monkeypatch.setattr(retriever._resident, "current", current_then_published)
    assert positions(retriever.run(ONES, filters)) == expected


@pytest.mark.parametrize("unusable", [[float("nan")] * 8, [0.0] * 8, [1.0] * 5])
def test_an_unusable_vector_of_a_foreign_store_is_named(in_memory, unusable):
    documents = [Document(id="good", content="Words.", embedding=ONES)]
    documents.append(Document(id="bad", content="Words.", embedding=unusable))
    with pytest.raises(VectorError, match="'bad'"):
        StatuteEmbeddingRetriever(in_memory(documents)).warm_up()


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
def test_a_long_article_counts_half_by_its_best_provision(similarity):
    matrix, parts = random_vectors(60), random_vectors(300, seed=5)
    keys = np.arange(100, 160)
    long = {100 + 3 * n: parts[15 * n : 15 * n + 2 + n % 14] for n in range(20)}
    long[103] = long[100]  # twins
    matrix[3] = matrix[0]
    vectors = DenseVectors(keys, matrix, "cpu", similarity=similarity, provisions=long)
    allowed = keys[::2]
    for query in random_vectors(8, seed=1).astype(np.float64):

        def similar(rows, query=query):
            lengths = np.linalg.norm(rows, axis=-1) * np.linalg.norm(query)
            return rows @ query / (lengths if similarity == "cosine" else 1)

        scores = similar(matrix.astype(np.float64))
        for key, rows in long.items():
            best = similar(rows.astype(np.float64)).max()
            scores[key - 100] = (scores[key - 100] + best) / 2
        for k, chosen in ((5, keys), (60, keys), (20, allowed)):
            wanted = sorted(chosen, key=lambda key: (-np.float32(scores[key - 100]), key))[:k]
            found, similarities = vectors.search(query.astype(np.float32), k, chosen)
            assert found.tolist() == wanted
            np.testing.assert_allclose(similarities, scores[found - 100], rtol=1e-5, atol=1e-6)
