"""The whole way: a law and its questions, a trained model, a store, an answer."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from law_files import housing_code

from components.models.biencoder import BiEncoder
from components.statutes.article import indexed_text
from components.statutes.corpus import StatuteCorpus, read_questions
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import ask
from pipelines.evaluate import main as evaluate
from pipelines.indexing import index_corpus
from pipelines.loading import load_pipeline

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def law(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return housing_code(tmp_path_factory.mktemp("demo") / "law")


@pytest.fixture(scope="module")
def trained(law: Path, minilm: str) -> Path:
    """MiniLM after a few steps, its upper layers only."""
    folder = law / "model"
    settings = {
        "corpus": law,
        "questions": law,
        "model": minilm,
        "output": folder,
        "max_steps": 4,
        "batch_size": 8,
        "negatives_per_question": 2,
        "frozen_layers": 4,
        "max_tokens": 64,
        "learning_rate": 1e-4,
        "temperature": 0.05,
    }
    flags = [part for name, value in settings.items() for part in (f"--{name}", str(value))]
    done = subprocess.run(
        [sys.executable, "-m", "training.cusines", *flags],
        cwd=ROOT,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    assert f"The model is in {folder}" in done.stderr
    return folder


@pytest.fixture(scope="module")
def store(law: Path, trained: Path) -> Path:
    report = index_corpus(law / "articles.jsonl", law / "law.db", model=str(trained))
    assert (report.articles, report.model) == (58, str(trained))
    return law / "law.db"


def test_the_store_holds_the_trained_model_s_vectors(
    law: Path, trained: Path, store: Path, minilm: str
) -> None:
    opened = StatuteDocumentStore(str(store))
    model, untrained = BiEncoder.load(trained), BiEncoder.load(minilm)
    assert opened.model is not None
    assert opened.model.digest == model.digest != untrained.digest
    _, vectors = opened.vectors()
    articles = StatuteCorpus.read(law)
    texts = [indexed_text(article.headings, article.text) for article in articles]
    ours = (vectors * model.encode_articles(texts).numpy()).sum(axis=1)
    theirs = (vectors * untrained.encode_articles(texts).numpy()).sum(axis=1)
    assert ours.min() > 0.999 > theirs.mean()


@pytest.mark.parametrize("pipeline", ["dense", "hybrid"])
def test_questions_find_their_articles_with_a_trained_model(
    law: Path, store: Path, pipeline: str
) -> None:
    loaded = load_pipeline(pipeline, store=store)
    found = [
        bool({each["id"] for each in ask(loaded, q.text, 10)["documents"]} & set(q.relevant))
        for q in read_questions(str(law))
    ]
    # Ten of 58 articles drawn at random would hold one in a third of the cases.
    assert len(found) == 29 and sum(found) >= 16
    arguments = ["--store", str(store), "--questions", str(law / "questions.jsonl")]
    assert evaluate([*arguments, "--split", "test", "--pipeline", pipeline, "--depth", "58"]) == 0
