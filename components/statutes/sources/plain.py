"""Law as running text: a file of plain text or Markdown, or what a converter made of one.

The text is one string. A form feed begins a page, "# " marks a heading of the source, a line
wholly in `**bold**` is bold. `numbering.py` finds the lines that begin articles; this module puts
the lines between them together, and finds the divisions above each article: lines that name a
division by its kind and number, headings of the source, and capitals, "(Definitions)" or a short
line that stands alone directly above an article.

Kept apart, and counted: contents, headers and footers, page numbers, footnotes, the history of a
section in brackets, notes behind a section. A section that consists of its history alone is
repealed or renumbered: it is named, but is not an article. A note that quotes a law ("Section 3
provides:") stays in the text, and one before a second wording begins that wording.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from components.statutes.article import Article, counted, is_repeal_note, listed
from components.statutes.languages import SAMPLE_CHARS, detected_language, words_of
from components.statutes.sources import reading, units
from components.statutes.sources.files import text_of
from components.statutes.sources.layout import Line, Paragraph, Wrapping, read_lines
from components.statutes.sources.numbering import (
    Candidate,
    candidate,
    catchline,
    find_articles,
    key_of,
)

# What begins a file that is not running text.
_NOT_TEXT = re.compile(rb'[\[{]\s*["{\[\]}]|<[?!\w]|%PDF|\{\\rtf|---')

_CAPITALS, _IN_BRACKETS, _ALONE, _LOWEST = 90, 91, 92, 50  # levels and rank below all tables
_LONGEST_HEADING = 250  # characters
_LONGEST_ALONE = 120
_LONGEST_AMENDMENT = 600
_MOST_BELOW_DIVISION = 2  # paragraphs of text between a division's line and its first article
_MOST_WORDS_OF_LABEL = 3  # "Erster Teil", "CHAPTER II"
_LONGEST_NAME = 400
_FEWEST_MARKED = 3  # headings
_LINES_OF_NAME = 12
_FEWEST_COVERED = 0.4  # of the words
_SHOWN = 12

_NOTE = re.compile(
    r"(?:(?i:editor[’']?s?|reviser[’']?s?|legislative|cross[- ]reference)\s+)?"
    r"(?:Notes?|NOTES?|Nota|Anmerkung|Hinweis|注)(?:\s\d+)?\s?[.:：]"
)
_HISTORY = re.compile(
    r"(?i)(?:formerly|renumbered|repealed|amended|added|enacted|acts?|laws|stats|derived|prior code"
    r"|c\.|l\.|p\.l\.|s\.l\.|(?:17|18|19|20)\d\d)\b"
)
_AMENDED = re.compile(
    rf"\((?i:amended|added|approved by|replaced|renumbered|enacted|(?:chapter|section) amended|"
    rf"{words_of('inserted')['*']})\b[^()]*\d[^()]*(?:\([^()]*\)[^()]*)*\)"
)
_ANNEX = re.compile(
    rf"(?i)(?P<label>(?:the\s)?(?:{words_of('annex')['*']})(?:\s(?:\d+|[A-Z]|[IVXLC]+))?[\d一-十]*)"
    r"(?![^\W\d_])[.:]?\s*(?:[–—-]\s*)?(?P<title>.*)"
)
_BRACKETED = re.compile(r"[(（][^()（）\[\]]{3,90}[^()（）.;,][)）]")
_NO_NAME = re.compile(r"[(\[]|[\w ]{1,30}:")  # "Year Edition: 2025"
_NUMBERED = re.compile(r"\d|\b[IVXLC]+(?:er|re|ère)?\b")
_ITEM_NUMBER = re.compile(r"(?P<number>\d{1,3}|[a-zA-Z])(?P<sign>[.)]) ")
# Headings that are counted without a word for their kind, from the top.
_COUNTED = tuple(
    map(re.compile, (r"[A-Z]\. ", r"[IVX]+(?:bis|ter)?\. ", r"\d+[a-z]?\. ", r"[a-z]{1,2}[.)] "))
)


def _matches(head: bytes) -> bool:
    """Text that begins neither as JSON nor as markup, in UTF-8, or in UTF-16 with its mark."""
    begins = head.lstrip(b"\xef\xbb\xbf \t\r\n\f")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    return b"\0" not in head and not _NOT_TEXT.match(begins)


def _units(path: Path, tally: reading.Tally) -> reading.LawAndUnits:
    return _Text(text_of(path, tally), str(path), tally).law_and_units()


def _paragraphs(path: Path, tally: reading.Tally) -> reading.LawAndUnits:
    return _Text(text_of(path, tally), str(path), tally).paragraphs()


FORMAT = reading.PublishedFormat("text", _matches, _units)
PARAGRAPHS = reading.PublishedFormat("paragraphs", _matches, _paragraphs)
"""Any text by its paragraphs, numbered from 1 as they come, without headings."""


def read_text(
    text: str,
    file: str,
    *,
    law: str | None = None,
    language: str | None = None,
    source_url: str | None = None,
    as_paragraphs: bool = False,
    problems: list[reading.Problem],
) -> Iterator[tuple[reading.Place, Article]]:
    r"""Yield the articles of a running text, with the lines at which they start.

    Args:
        text: With "\f" before each further page, and "# " before headings.
        file: What messages and ids call it.
        law: Its name; None to take it from the text's first lines.
        language: BCP 47 tag; None to judge by the text.
        source_url: Its official text.
        as_paragraphs: Read a text without articles by paragraphs, numbered from 1 as they come.
        problems: Gets the faults, what was read, and what was left out.
    """

    def units_of(_: Path, tally: reading.Tally) -> reading.LawAndUnits:
        given = _Text(text, file, tally, law, language, source_url)
        return given.paragraphs() if as_paragraphs else given.law_and_units()

    yield from reading.PublishedFormat("text", _matches, units_of).read(Path(file), problems)


class _Text:
    """One law as running text."""

    def __init__(
        self,
        text: str,
        file: str,
        tally: reading.Tally,
        law: str | None = None,
        language: str | None = None,
        source_url: str | None = None,
    ) -> None:
        self._file, self._tally = file, tally
        self._lines = read_lines(text, tally)
        self._total = sum(len(line.text.split()) for line in self._lines)
        if not self._lines:
            message = "holds no text; looked for the articles of a law"
            raise reading.refused(file, message, "Run a scan through an OCR tool first.")
        self._wrapping = Wrapping(self._lines, tally)
        self._law_given, self._source_url = law, source_url
        middle = len(text) // 2  # the beginning may be a table of contents
        sample = text[middle if middle > SAMPLE_CHARS else 0 :][:SAMPLE_CHARS]
        self._tag = language or detected_language(sample)
        self._language = (self._tag or "").replace("_", "-").split("-")[0].lower() or None
        # What a person needs to judge the reading.
        self._numbers: list[str] = []
        self._divisions: set[tuple[str, ...]] = set()
        self._gone: list[str] = []
        self._words = self._words_apart = 0
        self._is_flat = False  # all headings that the source marks have one level
        self._is_marked = False  # so that plain lines are none

    def _law(self, name: str | None) -> reading.Law:
        stem = re.sub(r"(?i)(?:\.(?:txt|text|md|markdown|gz|pdf|docx|html?))+$", "", self._file)
        stem = re.split(r"[\\/]", stem)[-1].strip("<> ") or "text"
        name = self._law_given or name or re.sub(r"[\s_-]+", " ", stem).strip()
        return reading.Law(stem, name, self._tag, self._source_url)

    # Without articles.

    def paragraphs(self) -> reading.LawAndUnits:
        """The paragraphs, each under its count."""
        found = self._wrapping.paragraphs(self._lines)
        self._tally.add("numbered as they come, not by the text", "paragraph", len(found))
        pairs = [
            (reading.Unit(str(number), str(number), each.line.number), each.text)
            for number, each in enumerate(found, start=1)
        ]
        return self._law(self._name(found[:_LINES_OF_NAME])), pairs

    # With articles.

    def law_and_units(self) -> reading.LawAndUnits:
        """The law and its articles.

        Raises:
            CorpusError: No numbers run through the text.
        """
        lines, width = self._lines, self._wrapping.width
        numbering = find_articles(lines, width, self._language, self._is_below_division)
        if not numbering.articles and self._language:
            self._language = None  # its words may be of another language than its sentences
            numbering = find_articles(lines, width, None, self._is_below_division)
        self._contents = numbering.contents
        if not numbering.articles:
            raise self._refusal(numbering.tried)
        starts = self._with_provisions(numbering.articles)
        self._style = numbering.articles[0].style
        for index in self._contents:
            self._leave_out("line of contents", self._lines[index].text)
        front = self._kept(0, starts[0].index)
        opening = self._wrapping.paragraphs(front)
        name = self._name(opening[:_LINES_OF_NAME])
        taken = {each.index for each in starts}
        marked = [
            line
            for index, line in enumerate(lines)
            if (line.level or line.is_bold) and index not in taken and line.text != name
        ]
        levels = [line.level for line in marked if line.level]
        self._is_flat = len(set(levels)) == 1
        is_title = any(line.level == 1 and line.text == name for line in front)
        is_law = is_title and 1 not in levels
        opening = [
            each
            for each in opening
            if each.text != name or not (is_law or not self._is_one_of_several(name))
        ]
        ends = [*(each.index for each in starts[1:]), len(lines)]
        regions = list(map(self._region, starts, ends))
        units_found = list(self._articles(starts, regions, opening, len(marked)))
        if not self._numbers:
            raise self._refusal({self._style: (len(starts), len(starts))})
        self._report()
        share = self._words / max(self._total - self._words_apart, 1)
        if share < (_FEWEST_COVERED if len(self._numbers) > 1 else 2 * _FEWEST_COVERED):
            message = (
                f"is not read as law: the longest run of numbers, {self._numbers[0]} to "
                f"{self._numbers[-1]}, covers {share:.0%} of its words"
            )
            raise reading.refused(self._file, message, _REPAIR, left_out=0)
        return self._law(name), units_found

    def _refusal(self, tried: dict[str, tuple[int, int]]) -> reading.CorpusError:
        looked = "lines that begin with Article, Section, § or 第 and a number, or with a number"
        style, (lines, ran) = max(tried.items(), key=lambda item: item[1][0], default=("", (0, 0)))
        found = (candidate(n, line.text, self._language) for n, line in enumerate(self._lines))
        first = next((each.index for each in found if each and each.style == style), None)
        seen = "none"
        if first is not None:
            line = self._lines[first]
            seen = f"{counted(lines, 'line')} such as {line.text[:40]!r} ({line.place})"
            seen += f", of which only {ran} run on" if ran < lines else ", not as headings"
        message = f"holds no articles that could be found: looked for {looked}; found {seen}"
        return reading.refused(self._file, message, _REPAIR)

    def _is_below_division(self, index: int) -> bool:
        """Whether one of the lines directly above names a division or an annex."""
        for above in reversed(self._lines[max(index - 4, 0) : index]):
            if self._division(above.text) or self._annex(above.text):
                return True
            if above.level:
                return candidate(0, above.text, self._language) is None
            if len(above.text) > _LONGEST_ALONE or above.text.endswith((".", ";", ",")):
                return False
        return False

    def _with_provisions(self, articles: list[Candidate]) -> list[Candidate]:
        """The articles, and the numbered provisions that close the law."""
        taken = {each.index for each in articles}
        for index in range(articles[0].index, len(self._lines)):
            line = self._lines[index]
            if line.text[:1] not in "Dd" or index in taken or index in self._contents:
                continue
            found = units.NUMBERED_PROVISION.match(line.text)
            if found and line.text[0].isupper() and (line.is_apart or line.level or line.is_bold):
                made = Candidate(index, "provision", found["number"], found["title"], ((1, 0),))
                articles.append(made)
        return sorted(articles, key=lambda each: each.index)

    def _kept(self, start: int, end: int) -> list[Line]:
        """The lines that are not contents, nor headings between the entries of contents."""
        entries = [index for index in self._contents if index < end]
        left_out = self._contents
        if start == 0 and entries:
            left_out = self._contents | {*range(min(entries), max(entries))}
        return [self._lines[index] for index in range(start, end) if index not in left_out]

    def _region(self, start: Candidate, end: int) -> list[Paragraph]:
        """The paragraphs of an article, the rest of its own line first."""
        lines = self._kept(start.index, end)
        own = self._lines[start.index]._replace(text=start.rest)
        return self._wrapping.paragraphs([own, *lines[1:]])

    def _leave_out(self, thing: str, text: str) -> None:
        self._tally.add("left out", thing)
        self._words_apart += len(text.split())

    # Divisions.

    def _division(self, text: str) -> units.Division | None:
        """The division that a line names with its kind and number."""
        if len(text) > _LONGEST_HEADING or text[-1:] in ",;" or text[:1].islower():
            return None
        if "|" in text:  # a row of a table
            return None
        found = units.numbered_division(text, self._tag)
        if found is None or found.rank is None:
            return None
        if found.title[:1].islower() and not found.label.isupper():
            return None
        number = found.label.partition(" ")[2]
        is_counted = _NUMBERED.search(found.label) or number.lower() in units.ORDINALS
        # "Erster Teil" has its number first; "Part of the premises" has none.
        is_titled = text[len(found.label) :].lstrip()[:1] in tuple(".:–—-")
        is_first = self._language in ("de", "nl", "sv", "da")
        is_whole = found.rank == 0 and text == found.label  # "Partie législative"
        if number and not (is_counted or is_titled or is_first or is_whole):
            return None
        title = found.title.lstrip("-–—:. ")
        return units.Division(found.label, title, found.rank)

    def _annex(self, text: str) -> re.Match[str] | None:
        found = _ANNEX.fullmatch(text) if len(text) <= _LONGEST_HEADING else None
        if found is None or found["title"][:1].islower() or text[-1] in ".,;":
            return None
        return found if text[0].isupper() or not text[0].isascii() else None

    def _heading(self, paragraph: Paragraph, *, is_last: bool = True) -> units.Division | None:
        """The division whose heading a paragraph is.

        Args:
            paragraph: The paragraph.
            is_last: Whether nothing but headings stands between it and the next article.
        """
        line, text = paragraph
        if "|" in text or not re.search(r"[^\W_]", text):  # a row of a table, a line of signs
            return None
        found, level = self._division(text), None if self._is_flat else line.level or None
        if found is not None:
            return units.Division(found.label, found.title, found.rank, level and 10 * level)
        kinds = (kind for kind, form in enumerate(_COUNTED, 1) if form.match(text))
        # "C." and "D." are letters, where "I.", "V." and "X." are numerals.
        kind = 2 if text[:2] in ("I.", "V.", "X.") else next(kinds, 0)
        if line.level:
            return units.Division(text, level=10 * level + kind if level else _ALONE + kind)
        if not is_last or len(text) > _LONGEST_HEADING:
            return None
        if annex := self._annex(text):
            return units.Division(annex["label"], annex["title"], rank=-1)
        if is_repeal_note(text) or (self._is_marked and not line.is_bold):
            return None
        other = candidate(0, text, self._language)
        if other is not None and other.style not in (self._style, "0", "0.") and other.weight >= 0:
            is_short = text[-1] not in ".;]" or len(text) <= _LONGEST_ALONE // 2
            if is_short and text[-1] not in ";]" and _NUMBERED.search(other.number):
                return units.Division("" if other.rest else text, other.rest and text, _LOWEST)
        if _BRACKETED.fullmatch(text):
            return None if _is_amendment(text) else units.Division(text, level=_IN_BRACKETS)
        if text.isupper() and len(re.findall(r"[^\W\d_]", text)) > 3 and text[-1] not in ".,;:":
            return units.Division(text, level=_CAPITALS)
        # Chinese, Japanese and Korean name each division by its kind.
        is_alone = line.is_apart and self._language not in ("zh", "ja", "ko")
        is_alone = is_alone and len(text) <= _LONGEST_ALONE
        is_alone = is_alone and text[-1] not in '.,;:!?]»”"。；：'
        is_begun = text[0].isalnum() and (not text[0].islower() or kind == len(_COUNTED))
        if (is_alone or line.is_bold) and is_begun:
            return units.Division(text, level=_ALONE + kind)
        return None

    def _split(
        self, start: Candidate, region: list[Paragraph]
    ) -> tuple[list[Paragraph], list[Paragraph]]:
        """An article's own paragraphs, and those that belong above the next article."""
        # What stands on its line is the article's, and what follows, unless it names a division.
        is_own = bool(region) and (bool(start.rest) or self._division(region[0].text) is None)
        first = int(is_own)
        cut = len(region)
        while cut > first and (
            self._is_title(region, cut - 1)
            or (self._heading(region[cut - 1]) is not None and not self._is_within(region, cut - 1))
        ):
            cut -= 1
        # A division with a few words of its own before its first article.
        for index in range(first, cut):
            found = self._heading(region[index], is_last=False)
            if found is not None and self._is_set_off(region, index, cut):
                return region[:index], region[index:]
        return region[:cut], region[cut:]

    def _is_within(self, region: list[Paragraph], index: int) -> bool:
        """Whether a short line belongs to the text above, which leads to it."""
        heading = self._heading(region[index])
        if heading is None or (heading.level or 0) < _ALONE or not index:
            return False
        if self._is_next_item(region, index):
            return True
        if self._heading(region[index - 1]) is not None:
            return False
        return not region[index - 1].text.endswith((".", ")", "]", "”", '"', "。", ";", "…"))

    @staticmethod
    def _is_next_item(region: list[Paragraph], index: int) -> bool:
        """Whether a line goes on with a list of the text above."""
        own, above = (
            [found for each in part if (found := _ITEM_NUMBER.match(each.text))]
            for part in (region[index : index + 1], region[:index])
        )
        if not own or not above or own[0]["sign"] != above[-1]["sign"]:
            return False
        before, after = key_of(above[-1]["number"]), key_of(own[0]["number"])
        return bool(before and after) and after[0][1] - before[0][1] == 1

    def _is_set_off(self, region: list[Paragraph], index: int, cut: int) -> bool:
        line = region[index].line
        if line.level:
            return True
        between = [each for each in region[index + 1 : cut] if self._heading(each) is None]
        is_apart = line.is_apart or (index > 0 and region[index - 1].line.ends_sentence)
        return is_apart and len(between) <= _MOST_BELOW_DIVISION and cut < len(region)

    # Articles.

    def _articles(
        self,
        starts: list[Candidate],
        regions: list[list[Paragraph]],
        opening: list[Paragraph],
        n_marked: int,
    ) -> Iterator[tuple[reading.Unit, str]]:
        for is_sure in (False, True):
            parts = list(map(self._split, starts, regions))
            above = [opening, *(part[1] for part in parts[:-1])]
            headed = sum(self._is_rubric(each) for each in above)
            has_rubrics = len(starts) > 3 and headed >= 0.6 * len(starts)
            if is_sure or has_rubrics or n_marked < _FEWEST_MARKED:
                break
            self._is_marked = True
        own = [part[0] for part in parts]
        own[-1] += parts[-1][1]
        has_catchlines = self._have_catchlines(starts, own)
        path = units.DivisionPath(
            units.own_order(
                found
                for each in above
                for paragraph in each
                if (found := self._heading(paragraph)) is not None and found.rank is not None
            )
        )
        introduction = ""
        for place, (start, before, paragraphs) in enumerate(zip(starts, above, own, strict=True)):
            title = ""
            if has_rubrics and self._is_rubric(before):
                title, before = before[-1].text, before[:-1]
            self._enter(path, before)
            line = self._lines[start.index]
            paragraphs, annexes = self._without_annexes(paragraphs, place == len(starts) - 1)
            following = starts[place + 1] if place + 1 < len(starts) else None
            is_worded_again = following is not None and following.is_repeat
            texts, note = self._without_notes(paragraphs, keep_last=is_worded_again)
            if texts and start.rest and has_catchlines and (cut := catchline(texts[0])):
                texts[0:1] = cut
            if introduction:
                texts.insert(0, introduction)
            introduction = note
            if not texts and not title:
                self._gone.append(start.number)
                continue
            headings = path.headings()
            self._numbers.append(start.number)
            self._divisions.update(headings[: n + 1] for n in range(len(headings)))
            text = "\n".join(texts)
            self._words += len(text.split()) + len(title.split()) + 2
            unit = reading.Unit(start.number, start.number, line.number, title, headings)
            yield unit, text
            yield from self._annexes(annexes)

    def _is_rubric(self, before: list[Paragraph]) -> bool:
        if not before:
            return False
        heading = self._heading(before[-1])
        return heading is not None and heading.level in (_IN_BRACKETS, _ALONE)

    def _have_catchlines(self, starts: list[Candidate], own: list[list[Paragraph]]) -> bool:
        """Whether most articles with words on their line begin with a title there."""
        first = [
            paragraphs[0].text
            for start, paragraphs in zip(starts, own, strict=True)
            if len(start.rest) > _LONGEST_ALONE // 2 and paragraphs and start.rest[0] not in "[("
        ]
        return len(first) > 1 and sum(map(bool, map(catchline, first))) >= 0.6 * len(first)

    def _enter(self, path: units.DivisionPath, before: list[Paragraph]) -> None:
        """Go into the divisions whose headings stand above an article."""
        for index, paragraph in enumerate(before):
            heading = self._heading(paragraph)
            if self._is_title(before, index):
                path.name(paragraph.text)
            elif heading is None:
                self._tally.add("left out", "paragraph outside the articles")
            else:
                path.enter(heading)

    def _is_title(self, paragraphs: list[Paragraph], index: int) -> bool:
        """Whether a paragraph is the title of the division whose number stands above it alone."""
        if not index or self._division(text := paragraphs[index].text) is not None:
            return False
        above = self._heading(paragraphs[index - 1])
        if above is None or above.rank is None or above.title:
            return False
        if len(above.label.split()) > _MOST_WORDS_OF_LABEL or _BRACKETED.fullmatch(text):
            return False
        return (
            len(text) <= _LONGEST_HEADING and text[-1] not in ".,;:。；：" and not text[0].islower()
        )

    def _without_annexes(
        self, paragraphs: list[Paragraph], is_last: bool
    ) -> tuple[list[Paragraph], list[Paragraph]]:
        """The last article's paragraphs, and what the law has behind its articles."""
        for index, each in enumerate(paragraphs):
            is_apart = index > 0 and (each.line.is_apart or each.line.level > 0)
            if is_last and is_apart and self._annex(each.text):
                return paragraphs[:index], paragraphs[index:]
        return paragraphs, []

    def _annexes(self, paragraphs: list[Paragraph]) -> Iterator[tuple[reading.Unit, str]]:
        """Each annex as one article, by its name."""
        found: list[tuple[reading.Unit, list[str]]] = []
        for each in paragraphs:
            named = self._annex(each.text) if each.line.is_apart or each.line.level else None
            if named is not None:
                label = named["label"].strip()
                label = label.capitalize() if label.isupper() and label.isascii() else label
                found.append((reading.Unit(label, label, each.line.number, named["title"]), []))
            else:
                found[-1][1].append(each.text)
            self._words += len(each.text.split())
        for unit, texts in found:
            yield unit, "\n".join(texts)

    def _without_notes(
        self, paragraphs: list[Paragraph], *, keep_last: bool
    ) -> tuple[list[str], str]:
        """The words of an article, and the note before a second wording.

        Its history and the notes behind it are left out, and counted.
        """
        texts = [each.text for each in paragraphs]
        kept: list[str] = []
        ended = False  # the history has been passed: what follows are notes
        note = ""
        tail = len(texts)
        while tail and _NOTE.match(texts[tail - 1]):
            tail -= 1
        for index, text in enumerate(texts):
            if _is_amendment(text):
                self._leave_out("history of a section", text)
                continue
            if _NOTE.match(text) and (ended or index >= tail):
                if keep_last and index == len(texts) - 1:
                    note = text
                elif text.endswith(":"):
                    self._tally.add("kept as text", "note that quotes a law")
                    kept.append(text)
                else:
                    self._leave_out("note behind a section", text)
                continue
            bare, has_history = _without_history(text)
            if has_history:
                self._leave_out("history of a section", text[len(bare) :])
                ended = True
            if bare:
                kept.append(bare)
        return kept, note

    # The report.

    def _name(self, opening: Sequence[Paragraph]) -> str | None:
        """The law's name: its first heading, or the first line that is neither note nor field."""
        for line, text in opening:
            if line.level == 1 and len(text) <= _LONGEST_NAME:
                return text
        for _, text in opening:
            if text[-1] not in ".;," and len(text) <= _LONGEST_NAME and not _NO_NAME.match(text):
                return text
        return None

    def _is_one_of_several(self, name: str) -> bool:
        """Whether the text's name is that of a division, which is followed by others."""
        own = self._division(name)
        kind = own.label.split()[0] if own else None
        others = (line.text for line in self._lines if kind and line.text.startswith(kind))
        return any(each != name and self._division(each) for each in others)

    def _report(self) -> None:
        """Say what the check after reading cannot see."""
        parts = [counted(len(self._divisions), "division")] if self._divisions else []
        if self._gone:
            parts.append(f"repealed or renumbered, and left out: {listed(self._gone, _SHOWN)}")
            self._tally.add("left out", "repealed or renumbered article", len(self._gone))
        if parts:
            repair = "Compare it with the text, and convert it to correct it by hand."
            self._tally.remarks.append(reading.notice(self._file, "; ".join(parts), repair))


_REPAIR = (
    "If it is law, put '## ' before the heading of each article; --as-paragraphs reads any text by "
    "its paragraphs."
)


def _is_amendment(text: str) -> bool:
    """Whether a paragraph is the history of a section in brackets, and nothing else."""
    return len(text) <= _LONGEST_AMENDMENT and _AMENDED.fullmatch(text) is not None


def _without_history(text: str) -> tuple[str, bool]:
    """A paragraph without the history in brackets that ends it.

    >>> _without_history("Rent is due. [Formerly 91.705; 1991 c.844 §3]")
    ('Rent is due.', True)
    """
    if not text.endswith(("]", "].")):
        return text, False
    depth, end = 0, text.rindex("]")
    for place in range(end, -1, -1):
        depth += (text[place] == "]") - (text[place] == "[")
        if depth == 0:
            if _HISTORY.match(text, place + 1):
                return text[:place].rstrip(), True
            break
    return text, False
