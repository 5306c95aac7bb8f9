"""Whether a law's name in running text is part of a longer one: the "Social Housing Code"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from components.statutes.law_aliases import KINDS_OF_LAW, as_compared
from components.statutes.stop_words import STOP_WORDS

# A name goes on: the "Code pénal" is not the "Code pénal social".
_GOES_ON = re.compile(
    r"\s+(?:(?i:social|militaire|maritime|local|international|amendment|regulations?)\b"
    # "Housing Code Enforcement Act", "Companies Act (Fees) Regulations"
    r"|(?:\([^()]{1,40}\)\s+)?(?:[A-Z]\w+\s+){0,2}(?:Act|Order|Regulations?|Rules|Guidelines|Code"
    r"|Law|Ordinance)\b(?!\s+\d)"
    # "Companies Act 2006 (Amendment) Regulations 2009": behind brackets no citation begins
    r"|\([A-Z][^()]{1,80}\)\s+(?:Order|Regulations|Rules|Act)\s+(?:1[5-9]|20)\d\d\b)"
)
# Only English names put what tells them apart in front, in capitals.
_ENGLISH_NAME = re.compile(r".*[a-z].*\b(?:Act|Order|Regulations?|Rules|Code|Law|Ordinance)\b.*")
_YEAR = r"(?:1[5-9]|20)\d\d"
_CAPITALS = re.compile(rf"(?:(?:[A-ZÀ-Ý][\w’'-]*|{_YEAR})\s+){{1,4}}$")
_IN_FRONT = re.compile(rf"([^\W\d][\w’'-]*|{_YEAR}\b) +")
_NEAR = 80  # characters in which they stand
_ROMAN = re.compile("[IVXLC]+")
# What leads to a name: the words behind it belong to the name.
_FIRM = frozenset({"the", "under", "per"})
_LEADS_TO_NAME = re.compile(r"\b(?:the|under|per)\s+$", re.IGNORECASE)
# Words that tell no two laws apart, and others that begin a sentence or lead to a name.
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


def goes_on(text: str, end: int) -> bool:
    """Whether a name that ends there goes on: "Housing Code Enforcement Act"."""
    return _GOES_ON.match(text, end) is not None


def words_before(text: str, start: int, end: int) -> tuple[list[str], bool]:
    """The words in capitals, and years, in front of the English name text[start:end].

    Returns:
        The words, and whether they belong to the name for certain: behind "the" they do, at the
        beginning of a sentence they may be what it is about, "Rent Increase Housing Code, art. 5".

    >>> words_before("Does the Social Housing Code apply?", 16, 28)
    (['Social'], True)
    """
    if _ENGLISH_NAME.fullmatch(text, start, end) is None:
        return [], False
    capitals = _CAPITALS.search(text, max(0, start - _NEAR), start)
    if capitals is None:
        return [], False
    words = [_bare(word) for word in capitals[0].split()]
    leads = [i for i, word in enumerate(words) if word.lower() in _LEADS or _ROMAN.fullmatch(word)]
    if leads:
        return words[leads[-1] + 1 :], words[leads[-1]].lower() in _FIRM
    before = max(0, capitals.start() - 8)
    return words, _LEADS_TO_NAME.search(text, before, capitals.start()) is not None


def told_in_front(text: str, begin: int) -> Iterator[tuple[int, list[str]]]:
    """Where a name may begin behind one to four words that tell whose or which law it is.

    >>> next(told_in_front("Aldermere Housing Code", 0))
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
    """Whether words between a number and a name may say what it is about: "notice", no "GDPR"."""
    return all(
        word.isalpha() and not word.isupper() and as_compared(word) not in KINDS_OF_LAW
        for word in words
    )


def _bare(word: str) -> str:
    return re.sub(r"['’]s?$", "", word)
