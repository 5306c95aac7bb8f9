"""Metadata in memory, field by field: filters over it are answered without reading documents."""

import operator
from array import array
from collections.abc import Hashable, Mapping
from datetime import date
from functools import cached_property
from typing import Any

import numpy as np
from haystack import Document
from haystack.errors import FilterError
from numpy.typing import NDArray

from components.stores.database import NO_POSITION, position_of
from components.stores.filters import COLUMNS, DIVISION, FIELDS, matches, type_fault

Mask = NDArray[np.bool_]

# What a code of 16 bits tells apart. A field of more values, or of long ones, gets no column.
_MOST_VALUES, _LONGEST = 2**16, 2_000
_MOST_FIELDS = 64
_ORDER = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}


class _Column:
    """A field of all documents.

    Attributes:
        values: each once; the first stands for a field that is missing.
        codes: places in `values`, by row.
    """

    def __init__(self) -> None:
        self.values: list[Any] = [None]
        self.codes: array[int] = array("H")
        self._code_of: dict[Hashable, int] = {("None",): 0}

    def add(self, row: int, value: Any) -> bool:
        """Add the value of a row, after those that miss the field; False where it has no room."""
        # 1, 1.0 and True are equal, but do not compare alike.
        name = value if type(value) is str else (repr(value),)
        code = self._code_of.setdefault(name, len(self.values))
        if code == len(self.values):
            if code == _MOST_VALUES or len(str(name)) > _LONGEST:
                return False
            self.values.append(value)
        self.codes.frombytes(bytes(2 * (row - len(self.codes))))
        self.codes.append(code)
        return True

    @cached_property
    def days(self) -> NDArray[np.int64]:
        """`values` as `_day_number`."""
        return np.array([_day_number(each) for each in self.values])


def _day_number(value: Any) -> int:
    """Days since the year 1 of a text YYYY-MM-DD; 0 for None, and -1 for anything else."""
    if type(value) is str and len(value) == 10 and value[4] == value[7] == "-":
        try:
            return date.fromisoformat(value).toordinal()
        except ValueError:
            return -1
    return 0 if value is None else -1


class MetadataColumns:
    """The metadata of a store's documents, for filters.

    A comparison is made once with each value of its field: by Haystack's own matcher, or as numbers
    where these are many. Codes tell which rows have the value. So the rows found are those of
    `document_matches_filter`, whatever the values are.
    """

    def __init__(self) -> None:
        self._positions: array[int] = array("q")
        self._columns: dict[str, _Column | None] = {}

    def add(self, meta: Mapping[str, Any]) -> None:
        """Add the next document's metadata."""
        for field, value in meta.items():
            if field not in self._columns:
                self._columns[field] = _Column() if len(self._columns) < _MOST_FIELDS else None
            column = self._columns[field]
            if column is not None and not column.add(len(self._positions), value):
                self._columns[field] = None
        self._positions.append(position_of(meta))

    def matching(self, plain: dict[str, Any]) -> Mask:
        """Bool `[n]`, the rows that meet `plain_filters`.

        Raises:
            FilterError: the columns cannot tell; the documents may.
        """
        if "field" in plain:
            return self._compared(plain)
        join = np.logical_or if plain["operator"] == "OR" else np.logical_and
        met = np.full(len(self._positions), plain["operator"] != "OR")
        for part in plain["conditions"]:
            join(met, self.matching(part), out=met)
        return ~met if plain["operator"] == "NOT" else met

    def _compared(self, condition: dict[str, Any]) -> Mask:
        field, relation, value = condition["field"], condition["operator"], condition["value"]
        name = "headings" if field == DIVISION else field.removeprefix("meta.").partition(".")[0]
        is_known = field == DIVISION or name in FIELDS
        column = self._columns.get(name, _Column() if is_known else None)
        positions = np.frombuffer(self._positions, np.int64)
        is_whole = field in (name, f"meta.{name}")
        values = value if relation in ("in", "not in") else [value]
        are_positions = all(type(each) is int and abs(each) < NO_POSITION for each in values)
        if name == "position" and is_whole and are_positions and NO_POSITION not in positions:
            return _compared(positions, relation, values)
        foreign = field in COLUMNS or ("." in field and not field.startswith("meta."))
        if column is None or foreign or (is_whole and type_fault(name, values)):
            raise FilterError(f"{field} is not among the columns.")
        days = [_day_number(each) for each in values]
        if is_whole and min([column.days.min(), *days]) >= 0:
            met = _compared(column.days, relation, days)
            if relation in _ORDER:
                met &= (column.days > 0) & (days[0] > 0)
        else:
            document, met = Document(id="0"), np.empty(len(column.values), bool)
            for code, each in enumerate(column.values):
                document.meta.update({name: each} if code else {})
                met[code] = matches(condition, document)
        found = np.full(len(positions), met[0])
        found[: len(column.codes)] = met[np.frombuffer(column.codes, np.uint16)]
        return found


def _compared(numbers: NDArray[np.int64], relation: str, values: list[int]) -> Mask:
    if relation in _ORDER:
        met: Mask = _ORDER[relation](numbers, values[0])
        return met
    return np.isin(numbers, values, invert=relation in ("!=", "not in"))
