"""What must hold across the lines of a file, whatever its format."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from components.statutes.article import Article
from components.statutes.problems import CorpusError, Place, Problem
from components.statutes.question import Question, QuestionError, clean_question

SHOWN_IDS = 5


class _Identified(Protocol):
    @property
    def id(self) -> str: ...


_Entry = TypeVar("_Entry", bound=_Identified)


def with_new_ids(
    entries: Iterable[tuple[Place, _Entry]], problems: list[Problem]
) -> Iterator[tuple[Place, _Entry]]:
    """Yield each id's first entry; the others go to `problems`."""
    first: dict[str, Place] = {}
    for place, entry in entries:
        earlier = first.setdefault(entry.id, place)
        if earlier is place:
            yield place, entry
            continue
        where = f"line {earlier.line}"
        if earlier.file != place.file:
            where = f"{earlier.file}:{earlier.line}"
        message = f"{entry.id!r} is already the id of {where}"
        repair = "Give each its own id, or remove one."
        problems.append(Problem(place.file, place.line, "id", message, repair))


def question_faults(
    place: Place, question: Question, corpus_ids: Container[str] | None
) -> list[Problem]:
    """Everything that keeps a question from being asked and measured."""
    faults: list[tuple[str, str, str]] = []
    try:
        clean_question(question.text)
    except QuestionError as error:
        faults.append(("text", str(error).removesuffix("."), "Write a question that can be asked."))
    if not question.relevant and question.answerable:
        repair = 'List the articles that answer it, or add "answerable": false.'
        faults.append(("relevant", "is empty", repair))
    if question.relevant and not question.answerable:
        repair = "Empty 'relevant', or take out \"answerable\": false."
        faults.append(("answerable", "is false, but 'relevant' names articles", repair))
    if corpus_ids is not None:
        unknown = [id_ for id_ in dict.fromkeys(question.relevant) if id_ not in corpus_ids]
        if unknown:
            named = ", ".join(map(repr, unknown[:SHOWN_IDS]))
            if len(unknown) > SHOWN_IDS:
                named += f" and {len(unknown) - SHOWN_IDS} more"
            message = f"names {named}, which the corpus does not hold"
            faults.append(("relevant", message, "Correct the ids, or add the articles."))
    return [
        Problem(place.file, place.line, field, message, repair, left_out=int(n == 0))
        for n, (field, message, repair) in enumerate(faults)
    ]


def repeated_numbers(placed: Sequence[tuple[Place, Article]]) -> list[Problem]:
    """A notice when a number stands more than once in its law, placed at the first repeat."""
    seen: set[tuple[str, str]] = set()
    repeats: dict[tuple[str, str], Place] = {}
    for place, article in placed:
        key = (article.law, article.number)
        if key in seen:
            repeats.setdefault(key, place)
        seen.add(key)
    if not repeats:
        return []
    (law, number), place = next(iter(repeats.items()))
    what = "1 number stands" if len(repeats) == 1 else f"{len(repeats):,} numbers stand"
    message = f"{what} more than once in the same law (here first: {number!r} of {law!r})"
    repair = "Nothing to mend if the law is so: a citation of such a number finds each of them."
    return [Problem(place.file, place.line, "number", message, repair, left_out=0, notice=True)]


def refuse(
    file: str, problems: Sequence[Problem], n_read: int, what: str, *, skip_bad: bool
) -> None:
    """Raise when anything but notices was found, or when nothing could be read.

    With `skip_bad` a fault is left out and reading goes on, unless the file breaks off there.

    Raises:
        CorpusError: With the faults that stand in the way; notices stay out of it.
    """
    faults = [problem for problem in problems if not problem.notice]
    if skip_bad and n_read:
        faults = [problem for problem in faults if problem.breaks_off]
    if faults:
        raise CorpusError(faults)
    if n_read == 0:
        repair = "Check that it is the file you meant."
        raise CorpusError([Problem(file, None, None, f"holds no {what}", repair, left_out=0)])
