"""A reply checked against the articles that it was written from.

Three states, never two: what was looked up and stands there is verified, what was looked up and
does not is not found, and what there was no way to look up is not checked. That a citation is
verified means that it names an article that was given, not that the article says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from components.statutes.citation_resolver import CitationResolver
from components.statutes.replies.plain_text import PlainText, plain_text
from components.statutes.replies.quotations import Quotation, find_quotations
from components.statutes.replies.reference_marks import find_reference_marks
from components.statutes.replies.sentences import sentence_spans

CheckState = Literal["verified", "not found", "not checked"]
SHORTEST_QUOTATION = 12
_ENDING = ".,;: "


class Source(Protocol):
    """An article that a reply was written from; the reply's [1] is the first."""

    @property
    def id(self) -> str:
        """Unique among the sources."""

    @property
    def law(self) -> str:
        """The code or act."""

    @property
    def number(self) -> str:
        """As printed."""

    @property
    def text(self) -> str:
        """The article's words."""


@dataclass(frozen=True, slots=True)
class CheckedCitation:
    """A citation of a reply.

    Attributes:
        start, end: Its span in the reply.
        text: Its words.
        state: Whether it names an article that was given.
        ids: Of the articles that it names.
        why: What speaks against it; "" when verified.
    """

    start: int
    end: int
    text: str
    state: CheckState
    ids: tuple[str, ...]
    why: str = ""


@dataclass(frozen=True, slots=True)
class CheckedQuotation:
    """A quotation of a reply.

    Attributes:
        start, end: Its span in the reply, with its marks.
        text: What is quoted.
        state: Whether it stands, in one piece, in the article cited for it.
        id: The article that it was looked for in; None where none is cited.
        passage: Where it stands in that article's text.
        why: What speaks against it; "" when verified.
    """

    start: int
    end: int
    text: str
    state: CheckState
    id: str | None = None
    passage: tuple[int, int] | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class CheckedStatement:
    """A sentence of a reply.

    Attributes:
        start, end: Its span in the reply.
        text: Its words.
        cited: Whether a verified citation stands in it.
        citations, quotations: Those that stand in it, in their order.
    """

    start: int
    end: int
    text: str
    cited: bool
    citations: tuple[CheckedCitation, ...]
    quotations: tuple[CheckedQuotation, ...]


@dataclass(frozen=True, slots=True)
class CheckedReply:
    """A reply, sentence by sentence.

    Attributes:
        text: As it was written.
        statements: Its sentences, in their order.
    """

    text: str
    statements: tuple[CheckedStatement, ...]

    @property
    def citations(self) -> list[CheckedCitation]:
        """All citations, in their order."""
        return [each for statement in self.statements for each in statement.citations]

    @property
    def quotations(self) -> list[CheckedQuotation]:
        """All quotations, in their order."""
        return [each for statement in self.statements for each in statement.quotations]


def check_reply(reply: str, sources: Sequence[Source], language: str | None = None) -> CheckedReply:
    """Check every citation and quotation of a reply.

    - A citation is a reference mark ([1], [2, 3]), or one in words ("section 12 of the Housing
      Code"). It must name one of the sources.
    - A quotation must be one piece of the text of *the* article that is cited for it, from word to
      word, of 12 characters at least, after blanks, quotation marks and dashes are made alike. The
      article is that of the next citation behind it in its sentence, else of the last one before.

    Args:
        reply: What was written.
        sources: The articles that it was written from, each id once.
        language: BCP 47 tag of the reply, where known.
    """
    quotations = find_quotations(reply)
    quoted = [(each.start, each.end) for each in quotations]
    citations = [
        *_reference_marks(reply, sources),
        *_in_words(reply, sources, language, quoted),
    ]
    citations.sort(key=lambda each: each.start)
    whole = [*quoted, *((each.start, each.end) for each in citations)]
    texts = _Texts(sources)
    statements = []
    for start, end in sentence_spans(reply, whole):
        own = [each for each in citations if start <= each.start < end]
        checked = [texts.checked(each, own) for each in quotations if start <= each.start < end]
        cited = any(each.state == "verified" for each in own)
        statements.append(
            CheckedStatement(start, end, reply[start:end], cited, tuple(own), tuple(checked))
        )
    return CheckedReply(reply, tuple(statements))


def _reference_marks(reply: str, sources: Sequence[Source]) -> list[CheckedCitation]:
    found = []
    for mark in find_reference_marks(reply):
        words = reply[mark.start : mark.end]
        ids = tuple(
            sources[number - 1].id for number in mark.numbers if 1 <= number <= len(sources)
        )
        if len(ids) == len(mark.numbers):
            found.append(CheckedCitation(mark.start, mark.end, words, "verified", ids))
        else:
            why = f"there are {len(sources)} articles; it names another"
            found.append(CheckedCitation(mark.start, mark.end, words, "not found", (), why))
    return found


def _in_words(
    reply: str,
    sources: Sequence[Source],
    language: str | None,
    quoted: Sequence[tuple[int, int]],
) -> list[CheckedCitation]:
    """Citations in words; what a quotation cites is the law's affair and not the reply's."""
    resolver = CitationResolver((each.id, each.law, each.number) for each in sources)
    found = []
    for resolved in resolver.resolve(reply, language=language):
        citation = resolved.citation
        if any(start <= citation.start < end for start, end in quoted):
            continue
        state: CheckState = "verified"
        why = ""
        if not resolved.ids:
            state, why = "not found", "none of the articles is this one"
        elif not resolved.certain:
            state = "not checked"
            why = (
                "it fits several of the articles"
                if len(resolved.ids) > 1
                else "it does not say of which law"
            )
        found.append(
            CheckedCitation(citation.start, citation.end, citation.text, state, resolved.ids, why)
        )
    return found


class _Texts:
    """The sources' texts as they are compared, each made once."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self._plain: dict[str, PlainText] = {}

    def checked(
        self, quotation: Quotation, citations: Sequence[CheckedCitation]
    ) -> CheckedQuotation:
        state, id_, passage, why = self._result(quotation, citations)
        return CheckedQuotation(
            quotation.start, quotation.end, quotation.text, state, id_, passage, why
        )

    def _result(
        self, quotation: Quotation, citations: Sequence[CheckedCitation]
    ) -> tuple[CheckState, str | None, tuple[int, int] | None, str]:
        looked_for = plain_text(quotation.text).text
        if len(looked_for.rstrip(_ENDING)) < SHORTEST_QUOTATION:
            return "not checked", None, None, f"shorter than {SHORTEST_QUOTATION} characters"
        if not quotation.closed:
            return "not checked", None, None, "its closing quotation mark is missing"
        ids = _cited_for(quotation, citations)
        for id_ in ids:
            if passage := self._passage(id_, looked_for):
                return "verified", id_, passage, ""
        elsewhere = [each for each in self._sources if self._passage(each.id, looked_for)]
        if not elsewhere:
            return "not found", ids[0] if ids else None, None, "none of the articles says it so"
        place = f"{elsewhere[0].law}, {elsewhere[0].number}"
        if ids:
            return "not found", ids[0], None, f"it stands in {place}, not in the article cited"
        return "not checked", None, None, f"it stands in {place}, which is not cited for it"

    def _passage(self, id_: str, looked_for: str) -> tuple[int, int] | None:
        if id_ not in self._plain:
            text = next(each.text for each in self._sources if each.id == id_)
            self._plain[id_] = plain_text(text)
        article = self._plain[id_]
        # Punctuation goes inside the closing mark in some styles, whatever the law has there.
        return article.find(looked_for) or article.find(looked_for.rstrip(_ENDING))


def _cited_for(quotation: Quotation, citations: Sequence[CheckedCitation]) -> tuple[str, ...]:
    """The articles of the next citation behind, else of the last one before; () for none."""
    # A mark just inside the closing quotation mark stands behind what is quoted.
    behind = [each for each in citations if each.start >= quotation.start + len(quotation.text)]
    near = behind[:1] or list(citations)[-1:]
    return near[0].ids if near and near[0].state != "not checked" else ()
