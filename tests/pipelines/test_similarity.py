"""A model that was trained with dot products or distances is searched with them everywhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from slow_cases import slow

from components.models.biencoder import BiEncoder
from components.models.devices import BF16
from components.models.folder import model_digest, read_manifest
from components.retrievers.embedding import StatuteEmbeddingRetriever
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import ask
from pipelines.engines import engine_at, index_into_engine
from pipelines.indexing import index_corpus
from pipelines.loading import load_pipeline

QUESTION = "Who decides on custody in chapter 3?"


def expected_scores(model: Path, similarity: str, articles: list[dict]) -> dict[str, float]:
    """By float64 sums over every number."""
    encoder = BiEncoder.load(model, device="cpu", dtype="float32")
    texts = [" ".join([*each["headings"], each["text"]]) for each in articles]
    matrix = encoder.encode_articles(texts).numpy().astype(np.float64)
    (asked,) = encoder.encode_queries([QUESTION]).numpy().astype(np.float64)
    lengths = np.linalg.norm(matrix, axis=1)
    if similarity == "cosine":
        assert np.allclose(lengths, 1)
    else:
        assert lengths.std() > 1e-3
    scores = matrix @ asked if similarity != "l2" else -np.linalg.norm(matrix - asked, axis=1)
    return {each["id"]: float(score) for each, score in zip(articles, scores, strict=True)}


@pytest.mark.parametrize("similarity", ["dot", *slow("cosine", "l2")])
def test_store_and_engine_search_by_the_models_similarity(
    similarity, articles, write_corpus, tmp_path, tiny_model, monkeypatch
):
    monkeypatch.setattr(BF16, "_settled", "float32")  # whatever is faster here
    plain = BiEncoder.load(tiny_model, device="cpu", dtype="float32")
    plain.save(tmp_path / "plain")
    # The tiny model with another similarity: its vectors have lengths of their own.
    model = tmp_path / "model"
    BiEncoder(plain.query, similarity=similarity).save(model)
    manifest = read_manifest(model)
    assert manifest.similarity == BiEncoder.load(model).similarity == similarity
    same = model_digest(tmp_path / "plain") == model_digest(model)
    assert same == (similarity == "cosine")
    expected = expected_scores(model, similarity, articles)
    best = sorted(expected.values(), reverse=True)
    source = write_corpus(tmp_path / "articles.jsonl", articles)
    index_corpus(source, tmp_path / "law.db", model=str(model))
    store = StatuteDocumentStore(str(tmp_path / "law.db"))
    assert store.model is not None and store.model.similarity == similarity
    pipeline = load_pipeline("dense", store=tmp_path / "law.db")
    found = ask(pipeline, QUESTION, top_k=30)["documents"]
    # Texts may be alike: then their scores are, and either may stand first.
    assert [expected[each["id"]] for each in found] == pytest.approx(best, rel=1e-4, abs=1e-5)
    encoder = BiEncoder.load(model, device="cpu", dtype="float32")
    asked = encoder.encode_queries([QUESTION])[0].tolist()
    nearest = StatuteEmbeddingRetriever(store, top_k=10).run(asked)["documents"]
    own = [each.score for each in nearest]
    address = str(tmp_path / "qdrant")
    index_into_engine(source, address, model=str(model))
    engine = engine_at(address)
    near = engine.nearest(asked, 10, None)
    found_scores = [expected[each.id] for each in near]
    assert found_scores == pytest.approx(best[:10], rel=1e-4, abs=1e-5)
    scores = [each.score or 0.0 for each in near]
    assert scores == sorted(scores, reverse=True)
    assert scores == pytest.approx(own, rel=1e-3)
    engine.close()
