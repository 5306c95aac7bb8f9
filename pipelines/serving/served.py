"""ServedPipeline: a pipeline as hayhooks serves it."""

from __future__ import annotations

import asyncio
from datetime import date
from typing import Any, Literal

from hayhooks import BasePipelineWrapper
from haystack import Pipeline
from starlette.responses import Response

from components.stores.rows import StoreError
from pipelines.asking import ask_async
from pipelines.filled_stores import check_stores
from pipelines.serving import exchange
from pipelines.serving.gate import Gate
from pipelines.serving.problems import (
    NOT_READY,
    json_response,
    of_error,
    out_of_time,
    problem_response,
)


class ServedPipeline(BasePipelineWrapper):  # type: ignore[misc]  # hayhooks has no types
    """Answers questions with a pipeline that `load_pipeline` loaded.

    Args:
        pipeline: loaded, not warmed up yet.
        gate: shared by all that one service answers.
        seconds: time for one question, waiting for a place included.
    """

    skip_mcp = True
    skip_a2a = True

    def __init__(self, pipeline: Pipeline, gate: Gate, seconds: float) -> None:
        super().__init__()
        self.pipeline = pipeline
        self.loaded = False
        self._gate = gate
        self._seconds = seconds
        # Where hayhooks builds a wrapper itself, it sets this.
        self._is_run_api_async_implemented = True

    def setup(self) -> None:
        """Load models and indexes, so that nobody waits for them.

        Raises:
            ModelError: the model cannot be loaded.
            StoreError: the store cannot be read, or it holds no article.
        """
        check_stores(self.pipeline)
        self.pipeline.warm_up()
        self.loaded = True

    @property
    def state(self) -> Literal["starting", "store", "ready"]:
        """Whether questions are answered now; "store": its store would not let them be."""
        if not self.loaded:
            return "starting"
        try:
            check_stores(self.pipeline)
        except StoreError:
            return "store"
        return "ready"

    async def run_api_async(
        self,
        query: str,
        top_k: int | None = None,
        filters: dict[str, Any] | None = None,
        as_of: date | str | None = None,
    ) -> Response:
        """Find the articles of law that answer a question asked in plain words."""
        # Whatever fails ends here: hayhooks would hand an error's text to the client.
        try:
            if not self.loaded:
                return problem_response(NOT_READY)
            async with asyncio.timeout(self._seconds) as clock:
                async with self._gate.place():
                    answer = await ask_async(self.pipeline, query, top_k, filters, as_of)
            going = exchange.current.get()
            if going is not None:
                going.documents = len(answer["documents"])
            return json_response(answer)
        except Exception as error:  # noqa: BLE001
            if isinstance(error, TimeoutError) and clock.expired():
                return problem_response(out_of_time(self._seconds))
            return problem_response(of_error(error))
