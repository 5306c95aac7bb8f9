"""What was in force on a day."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from haystack import Document

from components.converters.articles import article_of
from components.statutes.article import ArticleState


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
    return article_of(document).state(day)
