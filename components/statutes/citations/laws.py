"""The names under which the laws of a corpus are cited: in full, by place, number or initials."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import islice
from types import MappingProxyType
from typing import TypeVar

from babel import Locale
from babel.core import get_global

from components.statutes.citations.patterns import Forms, plain_words, read_tables
from components.statutes.citations.united_states import AmericanCodes
from components.statutes.languages import STOP_WORDS
from components.statutes.sources.units import any_of


@cache
def abbreviations() -> dict[str, tuple[str, ...]]:
    """The full names that each well-known abbreviation stands for, in any country."""
    full_names: dict[str, tuple[str, ...]] = {}
    for country in read_tables("abbreviations").values():
        for short, full in country.items():
            for abbreviation in short.split(", "):
                names = full_names.get(abbreviation, ())
                full_names[abbreviation] = (*names, *full.split("; "))
    return full_names


# Acts that are cited by number: "Ley 20.744", "D.Lgs. 79/2011", "Regulation (EU) 2016/679".

YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")

_TABLES = read_tables("laws")
_SAME_KIND = [(kind, *row.split("; ")) for kind, row in _TABLES["kinds of acts"].items()]
_OF_THE_UNION = _TABLES["acts of the union"]
_UNION_KINDS = {word: kind for kind, words in _OF_THE_UNION.items() for word in words.split("|")}
_LEADS_OF_COUNTRIES = "|".join(row["of"] for row in read_tables("countries").values() if row["of"])
_FORMS = Forms(
    "laws",
    kind=any_of(name for names in _SAME_KIND for name in names),
    leads_of_countries=_LEADS_OF_COUNTRIES,
    no_places="|".join(plain_words("no places")),
    union_kinds="|".join(_OF_THE_UNION.values()),
)
_form = cache(_FORMS.compiled)
BY_NUMBER = _FORMS.text("by_number")
"""An act by its whole number; ignore case."""
_BY_LETTER = {"R": "regulation", "L": "directive", "D": "decision"}


def _act_numbers(name: str) -> Iterator[str]:
    """The ways to cite the act whose number a name begins with, or has in brackets.

    >>> list(_act_numbers("Ley 20.744 de Contrato de Trabajo"))
    ['ley 20744']
    >>> list(_act_numbers("D.Lgs. 79/2011"))[:3]
    ['decreto legislativo 79 2011', 'decreto legislativo 79 11', 'd.lgs. 79 2011']
    >>> list(_act_numbers("32016R0679"))
    ['regulation 2016 679', 'regulation 679 2016', 'regulation 16 679', 'regulation 679 16']
    """
    if celex := _form("celex").fullmatch(name):
        kind, year, number = _BY_LETTER[celex[2]], celex[1], str(int(celex[3]))
        yield from (f"{kind} {year} {number}", f"{kind} {number} {year}")
        yield from (f"{kind} {year[2:]} {number}", f"{kind} {number} {year[2:]}")
    if (act := _form("act").search(name)) is None:
        return
    kind, number, second = act["kind"].lower(), act["number"].replace(".", ""), act["second"]
    if kind in _UNION_KINDS and second:
        yield from (f"{kind} {number} {second}", f"{kind} {second} {number}")
        return
    if second is None and YEAR.fullmatch(number):
        return  # "Housing Act 1988"
    years = YEAR.findall(second or act["date"] or act["day"] or "")
    for synonym in next((each for each in _SAME_KIND if kind in each), (kind,)):
        if act["date"]:
            yield f"{synonym} {act['date']} {number}"
        if second or years:
            yield f"{synonym} {number} {second or years[-1]}"
        if years:
            yield f"{synonym} {number} {years[-1][2:]}"
        # Short ones count from 1 in every year.
        if not (second or years) or (years and len(number) > 3):
            yield f"{synonym} {number}"


# Places next to the name of a law: the "Code civil suisse" is not any other Code civil. The names
# of countries and languages come from Babel. A capitalised name is recognised without them; they
# serve for adjectives ("suisse", "Norwegian") and for questions in lower case.

_LANGUAGES = ("en", "fr", "de", "nl", "es")
_HOMES = {"en": "england", "pt": "PT"}  # of languages that are spoken in many countries
_MOST_WORDS = 4  # of a place: "New South Wales"
_OF = r"(?:(?:of|in|du|des|de|del|der|von|van)\b|d['’]|de l['’])"
_LINK = rf"\.?\s+(?:{_OF}\s*(?:(?:the|la|le|les)\s+|l['’]\s?)?|\()?"
_LINK_AFTER = re.compile(_LINK, re.IGNORECASE)
_LINK_BEFORE = re.compile(rf"(?i){_LINK}$")
_NEAR_PLACE = 60  # characters that are searched for the place


def place_after(text: str, end: int) -> str | None:
    """The place, or the adjective of one, that follows a law's name ending at `end`.

    >>> place_after("Housing Code of Norway", 12), place_after("Code civil suisse", 10)
    ('Norway', 'suisse')
    """
    if capital := _form("capital").match(text, end):
        return capital["place"]
    link = _LINK_AFTER.match(text, end)
    # "... of the Housing Code. In Norway" begins a sentence.
    if link is None or (link[0][0] == "." and link[0][1:].lstrip()[:1].isupper()):
        return None
    start = link.end()
    words = list(_form("place_word").finditer(text, start, start + _NEAR_PLACE))[:_MOST_WORDS]
    if not words or words[0].start() != start:
        return None
    for last in reversed(words):
        place = text[start : last.end()]
        if _territory(place):
            # English puts adjectives before a name. After it they belong to the next word
            # ("Housing Code British tenants") or name a language ("Code civil in English").
            adjective = _form("english_adjective").fullmatch(place)
            english = adjective or _unaccented(place) in _english_languages()
            return None if english and link[0].strip() in ("", "in") else place
    return None


def place_before(text: str, start: int) -> str | None:
    """As `place_after`, before a name: "Norwegian Housing Code", "Norway's Housing Code"."""
    before = re.sub(r"['’]s?(?=\s+$)", "", text[max(0, start - _NEAR_PLACE) : start])
    place = _last_place(before.rstrip()) if before[-1:].isspace() else None
    return None if place is None else before[place:].rstrip()


def place_ending(text: str, start: int, end: int) -> int | None:
    """Where the place that ends text[start:end] begins, its "of" included; None without one."""
    part = text[max(start, end - _NEAR_PLACE) : end].removesuffix(")")
    place = _last_place(part)
    link = None if place is None else _LINK_BEFORE.search(part, 0, place)
    return link and max(start, end - _NEAR_PLACE) + link.start()


def without_place(law: str) -> str:
    """A law's name without the place at its beginning or end; "" if there is none.

    >>> without_place("Code civil suisse")
    'Code civil'
    """
    if (start := place_ending(law, 0, len(law))) is not None:
        return law[:start]
    found = _first_place(law.split())
    return " ".join(found[2]) if found else ""


def is_place_of(law: str, words: str) -> bool:
    """Whether the words are a known place, and nothing else, that a law's name contains."""
    territory = _territory(words)
    return territory is not None and territory in _territories(law)


@lru_cache(maxsize=4096)
def is_of(law: str, place: str) -> bool:
    """Whether a law's full name contains a place: "Code civil (Belgique)" is "belge"."""
    sought = re.findall(r"[\w-]+", _unaccented(place).casefold())
    if any(is_place_of(law, " ".join(sought[:n])) for n in range(1, _MOST_WORDS + 1)):
        return True
    words = re.findall(r"[\w-]+|[^\w\s]", _unaccented(law).casefold())
    for index, word in enumerate(words):
        if word == sought[0] and not (index and _form("longer").fullmatch(words[index - 1])):
            # "New Zealand" is not New York, but what follows "Aldermere" may not be part of it.
            following = words[index + 1 : index + len(sought)]
            return not following or not following[0].isalpha() or following == sought[1:]
    return False


def foreign_place(words: str, law: str, language: str | None = None) -> str | None:
    """The known place that words begin with, if a law is not of it; None otherwise.

    Args:
        words: Words in capitals: "Norway", "Norwegian Tenancy Law".
        law: The law's full name.
        language: BCP 47 tag of the law; its region, as in "fr-BE", is the law's place.
    """
    found = _first_place(words.split())
    if found is None:
        return None
    place, territory, _ = found
    home = (language or "").upper().split("-")[1:]
    return None if territory in home or is_of(law, place) else place


def _first_place(words: list[str]) -> tuple[str, str, list[str]] | None:
    """The longest known place that words begin with, its code, and the words behind it."""
    for end in range(_MOST_WORDS, 0, -1):
        place = " ".join(words[:end])
        if territory := _territory(place):
            return place, territory, words[end:]
    return None


def _unaccented(text: str) -> str:
    """A text without accents, of the same length."""
    return "".join(unicodedata.normalize("NFKD", character)[:1] or " " for character in text)


def _last_place(text: str) -> int | None:
    """Where the longest known place that ends a text begins."""
    words = list(_form("place_word").finditer(text))[-_MOST_WORDS:]
    if not words or words[-1].end() != len(text):
        return None
    return next((word.start() for word in words if _territory(text[word.start() :])), None)


@lru_cache(maxsize=4096)
def _territories(law: str) -> frozenset[str]:
    """The places that a law's name contains."""
    words = [_unaccented(word[0]).casefold() for word in _form("place_word").finditer(law)]
    found: set[str | None] = set()
    for first in range(len(words)):
        if not (first and _form("longer").fullmatch(words[first - 1])):
            found.update(_territory(" ".join(words[first : first + n])) for n in range(1, 5))
    return frozenset(territory for territory in found if territory)


@lru_cache(maxsize=4096)
def _territory(words: str) -> str | None:
    """The code of the place that the words name, or are the adjective of."""
    words = " ".join(_unaccented(words).casefold().replace("’", "'").split())
    names, stems = _places()
    if words in names:
        return names[words]
    for end in range(len(words) - 1, 2, -1):
        if (code := stems.get(words[:end])) and _form("of_a_place").fullmatch(words, end):
            return code
    return None


@lru_cache(maxsize=1)
def _places() -> tuple[dict[str, str], dict[str, str]]:
    """The code of each name, and of each stem of a name."""
    likely = get_global("likely_subtags")
    names = {name: code for code, row in _TABLES["places"].items() for name in row.split("; ")}
    for locale in map(Locale, _LANGUAGES):
        for code, name in locale.territories.items():
            if len(code) == 2:
                names.setdefault(_unaccented(name).casefold().replace("’", "'"), code)
    stems = {
        _form("stem_ending").sub("", name): code for name, code in names.items() if " " not in name
    }
    for locale in map(Locale, ("en", "fr")):  # in Dutch, "Lets" is a language
        for language, name in locale.languages.items():
            if len(language) == 2 and language in likely:
                home = _HOMES.get(language, likely[language].rpartition("_")[2])
                names.setdefault(_unaccented(name).casefold(), home)
                stems.setdefault(_unaccented(name).casefold(), home)
    return names, {stem: code for stem, code in stems.items() if len(stem) > 2}


@lru_cache(maxsize=1)
def _english_languages() -> frozenset[str]:
    return frozenset(_unaccented(name) for name in Locale("en").languages.values())


@lru_cache(maxsize=1)
def _chinese_places() -> re.Pattern[str]:
    names = {
        re.sub("^中国|特别行政区$", "", name)
        for code, name in Locale("zh").territories.items()
        if len(code) == 2 and code != "CN"
    }
    return re.compile(rf"({any_of(names)})(?:地区|特别行政区)?的?$")


# The names.

Name = TypeVar("Name", bound=Hashable)

_LONGEST_CHINESE = 40  # characters
_REACH = 200  # characters read on either side of a citation

_PLAIN_BRACKETS = str.maketrans("()", "（）", "《》〈〉")
# A short name counts in this case alone: "OR", "KSchG", "Sr".
_OF_ABBREVIATIONS = 3  # rank
_FUNCTION_WORDS = frozenset().union(*STOP_WORDS.values())
_BRACKET = r"\s*\((?!(?:Part|Book|Livre|Titre|Chap)\b)(?P<words>[A-Z]\w*(?:\s+[A-Z]\w*){0,3})\)"
_BRACKET_AFTER = re.compile(rf"(?:,?\s+(?:of\s+)?(?:1[5-9]|20)\d\d)?{_BRACKET}")
_BRACKET_ENDING = re.compile(rf"{_BRACKET}$")
_NEAR = 80  # characters that are searched for them
# After these the words in capitals belong to the name.
_FIRM = frozenset({"the", "under", "per"})
# Words that do not distinguish laws, and others that begin a sentence or introduce a name.
_QUALIFIERS = plain_words("qualifiers")
_LEADS = _QUALIFIERS.union(plain_words("leads"), *STOP_WORDS.values())
LONGEST_NAME = 14
"""How many words of a name are compared."""

KINDS_OF_LAW = frozenset({"act", "code", "law", "loi", "regulation", "rule", "luat", "gesetz"})
"""Words that do not name a law on their own, in compared form."""

# Words that occur in names and next to them, and do not distinguish laws.
_IGNORED_WORDS = plain_words("ignored")
# In brackets these say whose law it is; they are not its initials.
_OF_PLACES = frozenset(["EU", "EC", "EEC", "UE", "CE", "EG", "UK", "US", "USA", "UAE", "NI", "NSW"])
# They end a name, but not as the place of a law does: "California Code of Civil Procedure".
_SUBJECTS = ("Procedure", "Evidence", "Practice", "Conduct", "Regulations", "Rights", "Obligations")


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
                if _form("short").fullmatch(name) and name != name.lower():
                    _keep(self._initials, name, 0, law)
                else:
                    self._add(_form("country").sub("", name), law)
                # "LEY-24240", "Defensa del Consumidor"
                if kind := _form("kind_of_identifier").match(name):
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
        if _form("chinese").search(name):
            for rank, alias in enumerate(chinese_aliases_of(name)):
                _keep(self._chinese, alias, rank, law)
            return
        if " " in name:  # identifiers have years of other things too
            self._years[law].update(YEAR.findall(name))
        for rank, alias in aliases_of(name):
            self._add_words(alias, rank, law)
        for initials in initials_of(name):
            _keep(self._initials, initials, 0, law)
        for number in _act_numbers(name):
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
                if _form("short").fullmatch(bare) and bare != bare.lower():
                    self._initials.setdefault(bare, named)
                else:  # "C.c." and "c.c." of two countries are compared alike
                    for law in laws:
                        _keep(self._words, words_of(short), _OF_ABBREVIATIONS, law)
        for initials, named in self._initials.items():
            small = initials.lower()
            if _form("unmistakable").fullmatch(initials.upper()) and small not in _FUNCTION_WORDS:
                self._words.setdefault(words_of(initials), named)
            if initials.isupper():
                self._words.setdefault(("".join(f"{letter}." for letter in small),), named)

    def after(self, text: str, position: int) -> NamedLaws:
        """The laws whose name begins at a position, past "of the" and the like."""
        lead = _form("lead").match(text, position)
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
        is_upper = text[position : position + 1].isupper()
        if is_upper and _form("sentence_ended").search(text, begin, position):
            return NamedLaws()
        if self._chinese and (laws := self._chinese_ending(text[begin:position])):
            return NamedLaws(laws)
        trail = _form("trail").search(text, begin, position)
        end = trail.start() if trail else position
        named = self._ending(text, begin, end)
        if named.laws:
            return named
        if slash := _form("slashed_year").search(text, begin, end):
            named = self._ending(text, begin, slash.start())
            laws = self._of_year(named.laws, text, begin, slash.start())
        elif (start := place_ending(text, begin, end)) is not None:
            named = self._ending(text, begin, start)
            laws = of_place(named.laws, place_after(text, start))
        elif bracket := _BRACKET_ENDING.search(text, begin, end):
            named = self._ending(text, begin, bracket.start())
            laws = with_bracket(named.laws, bracket["words"])
        else:
            return NamedLaws()
        return NamedLaws(laws, named.sure)

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
        if self._chinese and _form("chinese").search(text):
            for end in range(2, len(text) + 1):
                laws = self._chinese_suffix(text[max(0, end - _LONGEST_CHINESE) : end])
                if laws:
                    yield end, end, laws

    def _ending(self, text: str, begin: int, end: int) -> NamedLaws:
        """The laws with the longest name that ends at text[end], from text[begin] on."""
        tokens = list(tokens_of(text, begin, end))
        compared = tuple(word for word, _, _ in tokens)
        if not tokens or not (
            compared[-1] in self._last or text[tokens[-1][1] : end] in self._initials
        ):
            return NamedLaws()
        for index, (_, start, _) in enumerate(tokens):
            if laws := self._named(compared[index:], text[start:end]):
                laws = of_place(laws, place_before(text, start))
                words, firm = words_before(text, start, end)
                own = with_words(laws, words)
                if own or firm:
                    return NamedLaws(own)
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
        for word, start, end in islice(tokens, LONGEST_NAME):
            begins = word in self._first or text[start:end] in self._initials
            if not words and not (begins and start == begin):
                break
            words += (word,)
            if _form("number_goes_on").match(text, end):
                continue  # "Loi 2002-303" is not a law of 2002
            if laws := self._named(words, text[begin:end]):
                continues = _form("continues").match(text, end)
                found = () if continues else self._of_year(laws, text, begin, end)
                found = of_place(found, place_after(text, end))
                if bracket := _BRACKET_AFTER.match(text, end):  # "(Qld)"
                    found = with_bracket(found, bracket["words"])
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
        year = _form("year_after").match(text, end)
        if year is None or YEAR.search(text, begin, end):
            return laws
        of_it = tuple(law for law in laws if self._is_of_year(law, year[1]))
        return of_it or tuple(law for law in laws if not self._years[law])

    def _names_year(self, laws: tuple[str, ...], text: str, begin: int, end: int) -> bool:
        """Whether the year of one of the laws is in, or follows, its name text[begin:end]."""
        year = _form("year_after").match(text, end)
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
        if text[-1:] in self._last_chinese:
            for length in range(min(_LONGEST_CHINESE, len(text)), 1, -1):
                if named := self._chinese.get(text[-length:]):
                    return _of_chinese_place(named[1], text[:-length])
        return ()


def _of_chinese_place(laws: list[str], before: str) -> tuple[str, ...]:
    """The laws that can be meant after some text: 德国民法典 is not China's."""
    known = _chinese_places().search(before[-_NEAR_PLACE:])
    return tuple(law for law in laws if known is None or known[1] in law)


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


def with_bracket(laws: tuple[str, ...], words: str) -> tuple[str, ...]:
    """The laws whose names contain the bracketed words, or have them as initials."""
    return tuple(law for law in laws if words in initials_of(law) or _has_words(law, words.split()))


def with_words(laws: tuple[str, ...], words: Sequence[str]) -> tuple[str, ...]:
    """The laws whose name or place includes all words before their common name."""
    return tuple(law for law in laws if _has_words(law, words))


def _has_words(law: str, words: Sequence[str]) -> bool:
    """Whether a law's full name contains the words, or the place that they mean: "Singaporean"."""
    own = {word for word, _, _ in tokens_of(law, 0, len(law))}
    others = [word for word in words if as_compared(word) not in own]
    return not others or is_place_of(law, " ".join(others))


def words_before(text: str, start: int, end: int) -> tuple[list[str], bool]:
    """The words in capitals, and years, in front of the English name text[start:end].

    Returns:
        The words, and whether they certainly belong to the name. After "the" they do; at the
        beginning of a sentence they may be its topic: "Rent Increase Housing Code, art. 5".

    >>> words_before("Does the Social Housing Code apply?", 16, 28)
    (['Social'], True)
    """
    capitals = _form("capitals").search(text, max(0, start - _NEAR), start)
    if capitals is None or _form("english_name").fullmatch(text, start, end) is None:
        return [], False
    words = [_bare(word) for word in capitals[0].split()]
    leads = [i for i, word in enumerate(words) if word.lower() in _LEADS]
    if leads:
        return words[leads[-1] + 1 :], words[leads[-1]].lower() in _FIRM
    before = max(0, capitals.start() - 8)
    return words, _form("leads_to_name").search(text, before, capitals.start()) is not None


def names_in_front(text: str, begin: int) -> Iterator[tuple[int, list[str]]]:
    """Where a name may begin after one to four distinguishing words, and these words.

    >>> next(names_in_front("Aldermere Housing Code", 0))
    (10, ['Aldermere'])
    """
    words: list[str] = []
    for _ in range(4):
        if (word := _form("in_front").match(text, begin)) is None:
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
    whole = re.sub(r"\s*[(\[][^()\[\]]*[)\]]", "", law).strip()
    bare = whole.removesuffix(" für die Bundesrepublik Deutschland")
    undated = _form("date").sub("", bare)
    without_date, without_nation = _form("date").sub("", law), _form("of_the_nation").sub("", bare)
    for name in (whole, without_date, bare, without_nation, undated):
        yield 1, name
    if (finnish := bare.removeprefix("Laki ")) != bare:
        yield 1, f"{finnish} annetun lain"
        yield 1, f"{finnish} annettu laki"
    if dated := _form("dated").match(law):
        yield 1, f"{dated[1]} {dated[2]}"
    if numbered := _form("numbered_title").match(bare):
        yield 1, f"{numbered['kind']} {numbered['subject']}"
    if enacts := _form("enacts").search(bare):
        yield 1, enacts[1]
    name, of, place = undated.rpartition(" of ")
    of_a_place = place.removeprefix("the ")[:1].isupper() and not place.endswith(_SUBJECTS)
    if of and of_a_place and len(words_of(name)) > 1:
        yield 1, name
    elif (name := without_place(undated)) and (
        len(words_of(name)) > 1 or _form("german_compound").fullmatch(name)
    ):
        yield 2, name


def initials_of(law: str) -> Iterator[str]:
    """A law's initials: those printed in brackets, and the first letters of its words."""
    printed = re.findall(r"\(([A-ZÄÖÜ]\w*[A-ZÄÖÜ]\w*)\)", law)
    yield from (each for each in printed if each not in _OF_PLACES)
    bare = re.sub(r"\s*[(\[].*", "", law)
    words = re.findall(r"\b[A-ZÀ-Ý]\w*", bare)
    if bare.isupper():  # "LEY DE CONTRATO DE TRABAJO"
        words = [word for word in words if word.lower() not in _FUNCTION_WORDS]
    if len(words) > 2:
        yield "".join(word[0] for word in words)


def chinese_aliases_of(law: str) -> Iterator[str]:
    """The names of a Chinese law, the fullest first."""
    law = re.sub("[《》〈〉]", "", law)
    bare = re.sub(r"\s*\[.*\]$", "", law).strip()
    undated = re.sub(r"[（(][^（）()]*\d{4}[^（）()]*[）)]$", "", bare)
    yield from (law, bare, undated, undated.removeprefix("中华人民共和国"))


def bracketed_name(text: str) -> str:
    """The name in the Chinese title brackets that end a text, without inner brackets."""
    closing, opening = ("》", "《") if text.endswith("》") else ("〉", "〈")
    depth = 0
    for index in range(len(text) - 1, -1, -1):
        depth += (text[index] == closing) - (text[index] == opening)
        if depth == 0:
            return re.sub("[《》〈〉]", "", text[index + 1 : -1])
    return ""


def words_of(text: str) -> tuple[str, ...]:
    """The distinguishing words of a name in order, in compared form."""
    return tuple(word for word, _, _ in tokens_of(text, 0, len(text)))[:LONGEST_NAME]


def tokens_of(text: str, begin: int, end: int) -> Iterator[tuple[str, int, int]]:
    """(compared form, start, end) of each distinguishing word."""
    for word in _form("word").finditer(text, begin, min(end, len(text))):
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
    letters = unicodedata.normalize("NFKD", _UNION_KINDS.get(word, word))
    folded = "".join(c for c in letters if not unicodedata.combining(c)).replace("đ", "d")
    if folded in _IGNORED_WORDS:
        return ""
    return "and" if folded == "&" else _form("ending").sub("", folded)
