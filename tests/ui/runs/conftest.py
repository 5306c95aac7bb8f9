"""Runs and results that are made up, and a client of the page over them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from run_records import records
from starlette.testclient import TestClient

from components.stores.sqlite import StatuteDocumentStore
from ui.collection import Collection
from ui.runs.results import Results
from ui.runs.routes import runs_routes
from ui.runs.sources import Sources

MANIFEST = {
    "config": {"select_by": "R@10", "views": ["tree", "sequence", "semantic"], "seed": 0},
    "metrics": {"epoch": 3},
    "base_model": "/home/somebody/models/small-bert",
    "data": {"corpus_sha256": "c0ffee"},
}


@pytest.fixture
def write_run(tmp_path: Path) -> Callable[..., Path]:
    """`write_run(name, records=, manifest=)`: a model folder below `tmp_path/runs`."""

    def write(
        name: str = "demo",
        of: Sequence[dict[str, Any]] | bytes | None = None,
        manifest: dict[str, Any] | bytes | None = MANIFEST,  # type: ignore[assignment]
    ) -> Path:
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        found = records() if of is None else of
        if not isinstance(found, bytes):
            found = "".join(json.dumps(each) + "\n" for each in found).encode()
        (folder / "metrics.jsonl").write_bytes(found)
        if manifest is not None:
            written = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
            (folder / "manifest.json").write_bytes(written)
        return folder

    return write


@pytest.fixture
def write_results(tmp_path: Path) -> Callable[..., Path]:
    """`write_results(lines)`: a file in `tmp_path/results`; gives the folder."""

    def write(lines: Sequence[Any], name: str = "ablate.jsonl") -> Path:
        folder = tmp_path / "results"
        folder.mkdir(exist_ok=True)
        text = "".join(
            (line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines
        )
        (folder / name).write_text(text, encoding="utf-8")
        return folder

    return write


@pytest.fixture
def store(tmp_path: Path) -> Iterator[StatuteDocumentStore]:
    """Articles a0 to a9 of the Housing Code, and a10 to a19 of the Labour Code."""
    made = StatuteDocumentStore(str(tmp_path / "law.db"))
    made.write_documents(
        [
            Document(
                id=f"a{number}",
                content=f"words {number}",
                meta={
                    "law": "Housing Code" if number < 10 else "Labour Code",
                    "number": str(number),
                    "headings": [],
                    "position": number,
                    "language": "en",
                },
            )
            for number in range(20)
        ]
    )
    yield made
    made.close()


@pytest.fixture
def client(
    tmp_path: Path, store: StatuteDocumentStore, monkeypatch: pytest.MonkeyPatch
) -> Iterator[TestClient]:
    """Of the page over `tmp_path/runs` and `tmp_path/results`; an error in it fails the test."""
    from ui.server import build_server

    # On a busy machine too the tables are there.
    monkeypatch.setattr("ui.runs.routes._PATIENCE", 60)
    sources = Sources(lambda: store, [tmp_path / "runs"])
    results = Results(tmp_path / "results")
    routes = runs_routes(sources, results, lambda: store, lambda: Collection.of(store))
    with TestClient(build_server({}, routes)) as made:
        yield made
