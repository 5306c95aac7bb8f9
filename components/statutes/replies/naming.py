"""Whether a law is named as it is called, and whether a sentence speaks of another one."""

from __future__ import annotations

import re
import unicodedata

from components.statutes.citations import Citation
from components.statutes.law_hints import GENERIC_NAMES, NAME_OF_A_LAW
from components.statutes.law_names import LawNames

SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？\n]")
_SENTENCE = 300  # characters of it that are read on either side of a citation
_HINT_WITHIN = 200  # characters behind a citation, in which its law is named
# How the name of a law may go on behind what retrieval has read of it: "(Northern Ireland)". What
# names a part of the article does not belong to it.
_NAME_GOES_ON = re.compile(
    r"(?:[ \t]+(?:(?:of|the|and|on|for|du|de|des|la|le|et|der|des|und)[ \t]+)*\(?"
    r"(?!(?:Abs|Satz|Nr|Num|Para|Sub|Al\b|Alin|Ziff|Buchst|Art|Sec|Cl|Part|Ch)\w*)"
    r"(?:[A-ZÀ-Ý][\w'’-]*|(?:1[5-9]|20)\d\d\b)\)?)+"
)
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_NO_NAME = frozenset(
    ["the", "of", "de", "du", "des", "la", "le", "l", "d", "der", "die", "das", "dem", "and"]
)


def more_of_name(citation: Citation, reply: str, plain: str) -> str:
    """How the name of a citation's law goes on behind its hint; initials are names by themselves.

    It is read with its emphasis, which ends a name: "**Section 12 Housing Code** Tenants ...".
    """
    hint = citation.law_hint
    if hint is None or hint.isupper():
        return ""
    place = plain.find(hint, citation.group[1], citation.group[1] + _HINT_WITHIN)
    more = _NAME_GOES_ON.match(reply, place + len(hint)) if place >= 0 else None
    return more[0] if more else ""


def speaks_of_another_law(plain: str, citation: Citation, law: str, names: LawNames) -> bool:
    """Whether the sentence of a citation names a law that is not the one given.

    Args:
        plain: What was written.
        citation: Of it.
        law: The one that it is taken for.
        names: Of the laws that were given.
    """
    start, end = citation.group
    begin = max(0, start - _SENTENCE)
    for before in SENTENCE_END.finditer(plain, begin, start):
        begin = before.end()
    after = SENTENCE_END.search(plain, end, end + _SENTENCE)
    stop = after.start() if after else min(len(plain), end + _SENTENCE)
    found = (match[0] for match in NAME_OF_A_LAW.finditer(plain, begin, stop))
    return any(
        law not in names.anywhere(name) or not is_name(name, law)
        for name in found
        if name not in GENERIC_NAMES
    )


def name_goes_on(more: str, law: str) -> bool:
    """Whether the capitals and years with which a name goes on stand in a law's name too."""
    known = _words(law)
    return all(
        any(_alike(word, each) for each in known)
        for written in re.findall(r"\w+", more)
        if not written[0].islower()
        for word in _words(written)
    )


def is_name(hint: str, law: str) -> bool:
    """Whether every word that names a law stands in its full name, whatever its ending."""
    if _CHINESE.search(hint):
        return hint.strip("《》") in law
    if hint.isupper() and len(hint.split()) == 1:
        return True  # initials, which the resolver has told apart
    known = _words(law)
    for written in re.findall(r"\w+", hint):
        word = _words(written)[0]
        if word not in _NO_NAME and not any(_alike(word, each) for each in known):
            # The sentence may go on behind the name, but a name goes on with a capital.
            return str(written)[0].islower()
    return True


def _alike(word: str, known: str) -> bool:
    if word.isdigit() or known.isdigit():
        return word == known
    shorter = min(len(word), len(known))
    return known.startswith(word) or (shorter > 4 and word[: shorter - 1] == known[: shorter - 1])


def _words(text: str) -> list[str]:
    letters = unicodedata.normalize("NFKD", text.casefold())
    return re.findall(r"\w+", "".join(c for c in letters if not unicodedata.combining(c)))
