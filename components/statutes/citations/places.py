"""Places next to the name of a law: the "Code civil suisse" is not any other Code civil.

The names of countries and languages come from Babel. A capitalised name is recognised without
them; they serve for adjectives ("suisse", "Norwegian") and for questions in lower case.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from babel import Locale
from babel.core import get_global

_LANGUAGES = ("en", "fr", "de", "nl", "es")
# What Babel does not list, or lists under another name.
_MORE_NAMES = {
    **dict.fromkeys(("uk", "britain", "great britain", "british"), "GB"),
    "belge": "BE",
    "belges": "BE",
    "swiss": "CH",
    "scottish": "scotland",
    **dict.fromkeys(("usa", "america"), "US"),
    # Romance adjectives that are not formed from the country's name.
    **dict.fromkeys(("tedesco", "tedesca", "aleman", "alemana", "alemao", "alema"), "DE"),
    **dict.fromkeys(("francese", "francesa", "frances"), "FR"),
    **dict.fromkeys(("svizzero", "svizzera", "suizo", "suiza", "suico", "suica"), "CH"),
    **dict.fromkeys(("spagnolo", "spagnola"), "ES"),
    "uae": "AE",
    "cth": "AU",
    "holland": "NL",
    "nsw": "new south wales",
    "qld": "queensland",
    **{name: name for name in ("england", "scotland", "wales", "quebec", "california", "texas")},
    **{name: name for name in ("louisiana", "new york", "new south wales", "queensland")},
}
_HOMES = {"en": "england", "pt": "PT"}  # of languages that are spoken in many countries
# "belg-e" of Belgique, "Canad-ian", "österreich-isch".
_STEM_ENDING = re.compile(r"(?:ique|ium|[aeiou]+)$")
_OF_A_PLACE = re.compile(
    r"(?:[ei]?[ae]n(?:ne)?|ic?ain?e?|[ao]i[sn]e?|ol[ae]?|[ei]se|(?:er)?isch(?:e[rnsm]?)?|ish)s?"
)
_ENGLISH_ADJECTIVE = re.compile(r"\w*(?:an|ish|ese)")
_MOST_WORDS = 4  # of a place: "New South Wales"
_OF = r"(?:(?:of|in|du|des|de|del|der|von|van)\b|d['’]|de l['’])"
_LINK = rf"\.?\s+(?:{_OF}\s*(?:(?:the|la|le|les)\s+|l['’]\s?)?|\()?"
_LINK_AFTER = re.compile(_LINK, re.IGNORECASE)
_LINK_BEFORE = re.compile(rf"{_LINK}$", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_](?:[\w-]|['’](?!s\b)(?=\w))*")
# "of Norway", "du Valais"; but not "of Part 2" or "of May 2001".
_CAPITAL_WORD = (
    r"(?!(?:Part|Chapter|Title|Book|Art|Article|Sec|Section|Rule|Schedule|January|February|March"
    r"|April|May|June|July|August|September|October|November|December|Mme?|Mrs?|Ms|Dr"
    r"|Naci[óo]n|Rep[úu]blica|Federaci[óo]n)\b)"
    r"[A-ZÀ-Ý][\w-]+"
)
_CAPITAL = re.compile(
    r"\s+(?:of\s+(?:the\s+)?|(?:du|de la|de)\s+|(?:de l|d)['’]\s?)"
    rf"(?P<place>{_CAPITAL_WORD}(?:\s+{_CAPITAL_WORD})*)"
)
# "Northern Ireland" is not Ireland, nor New Mexico Mexico.
_LONGER = re.compile(r"(?:new|north(?:ern)?|south(?:ern)?|east(?:ern)?|west(?:ern)?)")
_NEAR = 60  # characters that are searched for the place


def place_after(text: str, end: int) -> str | None:
    """The place, or the adjective of one, that follows a law's name ending at `end`.

    >>> place_after("Housing Code of Norway", 12), place_after("Code civil suisse", 10)
    ('Norway', 'suisse')
    """
    if capital := _CAPITAL.match(text, end):
        return capital["place"]
    link = _LINK_AFTER.match(text, end)
    # "... of the Housing Code. In Norway" begins a sentence.
    if link is None or (link[0][0] == "." and link[0][1:].lstrip()[:1].isupper()):
        return None
    words = list(_WORD.finditer(text, link.end(), link.end() + _NEAR))[:_MOST_WORDS]
    if not words or words[0].start() != link.end():
        return None
    for last in reversed(words):
        place = text[link.end() : last.end()]
        if _territory(place):
            # English puts adjectives before a name. After it they belong to the next word
            # ("Housing Code British tenants") or name a language ("Code civil in English").
            english = _ENGLISH_ADJECTIVE.fullmatch(place) or folded(place) in _english_languages()
            return None if english and link[0].strip() in ("", "in") else place
    return None


def place_before(text: str, start: int) -> str | None:
    """As `place_after`, before a name: "Norwegian Housing Code", "Norway's Housing Code"."""
    before = re.sub(r"['’]s?(?=\s+$)", "", text[max(0, start - _NEAR) : start])
    place = _last_place(before.rstrip()) if before[-1:].isspace() else None
    return None if place is None else before[place:].rstrip()


def place_ending(text: str, start: int, end: int) -> int | None:
    """Where the place that ends text[start:end] begins, its "of" included; None without one."""
    part = text[max(start, end - _NEAR) : end].removesuffix(")")
    place = _last_place(part)
    link = None if place is None else _LINK_BEFORE.search(part, 0, place)
    return link and max(start, end - _NEAR) + link.start()


def without_place(law: str) -> str:
    """A law's name without the place at its beginning or end; "" if there is none.

    >>> without_place("Code civil suisse")
    'Code civil'
    """
    if (start := place_ending(law, 0, len(law))) is not None:
        return law[:start]
    words = law.split()
    for end in range(_MOST_WORDS, 0, -1):
        if _territory(" ".join(words[:end])):
            return " ".join(words[end:])
    return ""


def chinese_place_ending(text: str) -> str | None:
    """The place that ends a Chinese text before a law's name: 德国 in 德国民法典."""
    known = _chinese_places().search(text[-_NEAR:])
    return known[1] if known else None


def is_place_of(law: str, words: str) -> bool:
    """Whether the words are a known place, and nothing else, that a law's name contains."""
    territory = _territory(words)
    return territory is not None and territory in _territories(law)


@lru_cache(maxsize=4096)
def is_of(law: str, place: str) -> bool:
    """Whether a law's full name contains a place: "Code civil (Belgique)" is "belge"."""
    sought = re.findall(r"[\w-]+", folded(place).casefold())
    if any(is_place_of(law, " ".join(sought[:n])) for n in range(1, _MOST_WORDS + 1)):
        return True
    words = re.findall(r"[\w-]+|[^\w\s]", folded(law).casefold())
    for index, word in enumerate(words):
        if word == sought[0] and not (index and _LONGER.fullmatch(words[index - 1])):
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
    parts = words.split()
    for end in range(min(len(parts), _MOST_WORDS), 0, -1):
        place = " ".join(parts[:end])
        territory = _territory(place)
        if territory is not None:
            home = (language or "").upper().split("-")[1:]
            return None if territory in home or is_of(law, place) else place
    return None


def folded(text: str) -> str:
    """A text without accents, of the same length."""
    return "".join(unicodedata.normalize("NFKD", character)[:1] or " " for character in text)


def _last_place(text: str) -> int | None:
    """Where the longest known place that ends a text begins."""
    words = list(_WORD.finditer(text))[-_MOST_WORDS:]
    if not words or words[-1].end() != len(text):
        return None
    return next((word.start() for word in words if _territory(text[word.start() :])), None)


@lru_cache(maxsize=4096)
def _territories(law: str) -> frozenset[str]:
    """The places that a law's name contains."""
    words = [folded(word[0]).casefold() for word in _WORD.finditer(law)]
    found: set[str | None] = set()
    for first in range(len(words)):
        if not (first and _LONGER.fullmatch(words[first - 1])):
            found.update(_territory(" ".join(words[first : first + n])) for n in range(1, 5))
    return frozenset(territory for territory in found if territory)


@lru_cache(maxsize=4096)
def _territory(words: str) -> str | None:
    """The code of the place that the words name, or are the adjective of."""
    words = " ".join(folded(words).casefold().replace("’", "'").split())
    names, stems = _places()
    if words in names:
        return names[words]
    for end in range(len(words) - 1, 2, -1):
        if (code := stems.get(words[:end])) and _OF_A_PLACE.fullmatch(words, end):
            return code
    return None


@lru_cache(maxsize=1)
def _places() -> tuple[dict[str, str], dict[str, str]]:
    """The code of each name, and of each stem of a name."""
    likely = get_global("likely_subtags")
    names: dict[str, str] = dict(_MORE_NAMES)
    for locale in map(Locale, _LANGUAGES):
        for code, name in locale.territories.items():
            if len(code) == 2:
                names.setdefault(folded(name).casefold().replace("’", "'"), code)
    stems = {_STEM_ENDING.sub("", name): code for name, code in names.items() if " " not in name}
    for locale in map(Locale, ("en", "fr")):  # in Dutch, "Lets" is a language
        for language, name in locale.languages.items():
            if len(language) == 2 and language in likely:
                home = _HOMES.get(language, likely[language].rpartition("_")[2])
                names.setdefault(folded(name).casefold(), home)
                stems.setdefault(folded(name).casefold(), home)
    return names, {stem: code for stem, code in stems.items() if len(stem) > 2}


@lru_cache(maxsize=1)
def _english_languages() -> frozenset[str]:
    return frozenset(folded(name) for name in Locale("en").languages.values())


@lru_cache(maxsize=1)
def _chinese_places() -> re.Pattern[str]:
    names = {
        re.sub("^中国|特别行政区$", "", name)
        for code, name in Locale("zh").territories.items()
        if len(code) == 2 and code != "CN"
    }
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile(rf"({'|'.join(longest_first)})(?:地区|特别行政区)?的?$")
