"""The names under which the laws of a corpus are cited."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from components.statutes.citation_markers import words
from components.statutes.law_aliases import (
    KINDS_OF_LAW,
    LONGEST_NAME,
    aliases_of,
    chinese_aliases_of,
    initials_of,
    tokens_of,
    words_of,
)
from components.statutes.law_details import (
    BRACKET_ENDING,
    YEAR,
    of_bracket,
    of_place,
    of_year,
    tells_year,
    with_bracket,
    with_words,
)
from components.statutes.law_hints import bracketed_name
from components.statutes.longer_names import goes_on, may_be_topic, told_in_front, words_before
from components.statutes.places import (
    chinese_place_ending,
    place_before,
    place_behind,
    place_ending,
)
from components.statutes.stop_words import STOP_WORDS

Name = TypeVar("Name", bound=Hashable)

_LONGEST_CHINESE = 40  # characters
_REACH = 200  # characters read on either side of a citation

_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_BREAK = re.compile(r"[^\w\s.'’&-]|\.\s+[A-ZÀ-Ý]|\n")  # ends a name
_BRACKETS = re.compile(r"[\s()/]*")  # but for one that has them itself
_PLAIN_BRACKETS = str.maketrans("()", "（）", "《》〈〉")
_LEAD = re.compile(  # what may stand between a citation and the name of its law
    rf"(?:[\s,(«“\"'’]|\b(?:{words('of')}|{words('the')}|from|l|d|et suivants|ff?)\b\.?)*",
    re.IGNORECASE,
)
_YEAR_ENDING = re.compile(r"[\s,(]+(?:of\s+)?(?:1[5-9]|20)\d\d$")
_TRAIL = re.compile(
    r"(?:[\s,(]|['’]s\b|\b(?:in|under|at|dans|en|à|l|im|tại|its|the|son|ses|les?)\b|['’])*$",
    re.IGNORECASE,
)
# Initials that are read in small letters too, "gdpr" and "pdpa": with vowels they may be a word.
_UNMISTAKABLE = re.compile(r"[B-DF-HJ-NP-TV-XZ]{2,}[A-Z]")
_FUNCTION_WORDS = frozenset().union(*STOP_WORDS.values())
_ABBREVIATIONS = {
    "c civ": "code civil",
    "c trav": "code travail",
    "c pen": "code penal",
    "c com": "code commerce",
    "c consom": "code consommation",
    "c jud": "code judiciaire",
    "c proc civ": "code procedure civile",
    "cpc": "code procedure civile",
    "c proc pen": "code procedure penale",
    "css": "code securite sociale",
    "bgb": "burgerliches gesetzbuch",
    "stgb": "strafgesetzbuch",
    "gg": "grundgesetz",
    "hgb": "handelsgesetzbuch",
    "zpo": "zivilprozessordnung",
    "stpo": "strafprozessordnung",
    "blds": "bo luat dan su",
    "blhs": "bo luat hinh su",
}


@dataclass(frozen=True, slots=True)
class NamedLaws:
    """The laws that a name beside a citation can mean.

    Attributes:
        laws: Theirs; () where no law of the corpus is named.
        sure: Whether the name is no part of a longer one, as far as can be told.
    """

    laws: tuple[str, ...] = ()
    sure: bool = True


class LawNames:
    """Finds the laws of a corpus by name in running text.

    Names are compared word by word without case, accents, articles and endings, so
    "des Bürgerlichen Gesetzbuchs" is the "Bürgerliches Gesetzbuch". A law also goes by its name
    without brackets, without its year (but not with another one) or its place ("Housing Code" for
    "Housing Code of Aldermere (invented)", but not for that of Norway), and by its initials
    ("PDPA"), in small letters where these can be no other word; 中华人民共和国 may be left out.
    What tells its place may stand in front ("Aldermere Housing Code"); with other words there it is
    another law, the "Social Housing Code". Where one law's full name is another one's shorter, the
    full wins; laws that share a name are found together.
    """

    def __init__(self, laws: Iterable[str]) -> None:
        self._words: dict[tuple[str, ...], tuple[int, list[str]]] = {}
        self._initials: dict[str, tuple[int, list[str]]] = {}
        self._chinese: dict[str, tuple[int, list[str]]] = {}
        # What stands in a name before brackets of its own: "Housing (Scotland) Act 1987".
        self._before_brackets: set[tuple[str, ...]] = set()
        for law in dict.fromkeys(laws):
            if _CHINESE.search(law):
                for rank, alias in enumerate(chinese_aliases_of(law)):
                    _keep(self._chinese, alias, rank, law)
                continue
            for rank, alias in aliases_of(law):
                words = words_of(alias)
                if words and not (len(words) == 1 and words[0] in KINDS_OF_LAW):
                    _keep(self._words, words, rank, law)
                    self._before_brackets.update(_parts_before_brackets(alias))
            for initials in initials_of(law):
                _keep(self._initials, initials, 0, law)
        for short, full in _ABBREVIATIONS.items():
            if (named := self._words.get(words_of(full))) is not None:
                self._words.setdefault(words_of(short), named)
        for initials, named in self._initials.items():
            if _UNMISTAKABLE.fullmatch(initials) and initials.lower() not in _FUNCTION_WORDS:
                self._words.setdefault(words_of(initials), named)
        civil = self._words.get(words_of("code civil"))
        if civil is not None and len(civil[1]) == 1:  # elsewhere it may stand for another one
            self._initials.setdefault("CC", civil)
            self._words.setdefault(words_of("c c"), civil)
        # Most citations stand beside words that begin or end no name: told by one look.
        self._last_chinese = {name[-1:] for name in self._chinese}
        self._first = {words[0] for words in self._words}
        self._last = {words[-1] for words in self._words}

    def after(self, text: str, position: int) -> NamedLaws:
        """The laws whose name begins at a position, past "of the" and the like."""
        lead = _LEAD.match(text, position)
        begin = lead.end() if lead else position
        laws, _ = self._beginning(text, begin, tokens_of(text, begin, begin + _REACH))
        if laws:
            return NamedLaws(laws)
        close = lead is None or not re.search(r"\w", lead[0])  # nothing like "of" stands between
        for start, words in told_in_front(text, begin):
            laws, end = self._beginning(text, start, tokens_of(text, start, start + _REACH))
            if own := with_words(laws, words):
                return NamedLaws(own)
            if laws and close and may_be_topic(words):  # "Section 8 notice Housing Act 1988"
                sure = tells_year(laws, text, start, end)
                if sure or not any(word[0].isupper() for word in words):
                    return NamedLaws(laws, sure)
        return NamedLaws()

    def before(self, text: str, position: int) -> NamedLaws:
        """The laws whose name ends at a position."""
        begin = max(0, position - _REACH)
        if self._chinese and (laws := self._chinese_ending(text[begin:position])):
            return NamedLaws(laws)
        trail = _TRAIL.search(text, begin, position)
        end = trail.start() if trail else position
        named = self._ending(text, begin, end)
        if named.laws:
            return named
        if year := _YEAR_ENDING.search(text, begin, end):
            named = self._ending(text, begin, year.start())
            laws = of_year(named.laws, text, year.start(), year.start())
            return NamedLaws(laws, named.sure or tells_year(laws, text, year.start(), year.start()))
        if (start := place_ending(text, begin, end)) is not None:
            named = self._ending(text, begin, start)
            return NamedLaws(of_place(named.laws, place_behind(text, start)), named.sure)
        if bracket := BRACKET_ENDING.search(text, begin, end):
            named = self._ending(text, begin, bracket.start())
            return NamedLaws(with_bracket(named.laws, bracket["words"]), named.sure)
        return NamedLaws()

    def anywhere(self, text: str) -> set[str]:
        """Every law that a text names."""
        found: set[str] = set()
        tokens = list(tokens_of(text, 0, len(text)))
        for index, (_, start, _) in enumerate(tokens):
            laws, _ = self._beginning(text, start, tokens[index : index + LONGEST_NAME])
            found.update(laws)
        if self._chinese and _CHINESE.search(text):
            for end in range(2, len(text) + 1):
                found.update(self._chinese_suffix(text[max(0, end - _LONGEST_CHINESE) : end]))
        return found

    def _ending(self, text: str, begin: int, end: int) -> NamedLaws:
        """The laws with the longest name that a part of a text ends with."""
        tokens = list(tokens_of(text, begin, end))
        if not tokens or (
            tokens[-1][0] not in self._last and text[tokens[-1][1] : end] not in self._initials
        ):
            return NamedLaws()
        for index, (_, start, _) in enumerate(tokens):
            compared = tuple(word for word, _, _ in tokens[index:])
            if laws := self._named(compared, text[start:end]):
                laws = of_place(laws, place_before(text, start))
                words, firm = words_before(text, start, end)
                if own := with_words(laws, words):
                    return NamedLaws(own)
                if firm:
                    return NamedLaws()
                years = all(YEAR.fullmatch(word) for word in words)
                return NamedLaws(laws, years or tells_year(laws, text, start, end))
        return NamedLaws()

    def _beginning(
        self, text: str, begin: int, tokens: Iterable[tuple[str, int, int]]
    ) -> tuple[tuple[str, ...], int]:
        """The laws with the longest name that the tokens begin with at `begin`, and its end."""
        found: tuple[str, ...] = ()
        ending = begin
        words: tuple[str, ...] = ()
        read = begin
        for word, start, end in tokens:
            if not words and (
                start != begin
                or (word not in self._first and text[start:end] not in self._initials)
            ):
                return (), begin
            if len(words) == LONGEST_NAME or self._name_breaks(text, words, read, start):
                break
            words += (word,)
            if laws := self._named(words, text[begin:end]):
                found = () if goes_on(text, end) else of_year(laws, text, begin, end)
                found = of_bracket(of_place(found, place_behind(text, end)), text, end)
                found = of_place(found, place_before(text, begin))
                in_front, firm = words_before(text, begin, end)
                found = with_words(found, in_front) or (() if firm else found)
                ending = end
            read = end
        return found, ending

    def _name_breaks(self, text: str, words: tuple[str, ...], begin: int, end: int) -> bool:
        """Whether text[begin:end] ends a name behind the words read."""
        if _BREAK.search(text, begin, end) is None:
            return False
        return words not in self._before_brackets or not _BRACKETS.fullmatch(text, begin, end)

    def _named(self, words: tuple[str, ...], printed: str) -> tuple[str, ...]:
        """The laws that have exactly this name."""
        named = self._words.get(words) or self._initials.get(printed)
        return tuple(named[1]) if named else ()

    def _chinese_ending(self, text: str) -> tuple[str, ...]:
        text = text.rstrip(" 的之中里，,")
        if text.endswith(("）", ")")) and (laws := self._chinese_suffix(text)):
            return laws  # 解释（一）
        text = re.sub(r"[（(][^（）()]{1,20}[）)]$", "", text)
        if text.endswith(("》", "〉")):
            named = self._chinese.get(bracketed_name(text))
            return _of_chinese_place(named[1], re.split("[《〈]", text)[-2]) if named else ()
        return self._chinese_suffix(text)

    def _chinese_suffix(self, text: str) -> tuple[str, ...]:
        text = text.translate(_PLAIN_BRACKETS)
        if text[-1:] not in self._last_chinese:
            return ()
        for length in range(min(_LONGEST_CHINESE, len(text)), 1, -1):
            if named := self._chinese.get(text[-length:]):
                return _of_chinese_place(named[1], text[:-length])
        return ()


def _of_chinese_place(laws: list[str], before: str) -> tuple[str, ...]:
    """Those of some laws that can be meant behind a text: 德国民法典 is none of China."""
    place = chinese_place_ending(before)
    return tuple(law for law in laws if place is None or place in law)


def _parts_before_brackets(name: str) -> list[tuple[str, ...]]:
    """The words of a name up to each bracket or stroke within it."""
    return [words_of(name[: each.start()]) for each in re.finditer(r"(?<=.)[()/](?=.)", name)]


def _keep(names: dict[Name, tuple[int, list[str]]], name: Name, rank: int, law: str) -> None:
    """Notes a name; a fuller one (lower rank) of another law takes it over."""
    kept = names.get(name)
    if kept is None or rank < kept[0]:
        names[name] = (rank, [law])
    elif rank == kept[0] and law not in kept[1]:
        kept[1].append(law)
