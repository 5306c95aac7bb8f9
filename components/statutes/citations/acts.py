"""Acts that are cited by number: "Ley 20.744", "D.Lgs. 79/2011", "Regulation (EU) 2016/679"."""

from __future__ import annotations

import re
from collections.abc import Iterator

YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")

# Kinds of acts, each with its abbreviations.
_SAME_KIND = (
    ("legge", "l."),
    ("decreto legislativo", "d.lgs.", "d. lgs.", "dlgs"),
    ("decreto-legge", "decreto legge", "d.l."),
    ("regio decreto", "r.d."),
    ("decreto del presidente della repubblica", "d.p.r.", "dpr"),
    ("ley orgánica", "lo", "l.o."),
    ("real decreto", "rd", "r.d."),
    ("real decreto-ley", "rdl", "rd-ley"),
    ("real decreto legislativo", "rdleg", "rdlg"),
    ("decreto-lei", "decreto lei", "dl", "d.l."),
    ("lei complementar", "lc"),
)
_OTHER_KINDS = (
    r"ley(?: foral)?|lei|loi(?: organique)?|law|act|decreto(?:[- ]ley| supremo)?|d[ée]cret(?:-loi)?"
    r"|ordonnance|medida provisória|portaria|ordenanza"
)
# Words for one kind of act of the European Union, in its languages.
_OF_THE_UNION = {
    "regulation": "regulation|règlement|reglamento|regolamento|regulamento|verordnung|verordening"
    "|rozporządzenie|förordning|forordning",
    "directive": "directive|directiva|direttiva|diretiva|richtlinie|richtlijn|dyrektywa",
    "decision": "decision|décision|decisión|decisione|decisão|beschluss|besluit|decyzja",
}
UNION_KINDS = {word: kind for kind, words in _OF_THE_UNION.items() for word in words.split("|")}
"""The English word for each."""
_KIND = "|".join(
    sorted((re.escape(name) for names in _SAME_KIND for name in names), key=len, reverse=True)
)
_DAY = r"\d{1,2}(?:er|[°º])?\.?\s+(?:de\s+)?[^\W\d]+\s+(?:de\s+)?(?:1[5-9]|20)\d\d"
COMMUNITY = r"\(?\b(?:EU|EC|EEC|UE|CE|CEE|EG|EWG)\b\)?"
NUMBER_SIGN = r"(?:n(?:[°º]|[or]s?\b)\.?|n\.\s?[°º]?|n[úu]m\.?|nro\.?|№)"
BY_NUMBER = (
    rf"\b(?P<kind>{_KIND}|{_OTHER_KINDS}|{'|'.join(_OF_THE_UNION.values())})(?<=\w\w|\w\.)"
    rf"(?:\s+(?:del?\s|du\s)?\s*(?P<date>{_DAY}),?)?[\s-]*(?:{COMMUNITY}\s*)?(?:{NUMBER_SIGN}\s*)?"
    r"(?P<number>\d{1,3}(?:\.\d{3})+(?!\d)|\d+)(?:(?:/|-|\s+(?:of|del?)\s+)(?P<second>\d+))?"
    r"(?!\w|[./-]\d)"
)
"""An act by its whole number; ignore case."""
_ACT = re.compile(
    # "Labour Relations Act 66 of 1995", "Labour Relations Act, 1995 (Act 66 of 1995)"
    rf"(?:^|\(|^(?:(?-i:[A-Z]\w+)\s(?:(?:and|of)\s)?){{1,8}}?(?=Act\s)){BY_NUMBER}"
    rf"(?:,?\s+(?:de|du|of|vom)\s+(?P<day>{_DAY}))?",
    re.IGNORECASE,
)
_CELEX = re.compile(r"3(\d{4})([RLD])(\d{4})")
_BY_LETTER = {"R": "regulation", "L": "directive", "D": "decision"}


def act_numbers(name: str) -> Iterator[str]:
    """The ways to cite the act whose number a name begins with, or has in brackets.

    >>> list(act_numbers("Ley 20.744 de Contrato de Trabajo"))
    ['ley 20744']
    >>> list(act_numbers("D.Lgs. 79/2011"))[:3]
    ['decreto legislativo 79 2011', 'decreto legislativo 79 11', 'd.lgs. 79 2011']
    >>> list(act_numbers("32016R0679"))
    ['regulation 2016 679', 'regulation 679 2016', 'regulation 16 679', 'regulation 679 16']
    """
    if celex := _CELEX.fullmatch(name):
        year, number = celex[1], str(int(celex[3]))
        for short in (year, year[2:]):
            yield f"{_BY_LETTER[celex[2]]} {short} {number}"
            yield f"{_BY_LETTER[celex[2]]} {number} {short}"
        return
    if (act := _ACT.search(name)) is None:
        return
    kind, number, second = act["kind"].lower(), act["number"].replace(".", ""), act["second"]
    if kind in UNION_KINDS and second:
        yield f"{kind} {number} {second}"
        yield f"{kind} {second} {number}"
        return
    if second is None and YEAR.fullmatch(number):
        return  # "Housing Act 1988"
    years = YEAR.findall(second or act["date"] or act["day"] or "")
    for synonym in next((each for each in _SAME_KIND if kind in each), (kind,)):
        if act["date"]:
            yield f"{synonym} {act['date']} {number}"
        if second:
            yield f"{synonym} {number} {second}"
        elif years:
            yield f"{synonym} {number} {years[-1]}"
        if years:
            yield f"{synonym} {number} {years[-1][2:]}"
        # Short ones count from 1 in every year.
        if not (second or years) or (years and len(number) > 3):
            yield f"{synonym} {number}"
