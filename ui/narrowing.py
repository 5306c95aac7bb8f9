"""Narrowing: of which laws, on which day, in force or not."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, get_args

from components.retrievers.validity import ANY, not_in_force_on

Which = Literal["in force", "all", "not in force"]
WHICH: tuple[Which, ...] = get_args(Which)
DEFAULT: Which = "in force"

_LONGEST_DAY = 40
_LONGEST_NAME = 200  # characters that are looked at


class DayError(ValueError):
    """What was given as a day is none."""


class ChoiceError(ValueError):
    """What was given is not among the choices."""


class LawError(ValueError):
    """No law is called by the words that were given, which are the message."""


@dataclass(frozen=True)
class Narrowing:
    """What a search is narrowed to.

    Attributes:
        laws: names of the laws; none for all.
        named: words that all of these names hold, where that is how they were chosen.
        which: those in force on the day, all, or those not in force on it. An article without dates
            may be in force.
        day: None for today.
    """

    laws: tuple[str, ...] = ()
    which: Which = DEFAULT
    day: date | None = None
    named: str = ""

    @classmethod
    def checked(
        cls, laws: object, which: object, day: object, known_laws: Sequence[str]
    ) -> Narrowing:
        """What an HTTP client sent, whatever it is.

        Args:
            laws: a list of names, or words that a name holds.
            which: one of `WHICH`.
            day: ISO, or empty.
            known_laws: all that are searched.

        Raises:
            ChoiceError: `laws` is neither a text nor a list of known laws, or `which` no choice.
            LawError: `laws` is a text that no known law's name holds.
            DayError: `day` is not empty, and no ISO day.
        """
        named = ""
        if isinstance(laws, str):
            named = " ".join(laws.split())
            laws = laws_named(named, known_laws) if named else []
        laws = [] if laws is None else laws
        if not isinstance(laws, list) or len(laws) > len(known_laws):
            raise ChoiceError
        known = set(known_laws)
        if any(not isinstance(law, str) or law not in known for law in laws):
            raise ChoiceError
        chosen = next((each for each in WHICH if each == which), None)
        if chosen is None:
            raise ChoiceError
        return cls(tuple(dict.fromkeys(laws)), chosen, checked_day(day), named)

    def __bool__(self) -> bool:
        """Whether the reader narrowed it: to laws, or to other articles than today's or all."""
        day_chosen = self.which == "in force" and self.day is not None
        return bool(self.laws) or self.which == "not in force" or day_chosen

    @property
    def as_of(self) -> date | str | None:
        """As `pipelines.asking.ask` takes it; None where the pipeline searches the law of today."""
        return self.day if self.which == "in force" else ANY

    @property
    def filters(self) -> dict[str, Any] | None:
        """As Haystack's filters, without those that `as_of` stands for."""
        of_laws = {"field": "meta.law", "operator": "in", "value": list(self.laws)}
        filters = of_laws if self.laws else None
        if self.which == "not in force":
            return not_in_force_on(self.day or date.today(), filters)
        return filters


def laws_named(words: str, laws: Sequence[str]) -> list[str]:
    """The laws whose names hold every one of some words; capitals and accents do not count.

    A whole name stands for its law alone, though others hold its words too.

    Raises:
        LawError: there are none.
    """
    words = words[:_LONGEST_NAME]
    parts = _folded(words).split()
    names = {law: _folded(law) for law in laws}
    found = [law for law, name in names.items() if name.split() == parts]
    found = found or [law for law, name in names.items() if all(part in name for part in parts)]
    if not found:
        raise LawError(words)
    return found


def _folded(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(each for each in letters if not unicodedata.combining(each))


def checked_day(given: object) -> date | None:
    """The day that an HTTP client sent; None where that is empty.

    Raises:
        DayError: it is no ISO day.
    """
    if given is None or (isinstance(given, str) and not given.strip()):
        return None
    if not isinstance(given, str) or len(given) > _LONGEST_DAY:
        raise DayError
    try:
        return date.fromisoformat(given.strip())
    except ValueError:
        raise DayError from None
