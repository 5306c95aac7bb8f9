"""The demo's model, which comes with the package: it fits the law and the bundled model."""

import json
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import torch

from components.models.biencoder import BiEncoder
from components.models.folder import articles_digest, model_digest, read_manifest
from components.models.stored_vectors import stored_vectors
from components.retrievers.answered import AnsweredQuestions, recorded_questions
from components.statutes.article import indexed_text
from components.statutes.corpus import StatuteCorpus, read_questions
from components.stores.sqlite import StatuteDocumentStore
from pipelines.home import adopt_demo_vectors
from pipelines.indexing import index_corpus
from pipelines.loading import DEMO_MODEL
from training.loop import validate


@pytest.fixture(scope="module")
def model() -> BiEncoder:
    return BiEncoder.load(DEMO_MODEL, device="cpu")


def test_it_is_of_this_law_and_over_the_bundled_model(minilm):
    manifest = read_manifest(DEMO_MODEL)
    assert manifest.data["corpus_sha256"] == StatuteCorpus.read("aldermere").sha256
    assert manifest.data["questions_sha256"] == read_questions("aldermere").sha256
    assert articles_digest(DEMO_MODEL) == manifest.base["sha256"] == model_digest(Path(minilm))
    assert not manifest.base["model"].startswith("/")
    size = sum(path.stat().st_size for path in DEMO_MODEL.rglob("*") if path.is_file())
    assert size < 12 * 10**6


def test_it_finds_on_dev_what_its_manifest_says(model, demo_home):
    manifest = read_manifest(DEMO_MODEL)
    law = StatuteCorpus.read("aldermere")
    texts = [indexed_text(each.headings, each.text) for each in law]
    vectors = stored_vectors(demo_home / "demo.db", model.articles_digest, texts, model.dim)
    dev = [each for each in read_questions("aldermere", split="dev") if each.relevant]
    articles = torch.from_numpy(np.stack([vectors[row] for row in range(len(texts))]))
    asked = model.encode_queries([each.text for each in dev])
    found = validate(dev, asked, articles, law.ids, "MAP@10")
    for metric in ("MAP@10", "R@10", "MRR@10"):
        # One question more or less, where a processor computes bfloat16 otherwise.
        assert found[metric] == pytest.approx(manifest.metrics["dev"][metric], abs=0.01)


def test_the_demo_store_takes_its_answered_questions_from_it(model, demo_home):
    with closing(StatuteDocumentStore(str(demo_home / "demo.db"))) as store:
        assert store.model.question_digest == model.digest
        record = recorded_questions(store, model.digest)
        answered = AnsweredQuestions.read(store, record)
    assert model.knows(answered.texts)
    assert len(answered.texts) > 12_000


def test_its_readme_says_how_it_was_made():
    readme = (DEMO_MODEL / "README.md").read_text()
    manifest = json.loads((DEMO_MODEL / "manifest.json").read_text())
    assert "python -m training.cusines --config training/configs/demo.yaml" in readme
    for metric in ("R@10", "MAP@10"):
        assert f"{manifest['metrics']['dev'][metric]:.3f}" in readme
    assert model_digest(DEMO_MODEL)[:12] in readme


def test_the_demo_law_is_not_encoded_again(minilm, tmp_path):
    """The shipped vectors are those of today's law, text for text, and of the bundled model."""
    path = tmp_path / "demo.db"
    with closing(StatuteDocumentStore(str(path))) as store:
        adopt_demo_vectors(store)
    report = index_corpus("aldermere", path, model=str(DEMO_MODEL))
    assert (report.encoded, report.provisions) == (0, 0)
    law = list(StatuteCorpus.read("aldermere"))[::29]
    texts = [indexed_text(each.headings, each.text) for each in law]
    model = BiEncoder.load(minilm, device="cpu")
    shipped = stored_vectors(path, model.articles_digest, texts, model.dim)
    for row, vector in enumerate(model.encode_articles(texts).numpy()):
        assert float(shipped[row] @ vector) > 0.999
