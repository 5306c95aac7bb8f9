"""Checks the citations of any document against a collection of laws."""

# No postponed annotations: Haystack's tools resolve those of a result where its names are unknown.
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, Literal, Self, get_args

from components.statutes.article import Article
from components.statutes.citations import finding
from components.statutes.citations.laws import LawNames
from components.statutes.citations.patterns import Citation, parse_number
from components.statutes.citations.resolver import CitationResolver, ResolvedCitation
from components.statutes.citations.united_states import find_american
from components.statutes.replies import citations
from components.statutes.replies.quotations import find_quotations
from components.statutes.replies.text import joined_spans, reply_form, sentence_spans

Verdict = Literal[
    "verified",
    "not given",
    "does not exist",
    "not in force",
    "subject differs",
    "unknown law",
    "not checked",
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
FALSE: frozenset[Verdict] = frozenset(("does not exist", "not in force", "subject differs"))
"""The verdicts that speak against a citation."""


@dataclass(frozen=True, slots=True)
class AuditedCitation:
    """A citation of a document, checked against a collection of laws.

    Attributes:
        start, end: Its span in the text.
        text: Its words.
        verdict: "verified": the article exists and, as far as its dates tell, was in force on the
            day. "not given": likewise, but it is not among the articles that the text was written
            from. "does not exist": the law has no such article, or no such paragraph. "not in
            force": it was repealed, or was not yet in force. "subject differs": it exists, but the
            sentence has the words of another article. "unknown law": the collection does not hold
            the law. "not checked": what it names is in doubt.
        ids: Ids of the articles that it names; of several wordings the one of the day.
        law: The law that it names; None if unknown.
        why: What speaks against it, or why it was not checked; "" if verified.
    """

    start: int
    end: int
    text: str
    verdict: Verdict
    ids: tuple[str, ...] = ()
    law: str | None = None
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The citation in plain values, as JSON has them."""
        return {**asdict(self), "ids": list(self.ids)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The citation that `to_dict` described."""
        return cls(**{**data, "ids": tuple(data["ids"])})


def verdict_counts(citations: Iterable[AuditedCitation]) -> dict[str, int]:
    """How many citations have each verdict that occurs; "not checked" always."""
    counts = Counter(each.verdict for each in citations)
    return {each: counts[each] for each in VERDICTS if counts[each] or each == "not checked"}


_NEARBY = 3_000  # characters of a paragraph that are read for the law of a citation
_MOST_IN_A_STATEMENT = 4  # citations; a sentence with more is a list of them
_WHICH_LAW = "it does not say of which law"
_OTHERWISE = "it names the law otherwise"
_OF_A_PRIVATE_PAPER = "it is of a private paper, not of a law"
_PRIVATE = re.compile(rf"\b(?:{finding.PRIVATE_PAPER})\b|合同|协议", re.IGNORECASE)
# A list item, a heading, a table or a quotation begins.
_BLOCK = re.compile(r"[ \t]*(?:[>#|*+•–—-]|\d{1,3}[.)]\s|\(\w{1,4}\)\s|\[\^?\w+\]:)")

_Judgement = tuple[Verdict, str, tuple[str, ...], str | None]  # with why, the ids and the law


@dataclass(frozen=True)
class LawCollection:
    """The laws that a document is checked against.

    Attributes:
        resolver: Over all their articles.
        articles: By id.
        of_the_day: A citation with several wordings of an article, with that of the day first.
        nearer: From a statement, an article's id and how many articles the statement is on, to the
            article whose words it has rather than those of this one; None if there is none.
    """

    resolver: CitationResolver
    articles: Mapping[str, Article]
    of_the_day: Callable[[ResolvedCitation], ResolvedCitation]
    nearer: Callable[[str, str, int], Article | None]


def audit(
    text: str,
    laws: LawCollection,
    on: date | None = None,
    given: Collection[str] | None = None,
) -> list[AuditedCitation]:
    """The citations in words of a text, each with a verdict, in order.

    Reading is strict, as in `check_reply`. A citation that names no law is of the only law that its
    paragraph names so far or, in a paragraph without any, of the only law that the text names.
    What is within a quotation must name its law.

    Args:
        text: Plain text or Markdown; lines may be wrapped.
        laws: What it is checked against.
        on: The day on which the articles should be in force; None leaves that out.
        given: Ids of the articles that the text was written from; None for a text that was not
            written from any.
    """
    return _Audit(text, laws, on, given).citations()


def unwrapped(text: str) -> str:
    """A text of the same length whose wrapped lines are joined by blanks."""
    lines = text.replace("\r\n", " \n").replace("\r", "\n").split("\n")
    joined = lines[:1]
    for before, line in pairwise(lines):
        ends = reply_form("ends_block").match(before) or _BLOCK.match(line)
        goes_on = before.strip() and line.strip() and not ends
        joined += [" " if goes_on else "\n", line]
    return "".join(joined)


class _Audit:
    """One text that is audited."""

    def __init__(
        self,
        text: str,
        laws: LawCollection,
        on: date | None,
        given: Collection[str] | None,
    ) -> None:
        self._text = unwrapped(text)
        plain = self._text.translate(citations.PLAIN_EMPHASIS)
        self._decisions = [each.span() for each in reply_form("decision").finditer(plain)]
        # "BGE 142 III 239" is neither a law's name nor an article.
        self._plain = reply_form("decision").sub(lambda decision: " " * len(decision[0]), plain)
        self._laws, self._names = laws, laws.resolver.names
        self._on, self._given = on, given
        self._resolved = laws.resolver.resolve(self._plain, is_document=True)
        self._quoted = [(each.start, each.end) for each in find_quotations(text)]
        cited = [(each.citation.start, each.citation.end) for each in self._resolved]
        self._sentences = sentence_spans(self._plain, [*self._quoted, *cited], cited)
        self._starts = [start for start, _ in self._sentences]
        self._cited = [each.citation.start for each in self._resolved]
        self._named = _NamedLaws(self._plain, self._names)
        self._statement_of = cache(self._statement)
        self._paragraphs = [
            0,
            *(each.end() for each in reply_form("empty_line").finditer(self._plain)),
        ]

    def citations(self) -> list[AuditedCitation]:
        """All citations, in order."""
        audited = []
        for resolved in self._resolved:
            start, end = resolved.citation.start, resolved.citation.end
            end += len(resolved.citation.unread)
            verdict, why, ids, law = self._judged(resolved)
            words = self._text[start:end]
            audited.append(AuditedCitation(start, end, words, verdict, ids, law, why))
        spans = [(each.start, each.end) for each in audited]
        for start, end, why in self._unread(spans):
            words = self._text[start:end]
            audited.append(AuditedCitation(start, end, words, "not checked", why=why))
        return sorted(audited, key=lambda each: each.start)

    def _unread(self, read: list[tuple[int, int]]) -> Iterator[tuple[int, int, str]]:
        """What looks like a citation and was not read as one, and why: nothing is left out."""
        yield from ((*span, "it is a decision of a court") for span in self._decisions)
        american = find_american(self._plain)
        whole = [(each.start, each.end) for each in american if not each.citations]
        yield from ((*span, "it names no section") for span in whole)
        covered = joined_spans([*read, *whole, *(each.citation.group for each in self._resolved)])
        for found in reply_form("unit_and_number").finditer(self._plain):
            start, end = found.span()
            place = bisect_left(covered, (end,))  # the last span that begins before its end
            if not place or covered[place - 1][1] <= start:
                clause = re.match(r"cl|klausel", found[0], re.IGNORECASE)
                why = _OF_A_PRIVATE_PAPER if clause else "its form is not read"
                yield start, start + len(found[0].rstrip(".,:;/-")), why

    def _judged(self, resolved: ResolvedCitation) -> _Judgement:
        citation = resolved.citation
        the = "" if citation.code else "the "  # "Title 15, United States Code"
        if citation.reference == "named" and not resolved.laws:
            hint = " ".join((citation.law_hint or "").split())
            if _PRIVATE.search(hint):
                return "not checked", _OF_A_PRIVATE_PAPER, (), None
            return "unknown law", f"this collection does not hold {the}{hint}", (), None
        law, why, is_near = self._law(resolved)
        if law is None:
            return "not checked", why, (), None
        if citation.unread:
            return "not checked", f"{resolved.unfollowed} is not read", (), law
        ids = tuple(id_ for id_ in resolved.ids if self._laws.resolver.law_of(id_) == law)
        resolved = replace(resolved, ids=ids)
        if why := self._misnamed(resolved, law):
            return "not checked", why, ids, law
        if ids and not resolved.absent:
            return *self._existing(resolved), law
        # The law does not have the article, or an end of a range.
        other_unit = citation.kind in ("rule", "regulation") and citation.kind not in law.casefold()
        if other_unit or resolved.unfollowed is not None:
            return "not checked", "it was not looked up", ids, law
        if not is_near:
            return "not checked", _WHICH_LAW, ids, law
        missing = f"{citation.kind} {resolved.absent}" if resolved.absent else citation.text.strip()
        return "does not exist", f"{the}{law} has no {missing}", ids, law

    def _law(self, resolved: ResolvedCitation) -> tuple[str | None, str, bool]:
        """The law of a citation, or why it is unknown; and whether it is named nearby."""
        citation = resolved.citation
        start, end = citation.group
        fitting = [self._laws.articles[id_] for id_ in resolved.ids[:1]]
        if citation.kind == "paragraph" or citations.is_paragraph(citation, self._plain, fitting):
            return None, "it is a part of an article", False
        if resolved.laws:
            # Of several laws of one name the only one with such an article is meant.
            holding = {self._laws.resolver.law_of(id_) for id_ in resolved.ids}
            laws = sorted(holding) or resolved.laws
            return (laws[0] if len(laws) == 1 else None), _WHICH_LAW, True
        if any(first <= citation.start < last for first, last in self._quoted):
            return None, "it is within a quotation", False
        if reply_form("of_the_document").match(self._plain, end):
            return None, "it may be a part of this document", False
        if finding.is_of_something(self._plain, end):
            return None, _WHICH_LAW, False
        begin = self._paragraphs[bisect_right(self._paragraphs, start) - 1]
        stop = self._sentence(citation)[1]
        law, names_any = self._named.within(max(begin, stop - _NEARBY), stop)
        if law is not None:
            return law, "", True
        return (None if names_any else self._law_of_the_text), _WHICH_LAW, False

    @cached_property
    def _law_of_the_text(self) -> str | None:
        # A title in capitals does not name a law by its initials.
        text = reply_form("in_capitals").sub("\n", self._plain)
        named = self._named if text == self._plain else _NamedLaws(text, self._names)
        return named.within(0, len(text))[0]

    def _misnamed(self, resolved: ResolvedCitation, law: str) -> str:
        """What suggests that a citation means another law or another text; "" if nothing does."""
        citation = resolved.citation
        if resolved.doubtful:
            return _OTHERWISE
        if (
            citation.kind == "section"
            and finding.after_divisions(self._plain, citation.group[1])[1]
        ):
            return "it may be a division"
        if citation.law_hint is not None:
            if not citations.names_law(citation, law, self._text, self._plain, self._names):
                return _OTHERWISE
        elif citations.speaks_of_another_law(self._plain, citation, law, self._names):
            return _WHICH_LAW
        article = self._laws.articles[resolved.ids[0]] if resolved.ids else None
        language, number = (article.language, article.number) if article else (None, "")
        return citations.doubt_of(citation, self._plain, law, language, number)

    def _existing(self, resolved: ResolvedCitation) -> tuple[Verdict, str, tuple[str, ...]]:
        """The verdict on a citation of articles that its law has."""
        resolved = self._laws.of_the_day(resolved)
        citation, ids = resolved.citation, resolved.ids
        if citation.onward or resolved.unfollowed is not None:
            return "not checked", "it names several articles", ids[:1]
        if citation.through is None and not resolved.certain and not self._are_one_section(ids):
            return "not checked", "it fits several articles of the law", ids
        for each in _by_paragraph(citation):
            why = citations.lacks(self._laws.articles[ids[0]], each, self._plain)
            named = reply_form("first_level").match(each.paragraph or "")
            if why == citations.NO_PARAGRAPH and named:
                last = _last_paragraph(self._laws.articles[ids[0]])
                if last is not None and int(named[1]) > last:
                    why = f"the article has no paragraph ({int(named[1])}); its last is ({last})"
                    return "does not exist", why, ids
            if why:
                return "not checked", why, ids
        for id_ in (ids[0], ids[-1]):
            if why := _not_in_force(self._laws.articles[id_], self._on):
                return "not in force", why, ids
        if citation.through is None and (nearer := self._nearer(citation, ids)):
            return "subject differs", f"its words are those of {_place(nearer)}", ids
        if self._given is not None and not all(id_ in self._given for id_ in ids):
            return "not given", "it exists, but the text was not written from it", ids
        return "verified", "", ids

    def _are_one_section(self, ids: tuple[str, ...]) -> bool:
        """Whether articles are the paragraphs of one section that is printed in parts."""
        numbers = [parse_number(self._laws.articles[id_].number) for id_ in ids]
        known = [number for number in numbers if number is not None]
        sections = {(number.core, number.division) for number in known}
        parts = {number.paragraphs for number in known}
        return len(known) == len(ids) == len(parts) and len(sections) == 1

    def _nearer(self, citation: Citation, ids: tuple[str, ...]) -> Article | None:
        """The article whose words a citation's sentence has, where it lacks those of the cited."""
        statement, n_citations = self._statement_of(*self._sentence(citation))
        if n_citations > _MOST_IN_A_STATEMENT:
            return None
        nearer = [self._laws.nearer(statement, id_, n_citations) for id_ in ids]
        return nearer[0] if nearer and all(nearer) else None

    def _statement(self, start: int, end: int) -> tuple[str, int]:
        """What a sentence says apart from its citations, and how many these are."""
        first = bisect_left(self._cited, start)
        within = self._resolved[first : bisect_left(self._cited, end)]
        groups = sorted({each.citation.group for each in within})
        parts, place = [], start
        for begin, stop in groups:
            parts.append(self._plain[place:begin])
            place = max(place, stop)
        parts.append(self._plain[place:end])
        return finding.NAME_OF_A_LAW.sub(" ", " ".join(parts)), len(groups)

    def _sentence(self, citation: Citation) -> tuple[int, int]:
        place = max(0, bisect_right(self._starts, citation.start) - 1)
        return self._sentences[place]


class _NamedLaws:
    """The laws that a text names, with their places, found once for all of its citations."""

    def __init__(self, text: str, names: LawNames) -> None:
        self._text, self._names = text, names
        self._known = sorted(names.places(text))
        self._written: list[tuple[int, int, tuple[str, ...]]] = [
            (*match.span(), ())
            for match in finding.NAME_OF_A_LAW.finditer(text)
            if match[0] not in finding.GENERIC_NAMES
        ]
        self._is_sure = cache(self._means)

    def within(self, start: int, end: int) -> tuple[str | None, bool]:
        """The only law that text[start:end] names for sure, and whether it names any."""
        known, written = (
            [
                each
                for each in spans[bisect_left(spans, (start,)) : bisect_left(spans, (end,))]
                if each[1] <= end
            ]
            for spans in (self._known, self._written)
        )
        laws = {law for _, _, of_name in known for law in of_name}
        if len(laws) != 1:
            return None, bool(laws or written)
        (law,) = laws
        sure = all(self._is_sure(first, last, law) for first, last, _ in written)
        return law if sure else None, True

    def _means(self, start: int, end: int, law: str) -> bool:
        """Whether the name text[start:end] means a law, and no other one."""
        name = self._text[start:end]
        if law not in self._names.anywhere(name) or not citations.is_name(name, law, self._names):
            return False
        return not citations.doubt_of_name(self._text, start, end, law)


def _by_paragraph(citation: Citation) -> Iterator[Citation]:
    """A citation, and again with each further paragraph that its words name: "Abs. 1 und 7"."""
    if citation.through is not None:
        return
    yield citation
    further = reply_form("further_paragraphs").search(citation.text)
    if further and reply_form("first_level").fullmatch(citation.paragraph or ""):
        for number in re.findall(r"\d+", further[0]):
            yield citation._replace(paragraph=f"({number})")


def _last_paragraph(article: Article) -> int | None:
    """The last paragraph of an article; None unless it numbers them all without a gap."""
    number = parse_number(article.number)
    printed = [int(each) for each in reply_form("numbered_paragraph").findall(article.text)]
    whole = len(printed) > 1 and printed == list(range(1, len(printed) + 1))
    own = number is not None and not number.paragraphs and article.text.lstrip().startswith("(1)")
    return printed[-1] if whole and own else None


def _not_in_force(article: Article, on: date | None) -> str:
    """Why an article does not bind on a day; "" if it may.

    Without a day only a note of repeal, which has no words that could bind, does not.
    """
    if on is None and not article.is_stub:
        return ""
    state = article.state(on or date.max)
    if state == "repealed":
        when = f"; its last day in force was {article.valid_to}" if article.valid_to else ""
        return f"{_place(article)} is repealed{when}"
    if state == "not yet in force":
        return f"{_place(article)} is not yet in force; its first day is {article.valid_from}"
    return ""


def _place(article: Article) -> str:
    return f"{article.law}, {article.number}"
