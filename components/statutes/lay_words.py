"""Lay words: what people say, and how the law says it, as a team lists them.

Tenants ask for their "deposit back"; the law returns a "security deposit". A list is a file of
tab-separated columns, an entry a line, without a header:

    housing <TAB> deposit|deposit back <TAB> security deposit|return of deposit <TAB> us,ca <TAB> en

The field is for whoever keeps the list. Where people say one of the second column's phrases, words
of the third are searched too. The last two columns may be left out: the countries of the law, which
count where the languages of the law name a country ("de-AT"), and the language of the phrases,
which a law in several languages needs.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from components.statutes.languages import known_language
from components.statutes.lexical import analyzer, phrase_analyzer
from components.statutes.sources.reading import (
    BOM,
    SHOWN_PROBLEMS,
    CorpusError,
    Place,
    Problem,
    not_utf8,
    read_whole,
)

# Chosen on training questions of three laws, of .3 to .6.
EXPANSION_WEIGHT = 0.6
"""Of a term that a list adds to a question, where the question's own have 1."""

# How many further words may stand among those of a phrase, in whatever order.
_WORDS_BETWEEN = 2

_COUNTRY = re.compile("[a-z]{2}")
_REGION = re.compile(r"[-_]([a-z]{2})\b", re.IGNORECASE)
_BRITISH = {"uk": "gb"}
_CHARACTER = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")

Phrase = tuple[str, ...]
"""Terms."""


class LayEntry(NamedTuple):
    """One entry of a list.

    Attributes:
        said: phrases that people use.
        law: phrases of the law.
        where: countries of that law, as in BCP 47, lower case; empty for any.
        language: of the phrases, as a BCP 47 tag; "" for every language of the law.
    """

    said: Sequence[str]
    law: Sequence[str]
    where: Sequence[str]
    language: str

    def languages(self, spoken: Set[str | None]) -> Set[str | None]:
        """The languages, of those of a law, by whose rules the phrases are analysed."""
        return spoken & {known_language(self.language)} if self.language else spoken


class Expansion(NamedTuple):
    """What a list makes of some words of a question.

    Attributes:
        said: the phrase that people use, as in the list.
        terms: the question's terms that it stands for.
        phrases: the law's terms by its phrases, as in the list.
    """

    said: str
    terms: frozenset[str]
    phrases: dict[str, Phrase]


def added_terms(expansions: Iterable[Expansion]) -> list[str]:
    """The law's terms of some expansions, each once."""
    phrases = (phrase for each in expansions for phrase in each.phrases.values())
    return list(dict.fromkeys(term for phrase in phrases for term in phrase))


def phrases_by_said(expansions: Iterable[Expansion]) -> dict[str, list[str]]:
    """The law's phrases of some expansions, by what people say."""
    shown: dict[str, dict[str, None]] = {}
    for each in expansions:
        shown.setdefault(each.said, {}).update(dict.fromkeys(each.phrases))
    return {said: list(phrases) for said, phrases in shown.items()}


class LayWords:
    """A list over one law: it finds what people say in a question.

    Words are compared by their stems. A phrase of several words, stop words aside, is found where
    these stand near each other in any order; one that stop words leave with a single word ("owes
    me") is found as it is written. Longer phrases are found first, and no word belongs to two.

    ```python
    from components.statutes.lay_words import LayEntry, LayWords

    entries = [LayEntry(["deposit back"], ["security deposit"], [], "")]
    words = LayWords(entries, ["en"], {"secur", "deposit"}.__contains__)
    words.expansions("How do I get my deposit back?")[0].phrases
    # {"security deposit": ("secur", "deposit")}
    ```

    Args:
        entries: of the list.
        tags: BCP 47 tags of the law's languages.
        occurs: whether a term occurs in the law; a phrase of the law is used if all of its do.

    Attributes:
        n_used: how many entries have a phrase that occurs, and are for one of the law's countries.
    """

    def __init__(
        self,
        entries: Iterable[LayEntry],
        tags: Collection[str | None],
        occurs: Callable[[str], bool],
    ) -> None:
        regions = {each[1].lower() for tag in tags if (each := _REGION.search(tag or ""))}
        countries = {_BRITISH.get(each, each) for each in regions}
        spoken = {known_language(tag) for tag in tags}
        self._matchers: dict[str | None, _Matcher] = {}
        self.n_used = 0
        for entry in entries:
            if countries and entry.where and countries.isdisjoint(entry.where):
                continue
            is_used = False
            for language in entry.languages(spoken):
                analyze = analyzer(language)
                phrases = {law: tuple(dict.fromkeys(analyze(law))) for law in entry.law}
                phrases = {
                    law: terms
                    for law, terms in phrases.items()
                    if terms and all(map(occurs, terms))
                }
                if phrases:
                    matcher = self._matchers.setdefault(language, _Matcher(language))
                    matcher.add(entry.said, phrases)
                    is_used = True
            self.n_used += is_used
        for matcher in self._matchers.values():
            matcher.sort()

    def __deepcopy__(self, _: object) -> LayWords:
        """The same: it never changes, and its analysers hold locks."""
        return self

    def knows(self, word: str) -> bool:
        """Whether the list has a word in what people say, so that it is not a misspelling."""
        return any(matcher.knows(word) for matcher in self._matchers.values())

    def expansions(self, question: str) -> list[Expansion]:
        """What the list makes of a question; phrases whose terms it has already are left out."""
        return [each for matcher in self._matchers.values() for each in matcher.matches(question)]


class _Matcher:
    """The phrases of a list in one language."""

    def __init__(self, language: str | None) -> None:
        self._analyze, self._analyze_all = analyzer(language), phrase_analyzer(language)
        # By terms, and whether these include stop words.
        self._listed: dict[tuple[Phrase, bool], tuple[str, dict[str, Phrase]]] = {}
        self._words: set[str] = set()
        self._near: dict[str, list[Phrase]] = defaultdict(list)
        self._whole: dict[str, list[Phrase]] = defaultdict(list)

    def add(self, said: Iterable[str], phrases: dict[str, Phrase]) -> None:
        for each in said:
            terms, is_whole = _longer(self._analyze(each)), False
            if len(terms) < 2:
                terms = _longer(self._analyze_all(each))
                is_whole = len(terms) > 1
            if terms:
                self._words.update(terms)
                self._listed.setdefault((terms, is_whole), (each, {}))[1].update(phrases)

    def knows(self, word: str) -> bool:
        return not self._words.isdisjoint(self._analyze_all(word))

    def sort(self) -> None:
        """List each phrase under one of its terms: the one in the fewest, to look at few."""
        counts = Counter(term for terms, is_whole in self._listed if not is_whole for term in terms)
        for terms, is_whole in self._listed:
            if is_whole:
                self._whole[terms[0]].append(terms)
            else:
                self._near[min(terms, key=counts.__getitem__)].append(terms)

    def matches(self, question: str) -> Iterator[Expansion]:
        every, content = self._analyze_all(question), self._analyze(question)
        # Terms without stop words are the others in the same order.
        places: list[int] = []
        for place, term in enumerate(every):
            if len(places) < len(content) and term == content[len(places)]:
                places.append(place)
        found = [*self._whole_phrases(every), *self._near_phrases(content, places)]
        of_place = dict(zip(places, content, strict=True))
        taken: set[int] = set()
        own = set(content)
        for terms, is_whole, at in sorted(found, key=lambda each: (-len(each[0]), min(each[2]))):
            if taken.isdisjoint(at):
                taken.update(at)
                said, phrases = self._listed[terms, is_whole]
                new = {law: phrase for law, phrase in phrases.items() if not own.issuperset(phrase)}
                if new:
                    stands_for = (of_place[place] for place in at if place in of_place)
                    yield Expansion(said, frozenset(stands_for), new)

    def _whole_phrases(self, every: list[str]) -> Iterator[tuple[Phrase, bool, Collection[int]]]:
        for place, term in enumerate(every):
            for terms in self._whole.get(term, ()):
                end = place + len(terms)
                if tuple(every[place:end]) == terms:
                    yield terms, True, range(place, end)

    def _near_phrases(
        self, content: list[str], places: list[int]
    ) -> Iterator[tuple[Phrase, bool, Collection[int]]]:
        where: dict[str, list[int]] = defaultdict(list)
        for row, term in enumerate(content):
            where[term].append(row)
        for term, rows in where.items():
            for terms in self._near.get(term, ()):
                if not all(each in where for each in terms):
                    continue
                for row in rows:
                    # Of two as near, the later: a phrase rather goes on than back.
                    near = {min(where[each], key=lambda at: (abs(at - row), -at)) for each in terms}
                    is_near = max(near) - min(near) < len(terms) + 1 + _WORDS_BETWEEN
                    if len(near) == len(terms) and is_near:
                        yield terms, False, [places[each] for each in near]


def _longer(terms: Iterable[str]) -> Phrase:
    """The terms of a phrase, each once.

    Chinese and Japanese texts are read as pairs of characters and then as single ones, which stand
    apart in a sentence: where there are pairs they suffice.
    """
    distinct = tuple(dict.fromkeys(terms))
    return tuple(each for each in distinct if not _CHARACTER.fullmatch(each)) or distinct


# The file.

_COLUMNS = "field, what people say, what the law says, countries, language"


def read_lay_words(path: str | Path, tags: Collection[str | None]) -> list[LayEntry]:
    """The entries of a file.

    Args:
        path: the file; an empty one has none.
        tags: BCP 47 tags of the law's languages.

    Raises:
        CorpusError: the file cannot be read, or an entry is wrong; names every fault.
    """
    spoken = {known_language(tag) for tag in tags}
    content = read_whole(Path(path)).removeprefix(BOM)
    read: list[tuple[Place, LayEntry]] = []
    problems: list[Problem] = []
    for number, line in enumerate(content.split(b"\n"), start=1):
        place = Place(str(path), number)
        try:
            columns = [each.strip() for each in line.decode("utf-8").split("\t")]
        except UnicodeDecodeError as error:
            problems.append(not_utf8(place, line[error.start]))
            continue
        if columns == [""]:
            continue
        if not 3 <= len(columns) <= 5:
            message = f"has {len(columns)} columns, not 3 to 5: {_COLUMNS}"
            repair = "Separate the columns with tabs; only the last two may be left out."
            problems.append(place.problem(message, repair))
            continue
        _, said, law, where, language = (*columns, "", "")[:5]
        countries = [_BRITISH.get(each, each) for each in _parts(where.lower(), ",")]
        entry = LayEntry(_parts(said, "|"), _parts(law, "|"), countries, language)
        if (fault := _fault(place, entry, spoken)) is None:
            read.append((place, entry))
        else:
            problems.append(fault)
    problems += _cycles(read)
    if problems:
        raise CorpusError(sorted(problems, key=lambda each: each.line or 0))
    return [entry for _, entry in read]


def _parts(text: str, separator: str) -> list[str]:
    return [part for each in text.split(separator) if (part := each.strip())]


def _fault(place: Place, entry: LayEntry, spoken: Set[str | None]) -> Problem | None:
    """The first thing wrong with an entry."""
    if wrong := [each for each in entry.where if not _COUNTRY.fullmatch(each)]:
        message = f"'{wrong[0]}' is not a country"
        return place.problem(message, 'Write its two letters, such as "at,ch".', "countries")
    if not (languages := entry.languages(spoken)):
        message = f"the law is not in '{entry.language}'"
        named = ", ".join(sorted(filter(None, spoken))) or "none that is known"
        return place.problem(message, f"Its languages: {named}.", "language")
    for field, phrases in (("what people say", entry.said), ("what the law says", entry.law)):
        if not phrases:
            return place.problem("is empty", 'Write phrases with "|" between them.', field)
        for each in phrases:
            if not any(analyzer(language)(each) for language in languages):
                message = f"'{each}' has nothing but words that are not searched"
                return place.problem(message, "Add a word that says more, or leave it out.", field)
    return None


def _cycles(read: Iterable[tuple[Place, LayEntry]]) -> Iterator[Problem]:
    """Entries that lead back to what people say in them, at most as many as an error shows."""
    graph: dict[tuple[str, str], dict[tuple[str, str], tuple[Place, LayEntry]]] = {}
    for place, entry in read:
        law = {(each.lower(), entry.language): (place, entry) for each in entry.law}
        for said in entry.said:
            graph.setdefault((said.lower(), entry.language), {}).update(law)
    for _ in range(SHOWN_PROBLEMS):
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            cycle = [(graph[said].pop(law), said, law) for law, said in pairwise(error.args[1])]
            # Entries for different countries are never used together.
            countries = [set(entry.where) for (_, entry), _, _ in cycle if entry.where]
            if not countries or set.intersection(*countries):
                (place, _), said, law = max(cycle, key=lambda each: each[0][0].line)
                lines = sorted({each.line for (each, _), _, _ in cycle} - {place.line})
                back = f", and line {', '.join(map(str, lines))} leads back" if lines else ""
                message = f"'{said[0]}' stands for '{law[0]}'{back}"
                yield place.problem(message, "Keep only the entry that leads to the law's words.")
        else:
            break


# As it is kept with a store.


def lay_words_to_bytes(entries: Iterable[LayEntry]) -> bytes:
    """Entries as JSON."""
    return json.dumps(list(entries), ensure_ascii=False).encode()


def lay_words_from_bytes(content: bytes) -> list[LayEntry]:
    """The entries that `lay_words_to_bytes` wrote.

    Raises:
        ValueError: the bytes are not such entries.
    """
    from pydantic import TypeAdapter

    return TypeAdapter(list[LayEntry]).validate_json(content)
