"""A corpus of statute law and its questions; nothing is left out silently."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from components.statutes.article import Article, articles_of_laws, counted
from components.statutes.identity import DistinctLaws
from components.statutes.languages import SAMPLE_CHARS, detected_language
from components.statutes.provisions import unknown_label
from components.statutes.question import Question, QuestionError, clean_question
from components.statutes.sources.check import ReadingCheck
from components.statutes.sources.opening import Source, open_articles, open_questions
from components.statutes.sources.reading import (
    CorpusError,
    Place,
    Problem,
    name_of,
    notice,
    refused,
)
from components.statutes.sources.stated import with_stated

SHOWN = 5  # ids or laws in a message


def _first_of(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (" ..." if names[SHOWN:] else "")


_Entry = TypeVar("_Entry", Article, Question)
_At = TypeVar("_At")


def with_new_ids(
    entries: Iterable[tuple[Place, _Entry]], problems: list[Problem]
) -> Iterator[tuple[Place, _Entry]]:
    """Yield each id's first entry; the others go to `problems`, those of two files as one."""
    first: dict[str, Place] = {}
    of_files: dict[tuple[str, str], int] = {}  # where in `problems` two files' fault stands
    for place, entry in entries:
        earlier = first.setdefault(entry.id, place)
        if earlier is place:
            yield place, entry
            continue
        index = of_files.get((earlier.file, place.file))
        if index is not None:
            left_out = problems[index].left_out + 1
            problems[index] = replace(problems[index], left_out=left_out)
            continue
        where, repair = f"line {earlier.line}", "Give each its own id, or remove one."
        if earlier.file != place.file:
            where = f"{earlier.file}:{earlier.line}"
            repair = "Keep one version of a law, unless dates in force tell them apart."
            of_files[earlier.file, place.file] = len(problems)
        message = f"{entry.id!r} is already the id of {where}"
        problems.append(place.problem(message, repair, "id"))


_MOST_WAITING = 10_000  # articles


def with_languages(
    articles: Iterable[tuple[_At, Article]], source: Source, problems: list[Problem]
) -> Iterator[tuple[_At, Article]]:
    """The articles in order; those of a law without a language get the one it is written in.

    An article is held back until enough of its law has been read to decide, or 10,000 are.

    Args:
        articles: Articles with their places.
        source: Their source, for the notices.
        problems: Gets one notice for each language that was detected.
    """
    samples: dict[str, str] = {}  # by law, until its language is decided
    detected: dict[str, str | None] = {}
    waiting: deque[tuple[_At, Article]] = deque()

    def ready() -> Iterator[tuple[_At, Article]]:
        while waiting and (waiting[0][1].language or waiting[0][1].law in detected):
            place, article = waiting.popleft()
            language = article.language or detected[article.law]
            yield place, replace(article, language=language)

    for place, article in articles:
        waiting.append((place, article))
        law = article.law
        if not article.language and law not in detected:
            samples[law] = f"{samples.get(law, '')}{article.text}\n"
            if len(samples[law]) >= SAMPLE_CHARS:
                detected[law] = detected_language(samples.pop(law))
        if len(waiting) >= _MOST_WAITING:
            first = waiting[0][1].law
            detected[first] = detected_language(samples.pop(first))
        yield from ready()
    detected |= {law: detected_language(sample) for law, sample in samples.items()}
    yield from ready()
    for language in sorted(filter(None, set(detected.values()))):
        laws = [law for law, each in detected.items() if each == language]
        named = _first_of(laws)
        message = f"{counted(len(laws), 'law')} read as {language!r}, judging by the text ({named})"
        repair = "Where that is wrong, give the articles a 'language'."
        problems.append(notice(name_of(source), message, repair, "language"))


def question_faults(
    place: Place,
    question: Question,
    corpus_ids: Container[str] | None,
    text_of: Callable[[str], str] | None,
) -> list[Problem]:
    """All faults that prevent a question from being asked and measured."""
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
    if beyond := [id_ for id_ in question.passages if id_ not in question.relevant]:
        message = f"labels {beyond[0]!r}, which 'relevant' does not name"
        faults.append(("passages", message, "Add the article to 'relevant', or remove its labels."))
    if corpus_ids is not None:
        unknown = [id_ for id_ in dict.fromkeys(question.relevant) if id_ not in corpus_ids]
        if unknown:
            message = f"names {_first_of(unknown)!r}, which the corpus does not hold"
            faults.append(("relevant", message, "Correct the ids, or add the articles."))
        elif text_of is not None:
            for id_, labels in question.passages.items() if not beyond else ():
                if foreign := unknown_label(text_of(id_), labels):
                    label, repair = foreign
                    message = f"labels {label!r} of {id_!r}, which has no such paragraph"
                    faults.append(("passages", message, repair))
    return [
        place.problem(message, repair, field, left_out=int(n == 0))
        for n, (field, message, repair) in enumerate(faults)
    ]


def refuse(
    file: str, problems: Sequence[Problem], n_read: int, what: str, *, skip_bad: bool
) -> None:
    """Raise if there are faults, or nothing could be read.

    With `skip_bad` faulty records are left out, unless the file breaks off.

    Raises:
        CorpusError: With the faults, but not the notices.
    """
    faults = [problem for problem in problems if not problem.notice]
    if skip_bad and n_read:
        faults = [problem for problem in faults if problem.breaks_off]
    if faults:
        raise CorpusError(faults)
    if n_read == 0:
        repair = "Check that it is the file you meant."
        raise refused(file, f"holds no {what}", repair, left_out=0)


class _Entries(Sequence[_Entry]):
    """Records in the order of their file, with the problems found while reading them."""

    def __init__(self, entries: Iterable[_Entry], problems: Iterable[Problem]) -> None:
        self._entries: list[_Entry] = list(entries)
        self.problems = list(problems)

    @property
    def left_out(self) -> int:
        """How many records of the file were left out because something was wrong."""
        return sum(problem.left_out for problem in self.problems)

    @overload
    def __getitem__(self, index: int) -> _Entry: ...
    @overload
    def __getitem__(self, index: slice) -> list[_Entry]: ...
    def __getitem__(self, index: int | slice) -> _Entry | list[_Entry]:
        return self._entries[index]

    def __len__(self) -> int:
        return len(self._entries)


class StatuteCorpus(_Entries[Article]):
    """Articles of law in the order of their file; an article's position is its index here.

    A law's articles need not be contiguous.

    Attributes:
        articles: The articles, in the file's order.
        problems: What was left out while reading, and notices (such as repeated numbers).
        check: The check after reading; empty for articles that were not read from a file.

    Raises:
        CorpusError: Two articles have the same id.
    """

    def __init__(self, articles: Iterable[Article], problems: Iterable[Problem] = ()) -> None:
        super().__init__(articles, problems)
        self.articles = self._entries
        self.check = ReadingCheck()
        self._positions = {article.id: place for place, article in enumerate(self.articles)}
        if len(self._positions) != len(self.articles):
            counts = Counter(article.id for article in self.articles)
            twice = next(id_ for id_, count in counts.items() if count > 1)
            raise refused("articles", f"two have the id {twice!r}", "Give each its own id.")

    @classmethod
    def read(
        cls,
        source: Source,
        *,
        skip_bad: bool = False,
        format: str | None = None,
        laws: DistinctLaws | None = None,
        strict: bool = False,
        stated: Mapping[str, str] | None = None,
    ) -> StatuteCorpus:
        """Read a whole corpus.

        Args:
            source: A native file or a folder that holds one, plain or gzipped; a file of law in a
                published format, or a folder of such files (docs/data.md); a folder of BSARD or
                SoICT tables; "aldermere", the demo law; "maastrichtlawtech/bsard", fetched from
                the Hugging Face Hub; or an open binary file of the native format.
            skip_bad: Leave out lines and files of law that cannot be read, each named in
                `problems`, instead of raising. A single file that breaks off before its end is
                refused all the same.
            format: One of `opening.FORMATS`; None to recognise it.
            laws: Gives the laws their names; None if no other laws matter.
            strict: Also refuse what looks wrong in the check after reading.
            stated: What the files do not say, for all of them: law, language, source_url,
                jurisdiction. It takes precedence over a law.yaml next to them.

        Raises:
            CorpusError: Anything is wrong (naming file, line, field and repair), or there is no
                article.
        """
        problems: list[Problem] = []
        check = ReadingCheck()
        read = _read_articles(
            source, problems, skip_bad=skip_bad, format=format, laws=laws, stated=stated
        )
        placed = check.watch(with_languages(read, source, problems), problems, strict=strict)
        articles = [article for _, article in placed]  # the last one brings the notices
        corpus = cls(articles, problems)
        corpus.check = check
        return corpus

    @property
    def ids(self) -> list[str]:
        """The articles' ids, by position."""
        return list(self._positions)

    def position(self, article_id: str) -> int:
        """The article's place in the file's order, from 0.

        Raises:
            KeyError: No article has this id.
        """
        return self._positions[article_id]

    @property
    def laws(self) -> list[str]:
        """The laws, by first appearance."""
        return list(self._positions_by_law)

    def positions_of(self, law: str) -> npt.NDArray[np.int64]:
        """Positions of one law's articles, ascending, int64 `[n_articles_of_law]`.

        Raises:
            KeyError: No article belongs to this law.
        """
        return self._positions_by_law[law]

    @cached_property
    def _positions_by_law(self) -> dict[str, npt.NDArray[np.int64]]:
        grouped: dict[str, list[int]] = {}
        for position, article in enumerate(self.articles):
            grouped.setdefault(article.law, []).append(position)
        return {law: np.array(places, dtype=np.int64) for law, places in grouped.items()}

    @cached_property
    def sha256(self) -> str:
        """Digest of the articles' content and order, whatever format they were read from."""
        return _digest(article.to_json() for article in self.articles)

    def __repr__(self) -> str:
        return f"StatuteCorpus({articles_of_laws(len(self), len(self.laws))})"


class QuestionSet(_Entries[Question]):
    """Questions in the order of their file.

    Attributes:
        questions: The questions, each with every relevant id once.
        problems: What was left out while reading.
        repeated_relevant: How many repeats of ids were taken out of `relevant`.
    """

    def __init__(
        self,
        questions: Iterable[Question],
        problems: Iterable[Problem] = (),
        repeated_relevant: int = 0,
    ) -> None:
        super().__init__(questions, problems)
        self.questions = self._entries
        self.repeated_relevant = repeated_relevant

    @cached_property
    def sha256(self) -> str:
        """Digest of the questions' content and order."""
        return _digest(
            {"id": q.id, "text": q.text, "relevant": q.relevant, "answerable": q.answerable}
            for q in self.questions
        )


def iter_articles(
    source: Source,
    *,
    skip_bad: bool = False,
    problems: list[Problem] | None = None,
    format: str | None = None,
    laws: DistinctLaws | None = None,
    check: ReadingCheck | None = None,
    strict: bool = False,
    stated: Mapping[str, str] | None = None,
) -> Iterator[tuple[int, Article]]:
    """Yield (line, article) in the file's order, with one record, ids and numbers in memory.

    Args:
        source: As for `StatuteCorpus.read`.
        skip_bad: Leave out lines that cannot be read instead of raising.
        problems: Gets every problem and notice as it is found.
        format: As for `StatuteCorpus.read`.
        laws: As for `StatuteCorpus.read`.
        check: Gets the check after reading.
        strict: As for `StatuteCorpus.read`.
        stated: As for `StatuteCorpus.read`.

    Raises:
        CorpusError: Anything is wrong; raised at the end, with everything that is wrong with the
            file (after the first fault no more articles are yielded). With `skip_bad`: no article
            could be read, or the file breaks off before its end.
    """
    found = [] if problems is None else problems
    read = _read_articles(source, found, skip_bad=skip_bad, format=format, laws=laws, stated=stated)
    check = check or ReadingCheck()
    for place, article in check.watch(read, found, strict=strict):
        yield place.line, article


def read_questions(
    source: Source,
    *,
    corpus_ids: Container[str] | None = None,
    text_of: Callable[[str], str] | None = None,
    split: str | None = None,
    skip_bad: bool = False,
) -> QuestionSet:
    """Read questions; the whole file is checked, even if only one split is requested.

    Args:
        source: As for `StatuteCorpus.read`.
        corpus_ids: The corpus's article ids; an id in `relevant` that is not among them is a fault.
        text_of: Gives the text of one of these articles; a labelled paragraph that it does not have
            is a fault.
        split: Keep the questions of this split only.
        skip_bad: Leave out lines that cannot be read, each named in `problems`, instead of raising.
            A file that breaks off before its end is refused all the same.

    Raises:
        CorpusError: Anything is wrong (naming file, line, field and repair), or there is no
            question.
    """
    if isinstance(corpus_ids, Sequence):
        corpus_ids = frozenset(corpus_ids)
    problems: list[Problem] = []
    questions: list[Question] = []
    repeated = 0
    for place, question in with_new_ids(open_questions(source, problems), problems):
        faults = question_faults(place, question, corpus_ids, text_of)
        problems.extend(faults)
        if not faults and split in (None, question.split):
            relevant = tuple(dict.fromkeys(question.relevant))
            repeated += len(question.relevant) - len(relevant)
            questions.append(replace(question, relevant=relevant))
    asked = "question" if split is None else f"question of the split '{split}'"
    refuse(name_of(source), problems, len(questions), asked, skip_bad=skip_bad)
    return QuestionSet(questions, problems, repeated)


def canonical_line(record: Mapping[str, Any]) -> bytes:
    """A record for a corpus's digest: canonical JSON and a line break."""
    line = json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return line.encode("utf-8") + b"\n"


def _read_articles(
    source: Source,
    problems: list[Problem],
    *,
    skip_bad: bool,
    format: str | None,
    laws: DistinctLaws | None,
    stated: Mapping[str, str] | None,
) -> Iterator[tuple[Place, Article]]:
    laws = laws or DistinctLaws()
    n_renamed = len(laws.renamed)
    start = checked = len(problems)
    n_yielded = 0
    faulty = False
    opened = with_stated(open_articles(source, problems, format), stated or {})
    for place, article in with_new_ids(opened, problems):
        faulty = faulty or any(not problem.notice for problem in problems[checked:])
        checked = len(problems)
        if skip_bad or not faulty:
            n_yielded += 1
            yield place, laws.article(article)
    if renamed := laws.renamed[n_renamed:]:
        what = f"{counted(len(renamed), 'law')} named apart from another of the same title"
        message = f"{what} ({_first_of(renamed)})"
        problems.append(notice(name_of(source), message, "Nothing to fix.", "law"))
    refuse(name_of(source), problems[start:], n_yielded, "article", skip_bad=skip_bad)


def _digest(records: Iterable[Mapping[str, Any]]) -> str:
    digest = hashlib.sha256()
    for record in records:
        digest.update(canonical_line(record))
    return digest.hexdigest()
