"""Guides: what to do, as a legal-aid team writes it, each step standing on articles of the law.

A file holds one guide a line, as JSON (docs/guides.md). A line of the form {"time_rule": {...}}
says how the law computes time (`components.statutes.deadlines.TimeRule`).

A guide is checked against the law that it stands on: its articles are there and in force, they have
the paragraphs that it names, and what it quotes is in them word for word. The digests of its
articles' texts are kept with it, so that a later change of the law shows.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from components.statutes.article import Article, iso_day, normalised
from components.statutes.deadlines import Deadline, TimeRule
from components.statutes.provisions import unknown_label
from components.statutes.question import clean_question
from components.statutes.replies.quotations import TOO_SHORT, check_quotations
from components.statutes.sources.corpora import checked_record, read_lines, read_table
from components.statutes.sources.reading import (
    CorpusError,
    Place,
    Problem,
    did_you_mean,
    refused,
)

_RULE = "time_rule"


def _words(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return text


def _some(entries: tuple[Any, ...]) -> tuple[Any, ...]:
    if not entries:
        raise ValueError("has no entry")
    return entries


_Words = Annotated[str, AfterValidator(_words)]
_Question = Annotated[str, AfterValidator(clean_question)]
_Questions = Annotated[tuple[_Question, ...], Field(strict=False)]
_Day = Annotated[date, BeforeValidator(lambda value: iso_day(str(value)))]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)


class Step(_Record):
    """One step.

    Attributes:
        text: what to do.
        article: id of the article that it stands on.
        passages: that article's paragraphs, as `provisions.Provision.labels` names them.
        deadline: within which to do it.
    """

    text: _Words
    article: _Words
    passages: Annotated[tuple[_Words, ...], Field(strict=False)] = ()
    deadline: Deadline | None = None


class Contact(_Record):
    """Someone who helps."""

    name: _Words
    telephone: str | None = None
    address: str | None = None
    hours: str | None = None
    url: Annotated[str, Field(pattern="(?i)^https?://")] | None = None


class Reviewed(_Record):
    """When a guide was last read against the law, and by whom."""

    date: _Day
    by: _Words


class Guide(_Record):
    """What to do in one situation.

    Attributes:
        id: of the situation; its translations have the same.
        language: of its texts and questions, a BCP 47 tag.
        title: names the situation.
        answer: one or two plain sentences.
        when: questions that it answers, as people ask them.
        unless: questions that look alike and that it does not answer.
        steps: in their order.
        contacts: who helps.
        urgent: whether someone is in danger, evicted or arrested today.
        reviewed: its last review.
    """

    id: _Words
    language: _Words
    title: _Words
    answer: _Words
    when: Annotated[_Questions, AfterValidator(_some)]
    unless: _Questions = ()
    steps: Annotated[tuple[Step, ...], Field(strict=False), AfterValidator(_some)]
    contacts: Annotated[tuple[Contact, ...], Field(strict=False)] = ()
    urgent: bool = False
    reviewed: Reviewed

    @property
    def key(self) -> str:
        """What tells it from other guides and from its translations."""
        return f"{self.id} ({self.language})"

    @property
    def articles(self) -> list[str]:
        """Ids of the articles that its steps stand on, each once."""
        return list(dict.fromkeys(step.article for step in self.steps))

    def to_json(self, exclude: set[str] | None = None) -> dict[str, Any]:
        """The guide as a line of a file has it, without the fields of `exclude`."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=exclude)


class _RuleLine(_Record):
    time_rule: TimeRule


class GuideFile(NamedTuple):
    """What a file of guides holds.

    Attributes:
        guides: in the file's order.
        rules: of computing time.
    """

    guides: list[Guide]
    rules: list[TimeRule]


ArticleOf = Callable[[str], Article | None]
"""Gives the article of an id that a law has."""


_WORKBOOKS = (".xlsx", ".xls", ".ods")


def read_guides(path: str | Path, article_of: ArticleOf, today: date) -> GuideFile:
    """Read guides and check them against the law.

    Args:
        path: of the file; an empty one holds no guide.
        article_of: looks an article up.
        today: the day on which the articles must be in force.

    Raises:
        CorpusError: anything is wrong; names every fault, with file and line.
    """
    if Path(path).suffix.lower() in (".csv", *_WORKBOOKS):
        repair = "Make the file of it: python -m pipelines.guides --from sheet.csv --output FILE"
        raise refused(path, "is a spreadsheet, not a file of guides", repair)
    problems: list[Problem] = []
    guides: list[tuple[Place, Guide]] = []
    rules: list[TimeRule] = []
    for place, fields in read_lines(Path(path), problems):
        if _RULE in fields:
            if line := checked_record(_RuleLine, place, fields, problems):
                rule = line[_RULE]
                rules.append(rule)
                problems += _article_faults(
                    place, _RULE, rule.article, rule.passages, article_of, today
                )
        elif checked := checked_record(Guide, place, fields, problems):
            guide = Guide.model_construct(**checked)
            guides.append((place, guide))
            problems += _early_review(place, guide, today)
            problems += _faults_in_law(place, guide, article_of, today)
    problems += _repeats(guides)
    _refuse(problems)
    return GuideFile([guide for _, guide in guides], rules)


def _early_review(place: Place, guide: Guide, today: date) -> Iterator[Problem]:
    """A review that is still to come."""
    if guide.reviewed.date > today:
        message = f"{guide.reviewed.date} is in the future"
        yield place.problem(message, "Give the day of the last review.", "reviewed")


def _refuse(problems: list[Problem]) -> None:
    if problems:
        raise CorpusError(sorted(problems, key=lambda each: each.line or 0))


def _repeats(guides: Iterable[tuple[Place, Guide]]) -> Iterator[Problem]:
    """Ids and questions that a language has twice."""
    ids: dict[str, Place] = {}
    asked: dict[tuple[str, str], tuple[Place, Guide]] = {}
    for place, guide in guides:
        if (earlier := ids.setdefault(guide.key, place)) is not place:
            message = f"{guide.key!r} is already the guide of line {earlier.line}"
            yield place.problem(message, "Give each guide of a language its own id.", "id")
            continue
        shared = []
        for question in guide.when:
            key = (guide.language, normalised(question))
            first, other = asked.setdefault(key, (place, guide))
            if other is not guide:
                shared.append(
                    f"{question!r} is already a question of {other.id!r}, line {first.line}"
                )
        if shared:
            more = f", and {len(shared) - 1:,} more are shared" if len(shared) > 1 else ""
            yield place.problem(shared[0] + more, "Leave it to one of them.", "when")
        own = set(map(normalised, guide.when))
        for question in guide.unless:
            if normalised(question) in own:
                message = f"{question!r} is one of its questions in 'when' too"
                yield place.problem(message, "Leave it in one of them.", "unless")


def _faults_in_law(
    place: Place, guide: Guide, article_of: ArticleOf, today: date
) -> Iterator[Problem]:
    faults = [
        fault
        for number, step in enumerate(guide.steps, start=1)
        for fault in _article_faults(
            place, f"steps {number}", step.article, step.passages, article_of, today
        )
    ]
    if faults:
        yield from faults
        return  # a quotation of an article that is not there is not the fault to repair
    texts = [("title", guide.title, guide.articles), ("answer", guide.answer, guide.articles)]
    for number, step in enumerate(guide.steps, start=1):
        texts.append((f"steps {number}", step.text, [step.article]))
    for where, text, ids in texts:
        for quotation in check_quotations(text, [each for each in map(article_of, ids) if each]):
            if quotation.state != "verified" and quotation.why != TOO_SHORT:
                message = (
                    f"quotes {quotation.text!r}, which is not in {', '.join(ids)} word for word"
                )
                repair = "Quote the law as it stands, or leave the quotation marks out."
                yield place.problem(message, repair, where)


def _article_faults(
    place: Place,
    where: str,
    id_: str,
    passages: Iterable[str],
    article_of: ArticleOf,
    today: date,
) -> Iterator[Problem]:
    article = article_of(id_)
    if article is None:
        message = f"names the article {id_!r}, which the store's law does not have"
        yield place.problem(message, "Correct its id, or index its law first.", where)
        return
    if (state := article.state(today)) in ("repealed", "not yet in force"):
        message = f"stands on {id_!r}, which is {state}"
        yield place.problem(message, "Name the article that is in force.", where)
    if unknown := unknown_label(article.text, passages):
        label, repair = unknown
        message = f"names paragraph {label!r} of {id_!r}, which has no such paragraph"
        yield place.problem(message, repair, where)


# Guides that know when their law changed.


@lru_cache(maxsize=1024)  # the articles under a guide are compared each time that it is shown
def _digest(text: str) -> str:
    return hashlib.sha256(normalised(text).encode()).hexdigest()


class KeptGuide(_Record):
    """A guide as a store keeps it.

    Attributes:
        guide: as it was read.
        digests: of the texts of its articles at its review, by id.
        changed: of the articles whose text has changed, or that are no longer in force, the
            day of the change, ISO; by id.
    """

    guide: Guide
    digests: dict[str, str]
    changed: dict[str, str] = {}

    @classmethod
    def new(cls, guide: Guide, article_of: ArticleOf, earlier: KeptGuide | None) -> KeptGuide:
        """A guide that was just read.

        It was reviewed by today's text, unless the store knows it with the same review: then by the
        text that the store had at that time.

        Args:
            guide: that was read.
            article_of: looks an article up.
            earlier: the store's guide of the same key.
        """
        known = earlier if earlier and earlier.guide.reviewed == guide.reviewed else None
        digests: dict[str, str] = {}
        changed: dict[str, str] = {}
        for id_ in guide.articles:
            if known and id_ in known.digests:
                digests[id_] = known.digests[id_]
                changed |= {id_: known.changed[id_]} if id_ in known.changed else {}
            elif article := article_of(id_):
                digests[id_] = _digest(article.text)
        return cls(guide=guide, digests=digests, changed=changed)

    def compared(self, article_of: ArticleOf, today: date) -> KeptGuide:
        """The guide with what has changed in its law by today.

        A text that came into force after the review is a change too. The day of a change is the
        first day of the new text or the last of the old one where the law tells it, else the day on
        which the change was first seen.
        """
        changed = {}
        for id_, digest in self.digests.items():
            article, day, is_same = article_of(id_), None, False
            if article is not None:
                is_repealed = article.state(today) == "repealed"
                day = article.valid_to if is_repealed else article.valid_from
                if day is not None and not self.guide.reviewed.date < day <= today:
                    day = None
                is_same = not is_repealed and day is None and _digest(article.text) == digest
            if not is_same:
                changed[id_] = day.isoformat() if day else self.changed.get(id_, today.isoformat())
        return self.model_copy(update={"changed": changed})


class Guides(_Record):
    """The guides of a store.

    Attributes:
        kept: in their file's order.
        rules: of computing time.
    """

    kept: Annotated[tuple[KeptGuide, ...], Field(strict=False, alias="guides")] = ()
    rules: Annotated[tuple[TimeRule, ...], Field(strict=False)] = ()

    def rule_for(self, law: str) -> TimeRule | None:
        """How a law computes time."""
        return next((rule for rule in self.rules if not rule.laws or law in rule.laws), None)


# Which guide is right for a question, as a person says.


class _Label(_Record):
    question: _Words
    guide: _Words | None


def read_labels(
    path: str | Path, questions: Container[str], guides: Container[str]
) -> dict[str, set[str]]:
    """Read which guides are right for questions: lines of {"question": id, "guide": id or null}.

    Args:
        path: of the file.
        questions: ids of those that can be asked.
        guides: ids of the store's.

    Returns:
        By the question's id the ids of its guides; none where no guide is right.

    Raises:
        CorpusError: anything is wrong; names every fault, with file and line.
    """
    problems: list[Problem] = []
    labels: dict[str, set[str]] = defaultdict(set)
    for place, fields in read_lines(Path(path), problems):
        if checked := checked_record(_Label, place, fields, problems):
            question, guide = checked["question"], checked["guide"]
            labels[question].update([guide] if guide else [])
            if question not in questions:
                message = f"there is no question {question!r}"
                problems.append(place.problem(message, "Correct its id.", "question"))
            if guide is not None and guide not in guides:
                message = f"the store has no guide {guide!r}"
                problems.append(place.problem(message, "Correct its id, or write null.", "guide"))
    _refuse(problems)
    return dict(labels)


# A spreadsheet of guides: a row a step.

_COLUMNS = ("id", "language", "title", "answer", "when", "step", "article")
_OPTIONAL = (
    *("unless", "urgent", "reviewed", "reviewed by", "passages", "deadline", "from"),
    *("contact", "telephone", "address", "hours", "url"),
)
_URGENT = {"yes": True, "true": True, "no": False, "false": False}
_DEADLINE = re.compile(r"(?P<count>-?\d+)\s+(?P<working>working )?(?P<unit>day|month|year)s?")
_BREAK = re.compile(r"\s*[|\n]\s*")


def guides_from_table(path: str | Path, today: date) -> list[Guide]:
    """Guides from a spreadsheet that was saved as CSV; docs/guides.md names its columns.

    Args:
        path: of the file, in UTF-8 with commas between columns.
        today: the last day on which a guide can have been reviewed.

    Raises:
        CorpusError: anything is wrong; names every fault, with file and line.
    """
    if Path(path).suffix.lower() in _WORKBOOKS:
        raise refused(path, "is not CSV", "Save the sheet as CSV in UTF-8 with commas.")
    problems: list[Problem] = []
    guides: dict[tuple[str, str], tuple[Place, dict[str, Any]]] = {}
    id_ = language = ""
    header: Iterable[str] = ()
    for place, row in read_table(Path(path), _COLUMNS, problems):
        header = row
        cells = {name: cell.strip() for name, cell in row.items() if cell.strip()}
        if cells:
            id_, language = cells.get("id", id_), cells.get("language", language)
            fields: dict[str, Any] = {"id": id_, "language": language}
            fields |= {name: [] for name in ("when", "unless", "steps", "contacts")}
            _add_row(guides.setdefault((id_, language), (place, fields))[1], place, cells, problems)
    absent = [each for each in _OPTIONAL if each not in header]
    for name in header:
        if name and name not in (*_COLUMNS, *_OPTIONAL):
            message = f"is not a column of guides{did_you_mean(name, absent)}"
            repair = f"Remove it, or correct its name. Optional columns: {', '.join(_OPTIONAL)}."
            problems.append(Place(str(path), 1).problem(message, repair, name))
    read = []
    for place, fields in guides.values():
        if checked := checked_record(Guide, place, fields, problems):
            read.append(Guide.model_construct(**checked))
            problems += _early_review(place, read[-1], today)
    _refuse(problems)
    if not read:
        raise refused(path, "holds no guide", "Check that it is the file you meant.")
    return read


def _add_row(
    fields: dict[str, Any], place: Place, cells: Mapping[str, str], problems: list[Problem]
) -> None:
    """Add a row of a table to a guide's fields, so that a fault of a step names its row."""
    fields |= {name: cells[name] for name in ("title", "answer") if name in cells}
    for name in ("when", "unless"):
        fields[name] += filter(None, _BREAK.split(cells.get(name, "")))
    if "urgent" in cells:
        fields["urgent"] = _URGENT.get(cells["urgent"].lower(), cells["urgent"])
    if "reviewed" in cells:
        fields["reviewed"] = {"date": cells["reviewed"], "by": cells.get("reviewed by", "")}
    step: dict[str, Any] = {"text": cells.get("step", ""), "article": cells.get("article", "")}
    if "passages" in cells:
        step["passages"] = re.split(r"\s*[,;|\n]\s*", cells["passages"])
    if "deadline" in cells:
        if read := _DEADLINE.fullmatch(cells["deadline"].lower()):
            step["deadline"] = {
                f"{read['unit']}s": int(read["count"]),
                "from": cells.get("from", ""),
            }
            step["deadline"] |= {"unit": "working"} if read["working"] else {}
        else:
            message = f"{cells['deadline']!r} is not of the form '14 days'"
            problems.append(place.problem(message, "Correct the cell.", "deadline"))
    # A faulty one is added too, so that its guide does not seem to lack it.
    if any(step.values()):
        checked = checked_record(Step, place, step, problems)
        fields["steps"].append(Step.model_construct(**(checked or step)))
    if "contact" in cells:
        contact = {name: cells[name] for name in Contact.model_fields if name in cells}
        contact["name"] = cells["contact"]
        checked = checked_record(Contact, place, contact, problems)
        fields["contacts"].append(Contact.model_construct(**(checked or contact)))
