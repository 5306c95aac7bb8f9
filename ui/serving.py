"""Serving: the pipeline that answers the page's questions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any, Literal

import torch
from haystack import Pipeline

from components.embedders.text import StatuteTextEmbedder
from components.rankers.cross_encoder import StatuteRanker
from components.retrievers.citation import CitationRetriever
from components.retrievers.resident import ReadableStore, readable
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import Answer, ask, found_article, narrowed
from pipelines.loading import load_pipeline
from pipelines.stages import DENSE, GRAPH, stages_of
from ui.article_text import word_count
from ui.narrowing import Narrowing

Recipient = Literal["engine", "generator"]

OF_TODAY = Narrowing()

# Questions that are answered at the same time, in whatever language they come. More than there are
# cores gain nothing.
AT_ONCE = 2

# A reader waits: what a ranker has not read by then keeps its place below what it has.
_RANKING_MS = 1200.0


class Serving:
    """Answers questions with a pipeline, whose place another one can take at any moment.

    Args:
        pipeline: name or file.
        store: what is searched at first.
        model: in place of the one that the store records; None for that one.
        overrides: as for `load_pipeline`.

    Attributes:
        name: name or file of the pipeline, as given.
        model: as given.

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
        self.name = pipeline
        self.model = model
        self._overrides = overrides
        # Threads of its own: memory that a model frees in a thread is kept for that thread, and the
        # web server's are forty. One that began while another reads a question, which takes one
        # core, would keep to one core itself.
        self._threads = ThreadPoolExecutor(
            AT_ONCE,
            thread_name_prefix="answer",
            initializer=torch.set_num_threads,
            initargs=(torch.get_num_threads(),),
        )
        self._pipeline = self._loaded(store)

    @property
    def pipeline(self) -> Pipeline:
        """The one that answers now."""
        return self._pipeline

    @property
    def stages(self) -> list[str]:
        """Names of the stages that find articles now, as `pipelines.stages` has them."""
        return _stages(self._pipeline)

    @property
    def store(self) -> ReadableStore:
        """What the pipeline of this moment searches."""
        stores = (getattr(part, "document_store", None) for _, part in self._pipeline.walk())
        return readable(next(each for each in stores if each))

    @property
    def sent_to(self) -> frozenset[Recipient]:
        """Who gets a question beside this machine, whether flags or the pipeline's file say so."""
        parts = [part for _, part in self._pipeline.walk()]
        searched = (getattr(part, "document_store", None) for part in parts)
        engines = [each for each in searched if each and not isinstance(each, StatuteDocumentStore)]
        found: set[Recipient] = {"engine"} if engines else set()
        if any(getattr(part, "chat_generator", None) for part in parts):
            found.add("generator")
        return frozenset(found)

    def answer(self, question: str, narrowing: Narrowing = OF_TODAY) -> Answer:
        """Ask the pipeline of this moment, to the end, in its turn.

        A question that is nothing but citations gets the articles that it names at once, and no
        model runs.
        An article of which the bi-encoder read the beginning alone has `words_read`, about how many
        of its words that are. Where vectors went through a graph network, the rank among them is
        that of `graph`.
        """
        named = _named(self._pipeline, question, narrowing)
        if named is not None:
            return named
        return self._threads.submit(self._answered, question, narrowing).result()

    def _answered(self, question: str, narrowing: Narrowing) -> Answer:
        pipeline = self._pipeline
        answer = ask(
            pipeline,
            question,
            filters=narrowing.filters,
            as_of=narrowing.as_of,
            states_on=narrowing.day,
        )
        _tell_words_read(pipeline, answer)
        if GRAPH in _stages(pipeline):
            for document in answer["documents"]:
                ranks = document["ranks"].items()
                document["ranks"] = {GRAPH if each == DENSE else each: rank for each, rank in ranks}
        return answer

    def switch(self, store: Path) -> None:
        """Search another store from the next question on; nobody waits while it is loaded.

        Raises:
            LoadingError, StoreError, ModelError: as at first; the one before goes on answering.
        """
        self._pipeline = self._loaded(store)

    def _loaded(self, store: Path) -> Pipeline:
        pipeline = load_pipeline(self.name, store, self.model, self._overrides)
        # Models and indexes are loaded now, so that the first reader does not wait for them.
        pipeline.warm_up()
        for _, part in pipeline.walk():
            if isinstance(part, StatuteRanker) and part.time_budget_ms is None:
                part.time_budget_ms = _RANKING_MS
        return pipeline


def _stages(pipeline: Pipeline) -> list[str]:
    return [stage.name for stage in stages_of(pipeline)]


def _named(pipeline: Pipeline, question: str, narrowing: Narrowing) -> Answer | None:
    """The articles that a question names, where it is nothing else and all of them may be shown."""
    retrievers = (part for _, part in pipeline.walk() if isinstance(part, CitationRetriever))
    retriever = next(retrievers, None)
    start = time.perf_counter()
    if retriever is None or not retriever.is_citation(question):
        return None
    filters = narrowed(retriever.filters, narrowing.filters)
    day = narrowing.as_of
    as_of = day.isoformat() if isinstance(day, date) else day
    found = retriever.run(question, filters=filters, as_of=as_of)
    # What the filters refuse is for the pipeline to tell.
    if not found["pinned"] or found["left_out"]:
        return None
    documents = [
        {
            **found_article(document, narrowing.day or date.today()),
            "ranks": {"citation": rank},
        }
        for rank, document in enumerate(found["pinned"], start=1)
    ]
    answer = Answer(
        question=question,
        pipeline=str(pipeline.metadata.get("name", "")),
        took_ms=round((time.perf_counter() - start) * 1000, 1),
        documents=documents,
    )
    if found["missing"]:
        answer["missing"] = found["missing"]
    if found["not_followed"]:
        answer["not_followed"] = found["not_followed"]
    return answer


def _tell_words_read(pipeline: Pipeline, answer: Answer) -> None:
    embedders = (part for _, part in pipeline.walk() if isinstance(part, StatuteTextEmbedder))
    embedder = next(embedders, None)
    documents = answer["documents"]
    if embedder is None or not documents:
        return
    shares = embedder.shares_read([(each["headings"], each["content"]) for each in documents])
    for document, share in zip(documents, shares, strict=True):
        if share < 1:
            document["words_read"] = round(word_count(document["content"]) * share)
