"""What was in force on a day and in a place, and the other wordings of an article.

A retriever's `as_of` is "today", a day as YYYY-MM-DD, or "any" for all there is. An article without
dates always stays: whether it was in force is unknown, and results say so.

A stub ("(repealed)", an article without a text of its own) appears in no list, whatever the day: it
is found by its citation only.

There are three ways to leave out what was not in force, one for each kind of retriever:

- `Validity.on` serves the retrievers with `as_of` that search resident indexes (BM25, dense
  vectors, citations). It gives the keys in force on a day, as a mask that costs nothing per
  question.
- `in_force_on` (and its opposite, `not_in_force_on`) gives the same as Haystack filters, for what
  searches through filters: the retrievers over an engine, and foreign retrievers that have no
  `as_of`.
- `pipelines.asking` decides per component: one that has a parameter `as_of` is given the day
  (`_choosing` finds these), and every other component under `inputs.filters` is given
  `in_force_on`. No component gets both.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from operator import attrgetter
from typing import Any, Literal, cast

import numpy as np
from cachetools import LRUCache, cachedmethod
from haystack import Document, logging
from haystack.errors import FilterError
from numpy.typing import NDArray

from components.converters.articles import (
    DAY_FIELDS,
    STUB,
    article_of,
    day_of,
    law_of,
    number_of,
    wordings_of,
)
from components.models.selection import FILTERS_KEPT
from components.statutes.article import ArticleState, iso_day
from components.statutes.citations.patterns import parse_number
from components.statutes.jurisdiction import checked_place, place_and_above
from components.statutes.wordings import editors_notes
from components.stores.columns import MetadataColumns
from components.stores.filters import IN_FORCE_ON, plain_filters

logger = logging.getLogger(__name__)

TODAY, ANY = "today", "any"

# Bounds for a missing day, in days since the year 1.
_ALWAYS, _FOREVER = 0, date.max.toordinal() + 1
_DAYS_KEPT = 8  # days whose allowed keys are kept; nearly every question is about today


def checked_as_of(component: str, as_of: object) -> str:
    """`as_of` as it was given.

    Raises:
        ValueError: it is neither "today", "any" nor a day as YYYY-MM-DD; names the component.
    """
    try:
        if as_of not in (TODAY, ANY):
            iso_day(cast("str", as_of))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{component}.as_of must be 'today', 'any' or a day written as '2024-02-29', got "
            f"{as_of!r}."
        ) from error
    return cast("str", as_of)


def asked_day(component: str, as_of: object) -> date | None:
    """The day that `as_of` means now; None for "any".

    Raises:
        ValueError: as `checked_as_of`.
    """
    checked = checked_as_of(component, as_of)
    if checked == ANY:
        return None
    return date.today() if checked == TODAY else iso_day(checked)


@dataclass(frozen=True, slots=True)
class Wording:
    """One of several articles of the same law and number.

    Attributes:
        id: its own.
        first: first day in force, in days since the year 1.
        last: last day in force.
    """

    id: str
    first: int
    last: int

    @property
    def is_dated(self) -> bool:
        """Whether either day is known."""
        return self.first > _ALWAYS or self.last < _FOREVER

    def rewords(self, other: Wording) -> bool:
        """Whether it can be another wording of the same article.

        Two articles that are in force at the same time, such as article 1 of a law and article 1 of
        its annex, are not. One day may be the last of one wording and the first of the next.
        """
        if self.is_dated and other.is_dated:
            return max(self.first, other.first) >= min(self.last, other.last)
        return self.is_dated or other.is_dated


@dataclass(frozen=True, slots=True, eq=False)
class InForce:
    """The articles of a store that may be in force on a day.

    Attributes:
        rows: bool, the articles that may be and are not stubs; None for all articles.
        keys: int64, their keys; None for all articles.
        left_out: ids of those that were not in force.
        unlisted: ids of these and of all stubs.
    """

    rows: NDArray[np.bool_] | None
    keys: NDArray[np.int64] | None
    left_out: frozenset[str]
    unlisted: frozenset[str]


_EVERYTHING = InForce(None, None, frozenset(), frozenset())


class Validity:
    """What the metadata of a store's articles say: days in force, other wordings, filters met.

    A `valid_from` or `valid_to` that is not a day counts as missing, and a warning says so once:
    what may have been in force must not be left out silently.

    Attributes:
        places: whose law the articles are.
    """

    def __init__(self, metas: Iterable[tuple[int, str, Mapping[str, Any]]]) -> None:
        """Reads `(key, id, meta)` of every article, in the law's order."""
        keys, ids, first, last, stubs = [], [], [], [], []
        faulty: list[str] = []
        self._began: dict[str, int] = {}  # the first day that is recorded of each law
        # By law and the digits of the number, which all spellings of it have in common.
        alike: dict[tuple[str, str], list[tuple[str, int]]] = {}
        self._columns = MetadataColumns()
        self.places: set[str] = set()
        for row, (key, id_, meta) in enumerate(metas):
            self._columns.add(meta)
            if isinstance(place := meta.get("jurisdiction"), str):
                self.places.add(place)
            begins, ends = _span(meta)
            faulty += [
                f"{id_}: {field} {meta[field]!r}"
                for field in DAY_FIELDS
                if meta.get(field) is not None and day_of(meta[field]) is None
            ]
            keys.append(key)
            ids.append(id_)
            first.append(begins)
            last.append(ends)
            stubs.append(meta.get(STUB) is True)
            law, number = law_of(meta), number_of(meta)
            if begins > _ALWAYS:
                self._began[law] = min(begins, self._began.get(law, begins))
            if law.strip() and number.strip():
                digits = "-".join(re.findall(r"\d+", number)) or number
                alike.setdefault((law, digits), []).append((number, row))
        if faulty:
            logger.warning(
                "{n} articles have a date that is not a day ({first}). Write them as YYYY-MM-DD.",
                n=len(faulty),
                first=faulty[0],
            )
        self._lock = threading.Lock()
        self._in_force: LRUCache[date | None, InForce] = LRUCache(_DAYS_KEPT)
        self._matching: LRUCache[Hashable, NDArray[np.int64]] = LRUCache(FILTERS_KEPT)
        self._groups: dict[str, list[Wording]] = {}
        self._keys = np.array(keys, dtype=np.int64)
        self._first = np.array(first, dtype=np.int64)
        self._last = np.array(last, dtype=np.int64)
        self._stubs = np.array(stubs, dtype=bool)
        is_dated = (self._first > _ALWAYS).any() or (self._last < _FOREVER).any()
        # For law without dates and stubs nothing else is kept.
        self._ids: list[str] = ids if is_dated or self._stubs.any() else []
        for printed in alike.values() if is_dated else ():
            if len(printed) > 1:
                self._groups |= _groups(
                    (number, Wording(ids[row], first[row], last[row])) for number, row in printed
                )

    @cachedmethod(attrgetter("_in_force"), lock=attrgetter("_lock"))
    def on(self, day: date | None) -> InForce:
        """What may be in force on a day; for None all articles but stubs."""
        if not self._ids:
            return _EVERYTHING
        inside = np.ones_like(self._stubs)
        if day is not None:
            inside = (self._first <= day.toordinal()) & (day.toordinal() <= self._last)
        listed = inside & ~self._stubs
        if listed.all():
            return _EVERYTHING
        return InForce(listed, self._keys[listed], self._named(~inside), self._named(~listed))

    @cachedmethod(
        attrgetter("_matching"),
        key=lambda _, filters, __, *in_force: (repr(plain_filters(filters)), *in_force),
        lock=attrgetter("_lock"),
    )
    def matching(
        self,
        filters: dict[str, Any],
        search: Callable[[dict[str, Any]], NDArray[np.int64]],
        in_force: InForce = _EVERYTHING,
    ) -> NDArray[np.int64]:
        """Keys of the articles that match; for each of the last 32 filters the very same array.

        Args:
            filters: Haystack filters.
            search: finds the keys by filters over what is not in the metadata.
            in_force: leaves out all others.

        Raises:
            FilterError: the filters are malformed.
        """
        plain = plain_filters(filters)
        try:
            rows = self._columns.matching(plain)
        except FilterError:
            rows = np.isin(self._keys, search(filters))
        return self._keys[rows if in_force.rows is None else rows & in_force.rows]

    def _named(self, mask: NDArray[np.bool_]) -> frozenset[str]:
        return frozenset(self._ids[row] for row in np.flatnonzero(mask).tolist())

    def began_later(self, meta: Mapping[str, Any]) -> bool:
        """Whether an article's first day in force is later than that of others of its law."""
        return _span(meta)[0] > self._began.get(law_of(meta), _FOREVER)

    def others(self, id_: str) -> list[dict[str, str | None]]:
        """The other wordings of an article, oldest first: `id`, `valid_from` and `valid_to`."""
        group = self._groups.get(id_, ())
        own = next((each for each in group if each.id == id_), None)
        return [
            {"id": each.id, "valid_from": _iso(each.first), "valid_to": _iso(each.last)}
            for each in sorted(group, key=lambda each: (each.first, each.last))
            if own is not None and each.id != id_ and each.rewords(own)
        ]

    def with_wordings(self, documents: list[Document]) -> list[Document]:
        """Documents just read from the store; those with other wordings name them in their meta."""
        for document in documents if self._groups else ():
            if wordings := self.others(document.id):
                document.meta["wordings"] = wordings
        return documents

    def ordered(self, ids: Sequence[str], day: date) -> tuple[str, ...]:
        """Ids, grouped by law and number: first the one in force on the day, then the latest."""
        number = day.toordinal()
        among = set(ids)
        found: dict[str, None] = {}
        for id_ in ids:
            group = [each for each in self._groups.get(id_, ()) if each.id in among]
            group.sort(key=lambda each: (not each.first <= number <= each.last, -each.first))
            found.update(dict.fromkeys([each.id for each in group] or [id_]))
        return tuple(found)

    def are_one(self, ids: Sequence[str]) -> bool:
        """Whether some articles are wordings of the same one."""
        among = [each for each in self._groups.get(ids[0], ()) if each.id in ids] if ids else []
        return len(among) == len(ids) and all(
            one is other or one.rewords(other) for one in among for other in among
        )


def _groups(printed: Iterable[tuple[str, Wording]]) -> dict[str, list[Wording]]:
    """By id the articles of a law with the same number, if one of them has a date."""
    together: dict[Hashable, list[Wording]] = {}
    for number, wording in printed:
        together.setdefault(parse_number(number) or number.strip(), []).append(wording)
    return {
        wording.id: group
        for group in together.values()
        if len(group) > 1 and any(each.is_dated for each in group)
        for wording in group
    }


def is_earlier(wording: Mapping[str, Any], than: Mapping[str, Any]) -> bool:
    """Whether a wording was in force before another one.

    Args:
        wording: its `valid_from` and `valid_to`.
        than: those of the other.
    """
    return _span(wording) < _span(than)


EarlierText = Literal["held", "not held", "none", "unknown"]

_INSERTED = (
    r"(?:inserted|added|insér|ajout|créé|introdui|eingefügt|añadid|introducid|inserid|aggiunt)"
)
# A note that begins so is about the article; "Paragraph 3 inserted" is about a part of it.
_NEW = re.compile(_INSERTED, re.IGNORECASE)
_AMENDED = re.compile(
    rf"{_INSERTED}|amended|substituted|reworded|modifi|remplac|geändert|neu gefasst|alterad"
    # Of the acts that a section of United States law lists, all but the first amended it.
    r"|\bc\. ?\d+[^;]*; ?\d{4} c\. ?\d",
    re.IGNORECASE,
)


def earlier_text(document: Document) -> EarlierText:
    """What is known of an article's text before the first day of its wording.

    Returns:
        "held": an earlier wording is among `meta["wordings"]`. "not held": a note in the article
        says that it was amended. "none": a note says that the article was inserted. "unknown":
        nothing says whether there was one.
    """
    if any(is_earlier(each, document.meta) for each in wordings_of(document.meta)):
        return "held"
    notes = editors_notes(document.content or "")
    changes = [_NEW.sub("", note, count=1) if _NEW.match(note) else note for note in notes]
    if any(map(_AMENDED.search, changes)):
        return "not held"
    return "none" if any(map(_NEW.match, notes)) else "unknown"


def _span(meta: Mapping[str, Any]) -> tuple[int, int]:
    """First and last day in force, in days since the year 1."""
    first, last = (day_of(meta.get(field)) for field in DAY_FIELDS)
    return first.toordinal() if first else _ALWAYS, last.toordinal() if last else _FOREVER


def _iso(number: int) -> str | None:
    return None if number in (_ALWAYS, _FOREVER) else date.fromordinal(number).isoformat()


def in_force_on(day: date | None, filters: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Filters that leave out stubs, and what was not yet or no longer in force on a day.

    Another article without dates stays: whether it was in force is unknown, and results say so.

    ```python
    from datetime import date

    from components.retrievers.validity import in_force_on

    in_force_on(date(2020, 1, 1), {"field": "meta.law", "operator": "==", "value": "Housing Code"})
    ```

    Args:
        day: the day in question; None leaves out stubs alone. The first and the last day in force
            count as in force.
        filters: further Haystack filters that must hold.
    """
    conditions: list[dict[str, Any]] = [
        {"field": f"meta.{STUB}", "operator": "!=", "value": True},
        *([dict(filters)] if filters else []),
    ]
    if day is not None:
        conditions.append(plain_filters({"field": IN_FORCE_ON, "operator": "==", "value": day}))
    return {"operator": "AND", "conditions": conditions}


def not_in_force_on(day: date, filters: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Filters that keep only stubs, and what was not yet or no longer in force on a day.

    Another article without dates is left out: it may have been in force.

    Args:
        day: the day in question. The first and the last day in force count as in force.
        filters: further Haystack filters that must hold.
    """
    outside = {"operator": "NOT", "conditions": [in_force_on(day)]}
    return {"operator": "AND", "conditions": [outside, *([dict(filters)] if filters else [])]}


def law_of_place(place: str, filters: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Filters that keep what applies in a place: its law, that of the places above it, and
    articles without a jurisdiction.

    Args:
        place: such as "us/or/portland".
        filters: further Haystack filters that must hold.

    Raises:
        FilterError: it is not written as a place.
    """
    try:
        above: list[str | None] = [*place_and_above(checked_place(place))]
    except ValueError as error:
        raise FilterError(f"jurisdiction: {error}.") from error
    # An article without one may apply anywhere.
    of_place = {"field": "meta.jurisdiction", "operator": "in", "value": [*above, None]}
    return {"operator": "AND", "conditions": [of_place, *([dict(filters)] if filters else [])]}


def state_on(day: date, document: Document) -> ArticleState:
    """Whether a document's article is in force on a day; see `Article.state`."""
    return article_of(document).state(day)
