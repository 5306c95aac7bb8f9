"""The names under which the laws of a corpus are cited."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable, Iterable, Iterator
from functools import lru_cache
from typing import TypeVar

from components.statutes.law_hints import bracketed_name
from components.statutes.longer_names import goes_on, told_in_front, words_before
from components.statutes.places import is_of, place_before, place_behind
from components.statutes.stop_words import STOP_WORDS

Name = TypeVar("Name", bound=Hashable)

_LONGEST = 14  # words of a name that are compared
_LONGEST_CHINESE = 40  # characters
_REACH = 200  # characters read on either side of a citation

_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_WORD = re.compile(r"\w+")
# Words that stand in a name and beside it, and tell no two laws apart.
_UNHEARD = frozenset(
    re.findall(r"\w+", "the de du des la le les l d der die das dem den von vom zum zur")
)
_BREAK = re.compile(r"[^\w\s.'’&-]|\.\s+[A-ZÀ-Ý]|\n")  # ends a name
_LEAD = re.compile(  # what may stand between a citation and the name of its law
    r"(?:[\s,(«“\"'’]|\b(?:of|the|in|under|from|du|de|des|la|le|les|l|d|dans|der|dem|im|vom|von"
    r"|của|trong|thuộc|theo|et suivants|ff|f)\b\.?)*",
    re.IGNORECASE,
)
# "Housing Act 1996" is not the Housing Act 1988.
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
# The year of the act stands behind it, not that of its edition: "(2020 Rev. Ed.)".
_YEAR_BEHIND = re.compile(
    r"(?:[^\S\n]|[,(\[])*(?:(?:of|de|von|vom)\s+)?((?:1[5-9]|20)\d\d)\b"
    r"(?!\s+(?:rev(?:ised)?|ed(?:ition|n)?|consolidat\w+|reprint)\b)",
    re.IGNORECASE,
)
_YEAR_ENDING = re.compile(r"[\s,(]+(?:of\s+)?(?:1[5-9]|20)\d\d$")
_TRAIL = re.compile(r"(?:[\s,(]|['’]s\b|\b(?:in|under|at|dans|à|l|im|tại)\b|['’])*$", re.IGNORECASE)
# One of these alone names no law.
_GENERIC = frozenset({"act", "code", "law", "loi", "regulation", "rule", "luat", "gesetz"})
# Initials that are read in small letters too, "gdpr" and "pdpa": with vowels they may be a word.
_UNMISTAKABLE = re.compile(r"[B-DF-HJ-NP-TV-XZ]{2,}[A-Z]")
# In brackets they tell whose law it is, and are no name of it.
_OF_PLACES = frozenset(["EU", "EC", "EEC", "UE", "CE", "EG", "UK", "US", "USA", "UAE", "NI", "NSW"])
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
_DATED = re.compile(
    r"(?:loi|arrêté royal|arrêté|décret|ordonnance|règlement)\s+du\s+\S+\s+\w+\s+\d{4}", re.I
)


class LawNames:
    """Finds the laws of a corpus by name in running text.

    Names are compared word by word without case, accents, articles and endings, so
    "des Bürgerlichen Gesetzbuchs" is the "Bürgerliches Gesetzbuch". A law also goes by its name
    without brackets, without its year (but not with another one) or its place ("Housing Code" for
    "Housing Code of Aldermere (invented)", but not for that of Norway), and by its initials
    ("PDPA"), in small letters where these can be no other word;
    中华人民共和国 may be left out. Where one law's fuller name is another one's shorter, the fuller
    wins; laws that share a name are found together.
    """

    def __init__(self, laws: Iterable[str]) -> None:
        self._words: dict[tuple[str, ...], tuple[int, list[str]]] = {}
        self._initials: dict[str, tuple[int, list[str]]] = {}
        self._chinese: dict[str, tuple[int, list[str]]] = {}
        for law in dict.fromkeys(laws):
            if _CHINESE.search(law):
                for rank, alias in enumerate(_chinese_aliases(law)):
                    _keep(self._chinese, alias, rank, law)
                continue
            for rank, alias in enumerate(_aliases(law)):
                words = _words(alias)
                if words and not (len(words) == 1 and words[0] in _GENERIC):
                    _keep(self._words, words, rank, law)
            for initials in initials_of(law):
                _keep(self._initials, initials, 0, law)
        for short, full in _ABBREVIATIONS.items():
            if (named := self._words.get(_words(full))) is not None:
                self._words.setdefault(_words(short), named)
        for initials, named in self._initials.items():
            if _UNMISTAKABLE.fullmatch(initials) and initials.lower() not in _FUNCTION_WORDS:
                self._words.setdefault(_words(initials), named)
        civil = self._words.get(_words("code civil"))
        if civil is not None and len(civil[1]) == 1:  # elsewhere it may stand for another one
            self._initials.setdefault("CC", civil)
            self._words.setdefault(_words("c c"), civil)
        # Most citations stand beside words that begin or end no name: told by one look.
        self._first = {words[0] for words in self._words}
        self._last = {words[-1] for words in self._words}

    def after(self, text: str, position: int) -> tuple[str, ...]:
        """The laws whose name begins at a position, past "of the" and the like; () for none."""
        lead = _LEAD.match(text, position)
        begin = lead.end() if lead else position
        if laws := self._beginning(text, begin, _tokens(text, begin, begin + _REACH)):
            return laws
        for start, words in told_in_front(text, begin):
            laws = self._beginning(text, start, _tokens(text, start, start + _REACH))
            if laws := _with_words(laws, words):
                return laws
        return ()

    def before(self, text: str, position: int) -> tuple[str, ...]:
        """The laws whose name ends at a position; () for none."""
        begin = max(0, position - _REACH)
        if self._chinese and (laws := self._chinese_ending(text[begin:position])):
            return laws
        trail = _TRAIL.search(text, begin, position)
        end = trail.start() if trail else position
        if laws := self._ending(text, begin, end):
            return laws
        if year := _YEAR_ENDING.search(text, begin, end):
            laws = self._ending(text, begin, year.start())
            return _of_year(laws, text, year.start(), year.start())
        return ()

    def anywhere(self, text: str) -> set[str]:
        """Every law that a text names."""
        found: set[str] = set()
        tokens = list(_tokens(text, 0, len(text)))
        for index, (_, start, _) in enumerate(tokens):
            found.update(self._beginning(text, start, tokens[index : index + _LONGEST]))
        if self._chinese and _CHINESE.search(text):
            for end in range(2, len(text) + 1):
                found.update(self._chinese_suffix(text[max(0, end - _LONGEST_CHINESE) : end]))
        return found

    def _ending(self, text: str, begin: int, end: int) -> tuple[str, ...]:
        """The laws with the longest name that a part of a text ends with."""
        tokens = list(_tokens(text, begin, end))
        if not tokens or (
            tokens[-1][0] not in self._last and text[tokens[-1][1] : end] not in self._initials
        ):
            return ()
        for index, (_, start, _) in enumerate(tokens):
            words = tuple(word for word, _, _ in tokens[index:])
            if laws := self._named(words, text[start:end]):
                laws = _with_words(laws, words_before(text, start, end))
                return _of_place(laws, place_before(text, start))
        return ()

    def _beginning(
        self, text: str, begin: int, tokens: Iterable[tuple[str, int, int]]
    ) -> tuple[str, ...]:
        """The laws with the longest name that the tokens begin with, the first at `begin`."""
        found: tuple[str, ...] = ()
        words: tuple[str, ...] = ()
        read = begin
        for word, start, end in tokens:
            if not words and (
                start != begin
                or (word not in self._first and text[start:end] not in self._initials)
            ):
                return ()
            if len(words) == _LONGEST or _BREAK.search(text, read, start):
                break
            words += (word,)
            if laws := self._named(words, text[begin:end]):
                found = () if goes_on(text, end) else _of_year(laws, text, begin, end)
                found = _of_place(found, place_behind(text, end))
                found = _of_place(found, place_before(text, begin))
                found = _with_words(found, words_before(text, begin, end))
            read = end
        return found

    def _named(self, words: tuple[str, ...], printed: str) -> tuple[str, ...]:
        """The laws that have exactly this name."""
        named = self._words.get(words) or self._initials.get(printed)
        return tuple(named[1]) if named else ()

    def _chinese_ending(self, text: str) -> tuple[str, ...]:
        text = text.rstrip(" 的之中里，,")
        text = re.sub(r"[（(][^（）()]{1,20}[）)]$", "", text)
        if text.endswith(("》", "〉")):
            named = self._chinese.get(bracketed_name(text))
            return tuple(named[1]) if named else ()
        return self._chinese_suffix(text)

    def _chinese_suffix(self, text: str) -> tuple[str, ...]:
        for length in range(min(_LONGEST_CHINESE, len(text)), 1, -1):
            if named := self._chinese.get(text[-length:]):
                return tuple(named[1])
        return ()


def _of_year(laws: tuple[str, ...], text: str, begin: int, end: int) -> tuple[str, ...]:
    """Those of some laws that can be meant where their common name has a year behind it."""
    behind = _YEAR_BEHIND.match(text, end)
    if behind is None or _YEAR.search(text, begin, end):
        return laws
    return tuple(law for law in laws if behind[1] in (_YEAR.findall(law) or [behind[1]]))


def _of_place(laws: tuple[str, ...], place: str | None) -> tuple[str, ...]:
    """Those of some laws that can be meant where a place stands beside their common name."""
    return laws if place is None else tuple(law for law in laws if is_of(law, place))


def _with_words(laws: tuple[str, ...], words: list[str]) -> tuple[str, ...]:
    """Those of some laws that tell, or are of, what stands in front of their common name."""
    return tuple(law for law in laws if not words or _tells(law, words))


def _tells(law: str, words: list[str]) -> bool:
    """Whether a law's full name has some words, or their place: "Aldermere", "Singapore"."""
    own = {word for word, _, _ in _tokens(law, 0, len(law))}
    return is_of(law, " ".join(words)) or own.issuperset(map(_compared, words))


def _keep(names: dict[Name, tuple[int, list[str]]], name: Name, rank: int, law: str) -> None:
    """Notes a name; a fuller one (lower rank) of another law takes it over."""
    kept = names.get(name)
    if kept is None or rank < kept[0]:
        names[name] = (rank, [law])
    elif rank == kept[0] and law not in kept[1]:
        kept[1].append(law)


def _aliases(law: str) -> Iterator[str]:
    """The names of a law, the fullest first."""
    yield law
    bare = re.sub(r"\s*[(\[][^()\[\]]*[)\]]", "", law).strip()
    yield bare
    undated = re.sub(r",?\s+(?:of\s+)?\d{4}$", "", bare)
    yield undated
    if dated := _DATED.match(law):
        yield dated[0]
    name, of, place = undated.rpartition(" of ")
    if of and place[:1].isupper() and len(_words(name)) > 1:
        yield name


def initials_of(law: str) -> Iterator[str]:
    """Capitals that stand for a law: printed in brackets, or the first letters of its words."""
    printed = re.findall(r"\(([A-ZÄÖÜ]\w*[A-ZÄÖÜ]\w*)\)", law)
    yield from (each for each in printed if each not in _OF_PLACES)
    capitals = re.findall(r"\b[A-ZÀ-Ý]", re.sub(r"\s*[(\[].*", "", law))
    if len(capitals) > 2:
        yield "".join(capitals)


def _chinese_aliases(law: str) -> Iterator[str]:
    law = re.sub("[《》〈〉]", "", law)
    yield law
    bare = re.sub(r"\s*\[.*\]$", "", law).strip()
    yield bare
    undated = re.sub(r"[（(][^（）()]*\d{4}[^（）()]*[）)]$", "", bare)
    yield undated
    yield undated.removeprefix("中华人民共和国")


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word, _, _ in _tokens(text, 0, len(text)))[:_LONGEST]


def _tokens(text: str, begin: int, end: int) -> Iterator[tuple[str, int, int]]:
    """(word as compared, start, end) of the words that tell names apart."""
    for word in _WORD.finditer(text, begin, min(end, len(text))):
        if compared := _compared(word[0]):
            yield compared, word.start(), word.end()


@lru_cache(maxsize=65_536)
def _compared(word: str) -> str:
    """A word without case, accents and ending; "" for an article or preposition."""
    letters = unicodedata.normalize("NFKD", word.lower())
    folded = "".join(c for c in letters if not unicodedata.combining(c)).replace("đ", "d")
    if folded in _UNHEARD:
        return ""
    # Enough for the case and number of a name's words: Gesetzbuchs, Bürgerlichen, Regulations.
    return re.sub(r"(?<=\w{4})[esnrm]+$", "", folded)
