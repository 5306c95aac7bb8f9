"""ask: one question to one pipeline, for the command line, the web page and Python alike."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import date
from typing import Any, TypedDict

from haystack import Document, Pipeline
from haystack.core.errors import PipelineRuntimeError
from haystack.errors import FilterError

from components.models.errors import ModelError, VectorError
from components.statutes.article import Article
from components.statutes.question import QuestionError, clean_question
from components.stores.database import StoreError
from pipelines.files import LoadingError

_SAID_IN_FULL = (FilterError, ModelError, QuestionError, StoreError, VectorError)
_OPTIONAL = ("language", "valid_from", "valid_to", "source_url", "passage")


class Answer(TypedDict):
    """What a pipeline found: `documents` best first, each as `found_article` describes it."""

    question: str
    pipeline: str
    took_ms: float
    documents: list[dict[str, Any]]


def ask(
    pipeline: Pipeline,
    question: str,
    top_k: int | None = None,
    filters: Mapping[str, Any] | None = None,
) -> Answer:
    """Ask a pipeline that `load_pipeline` loaded.

    Args:
        pipeline: its metadata name its inputs (`query`, and for the options `top_k` and
            `filters`) and its output `documents`.
        question: in plain words.
        top_k: how many articles at most; None leaves it to the pipeline.
        filters: Haystack filters over the articles' metadata.

    Raises:
        QuestionError: the question is empty or too long.
        LoadingError: the pipeline has no place for what was given.
        FilterError: the filters are malformed.
        StoreError: the store cannot be read.
        ModelError: the model cannot be loaded.
    """
    asked = clean_question(question)
    start = time.perf_counter()
    documents = retrieve(pipeline, asked, top_k, filters)
    took = (time.perf_counter() - start) * 1000
    today = date.today()
    return Answer(
        question=asked,
        pipeline=str(pipeline.metadata.get("name", "")),
        took_ms=round(took, 1),
        documents=[found_article(document, today) for document in documents],
    )


def retrieve(
    pipeline: Pipeline,
    question: str,
    top_k: int | None = None,
    filters: Mapping[str, Any] | None = None,
) -> list[Document]:
    """The documents of the pipeline's output `documents`; see `ask`."""
    component, socket = documents_output(pipeline)
    found: list[Document] = run(pipeline, question, {component}, top_k, filters)[component][socket]
    return found


def documents_output(pipeline: Pipeline) -> tuple[str, str]:
    """Component and socket of the pipeline's output `documents`.

    Raises:
        LoadingError: it declares none.
    """
    component, socket = _declared(pipeline, "outputs", "documents")[0].split(".")
    return component, socket


def run(
    pipeline: Pipeline,
    question: str,
    components: set[str],
    top_k: int | None = None,
    filters: Mapping[str, Any] | None = None,
) -> dict[str, dict[str, Any]]:
    """One run of the pipeline for a question; see `ask`.

    Returns:
        What each of these components handed out, by component and socket; one that did not run is
        missing.
    """
    given = {"query": question, "top_k": top_k, "filters": filters}
    data: dict[str, dict[str, Any]] = {}
    for name, value in given.items():
        if value is None:
            continue
        for target in _declared(pipeline, "inputs", name):
            component, socket = target.split(".")
            data.setdefault(component, {})[socket] = value
    try:
        outputs: dict[str, dict[str, Any]] = pipeline.run(data, include_outputs_from=components)
    except PipelineRuntimeError as error:
        # Haystack wraps what a component says; ours already say what, where and how to mend it.
        if isinstance(error.__cause__, _SAID_IN_FULL):
            raise error.__cause__ from None
        raise
    return outputs


def found_article(document: Document, on: date) -> dict[str, Any]:
    """A found document as plain values: the article, its score, its ranks and its state.

    `ranks` is `{stage: rank}`, from 1; `state` is "in force", "repealed", "not yet in force" or
    "unknown" on the given day. `passage` is what a ranker found best of the content, as characters
    `start` to `end`, where there was a ranker.
    """
    meta = document.meta
    article = Article(
        document.id,
        str(meta.get("law", "")),
        str(meta.get("number", "")),
        tuple(meta.get("headings") or ()),
        document.content or "",
        valid_from=_day(meta.get("valid_from")),
        valid_to=_day(meta.get("valid_to")),
    )
    return {
        "id": article.id,
        "law": article.law,
        "number": article.number,
        "headings": list(article.headings),
        "content": article.text,
        "score": document.score,
        "ranks": meta.get("ranks") or {},
        "state": article.state(on),
        **{key: meta[key] for key in _OPTIONAL if meta.get(key) is not None},
    }


def _day(written: object) -> date | None:
    try:
        return date.fromisoformat(written) if isinstance(written, str) else None
    except ValueError:
        return None  # another store may write its dates in words


def _declared(pipeline: Pipeline, side: str, name: str) -> list[str]:
    targets: list[str] = pipeline.metadata.get(side, {}).get(name, [])
    if not targets:
        raise LoadingError(
            f"The pipeline {pipeline.metadata.get('name', '')} declares no {side}.{name}. Add it "
            f"to the file's '{side}' as component.socket, and load it with load_pipeline."
        )
    return targets
