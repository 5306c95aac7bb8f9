from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from components.models.biencoder import BiEncoder
from components.statutes.article import TextRule
from components.statutes.coverage import coverage
from pipelines.asking import ask
from pipelines.files import FOLDER
from pipelines.indexing import index_corpus
from pipelines.loading import load_pipeline
from training.data import TrainingData
from training.rank_fusion import FULL_COVERAGE
from training.ranking.first_stage import FirstStage
from training.ranking.pipeline_lists import RERANKED, pipeline_candidates


def test_as_many_as_the_pipeline_ranks() -> None:
    text = (FOLDER / "hybrid_rerank.yaml").read_text(encoding="utf-8")
    pipeline = yaml.safe_load(text)
    parameters = {name: each["init_parameters"] for name, each in pipeline["components"].items()}
    assert parameters["ranker"]["candidates"] == RERANKED
    assert parameters["fuser"]["full_coverage"] == {"bm25": FULL_COVERAGE}


@pytest.mark.parametrize("rule", ["headings_text", "text"])
def test_the_lists_are_those_of_the_pipeline(
    rule: TextRule,
    tiny_bert: Path,
    write_law: Callable[..., Path],
    article: Callable[..., dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # In bfloat16 what a text is encoded beside can turn the order of two that are nearly alike.
    monkeypatch.setattr("components.models.devices.fast_bf16", lambda _: False)
    # Words that repeat, and articles of different length: k1 and b count.
    words = ("must notice case", "lease", "the council of case", "tenant deposit")
    said = [" ".join(words[n % 4 : n % 4 + 2]) for n in range(100)]
    law = [article(n, text=f"{each}. " * (1 + n % 7)) for n, each in enumerate(said)]
    write_law(tmp_path, law)
    plain = BiEncoder.load(tiny_bert, device="cpu")
    BiEncoder(plain.query, text_rule=rule).save(tmp_path / "model")
    biencoder = BiEncoder.load(tmp_path / "model", device="cpu")
    corpus, questions = (tmp_path / f"{name}.jsonl" for name in ("articles", "questions"))
    index_corpus(corpus, tmp_path / "law.db", model=str(tmp_path / "model"))
    pipeline = load_pipeline("hybrid", tmp_path / "law.db")
    data = TrainingData.read(str(corpus), str(questions))
    stage = FirstStage.search(biencoder, data, 5)
    found = pipeline_candidates(stage, data.corpus, rule)
    assert found.questions == data.dev
    covered = []
    for question, positions in zip(data.dev, found.found.tolist(), strict=True):
        expected = [
            each["id"] for each in ask(pipeline, question.text, top_k=RERANKED)["documents"]
        ]
        assert [data.corpus.ids[position] for position in positions] == expected
        first = data.corpus[positions[0]]
        covered.append(coverage(question.text, f"{' '.join(first.headings)} {first.text}", "en"))
    assert min(covered) < FULL_COVERAGE  # so that what weight BM25 has is seen in the order
    assert not np.array_equal(found.found[:, :5], stage.dev.found)
