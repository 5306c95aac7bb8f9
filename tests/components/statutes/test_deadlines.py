"""The last day of a period, by the demo law's rule of computing time and without one."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from components.statutes.deadlines import Deadline, TimeRule, last_day

# Article 5 of the demo law's Code of Procedure.
RULE = TimeRule(article="procedure-5", working_up_to=5, paused=(("12-22", "01-03"),))


def period(**fields):
    return Deadline.model_validate({"from": "the day you got the letter", **fields})


@pytest.mark.parametrize(
    ("fields", "event", "last"),
    [
        ({"days": 14}, "2026-11-03", "2026-11-17"),  # the next day is the first
        ({"days": 14}, "2026-11-07", "2026-11-23"),  # a Saturday becomes Monday
        ({"days": 5}, "2026-11-05", "2026-11-12"),  # working days only
        ({"days": 6}, "2026-11-05", "2026-11-11"),
        ({"days": 10, "unit": "working"}, "2026-11-05", "2026-11-19"),
        ({"months": 1}, "2026-01-31", "2026-03-02"),  # 28 February is a Saturday
        ({"months": 3}, "2026-11-30", "2027-03-01"),
        ({"years": 1}, "2024-02-29", "2025-02-28"),
        ({"days": 14}, "2026-12-15", "2026-12-29"),  # no step in a case
        ({"days": 14, "pauses": True}, "2026-12-15", "2027-01-11"),
        ({"months": 1, "pauses": True}, "2026-12-10", "2027-01-25"),
    ],
)
def test_the_rule_of_the_law_is_kept(fields, event, last):
    counted = last_day(period(**fields), date.fromisoformat(event), RULE)
    assert (counted.day.isoformat(), counted.is_about, counted.rule) == (last, False, RULE)


def test_holidays_are_those_that_the_law_names():
    named = RULE.model_copy(update={"holidays": ("11-17", "2026-11-18")})
    for rule, last in ((RULE, 17), (named, 19)):
        assert last_day(period(days=14), date(2026, 11, 3), rule).day == date(2026, 11, last)
    # The second is a day off in 2026 alone.
    assert last_day(period(days=14), date(2027, 11, 4), named).day == date(2027, 11, 18)


def test_without_a_rule_the_last_day_is_about_right():
    counted = last_day(period(days=14), date(2026, 11, 7))
    assert counted == (date(2026, 11, 21), True, None)


def test_the_day_of_the_event_may_count():
    rule = TimeRule(article="a", starts="same day", moves=False)
    assert last_day(period(days=7), date(2026, 11, 2), rule).day == date(2026, 11, 8)
    assert last_day(period(months=1), date(2026, 11, 2), rule).day == date(2026, 12, 1)


@given(st.integers(1, 400), st.dates(date(2000, 1, 1), date(2100, 1, 1)), st.booleans())
def test_a_longer_period_never_ends_earlier(days, event, pauses):
    ends = [last_day(period(days=n, pauses=pauses), event, RULE).day for n in (days, days + 1)]
    # But one of five days counts fewer days than one of six.
    assert ends[0] <= ends[1] or days == RULE.working_up_to
    assert not any(map(RULE.is_off, ends))


@pytest.mark.parametrize(
    "fields",
    [{"days": -3}, {"days": 0}, {}, {"days": 1, "months": 1}, {"months": 2, "unit": "working"}],
)
def test_other_periods_are_refused(fields):
    with pytest.raises(ValidationError):
        period(**fields)


@pytest.mark.parametrize(
    "fields",
    [{"paused": (("12-22", "13-01"),)}, {"holidays": ("May 1",)}, {"days_off": ("sabbath",)}],
)
def test_other_rules_are_refused(fields):
    with pytest.raises(ValidationError):
        TimeRule(article="a", **fields)
