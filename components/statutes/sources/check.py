"""The check after reading: what was read of each law, and what in it looks wrong.

`ReadingCheck` watches the articles of any reader go by, one law at a time, and keeps totals, the
first laws and the ten worst ones: its memory does not grow with a folder. What is true of good law
too (a gap where articles were repealed, numbers that begin again in each division) is reported;
what good law does not have is a warning with its place.
"""

from __future__ import annotations

import heapq
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from components.statutes.article import Article, articles_of_laws, counted, listed
from components.statutes.citations.patterns import parse_number, printed_range
from components.statutes.sources.reading import CorpusError, Place, Problem, decoded, read_whole
from components.statutes.sources.units import unit_pattern

# Laws reported one by one (of more, the totals and the worst), the worst ones, places in a line,
# the longest articles.
SHOWN_LAWS, _WORST, _SHOWN, _LONGEST = 5, 10, 5, 3
# Characters of a law's name; numbers. From 16.9 to 16.91 it is farther than `_FAR`.
_LONGEST_NAME, _LONGEST_RANGE, _FAR = 100, 1_000, 40

# Numbers.


class Number(NamedTuple):
    """An article's number, as far as it has an order.

    Attributes:
        series: What is printed besides integers: numbers of two series are not compared ("L" and
            "R" of a French code, the paragraphs of two schedules, 12 and 12 bis).
        levels: Its integers as printed.
        until: The last integer of a range, "§§ 29 und 30"; else the last level.
    """

    series: str
    levels: tuple[str, ...]
    until: int


_PARTS = re.compile(r"(\D*)(\d{1,18}(?:[.\-/:]\d{1,18})*)(.*)", re.DOTALL)


def number_of(printed: str) -> Number | None:
    """An article's number; None where it has none in figures ("Disposición final", "Annex I").

    >>> number_of("L.121-4"), number_of("第三十二条の二").levels
    (Number(series='l', levels=('121', '4'), until=4), ('32', '2'))
    >>> number_of("§§ 29 und 30").until, number_of("Schedule 2, paragraph 7").series
    (30, 'schedule 2, paragraph ')
    """
    # "附則第三条": the articles of a supplementary provision are counted on their own.
    above, sign, own = printed.rpartition("第")
    parsed = parse_number(printed) or (parse_number(sign + own) if sign else None)
    # "2-3" is section 3 of chapter 2 as often as articles 2 and 3.
    through = None if parsed and "-" in parsed.core else printed_range(printed)
    core, last = through or (parsed.core if parsed else "", "")
    # An act's articles, and the sections of one of them.
    apart = ("§" if "§" in printed else "") + (above + parsed.division if parsed else "")
    found = _PARTS.match(core)
    if not core:
        found, apart = re.fullmatch(r"(.*?)(\d{1,18})(\D*)", printed.casefold()), ""
    if found is None:
        return None
    levels, ends = (re.findall(r"\d+", each) for each in (found[2], last))
    until = min(int([*levels, *ends][-1]), int(levels[-1]) + _LONGEST_RANGE)
    return Number(apart + found[1] + found[3], tuple(levels), until)


Key = tuple[int, ...]


def _integers(levels: Sequence[str]) -> Key:
    """As most laws count: 1.9, 1.10."""
    return tuple(map(int, levels))


def _decimals(levels: Sequence[str]) -> Key:
    """As Canada counts: 16.9, 16.91, 16.92, 17."""
    return int(levels[0]), *map(int, "".join(levels[1:]))


def _thousands(levels: Sequence[str]) -> Key:
    """As Brazil counts: 999, 1.000."""
    is_one = all(len(each) == 3 for each in levels[1:])
    return (int("".join(levels)),) if is_one else _integers(levels)


def _breaks(keys: Iterable[Key]) -> int:
    """How many keys do not follow the one before."""
    return sum(
        after < before or (after[:-1] == before[:-1] and after[-1] > before[-1] + _FAR)
        for before, after in pairwise(keys)
    )


# The words of a file.


def _size_of(text: str) -> int:
    """The characters of a text's words."""
    return sum(map(len, text.split()))


def _size_of_file(file: str) -> int | None:
    """The characters of the words of a file of XML or plain text; None for any other file."""
    path, is_text = Path(file), file.removesuffix(".gz").endswith((".md", ".txt"))
    try:
        head = read_whole(path, 64) if path.is_file() else b""
        if not head or not (is_text or head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")):
            return None
        content = read_whole(path)
    except CorpusError:
        return None
    if is_text:
        return _size_of(decoded(content)[0])
    return _size_of(re.sub(rb"<[^>]*>", b" ", content).decode("utf-8", "ignore"))


# One law.


class _Read(NamedTuple):
    """An article with a number, as it is kept until its law ends."""

    printed: str
    number: Number
    place: Place
    division: int  # hash of its headings and file
    wording: int  # hash of its number and days in force
    key: Key = ()  # once it is known how the law counts


@dataclass
class LawCheck:
    """What was read of one law.

    Attributes:
        law: Its name.
        articles: How many there are.
        repealed: Of these, how many only say that they were repealed.
        numbers: First and last number of the longest run of numbers, as "1 to 54"; "" without any.
        gaps: Numbers that are missing, as "§ 12" or "§ 45 to 46", within and between divisions.
        missing: How many numbers the gaps are.
        restarts: How often the numbers begin again.
        longest: Characters and number of the longest articles.
        share: Of the words of its files, how much became articles; None where nobody counted.
        warnings: What looks wrong, each with its place.
    """

    law: str
    articles: int = 0
    repealed: int = 0
    numbers: str = ""
    gaps: list[str] = field(default_factory=list)
    missing: int = 0
    restarts: int = 0
    longest: list[tuple[int, str]] = field(default_factory=list)
    share: float | None = None
    warnings: list[Problem] = field(default_factory=list)

    def __str__(self) -> str:
        """One line, for a reader who knows the law and not the program."""
        gaps = f"{counted(self.missing, 'missing number')}: {listed(self.gaps, _SHOWN)}"
        longest = ", ".join(f"{number} ({length:,})" for length, number in self.longest)
        parts = {
            f"{self.law}: {counted(self.articles, 'article')}": True,
            f"numbered {self.numbers}": self.numbers,
            gaps if self.gaps else "no missing numbers": self.numbers,
            f"{self.repealed:,} repealed": self.repealed,
            f"the numbers begin again {counted(self.restarts, 'time')}": self.restarts,
            f"longest (characters): {longest}": True,
            f"{self.share or 0:.0%} of the file's words became articles": self.share is not None,
            counted(len(self.warnings), "warning"): self.warnings,
        }
        return "; ".join(part for part, is_known in parts.items() if is_known)


# An article's heading at the start of a line or sentence; a footnote's mark may precede it, and
# "article 12 of this law" is a reference.
_HEADING = (
    r"(?m)(?:^|[.;:)*]\s[*\s]*)(?:\d{1,3}\s)?"
    rf"(?:§|(?i:{unit_pattern('before')})(?![^\W\d_]))[.\s]{{0,3}}(?:\w{{0,3}}\d[.\-/])*"
    r"(\d{1,6})(?!\w*\s[^\W\dA-Z]{2}|\d)"
)
_ITEM = re.compile(r"(?:[^\W\d_]{1,2}|[ivxlc]+)[.)°º’']|[^\W\d_]+\s*[)=]")
_FRAGMENTS = "articles whose text begins within a sentence"
_REPAIR = "Compare it with the official text."
# Share of a law's articles from which a peculiarity is its style; share of steps of one from which
# a missing number is a gap.
_COMMONLY, _COUNTS_BY_ONE = 0.2, 0.7
_FEW_WORDS, _SHORTEST_FILE = 0.1, 2_000  # share; characters of words


class _LawReading:
    """The articles of one law, as they go by."""

    def __init__(self, law: str, first: Place) -> None:
        self.report = LawCheck(law if len(law) <= _LONGEST_NAME else f"{law[:_LONGEST_NAME]} ...")
        self.files = set[str]()
        self.size = 0  # of the articles' words
        self._first = first
        self._series: dict[str, list[_Read]] = {}
        self._last: tuple[_Read, str] | None = None
        self._wrong: dict[str, list[tuple[Place, str]]] = {}

    def add(self, article: Article, place: Place) -> None:
        report, text = self.report, article.text
        report.articles += 1
        report.repealed += (is_stub := article.is_stub)
        longest = [*report.longest, (len(text), article.number)]
        report.longest = heapq.nlargest(_LONGEST, longest, key=itemgetter(0))
        self.size += _size_of(text)
        self.files.add(place.file)
        number, last, self._last = number_of(article.number), self._last, None
        if number is not None:
            printed = "".join(article.number.casefold().split())
            wording = hash((printed, article.valid_from, article.valid_to))
            # A law's second file is another version of it, which its reader names.
            division = hash((article.headings, place.file))
            read = _Read(article.number, number, place, division, wording)
            self._series.setdefault(number.series, []).append(read)
            if last and last[0].number.levels[:-1] == number.levels[:-1]:
                self._look_for_headings(*last, int(number.levels[-1]))
            self._last = read, text
            if _begins_within(text) and not is_stub:
                self._mark(_FRAGMENTS, read, repr(" ".join(text[:40].split())))

    def _look_for_headings(self, read: _Read, text: str, following: int) -> None:
        """Find the headings of the articles that are missing behind one in its text."""
        missing = range(read.number.until + 1, following)
        if 0 < len(missing) < _FAR:
            # A heading that the text begins with is the article's own.
            found = re.finditer(_HEADING, text.lstrip())
            held = {int(heading[1]) for heading in found if heading.start()}
            for number in sorted(held.intersection(missing)):
                self._mark("articles with another one in their text", read, f"holds {number}")

    def _mark(self, what: str, read: _Read, detail: str = "") -> None:
        named = f"{read.printed} (line {read.place.line:,}) {detail}".strip()
        self._wrong.setdefault(what, []).append((read.place, named))

    def close(self, share: float | None, size_of_files: int) -> LawCheck:
        """The report, once the law has ended, with the share of its files' words."""
        report = self.report
        if self._last:
            self._look_for_headings(*self._last, self._last[0].number.until + 2)
        self._check_order()
        if len(self._wrong.get(_FRAGMENTS, ())) > _COMMONLY * report.articles:
            del self._wrong[_FRAGMENTS]
        report.share = share
        if share is not None and share < _FEW_WORDS and size_of_files > _SHORTEST_FILE:
            self._wrong[f"only {share:.1%} of the file became articles"] = [(self._first, "")]
        for what, found in self._wrong.items():
            names = listed([name for _, name in found], _SHOWN)
            message = f"{report.law}: {what}" + (f" ({len(found):,}): {names}" if names else "")
            report.warnings.append(found[0][0].notice(message, _REPAIR, None))
        return report

    def _check_order(self) -> None:
        # The law's own way to count is that with the fewest breaks.
        key_of = min(
            (_integers, _decimals, _thousands),
            key=lambda count: sum(
                _breaks([count(each.number.levels) for each in series])
                for series in self._series.values()
            ),
        )
        runs: list[list[_Read]] = []
        for series in self._series.values():
            numbered = [each._replace(key=key_of(each.number.levels)) for each in series]
            starts = [0, *_restarts(numbered), len(numbered)]
            self.report.restarts = max(self.report.restarts, len(starts) - 2)
            runs += (numbered[i:j] for i, j in pairwise(starts))
            if not self.report.numbers:  # of the body, which comes before the schedules
                longest = max(runs, key=len)
                self.report.numbers = f"{longest[0].printed} to {longest[-1].printed}"
        known = {(*each.key[:-1], n) for run in runs for each in run for n in _covered(each)}
        seen = set[tuple[object, int]]()
        for n, run in enumerate(runs):
            in_order = _longest_ascending([each.key for each in run])
            self._find_gaps([run[i] for i in sorted(in_order)], known, key_of is _decimals)
            for i, each in enumerate(run):
                if i not in in_order:
                    self._mark("numbers out of order", each)
                # Of a division that is gone back to, too.
                if (places := {(n, each.wording), (str(each.division), each.wording)}) & seen:
                    self._mark("numbers more than once, without dates to tell the newest", each)
                seen |= places

    def _find_gaps(self, run: Sequence[_Read], known: set[Key], are_decimals: bool) -> None:
        """Numbers between two of a run that no article of the law has, in whatever series."""
        steps: dict[bool, list[tuple[_Read, range]]] = {True: [], False: []}
        for one, other in pairwise(run):
            between = range(_covered(one)[-1] + 1, other.key[-1])
            is_step = one.key[:-1] == other.key[:-1] and one.key < other.key
            # Inserted decimals leave numbers free.
            if is_step and not (are_decimals and one.key[1:]):
                steps[one.division == other.division].append((one, between))
        for found in steps.values():
            # Numbers that go on by fives, or at the next hundred in the next division, lack none.
            if sum(not between for _, between in found) < _COUNTS_BY_ONE * len(found):
                continue
            for one, between in found:
                missing = [n for n in between if (*one.key[:-1], n) not in known]
                known.update((*one.key[:-1], n) for n in missing)
                self.report.missing += len(missing)
                if missing:
                    # As the law prints it: "L121-5" after "L121-4".
                    name = re.sub(r"\d*\D*$", "", one.printed) + str(missing[0])
                    self.report.gaps.append(f"{name} to {missing[-1]}" if missing[1:] else name)


def _covered(each: _Read) -> range:
    """The last integer of a number, and those of a range."""
    return range(each.key[-1], max(each.key[-1], each.number.until) + 1)


def _begins_within(text: str) -> bool:
    """Whether a text begins in the middle of a sentence: with a small letter or a comma."""
    return text[0] in ",;" or (text[0].islower() and _ITEM.match(text) is None)


def _restarts(articles: Sequence[_Read]) -> Iterator[int]:
    """Where the numbers begin again, in another division, and go on from there.

    A single number that is lower than those around it is not a beginning.
    """
    first = highest = articles[0].key
    for index, each in enumerate(articles[1:], start=1):
        is_divided = each.division != articles[index - 1].division
        following = articles[index + 1].key if index + 1 < len(articles) else each.key
        goes_on = each.key <= following <= highest
        if is_divided and goes_on and (each.key <= first or each.key[-1] == 1):
            first = highest = each.key
            yield index
        highest = max(highest, each.key)


def _longest_ascending(keys: Sequence[Key]) -> set[int]:
    """Indices of the longest subsequence that never descends (patience sorting)."""
    tops: list[Key] = []
    chains: list[Any] = []  # of each pile's top: its index, and the chain that it continues
    for index, key in enumerate(keys):
        pile = bisect_right(tops, key)
        chain = index, chains[pile - 1] if pile else None
        tops[pile : pile + 1], chains[pile : pile + 1] = [key], [chain]
    found, chain = set[int](), chains[-1]
    while chain:
        found.add(chain[0])
        chain = chain[1]
    return found


# All laws.


class ReadingCheck:
    """The check after reading a file or folder of law.

    Attributes:
        laws: The first laws, up to `SHOWN_LAWS`, in the order of reading.
        worst: The laws with the most warnings, up to ten, the worst first.
        n_laws: How many were read; a law that goes on in another place counts again.
        n_articles: How many articles.
        missing: How many numbers the gaps of all laws are.
        n_warnings: Of all laws.
    """

    def __init__(self) -> None:
        self.laws: list[LawCheck] = []
        self.worst: list[LawCheck] = []
        self.n_laws = self.n_articles = self.missing = self.n_warnings = 0
        self._open: dict[tuple[str, str | None], _LawReading] = {}
        self._file = ""

    def watch(
        self, placed: Iterable[tuple[Place, Article]], problems: list[Problem], strict: bool = False
    ) -> Iterator[tuple[Place, Article]]:
        """The same articles; after the last one the warnings go to `problems`.

        Raises:
            CorpusError: There are warnings, and the check is strict.
        """
        for place, article in placed:
            law = article.law, article.law_id
            if law not in self._open:
                if place.file != self._file:
                    self._close()  # the laws of a file are read to its end, whatever their order
                self._open[law] = _LawReading(article.law, place)
            self._file = place.file
            self._open[law].add(article, place)
            yield place, article
        self._close()
        if strict and self.worst:
            raise CorpusError(self.warnings)
        problems.extend(self.warnings)

    def _close(self) -> None:
        readings = self._open.values()
        # A file may hold several laws.
        sizes = [_size_of_file(file) for file in set[str]().union(*(r.files for r in readings))]
        size = sum(each or 0 for each in sizes)
        words = sum(each.size for each in readings)
        share = min(1.0, words / size) if size and None not in sizes else None
        for law in [each.close(share, size) for each in readings]:
            self.n_laws += 1
            self.n_articles += law.articles
            self.missing += law.missing
            self.n_warnings += len(law.warnings)
            self.laws = [*self.laws, law][:SHOWN_LAWS]
            worst = [each for each in (*self.worst, law) if each.warnings]
            self.worst = heapq.nlargest(_WORST, worst, key=lambda each: len(each.warnings))
        self._open.clear()

    @property
    def warnings(self) -> list[Problem]:
        """What looks wrong in the worst laws."""
        return [each for law in self.worst for each in law.warnings]

    @property
    def record(self) -> str:
        """The report with the warnings, in lines, as a store keeps it."""
        return "\n".join([str(self), *(each.message for each in self.warnings)])

    def __str__(self) -> str:
        """The report: a line a law, or of many laws the totals and the worst."""
        total = f"Read {articles_of_laws(self.n_articles, self.n_laws)}; "
        total += f"{counted(self.missing, 'missing number')}; {counted(self.n_warnings, 'warning')}"
        laws = self.laws if self.n_laws <= SHOWN_LAWS else self.worst
        return "\n  ".join([total, *map(str, laws)])
