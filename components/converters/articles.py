"""Articles as Haystack documents, and back.

Documents of other writers may hold anything in their metadata; this module reads it safely.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from copy import deepcopy
from datetime import date, datetime
from typing import Any

from haystack import Document

from components.statutes.article import Article
from components.statutes.identity import LawIdentity
from components.statutes.jurisdiction import checked_place

# How many articles the law has in the sources, so that a recipient can tell whether all are there.
LAW_ARTICLES = "law_articles"
STUB = "stub"
DAY_FIELDS = ("valid_from", "valid_to")


def as_document(article: Article, position: int, meta: dict[str, Any] | None = None) -> Document:
    """An article as a Haystack document; `meta["stub"]` marks one without a text of its own.

    Args:
        article: the article.
        position: its place in the order of the corpus, from 0.
        meta: further metadata.
    """
    fields = article.to_json()
    if article.is_stub:
        fields[STUB] = True
    return Document(
        id=fields.pop("id"),
        content=fields.pop("text"),
        meta={**(meta or {}), **fields, "position": position},
    )


def as_documents(articles: Iterable[tuple[Article, dict[str, Any]]]) -> list[Document]:
    """Articles as documents in their order, each with the number of articles of its law.

    Args:
        articles: whole laws, each article with its further metadata.
    """
    listed = list(articles)
    sizes = Counter(article.law for article, _ in listed)
    return [
        as_document(article, position, {**deepcopy(meta), LAW_ARTICLES: sizes[article.law]})
        for position, (article, meta) in enumerate(listed)
    ]


def article_of(document: Document) -> Article:
    """The article that a document of any store represents; unusable fields are left out.

    Without a law the law is "", without a number the number is the id.
    """
    meta = document.meta
    law, law_id, law_names = identity_of(meta)
    return Article(
        id=document.id,
        law=law,
        number=number_of(meta) or document.id,
        headings=headings_of(meta),
        text=document.content or "",
        language=language_of(meta),
        valid_from=day_of(meta.get("valid_from")),
        valid_to=day_of(meta.get("valid_to")),
        source_url=_text(meta.get("source_url")) or None,
        law_id=law_id,
        law_names=law_names,
        jurisdiction=jurisdiction_of(meta),
    )


def law_of(meta: Mapping[str, Any]) -> str:
    """The law of an article; "" if its metadata name none."""
    return _text(meta.get("law"))


def identity_of(meta: Mapping[str, Any]) -> LawIdentity:
    """The law of an article, with its identifier and other names where its metadata have them."""
    law_id = _text(meta.get("law_id")) or None
    return LawIdentity(law_of(meta), law_id, _texts(meta.get("law_names")))


def number_of(meta: Mapping[str, Any]) -> str:
    """An article's number as printed; "" where its metadata have none."""
    return _text(meta.get("number"))


def headings_of(meta: Mapping[str, Any]) -> tuple[str, ...]:
    """The divisions above an article, from the top, without blank ones; a string is one heading."""
    return _texts(meta.get("headings"))


def ranks_of(meta: Mapping[str, Any]) -> dict[str, int]:
    """The rank in each stage's list, by stage; {} if no stage has written any."""
    ranks = meta.get("ranks")
    if not isinstance(ranks, Mapping):
        return {}
    return {stage: rank for stage, rank in ranks.items() if isinstance(rank, int)}


def neighbours_of(meta: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The neighbours that an expander attached to an article; [] for another writer's field."""
    return [
        each
        for each in _identified(meta.get("neighbours"))
        if isinstance(each.get("content", 0), str | None)
    ]


def definitions_of(meta: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The definitions that an expander attached to an article; [] for another writer's field."""
    return [
        each
        for each in _identified(meta.get("definitions"))
        if all(isinstance(each.get(name), str) for name in ("term", "text", "law", "content"))
    ]


def wordings_of(meta: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The other wordings that a retriever attached to an article; [] for another writer's field."""
    return [
        each
        for each in _identified(meta.get("wordings"))
        if all(day_of(each.get(name)) or each.get(name) is None for name in DAY_FIELDS)
    ]


def replacement_of(meta: Mapping[str, Any]) -> dict[str, str] | None:
    """The article that a retriever found in the place of a repealed one: id, law and number."""
    given = meta.get("replaced_by")
    if not isinstance(given, Mapping):
        return None
    named = {key: _text(given.get(key)) for key in ("id", "law", "number")}
    return named if all(named.values()) else None


def _identified(listed: object) -> list[Mapping[str, Any]]:
    """The entries of a list that are mappings with an id."""
    entries = listed if isinstance(listed, list) else []
    return [e for e in entries if isinstance(e, Mapping) and isinstance(e.get("id"), str)]


def passages_of(meta: Mapping[str, Any]) -> dict[str, Any]:
    """The rankers' `passage`, `passages_read` and `passages`, unless they are another writer's."""
    best, read, ranked = (meta.get(name) for name in ("passage", "passages_read", "passages"))
    found: dict[str, Any] = {"passage": best} if _is_passage(best) else {}
    if isinstance(read, list) and read and all(map(_is_passage, read)):
        found["passages_read"] = read
    if isinstance(ranked, list) and all(
        _is_passage(each)
        and isinstance(each.get("text"), str)
        and isinstance(each.get("score"), float)
        for each in ranked
    ):
        found["passages"] = ranked
    return found


def language_of(meta: Mapping[str, Any]) -> str | None:
    """An article's language; None where its metadata name none."""
    return _text(meta.get("language")) or None


def jurisdiction_of(meta: Mapping[str, Any]) -> str | None:
    """Whose law an article is; None where its metadata name no place."""
    try:
        return checked_place(_text(meta.get("jurisdiction")))
    except ValueError:
        return None


def _is_passage(value: object) -> bool:
    return (
        isinstance(value, dict)
        and type(value.get("start")) is int
        and type(value.get("end")) is int
        and 0 <= value["start"] <= value["end"]
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _texts(value: object) -> tuple[str, ...]:
    """The texts of a list, without blank ones; a string is one text."""
    listed = [value] if isinstance(value, str) else value
    texts = map(_text, listed if isinstance(listed, list | tuple) else ())
    return tuple(text for text in texts if text and not text.isspace())


def day_of(value: object) -> date | None:
    """The day that a `valid_from` or `valid_to` holds; None where it is missing or not a day."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    try:
        return datetime.fromisoformat(value).date() if isinstance(value, str) else None
    except ValueError:
        return None  # another store may write its dates in words
