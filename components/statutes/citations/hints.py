"""What the words around a citation say about its law: nothing, "this Act", or a law by name.

This module does not know the corpus; `LawNames` compares names with its laws. A name that is not
of the corpus matters just as much: "section 5 of my contract" must find nothing.
"""

from __future__ import annotations

import re
from typing import Literal

from components.statutes.citations.abbreviations import abbreviations
from components.statutes.citations.acts import BY_NUMBER
from components.statutes.citations.patterns import WORDS, any_language
from components.statutes.citations.places import place_ending

LawReference = Literal["none", "own", "same", "named"]

_NEXT_LINE = 160  # characters read on either side of a citation

_VIETNAMESE = WORDS["vi"]["law"]
_PUBLIC = any_language("law")
PRIVATE_PAPER = any_language("paper")
"""Papers whose numbered clauses are not law."""
_MINE = any_language("mine")
_OF = rf"(?:{any_language('of')})\b|(?:de l|d)['’]"
_DETERMINER = rf"(?:{any_language('the')})\b|l['’]"
_STOP = any_language("stop")
_TITLE = rf"(?!(?:{_STOP})\b)\(?[^\W_][\w&'’-]*\)?"
_OF_SOMETHING = re.compile(
    r"\s*,?\s*(?:(?:of|from)\s+(?:the|an?)\b|(?:du|des|der|del|de los|de las?|van (?:het|de|een))\b"
    r"|de l['’]|d['’]une?\b)\s*[^\W\d_]",
    re.IGNORECASE,
)
_SAME = re.compile(
    rf"\s*,?\s*(?:{_OF})?\s*(?:(?:the|du|de la|le|la)\s+)?(?:that|same|même|ledit|ladite|dudit"
    r"|cette|ce|desselben|derselben)\s+(?:[Aa]ct|[Ll]aw|[Cc]ode|[Rr]egulations?|loi|règlement"
    r"|arrêté|décret|Gesetz\w*)\b",
)
_OWN = re.compile(
    rf"\s*,?\s*(?:(?:{_OF})\s*)?(?:(?:le|la|les|du|des|de la)\s+)?(?:this|these|présente?s?"
    rf"|dieses|dieser)\s+(?:{_PUBLIC})\b"
    rf"|\s*(?:của\s+)?(?:{_PUBLIC})\s+này\b",
    re.IGNORECASE,
)
_GENERIC = re.compile(  # "of the Act": whichever law the text is about
    rf"\s*,?\s*(?:{_OF})\s*(?:(?:{_DETERMINER})\s*)?(?:{any_language('the act')})"
    rf"(?=\s*(?:[.,;:?!)]|$|(?:{_STOP})\b)|\s+\w+-(?:t-)?(?:ils?|elles?|on)\b)"
    # "of the Act require": a name would continue in capitals, or with "of".
    r"|\s*,?\s*(?:of|in|under)\s+the\s+(?:act|law|code)(?=\s+(?-i:[a-z]))(?!\s+(?:of|on|for"
    r"|relating|concerning|respecting|governing|regarding|civil|p[ée]nal|du|de|des)\b)",
    re.IGNORECASE,
)
_PRIVATE_AFTER = re.compile(
    rf"\s*,?\s*(?:(?:{_OF})\s*)(?:(?:{_DETERMINER}|an?|une?)\s*)?"
    rf"(?P<law>(?:{_MINE})\s+\S+(?:\s+(?:{PRIVATE_PAPER})\b)?"
    rf"|(?:{_TITLE}\s+){{0,2}}?(?:{PRIVATE_PAPER})\b)",
    re.IGNORECASE,
)
_PRIVATE_BEFORE = re.compile(
    rf"(?P<law>(?:{PRIVATE_PAPER}))(?:['’]s)?\s*[,:(]?\s*(?:in|at)?\s*$", re.IGNORECASE
)
_NAMED_AFTER = re.compile(
    rf"\s*,?\s*\(?(?:{_OF})\s*(?:(?:{_DETERMINER})\s*)?"
    rf"(?P<law>(?:{_TITLE}\s+){{0,6}}?(?:{_PUBLIC})\b"
    rf"(?:\s+{_TITLE})?(?:\s+(?:(?:of|de la|des|de|du|n°)\s+|de l['’]|(?=[A-Z\d])){_TITLE}){{0,4}})"
    rf"|\s*,?\s*\(?(?P<short>(?:{_TITLE}\s+){{1,3}}(?:code|act|law)\b"
    rf"|code\s+{_TITLE}(?:\s+{_TITLE})?"
    r"|(?:codice|c[óo]digo|(?-i:Ley|Legge|Lei|E?[Ss]tatuto))\s+"
    r"(?:de(?:l|i|lla)?\s+|dell['’]|de l[ao]s?\s+)?"
    r"(?:(?-i:[A-ZÁÉÍÓÚ]\w+)|(?:civile?|penale?|lavoro|trabajo|comercio|consumo)\b)"
    r"(?:\sy\s(?-i:[A-Z]\w+))?"
    r"|(?-i:[A-ZÄÖÜ])\w+(?:gesetz(?:buch)?|ordnung|verfassung)\b"
    r"|(?:regulation|directive|règlement|verordnung|richtlinie)\s+(?:\([A-Z]{2,3}\)\s+)?"
    r"(?:n[°o]\.?\s*)?\d+/\d+"
    rf"|(?:{_VIETNAMESE})\s+(?!này){_TITLE}(?:\s+{_TITLE})?)",
    re.IGNORECASE,
)
# "i.V.m.", "e.g." and the like join sentences and name no law.
_DOTTED = (
    r"(?-i:(?!(?:[iI]\.\s?(?:[VS]\.|d\.\s?[FRS]\.|e\.)|[zZ]\.\s?B\.|d\.\s?h\.|u\.\s?a\.|[as]\.\s?[FOo]\."
    r"|n\.\s?F\.|m\.\s?w\.|e\.\s?g\.|p\.\s?ex\.|[vV]\.\s?m\.))[^\W\d_]\.(?:\s?[^\W\d_]\.)+)"
)
_INITIALS = re.compile(_DOTTED)
_ABBREVIATION = "|".join(map(re.escape, sorted(abbreviations(), key=len, reverse=True)))
_ABBREVIATION = rf"(?-i:{_DOTTED}|(?:{_ABBREVIATION})(?!\w|\. ?[A-Z]))"
# "section 5, regulation 7" are two citations.
_BY_NUMBER = rf"(?!(?:regulation|decision|act|law)\s+\d+(?![\d/]|\s+of)){BY_NUMBER}"
_BY_NUMBER_AFTER = re.compile(
    rf"\s*,?\s*\(?(?:(?:{_OF})\s*(?:(?:{_DETERMINER})\s*)?)?(?P<law>{_BY_NUMBER})", re.IGNORECASE
)
_DIRECTLY_BEHIND = re.compile(
    rf"[^\S\n]+(?:{_ABBREVIATION}|{_BY_NUMBER}"
    r"|(?-i:(?!(?:AND|IN|OF|THE|IS|OR\s+(?:\d|§|[Aa]rt|[Ss]ec))\b)[A-ZÄÖÜ][a-zäöü]{0,4}[A-ZÄÖÜ]\w{0,6}\b))",
    re.IGNORECASE,
)
_CAPITALS_AFTER = re.compile(  # "of FSMR", "of the Housing Charter", "§ 823 BGB"
    rf"\s*,?\s*(?:"
    rf"(?:of|from|to|du|de la|de l['’]|của)\s*(?:(?:{_DETERMINER})\s+)?"
    rf"(?P<law>{_DOTTED}|[A-ZÀ-Ý]\w*(?:\s+(?:of\s+|and\s+|de\s+)?[A-ZÀ-Ý]\w*)*)"
    rf"|(?P<short>{_ABBREVIATION}|(?:(?:C|Cst|CP)\.\s?\w+\.?|[A-ZÄÖÜ]\w*[A-ZÄÖÜ]\w*)\b))"
)
_ENGLISH_SOURCE = (
    r"(?:Code|Act|Law|Regulations?|Ordinance|Constitution|Treaty|Convention|Directive|Charter)"
)
GENERIC_NAMES = frozenset({"Code", "Act", "Law"})
"""On their own they mean whichever law the text is about: "the Act, section 5"."""
_LEAD = (  # capitalised words that begin a sentence, not a name
    r"(?:Under|In|Per|See|By|From|To|For|This|That|These|Such|Any|Its|As|And|But|Or|If|When|With"
    r"|Both|According|Pursuant|The|Does|Is|What|Which|Selon|Sous|Dans|Voir|Vu|Le|La|Les|Nach|Laut"
    r"|Im)"
)
_ENGLISH_NAME = (
    # "Under the Housing Code": in names "the" only follows "of" and "and".
    rf"\b(?!{_LEAD}\b)(?:[A-Z]\w*\s+(?:(?:of|and)\s+(?:the\s+)?)?){{0,9}}\b{_ENGLISH_SOURCE}\b"
    # "... of Aldermere", "of Civil Procedure", "(Scotland)", "1968"
    r"(?:\s+of\s+(?:the\s+)?[A-Z]\w*(?:\s+(?:and\s+)?[A-Z]\w*){0,4})?"
    r"(?:\s\([A-Z][^()\n\d]{1,40}\)|,?\s+(?:of\s+)?(?:1[5-9]|20)\d\d\b){0,2}"
)
_FRENCH_OF = r"(?:du|des|de la|de|del|et)\s+|(?:de |et )?[dl]['’]\s?"
_FRENCH_KIND = r"\w+(?:aux|[aei](?:ls?|lles?|les?|res?)|ique|if|ive)"
_CONTINENTAL_NAME = (  # "Code civil", "code du travail", "loi du 29 juillet 1881", "Código civil"
    rf"\b(?:code|c[óo]digo)\s+(?:(?:{_FRENCH_OF})\w+|{_FRENCH_KIND})"
    rf"(?:\s+{_FRENCH_KIND}|\s+(?:{_FRENCH_OF})\w+){{0,4}}"
    r"|\b(?:loi|décret|arrêté|ordonnance)\s+(?:n°\s?\S{1,12}\s+)?du\s+\d{1,2}(?:er)?\s+\w+\s+\d{4}"
    r"|\b(?:\w+-\s(?:und|oder)\s)?(?:\w+e[nrs]\s+gesetzbuch|\w+(?:gesetz|gesetzbuch|ordnung|verfassung))(?:e?s)?\b"
)
_BETWEEN = (  # what stands between a law's name and the citation after it
    r"(?:['’]s)?\s*[,:(]?\s*(?:(?:at|in|à|en|dans)\s+)?(?:(?:its|the|son|ses|les?)\s+|l['’]\s?)?$"
)
_BETWEEN_ALONE = re.compile(_BETWEEN)
_NAMED_BEFORE = (
    re.compile(rf"(?P<law>{_BY_NUMBER}){_BETWEEN}", re.IGNORECASE),
    re.compile(rf"(?P<law>{_ENGLISH_NAME}){_BETWEEN}"),
    re.compile(
        r"(?P<law>\b[A-Z]{1,3} \d{4}-\d{2}-\d{2}(?:/\w+)?"  # "L 2001-04-29/39" in Belgian notes
        r"|\b(?!(?:AND|OR|IN|UNDER|THE|OF|SEE|DOES|IS|WITH|BY|PER|ON|TO|WHAT|SAYS?)\b)"
        r"[A-Z][A-Z&]*[A-Z]\b|\bC\.\s?\w+\.)(?:['’]s)?\s*[,(]?\s*$"
    ),
    re.compile(
        rf"(?P<law>{_CONTINENTAL_NAME}"
        r"|\b(?!(?:the|this|that|same|any|an?|must|may|shall|can|will|to|not)\b)\w+\s+(?:code|act)"
        rf"){_BETWEEN}",
        re.IGNORECASE,
    ),
)
NAME_OF_A_LAW = re.compile(
    rf"《[^《》\n]{{1,40}}》|(?i:{_CONTINENTAL_NAME})|{_ENGLISH_NAME}|\b[A-Z][A-Z&]*[A-Z]{{2}}\b"
)
"""A law's whole name, as far as it can be recognised, or capitals that can be its initials."""

OTHER_LAW = re.compile(
    r"\b[A-Z][A-Z&]*[A-Z]{2}\b|\b[A-Z]{1,2}[a-zäöü]{1,3}[A-Z]{1,3}\b|《"  # GDPR, StGB, KSchG
    r"|\b[A-Z]\w+\s+(?:Code|Act|Law|Regulations?|Ordinance|Convention|Treaty|Directive|Charter)\b"
    r"|\b[Cc]ode\s+(?:[Dd][eu]|[Dd]es|\w+[aei][lr]e?)\b|\b[Ll]oi\s+(?:du|n°|relative)\b"
)
"""A law by name, anywhere in a question: it is then uncertain which one a citation means."""

_DIVISIONS = re.compile(
    r"(?:\s*,?\s*(?:of|in|du|de la|de l['’]|des)\s*(?:the\s+)?(?:part|chapter|title|book|division"
    r"|table(?:\s+of)?(?=\s+\d)|chapitre|titre|livre|partie)\s+[\w.-]+)+",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"(?:\s*,?\s*(?:et suivants|et s\.|ff?\.|et seq\.))?"
    r"(?:\s*(?:\([^()]{1,80}\)|[\[【][^\[\]【】]{1,24}[\]】])(?=\s*,?\s+(?:of|du|de|des|del)\b))*",
    re.IGNORECASE,
)


def after_divisions(text: str, end: int) -> tuple[int, bool]:
    """Where the name of a law may begin, past "of Chapter 2", and whether there was a division."""
    aside = _ASIDE.match(text, end, end + _NEXT_LINE)
    end = aside.end() if aside else end
    division = _DIVISIONS.match(text, end, end + _NEXT_LINE)
    return (division.end(), True) if division else (end, False)


def law_hint(text: str, start: int, end: int, since: int = 0) -> tuple[str | None, LawReference]:
    """The words that name the law of the citation text[start:end], and the kind of reference.

    Words before `since` do not belong to it.
    """
    if following := hint_after(text, end):
        return following
    opening = max(since, start - _NEXT_LINE)
    for pattern in (_PRIVATE_BEFORE, *_NAMED_BEFORE):
        if match := pattern.search(text, opening, start):
            name = match["law"].strip()
            return (None, "none") if name in GENERIC_NAMES else (name, "named")
    between = _BETWEEN_ALONE.search(text, opening, start)
    end = between.start() if between else start
    if (place := place_ending(text, opening, end)) is not None:
        for pattern in _NAMED_BEFORE:
            if match := pattern.search(text, opening, place):
                return text[match.start("law") : end], "named"
    return None, "none"


def hint_after(text: str, end: int) -> tuple[str | None, LawReference] | None:
    """How the law is named after a citation that ends at `end`; None if it is not.

    "of the Act" names whichever law the text is about.
    """
    end, _ = after_divisions(text, end)
    limit = min(len(text), end + _NEXT_LINE)
    line = text.find("\n", end, limit)
    limit = line if line >= 0 else limit
    if _SAME.match(text, end, limit):
        return None, "same"
    if _OWN.match(text, end, limit):
        return None, "own"
    if _GENERIC.match(text, end, limit):
        return None, "none"
    for pattern in (_PRIVATE_AFTER, _BY_NUMBER_AFTER, _NAMED_AFTER, _CAPITALS_AFTER):
        if match := pattern.match(text, end, limit):
            name = (match["law"] or match["short"]).strip()
            return name if _INITIALS.fullmatch(name) else name.strip(" ,.'’-"), "named"
    return None


def is_named_behind(text: str, end: int) -> bool:
    """Whether initials or an act by its number follow a citation directly: "Art. 5 BV"."""
    return _DIRECTLY_BEHIND.match(text, end) is not None


def is_of_something(text: str, end: int) -> bool:
    """Whether a citation that ends at `end` is of something that may not be a law.

    "Section 13 of the consent form" is; "of the Act" and "of the PDPA" name a law.
    """
    found = _OF_SOMETHING.match(text, after_divisions(text, end)[0])
    return found is not None and hint_after(text, end) is None


_SOURCE = (
    r"(?:法典|(?<![依合非违違执執方做办])(?<!(?<!公)司)法|条例|條例|办法|辦法|规定|規定|解释|[细规通准总]则"
    r"|[細規通準總]則|施行令|章程|规程|公约|协定|决定)"  # not 依法, 合法 …
)
_CHINESE_OWN = re.compile(r"本(?!国|人|单位|公司|合同|协议)[\u4e00-\u9fff]{1,6}[的之中]?\s*$")
_CHINESE_SAME = re.compile(rf"(?:(?<!合)同一?|[该該]){_SOURCE}\s*$")
_BRACKETED = re.compile(r"[》〉](?:[（(][^（）()]{1,20}[）)])?\s*[的之中]?\s*$")
_CHINESE_NAMED = re.compile(
    r"(?:依照?|按照?|根[据據])?"
    r"((?:[\u4e00-\u9fff・]|の|における|及び){1,40}に関する法律"
    rf"|[\u4e00-\u9fff]{{0,20}}(?:{_SOURCE}|合同|协议))"
    r"(?:[（(]?[一二三四五六七八九十]{1,3}[）)]?)?[的之中]?\s*$"  # 解释（一）
)


def chinese_law_hint(text: str, start: int) -> tuple[str | None, LawReference]:
    """As `law_hint`, for a Chinese citation, whose law precedes it."""
    opening = max(0, start - 80)
    if closing := _BRACKETED.search(text, opening, start):
        return bracketed_name(text[: closing.start() + 1]), "named"
    if _CHINESE_OWN.search(text, opening, start):
        return None, "own"
    if _CHINESE_SAME.search(text, opening, start):
        return None, "same"
    if named := _CHINESE_NAMED.search(text, opening, start):
        return named[1], "named"
    return None, "none"


def bracketed_name(text: str) -> str:
    """The name in the Chinese title brackets that end a text, without inner brackets."""
    closing, opening = ("》", "《") if text.endswith("》") else ("〉", "〈")
    depth = 0
    for index in range(len(text) - 1, -1, -1):
        depth += (text[index] == closing) - (text[index] == opening)
        if depth == 0:
            return re.sub("[《》〈〉]", "", text[index + 1 : -1])
    return ""
