"""From citations to the articles of a corpus."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from components.statutes.citations import PLAIN_CHARACTERS, Citation, find_citations
from components.statutes.law_hints import (
    OTHER_LAW,
    PRIVATE_PAPER,
    after_divisions,
    hint_behind,
    is_of_something,
)
from components.statutes.law_names import LawNames, NamedLaws
from components.statutes.number_index import NumberIndex
from components.statutes.places import is_of

_OF = re.compile(
    r"\s*(?:(?:of|du|de la|del|de los|des|de|der|van|von|vom|của|thuộc)\b|(?:de l|d)['’])",
    re.IGNORECASE,
)
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
    """

    citation: Citation
    ids: tuple[str, ...]
    certain: bool
    clear: bool
    laws: tuple[str, ...]
    missing: bool
    absent: str | None = None
    doubtful: bool = False


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
        fitting: What was looked up already: a text of ten thousand "art. 1" is one search.
    """

    text: str
    here: int | None
    private: bool
    previous: tuple[str, ...] = ()
    previous_end: int = 0
    spoken: tuple[str, ...] | None = None
    foreign: bool = False
    fitting: dict[tuple[object, ...], tuple[tuple[str, ...], str | None, bool]] = field(
        default_factory=dict
    )

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
        plain = text.translate(PLAIN_CHARACTERS)
        here = None if within is None else self._index.position[within]
        context = _Context(plain, here, here is None and bool(_PRIVATE_PAPER.search(plain)))
        found: list[tuple[Citation, NamedLaws | None, tuple[str, ...]]] = []
        for citation in find_citations(text, language):
            named = self._named_laws(citation, context)
            laws = self._supposed_laws(context) if named is None else named.laws
            if named is not None or citation.reference == "own":
                context.previous, context.previous_end = laws, citation.end
            found.append((citation, named, laws))
        context.foreign = any(named is not None and not named.laws for _, named, _ in found)
        resolved: list[ResolvedCitation] = []
        for citation, named, laws in found:
            ids, absent, known = self._fitting(citation, laws, context)
            clear = (len(ids) == 1 or (len(ids) > 1 and citation.through is None)) and (
                self._is_certain(citation, context, named)
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
        return context.spoken or tuple(self._index.laws)

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
            and OTHER_LAW.search(context.text) is None
        )

    def _fitting(
        self, citation: Citation, laws: tuple[str, ...], context: _Context
    ) -> tuple[tuple[str, ...], str | None, bool]:
        """Ids of the articles of these laws that fit, in the corpus's order; `absent`; `known`."""
        key = (
            *citation.readings,
            citation.paragraph,
            citation.division,
            citation.kind,
            laws,
        )
        if key not in context.fitting:
            each = [self._index.fitting(citation, law, context.here) for law in laws]
            # Article 12.3 of one law is no paragraph of another's article 12.
            each = [fitting for fitting in each if fitting.known] or each
            positions = sorted(p for fitting in each for p in fitting.positions)
            # A range of several laws lacks an end where none of them holds both.
            absent = {fitting.absent for fitting in each if fitting.known}
            context.fitting[key] = (
                tuple(self._index.ids[p] for p in positions),
                None if None in absent else next(iter(absent), None),
                any(fitting.known for fitting in each),
            )
        return context.fitting[key]


def _may_be_of(text: str, end: int, named: NamedLaws) -> bool:
    """Whether what a citation is said to be of behind it can be the law that is named before it.

    "Under the Housing Act, section 5 of my lease" is of the lease; "Housing Code, article 12 of
    Aldermere" is of that code, as is "article 12 of the Code".
    """
    told = hint_behind(text, end)
    if told is None or told[1] != "named":
        return True
    return any(is_of(law, told[0] or "") for law in named.laws)
