"""A pipeline of Lexarbor in hayhooks: POST /statutes/run with `query`, as `lexarbor ask` answers.

    LEXARBOR_STORE=law.db hayhooks run --pipelines-dir examples/hayhooks

LEXARBOR_PIPELINE names another pipeline than hybrid.
"""

import os
from typing import Any

from fastapi import HTTPException
from hayhooks import BasePipelineWrapper
from haystack.errors import FilterError

from components.statutes.question import QuestionError
from pipelines.asking import ask_async
from pipelines.loading import load_pipeline


class PipelineWrapper(BasePipelineWrapper):
    """Finds the articles of law that answer a question."""

    def setup(self) -> None:
        """Load the pipeline, its models and its indexes."""
        name = os.environ.get("LEXARBOR_PIPELINE", "hybrid")
        self.pipeline = load_pipeline(name, store=os.environ["LEXARBOR_STORE"])
        self.pipeline.warm_up()

    async def run_api_async(
        self,
        query: str,
        top_k: int | None = None,
        filters: dict[str, Any] | None = None,
        as_of: str | None = None,
    ) -> dict[str, Any]:
        """Find the articles of law that answer a question asked in plain words."""
        try:
            return dict(await ask_async(self.pipeline, query, top_k, filters, as_of))
        except (FilterError, QuestionError) as error:
            raise HTTPException(422, str(error)) from error
