"""What one process has indexed, the next one asks and indexes again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from haystack import Pipeline
from milvus_lite.server_manager import server_manager_instance
from qdrant_client import QdrantClient

from pipelines.asking import ask
from pipelines.engines.indexing import EngineReport
from pipelines.loading import load_pipeline

Article = dict[str, Any]
Index = Callable[..., EngineReport]


@pytest.mark.parametrize("engine", ["milvus"])
def test_a_folder_of_milvus_lite_outlives_its_process(
    index: Index, address: str, articles: list[Article]
) -> None:
    def end_process() -> None:
        server_manager_instance.release_server(address)

    index(articles)
    end_process()
    found = ask(load_pipeline("milvus", store=address), "art. 3 Housing Code", top_k=3)
    assert found["documents"][0]["id"] == "a3"
    end_process()
    report = index(articles[:-1])
    assert (report.encoded, report.removed, report.complete) == (0, 1, True)


@pytest.mark.parametrize("close", [Pipeline.close, lambda each: asyncio.run(each.close_async())])
def test_a_closed_pipeline_lets_go_of_the_engine_and_opens_it_again(
    engine: str,
    index: Index,
    address: str,
    articles: list[Article],
    close: Callable[[Pipeline], None],
) -> None:
    index(articles)
    pipeline = load_pipeline(engine, store=address)
    found = ask(pipeline, "art. 3 Housing Code, on rent")
    close(pipeline)
    if engine == "qdrant":  # Milvus Lite keeps its folder to the process's end
        other = QdrantClient(path=address)  # refused while the folder is held
        other.close()
    again = ask(pipeline, "art. 3 Housing Code, on rent")
    assert [each["id"] for each in again["documents"]] == [
        each["id"] for each in found["documents"]
    ]
