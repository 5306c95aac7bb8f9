"""Deadlines: the last day of a period, by the law's own rule of computing time.

Only a law says when a period begins and whether Sundays count, so the rule names the article that
it restates. Without a rule a last day is "about" right.

Days off are those of the week, and the holidays that the rule lists. A law that speaks of public
holidays without naming them has none here: near one the true last day may be later, never earlier.
"""

from __future__ import annotations

import calendar
from datetime import date, timedelta
from typing import Annotated, Literal, NamedTuple, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from components.statutes.article import iso_day

_ONE_DAY = timedelta(days=1)
_LONGEST = 36_500  # days


def _day_of_year(text: str) -> str:
    iso_day(f"2024-{text}")  # a leap year; refuses all but MM-DD
    return text


def _holiday(text: str) -> str:
    return text if len(text) > 5 and iso_day(text) else _day_of_year(text)


_Count = Annotated[int, Field(gt=0, le=_LONGEST)]
_DayOfYear = Annotated[str, AfterValidator(_day_of_year)]
_Holiday = Annotated[str, AfterValidator(_holiday)]
_Text = Annotated[str, Field(min_length=1)]
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_WEEK = get_args(Weekday)


class Deadline(BaseModel):
    """A period within which someone must act.

    Attributes:
        days, months, years: its length; one of the three.
        unit: of days, whether all are counted ("calendar") or only working days.
        from_: the event that sets it running, as one says it: "the day you got the letter". Its
            name in a file is "from".
        pauses: whether the rule's pauses stop it, as a court's holidays stop its time limits.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)

    days: _Count | None = None
    months: _Count | None = None
    years: _Count | None = None
    unit: Literal["calendar", "working"] = "calendar"
    from_: _Text = Field(alias="from")
    pauses: bool = False

    @model_validator(mode="after")
    def _has_one_length(self) -> Deadline:
        if sum(each is not None for each in (self.days, self.months, self.years)) != 1:
            raise ValueError("needs one of 'days', 'months' and 'years'")
        if self.unit == "working" and self.days is None:
            raise ValueError("counts working days only in 'days'")
        return self


class TimeRule(BaseModel):
    """How a law computes time, as one of its articles says.

    Attributes:
        article: its id.
        passages: the paragraphs that say so.
        laws: the laws whose periods it governs, by name; empty for all of the store.
        starts: whether the day of the event counts ("same day") or the one after it is the first.
        working_up_to: periods of at most so many days count working days only.
        moves: whether a period that would end on a day off ends on the next working day.
        days_off: days of the week that are not working days.
        holidays: other days off, each as "MM-DD" or, for one year, as a date.
        paused: first and last days, "MM-DD", between which no period with `pauses` runs.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    article: _Text
    passages: Annotated[tuple[_Text, ...], Field(strict=False)] = ()
    laws: Annotated[tuple[_Text, ...], Field(strict=False)] = ()
    starts: Literal["next day", "same day"] = "next day"
    working_up_to: Annotated[int, Field(ge=0)] = 0
    moves: bool = True
    days_off: Annotated[tuple[Weekday, ...], Field(strict=False, max_length=6)] = (
        "saturday",
        "sunday",
    )
    holidays: Annotated[tuple[_Holiday, ...], Field(strict=False)] = ()
    paused: Annotated[
        tuple[Annotated[tuple[_DayOfYear, _DayOfYear], Field(strict=False)], ...],
        Field(strict=False),
    ] = ()

    def is_off(self, day: date) -> bool:
        """Whether it is not a working day."""
        written = day.isoformat()
        listed = written in self.holidays or written[5:] in self.holidays
        return listed or _WEEK[day.weekday()] in self.days_off

    def is_paused(self, day: date) -> bool:
        """Whether a period with `pauses` stands still on it."""
        at = day.isoformat()[5:]
        return any(
            first <= at <= last if first <= last else at >= first or at <= last
            for first, last in self.paused
        )


class LastDay(NamedTuple):
    """The last day of a period.

    Attributes:
        day: on which one can still act.
        is_about: whether the day is only approximate, since there was no rule to count by.
        rule: counted by; None where there is none.
    """

    day: date
    is_about: bool
    rule: TimeRule | None


def last_day(deadline: Deadline, event: date, rule: TimeRule | None = None) -> LastDay:
    """The last day of a period that an event set running.

    Days are counted one by one. Months and years end on the day of the event's date, or the last
    of a month without it, and one day earlier where the day of the event counts. Days on which the
    period stood still are added at its end.

    Args:
        deadline: the period.
        event: the day of the event.
        rule: the law's; None counts from the next day, and ends on whatever day it is.

    Raises:
        OverflowError: it ends after the year 9999.
    """
    counting = rule or TimeRule(article="-", moves=False)
    # Counted days run from the day before the first.
    day = event if counting.starts == "next day" else event - _ONE_DAY
    working = deadline.unit == "working" or (deadline.days or _LONGEST) <= counting.working_up_to
    left = deadline.days or 0
    if deadline.days is None:
        first = day + _ONE_DAY
        day += _months_later(event, deadline.months or 12 * (deadline.years or 0)) - event
        # So that both kinds of period end alike: with a stretch of days that may be paused.
        if deadline.pauses:
            run = (first + each * _ONE_DAY for each in range((day - first).days + 1))
            left = sum(map(counting.is_paused, run))
    while left:
        day += _ONE_DAY
        stands_still = deadline.pauses and counting.is_paused(day)
        left -= not (stands_still or (working and counting.is_off(day)))
    while counting.moves and (
        counting.is_off(day) or (deadline.pauses and counting.is_paused(day))
    ):
        day += _ONE_DAY
    return LastDay(day, rule is None, rule)


def _months_later(day: date, months: int) -> date:
    count = day.year * 12 + day.month - 1 + months
    year, month = count // 12, count % 12 + 1
    if year > date.max.year:
        raise OverflowError(f"a period of {months:,} months from {day} has no end")
    return date(year, month, min(day.day, calendar.monthrange(year, month)[1]))
