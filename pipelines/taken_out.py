"""What a law without the answer to a question looks like: the articles to take out of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from haystack import Document

from components.converters.articles import headings_of, law_of
from components.statutes.article import normalised
from components.statutes.question import Question
from components.stores.sqlite import StatuteDocumentStore

_FETCHED = 500  # documents held at a time

_Division = tuple[str, tuple[str, ...]]


def answers_taken_out(
    store: StatuteDocumentStore, questions: Sequence[Question], everything: Iterable[Question]
) -> dict[str, set[str]]:
    """For each question the ids of the articles without which the law does not answer it.

    Those are its relevant articles, and those of every question with the same text; their twins,
    which say the same elsewhere; and all that stands in the division of a relevant article: in the
    same law, under the very same headings. An article without headings stands in no division.

    Args:
        store: the law.
        questions: answerable ones.
        everything: all questions known, which may repeat the text of those.

    Raises:
        StoreError: the store cannot be read.
    """
    gold: dict[str, set[str]] = {normalised(question.text): set() for question in questions}
    for question in [*questions, *everything]:
        if (text := normalised(question.text)) in gold:
            gold[text].update(question.relevant)
    relevant = {
        document.id: document
        for document in store.fetch(store.keys_of(sorted(set().union(*gold.values()))))
    }
    said: dict[str, set[str]] = {_said(document): set() for document in relevant.values()}
    inside: dict[_Division, set[str]] = {
        _division(document): set() for document in relevant.values()
    }
    for document in _documents(store):
        if (text := _said(document)) in said:
            said[text].add(document.id)
        if (division := _division(document)) in inside:
            inside[division].add(document.id)
    around = {
        id_: {id_}
        | (said[_said(document)] if _said(document) else set())
        | (inside[_division(document)] if _division(document)[1] else set())
        for id_, document in relevant.items()
    }
    taken = {
        text: ids.union(*(around[id_] for id_ in ids if id_ in around))
        for text, ids in gold.items()
    }
    return {question.id: taken[normalised(question.text)] for question in questions}


def without(ids: Iterable[str]) -> Mapping[str, Any]:
    """Haystack filters that leave these articles out of the candidates."""
    return {"field": "id", "operator": "not in", "value": sorted(ids)}


def _documents(store: StatuteDocumentStore) -> Iterator[Document]:
    keys = store.keys_matching(None)
    for start in range(0, len(keys), _FETCHED):
        yield from store.fetch(keys[start : start + _FETCHED])


def _said(document: Document) -> str:
    return normalised(document.content or "")


def _division(document: Document) -> _Division:
    return law_of(document.meta), headings_of(document.meta)
