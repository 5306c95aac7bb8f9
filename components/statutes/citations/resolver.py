"""From citations to the articles of a corpus."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import inf
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple

from components.statutes.citations import finding, patterns
from components.statutes.citations.laws import LawNames, NamedLaws, initials_of, is_of
from components.statutes.citations.patterns import Citation
from components.statutes.languages import STOP_WORDS, folded

LONGEST_RANGE = 200
"""The most articles taken from a range in one law."""

_FOLLOWING = 5  # articles after "§ 535" that "§§ 535 ff." finds

_ORDINAL = re.compile(r"[1-9]o[a-z]*")

_Entry = tuple[str, tuple[str, ...], int]
_Row = tuple[str, int]
_Order = tuple[float, str]
_PrintedRange = tuple[_Order, _Order, int]
_Parts = tuple[tuple[float, str], ...]


class Fitting(NamedTuple):
    """The articles of a law that fit a citation.

    Attributes:
        positions: The articles' positions, in the corpus's order.
        absent: The end of a range that the law lacks, if it has the rest.
        known: Whether the law holds what is cited, even if too much to list.
        rest: What is left out of a range of more than `LONGEST_RANGE` articles: the first and
            last number, as printed ("201–900").
    """

    positions: Sequence[int]
    absent: str | None = None
    known: bool = False
    rest: str | None = None


_NOTHING = Fitting([])


class NumberIndex:
    """Finds articles by law and number.

    Attributes:
        ids: The articles' ids, in the corpus's order.
        position: The position of each id.
        law: The law at each position.
        laws: All laws, in the order of their first articles.
    """

    def __init__(self, entries: Iterable[tuple[str, str, str]], *, whole: bool) -> None:
        """Index the articles of a corpus, or some of them.

        Args:
            entries: (id, law, number as printed) of each article, in the corpus's order.
            whole: Whether the entries are complete: a law then has no other numbers.
        """
        articles = list(entries)
        self.ids = [id_ for id_, _, _ in articles]
        self.law = [law for _, law, _ in articles]
        self.laws = tuple(dict.fromkeys(self.law))
        self.position = {id_: position for position, id_ in enumerate(self.ids)}
        self._printed = [printed for _, _, printed in articles]
        self._division: list[str] = []
        self._whole = whole
        self._dotted: set[str] = set()
        # core -> the laws that print it -> [(division, paragraphs, position)]
        self._numbers: dict[str, dict[str, list[_Entry]]] = {}
        # (law, division) -> its positions, ascending
        self._places: dict[tuple[str, str], list[int]] = {}
        # (law, division, row) -> (parts, position) of its numbers, ascending. Ranges are found by
        # bisection, so that no question computes the keys again.
        self._rows: dict[tuple[str, str, _Row], list[tuple[_Parts, int]]] = {}
        # law -> (first, last, position) of what is printed as a range, ascending
        self._ranges: dict[str, list[_PrintedRange]] = {}
        for position, (_, law, printed) in enumerate(articles):
            number = patterns.parse_number(printed)
            if ends := patterns.printed_range(printed):
                first, last = map(patterns.number_order, ends)
                self._ranges.setdefault(law, []).append((first, last, position))
                if number and "-" not in number.core:
                    number = None  # "5 bis 8"
            division = number.division if number else ""
            self._division.append(division)
            self._places.setdefault((law, division), []).append(position)
            if number:
                laws = self._numbers.setdefault(number.core, {})
                laws.setdefault(law, []).append((division, number.paragraphs, position))
                row, parts = _key(number.core)
                self._rows.setdefault((law, division, row), []).append((parts, position))
                if "." in number.core:
                    self._dotted.add(law)
        # "1o." to "9o." are ordinals: they are cited as 1 to 9 too.
        for core in [each for each in self._numbers if _ORDINAL.fullmatch(each)]:
            plain = self._numbers.setdefault(core.replace("o", "", 1), {})
            for law, found in self._numbers[core].items():
                plain.setdefault(law, found)
        for of_row in self._rows.values():
            of_row.sort()
        numbers: dict[str, list[str]] = {law: [] for law in self._ranges}
        for core, laws in self._numbers.items():
            for law in laws.keys() & numbers.keys():
                numbers[law].append(core)
        for law, ranges in self._ranges.items():
            self._ranges[law] = _without_numbers(ranges, numbers[law])

    def printing(self, citation: Citation, laws: Sequence[str]) -> list[str]:
        """The laws that print a number of a citation; no other law has a fitting article.

        For "12.3", a law may print 12.
        """
        cores = {core for reading in citation.readings for core in reading if core}
        if part := patterns.PART.fullmatch(citation.number):
            cores.add(part[1])
        printing = set[str]().union(*(self._numbers.get(core, ()) for core in cores))
        printing.update(
            law for law in self._ranges if any(self._in_range(law, core) for core in cores)
        )
        return [law for law in laws if law in printing]

    def _in_range(self, law: str, number: str) -> list[int]:
        """The position of the printed range that a number lies in."""
        if not (ranges := self._ranges.get(law)):
            return []
        order = patterns.number_order(number)
        place = bisect_right(ranges, order, key=itemgetter(0)) - 1
        return [ranges[place][2]] if place >= 0 and order <= ranges[place][1] else []

    def as_printed(self, citation: Citation, text: str) -> Citation:
        """A citation with its number as a law prints it: what is behind it may belong to it.

        Args:
            citation: As found in the text.
            text: The text, in plain characters.
        """
        for number, end in citation.longer:
            if number not in self._numbers:
                continue
            behind = text[end - 2 : end]
            is_apart = behind[0].isspace() and behind[1].isalpha()
            if is_apart and not patterns.is_letter_behind(text, end - 2):
                return citation._replace(unread=behind)  # "article 12 a été abrogé"
            paragraph, last, _ = finding.levels_after(text, end)
            return citation._replace(
                end=last,
                text=text[citation.start : last],
                number=number,
                paragraph=paragraph,
                otherwise=None,
                unread=patterns.unread_after(text, last, levels=last > end),
            )
        if citation.through or any(number in self._numbers for number, _ in citation.readings):
            return citation
        for number in patterns.spellings(citation.number):
            if number in self._numbers:
                return citation._replace(number=number)
        first, *further = citation.number.split("/")
        if further and all(number in self._numbers for number in (first, *further)):
            end = text.index("/", citation.start)  # "ss 302/34" may be two
            cited, unread = text[citation.start : end], text[end : citation.end]
            return citation._replace(end=end, text=cited, number=first, unread=unread)
        return citation

    def is_range(self, citation: Citation) -> bool:
        """Whether a citation is a range, rather than a printed number with a dash ("13–1")."""
        single = [number for number, through in citation.readings if through is None]
        return len(single) < len(citation.readings) and not any(
            number in self._numbers for number in single
        )

    def fitting(self, citation: Citation, law: str, here: int | None) -> Fitting:
        """The articles of a law that fit a citation in the article at `here` (None: a question)."""
        division = citation.division
        # "paragraph 2 above" may be in a schedule.
        near = division in (None, patterns.LISTED_PARAGRAPH)
        if near and here is not None and citation.kind == "paragraph":
            division = self._division[here] or division
        for number, through in citation.readings:
            found = self._numbered(citation, law, number, division)
            span = self._span(law, found, through)
            if span and citation.onward:  # the articles that follow in the same division
                positions = self._places[law, self._division[span[0]]]
                first = bisect_left(positions, span[0])
                return Fitting(positions[first : first + 1 + _FOLLOWING], known=True)
            if span:
                return Fitting(span, known=True) if through is None else self._cut(span, here)
        for number, through in citation.readings:
            if through is not None:
                of_range = self._part_of_range(citation, law, (number, through), division, here)
                if of_range is not _NOTHING:
                    return of_range
        # "art. 12.3" is article 12, paragraph 3 in a law whose numbers have no dots.
        if here is None and self._whole and law not in self._dotted and citation.through is None:
            part = patterns.PART.fullmatch(citation.number)
            if part and citation.kind in ("article", "section"):
                return Fitting(self._numbered(citation, law, part[1], division, part[2]))
        return _NOTHING

    def _numbered(
        self, citation: Citation, law: str, number: str, division: str | None, *outer: str
    ) -> list[int]:
        """Positions of a law's articles with a number, at the cited levels below `outer`."""
        entries_of_number = self._numbers.get(number, {}).get(law)
        if entries_of_number is None:
            return self._in_range(law, number)
        if len(entries_of_number) == 1 and not entries_of_number[0][1]:  # most numbers: a shortcut
            place, _, position = entries_of_number[0]
            return [position] if _reaches(citation, place, division) else []
        places: dict[str, list[tuple[tuple[str, ...], int]]] = {}
        for place, paragraphs, position in entries_of_number:
            if _reaches(citation, place, division):
                places.setdefault(place, []).append((paragraphs, position))
        if len(entries_of_number) > 1 and not citation.text[:1].isdigit():
            # Bulgarian and Austrian laws count articles, and §§ of their own.
            is_sign = "§" in citation.text
            places = {
                place: [each for each in entries if ("§" in self._printed[each[1]]) == is_sign]
                or entries
                for place, entries in places.items()
            }
        levels = (*outer, *re.findall(r"\w+", citation.paragraph)) if citation.paragraph else outer
        return [p for entries in places.values() for p in _at_levels(entries, levels)]

    def _span(self, law: str, found: list[int], through: str | None) -> list[int]:
        """Positions from the first found to the last numbered `through`; [] if there are none."""
        if not found or through is None:
            return found
        first, division = found[0], self._division[found[0]]
        numbers = self._numbers.get(through, {}).get(law, ())
        last = max((p for place, _, p in numbers if place == division), default=-1)
        if last < first:
            return []
        positions = self._places[law, division]
        return positions[bisect_left(positions, first) : bisect_right(positions, last)]

    def _cut(self, span: list[int], here: int | None, absent: str | None = None) -> Fitting:
        """What is taken of a range. Of a very long one in a law's text, a whole book: nothing."""
        if len(span) <= LONGEST_RANGE:
            return Fitting(span, absent, known=True)
        if here is not None:
            return Fitting([], absent, known=True)
        rest = f"{self._printed[span[LONGEST_RANGE]]}–{self._printed[span[-1]]}"
        return Fitting(span[:LONGEST_RANGE], absent, known=True, rest=rest)

    def _part_of_range(
        self,
        citation: Citation,
        law: str,
        ends: tuple[str, str],
        division: str | None,
        here: int | None,
    ) -> Fitting:
        """What a law holds of a range of which it lacks an end, or whose ends are out of order."""
        first, last = (self._numbered(citation, law, end, division) for end in ends)
        doubtful = citation.otherwise is not None  # "13–1" may be a number
        if not (first or last) or (doubtful and here is not None):
            return _NOTHING
        low, high = (_key(end) for end in ends)
        if first and last:
            if doubtful:
                return _NOTHING
            if low[0] == high[0] and high < low:  # "16 to 13"
                if citation.paragraph is not None:  # "article 12 § 2 à 4"
                    return Fitting(first, known=True)
                return self._cut(self._span(law, last, ends[0]), here)
            return Fitting(sorted({*first, *last}), known=True)  # "R. 6233-62 à D. 6233-65"
        if not first and (here is not None or not self._whole):
            return _NOTHING
        absent = ends[0] if last else ends[1]
        inside: list[int] = []
        if low[0] == high[0]:  # same row: "6.2.7" is not between "6" and "8"
            numbers = self._rows.get((law, self._division[(first or last)[0]], low[0]), [])
            begin = bisect_left(numbers, low[1], key=itemgetter(0))
            end = bisect_right(numbers, high[1], key=itemgetter(0))
            inside = sorted(position for _, position in numbers[begin:end])
        if not inside:
            return _NOTHING if doubtful else Fitting(first or last, absent, known=True)
        return self._cut(inside, here, absent)


def _without_numbers(ranges: list[_PrintedRange], numbers: Iterable[str]) -> list[_PrintedRange]:
    """The ranges in order, without those that are numbers with a hyphen: "1-2" between 1 and 3.

    No other article has a number in a true range. Where one "9-12" is a number, all are.
    """
    printed = sorted(map(patterns.number_order, numbers))
    known = set(printed)
    kept: list[tuple[_PrintedRange, bool]] = []
    dashed = False
    for first, last, position in sorted(ranges):
        within = printed[bisect_left(printed, first) : bisect_right(printed, last)]
        own = (first[0], f"{first[1]}-{last[0]:04.0f}{last[1]}")
        if any(each != own for each in within) or (kept and first <= kept[-1][0][1]):
            dashed = dashed or own in known
            continue
        kept.append(((first, last, position), own in known))
    return [each for each, has_dash in kept if not (dashed and has_dash)]


@lru_cache(maxsize=4096)  # most laws have the same numbers
def _key(core: str) -> tuple[_Row, _Parts]:
    """Sort key of a number: its row (leading letters, number of dots) and its parts."""
    prefix = re.match(r"[a-z]*", core)
    letters = prefix[0] if prefix else ""
    parts = re.findall(r"(\d+)([a-z]*)", core[len(letters) :])
    # Python refuses to convert thousands of digits; no law prints more than a few.
    numbers = tuple((int(digits) if len(digits) < 19 else inf, suffix) for digits, suffix in parts)
    return (letters, core.count(".")), numbers


def _reaches(citation: Citation, place: str, division: str | None) -> bool:
    """Whether a citation can mean an article in a place (`ArticleNumber.division`)."""
    if division == patterns.LISTED_PARAGRAPH and "." in citation.number:
        return place in ("", division)
    if division is not None:
        return place == division
    if citation.kind == "paragraph":
        return place != "" or "." in citation.number
    return place == ""


def _at_levels(entries: list[tuple[tuple[str, ...], int]], levels: tuple[str, ...]) -> list[int]:
    """The entries at the cited levels; else those below them; else the nearest above."""
    depth = len(levels)
    found = [position for paragraphs, position in entries if paragraphs == levels]
    found = found or [p for paragraphs, p in entries if paragraphs[:depth] == levels]
    for above in range(depth - 1, -1, -1):
        found = found or [p for paragraphs, p in entries if paragraphs == levels[:above]]
    return found


MOST_CITATIONS = 30
"""The most citations read from a question."""
MOST_RANGES = 8
"""The most ranges followed for a question."""
_MOST_LOOKUPS = 6_000  # laws looked into and articles found for a question

_OF = re.compile(rf"(?i)\s*(?:(?:{patterns.any_language('of')})\b|(?:de l|d)['’])")
_APART = re.compile(r"\s*[,;]")
# The Tenancy Act, the Contract Code and 劳动合同法 are law.
_PRIVATE_PAPER = re.compile(
    rf"(?i)\b(?:{finding.PRIVATE_PAPER})\b(?!(?-i:\s+(?:Act|Code|Ordinance)\b))|(?:合同|协议)(?![法编])|租约"
)


@dataclass(frozen=True, slots=True)
class ResolvedCitation:
    """A citation and the articles that fit it.

    Attributes:
        citation: The citation as written.
        ids: Ids of the articles that fit, in the corpus's order; () if there are none.
        certain: Whether it names the one article of `ids` without doubt. Its law is named next to
            it; or the law is named elsewhere in the text or is the corpus's only one, and the
            text mentions neither a contract nor another law.
        clear: Whether it would be certain if `ids` were one article. They may be versions of one
            article, which only their dates show; or, of "§§ 535 ff.", the first is meant and the
            others follow it.
        laws: Laws of the corpus that are named next to it; () if there are none.
        missing: Whether it names an article that the corpus does not hold: `ids` is (), and the
            text does not mention a contract.
        absent: The end of a range that the corpus does not hold, canonical, if `ids` are the
            part that it holds; else None.
        doubtful: Whether other words next to the law's name may make it another law: "National"
            before "Housing Code".
        unfollowed: The part that was too much to look up: the citation's text or, for a
            range in one law, the numbers after its first `LONGEST_RANGE` articles; None if
            everything was.
    """

    citation: Citation
    ids: tuple[str, ...]
    certain: bool = False
    clear: bool = False
    laws: tuple[str, ...] = ()
    missing: bool = False
    absent: str | None = None
    doubtful: bool = False
    unfollowed: str | None = None


class ResolvedQuestion(NamedTuple):
    """The citations of a question, as far as they were followed.

    Attributes:
        citations: At most `MOST_CITATIONS`, in order.
        unread: The question from the next citation on; "" if there is none.
    """

    citations: list[ResolvedCitation]
    unread: str


@dataclass
class _Reading:
    """A text whose citations are resolved, and what has been read of it so far.

    Attributes:
        index, names: Of the corpus.
        text: The text, in plain characters.
        uncited: The text with its citations blanked out: "304-AAB" names no law.
        here: Position of the article whose text it is; None for a question.
        is_document: Whether it is longer than a question: a contract that it mentions is then
            not what its other citations mean.
        ranges: How many more ranges may be followed.
        lookups: How many more laws and articles may be looked at.
        previous: The laws of the last citation that named one; () if the corpus lacks it.
        previous_end: Where that citation ends; 0 before the first.
        group: Span of the last enumeration.
        since: Where the enumeration before it ends; earlier words do not refer to this one.
        spoken: The laws named anywhere in the text; None until it is searched for them.
        foreign: Whether a law that the corpus lacks is named next to a citation.
        found: What was already looked up: a text with ten thousand "art. 1" needs one search.
    """

    index: NumberIndex
    names: LawNames
    text: str
    here: int | None
    is_document: bool = False
    uncited: str = ""
    ranges: float = inf
    lookups: float = inf
    previous: tuple[str, ...] = ()
    previous_end: int = 0
    group: tuple[int, int] = (0, 0)
    since: int = 0
    spoken: tuple[str, ...] | None = None
    foreign: bool = False
    found: dict[tuple[object, ...], tuple[tuple[str, ...], Fitting]] = field(default_factory=dict)

    @cached_property
    def private(self) -> bool:
        """Whether a question mentions a contract, whose sections have numbers too."""
        return self.here is None and not self.is_document and bool(_PRIVATE_PAPER.search(self.text))

    @cached_property
    def names_other_law(self) -> bool:
        """Whether the text names anything that looks like a law."""
        return finding.OTHER_LAW.search(self.uncited) is not None

    def resolved(self, cited: list[Citation]) -> list[ResolvedCitation]:
        """The citations of the text with the articles that fit each."""
        read: list[tuple[Citation, NamedLaws | None, tuple[str, ...]]] = []
        self.uncited = _blanked(self.text, cited)
        for written in cited:
            if written.group != self.group:
                self.since, self.group = self.group[1], written.group
            for read_as in (self._whole(written), written):
                citation, named = self._with_laws(read_as)
                laws = self._supposed_laws() if named is None else named.laws
                if citation.number == written.number or self.index.printing(citation, laws):
                    break  # else another law prints the longer number
            if named is not None or citation.reference == "own":
                self.previous, self.previous_end = laws, citation.end
            read.append((citation, named, laws))
        self.foreign = any(named is not None and not named.laws for _, named, _ in read)
        resolved: list[ResolvedCitation] = []
        for citation, named, laws in read:
            of = named.laws if named else ()
            if citation.unread:
                words = f"{citation.text}{citation.unread}"
                resolved.append(ResolvedCitation(citation, (), laws=of, unfollowed=words))
                continue
            ids, fitting = self._lookup(citation, laws)
            one = len(ids) == 1
            followed = fitting.rest is None and (one or (bool(ids) and citation.through is None))
            clear = followed and self._is_certain(citation, named)
            # A paragraph may be part of an article.
            silent = citation.kind == "paragraph" or self.private
            resolved.append(
                ResolvedCitation(
                    citation,
                    ids,
                    certain=clear and one,
                    clear=clear,
                    laws=of,
                    missing=not (ids or fitting.known or silent),
                    absent=None if silent else fitting.absent,
                    doubtful=named is not None and not named.sure,
                    unfollowed=fitting.rest,
                )
            )
        return resolved

    def _whole(self, citation: Citation) -> Citation:
        """A citation with as much of its number as any law prints, and the law named after that."""
        whole = self.index.as_printed(citation, self.text)
        if citation.code is not None or whole.end <= citation.group[1]:
            return whole
        start, end = citation.group[0], whole.end
        hint, reference = finding.law_hint(self.text, start, end, self.since)
        return whole._replace(group=(start, end), law_hint=hint, reference=reference)

    def _with_laws(self, citation: Citation) -> tuple[Citation, NamedLaws | None]:
        """A citation with the laws that are named next to it, or that are its code.

        "Title 5" by itself may be a division: the words around the citation then name its law.
        """
        if citation.code is not None:
            here = None if self.here is None else self.index.law[self.here]
            found = self.names.american.laws(citation.code, citation.number, here)
            if found is not None:
                whole, parts = found
                laws = whole or self.index.printing(citation, parts)
                return citation, NamedLaws(tuple(laws))
            citation = citation._replace(law_hint=None, reference="none")
        return citation, self._named_laws(citation)

    def _named_laws(self, citation: Citation) -> NamedLaws | None:
        """The laws named next to a citation, which the corpus may lack; None without a name."""
        start, end = citation.group
        if citation.reference == "same":
            # A question may begin with "that Act"; in a law it means another one.
            begins = self.here is None and not self.previous_end
            return None if begins else NamedLaws(self.previous)
        if citation.reference == "own":
            return None
        after, _ = finding.after_divisions(self.text, end)
        following = self.names.after(self.text, after)
        before = self.names.before(self.text, start, self.since)
        # "Housing Code § 12, Work Code § 13": the name after the comma is the next citation's.
        joined = self.text[max(0, start - 9) : start].rstrip()[-1:]
        if before.laws and (joined.isalnum() or joined == ":") and _APART.match(self.text, after):
            return before
        if following.laws and (following.sure or not before.laws):
            # "Does article 12 apply to the Work Code?" has another citation next to the name.
            return following if following.sure or citation.reference == "named" else None
        if before.laws:
            other = _OF.match(self.text, after) is not None or (
                finding.is_named_behind(self.text, after) and not citation.text.isupper()
            )
            of_it = not other or _may_be_of(self.text, end, before)
            return before if of_it else NamedLaws()
        if citation.reference == "named":
            return NamedLaws()
        # A later article in a Chinese sentence is of the same law: 刑法第二条规定…，第九条规定….
        between = self.text[self.previous_end : citation.start]
        in_one_sentence = citation.text.startswith("第") and not re.search(r"[。；;\n]", between)
        return NamedLaws(self.previous) if self.previous_end and in_one_sentence else None

    def _supposed_laws(self) -> tuple[str, ...]:
        """The laws that a citation can mean if it names none."""
        if self.here is not None:
            return (self.index.law[self.here],)
        if self.spoken is None:
            named = self.names.anywhere(self.text)
            self.spoken = tuple(law for law in self.index.laws if law in named)
        return self.spoken or self.index.laws

    def _is_certain(self, citation: Citation, named: NamedLaws | None) -> bool:
        """Whether nothing suggests that another article is meant."""
        if citation.kind == "paragraph" or (citation.code is not None and named is None):
            return False
        if citation.kind == "section" and finding.after_divisions(self.text, citation.group[1])[1]:
            return False  # "section 3 of Chapter 2" and "section 3 of title 2" may be divisions
        if named is not None or self.here is not None:
            return named is None or named.sure
        # "Article 5 of the Treaty, or article 7"; "the Housing Code allows it, but my contract …".
        if finding.is_of_something(self.text, citation.group[1]) or self.foreign or self.private:
            return False
        is_of_the_only_law = len(self.index.laws) == 1 and citation.kind in ("article", "section")
        return bool(self.spoken) or (is_of_the_only_law and not self.names_other_law)

    def _lookup(self, citation: Citation, laws: tuple[str, ...]) -> tuple[tuple[str, ...], Fitting]:
        """The articles of these laws that fit, in the corpus's order; `rest` is not followed."""
        levels = (citation.paragraph, citation.division, citation.kind)
        key = (*citation.readings, *levels, citation.onward, laws)
        if key not in self.found:
            fitting = self._fitting(citation, self.index.printing(citation, laws))
            self.found[key] = tuple(self.index.ids[p] for p in fitting.positions), fitting
        return self.found[key]

    def _fitting(self, citation: Citation, printing: list[str]) -> Fitting:
        """What fits in the laws that print a number of the citation."""
        if printing and self.index.is_range(citation):
            if self.ranges == 0:
                return Fitting([], known=True, rest=citation.text)
            self.ranges -= 1
        found: list[Fitting] = []
        rest: str | None = None
        for law in printing:
            if self.lookups <= 0:
                rest = citation.text
                break
            found.append(self.index.fitting(citation, law, self.here))
            self.lookups -= 1 + len(found[-1].positions)
        # Article 12.3 of one law is not a paragraph of another's article 12.
        known = [fitting for fitting in found if fitting.known]
        positions = sorted(p for fitting in known or found for p in fitting.positions)
        # Across several laws a range lacks an end only if none of them holds both.
        absent = {fitting.absent for fitting in known}
        if rest is None and any(fitting.rest for fitting in known):
            rest = known[0].rest if len(known) == 1 else citation.text
        lacking = None if None in absent else next(iter(absent), None)
        return Fitting(positions, lacking, known=rest is not None or bool(known), rest=rest)


class CitationResolver:
    """Finds the articles that a text cites.

    Numbers are compared in canonical form ("L. 1221-1" is "l1221-1"). A citation more precise than
    the printed numbers finds the article that contains it ("article 12(3)" finds 12, as does
    "12.3" if no number has a dot); a less precise one finds every part ("section 2" finds
    "s.2(1)" and "s.2(2)"). A range finds the part of it that exists. A citation of a law that the
    corpus lacks, or of a private paper ("section 5 of my contract"), finds nothing. One without a
    law fits the laws that the text names elsewhere, else every law with that number.

    Attributes:
        names: The names of the corpus's laws.
    """

    def __init__(
        self,
        entries: Iterable[tuple[str, str, str]],
        names: LawNames | Mapping[str, Sequence[str]] = MappingProxyType({}),
        *,
        whole: bool = True,
    ) -> None:
        """Index the articles of a corpus.

        Args:
            entries: (id, law, number as printed) of each article, in the corpus's order.
            names: The names of the corpus's laws, if they were already read; or further names of
                each, besides its title.
            whole: Whether the entries are complete: a law then has no other numbers.
        """
        self._index = NumberIndex(entries, whole=whole)
        self.names = names if isinstance(names, LawNames) else LawNames(self._index.laws, names)

    def law_of(self, id_: str) -> str:
        """The law of an article of the corpus.

        Raises:
            KeyError: There is no article with this id.
        """
        return self._index.law[self._index.position[id_]]

    def resolve(
        self,
        text: str,
        *,
        within: str | None = None,
        language: str | None = None,
        is_document: bool = False,
    ) -> list[ResolvedCitation]:
        """The citations of a text with the articles that fit each.

        Args:
            text: A question, an answer or an article's text.
            within: Id of the article whose text it is; "this Act", and citations without a law,
                then mean its law. None for a question.
            language: BCP 47 tag of the text, where known.
            is_document: Whether it is longer than a question. A question that mentions a contract
                may mean its clauses; in a document only a citation next to it does.

        Raises:
            KeyError: `within` is not an id of the corpus.
        """
        here = None if within is None else self._index.position[within]
        plain = text.translate(finding.PLAIN_CHARACTERS)
        reading = _Reading(self._index, self.names, plain, here, is_document)
        return reading.resolved(finding.find_citations(text, language))

    def resolve_question(self, question: str) -> ResolvedQuestion:
        """The citations of a user's question, with a bound on the work.

        At most `MOST_CITATIONS` are read and `MOST_RANGES` ranges followed; `unread` and the
        citations' `unfollowed` hold the rest.
        """
        if patterns.NUMERAL.search(question) is None:  # most questions
            return ResolvedQuestion([], "")
        cited, end = finding.read_citations(question, most=MOST_CITATIONS)
        plain = question.translate(finding.PLAIN_CHARACTERS)
        reading = _Reading(
            self._index, self.names, plain, None, ranges=MOST_RANGES, lookups=_MOST_LOOKUPS
        )
        return ResolvedQuestion(reading.resolved(cited), question[end:])


def _blanked(text: str, cited: Iterable[Citation]) -> str:
    """A text with its citations, and what is attached to them, as blanks."""
    parts, place = [], 0
    for citation in cited:
        end = citation.end + len(citation.unread)
        parts += [text[place : citation.start], " " * (end - max(place, citation.start))]
        place = max(place, end)
    return "".join([*parts, text[place:]])


def _may_be_of(text: str, end: int, named: NamedLaws) -> bool:
    """Whether what follows "of" after a citation can be the law that is named before it.

    In "Under the Housing Act, section 5 of my lease" it is not; in "Housing Code, article 12 of
    Aldermere" and "Housing Code, article 12 of the Code" it is.
    """
    hint = finding.hint_after(text, end)
    if hint is None or hint[1] != "named":
        return True
    return any(is_of(law, hint[0] or "") for law in named.laws)


# What belongs to somebody is a private paper: "What does article 5 say in my will?".
_EMPTY = patterns.plain_words("asking").union(*STOP_WORDS.values()) - patterns.plain_words("whose")


def only_cites(question: str, citations: Sequence[ResolvedCitation]) -> bool:
    """Whether a question asks for the articles that it cites, and for nothing else.

    Apart from the citations it may contain the names of their laws, and words without content of
    their own, such as "What does ... say?".

    Args:
        question: The question.
        citations: All its citations.
    """
    if not citations:
        return False
    lawless = [each for each in citations if not each.laws]
    # A citation without a law may be of one that is named but not in the corpus.
    foreign = any(each.citation.reference == "named" for each in lawless)
    if foreign and any(each.ids for each in lawless):
        return False
    if any(finding.is_of_something(question, each.citation.end) for each in lawless):
        return False  # "What does article 5 of the will say?"
    rest = question
    for resolved in sorted(citations, key=lambda each: -each.citation.start):
        citation = resolved.citation
        rest = rest[: citation.start] + rest[citation.end + len(citation.unread) :]
    known = _EMPTY.union(*(_words_of_names(each) for each in citations))
    return all(word in known or folded(word) in _EMPTY for word in _words(rest))


def _words_of_names(resolved: ResolvedCitation) -> list[str]:
    """The words that name a citation's law: of its full name or of another, such as "GDPR"."""
    # The words after a citation may run past the name: "of the Housing Code bind me".
    hint_words = re.findall(r"[^\W_]+", resolved.citation.law_hint or "")
    other = [word for word in hint_words if not word.islower()]
    short = [initials for law in resolved.laws for initials in initials_of(law)]
    return _words(" ".join([*resolved.laws, *short, *other]))


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())
