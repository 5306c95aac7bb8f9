"""Two engines within the process, and small corpora for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from components.models.biencoder import BiEncoder
from components.stores.engines.engine import ASKING, ArticleEngine
from pipelines.engines import indexing
from pipelines.engines.addresses import MILVUS_STORE, QDRANT_STORE, place_in
from pipelines.engines.connecting import default_parameters, opened
from pipelines.engines.indexing import EngineReport, index_into_engine

KINDS = {"qdrant": QDRANT_STORE, "milvus": MILVUS_STORE}


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for an engine that a test has broken."""
    monkeypatch.setattr(indexing, "INDEXING", (0.01, 0.02))
    monkeypatch.setattr("pipelines.engines.binding.ASKING", (0.01,))


@pytest.fixture(params=["qdrant", "milvus"])
def engine(request: pytest.FixtureRequest) -> str:
    """Each of the two."""
    name: str = request.param
    return name


@pytest.fixture
def address(engine: str, tmp_path: Path) -> str:
    """Where the engine keeps its files: within the process, so without a server."""
    return str(tmp_path / ("qdrant" if engine == "qdrant" else "milvus.db"))


@pytest.fixture
def index(
    engine: str, address: str, tmp_path: Path, tiny_model: Path, write_corpus: Callable[..., Path]
) -> Callable[..., EngineReport]:
    """Indexes these articles into the test's engine, with the tiny model unless told."""

    def run(articles: list[dict[str, Any]], **options: Any) -> EngineReport:
        source = write_corpus(tmp_path / "articles.jsonl", articles)
        return index_into_engine(source, engine, address, **{"model": str(tiny_model), **options})

    return run


@pytest.fixture
def look(engine: str, address: str) -> Iterator[Callable[[], ArticleEngine]]:
    """Opens the test's collection."""
    opened_here: list[ArticleEngine] = []

    def collection() -> ArticleEngine:
        parameters = default_parameters(KINDS[engine])
        place_in(KINDS[engine], parameters, address)
        opened_here.append(opened(KINDS[engine], parameters, ASKING))
        return opened_here[-1]

    yield collection
    for each in opened_here:
        each.close()


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are encoded from now on."""
    texts: list[str] = []
    encode = BiEncoder.encode_articles_report

    def noting(self: BiEncoder, given: list[str], **options: Any) -> Any:
        texts.extend(given)
        return encode(self, given, **options)

    monkeypatch.setattr(BiEncoder, "encode_articles_report", noting)
    return texts
