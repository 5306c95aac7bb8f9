"""`pipelines.index --second-model`: one more list of hybrid, kept up with the law, or refused."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from components.models.biencoder import BiEncoder
from components.models.errors import ModelError
from components.retrievers.embedding import SecondEncoder
from components.retrievers.hybrid import StatuteHybridRetriever
from components.stores.rows import StoreError
from components.stores.sqlite import StatuteDocumentStore
from pipelines.indexing import index_corpus
from pipelines.loading import load_pipeline
from pipelines.stages import stages_of

QUESTION = "Who decides on rule 7?"


@pytest.fixture
def index(tmp_path, corpus, tiny_model):
    def run(second=None, model=str(tiny_model)):
        said: list[str] = []
        path = tmp_path / "law.db"
        report = index_corpus(corpus, path, model=model, second_model=second, say=said.append)
        return StatuteDocumentStore(str(path)), report, said

    return run


def by_meaning(model, store):
    """Ids of the articles by the similarity of their indexed texts to the question."""
    encoder = BiEncoder.load(model, device="cpu")
    ids = {key: id_ for key, id_, _ in store.metas()}
    keys, texts = zip(*[(key, text) for key, text, _ in store.texts()], strict=True)
    articles, question = encoder.encode_articles(texts), encoder.encode_queries([QUESTION])[0]
    similarities = (articles @ question).numpy()
    return [ids[keys[row]] for row in np.argsort(-similarities, kind="stable")]


def rankings(store, **options):
    retriever = StatuteHybridRetriever(store, model=store.model.path, **options)
    return retriever.run(QUESTION)["rankings"]


def test_its_vectors_are_one_more_list(index, minilm):
    store, report, said = index(minilm)
    assert report.encoded == 60
    weight = SecondEncoder.of(store).weight
    assert 0 < weight <= 0.5
    assert any(f"weight {weight}" in line for line in said)
    pipeline = load_pipeline("hybrid", store.path)
    assert [each.name for each in stages_of(pipeline)][-3:-1] == ["dense", "second"]
    found = pipeline.get_component("retriever").run(QUESTION)
    assert list(found["rankings"]["second"]) == by_meaning(minilm, store)
    first = found["documents"][0]
    assert first.meta["ranks"]["second"] == found["rankings"]["second"][first.id]
    # The more it weighs, the more it decides.
    heavy = StatuteHybridRetriever(store, model=store.model.path, weights={"second": 1000.0})
    above = [each.id for each in heavy.run(QUESTION)["documents"]]
    assert above[:5] == by_meaning(minilm, store)[:5]
    assert "second" not in rankings(store, weights={"second": 0})


def test_it_follows_the_law_until_it_is_given_up(index, minilm, corpus, encoded):
    store, _, _ = index(minilm)
    lines = corpus.read_text().splitlines()
    corpus.write_text("\n".join([lines[0].replace("decides", "rules"), *lines[2:]]) + "\n")
    digest = SecondEncoder.of(store).model.digest
    del encoded[:]
    index()
    assert len(encoded) == 2, "the changed article, by each model"
    assert list(rankings(store)["second"]) == by_meaning(minilm, store)
    index("none")
    assert "second" not in rankings(store)
    assert SecondEncoder.of(store) is None
    assert store.journal.known(digest) == set()


def test_what_cannot_be_a_second_model_is_refused(index, minilm, tiny_model, tmp_path):
    with pytest.raises(ModelError, match="own model"):
        index(str(tiny_model))
    with pytest.raises(ModelError, match="--model"):
        index(minilm, model="none")
    assert not (tmp_path / "law.db").exists()
    moved = tmp_path / "moved"
    shutil.copytree(minilm, moved)
    store, _, _ = index(str(moved))
    shutil.rmtree(moved)
    with pytest.raises(ModelError, match="--second-model none"):
        rankings(store)
    store.save_blob("second", "", b'{"weight": -1}')
    with pytest.raises(StoreError, match="second model"):
        rankings(store)
