"""What the embedders check of the documents that they are given."""

import asyncio
from typing import Protocol

import numpy as np
from haystack import Document
from haystack.utils import ComponentDevice
from numpy.typing import NDArray

from components.models.errors import VectorError

# What a component is warmed up by in an event loop: its own warm-up, in a worker thread.


class Warmed(Protocol):
    """A component that loads a model or builds an index before it can run."""

    def warm_up(self) -> None: ...  # noqa: D102


class AsyncWarmUp:
    """`warm_up_async` for a component with `warm_up`.

    A pipeline in an event loop warms up before every question, and calls `warm_up` in the loop
    itself where there is no other. Loading a model or a law anew takes seconds.
    """

    async def warm_up_async(self: Warmed) -> None:
        """`warm_up` in a worker thread."""
        await asyncio.to_thread(self.warm_up)


# The device that a component is given, checked where it is set.


def checked_device(component: str, device: object) -> ComponentDevice | None:
    """`device` as it was given.

    Raises:
        TypeError: it is no ComponentDevice, such as the "cpu" of other libraries; names the
            component.
    """
    if device is not None and not isinstance(device, ComponentDevice):
        raise TypeError(
            f"{component}.device must be a ComponentDevice or None, got {device!r}. Write it as "
            'ComponentDevice.from_str("cpu").'
        )
    return device


# Numbers that a component is given, checked where they are set and where they are overridden.


def checked_top_k(component: str, top_k: object, *, at_least: int) -> int:
    """`top_k` as it was given.

    Raises:
        TypeError: it is no whole number; names the component.
        ValueError: it is less than `at_least`; names the component.
    """
    if not isinstance(top_k, int) or isinstance(top_k, bool):
        raise TypeError(f"{component}.top_k must be a whole number, got {top_k!r}.")
    if top_k < at_least:
        raise ValueError(f"{component}.top_k must be {at_least} or more, got {top_k}.")
    return top_k


def checked_refresh(component: str, seconds: float) -> float:
    """`refresh_seconds` as it was given.

    Raises:
        ValueError: it is not a number from 0; names the component.
    """
    if not (is_number(seconds) and seconds >= 0):
        raise ValueError(f"{component}.refresh_seconds must be 0 or more, got {seconds!r}.")
    return seconds


def is_number(value: object) -> bool:
    """Whether a value can be compared with numbers; a YAML file may hold "0.5" in its place."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


# A question's vector, checked where a retriever is given it.


def checked_query(component: str, embedding: list[float]) -> NDArray[np.float32]:
    """The query as float32 `[dim]`.

    Args:
        component: name of the retriever, for the message.
        embedding: as it was given.

    Raises:
        VectorError: it is no list of numbers, NaN, infinite or all zeros.
    """
    where = f"{component}.query_embedding"
    try:
        query = np.asarray(embedding, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise VectorError(f"{where} is no list of numbers: {error}.") from error
    if query.ndim != 1 or not len(query):
        raise VectorError(f"{where} must be one list of numbers, got shape {list(query.shape)}.")
    if not np.isfinite(query).all():
        raise VectorError(f"{where} holds NaN or infinite values. Embed the question again.")
    if not query.any():
        raise VectorError(f"{where} is all zeros and has no direction. Embed the question again.")
    return query


def check_documents(component: str, documents: object) -> None:
    """Refuse what is no list of articles with a text.

    Args:
        component: name of the embedder, for the message.
        documents: what it was given.

    Raises:
        TypeError: `documents` is no list of Documents.
        ValueError: a document has no content; names it.
    """
    if not isinstance(documents, list) or not all(
        isinstance(document, Document) for document in documents
    ):
        raise TypeError(
            f"{component} takes a list of Documents; for a question use StatuteTextEmbedder."
        )
    for document in documents:
        if not document.content or document.content.isspace():
            raise ValueError(
                f"document '{document.id}' has no content, so there is nothing to embed. "
                "Give it text or leave it out."
            )
