"""The embedders map questions and documents to a bi-encoder that the process loads once."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from haystack import Document
from haystack.utils import ComponentDevice

from components.embedders.document import StatuteDocumentEmbedder
from components.embedders.sparse_document import StatuteSparseDocumentEmbedder
from components.embedders.text import StatuteTextEmbedder
from components.models.errors import ModelError
from components.statutes.question import QuestionError

CPU = ComponentDevice.from_str("cpu")


@pytest.fixture(scope="module")
def embedder(minilm: str) -> StatuteTextEmbedder:
    return StatuteTextEmbedder(model=minilm, device=CPU, dtype="float32")


@pytest.fixture(scope="module", autouse=True)
def loaded(embedder: StatuteTextEmbedder) -> None:
    """One model for all tests of this file."""
    embedder.warm_up()


def articles() -> list[Document]:
    return [
        Document(id="a", content="The landlord repairs the roof.", meta={"headings": ["Repairs"]}),
        Document(id="b", content="Spouses share the household."),
    ]


def test_a_question_becomes_a_unit_vector(embedder: StatuteTextEmbedder) -> None:
    vector = embedder.run("Who mends the roof?")["embedding"]
    assert len(vector) == 384
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    assert embedder.run("  Who mends\tthe roof? ")["embedding"] == pytest.approx(vector, abs=1e-5)


def test_meaning_is_near_meaning(embedder: StatuteTextEmbedder, minilm: str) -> None:
    documents = StatuteDocumentEmbedder(minilm, CPU, "float32", progress_bar=False).run(articles())
    question = np.array(embedder.run("Must my house owner fix a leaking roof?")["embedding"])
    roof, spouses = (np.array(each.embedding) for each in documents["documents"])
    assert question @ roof > question @ spouses + 0.2


def test_headings_are_encoded_with_the_text(minilm: str) -> None:
    embedder = StatuteDocumentEmbedder(minilm, CPU, "float32", progress_bar=False)
    with_heading, whole, bare = embedder.run(
        [
            articles()[0],
            Document(id="c", content="Repairs The landlord repairs the roof."),
            Document(id="d", content="The landlord repairs the roof."),
        ]
    )["documents"]
    assert with_heading.embedding == pytest.approx(whole.embedding, abs=1e-5)
    assert with_heading.embedding != pytest.approx(bare.embedding, abs=1e-2)


def test_what_was_cut_off_is_counted(minilm: str) -> None:
    embedder = StatuteDocumentEmbedder(minilm, CPU, "float32", progress_bar=False)
    long = Document(id="long", content="roof " * 2000)
    meta = embedder.run([*articles(), long])["meta"]
    assert (meta["n_texts"], meta["n_cut"]) == (3, 1)
    assert meta["tokens_cut"] > 1000


def test_documents_keep_everything_else_and_none_is_no_work(minilm: str) -> None:
    embedder = StatuteDocumentEmbedder(minilm, CPU, "float32", progress_bar=False)
    for before, after in zip(articles(), embedder.run(articles())["documents"], strict=True):
        assert (before.id, before.content, before.meta) == (after.id, after.content, after.meta)
    assert embedder.run([])["documents"] == []


def test_the_progress_bar_ends_at_the_number_of_articles(
    minilm: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    StatuteDocumentEmbedder(minilm, CPU, "float32").run(articles())
    assert "2/2" in capsys.readouterr().err
    StatuteDocumentEmbedder(minilm, CPU, "float32", progress_bar=False).run(articles())
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("embedder_class", [StatuteTextEmbedder, StatuteDocumentEmbedder])
def test_no_model_says_how_to_name_one(embedder_class: Any) -> None:
    with pytest.raises(
        ModelError, match=rf"{embedder_class.__name__}\.model is null.*load_pipeline"
    ):
        embedder_class().warm_up()


@pytest.mark.parametrize("embedder_class", [StatuteTextEmbedder, StatuteDocumentEmbedder])
def test_a_model_that_is_not_there_is_named(embedder_class: Any, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="nowhere"):
        embedder_class(model=str(tmp_path / "nowhere")).warm_up()


@pytest.mark.parametrize("question", ["", " \n ", "x" * 20_000_000, 3, ["a", "b"]])
def test_what_is_no_question_is_refused_before_any_model_loads(question: Any) -> None:
    with pytest.raises(QuestionError):
        StatuteTextEmbedder(model="/nowhere").run(question)


def test_unusable_documents_are_refused_by_name(minilm: str) -> None:
    embedder = StatuteDocumentEmbedder(minilm, CPU, progress_bar=False)
    for content in (None, "", "  "):
        with pytest.raises(ValueError, match="document 'empty' has no content"):
            embedder.run([*articles(), Document(id="empty", content=content)])
    for bad in ("a text", ["a text"], articles()[0]):
        with pytest.raises(TypeError, match="StatuteTextEmbedder"):
            embedder.run(bad)  # type: ignore[arg-type]


def test_both_embedders_share_one_model_from_any_thread(minilm: str) -> None:
    made = [
        (StatuteTextEmbedder if row % 2 else StatuteDocumentEmbedder)(minilm, CPU, "float32")
        for row in range(8)
    ]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda each: each.warm_up(), made))
    assert len({id(each._loaded()) for each in made}) == 1


def test_threads_at_once_get_the_vectors_of_one_after_another(
    embedder: StatuteTextEmbedder,
) -> None:
    questions = [
        f"May tenant number {row} keep {'very ' * (row % 7)}small pets?" for row in range(40)
    ]
    alone = [embedder.run(question)["embedding"] for question in questions]
    with ThreadPoolExecutor(8) as threads:
        together = [each["embedding"] for each in threads.map(embedder.run, questions)]
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_what_of_an_article_is_read_is_told(embedder: StatuteTextEmbedder) -> None:
    short = (["Repairs"], "The landlord repairs the roof.")
    long = (["Repairs"], "roof " * 1000)
    before = (["Repairs " * 400], "The landlord repairs the roof.")
    whole, part, nothing = embedder.shares_read([short, long, before])
    assert (whole, nothing) == (1, 0)
    # 256 tokens, of which two are special and one is the heading's.
    assert part == pytest.approx(253 / 1000)
    assert embedder.shares_read([]) == []


@pytest.mark.parametrize("headings", ["Repairs", [None, "Repairs"], ["", "Repairs"]])
def test_headings_of_any_kind_are_read(minilm: str, headings: Any) -> None:
    odd, right = articles()[0], articles()[0]
    odd.meta.update(headings=headings, language=3)
    dense = StatuteDocumentEmbedder(minilm, CPU, "float32", progress_bar=False)
    one, other = dense.run([odd, right])["documents"]
    assert one.embedding == pytest.approx(other.embedding, abs=1e-5)
    one, other = StatuteSparseDocumentEmbedder().run([odd, right])["documents"]
    assert one.sparse_embedding == other.sparse_embedding


@pytest.mark.parametrize("length", [0, float("nan"), "75", True])
def test_an_average_length_that_is_none_is_refused(length: Any) -> None:
    with pytest.raises(ValueError, match=r"average_length must be above 0, got "):
        StatuteSparseDocumentEmbedder(average_length=length)


@pytest.mark.parametrize("weighting", ["counts", "BM25", "", None, ["count"]])
def test_a_weighting_that_is_none_is_refused(weighting: Any) -> None:
    with pytest.raises(ValueError, match=r"weighting must be 'bm25' or 'count', got "):
        StatuteSparseDocumentEmbedder(weighting=weighting)
