"""Law as Markdown in the legalize format (spec 0.4): one file a law, YAML front matter.

The format has articles as headings of the fifth or sixth level, as a rule, and divisions as
headings above them, whose levels are not their depth: the path of an article is rebuilt from the
words of the divisions (`units.py`). Where no heading names an article, lines do: bold ones
("**Artículo 1.- Objeto**") or plain ones ("1 straipsnis. Laivas"). A heading that is a piece of a
sentence ("artículo 12 de esta ley") stays text, and so does one that breaks the numbers of a law
whose articles are bold lines. Numbers are read by `units.py`.

Left out, and counted: footnotes, and passages that stand in no article (preambles, annexes). Text
under a heading of final or transitional provisions is an article. Rows of tables become lines of
text; articles quoted in an amendment stay text. The front matter's dates are of publication, not of
entry into force: no article gets a date of them.
An article without words has its title, or else its heading, for its text. A law whose status says
that it is repealed is read, and counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import yaml

from components.statutes.article import is_repeal_note
from components.statutes.languages import SAMPLE_CHARS, detected_language, words_of
from components.statutes.sources import reading, units

_READ_SPECS = re.compile(r"0(?:\.(?:4|[0-3](?:\.\d+)*))?")
MANIFEST = ".legalize.yml"
_MANIFEST_DEPTH = 4  # folders above a law in which the repository's manifest is looked for

_FRONT_MATTER = re.compile(r"\ufeff?---\r?\n(?P<fields>.*?)\n---[ \t]*(?:\n|$)", re.DOTALL)
# Korea's files have Korean keys.
_KEYS = {"제목": "title", "법령ID": "identifier", "출처": "source", "상태": "status"}
_MATCHING = (b"\nidentifier:", "\n법령ID:".encode())

# Fields with other names of a law.
_NAMES = ("short_title", "short_name", "abbreviation", "acronym", "popular_name", "common_name")
_ABBREVIATION = re.compile(r"[^\W\d_]{2,12}")  # an identifier such as "AGG"
# Identifiers that are cited: "LEY-20744" is "Ley 20744" and "Ley 20.744".
_NUMBERED_ACT = re.compile(
    r"(?P<kind>LEY|DECRETO|LEI|LEGGE|LOI)-(?P<number>\d[\d.]*)", re.IGNORECASE
)

_REPEALED = ("repealed", "annulled", "expired")

_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_QUOTED = re.compile(r"[*_]*[«“„\"‘']")
_NOTES = re.compile(r"(?i)(?:fu(?:ss|ß)noten|notes?|footnotes|notas):?")
# Words of headings under which a law ends or begins, with or without articles below them.
_PROVISIONS = re.compile(rf"(?i)\b(?:{words_of('provisions')['*']})\b")
_PLAIN_PROVISIONS = re.compile(
    r"DISPOSICI(?:[ÓO]N|ONES) (?:TRANSITORIA|FINAL|ADICIONAL|DEROGATORIA)(?:E?S)?"
)
_MOST_WORDS_OF_PROVISIONS = 10
_ABOVE_ALL = -1  # rank of provisions that close a law, whatever its divisions are
_FOOTNOTE = re.compile(r"\[\^[^\[\]]+\]:")
# Bounded, or ending where the next one begins: a line of openings alone must not be read from
# each of them to its end.
_SUPERSCRIPT = re.compile(r"<sup>([^<]{0,100})</sup>")
_FOOTNOTE_MARK = re.compile(r"\[\^[^\[\]]{1,100}\]")
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()]*(?:\([^()]*\)[^()]*)?\)")
_BOLD = re.compile(r"\*{2,}(?P<words>[^*]+)\*{2,}")
_GLUED_ARTICLE = re.compile(r"(?<=\)\*)(?=\*\*[^\W\d_a-z])")
_UNIT_ALONE = re.compile(r"A(?i:rt)\w{0,6}\.?")
# A line that ends with an article or preposition breaks off within its sentence.
_KOREAN_TITLE = re.compile(r"^\(([^(]*)\)$")
_DANGLING = re.compile(r"(?:^|\s)[a-zà-ÿ]{1,3}$")
_ARTICLE_WORD = re.compile(r"(?i)art|§")
_TITLE_OF_PROVISIONS = re.compile(r"[.:]\s+(?=\S)")
_INDENTED = " " * 8  # a line that goes on with the one before

_LONGEST_DIVISION_LINE = 250  # characters
_LONGEST_JOINED = 2_000  # characters

_CLOSING = {"«": "»", "“": "”", "„": "“”", "‘": "’", '"': '"', "'": "'"}
_LONGEST_QUOTATION = 300  # lines
_OF_PARTS = frozenset({"législative", "réglementaire"})


def _matches(head: bytes) -> bool:
    """Markdown whose front matter has an identifier."""
    return head.lstrip(reading.BOM).startswith(b"---") and any(
        key in head.replace(b"\r\n", b"\n") for key in _MATCHING
    )


def _units(path: Path, tally: reading.Tally) -> reading.LawAndUnits:
    _check_repository(path.parent)
    content = reading.read_whole(path)
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise reading.CorpusError(
            [reading.not_utf8(reading.Place(str(path), line), content[error.start])]
        ) from error
    if found := _CONTROLS.findall(text):
        tally.add("repaired", "control character", len(found))
        text = _CONTROLS.sub(_printed_sign, text)
    for number, line_of_law in enumerate(text.split("\n"), start=1):
        if len(line_of_law) > reading.LONGEST_LINE:
            place = reading.Place(str(path), number)
            repair = "Break the line between paragraphs."
            raise reading.CorpusError([reading.too_long(place, "line", repair)])
    front = _FRONT_MATTER.match(text)
    if front is None:
        message = "does not begin with a front matter between two lines of ---"
        raise reading.refused(path, message, "Download it again, or give its --format.", line=1)
    body = text[front.end() :]
    law, is_repealed = _law(str(path), front["fields"], body)
    tally.add("no longer in force, on a day that is not given", "law", is_repealed)
    lines = list(_whole_lines(body, text.count("\n", 0, front.end()) + 1))
    articles = _Reading(law.language, tally, [line for _, line in lines]).articles(lines)
    return law, _numbered_by_chapter(articles) if law.language in ("fi", "sv") else articles


FORMAT = reading.PublishedFormat("legalize", _matches, _units)

_CHAPTER = re.compile(r"\d+\s?[a-z]? (?:kap\.|luku\b)", re.IGNORECASE)


_Heading = units.NumberedHeading
_Articles = list[tuple[reading.Unit, str]]


def _numbered_by_chapter(articles: _Articles) -> Iterator[tuple[reading.Unit, str]]:
    """The articles, those whose numbers start again in each chapter as "2 kap. 1 §"."""
    start_again = len({unit.number for unit, _ in articles}) < len(articles)
    for unit, words in articles:
        chapters = (_CHAPTER.match(heading) for heading in reversed(unit.headings))
        chapter = next(filter(None, chapters), None) if start_again else None
        number = f"{chapter[0]} {unit.number}" if chapter else unit.number
        yield unit._replace(key=number, number=number), words


# Of Windows-1252, whose signs lie at them; no text has others, and YAML refuses them.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def _printed_sign(control: re.Match[str]) -> str:
    return control[0].encode("latin-1").decode("cp1252", "ignore") if control[0] > "\x7f" else ""


# The front matter.


def _law(file: str, front: str, body: str) -> tuple[reading.Law, bool]:
    """The law of a front matter, and whether it is repealed.

    Raises:
        CorpusError: It cannot be read, or lacks a field.
    """
    fields = _fields(file, front)
    for name in ("title", "identifier"):
        if not fields.get(name):
            repair = "Write it in the front matter."
            raise reading.refused(file, "is missing", repair, line=1, field=name)
    title, identifier = fields["title"], fields["identifier"]
    country = fields.get("country", "").lower() or ("kr" if "법령MST" in fields else "")
    own = (tag for tag, names in words_of("countries").items() if country in names.split())
    language = fields.get("language") or next(own, None) or detected_language(body[:SAMPLE_CHARS])
    source = fields.get("source", "")
    url = source if source.startswith(("http://", "https://")) else None
    key = identifier if identifier.lower().startswith(country) else f"{country}/{identifier}"
    names = [fields.get(name, "") for name in _NAMES]
    if country == "eu":
        names += [*reading.eu_names(title), identifier]
    elif _ABBREVIATION.fullmatch(identifier):
        names.append(identifier)
    elif act := _NUMBERED_ACT.fullmatch(identifier):
        kind, number = act["kind"].capitalize(), act["number"].replace(".", "")
        names += [f"{kind} {number}", f"{kind} {int(number):,}".replace(",", ".")]
    law = reading.Law(key.strip("/"), title, language, url, tuple(names))
    return law, fields.get("status") in _REPEALED


_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_NULLS = ("null", "Null", "NULL", "~")


def _fields(file: str, text: str) -> dict[str, str]:
    """The fields whose values are scalars, as they are written: "no" and "007" stay text.

    Raises:
        CorpusError: It is not YAML, or of a newer spec.
    """
    try:
        # It makes texts, lists and dicts only.
        loaded = yaml.load(text, Loader=_LOADER)  # noqa: S506
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 2 if mark else 1
        reason = " ".join(str(getattr(error, "problem", None) or error).split())
        message = f"is not YAML that is read ({reason})"
        raise reading.refused(file, message, "Correct it.", line=line) from error
    fields = {
        str(_KEYS.get(name, name)): "" if value in _NULLS else " ".join(value.split())
        for name, value in (loaded.items() if isinstance(loaded, dict) else ())
        if isinstance(value, str)
    }
    version = fields.get("spec_version")
    if version is not None and not _READ_SPECS.fullmatch(version):
        message = f"{version!r} is not a version that is read; the newest is 0.4"
        repair = "Update Lexarbor, or take an older commit of the law."
        raise reading.refused(file, message, repair, field="spec_version")
    return fields


@lru_cache(maxsize=1024)
def _check_repository(folder: Path) -> None:
    """Refuse the laws of a repository whose spec is newer than ours."""
    for above in list((folder / "law").absolute().parents)[:_MANIFEST_DEPTH]:
        if (manifest := above / MANIFEST).is_file():
            _fields(str(manifest), manifest.read_text("utf-8", "replace"))
            return


_FARTHEST_NEXT = 5  # numbers between two articles that are lines, where some are gone
_OF_LINE = 7  # level of an article that is a line, not a heading


class _Reading:
    """One law, from line to line."""

    def __init__(self, language: str | None, tally: reading.Tally, lines: Sequence[str]) -> None:
        self._tag = language
        self._language = (language or "").partition("-")[0]
        self._tally = tally
        self._units: _Articles = []
        self._open: reading.Unit | None = None  # the article whose lines are being read
        self._level = 0  # of its heading
        self._lines: list[str] = []
        self._in_notes = False
        self._fresh = False  # nothing has followed the innermost division yet
        self._by_bare_numbers = False  # nothing names an article by a unit: "**1. Title**" does
        # See which headings the law has, and in which order its divisions stand.
        found = filter(None, map(_HEADING.match, lines))
        printed = [(len(each[1]), _cleaned(each[2])) for each in found]
        # Small letters begin a piece of a sentence that looks like a heading.
        headings = [each for each in printed if each[0] > 1 and not each[1][:1].islower()]
        # Sections are the law's articles, not its divisions.
        self._by_sections = self._language == "en" and all(
            level < 5 and not _ARTICLE_WORD.match(text) for level, text in headings
        )
        articles = {
            (level, text) for level, text in headings if level >= 5 or self._is_article(text)
        }
        # No heading names an article: lines do; nor does one name a division.
        self._by_lines, self._plain = not articles, not headings
        if not articles and not any(self._line_of_article(each) for each in map(str.strip, lines)):
            self._by_bare_numbers = True
            articles = {each for each in headings if each[0] > 2 and self._is_article(each[1])}
            self._by_lines = not articles
        if self._plain:
            divisions = [self._plain_division(line.strip()) for line in lines if line.strip()]
        else:
            divisions = [
                units.division(text, self._tag, level)
                for level, text in headings
                if (level, text) not in articles
            ]
        self._path = units.DivisionPath(
            units.own_order(each for each in divisions if each is not None)
        )
        self._references = self._wrapped_references(lines)

    def _wrapped_references(self, lines: Sequence[str]) -> set[int]:
        """Indices of headings that are references in a law whose articles are bold lines.

        Such a heading breaks the numbers of the articles before and after it, which go on from
        one to the other.
        """
        candidates: list[tuple[int, int, bool]] = []  # index, number, whether it is a heading
        for index, line in enumerate(lines):
            heading = _HEADING.match(line)
            if heading is None:
                found = self._line_of_article(line.strip()) if line.startswith("**") else None
            else:
                found = units.numbered_heading(_cleaned(heading[2]), self._language)
            number = found and _first_integer(found.number)
            if number is not None and (heading is None or len(heading[1]) >= 5):
                candidates.append((index, number, heading is not None))
        n_headings = sum(is_heading for *_, is_heading in candidates)
        if 2 * n_headings >= len(candidates):
            return set()
        following: list[int] = []  # the number of the next bold line, from the end
        for _, number, is_heading in reversed([(0, 0, False), *candidates]):
            following.append(number if not is_heading or not following else following[-1])
        references: set[int] = set()
        above = 0  # the number of the last article
        for (index, number, is_heading), below in zip(candidates, following[-2::-1], strict=True):
            goes_on = above <= below <= above + _FARTHEST_NEXT
            if is_heading and goes_on and not above <= number <= below:
                references.add(index)
            else:
                above = number
        return references

    def articles(self, numbered: Sequence[tuple[int, str]]) -> _Articles:
        """The articles of the text behind the front matter, given by numbered lines."""
        lines = [line for _, line in numbered]
        index = 0
        titled = False  # the law's own title has been passed
        quoted_until = 0  # index of the line after the quotation
        while index < len(lines):
            (number, line), start = numbered[index], index
            index += 1
            if printed := _HEADING.match(line):
                text = printed[2]
                if start in self._references:
                    self._text(text, number)
                    continue
                # A heading goes on in the next line where no empty one sets it off.
                if len(printed[1]) < 5 and index < len(lines) and lines[index].strip():
                    following = lines[index]
                    is_text = len(following) >= 80 or following.rstrip().endswith((".", ";", ":"))
                    if not _HEADING.match(following) and not is_text:
                        text, index = f"{text} {following.strip()}", index + 1
                        self._tally.add("repaired", "heading")
                if len(printed[1]) == 1 and not titled:
                    titled = True
                    continue
                if index <= quoted_until:
                    self._quote(text)
                    continue
                if self._open is not None and _QUOTED.match(text):
                    quoted_until = _end_of_quotation(lines, start)
                self._heading(number, len(printed[1]), text)
            elif not line.strip():
                continue
            elif index <= quoted_until:
                self._text(line, number)
            elif (article := self._line_of_article(line.strip())) is not None:
                if self._is_quoted_next(article.number):
                    self._quote(line)
                else:
                    self._article(number, _OF_LINE, _cleaned(line), article)
            else:
                if self._by_lines and _QUOTED.match(line) and self._open is not None:
                    quoted_until = _end_of_quotation(lines, start)
                found = self._plain_division(line.strip())
                if found is None:
                    self._text(line, number)
                    continue
                self._close()
                self._enter(found)
        self._close()
        self._tally.add("repaired", "division", self._path.repaired)
        self._tally.add("unknown", "division", self._path.unknown)
        return self._units

    def _is_article(self, text: str) -> bool:
        """Whether a heading above the fifth level is an article's: "Art. 2.", "§ 5"."""
        found = units.numbered_heading(text, self._language)
        if found is None:
            return False
        if not (found.unit or found.number[0] in "第제" or self._by_bare_numbers):
            return False
        is_section = self._language == "en" and not _ARTICLE_WORD.match(found.unit + "§")
        return not is_section or self._by_sections

    def _line_of_article(self, line: str) -> _Heading | None:
        """The article that a line names: a bold one, or a plain one where no heading does."""
        is_bold, bold = line.startswith("**"), _BOLD.match(line)
        if self._in_notes or not (is_bold or self._by_lines):
            return None
        text = _cleaned(line.replace("**", ""))
        if provision := units.NUMBERED_PROVISION.match(text):
            return _Heading("", provision["number"], provision["title"], is_set_off=True)
        found = units.numbered_heading(text, self._language)
        if found is None or text[0].islower():
            return None
        is_repealed = is_repeal_note(found.title)
        if found.unit[-1:] in ("s", "S") and text.startswith(found.unit) and not is_repealed:
            return None  # "Artículos 12 a 20" of a table of contents
        if not (found.unit or found.number[0] in "第제" or (self._by_bare_numbers and is_bold)):
            return None
        if bold and (alone := units.numbered_heading(_cleaned(bold["words"]), self._language)):
            is_set_off = found.is_set_off or alone.number == found.number
        else:
            is_set_off = found.is_set_off and (is_bold or not found.title[:1].islower())
            is_set_off = is_set_off or self._is_titled_next(found, is_repealed=is_repealed)
        return found if is_set_off else None

    def _is_titled_next(self, found: _Heading, *, is_repealed: bool) -> bool:
        """Whether a line that nothing sets off is the next article and its title: "§ 2 Ruder"."""
        above, number = 0, _first_integer(found.number)
        if self._open is not None:
            open_ = units.numbered_heading(self._open.printed, self._language)
            if open_ is None or open_.number == found.number:
                return False  # the note of its repeal may name it again
            above = _first_integer(open_.number) or 0
        if is_repealed or not self._by_lines or number is None:
            return is_repealed
        is_sentence = found.title[:1].islower() or found.title.endswith((".", ",", ";", ":"))
        return not is_sentence and above <= number <= above + _FARTHEST_NEXT

    def _heading(self, line: int, level: int, printed: str) -> None:
        text, above = _cleaned(printed), self._open
        is_untitled = above is not None and not above.title and not self._lines
        may_be_title = is_untitled and level > self._level
        if _QUOTED.match(printed) and above is not None:
            self._quote(printed)
        elif _NOTES.fullmatch(text):
            self._close()
            self._in_notes = True
        elif self._is_piece_of_sentence(text):
            self._text(text, line)
        elif level >= 5 or (level >= 3 and self._is_article(text)):
            article = units.numbered_heading(text, self._language) or units.numbered_heading(text)
            if article is not None and self._is_reference(article):
                self._text(text, line)
            elif article is None and above is not None and may_be_title:
                self._open = above._replace(title=text)
            elif article is not None and self._is_quoted_next(article.number):
                self._quote(printed)
            else:
                self._article(line, level, text, article)
        else:
            found = units.division(text, self._tag, level)
            if found.rank is None and above is not None and may_be_title:
                self._open = above._replace(title=text)
                return
            self._close()
            self._in_notes = False
            if found.rank is not None or not self._titles(text):
                self._enter(found)

    def _is_piece_of_sentence(self, text: str) -> bool:
        """Whether a heading goes on with the open article: "artículo 12 de esta ley"."""
        if self._open is None:
            return False
        last = self._lines[-1] if self._lines else self._open.title
        is_small = text[:1].islower() and self._open.printed[:1].isupper()
        is_article = units.numbered_heading(text, self._language) is not None
        names_one = is_article or units.division(text, self._tag).rank is not None
        return _DANGLING.search(last) is not None or (is_small and names_one)

    def _is_reference(self, article: _Heading) -> bool:
        """Whether a heading names an article within a sentence, unlike the open one's."""
        if self._open is None or not _runs_on(article):
            return False
        above = units.numbered_heading(self._open.printed, self._language)
        return above is not None and not _runs_on(above)

    def _is_quoted_next(self, number: str) -> bool:
        """Whether the open article ends with a colon and quotes one that does not follow it."""
        if self._open is None:
            return False
        last = self._lines[-1] if self._lines else self._open.printed
        own, other = _first_integer(self._open.number), _first_integer(number)
        if own is None or other is None or not last.endswith(":"):
            return False
        return other not in (own, own + 1)

    def _quote(self, printed: str) -> None:
        """Keep the heading of an article that the open one quotes."""
        if self._open is not None:
            self._tally.add("kept as text", "quoted article")
            self._lines.append(_cleaned(printed))

    def _enter(self, found: units.Division) -> None:
        above = self._path.innermost
        own = (found.rank, found.level)
        if self._fresh and above is not None and (above.rank, above.level) == own:
            self._tally.add("unknown", "division without articles")
        self._path.enter(found)
        self._fresh = True

    def _plain_division(self, line: str) -> units.Division | None:
        """The division that a plain line names, if it names one.

        In a law with headings only a line that is nothing but a kind and its number does, of a
        kind above all of those that have headings: LIBRO PRIMERO.
        """
        if bold := _BOLD.fullmatch(line):
            line = bold["words"]
        if self._in_notes or len(line) > _LONGEST_DIVISION_LINE or line[0] in "|-*>[(":
            return None
        if _PLAIN_PROVISIONS.fullmatch(line):
            return units.Division(line, rank=_ABOVE_ALL)
        is_short = len(line.split()) <= _MOST_WORDS_OF_PROVISIONS // 2
        may_be_heading = is_short and not line[0].islower() and line[-1] not in ".,;:"
        if self._by_lines and may_be_heading and _PROVISIONS.fullmatch(line.split(" ")[0]):
            return units.Division(line)
        found = units.numbered_division(_cleaned(line), self._tag)
        if found is None:
            return None
        if self._plain:
            return found if _is_set_off(found, _cleaned(line), self._tag) else None
        if found.title or found.rank is None:
            return None
        with_headings = [each.rank for each in self._path if each.level and each.rank is not None]
        is_above = line[0].isupper() and found.rank < min(with_headings, default=found.rank + 1)
        return found if bold or is_above else None

    def _titles(self, text: str) -> bool:
        """Whether a line or heading is the title of the division whose number stands above it."""
        above = self._path.innermost
        if not self._fresh or above is None or above.rank is None or above.title:
            return False
        self._path.name(text)
        return True

    def _article(self, line: int, level: int, text: str, found: _Heading | None) -> reading.Unit:
        self._close()
        self._in_notes = self._fresh = False
        number, title = self._number_and_title(text, found)
        headings = self._path.headings()
        self._open = unit = reading.Unit(number, number, line, title, headings, printed=text)
        self._level, self._lines = level, []
        return unit

    def _number_and_title(self, text: str, found: _Heading | None) -> tuple[str, str]:
        """The number as it is cited in the law's language, and the title."""
        if found is None:
            if _PROVISIONS.match(text) and (parts := _TITLE_OF_PROVISIONS.split(text, maxsplit=1)):
                return parts[0].rstrip("."), parts[1] if len(parts) > 1 else ""
            return re.sub(r"^Article (?=[A-Z])", "", text.rstrip(".")), ""
        number, unit = found.number, found.unit
        if unit.startswith("§"):
            number = f"{unit} {number}" if text.startswith("§") else f"{number} {unit}"
        elif self._language == "en" and not number.endswith(unit or "."):
            unit = unit.capitalize() if unit.isupper() or unit.islower() else unit
            number = f"{unit or 'Section'} {number}"  # a bare number is a section's
        return number, _KOREAN_TITLE.sub(r"\1", found.title)

    def _text(self, line: str, place: int) -> None:
        is_footnote = _FOOTNOTE.match(line) is not None
        if is_footnote or self._in_notes:
            self._tally.add("left out", "footnote" if is_footnote else "line of notes")
            return
        if self._open is None:
            innermost = self._path.innermost
            if len(line) < _LONGEST_DIVISION_LINE and self._titles(_cleaned(line)):
                return
            is_unknown = self._fresh and innermost is not None and innermost.rank is None
            heading = innermost.heading if innermost is not None and is_unknown else ""
            self._fresh = False
            # Provisions are law even where no article stands under their heading.
            if _PROVISIONS.search(heading) and len(heading.split()) <= _MOST_WORDS_OF_PROVISIONS:
                unit = self._article(place, _OF_LINE, heading, None)
                self._open = unit._replace(headings=unit.headings[:-1])
            else:
                self._tally.add("left out", "paragraph outside the articles")
                if is_unknown:
                    self._path.leave()
        if self._open is None:
            return
        if line.startswith("|"):
            cells = [_cleaned(cell) for cell in line.strip().strip("|").split("|")]
            if all(not cell.strip(" :-") for cell in cells):
                self._tally.add("kept as text", "table")
                return
            self._lines.append(" | ".join(cells))
        # Joining costs the whole line each time.
        elif line.startswith(_INDENTED) and self._lines and len(self._lines[-1]) < _LONGEST_JOINED:
            self._lines[-1] = _cleaned(f"{self._lines[-1]} {line.strip()}")
        else:
            self._lines.append(_cleaned(line))

    def _close(self) -> None:
        """Keep the article whose lines end here."""
        unit, self._open = self._open, None
        if unit is None:
            return
        lines = [line for line in self._lines if line]
        if lines and unit.number.startswith("Section "):  # Irish acts print the number again
            lines[0] = lines[0].removeprefix(f"{unit.number.removeprefix('Section ')}. ")
        if not lines:
            self._tally.add("without words but its title", "article")
        self._units.append((unit, "\n".join(lines)))


def _whole_lines(body: str, first_line: int) -> Iterator[tuple[int, str]]:
    """Number and text of each line.

    A bold article behind a note begins a line, and "Art." alone goes to the number below it.
    """
    unit = ""
    for number, line in enumerate(body.split("\n"), start=first_line):
        for part in _GLUED_ARTICLE.split(line):
            if _UNIT_ALONE.fullmatch(part.strip()):
                unit = part.strip()
            elif unit and part.strip():
                yield number, f"**{unit}** {part}" if part[0].isdigit() else f"{unit} {part}"
                unit = ""
            else:
                yield number, part


def _runs_on(article: _Heading) -> bool:
    is_sentence = not article.is_set_off and article.title[:1].islower()
    return is_sentence and not is_repeal_note(article.title)


def _first_integer(number: str) -> int | None:
    found = re.search(r"\d[\d.]*", number)
    return int(found[0].replace(".", "")) if found else None


def _is_set_off(found: units.Division, line: str, language: str | None) -> bool:
    """Whether a plain line is a division's heading, not a sentence that begins with its word."""
    if found.title[:1].islower():
        return False
    kind, _, number = found.label.partition(" ")
    if not number or kind[0].isdigit() or units.division(number, language).rank is not None:
        return True  # the number stands before the kind: "1. osa", "Erster Teil"
    rest = line[len(found.label) :]
    if re.match(r"\s*(?:[:–—]|-\s|\.\s)", rest) or number.lower() in units.ORDINALS:
        return True
    if number[0].isdigit() or number.isupper() or language != "fr":
        return not found.title and (not rest.strip() or number[0].isdigit() or number.isupper())
    return not rest.strip() and (number[0].isupper() or number.lower() in _OF_PARTS)


def _end_of_quotation(lines: Sequence[str], start: int) -> int:
    """The index behind the line that closes the quotation opened at `start`.

    A quotation that nothing closes is its first line alone.
    """
    first = lines[start].lstrip("#").strip().lstrip("*_")
    mark = first[:1]
    closing, depth = _CLOSING[mark], 0
    for index in range(start, min(len(lines), start + _LONGEST_QUOTATION)):
        line = lines[index]
        if mark in closing:  # one mark opens and closes: an odd number of them stays open
            depth = (depth + line.count(mark)) % 2
        else:
            depth += line.count(mark) - sum(map(line.count, closing))
        if depth <= 0:
            return index + 1
    return start + 1


def _cleaned(text: str) -> str:
    """A line without the marks of Markdown and its few HTML elements."""
    text = re.sub(r"^\s*<sup>(\d+[a-z]?\.?)</sup>\s*", r"\1 ", text)
    text = _SUPERSCRIPT.sub(lambda found: found[1].translate(reading.RAISED_DIGITS), text)
    text = _LINK.sub(r"\1", _FOOTNOTE_MARK.sub("", text))
    text = re.sub(r"\*\*(.+?)\*\*", r"\1", text).replace("**", "")
    text = re.sub(r"(?<![\w*\\])\*(?![\s*])([^*]+?)\*(?!\w)", r"\1", text)
    text = re.sub(r"\\([\\`*_{}\[\]()#+\-.!<>|~])", r"\1", text)
    return " ".join(text.split())
