"""Serving: the pipeline that answers the page's questions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from haystack import Pipeline

from pipelines.asking import Answer, ask
from pipelines.loading import load_pipeline


class Serving:
    """Answers questions with a pipeline, whose place another one can take at any moment.

    Args:
        pipeline: name or file.
        store: what is searched at first.
        model: in place of the one that the store records; None for that one.
        overrides: as for `load_pipeline`.

    Raises:
        LoadingError: the pipeline is refused, or store and model do not fit.
        StoreError: the store cannot be read.
        ModelError: the model cannot be loaded.
    """

    def __init__(
        self,
        pipeline: str,
        store: Path,
        model: str | None = None,
        overrides: Mapping[str, Any] | None = None,
    ) -> None:
        self._name = pipeline
        self._overrides = overrides
        self._model = model
        self._pipeline = self._loaded(store)

    @property
    def pipeline(self) -> Pipeline:
        """The one that answers now."""
        return self._pipeline

    def answer(self, question: str) -> Answer:
        """Ask the pipeline of this moment, to the end."""
        return ask(self._pipeline, question)

    def switch(self, store: Path) -> None:
        """Search another store from the next question on; nobody waits while it is loaded.

        Raises:
            LoadingError, StoreError, ModelError: as at first; the one before goes on answering.
        """
        self._pipeline = self._loaded(store)

    def _loaded(self, store: Path) -> Pipeline:
        pipeline = load_pipeline(self._name, store, self._model, self._overrides)
        # Models and indexes are loaded now, so that the first reader does not wait for them.
        pipeline.warm_up()
        return pipeline
