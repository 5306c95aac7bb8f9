"""Articles as Haystack documents, and back."""

from __future__ import annotations

from datetime import date
from typing import Any

from haystack import Document

from components.statutes.article import Article


def as_document(article: Article, position: int, meta: dict[str, Any] | None = None) -> Document:
    """An article as a Haystack document.

    Args:
        article: the article.
        position: its place in the order of the corpus, from 0.
        meta: further metadata.
    """
    fields = article.to_json()
    return Document(
        id=fields.pop("id"),
        content=fields.pop("text"),
        meta={**(meta or {}), **fields, "position": position},
    )


def article_of(document: Document) -> Article:
    """The article that a document of any store stands for; what is of no use in it is left out.

    The law is "" where it names none, the number its id.
    """
    meta = document.meta
    headings = meta.get("headings")
    return Article(
        id=document.id,
        law=_text(meta.get("law")),
        number=_text(meta.get("number")) or document.id,
        headings=tuple(
            str(heading)
            for heading in (headings if isinstance(headings, list | tuple) else ())
            if str(heading).strip()
        ),
        text=document.content or "",
        language=_text(meta.get("language")) or None,
        valid_from=_day(meta.get("valid_from")),
        valid_to=_day(meta.get("valid_to")),
        source_url=_text(meta.get("source_url")) or None,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _day(value: object) -> date | None:
    try:
        return date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None  # another store may write its dates in words
