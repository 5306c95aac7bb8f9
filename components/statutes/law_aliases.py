"""The forms in which the name of a law is written, and its words as they are compared."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

LONGEST_NAME = 14
"""Words of a name that are compared."""

KINDS_OF_LAW = frozenset({"act", "code", "law", "loi", "regulation", "rule", "luat", "gesetz"})
"""Compared words of which one alone names no law."""

_WORD = re.compile(r"\w+|&")
# Words that stand in a name and beside it, and tell no two laws apart.
_UNHEARD = frozenset(
    re.findall(r"\w+", "the de du des la le les l d der die das dem den von vom zum zur")
)
# In brackets they tell whose law it is, and are no name of it.
_OF_PLACES = frozenset(["EU", "EC", "EEC", "UE", "CE", "EG", "UK", "US", "USA", "UAE", "NI", "NSW"])
# "Act 1988", "Act, 1872", "Act of 1996", "Act 66 of 1995"
_DATE = re.compile(r",?\s+(?:(?:No\.?\s*)?\d{1,3}\s+)?(?:of\s+)?\d{4}$")
_DATED = re.compile(
    r"(?:loi|arrêté royal|arrêté|décret|ordonnance|règlement)\s+du\s+\S+\s+\w+\s+\d{4}", re.I
)


def aliases_of(law: str) -> Iterator[tuple[int, str]]:
    """(rank, name) of a law: its full name, and shorter ones."""
    yield 0, law
    bare = re.sub(r"\s*[(\[][^()\[\]]*[)\]]", "", law).strip()
    yield 1, bare
    yield 1, _DATE.sub("", law)
    bare = bare.removesuffix(" für die Bundesrepublik Deutschland")
    yield 1, bare
    undated = _DATE.sub("", bare)
    yield 1, undated
    if dated := _DATED.match(law):
        yield 1, dated[0]
    name, of, place = undated.rpartition(" of ")
    if of and place.removeprefix("the ")[:1].isupper() and len(words_of(name)) > 1:
        yield 1, name


def initials_of(law: str) -> Iterator[str]:
    """Capitals that stand for a law: printed in brackets, or the first letters of its words."""
    printed = re.findall(r"\(([A-ZÄÖÜ]\w*[A-ZÄÖÜ]\w*)\)", law)
    yield from (each for each in printed if each not in _OF_PLACES)
    capitals = re.findall(r"\b[A-ZÀ-Ý]", re.sub(r"\s*[(\[].*", "", law))
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
    """The words that tell names apart, as they are compared, in their order."""
    return tuple(word for word, _, _ in tokens_of(text, 0, len(text)))[:LONGEST_NAME]


def tokens_of(text: str, begin: int, end: int) -> Iterator[tuple[str, int, int]]:
    """(word as compared, start, end) of the words that tell names apart."""
    for word in _WORD.finditer(text, begin, min(end, len(text))):
        if compared := as_compared(word[0]):
            yield compared, word.start(), word.end()


@lru_cache(maxsize=65_536)
def as_compared(word: str) -> str:
    """A word without case, accents and ending; "" for an article or preposition."""
    letters = unicodedata.normalize("NFKD", word.lower())
    folded = "".join(c for c in letters if not unicodedata.combining(c)).replace("đ", "d")
    if folded in _UNHEARD:
        return ""
    if folded == "&":
        return "and"
    # Enough for the case and number of a name's words: Gesetzbuchs, Bürgerlichen, Regulations.
    return re.sub(r"(?<=\w{4})[esnrm]+$", "", folded)
