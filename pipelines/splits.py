"""Which questions of a file are asked: those of one split, or all where none names a split."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from components.statutes.question import Question
from pipelines.files import LoadingError

ALL = "all"  # stands for no split: a question's own is train, dev or test


def chosen_split(
    questions: Sequence[Question],
    asked_for: str | None,
    usual: str,
    source: str,
    say: Callable[[str], object],
) -> str:
    """The split to ask.

    Args:
        questions: all of a file.
        asked_for: as given by the user.
        usual: the split where the user names none; `ALL` if no question has one, which is said.
        source: the file, as given by the user.
        say: takes a line for the user.

    Raises:
        LoadingError: no question is of the split.
    """
    named = {question.split for question in questions}
    if asked_for is None and named == {None}:
        say(f"No question of {source} names a split: all {len(questions):,} are asked.")
        return ALL
    split = usual if asked_for is None else asked_for
    if split in named:
        return split
    if named == {None}:
        mend = "No question there names one: leave --split out to ask them all."
    else:
        mend = f"It has the splits {', '.join(sorted(each or '(none)' for each in named))}."
    raise LoadingError(f"--split: {source} has no question of the split '{split}'. {mend}")


def of_split(questions: Sequence[Question], split: str) -> list[Question]:
    """The questions of a split; every question for `ALL`."""
    return [question for question in questions if split in (ALL, question.split)]


def spoken(split: str) -> str:
    """A split as messages call it."""
    return "all splits" if split == ALL else f"the split '{split}'"
