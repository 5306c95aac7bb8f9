"""From citations to the articles of a corpus."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from components.statutes.article import Article
from components.statutes.citation_numbers import parse_number
from components.statutes.citations import PLAIN_CHARACTERS, Citation, find_citations
from components.statutes.law_hints import OTHER_LAW, PRIVATE_PAPER, after_divisions
from components.statutes.law_names import LawNames

_PRIVATE_PAPER = re.compile(rf"\b(?:{PRIVATE_PAPER})\b|合同|协议|租约", re.IGNORECASE)
_LONGEST_RANGE = 200  # articles; a longer "from 1 to 900" speaks of a book, not of articles


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
        missing: Whether it names an article that the corpus does not hold: `ids` is (), and the
            text speaks of no contract.
    """

    citation: Citation
    ids: tuple[str, ...]
    certain: bool
    laws: tuple[str, ...]
    missing: bool


@dataclass(frozen=True, slots=True)
class CrossReferences:
    """Who cites whom in a corpus.

    Attributes:
        pairs: (position of the citing article, position of the cited one), sorted, each pair once;
            none cites itself.
        unresolved: Citations that lead to no article of the corpus.
    """

    pairs: list[tuple[int, int]]
    unresolved: int


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
        fitting: Ids already looked up: a text of ten thousand "art. 1" is one search.
    """

    text: str
    here: int | None
    private: bool
    previous: tuple[str, ...] = ()
    previous_end: int = 0
    spoken: tuple[str, ...] | None = None
    fitting: dict[tuple[object, ...], tuple[str, ...]] = field(default_factory=dict)

    def in_one_breath(self, citation: Citation) -> bool:
        """Whether a Chinese citation continues the sentence of the last one that named a law.

        A further article in it is one of the same law: 刑法第二条规定的…罪，第九条规定的…罪.
        """
        between = self.text[self.previous_end : citation.start]
        return citation.text.startswith("第") and not re.search(r"[。；;\n]", between)


class CitationResolver:
    """Finds the articles that a text cites.

    Numbers are compared in one form ("L. 1221-1", "l1221-1"). A citation more precise than the
    printed numbers finds the article that holds it ("article 12(3)" finds 12); a less precise one
    finds every part ("section 2" finds "s.2(1)", "s.2(2)"). A citation of a law that the corpus
    lacks, or of a private paper ("section 5 of my contract"), finds nothing. One that names no law
    fits the laws that the text names elsewhere, else every law with that number.
    """

    def __init__(
        self, entries: Iterable[tuple[str, str, str]], names: LawNames | None = None
    ) -> None:
        """Reads the corpus's directory.

        Args:
            entries: (id, law, number as printed) of every article, in the corpus's order.
            names: of the corpus's laws, where they are at hand already.
        """
        self._ids: list[str] = []
        self._position: dict[str, int] = {}
        self._law: list[str] = []
        # law -> core -> [(division, paragraphs, position)]
        self._numbers: dict[str, dict[str, list[tuple[str, tuple[str, ...], int]]]] = {}
        self._division: list[str] = []
        for position, (article_id, law, printed) in enumerate(entries):
            self._ids.append(article_id)
            self._position[article_id] = position
            self._law.append(law)
            number = parse_number(printed)
            numbers = self._numbers.setdefault(law, {})
            self._division.append(number.division if number else "")
            if number:
                numbers.setdefault(number.core, []).append(
                    (number.division, number.paragraphs, position)
                )
        self._names = LawNames(self._numbers) if names is None else names

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
        here = None if within is None else self._position[within]
        context = _Context(plain, here, here is None and bool(_PRIVATE_PAPER.search(plain)))
        resolved: list[ResolvedCitation] = []
        for citation in find_citations(text, language):
            named = self._named_laws(citation, context)
            laws = self._supposed_laws(context) if named is None else named
            if named is not None or citation.reference == "own":
                context.previous, context.previous_end = laws, citation.end
            ids = self._fitting_ids(citation, laws, context)
            certain = len(ids) == 1 and self._is_certain(citation, context, named is not None)
            # A paragraph may be one within an article.
            missing = not (ids or citation.kind == "paragraph" or context.private)
            resolved.append(ResolvedCitation(citation, ids, certain, named or (), missing))
        return resolved

    def _named_laws(self, citation: Citation, context: _Context) -> tuple[str, ...] | None:
        """The laws named beside a citation; () for one that the corpus lacks, None for no name."""
        start, end = citation.group
        if citation.reference == "same":
            return context.previous
        if citation.reference == "own":
            return None
        after, _ = after_divisions(context.text, end)
        laws = self._names.after(context.text, after) or self._names.before(context.text, start)
        if laws:
            return laws
        if citation.reference == "named":
            return ()
        if context.previous_end and context.in_one_breath(citation):
            return context.previous
        return None

    def _supposed_laws(self, context: _Context) -> tuple[str, ...]:
        """The laws that a citation without one can mean."""
        if context.here is not None:
            return (self._law[context.here],)
        if context.spoken is None:
            named = self._names.anywhere(context.text)
            context.spoken = tuple(law for law in self._numbers if law in named)
        return context.spoken or tuple(self._numbers)

    def _is_certain(self, citation: Citation, context: _Context, named: bool) -> bool:
        """Whether nothing speaks against the one article found."""
        if citation.kind == "paragraph":
            return False
        if citation.kind == "section" and after_divisions(context.text, citation.group[1])[1]:
            return False  # "section 3 of Chapter 2" may be a division
        if named or context.here is not None:
            return True
        if context.private:
            return False  # "the Housing Code allows it, but my contract says in section 5 …"
        if context.spoken:
            return True
        return (
            len(self._numbers) == 1
            and citation.kind in ("article", "section")
            and OTHER_LAW.search(context.text) is None
        )

    def _fitting_ids(
        self, citation: Citation, laws: tuple[str, ...], context: _Context
    ) -> tuple[str, ...]:
        """Ids of the articles of these laws that fit a citation, in the corpus's order."""
        key = (
            *citation.readings,
            citation.paragraph,
            citation.division,
            citation.kind == "paragraph",
            laws,
        )
        if key not in context.fitting:
            fitting = (p for law in laws for p in self._fitting(citation, law, context.here))
            context.fitting[key] = tuple(self._ids[p] for p in sorted(fitting))
        return context.fitting[key]

    def _fitting(self, citation: Citation, law: str, here: int | None) -> list[int]:
        """Positions of a law's articles that fit a citation."""
        division = citation.division
        if division is None and here is not None and citation.kind == "paragraph":
            division = self._division[here] or None
        for number, through in citation.readings:
            span = self._span(law, self._numbered(citation, law, number, division), through)
            if span is not None:
                return span
        # "12 to 999" where there is no 999.
        return self._numbered(citation, law, citation.number, division)

    def _numbered(
        self, citation: Citation, law: str, number: str, division: str | None
    ) -> list[int]:
        """Positions of a law's articles of a number, at the cited levels."""
        places: dict[str, list[tuple[tuple[str, ...], int]]] = {}
        for place, paragraphs, position in self._numbers[law].get(number, ()):
            if _reaches(citation, place, division):
                places.setdefault(place, []).append((paragraphs, position))
        levels = tuple(re.findall(r"\w+", citation.paragraph or ""))
        return [p for entries in places.values() for p in _at_levels(entries, levels)]

    def _span(self, law: str, found: list[int], through: str | None) -> list[int] | None:
        """Positions from the first found through the last of a number, None where none lies so."""
        if not found or through is None:
            return found or None
        first, division = found[0], self._division[found[0]]
        numbers = self._numbers[law].get(through, ())
        last = max((p for place, _, p in numbers if place == division), default=-1)
        if last < first:
            return None
        inside = range(first, last + 1)
        span = [p for p in inside if self._law[p] == law and self._division[p] == division]
        return span if len(span) <= _LONGEST_RANGE else []


def cross_references(
    articles: Sequence[Article], with_texts: Iterable[Article] | None = None
) -> CrossReferences:
    """The citations between the articles of a corpus.

    A citation without a law means the citing article's own law.

    Args:
        articles: The corpus, in its order.
        with_texts: The same articles, read one by one, where those of `articles` come without
            their texts.
    """
    resolver = CitationResolver((article.id, article.law, article.number) for article in articles)
    position_of = {article.id: position for position, article in enumerate(articles)}
    pairs: set[tuple[int, int]] = set()
    unresolved = 0
    for position, article in enumerate(articles if with_texts is None else with_texts):
        for resolved in resolver.resolve(
            article.text, within=article.id, language=article.language
        ):
            unresolved += not resolved.ids
            pairs.update((position, position_of[cited]) for cited in resolved.ids)
    pairs.difference_update([(position, position) for position in range(len(articles))])
    return CrossReferences(sorted(pairs), unresolved)


def _reaches(citation: Citation, place: str, division: str | None) -> bool:
    """Whether a citation can mean an article printed in a place (`ArticleNumber.division`)."""
    if division is not None:
        return place == division
    if citation.kind == "paragraph":
        return place != "" or "." in citation.number
    return place == ""


def _at_levels(entries: list[tuple[tuple[str, ...], int]], levels: tuple[str, ...]) -> list[int]:
    """The entries at the cited levels; else those below; else the nearest that hold them."""
    if exact := [position for paragraphs, position in entries if paragraphs == levels]:
        return exact
    depth = len(levels)
    if below := [position for paragraphs, position in entries if paragraphs[:depth] == levels]:
        return below
    for above in range(depth - 1, -1, -1):
        if holding := [
            position for paragraphs, position in entries if paragraphs == levels[:above]
        ]:
            return holding
    return []
