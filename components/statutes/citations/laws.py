"""The names under which the laws of a corpus are cited."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from types import MappingProxyType
from typing import TypeVar

from components.statutes.citations.abbreviations import abbreviations
from components.statutes.citations.acts import (
    BY_NUMBER,
    COMMUNITY,
    NUMBER_SIGN,
    UNION_KINDS,
    YEAR,
    act_numbers,
)
from components.statutes.citations.countries import LEADS_TO_LAW
from components.statutes.citations.hints import bracketed_name
from components.statutes.citations.patterns import any_language
from components.statutes.citations.places import (
    chinese_place_ending,
    is_of,
    is_place_of,
    place_after,
    place_before,
    place_ending,
    without_place,
)
from components.statutes.citations.united_states import AmericanCodes
from components.statutes.languages import STOP_WORDS

Name = TypeVar("Name", bound=Hashable)

_LONGEST_CHINESE = 40  # characters
_REACH = 200  # characters read on either side of a citation

_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_PLAIN_BRACKETS = str.maketrans("()", "（）", "《》〈〉")
_LEAD = re.compile(  # what may stand between a citation and the name of its law
    rf"(?:[\s,(«“\"'’]|\b(?:{any_language('of')}|{any_language('the')}"
    rf"|from|to|[ld](?!\.\s?\w\.)|et suivants|ff?|{LEADS_TO_LAW})\b\.?|แห่ง)*",
    re.IGNORECASE,
)
_TRAIL = re.compile(
    r"(?:[\s,(]|['’](?:s|n?[uıiü]n)\b|\b(?:in|under|at|dans|en|à|l|im|tại|its|the|son|ses|les?"
    r"|de la naci[óo]n(?: argentina)?)\b|['’])*$",
    re.IGNORECASE,
)
# "... of the Housing Code. Article 1 GDPR"; but not "C. civ. Art. 5".
_SENTENCE_ENDED = re.compile(r"(?:\w{5,}|\b(?:\d{4}|Act|Code|Law|code|loi))[)\"”»]*[.!?]\s+$")
# Initials that are read in small letters too, "gdpr" and "pdpa": with vowels they may be a word.
_UNMISTAKABLE = re.compile(r"[B-DF-HJ-NP-TV-XZ]{2,}[A-Z]")
# A short name counts in this case alone: "OR", "KSchG", "Sr".
_OF_ABBREVIATIONS = 3  # rank
_SHORT = re.compile(r"[^\W\d_]{2,4}|(?=[^\W_]*?[A-ZÄÖÜ][^\W_]*?[A-ZÄÖÜ])[^\W\d_]{2,10}")
_COUNTRY = re.compile(r"[a-z]{2}/(?=[A-Z])")  # of an identifier: "ar/LEY-20744"
_FUNCTION_WORDS = frozenset().union(*STOP_WORDS.values())
# The year after a name is the act's, unless it is of an edition: "(2020 Rev. Ed.)".
_YEAR_AFTER = re.compile(
    r"(?:/(?=(?:\d\d){1,2}\b)|(?:[^\S\n]|[,(\[])*(?:(?:of|del?|von|vom)\s+)?(?=\d{4}))"
    r"((?:1[5-9]|20)?\d\d)\b"
    r"(?!\s+(?:rev(?:ised)?|ed(?:ition|n)?|consolidat\w+|reprint)\b)",
    re.IGNORECASE,
)
# "Ley 20.744" is not "Ley 20"; a year may follow after a slash.
_NUMBER_GOES_ON = re.compile(r"(?<=\d)(?:[.-]\d|/(?!(?:\d\d){1,2}\b)\d)")
_SLASHED_YEAR = re.compile(r"(?<=\d)/(?:1[5-9]|20)?\d\d$")
_BRACKET = r"\s*\((?!(?:Part|Book|Livre|Titre|Chap)\b)(?P<words>[A-Z]\w*(?:\s+[A-Z]\w*){0,3})\)"
_BRACKET_AFTER = re.compile(rf"(?:,?\s+(?:of\s+)?(?:1[5-9]|20)\d\d)?{_BRACKET}")
BRACKET_ENDING = re.compile(rf"{_BRACKET}$")
# How a longer name continues: the "Code pénal" is not the "Code pénal social".
_CONTINUES = re.compile(
    r"\s+(?:(?i:social|militaire|maritime|local|nacional|provincial|y comercial|international"
    r"|amendment|regulations?)\b"
    # "Housing Code Enforcement Act", "Companies Act (Fees) Regulations"
    r"|(?:\([^()]{1,40}\)\s+)?(?:[A-Z]\w+\s+){0,2}(?:Act|Order|Regulations?|Rules|Guidelines|Code"
    r"|Law|Ordinance)\b(?!\s+\d)"
    # "Companies Act 2006 (Amendment) Regulations 2009": after brackets no citation begins
    r"|\([A-Z][^()]{1,80}\)\s+(?:Order|Regulations|Rules|Act)\s+(?:1[5-9]|20)\d\d\b)"
)
# Only English names put distinguishing words, capitalised, in front.
_ENGLISH_NAME = re.compile(r".*[a-z].*\b(?:Act|Order|Regulations?|Rules|Code|Law|Ordinance)\b.*")
_CAPITALS = re.compile(r"(?:(?:[A-ZÀ-Ý][\w’'-]*|(?:1[5-9]|20)\d\d)\s+){1,4}$")
_IN_FRONT = re.compile(r"([^\W\d][\w’'-]*|(?:1[5-9]|20)\d\d\b) +")
_NEAR = 80  # characters that are searched for them
# After these the words in capitals belong to the name.
_FIRM = frozenset({"the", "under", "per"})
_LEADS_TO_NAME = re.compile(r"\b(?:the|under|per)\s+$", re.IGNORECASE)
# Words that do not distinguish laws, and others that begin a sentence or introduce a name.
_QUALIFIERS = frozenset(
    re.findall(r"\w+", "current present new amended applicable relevant whole entire said")
)
_LEADS = _QUALIFIERS.union(*STOP_WORDS.values()) | frozenset(
    re.findall(
        r"\w+",
        "under per see according pursuant regarding concerning about both where whether given"
        " following despite against since using before after without also however cf ref please"
        " hello hi need help explain read show check find quote cite give get tell open compare"
        " summarise summarize interpret define describe discuss translate apply use list print"
        " analyse analyze clarify violating interpreting explaining applying meaning summary text"
        " definition scope part chapter title book section article schedule division",
    )
)
LONGEST_NAME = 14
"""How many words of a name are compared."""

KINDS_OF_LAW = frozenset({"act", "code", "law", "loi", "regulation", "rule", "luat", "gesetz"})
"""Words that do not name a law on their own, in compared form."""

# A number is one word, with its sign and without its dots: "N° 20.744", "(EU) No 2016". So are
# dotted initials: "c. p. c.".
_WORD = re.compile(
    rf"(?:{COMMUNITY}\s*)?(?:\b{NUMBER_SIGN}\s*|\b(?:of|del?)\s+(?=(?:1[5-9]|20)\d\d\b))?"
    rf"\b(?P<number>\d{{1,3}}(?:\.\d{{3}})+|\d+)\b(?:/{COMMUNITY})?"
    r"|\b(?P<dotted>[^\W\d_](?:\.[^\W\d_](?!\w)|\.\s[^\W\d_](?=\.))+\.?)|\w+|&",
    re.IGNORECASE,
)
# Enough for case and number: Gesetzbuchs, Bürgerlichen, Regulations; kodeksu cywilnego,
# občanského zákoníku; rikoslain of rikoslaki; Гражданского кодекса, Цивільного кодексу; Αστικού.
_ENDING = re.compile(
    r"(?<=\w{4})(?:[esnrmuyi]|e[gh][oa]|emu|ej|ych|og|(?<=um|on|ik)a)+$"
    r"|(?<=\w{2}la)(?:ki|in)$|(?<=^cod)ul(?:ui)?$"
    r"|(?<=[а-яєіґ]{4})[аеиоуыэюяієьмгвх]+$"
    r"|(?<=[α-ω]{4})(?:ατ)?[αεηιουωςν]+$"
)
# Words that occur in names and next to them, and do not distinguish laws.
_IGNORED_WORDS = frozenset(
    re.findall(r"\w+", "the de du des la le les l d der die das dem den von vom zum zur")
)
# In brackets these say whose law it is; they are not its initials.
_OF_PLACES = frozenset(["EU", "EC", "EEC", "UE", "CE", "EG", "UK", "US", "USA", "UAE", "NI", "NSW"])
# "Act 1988", "Act, 1872", "Act of 1996", "Act 66 of 1995"
# "... vom 10. Dezember 1907", "... du 10 décembre 1907"
_DATE = re.compile(
    r",?\s+(?:(?:No\.?\s*)?\d{1,3}\s+)?(?:of\s+)?\d{4}$"
    r"|,?\s+(?:vom|du|del|of)\s+\d{1,2}\S*\s+[^\W\d]+\s+\d{4}$"
)
_DATED = re.compile(
    r"(loi|arrêté royal|arrêté|décret|ordonnance|règlement)\s+(?:n°\s?\S+\s+)?"
    r"(du\s+\S+\s+\w+\s+\d{4})",
    re.I,
)
# "Ley 29/1994, de 24 de noviembre, de Arrendamientos Urbanos"
_NUMBERED_TITLE = re.compile(
    rf"{BY_NUMBER}(?:,?\s+de\s+\d{{1,2}}\s+de\s+\w+(?:\s+de\s+\d{{4}})?)?,?\s+(?P<subject>.+)",
    re.IGNORECASE,
)
# "Real Decreto ... por el que se aprueba el texto refundido de la Ley ..."
_ENACTS = re.compile(
    r"\b(?:por el que se (?:publica|aprueba)|approvazione d\w+)\s+(?:\w+\s+){0,5}?"
    r"((?:ley|c[óo]digo|codice)\b.+)",
    re.IGNORECASE,
)
_OF_THE_NATION = re.compile(
    r" (?:Российской Федерации|РФ|України|de la naci[óo]n(?: argentina)?)$", re.IGNORECASE
)
# They end a name, but not as the place of a law does: "California Code of Civil Procedure".
_SUBJECTS = ("Procedure", "Evidence", "Practice", "Conduct", "Regulations", "Rights", "Obligations")
_KIND_OF_IDENTIFIER = re.compile(r"(?:[a-z]{2}/)?(LEY|LEI|LOI)-\d")
_GERMAN_COMPOUND = re.compile(r"\w{3,}(?:gesetz|gesetzbuch|ordnung|verfassung)")


@dataclass(frozen=True, slots=True)
class NamedLaws:
    """The laws that a name next to a citation can mean.

    Attributes:
        laws: The full names of the laws; () if no law of the corpus is named.
        sure: Whether the name is not part of a longer one, as far as the text shows.
    """

    laws: tuple[str, ...] = ()
    sure: bool = True


class LawNames:
    """Finds the laws of a corpus by name in running text.

    Names are compared word by word without case, accents, articles and endings, so
    "des Bürgerlichen Gesetzbuchs" is the "Bürgerliches Gesetzbuch". A law also goes by its name
    without brackets, without its year (but not with a different one) or its place ("Housing Code"
    for "Housing Code of Aldermere (invented)", but not for Norway's), and by its initials ("PDPA"),
    in lower case only if they cannot be another word; 中华人民共和国 may be left out. The place may
    come first ("Aldermere Housing Code"); other words there make it a different law, such as the
    "Social Housing Code". If one law's full name is a short name of another, the full name wins.
    Laws that share a name are found together.
    """

    def __init__(
        self, laws: Iterable[str], names: Mapping[str, Sequence[str]] = MappingProxyType({})
    ) -> None:
        """Index the names of laws.

        Args:
            laws: Their titles.
            names: Further names of some of them: a title that several laws have, a short title,
                an abbreviation, an identifier.
        """
        self._names = {law: (law, *names.get(law, ())) for law in laws}
        self._words: dict[tuple[str, ...], tuple[int, list[str]]] = {}
        self._initials: dict[str, tuple[int, list[str]]] = {}
        self._chinese: dict[str, tuple[int, list[str]]] = {}
        self._years: dict[str, set[str]] = {}
        for law in self._names:
            self._years[law] = set()
            self._add(law, law)
            for name in names.get(law, ()):
                if _SHORT.fullmatch(name) and name != name.lower():
                    _keep(self._initials, name, 0, law)
                else:
                    self._add(_COUNTRY.sub("", name), law)
                if kind := _KIND_OF_IDENTIFIER.match(name):  # "LEY-24240", "Defensa del Consumidor"
                    self._add_words(f"{kind[1]} {law}", 1, law)
        self._add_abbreviations()
        # Most citations are next to words that neither begin nor end a name: one look-up shows it.
        self._last_chinese = {name[-1:] for name in self._chinese}
        self._first = {words[0] for words in self._words}
        self._last = {words[-1] for words in self._words}

    @cached_property
    def american(self) -> AmericanCodes:
        """The laws that are titles and codes of the United States."""
        return AmericanCodes(self._names)

    def _add(self, name: str, law: str) -> None:
        """Index a full name of a law, and the shorter ones that follow from it."""
        if _CHINESE.search(name):
            for rank, alias in enumerate(chinese_aliases_of(name)):
                _keep(self._chinese, alias, rank, law)
            return
        if " " in name:  # identifiers have years of other things too
            self._years[law].update(YEAR.findall(name))
        for rank, alias in aliases_of(name):
            self._add_words(alias, rank, law)
        for initials in initials_of(name):
            _keep(self._initials, initials, 0, law)
        for number in act_numbers(name):
            self._years[law].update(YEAR.findall(number))
            self._add_words(number, 1, law)

    def _add_words(self, name: str, rank: int, law: str) -> None:
        words = words_of(name)
        if words and not (len(words) == 1 and words[0] in KINDS_OF_LAW):
            _keep(self._words, words, rank, law)

    def _add_abbreviations(self) -> None:
        """Index the well-known abbreviations of these laws."""
        for short, full_names in _abbreviated_words().items():
            words = [each for each in full_names if each in self._words]
            laws = dict.fromkeys(law for each in words for law in self._words[each][1])
            if laws:
                named = (_OF_ABBREVIATIONS, list(laws))
                bare = short.removesuffix(".")
                if _SHORT.fullmatch(bare) and bare != bare.lower():
                    self._initials.setdefault(bare, named)
                else:  # "C.c." and "c.c." of two countries are compared alike
                    for law in laws:
                        _keep(self._words, words_of(short), _OF_ABBREVIATIONS, law)
        for initials, named in self._initials.items():
            if (
                _UNMISTAKABLE.fullmatch(initials.upper())
                and initials.lower() not in _FUNCTION_WORDS
            ):
                self._words.setdefault(words_of(initials), named)
            if initials.isupper():
                dotted = "".join(f"{letter}." for letter in initials.lower())  # "c.p.c."
                self._words.setdefault((dotted,), named)

    def after(self, text: str, position: int) -> NamedLaws:
        """The laws whose name begins at a position, past "of the" and the like."""
        lead = _LEAD.match(text, position)
        begin = lead.end() if lead else position
        laws, _ = self._beginning(text, begin, tokens_of(text, begin, begin + _REACH))
        if laws:
            return NamedLaws(laws)
        close = lead is None or not re.search(r"\w", lead[0])  # there is no "of" in between
        for start, words in names_in_front(text, begin):
            laws, end = self._beginning(text, start, tokens_of(text, start, start + _REACH))
            if own := with_words(laws, words):
                return NamedLaws(own)
            if laws and close and may_be_topic(words):  # "Section 8 notice Housing Act 1988"
                sure = self._names_year(laws, text, start, end)
                if sure or not any(word[0].isupper() for word in words):
                    return NamedLaws(laws, sure)
        return NamedLaws()

    def before(self, text: str, position: int, since: int = 0) -> NamedLaws:
        """The laws whose name ends at a position and does not begin before another."""
        begin = max(since, position - _REACH)
        if (
            _SENTENCE_ENDED.search(text, begin, position)
            and text[position : position + 1].isupper()
        ):
            return NamedLaws()
        if self._chinese and (laws := self._chinese_ending(text[begin:position])):
            return NamedLaws(laws)
        trail = _TRAIL.search(text, begin, position)
        end = trail.start() if trail else position
        named = self._ending(text, begin, end)
        if named.laws:
            return named
        if slash := _SLASHED_YEAR.search(text, begin, end):
            named = self._ending(text, begin, slash.start())
            return NamedLaws(self._of_year(named.laws, text, begin, slash.start()), named.sure)
        if (start := place_ending(text, begin, end)) is not None:
            named = self._ending(text, begin, start)
            return NamedLaws(of_place(named.laws, place_after(text, start)), named.sure)
        if bracket := BRACKET_ENDING.search(text, begin, end):
            named = self._ending(text, begin, bracket.start())
            return NamedLaws(with_bracket(named.laws, bracket["words"]), named.sure)
        return NamedLaws()

    def rest_of_name(self, text: str, law: str) -> str:
        """What follows a name of a law in a text that begins with it; the text without one."""
        tokens = list(tokens_of(text, 0, len(text)))
        begin = tokens[0][1] if tokens else 0  # "d" of "D.Lgs. 79/2011" is an ignored word
        laws, end = self._beginning(text, begin, tokens)
        return text[end:] if law in laws else text

    def anywhere(self, text: str) -> set[str]:
        """All laws that a text names."""
        return {law for _, _, laws in self.places(text) for law in laws}

    def places(self, text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
        """Where a text names laws: start and end of each name, and the laws that it can mean.

        The start of a Chinese name is not known; its end is given instead.
        """
        tokens = list(tokens_of(text, 0, len(text)))
        for index, (word, start, end) in enumerate(tokens):
            printed = text[start:end]
            if printed.isupper() and word in _FUNCTION_WORDS:
                continue  # "OR" in a title
            if word in self._first or printed in self._initials:
                following = tokens[index : index + LONGEST_NAME]
                laws, end = self._beginning(text, start, following)
                if laws:
                    yield start, end, laws
        if self._chinese and _CHINESE.search(text):
            for end in range(2, len(text) + 1):
                laws = self._chinese_suffix(text[max(0, end - _LONGEST_CHINESE) : end])
                if laws:
                    yield end, end, laws

    def _ending(self, text: str, begin: int, end: int) -> NamedLaws:
        """The laws with the longest name that ends at text[end], from text[begin] on."""
        tokens = list(tokens_of(text, begin, end))
        if not tokens or (
            tokens[-1][0] not in self._last and text[tokens[-1][1] : end] not in self._initials
        ):
            return NamedLaws()
        compared = tuple(word for word, _, _ in tokens)
        for index, (_, start, _) in enumerate(tokens):
            if laws := self._named(compared[index:], text[start:end]):
                laws = of_place(laws, place_before(text, start))
                words, firm = words_before(text, start, end)
                if own := with_words(laws, words):
                    return NamedLaws(own)
                if firm:
                    return NamedLaws()
                years = all(YEAR.fullmatch(word) for word in words)
                return NamedLaws(laws, years or self._names_year(laws, text, start, end))
        return NamedLaws()

    def _beginning(
        self, text: str, begin: int, tokens: Iterable[tuple[str, int, int]]
    ) -> tuple[tuple[str, ...], int]:
        """The laws with the longest name that begins at `begin`, and where it ends."""
        found: tuple[str, ...] = ()
        ending = begin
        words: tuple[str, ...] = ()
        for word, start, end in tokens:
            if not words and (
                start != begin
                or (word not in self._first and text[start:end] not in self._initials)
            ):
                return (), begin
            if len(words) == LONGEST_NAME:
                break
            words += (word,)
            if _NUMBER_GOES_ON.match(text, end):
                continue  # "Loi 2002-303" is not a law of 2002
            if laws := self._named(words, text[begin:end]):
                found = () if continues(text, end) else self._of_year(laws, text, begin, end)
                found = of_bracket(of_place(found, place_after(text, end)), text, end)
                found = of_place(found, place_before(text, begin))
                in_front, firm = words_before(text, begin, end)
                found = with_words(found, in_front) or (() if firm else found)
                ending = end
        return found, ending

    def _named(self, words: tuple[str, ...], printed: str) -> tuple[str, ...]:
        """The laws that have exactly this name."""
        named = self._words.get(words) or self._initials.get(printed)
        return tuple(named[1]) if named else ()

    def _of_year(self, laws: tuple[str, ...], text: str, begin: int, end: int) -> tuple[str, ...]:
        """The laws that can be meant given the year after their name text[begin:end].

        A law without a year fits any year, unless another law has exactly that year.
        """
        year = _YEAR_AFTER.match(text, end)
        if year is None or YEAR.search(text, begin, end):
            return laws
        of_it = tuple(law for law in laws if self._is_of_year(law, year[1]))
        return of_it or tuple(law for law in laws if not self._years[law])

    def _names_year(self, laws: tuple[str, ...], text: str, begin: int, end: int) -> bool:
        """Whether the year of one of the laws is in, or follows, its name text[begin:end]."""
        year = _YEAR_AFTER.match(text, end)
        years = YEAR.findall(text, begin, end) + ([year[1]] if year else [])
        return any(self._is_of_year(law, each) for law in laws for each in years)

    def _is_of_year(self, law: str, year: str) -> bool:
        """Whether a year, of two or four digits, is a law's."""
        return any(own.endswith(year) for own in self._years[law])

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
    """The laws that can be meant after some text: 德国民法典 is not China's."""
    place = chinese_place_ending(before)
    return tuple(law for law in laws if place is None or place in law)


def _keep(names: dict[Name, tuple[int, list[str]]], name: Name, rank: int, law: str) -> None:
    """Add a name of a law; of several laws, those with the lowest rank keep it."""
    kept = names.get(name)
    if kept is None or rank < kept[0]:
        names[name] = (rank, [law])
    elif rank == kept[0] and law not in kept[1]:
        kept[1].append(law)


def of_place(laws: tuple[str, ...], place: str | None) -> tuple[str, ...]:
    """The laws that can be meant given a place next to their common name."""
    return laws if place is None else tuple(law for law in laws if is_of(law, place))


def of_bracket(laws: tuple[str, ...], text: str, end: int) -> tuple[str, ...]:
    """The laws that can be meant given the words in brackets after their name: "(Qld)"."""
    bracket = _BRACKET_AFTER.match(text, end)
    return with_bracket(laws, bracket["words"]) if bracket else laws


def with_bracket(laws: tuple[str, ...], words: str) -> tuple[str, ...]:
    """The laws whose names contain the bracketed words, or have them as initials."""
    return tuple(law for law in laws if words in initials_of(law) or _has_words(law, words.split()))


def with_words(laws: tuple[str, ...], words: Sequence[str]) -> tuple[str, ...]:
    """The laws whose name or place includes all words before their common name."""
    return tuple(law for law in laws if not words or _has_words(law, words))


def _has_words(law: str, words: Sequence[str]) -> bool:
    """Whether a law's full name contains the words, or the place that they mean: "Singaporean"."""
    own = {word for word, _, _ in tokens_of(law, 0, len(law))}
    others = [word for word in words if as_compared(word) not in own]
    return not others or is_place_of(law, " ".join(others))


def continues(text: str, end: int) -> bool:
    """Whether a name continues after `end`: "Housing Code Enforcement Act"."""
    return _CONTINUES.match(text, end) is not None


def words_before(text: str, start: int, end: int) -> tuple[list[str], bool]:
    """The words in capitals, and years, in front of the English name text[start:end].

    Returns:
        The words, and whether they certainly belong to the name. After "the" they do; at the
        beginning of a sentence they may be its topic: "Rent Increase Housing Code, art. 5".

    >>> words_before("Does the Social Housing Code apply?", 16, 28)
    (['Social'], True)
    """
    if _ENGLISH_NAME.fullmatch(text, start, end) is None:
        return [], False
    capitals = _CAPITALS.search(text, max(0, start - _NEAR), start)
    if capitals is None:
        return [], False
    words = [_bare(word) for word in capitals[0].split()]
    leads = [i for i, word in enumerate(words) if word.lower() in _LEADS]
    if leads:
        return words[leads[-1] + 1 :], words[leads[-1]].lower() in _FIRM
    before = max(0, capitals.start() - 8)
    return words, _LEADS_TO_NAME.search(text, before, capitals.start()) is not None


def names_in_front(text: str, begin: int) -> Iterator[tuple[int, list[str]]]:
    """Where a name may begin after one to four distinguishing words, and these words.

    >>> next(names_in_front("Aldermere Housing Code", 0))
    (10, ['Aldermere'])
    """
    words: list[str] = []
    for _ in range(4):
        word = _IN_FRONT.match(text, begin)
        if word is None:
            return
        if word[1].lower() not in _QUALIFIERS:
            words.append(_bare(word[1]))
        begin = word.end()
        yield begin, words


def may_be_topic(words: list[str]) -> bool:
    """Whether words between a number and a name can be a topic: "notice" can, "GDPR" cannot."""
    return all(
        word.isalpha() and not word.isupper() and as_compared(word) not in KINDS_OF_LAW
        for word in words
    )


def _bare(word: str) -> str:
    return re.sub(r"['’]s?$", "", word)


@cache
def _abbreviated_words() -> dict[str, tuple[tuple[str, ...], ...]]:
    """`words_of` every full name that an abbreviation stands for."""
    return {short: tuple(map(words_of, full)) for short, full in abbreviations().items()}


def aliases_of(law: str) -> Iterator[tuple[int, str]]:
    """(rank, name) of a law: its full name, and shorter ones."""
    yield 0, law
    bare = re.sub(r"\s*[(\[][^()\[\]]*[)\]]", "", law).strip()
    yield 1, bare
    yield 1, _DATE.sub("", law)
    bare = bare.removesuffix(" für die Bundesrepublik Deutschland")
    yield 1, bare
    yield 1, _OF_THE_NATION.sub("", bare)
    undated = _DATE.sub("", bare)
    yield 1, undated
    if (finnish := bare.removeprefix("Laki ")) != bare:
        yield from ((1, f"{finnish} {form}") for form in ("annetun lain", "annettu laki"))
    if dated := _DATED.match(law):
        yield 1, f"{dated[1]} {dated[2]}"
    if numbered := _NUMBERED_TITLE.match(bare):
        yield 1, f"{numbered['kind']} {numbered['subject']}"
    if enacts := _ENACTS.search(bare):
        yield 1, enacts[1]
    name, of, place = undated.rpartition(" of ")
    of_a_place = place.removeprefix("the ")[:1].isupper() and not place.endswith(_SUBJECTS)
    if of and of_a_place and len(words_of(name)) > 1:
        yield 1, name
    elif (name := without_place(undated)) and (
        len(words_of(name)) > 1 or _GERMAN_COMPOUND.fullmatch(name)
    ):
        yield 2, name


def initials_of(law: str) -> Iterator[str]:
    """A law's initials: those printed in brackets, and the first letters of its words."""
    printed = re.findall(r"\(([A-ZÄÖÜ]\w*[A-ZÄÖÜ]\w*)\)", law)
    yield from (each for each in printed if each not in _OF_PLACES)
    bare = re.sub(r"\s*[(\[].*", "", law)
    capitals = re.findall(r"\b[A-ZÀ-Ý]", bare)
    if bare.isupper():  # "LEY DE CONTRATO DE TRABAJO"
        words = re.findall(r"[A-ZÀ-Ý]\w*", bare)
        capitals = [word[0] for word in words if word.lower() not in _FUNCTION_WORDS]
    if len(capitals) > 2:
        yield "".join(capitals)


def chinese_aliases_of(law: str) -> Iterator[str]:
    """The names of a Chinese law, the fullest first."""
    law = re.sub("[《》〈〉]", "", law)
    yield law
    bare = re.sub(r"\s*\[.*\]$", "", law).strip()
    yield bare
    undated = re.sub(r"[（(][^（）()]*\d{4}[^（）()]*[）)]$", "", bare)
    yield undated
    yield undated.removeprefix("中华人民共和国")


def words_of(text: str) -> tuple[str, ...]:
    """The distinguishing words of a name in order, in compared form."""
    return tuple(word for word, _, _ in tokens_of(text, 0, len(text)))[:LONGEST_NAME]


def tokens_of(text: str, begin: int, end: int) -> Iterator[tuple[str, int, int]]:
    """(compared form, start, end) of each distinguishing word."""
    for word in _WORD.finditer(text, begin, min(end, len(text))):
        if word["number"]:
            yield word["number"].replace(".", ""), word.start(), word.end()
        elif word["dotted"]:
            letters = filter(str.isalpha, word[0].lower())
            yield "".join(f"{letter}." for letter in letters), word.start(), word.end()
        elif compared := as_compared(word[0]):
            yield compared, word.start(), word.end()


@lru_cache(maxsize=65_536)
def as_compared(word: str) -> str:
    """A word's compared form: no case, accents or ending; "" for an article or preposition."""
    word = word.lower()
    # "Verordnung (EU) 2016/679" is the Regulation.
    letters = unicodedata.normalize("NFKD", UNION_KINDS.get(word, word))
    folded = "".join(c for c in letters if not unicodedata.combining(c)).replace("đ", "d")
    if folded in _IGNORED_WORDS:
        return ""
    if folded == "&":
        return "and"
    return _ENDING.sub("", folded)
