"""What was in force on a day."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from haystack import Document

from components.statutes.article import Article, ArticleState


def in_force_on(day: date, filters: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Filters that leave out what was not yet or no longer in force on a day.

    An article without dates stays: whether it was in force is unknown, and results say so.

    ```python
    from datetime import date

    from components.retrievers.validity import in_force_on

    in_force_on(date(2020, 1, 1), {"field": "meta.law", "operator": "==", "value": "Housing Code"})
    ```

    Args:
        day: the day that is asked about. The first and the last day in force count as in force.
        filters: further Haystack filters that must hold.
    """
    # A comparison with a missing date is false, so its negation keeps what has none.
    conditions = [
        {
            "operator": "NOT",
            "conditions": [{"field": field, "operator": operator, "value": day.isoformat()}],
        }
        for field, operator in (("meta.valid_from", ">"), ("meta.valid_to", "<"))
    ]
    return {"operator": "AND", "conditions": [*conditions, *([dict(filters)] if filters else [])]}


def not_in_force_on(day: date, filters: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Filters that keep only what was not yet or no longer in force on a day.

    An article without dates is left out: it may have been in force.

    Args:
        day: the day that is asked about. The first and the last day in force count as in force.
        filters: further Haystack filters that must hold.
    """
    conditions = [
        {"field": "meta.valid_from", "operator": ">", "value": day.isoformat()},
        {"field": "meta.valid_to", "operator": "<", "value": day.isoformat()},
    ]
    either = {"operator": "OR", "conditions": conditions}
    return {"operator": "AND", "conditions": [either, *([dict(filters)] if filters else [])]}


def state_on(day: date, document: Document) -> ArticleState:
    """Whether a document's article is in force on a day; "unknown" where it has no dates."""
    first, last = (_day(document.meta.get(key)) for key in ("valid_from", "valid_to"))
    article = Article(document.id, "", "", (), "", valid_from=first, valid_to=last)
    return article.state(day)


def _day(written: object) -> date | None:
    try:
        return date.fromisoformat(written) if isinstance(written, str) else None
    except ValueError:
        return None  # another store may write its dates in words
