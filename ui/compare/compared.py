"""Compared: the pipelines that can be set side by side over one store."""

from __future__ import annotations

import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from haystack import Pipeline

from components.models.errors import ModelError
from components.retrievers.resident import ReadableStore
from components.stores.rows import StoreError
from components.stores.sqlite import StatuteDocumentStore
from pipelines.comparison import Comparison, compare, find
from pipelines.files import LoadingError, pipeline_names
from pipelines.loading import load_pipeline
from pipelines.stages import time_components

# Those that retrieve; the articles of the others come from one of these.
_RETRIEVING = ("lexical", "dense", "hybrid", "hybrid_rerank")
_DEFAULTS = ("lexical", "hybrid")

# What a component does at its first question is not to be taken from a reader's.
_FIRST_QUESTION = "law"


class Compared:
    """Asks pipelines by name; each is loaded at its first question, once for all who ask.

    They search the store of the moment: where another has taken its place, they are loaded anew,
    and those over the one before are let go. Models and indexes are shared, among them and with
    the rest of the process.

    Args:
        store: gives what is searched now.
        model: in place of the one that the store records; None for that one.
        own: name or file of the pipeline that the page was started with. It is compared too where
            it is a file of the reader's own that retrieves.

    Attributes:
        names: of those that the store can serve, fewest stages first.
    """

    def __init__(
        self, store: Callable[[], ReadableStore], model: str | None = None, own: str | None = None
    ) -> None:
        self._store = store
        self._model = model
        files = {name: name for name in _RETRIEVING}
        if own is not None and own not in pipeline_names():
            # With its ending, so that no file has the name of one of ours.
            files[f"{Path(own).stem}.yaml"] = own
        # One thread for all who ask: times are told, and two comparisons at once would disturb
        # each other. Who comes while a pipeline is loaded waits, and finds it loaded.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="compare")
        self._over: str | None = None
        self._ready: dict[str, Pipeline] = {}
        self._files = {name: file for name, file in files.items() if self._can_serve(file)}
        self.names = tuple(self._files)

    @property
    def defaults(self) -> tuple[str, str] | None:
        """What stands on the left and on the right at first; None where there are not two."""
        wanted = [name for name in _DEFAULTS if name in self.names]
        left, right, *_ = *dict.fromkeys([*wanted, *self.names]), "", ""
        return (left, right) if right else None

    def compare(self, question: str, left: str, right: str) -> Comparison:
        """Ask two pipelines one clean question; both search the same store.

        Raises:
            KeyError: a name is none of `names`.
            LoadingError, StoreError, ModelError: one cannot be loaded, or the store not be read.
        """
        return self._thread.submit(self._compared, question, left, right).result()

    def _compared(self, question: str, left: str, right: str) -> Comparison:
        path = self._path()
        if path != self._over:
            self._ready.clear()
            # Pipelines refer to themselves: until they are collected, all that they hold stays.
            gc.collect()
            self._over = path
        pipelines = [self._loaded(name, path) for name in (left, right)]
        return compare(*(find(pipeline, question) for pipeline in pipelines))

    def _loaded(self, name: str, path: str) -> Pipeline:
        if name not in self._ready:
            pipeline = load_pipeline(self._files[name], path, self._model)
            pipeline.metadata["name"] = name
            pipeline.warm_up()
            time_components(pipeline)
            find(pipeline, _FIRST_QUESTION)
            self._ready[name] = pipeline
        return self._ready[name]

    def _can_serve(self, file: str) -> bool:
        try:
            pipeline = load_pipeline(file, self._path(), self._model)
        except (LoadingError, ModelError, StoreError):
            return False
        return "answers" not in pipeline.metadata.get("outputs", {})

    def _path(self) -> str:
        store = self._store()
        if not isinstance(store, StatuteDocumentStore):
            raise LoadingError(
                "Pipelines are compared over a store of Lexarbor's own; this page searches an "
                "engine. Index the law with python -m pipelines.index --store FILE."
            )
        return str(store.database.path)
