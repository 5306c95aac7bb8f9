"""Whose score says how near the law comes, and the best of it in one run."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from haystack import Document

from components.models.ranker_folder import ranker_digest
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import run
from pipelines.files import FOLDER, LoadingError
from pipelines.loading import load_pipeline
from pipelines.scorer import Scorer, scorer_of


def document(score: float | None, **ranks: int) -> Document:
    return Document(id=str(score), content="law", score=score, meta={"ranks": ranks})


def test_a_dense_retriever_is_named_by_the_stores_model(law_store: Path) -> None:
    model = StatuteDocumentStore(str(law_store)).model
    assert model is not None
    for name in ("dense", "hybrid"):
        pipeline = load_pipeline(name, law_store)
        scorer = scorer_of(pipeline)
        assert scorer == Scorer("dense", "dense", model.digest)
        outputs = run(pipeline, "Rule 8 on rent: the family officer decides.", {"dense"})
        assert scorer.best(outputs) == outputs["dense"]["documents"][0].score
        assert 0.8 < (scorer.best(outputs) or 0) <= 1.001


def test_a_graph_store_is_named_by_graph_and_encoder(
    corpus: Path, tmp_path: Path, tiny_graphs: dict[str, Path]
) -> None:
    from components.models.digest import graph_model_digest
    from pipelines.indexing import index_corpus

    index_corpus(corpus, tmp_path / "law.db", model=str(tiny_graphs["tree"]), graph=True)
    found = scorer_of(load_pipeline("hybrid", tmp_path / "law.db"))
    assert found == Scorer("dense", "dense", graph_model_digest(tiny_graphs["tree"]))


def reranking(store: Path, ranker: Path, **overrides: Any) -> Any:
    named = {"ranker.model": str(ranker), **overrides}
    return load_pipeline("hybrid_rerank", store, overrides=named)


def test_a_ranker_comes_before_a_dense_retriever(law_store: Path, tiny_ranker: Path) -> None:
    pipeline = reranking(law_store, tiny_ranker)
    scorer = scorer_of(pipeline)
    assert scorer == Scorer("reranker", "ranker", ranker_digest(tiny_ranker))
    outputs = run(pipeline, "What does art. 12 Housing Code say on custody?", {"ranker"})
    first, second = outputs["ranker"]["documents"][:2]
    # The cited article stands first, unread.
    assert (first.id, first.score) == ("a12", 1.0)
    assert scorer.best(outputs) == second.score


def test_a_ranker_that_scores_otherwise_is_another(
    law_store: Path, tiny_ranker: Path, tmp_path: Path
) -> None:
    plain = scorer_of(reranking(law_store, tiny_ranker)).model_digest
    fields = scorer_of(reranking(law_store, tiny_ranker, **{"ranker.meta_fields": ["law"]}))
    calibrated = scorer_of(reranking(law_store, tiny_ranker, **{"ranker.calibrated": True}))
    assert len({plain, fields.model_digest, calibrated.model_digest}) == 3
    copy = tmp_path / "moved"
    shutil.copytree(tiny_ranker, copy)
    assert scorer_of(reranking(law_store, copy)).model_digest == plain


def test_words_alone_are_no_score(law_store: Path) -> None:
    with pytest.raises(LoadingError, match=r"lexical has no one score.*it has neither"):
        scorer_of(load_pipeline("lexical", law_store))


def test_of_two_dense_retrievers_none_is_taken(law_store: Path, tmp_path: Path) -> None:
    text = (FOLDER / "dense.yaml").read_text(encoding="utf-8")
    start, end = text.index("  dense:\n"), text.index("  fuser:\n")
    second = text[start:end].replace("  dense:", "  second:", 1)
    text = text[:end] + second + text[end:]
    text = text.replace("stages: [citation, dense]", "stages: [citation, dense, second]")
    text = text.replace(
        "connections:\n",
        "connections:\n"
        "  - {sender: embedder.embedding, receiver: second.query_embedding}\n"
        "  - {sender: second.documents, receiver: fuser.second}\n",
    )
    mine = tmp_path / "mine.yaml"
    mine.write_text(text, encoding="utf-8")
    with pytest.raises(LoadingError, match=r"2 dense retrievers \(dense, second\)"):
        scorer_of(load_pipeline(mine, law_store))


def test_a_store_without_a_model_on_record_is_refused(tmp_path: Path, minilm: str) -> None:
    store = StatuteDocumentStore(str(tmp_path / "law.db"))
    store.write_documents([Document(id="1", content="law", embedding=[0.5] * 384)])
    store.close()
    pipeline = load_pipeline("dense", tmp_path / "law.db", model=minilm)
    with pytest.raises(LoadingError, match=r"dense.document_store has no model on record"):
        scorer_of(pipeline)


@pytest.mark.parametrize(
    ("stage", "documents", "best"),
    [
        ("dense", [], None),
        ("dense", [document(None)], None),
        ("dense", [document(float("nan")), document(0.2), document(0.3)], 0.3),
        ("dense", [document(float("nan"))], None),
        ("dense", [document(-0.5), document(-0.1)], -0.1),
        ("reranker", [document(0.4, reranker=1)], 0.4),
        ("reranker", [], None),
    ],
)
def test_the_best_score_is_one_that_the_stage_gave(
    stage: Any, documents: list[Document], best: float | None
) -> None:
    # What else a ranker lists is pinned, unread, or below its best.
    listed = {"best": documents, "documents": [document(1.0)]}
    outputs = {"documents": documents} if stage == "dense" else listed
    assert Scorer(stage, "own", "d").best({"own": outputs}) == best


def test_a_stage_that_did_not_run_has_no_best() -> None:
    assert Scorer("dense", "own", "d").best({}) is None
