"""One record of a file, its fields checked one by one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date

from components.statutes.days import iso_day
from components.statutes.problems import Place, Problem

_JSON_TYPES = {bool: "true or false", int: "a number", float: "a number", list: "a list"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def described(value: object) -> str:
    """A value's type in the words of JSON."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return "text"
    return _JSON_TYPES.get(type(value), "an object")


class Record:
    """The fields of one line; every fault goes to `problems` and makes the record faulty."""

    __slots__ = ("faulty", "fields", "place", "problems")

    def __init__(self, place: Place, fields: Mapping[str, object], problems: list[Problem]) -> None:
        self.place = place
        self.fields = fields
        self.problems = problems
        self.faulty = False

    def fault(self, field: str | None, message: str, repair: str) -> None:
        """Report a fault; a record counts as left out once, however many faults it has."""
        left_out = 0 if self.faulty else 1
        self.faulty = True
        self.problems.append(
            Problem(self.place.file, self.place.line, field, message, repair, left_out)
        )

    def text(self, field: str, repair: str) -> str:
        """A required text, not empty; "" after reporting a fault."""
        value = self.fields.get(field)
        if isinstance(value, str):
            if "\0" in value:
                self.fault(field, "holds the character U+0000", "Take it out.")
            elif value and not value.isspace():
                return value
            else:
                self.fault(field, "is empty", repair)
        elif field not in self.fields:
            self.fault(field, "is missing", repair)
        else:
            self.fault(field, f"is {described(value)}, not text", "Write it as text, in quotes.")
        return ""

    def identifier(self, field: str, repair: str) -> str:
        """A required text without control characters, which would break run files and logs."""
        value = self.text(field, repair)
        if _CONTROL.search(value):
            self.fault(field, f"{value!r} holds a control character", "Take it out of the id.")
        return value

    def optional_text(self, field: str) -> str | None:
        """A text, or `None` when the field is absent or null."""
        if self.fields.get(field) is None:
            return None
        return self.text(field, "Fill it in, or leave the field out.")

    def optional_choice(self, field: str, choices: tuple[str, ...]) -> str | None:
        """One of some texts, or `None` when the field is absent or null."""
        value = self.optional_text(field)
        if value and value not in choices:
            *most, last = (f'"{choice}"' for choice in choices)
            known = f"{', '.join(most)} or {last}"
            repair = "Write one of these, or leave the field out."
            self.fault(field, f"{value[:40]!r} is not {known}", repair)
            return None
        return value

    def texts(self, field: str, repair: str) -> tuple[str, ...]:
        """A required list of texts, none of them empty; the list itself may be."""
        value = self.fields.get(field)
        if not isinstance(value, list):
            if field not in self.fields:
                self.fault(field, "is missing", repair)
            else:
                self.fault(field, f"is {described(value)}, not a list of texts", repair)
            return ()
        for place, entry in enumerate(value, start=1):
            if not isinstance(entry, str):
                self.fault(field, f"entry {place} is {described(entry)}, not text", repair)
                return ()
            if not entry or entry.isspace():
                self.fault(field, f"entry {place} is empty", "Fill it in, or take it out.")
                return ()
        return tuple(value)

    def date(self, field: str) -> date | None:
        """An ISO date, or `None` when the field is absent or null."""
        value = self.fields.get(field)
        if value is None:
            return None
        repair = "Write it as YYYY-MM-DD, or leave the field out."
        if not isinstance(value, str):
            self.fault(field, f"is {described(value)}, not a date", repair)
            return None
        try:
            return iso_day(value)
        except ValueError:
            self.fault(field, f"{value[:40]!r} is no date", repair)
            return None

    def flag(self, field: str, *, default: bool) -> bool:
        """True or false; `default` when the field is absent."""
        value = self.fields.get(field, default)
        if not isinstance(value, bool):
            self.fault(field, f"is {described(value)}, not true or false", "Write true or false.")
            return default
        return value
