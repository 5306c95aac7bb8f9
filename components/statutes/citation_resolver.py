"""From citations to the articles of a corpus."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from components.statutes.citation_markers import any_language
from components.statutes.citations import (
    PLAIN_CHARACTERS,
    Citation,
    find_citations,
    read_citations,
)
from components.statutes.law_hints import (
    OTHER_LAW,
    PRIVATE_PAPER,
    after_divisions,
    hint_behind,
    is_of_something,
)
from components.statutes.law_names import LawNames, NamedLaws
from components.statutes.number_index import Fitting, NumberIndex
from components.statutes.places import is_of

MOST_CITATIONS = 30
"""Citations that are read of a question."""
MOST_RANGES = 8
"""Ranges that are followed of a question."""
_MOST_LOOKUPS = 6_000  # laws looked into and articles found for a question

_OF = re.compile(rf"\s*(?:(?:{any_language('of')})\b|(?:de l|d)['’])", re.IGNORECASE)
_APART = re.compile(r"\s*[,;]")
# The Tenancy Act, the Contract Code and 劳动合同法 are law.
_PRIVATE_PAPER = re.compile(
    rf"\b(?:{PRIVATE_PAPER})\b(?!(?-i:\s+(?:Act|Code|Ordinance)\b))|(?:合同|协议)(?![法编])|租约",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ResolvedCitation:
    """A citation and the articles that fit it.

    Attributes:
        citation: What the text says.
        ids: Ids of the articles that fit, in the corpus's order; () where none does.
        certain: Whether it names the one article of `ids` without doubt: its law is named beside
            it; or named elsewhere in the text, or the only one of the corpus, while the text
            speaks of no contract and no other law.
        laws: Laws of the corpus that are named beside it; () where none is.
        clear: Whether it would be certain if `ids` were one. They may be wordings of one article:
            only their dates show it.
        missing: Whether it names an article that the corpus does not hold: `ids` is (), and the
            text speaks of no contract.
        absent: The end of a range that the corpus does not hold, canonical, where `ids` are
            those of the range that it does; else None.
        doubtful: Whether other words beside their name may make it another law's: "National" in
            front of "Housing Code".
        unfollowed: What of it was not looked up, being too much: the citation's text, or, of a
            range of one law, the numbers behind its first `LONGEST_RANGE` articles; None where
            all of it was.
    """

    citation: Citation
    ids: tuple[str, ...]
    certain: bool
    clear: bool
    laws: tuple[str, ...]
    missing: bool
    absent: str | None = None
    doubtful: bool = False
    unfollowed: str | None = None


class ResolvedQuestion(NamedTuple):
    """The citations of a question, as far as they were followed.

    Attributes:
        citations: At most `MOST_CITATIONS`, in their order.
        unread: The question from the first further citation on; "" where there is none.
    """

    citations: list[ResolvedCitation]
    unread: str


class _Found(NamedTuple):
    """The articles of some laws that fit a citation; see `ResolvedCitation` and `Fitting`."""

    ids: tuple[str, ...]
    absent: str | None
    known: bool
    unfollowed: str | None


@dataclass(slots=True)
class _Bounds:
    """What of a question may still be followed."""

    ranges: int = MOST_RANGES
    lookups: int = _MOST_LOOKUPS


@dataclass(slots=True)
class _Context:
    """What has been read of a text so far.

    Attributes:
        text: The text, in plain characters.
        here: Position of the article whose text it is, None for a question.
        private: Whether a question speaks of a contract, whose sections have numbers too.
        previous: The laws of the last citation that named one; () where the corpus lacks it.
        previous_end: Where that citation ends; 0 before the first.
        spoken: The laws named anywhere in the text; None until somebody asks.
        foreign: Whether a law is named beside a citation that the corpus lacks.
        other_law: What `names_other_law` returns; None until it is first called.
        fitting: What was looked up already: a text of ten thousand "art. 1" is one search.
        bounds: What may still be followed; None for all.
    """

    text: str
    here: int | None
    private: bool
    previous: tuple[str, ...] = ()
    previous_end: int = 0
    spoken: tuple[str, ...] | None = None
    foreign: bool = False
    other_law: bool | None = None
    fitting: dict[tuple[object, ...], _Found] = field(default_factory=dict)
    bounds: _Bounds | None = None

    def names_other_law(self) -> bool:
        """Whether the text names anything that looks like a law; it is searched once."""
        if self.other_law is None:
            self.other_law = OTHER_LAW.search(self.text) is not None
        return self.other_law

    def in_one_breath(self, citation: Citation) -> bool:
        """Whether a Chinese citation continues the sentence of the last one that named a law.

        A further article in it is one of the same law: 刑法第二条规定的…罪，第九条规定的…罪.
        """
        between = self.text[self.previous_end : citation.start]
        return citation.text.startswith("第") and not re.search(r"[。；;\n]", between)


class CitationResolver:
    """Finds the articles that a text cites.

    Numbers are compared in one form ("L. 1221-1", "l1221-1"). A citation more precise than the
    printed numbers finds the article that holds it ("article 12(3)", and "12.3" where no number
    has a dot, find 12); a less precise one finds every part ("section 2" finds "s.2(1)",
    "s.2(2)"). A range finds what there is of it. A citation of a law that the corpus lacks, or of
    a private paper ("section 5 of my contract"), finds nothing. One that names no law fits the
    laws that the text names elsewhere, else every law with that number.
    """

    def __init__(
        self,
        entries: Iterable[tuple[str, str, str]],
        names: LawNames | None = None,
        *,
        whole: bool = True,
    ) -> None:
        """Reads the corpus's directory.

        Args:
            entries: (id, law, number as printed) of every article, in the corpus's order.
            names: of the corpus's laws, where they are at hand already.
            whole: whether a number that is not in the directory is none of its law's.
        """
        self._index = NumberIndex(entries, whole=whole)
        self._names = LawNames(self._index.laws) if names is None else names

    def resolve(
        self, text: str, *, within: str | None = None, language: str | None = None
    ) -> list[ResolvedCitation]:
        """The citations of a text with the articles that fit each.

        Args:
            text: A question, an answer or an article's text.
            within: Id of the article whose text it is: "this Act" and citations without a law
                then mean that article's law. None for a question.
            language: BCP 47 tag of the text, where known.

        Raises:
            KeyError: `within` is no id of the corpus.
        """
        here = None if within is None else self._index.position[within]
        return self._resolved(text, find_citations(text, language), here, None)

    def resolve_question(self, question: str) -> ResolvedQuestion:
        """The citations of a question from outside, with a bound on the work.

        `MOST_CITATIONS` are read and `MOST_RANGES` ranges followed; what is not followed is named
        in `unread` and in the citations' `unfollowed`.
        """
        cited, end = read_citations(question, most=MOST_CITATIONS)
        return ResolvedQuestion(self._resolved(question, cited, None, _Bounds()), question[end:])

    def _resolved(
        self, text: str, cited: list[Citation], here: int | None, bounds: _Bounds | None
    ) -> list[ResolvedCitation]:
        plain = text.translate(PLAIN_CHARACTERS)
        private = here is None and bool(_PRIVATE_PAPER.search(plain))
        context = _Context(plain, here, private, bounds=bounds)
        found: list[tuple[Citation, NamedLaws | None, tuple[str, ...]]] = []
        for citation in cited:
            named = self._named_laws(citation, context)
            laws = self._supposed_laws(context) if named is None else named.laws
            if named is not None or citation.reference == "own":
                context.previous, context.previous_end = laws, citation.end
            found.append((citation, named, laws))
        context.foreign = any(named is not None and not named.laws for _, named, _ in found)
        resolved: list[ResolvedCitation] = []
        for citation, named, laws in found:
            ids, absent, known, unfollowed = self._fitting(citation, laws, context)
            clear = (
                unfollowed is None
                and (len(ids) == 1 or (len(ids) > 1 and citation.through is None))
                and self._is_certain(citation, context, named)
            )
            # A paragraph may be one within an article.
            silent = citation.kind == "paragraph" or context.private
            resolved.append(
                ResolvedCitation(
                    citation,
                    ids,
                    clear and len(ids) == 1,
                    clear,
                    laws=named.laws if named else (),
                    missing=not (ids or known or silent),
                    absent=None if silent else absent,
                    doubtful=named is not None and not named.sure,
                    unfollowed=unfollowed,
                )
            )
        return resolved

    def _named_laws(self, citation: Citation, context: _Context) -> NamedLaws | None:
        """The laws named beside a citation, of which the corpus may have none; None for no name."""
        start, end = citation.group
        if citation.reference == "same":
            # A question may begin with "that Act"; a law means another one by it.
            begins = context.here is None and not context.previous_end
            return None if begins else NamedLaws(context.previous)
        if citation.reference == "own":
            return None
        after, _ = after_divisions(context.text, end)
        behind, before = (
            self._names.after(context.text, after),
            self._names.before(context.text, start),
        )
        # "Housing Code § 12, Work Code § 13": the name behind the comma is the next one's.
        joined = context.text[max(0, start - 9) : start].rstrip()[-1:]
        if (
            before.laws
            and (joined.isalnum() or joined == ":")
            and _APART.match(context.text, after)
        ):
            return before
        if behind.laws and (behind.sure or not before.laws):
            # "Does article 12 apply to the Work Code?" has another citation beside the name.
            return behind if behind.sure or citation.reference == "named" else None
        if before.laws:
            of_it = _OF.match(context.text, after) is None or _may_be_of(context.text, end, before)
            return before if of_it else NamedLaws()
        if citation.reference == "named":
            return NamedLaws()
        if context.previous_end and context.in_one_breath(citation):
            return NamedLaws(context.previous)
        return None

    def _supposed_laws(self, context: _Context) -> tuple[str, ...]:
        """The laws that a citation without one can mean."""
        if context.here is not None:
            return (self._index.law[context.here],)
        if context.spoken is None:
            named = self._names.anywhere(context.text)
            context.spoken = tuple(law for law in self._index.laws if law in named)
        return context.spoken or self._index.laws

    def _is_certain(self, citation: Citation, context: _Context, named: NamedLaws | None) -> bool:
        """Whether nothing speaks against the one article found."""
        if citation.kind == "paragraph":
            return False
        if citation.kind == "section" and after_divisions(context.text, citation.group[1])[1]:
            return False  # "section 3 of Chapter 2" may be a division
        if named is not None or context.here is not None:
            return named is None or named.sure
        if is_of_something(context.text, citation.group[1]):
            return False
        if context.foreign:
            return False  # "article 5 of the Treaty, or article 7"
        if context.private:
            return False  # "the Housing Code allows it, but my contract says in section 5 …"
        if context.spoken:
            return True
        return (
            len(self._index.laws) == 1
            and citation.kind in ("article", "section")
            and not context.names_other_law()
        )

    def _fitting(self, citation: Citation, laws: tuple[str, ...], context: _Context) -> _Found:
        """The articles of these laws that fit, in the corpus's order."""
        key = (
            *citation.readings,
            citation.paragraph,
            citation.division,
            citation.kind,
            laws,
        )
        if key not in context.fitting:
            context.fitting[key] = self._looked_up(citation, laws, context)
        return context.fitting[key]

    def _looked_up(self, citation: Citation, laws: tuple[str, ...], context: _Context) -> _Found:
        printing = self._index.printing(citation, laws)
        bounds = context.bounds
        if printing and bounds is not None and self._index.is_range(citation):
            if bounds.ranges == 0:
                return _Found((), None, True, citation.text)
            bounds.ranges -= 1
        each: list[Fitting] = []
        unfollowed: str | None = None
        for law in printing:
            if bounds is not None and bounds.lookups <= 0:
                unfollowed = citation.text
                break
            each.append(self._index.fitting(citation, law, context.here))
            if bounds is not None:
                bounds.lookups -= 1 + len(each[-1].positions)
        # Article 12.3 of one law is no paragraph of another's article 12.
        each = [fitting for fitting in each if fitting.known] or each
        positions = sorted(p for fitting in each for p in fitting.positions)
        # A range of several laws lacks an end where none of them holds both.
        absent = {fitting.absent for fitting in each if fitting.known}
        if unfollowed is None and any(fitting.rest for fitting in each):
            unfollowed = each[0].rest if len(each) == 1 else citation.text
        return _Found(
            tuple(self._index.ids[p] for p in positions),
            None if None in absent else next(iter(absent), None),
            unfollowed is not None or any(fitting.known for fitting in each),
            unfollowed,
        )


def _may_be_of(text: str, end: int, named: NamedLaws) -> bool:
    """Whether what a citation is said to be of behind it can be the law that is named before it.

    "Under the Housing Act, section 5 of my lease" is of the lease; "Housing Code, article 12 of
    Aldermere" is of that code, as is "article 12 of the Code".
    """
    told = hint_behind(text, end)
    if told is None or told[1] != "named":
        return True
    return any(is_of(law, told[0] or "") for law in named.laws)
