"""The citations of a reply, each looked up among the given articles.

Retrieval reads a citation leniently, so that its article is found. Here it is read strictly, since
a verified citation must name a given article and nothing else.

There are three states, not two: what was looked up and is there is verified, what was looked up and
is not there is not found, and what could not be looked up is not checked. A verified citation names
an article that was given; it does not mean that the article supports the sentence.
"""

# No postponed annotations: Haystack's tools resolve those of a result where its names are unknown.
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, NamedTuple

from components.statutes.article import Article
from components.statutes.citations.finding import GENERIC_NAMES, NAME_OF_A_LAW, PLAIN_CHARACTERS
from components.statutes.citations.laws import LawNames, foreign_place
from components.statutes.citations.patterns import (
    Citation,
    canonical_core,
    chinese_integer,
    parse_number,
)
from components.statutes.citations.resolver import CitationResolver, ResolvedCitation
from components.statutes.identity import names_of_laws
from components.statutes.languages import folded
from components.statutes.replies.text import ReferenceMark, reply_form, reply_words

CheckState = Literal["verified", "not found", "not checked"]
_Span = tuple[int, int]
_Finding = tuple[CheckState, str]  # with what speaks against it


@dataclass(frozen=True, slots=True)
class CheckedCitation:
    """A citation of a reply.

    Attributes:
        start, end: Its span in the reply.
        text: Its words.
        state: Whether it names an article that was given.
        ids: Ids of the articles that it names.
        why: What speaks against it; "" if verified.
    """

    start: int
    end: int
    text: str
    state: CheckState
    ids: tuple[str, ...]
    why: str = ""


class StatedSource(NamedTuple):
    """What a reply says that a reference mark stands for.

    Attributes:
        number: The mark's.
        start, end: The span of its meaning in the reply.
    """

    number: int
    start: int
    end: int


PLAIN_EMPHASIS = str.maketrans({"*": " ", "_": " ", "\\": " ", "`": " "})
"""Blanks out emphasis one for one, so that spans stay: "Section **99**"."""
NO_PARAGRAPH = "its paragraph was not found in the article"
_WHICH_LAW = "it does not say of which law"
_SEVERAL = "it fits several of the articles given"
_SENTENCE = 300  # characters of it that are read on either side of a citation
_NEAR = 90  # characters next to a citation that can make it another one
_HINT_WITHIN = 200  # characters after a citation, in which its law is named


class CitedReply:
    """One reply, and the articles that it may cite."""

    def __init__(self, reply: str, sources: Sequence[Article], quoted: Sequence[_Span]) -> None:
        """Read the citations in words.

        Args:
            reply: What was written.
            sources: The articles that it was written from.
            quoted: Spans of its quotations: a citation in words within one belongs to the law.
        """
        self._reply, self._sources = reply, sources
        self._plain = reply.translate(PLAIN_EMPHASIS)
        self._by_id = {each.id: each for each in sources}
        self._names = LawNames((each.law for each in sources), names_of_laws(sources))
        entries = ((each.id, each.law, each.number) for each in sources)
        resolver = CitationResolver(entries, self._names, whole=False)
        self._resolved = [
            each
            for each in resolver.resolve(self._plain)
            if not any(start <= each.citation.start < end for start, end in quoted)
        ]

    def checked(self, written: Sequence[ReferenceMark]) -> list[CheckedCitation]:
        """Every citation, in order, given the reference marks that are not of the law it quotes."""
        spans = [(each.citation.start, each.citation.end) for each in self._resolved]
        given = range(1, len(self._sources) + 1)
        stated = stated_sources(self._reply, written, spans)
        stated = [each for each in stated if each.number in given]
        named = self._named([self._of_mark(mark, {}) for mark in written], stated)
        wrong: dict[int, _Finding] = {}
        for source in stated:
            state, why = self._contradiction(source, [each for each, _ in named])
            if state == "not found" or (state == "not checked" and source.number not in wrong):
                wrong[source.number] = state, why
        marks = [self._of_mark(mark, wrong) for mark in written]
        # "[Article 9]" is a citation in words.
        starts = [each.start for each, _ in named]
        marks = [each for each in marks if not any(each.start <= n < each.end for n in starts)]
        against: dict[int, str] = {}
        for each, end in named:
            if any(source.start <= each.start < source.end for source in stated):
                continue
            mark = next((mark for mark in marks if mark.start >= end), None)
            beside = mark is not None and reply_form("beside").fullmatch(
                self._reply[end : mark.start]
            )
            if mark and beside and each.ids and mark.ids and not set(each.ids) & set(mark.ids):
                against[id(each)] = f"{mark.text} next to it names another article"
                against[id(mark)] = f"{each.text} next to it names another article"
        checked = [
            replace(each, state="not checked", why=against[id(each)])
            if id(each) in against and each.state == "verified"
            else each
            for each in (*marks, *(each for each, _ in named))
        ]
        return sorted(checked, key=lambda each: each.start)

    def _of_mark(self, mark: ReferenceMark, wrong: Mapping[int, _Finding]) -> CheckedCitation:
        """A mark; `wrong` has the state of the numbers for which the reply states other sources."""
        count = len(self._sources)
        ids = tuple(self._sources[n - 1].id for n in mark.numbers if 1 <= n <= count)
        against = [wrong[number] for number in mark.numbers if number in wrong]
        finding: _Finding = ("verified", "")
        if not mark.numbers:
            finding = "not checked", "what it means is not known"
        elif len(ids) < len(mark.numbers):
            given = "1 article was" if count == 1 else f"{count} articles were"
            finding, ids = ("not found", f"{given} given; it names another"), ()
        elif against:
            finding, ids = max(against, key=lambda each: each[0] == "not found"), ()
        words = self._reply[mark.start : mark.end]
        return CheckedCitation(mark.start, mark.end, words, finding[0], ids, finding[1])

    def _named(
        self, marks: Sequence[CheckedCitation], stated: Sequence[StatedSource]
    ) -> list[tuple[CheckedCitation, int]]:
        """Citations in words, and where each ends with the name of its law."""
        found: list[tuple[CheckedCitation, int]] = []
        known: dict[tuple[str, str], str] = {}
        for resolved in self._resolved:
            citation, ids = resolved.citation, resolved.ids
            state, why = self._state(resolved)
            key = (citation.kind, citation.number)
            # The next mark of the same sentence.
            mark = next((each for each in marks if each.start >= citation.end), None)
            if mark and reply_form("sentence_end").search(self._plain, citation.end, mark.start):
                mark = None
            meant = [self._by_id[id_] for id_ in ids] or self._sources
            if is_paragraph(citation, self._plain, meant):
                cited = (*marks, *(each for each, _ in found))
                before = [each for each in cited if each.end <= citation.start and each.ids]
                ids = mark.ids if mark else ()
                if not ids and before:
                    ids = max(before, key=lambda each: each.end).ids
                source = self._by_id[ids[0]] if len(ids) == 1 else None
                named = f"({citation.number}){citation.paragraph or ''}"
                printed = source and has_paragraph(source.number, source.text, named)
                state = "verified" if printed else "not checked"
                why = "" if printed else NO_PARAGRAPH
            elif why in (_WHICH_LAW, _SEVERAL) and not citation.law_hint:
                # "Section 12 of the Housing Code ... Under section 12 ...", or "Section 12 ... [1].
                # [1]: Section 12".
                label = next((e.number for e in stated if e.start <= citation.start < e.end), None)
                near = mark.ids if mark else ()
                if label is not None:
                    near = (self._sources[label - 1].id,)
                fitting = tuple(id_ for id_ in ids if id_ in (known.get(key), *near))
                if len(fitting) == 1 and not speaks_of_another_law(
                    self._plain, citation, self._by_id[fitting[0]].law, self._names
                ):
                    ids = fitting
                    state, why = self._state(replace(resolved, ids=ids), law_known=True)
            if state == "verified":
                known[key] = ids[0]
            words = self._reply[citation.start : citation.end]
            name = reply_form("name_behind").match(self._plain, citation.group[1])
            end = name.end() if name and citation.law_hint else citation.end
            checked = CheckedCitation(citation.start, citation.end, words, state, ids, why)
            found.append((checked, end))
        return found

    def _state(self, resolved: ResolvedCitation, *, law_known: bool = False) -> _Finding:
        """State of a citation in words, and what speaks against it."""
        citation = resolved.citation
        if not resolved.ids:
            return "not found", "none of the articles given is this one"
        if citation.through is not None or citation.onward:
            return "not checked", "it names several articles"
        if len(resolved.ids) > 1:
            return "not checked", _SEVERAL
        source = self._by_id[resolved.ids[0]]
        if not law_known:
            if citation.law_hint is None:
                return "not checked", _WHICH_LAW
            named = names_law(citation, source.law, self._reply, self._plain, self._names)
            if not resolved.certain or not named:
                return "not checked", "it names the law otherwise"
        why = doubt_of(citation, self._plain, source.law, source.language, source.number)
        why = why or lacks(source, citation, self._plain)
        return ("not checked", why) if why else ("verified", "")

    def _contradiction(self, stated: StatedSource, named: Sequence[CheckedCitation]) -> _Finding:
        """Whether what a reply says of a mark contradicts the article given under its number.

        "verified" with "" where it names that article or its law; else a state and what is wrong.
        """
        source = self._sources[stated.number - 1]
        words = self._reply[stated.start : stated.end].strip()
        other: _Finding = "not found", f"the reply says that it is {words}"
        links = [link.rstrip(".,;:!?*_") for link in reply_form("url").findall(words)]
        if any(link != source.source_url for link in links):
            return "not found", f"the reply links it to {links[0]}"
        inside = [each for each in named if stated.start <= each.start < stated.end]
        if inside:
            doubts = [each.why for each in inside if each.state != "verified"]
            if any(source.id not in each.ids for each in inside):
                return other
            return ("not checked", doubts[0]) if doubts else ("verified", "")
        if words in links:
            return "verified", ""
        laws = self._names.anywhere(words)
        written = (name[0] for name in NAME_OF_A_LAW.finditer(words))
        if (laws and source.law not in laws) or not all(map(self._names.anywhere, written)):
            return other
        if not laws:
            return "not checked", "what the reply says of its source was not understood"
        number = parse_number(source.number)
        given = {canonical_core(each.rstrip(".-/")) for each in reply_form("number").findall(words)}
        known = {canonical_core(each) for each in reply_form("number").findall(source.law)}
        if number is not None and given - known and number.core not in given:
            return other
        return "verified", ""


_BETWEEN = 3  # characters between the name of a law and the citation of its article
_REACH = 8  # characters before a mark in which its line may begin


def stated_sources(
    reply: str, marks: Sequence[ReferenceMark], cited: Sequence[tuple[int, int]]
) -> list[StatedSource]:
    """What a reply says its marks stand for, in order.

    That is a link behind a mark; what follows a mark at the beginning of a line after a colon or a
    dash; a citation that follows one there at once; and every entry after "Sources:".

    Args:
        reply: What was written.
        marks: Its reference marks.
        cited: Spans of its citations in words, in order.
    """
    lists = [head.span("entries") for head in reply_form("source_list").finditer(reply)]
    found = []
    single = [mark for mark in marks if len(mark.numbers) == 1]
    starts = [mark.start for mark in single]
    for place, mark in enumerate(single):
        number = mark.numbers[0]
        if link := reply_form("link").match(reply, mark.end):
            start, end = link.span("meaning" if link["meaning"] else "url")
            found.append(StatedSource(number, start, end))
            continue
        line_end = reply.find("\n", mark.end)
        line_end = len(reply) if line_end < 0 else line_end
        behind = starts[place + 1] if place + 1 < len(starts) else len(reply)
        means = reply_form("means").match(reply, mark.end)
        start = means.end() if means else mark.end
        start += len(reply[start:line_end]) - len(reply[start:line_end].lstrip(" \t*_"))
        begins_line = reply_form("line_start").search(
            reply[max(0, mark.start - _REACH) : mark.start]
        )
        at_start = begins_line and (mark.start <= _REACH or "\n" in begins_line[0])
        listed = any(first <= mark.start < last for first, last in lists)
        end = min(line_end, behind) if listed else line_end
        if not listed and not (at_start and means):
            end = _citation_end(reply, start, cited) if at_start else start
        if reply[start:end].strip(" \t.,;*_|"):
            found.append(StatedSource(number, start, end))
    for first, last in lists:
        found.extend(_numbered(reply, first, last))
    return sorted(found, key=lambda each: each.start)


def _citation_end(reply: str, start: int, cited: Sequence[tuple[int, int]]) -> int:
    """Where the citation ends that begins at a place, with or without its law's name in front.

    The place itself where none does: "[1] The landlord must" is a sentence.
    """
    name = NAME_OF_A_LAW.match(reply, start)
    first = name.end() if name else start
    end = next((last for begin, last in cited if start <= begin <= first + _BETWEEN), first)
    return end if name or any(begin == start for begin, _ in cited) else start


def _numbered(reply: str, first: int, last: int) -> Iterator[StatedSource]:
    """The entries "1. Housing Code, section 13" of a list, one a line or all in one."""
    begin = first
    for line in reply[first:last].split("\n"):
        if item := reply_form("numbered").match(line):
            items = [item]
            if begin == first and item[1] == "1":
                items = list(reply_form("numbered_on").finditer(line))
            ends = [each.start() for each in items[1:]] + [len(line)]
            for each, end in zip(items, ends, strict=True):
                yield StatedSource(int(each[1]), begin + each.end(), begin + end)
        begin += len(line) + 1


# The paragraphs that an article has, as laws print them: "(5)", "5.", "5)", "5°", "§ 5", "a)".
#
# A figure alone is not a paragraph: "5 %", "thirty (30) days" and "subsection (7) of section 12" do
# not number parts of the article. An unclear case does not count as a paragraph, which leaves a
# doubt.
_REACH_IN_FRONT = 64  # characters
_WINDOW = 16  # characters before a mark


def has_paragraph(number: str, text: str, named: str) -> bool:
    """Whether an article prints the paragraphs that a citation names, in sequence.

    Args:
        number: The article's, as printed; "s.2(1)" has its paragraph in it.
        text: The article's.
        named: From the outside in: "(2)(a)".
    """
    printed = parse_number(number)
    own = [level.lower() for level in printed.paragraphs] if printed else []
    marks = iter([*own, *paragraph_marks(text)])
    return all(level in marks for level in re.findall(r"\w+", named.lower()))


def paragraphs_in_front(text: str, start: int) -> list[str]:
    """The paragraphs before an article whose citation starts there: ["(2)", "(3)"].

    "§ 1er, alinéa 2, de l'" names two, each of which the article must have.
    """
    named: list[str] = []
    begin = max(0, start - _REACH_IN_FRONT)
    while unit := reply_form("in_front").search(text, begin, start):
        if not named and unit[0].endswith(", "):
            break  # "paragraph 2, article 5" is a list
        for level in reply_form("between_levels").split(unit["list"]):
            words = (re.sub(r"(?<=\d)er$", "", word) for word in re.findall(r"\w+", level))
            named.append("".join(f"({word})" for word in words))
        start = unit.start()
    return named


@lru_cache(maxsize=64)
def paragraph_marks(text: str) -> tuple[str, ...]:
    """The marks of an article's paragraphs and points, in order."""
    plain = text.translate(PLAIN_CHARACTERS)
    plain = reply_form("reference").sub(lambda match: " " * len(match[0]), plain)
    marks: list[str] = []
    last = bare = 0
    for match in reply_form("paragraph_mark").finditer(plain):
        before = plain[max(0, match.start() - _WINDOW) : match.start()]
        behind_another = bool(marks) and not plain[last : match.start()].strip(" ")
        if match["bare"]:
            begins = int(match["bare"]) == bare + 1  # else a line that begins with a sum
            bare += begins
        elif match["lettered"]:
            begins = True
        else:
            begins = behind_another or _begins(before)
            if match["letter"] or match["bracket"]:
                begins = begins or reply_form("listed").search(before.rstrip()) is not None
            if match["bracket"] and not match["bracket"][0].isdigit():
                begins = begins or before[-1:].isspace()  # "the tenant (a) pays"
        if begins:
            last = match.end()
            value = match[match.lastgroup or 0].lower()
            value = str(chinese_integer(value)) if match["chinese"] else value
            marks.append(re.sub(r"(?<=\d)er$", "", value))
    # Whoever has a second has a first: "shall (1) pay and", or one printed without its number.
    if "2" in marks and "1" not in marks[: marks.index("2")]:
        marks.insert(0, "1")
    return tuple(marks)


def _begins(before: str) -> bool:
    """Whether a line or a sentence begins after these characters."""
    if not before.strip(" \t") or before.rstrip(" \t").endswith("\n"):
        return True
    before = before.rstrip()
    word = reply_form("last_word").search(before)
    abbreviated = reply_words()["abbreviated"]
    if word and (len(word[1]) == 1 or word[1].isdigit() or word[1].lower() in abbreviated):
        return False
    return before.endswith((".", ":", ";", "。", "：", "；"))


def lacks(source: Article, citation: Citation, plain: str) -> str:
    """Which unit or paragraph named by a citation the article lacks; "" if none."""
    if citation.kind in ("rule", "regulation") and citation.kind not in source.law.casefold():
        return f"the law has no {citation.kind}s"
    # "Point (a) of Article 6(1)"
    in_front = paragraphs_in_front(plain, citation.start) or [""]
    named = [(citation.paragraph or "") + each for each in in_front]
    printed = all(has_paragraph(source.number, source.text, each) for each in named)
    # A 款 is printed without any number.
    return "" if printed and "款" not in citation.text else NO_PARAGRAPH


# "section 9<RLM>9" is shown as section 99, and read as section 9.
_INVISIBLE = re.compile("[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def doubt_of(
    citation: Citation, plain: str, law: str, language: str | None = None, number: str = ""
) -> str:
    """What suggests that a citation means something other than the article it fits; "" if nothing.

    Args:
        citation: In words.
        plain: The reply.
        law: The law that it names.
        language: BCP 47 tag of the law.
        number: The number of the article that it fits, as printed.
    """
    start, end = citation.group
    if _INVISIBLE.search(plain, max(0, start - 1), end + 1):
        return "there are invisible characters in it"
    before = plain[max(0, start - _NEAR) : start]
    if reply_form("is_former").search(before) or reply_form("was_former").match(
        plain, end, end + _NEAR
    ):
        return "it may mean an earlier wording"
    printed = parse_number(number)
    in_body = printed is None or not printed.division
    if in_body and (
        reply_form("in_a_schedule").search(before) or reply_form("of_a_schedule").match(plain, end)
    ):
        return "it is of a schedule"
    if reply_form("is_unnumbered").search(citation.text) and not reply_form("is_first").search(
        citation.text
    ):
        return "which sentence it means was not looked up"
    if citation.code is not None and citation.law_hint is not None:
        return ""  # no name or place near it makes it another law
    begin, _ = sentence_around(plain, start, end)
    for place in reply_form("place_before").finditer(plain, begin, start):
        if name := foreign_place(place["place"], law, language):
            return f"it speaks of {name}"
    near = NAME_OF_A_LAW.finditer(plain, max(0, start - _NEAR), end + _NEAR)
    doubts = (doubt_of_name(plain, *name.span(), law, language) for name in near)
    return next(filter(None, doubts), "")


def doubt_of_name(plain: str, start: int, end: int, law: str, language: str | None = None) -> str:
    """Why the law named plain[start:end] may be another of that name; "" if nothing says so."""
    ahead = plain[max(0, start - _NEAR) : start]
    if reply_form("is_former").search(ahead) or reply_form("is_new").search(ahead):
        return "it may mean an earlier law, or a later one"
    apart = reply_form("name_told_apart").match(plain, end)
    if apart and apart["place"] and (place := foreign_place(apart["place"], law, language)):
        return f"it speaks of {place}"
    if apart and apart["number"] and apart["number"] not in _words(law):
        return f"it names another law, {' '.join(plain[start : apart.end()].split())}"
    return ""


def is_paragraph(citation: Citation, plain: str, meant: Iterable[Article]) -> bool:
    """Whether "§ 2" is a paragraph, as in French, of an article that is named elsewhere.

    Args:
        citation: In words.
        plain: What was written.
        meant: The articles that it may name.
    """
    if plain[citation.group[0]] != "§" or citation.reference != "none":
        return False
    return any((each.language or "").lower().startswith("fr") for each in meant)


_NO_NAME = frozenset(
    re.findall(r"\w+", "the of de du des la le l d der die das dem and nacion ley lei")
)


def names_law(citation: Citation, law: str, reply: str, plain: str, names: LawNames) -> bool:
    """Whether the hint of a citation, and what follows it, is the name of a law.

    What follows is read with its emphasis, which ends a name: "**Section 12 Housing Code** Pay".
    """
    hint = citation.law_hint
    if citation.code is not None or hint is None:
        return citation.code is not None
    if not is_name(hint, law, names):
        return False
    place = plain.find(hint, citation.group[1], citation.group[1] + _HINT_WITHIN)
    more = reply_form("name_goes_on").match(reply, place + len(hint)) if place >= 0 else None
    if more is None or hint.isupper():  # initials are a name by themselves
        return True
    capitals = (each for each in re.findall(r"\w+", more[0]) if not each[0].islower())
    return law in names.anywhere(more[0]) or all(
        _is_of_name(word, law) for each in capitals for word in _words(each)
    )


def speaks_of_another_law(plain: str, citation: Citation, law: str, names: LawNames) -> bool:
    """Whether the sentence of a citation names a law that is not the one given.

    Args:
        plain: What was written.
        citation: One of its citations.
        law: The law that it is taken to mean.
        names: Names of the given laws.
    """
    begin, stop = sentence_around(plain, *citation.group)
    found = (match[0] for match in NAME_OF_A_LAW.finditer(plain, begin, stop))
    return any(
        law not in names.anywhere(name) or not is_name(name, law, names)
        for name in found
        if name not in GENERIC_NAMES
    )


def sentence_around(plain: str, start: int, end: int) -> tuple[int, int]:
    """The span of the sentence around a citation, as far as it is read."""
    begin = max(0, start - _SENTENCE)
    for before in reply_form("sentence_end").finditer(plain, begin, start):
        begin = before.end()
    after = reply_form("sentence_end").search(plain, end, end + _SENTENCE)
    return begin, after.start() if after else min(len(plain), end + _SENTENCE)


def is_name(hint: str, law: str, names: LawNames) -> bool:
    """Whether a hint is a name of a law, or has only words of its full name, in any ending."""
    hint = names.rest_of_name(hint, law)
    if reply_form("chinese").search(hint):
        return hint.strip("《》") in law
    if hint.isupper() and len(hint.split()) == 1:
        return True  # initials, which the resolver has told apart
    for written in re.findall(r"\w+", hint):
        if not _is_of_name(_words(written)[0], law):
            # The sentence may go on after the name, but a name continues with a capital.
            return str(written)[0].islower()
    return True


def _is_of_name(word: str, law: str) -> bool:
    """Whether a word is one of a law's name, in any ending, or only joins such words."""
    return word in _NO_NAME or any(_are_alike(word, known) for known in _words(law))


def _are_alike(word: str, known: str) -> bool:
    shorter = min(len(word), len(known))
    if word.isdigit() or known.isdigit():
        return word == known
    return known.startswith(word[: shorter - 1] if shorter > 4 else word)


@lru_cache(maxsize=256)
def _words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", folded(text.casefold())))
