"""Laws indexed through a tiny graph network, and what is encoded for it."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from graph_stores import Article, Index

from components.stores.sqlite import StatuteDocumentStore
from pipelines.indexing import IndexReport, index_corpus


@pytest.fixture
def store(tmp_path: Path) -> Iterator[StatuteDocumentStore]:
    store = StatuteDocumentStore(str(tmp_path / "law.db"))
    yield store
    store.close()


@pytest.fixture
def write(
    tmp_path: Path, write_corpus: Callable[[Path, Sequence[Article]], Path]
) -> Callable[[list[Article]], Path]:
    return lambda articles: write_corpus(tmp_path / "articles.jsonl", articles)


@pytest.fixture
def index(
    tiny_graphs: dict[str, Path],
    store: StatuteDocumentStore,
    write: Callable[[list[Article]], Path],
) -> Index:
    """Indexes these articles into the test's store through the tree's graph, unless told."""

    def run(articles: list[Article], **options: Any) -> IndexReport:
        chosen = {"model": str(tiny_graphs["tree"]), "graph": True, **options}
        return index_corpus(write(articles), str(store.path), **chosen)

    return run
