"""What is wrong with a file of law, where, and how to mend it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

SHOWN_PROBLEMS = 20

# A file's own words in a message (an id, the name of a field) can be as long as a line.
_LONGEST_WORDS = 400


class Place(NamedTuple):
    """Where a record starts: the file as the user named it, and its 1-based line when unpacked."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in a file.

    Attributes:
        file: The file as the user named it.
        line: 1-based line where the record starts; `None` for the whole file.
        field: The field at fault; `None` when the whole line is.
        message: What is wrong, without a full stop; cut in the middle where it is very long.
        repair: How to mend it, as sentences.
        left_out: How many records were not read because of it; 0 when all are there.
        notice: True when nothing needs mending: reading does not fail because of it.
        breaks_off: True when the file ends here before its own end: how much is missing nobody
            knows, so it is refused also where faulty records are left out.
    """

    file: str
    line: int | None
    field: str | None
    message: str
    repair: str
    left_out: int = 1
    notice: bool = False
    breaks_off: bool = False

    def __post_init__(self) -> None:
        for name in ("field", "message"):
            words = getattr(self, name)
            if words is not None and len(words) > _LONGEST_WORDS:
                cut = f"{words[: _LONGEST_WORDS // 2]} [...] {words[-_LONGEST_WORDS // 2 :]}"
                object.__setattr__(self, name, cut)

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        field = "" if self.field is None else f"field '{self.field}': "
        return f"{place}: {field}{self.message}. {self.repair}"


class CorpusError(ValueError):
    """A file of law, or of questions, cannot be read as it is.

    Attributes:
        problems: Everything wrong, in the order of the file.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        shown = [str(problem) for problem in self.problems[:SHOWN_PROBLEMS]]
        if len(self.problems) == 1:
            return shown[0]
        hidden = len(self.problems) - len(shown)
        if hidden:
            shown.append(f"... and {hidden:,} more.")
        return "\n  ".join([f"{len(self.problems):,} problems:", *shown])
