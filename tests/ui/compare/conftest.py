"""Small laws to compare over, and comparisons made by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pipelines.comparing import Comparison, Found, Lap, StageRanking, compare
from pipelines.indexing import index_corpus


@pytest.fixture(scope="session")
def make_store(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """`make_store(word, model)`: a store of twelve articles that all have the word."""

    def made(word: str, model: str = "none") -> Path:
        folder = tmp_path_factory.mktemp("law")
        with (folder / "articles.jsonl").open("w") as file:
            for number in range(1, 13):
                article = {"id": f"{word}{number}", "law": "Code", "number": str(number)}
                text = f"A deposit is {word}; rule {number}."
                line = {**article, "headings": [], "text": text, "language": "en"}
                file.write(json.dumps(line) + "\n")
        index_corpus(folder / "articles.jsonl", folder / "law.db", model=model)
        return folder / "law.db"

    return made


@pytest.fixture(scope="session")
def text_store(make_store: Callable[..., Path]) -> Path:
    """Without vectors; not to be written to."""
    return make_store("owed")


@pytest.fixture(scope="session")
def vector_store(make_store: Callable[..., Path], minilm: str) -> Path:
    """With MiniLM's vectors; not to be written to."""
    return make_store("owed", minilm)


def article(id: str, **fields: Any) -> dict[str, Any]:
    return {"id": id, "law": "Housing Code", "number": id, "language": "en", **fields}


@pytest.fixture(scope="session")
def found() -> Callable[..., Found]:
    """`found(name, ids, stages, laps, cut)`: what a pipeline found, made by hand."""

    def made(
        pipeline: str,
        ids: list[str],
        stages: Mapping[str, Mapping[str, int]] | None = None,
        laps: Mapping[str, float] | None = None,
        cut: int | None = None,
    ) -> Found:
        told = [StageRanking(name, ranks, None) for name, ranks in (stages or {}).items()]
        timed = [Lap(name, ms) for name, ms in (laps or {}).items()]
        took = sum(lap.ms for lap in timed) + 2.0
        return Found(pipeline, [article(id_) for id_ in ids], cut, told, timed, took)

    return made


@pytest.fixture(scope="session")
def comparison(found: Callable[..., Found]) -> Comparison:
    """Lexical and hybrid: 1 rises, 2 falls, 3 stays, 4 goes and 5 comes."""
    bm25 = {"2": 1, "1": 2, "3": 3, "4": 4}
    left = found("lexical", ["2", "1", "3", "4"], {"bm25": bm25}, {"bm25": 1.25, "fused": 0.5})
    stages = {"bm25": bm25, "dense": {"5": 1, "1": 2, "3": 40}}
    laps = {"bm25": 1.0, "embedder": 10.0, "dense": 2.0, "fused": 0.75}
    return compare(left, found("hybrid", ["1", "2", "3", "5"], stages, laps))
