"""What one process has indexed, the next one asks and indexes again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from milvus_lite.server_manager import server_manager_instance

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
