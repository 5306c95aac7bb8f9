"""Citations of articles in running text: questions, articles of law, answers.

Forms: English ("Section 14(2)", "s. 5", "Articles 27 and 28", "Rule 6.1.3(a)"), French
("article L. 1221-1 du Code du travail", "art. 1382 C. civ."), German ("§ 823 Abs. 1 BGB"),
Spanish, Italian and Portuguese ("artículo 21, apartado 3", "artt. 3 e 4", "art. 5º, § 1º"),
Vietnamese ("khoản 2 Điều 12 Bộ luật Dân sự"), Chinese ("民法典第12条", "第一百二十条第二款") and
Japanese ("民法第三条の二第一項"), besides those of `countries` and `united_states`.
A number needs its marker: "I worked 12 hours" cites nothing.

The words around a citation say which law is meant: any, "this Act", or one by name. A name that is
not of the corpus matters just as much: "section 5 of my contract" must find nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple, cast

from components.statutes.citations.countries import find_in_forms_of_countries
from components.statutes.citations.laws import BY_NUMBER, abbreviations, place_ending
from components.statutes.citations.patterns import (
    FINAL_TITLE,
    FIRST,
    IN_FINAL_TITLE,
    LISTED_PARAGRAPH,
    NUMBER,
    ROMAN,
    Citation,
    CitationKind,
    LawReference,
    any_language,
    canonical_core,
    longer_numbers,
    ordinals,
    plain_words,
    read_tables,
    unread_after,
)
from components.statutes.citations.united_states import American, find_american
from components.statutes.sources.units import LATIN_SUFFIX

# The words around a citation that name its law.

_NEXT_LINE = 160  # characters read on either side of a citation

_VIETNAMESE = read_tables("words")["vi"]["law"]
_PUBLIC = any_language("law")
PRIVATE_PAPER = any_language("paper")
"""Papers whose numbered clauses are not law."""
_MINE = any_language("mine")
_OF = rf"(?:{any_language('of')})\b|(?:de l|d)['’]"
_DETERMINER = rf"(?:{any_language('the')})\b|l['’]"
_STOP = any_language("stop")
_TITLE = rf"(?!(?:{_STOP})\b)\(?[^\W_][\w&'’-]*\)?"
_OF_SOMETHING = re.compile(
    r"(?i)\s*,?\s*(?:(?:of|from)\s+(?:the|an?)\b"
    r"|(?:du|des|der|del|de los|de las?|van (?:het|de|een))\b|de l['’]|d['’]une?\b)\s*[^\W\d_]"
)
_SAME = re.compile(
    rf"\s*,?\s*(?:{_OF})?\s*(?:(?:the|du|de la|le|la)\s+)?(?:that|same|même|ledit|ladite|dudit"
    r"|cette|ce|desselben|derselben)\s+(?:[Aa]ct|[Ll]aw|[Cc]ode|[Rr]egulations?|loi|règlement"
    r"|arrêté|décret|Gesetz\w*)\b"
)
_OWN = re.compile(
    rf"(?i)\s*,?\s*(?:(?:{_OF})\s*)?(?:(?:le|la|les|du|des|de la)\s+)?(?:this|these|présente?s?"
    rf"|dieses|dieser)\s+(?:{_PUBLIC})\b"
    rf"|\s*(?:của\s+)?(?:{_PUBLIC})\s+này\b"
)
_GENERIC = re.compile(  # "of the Act": whichever law the text is about
    rf"(?i)\s*,?\s*(?:{_OF})\s*(?:(?:{_DETERMINER})\s*)?(?:{any_language('the act')})"
    rf"(?=\s*(?:[.,;:?!)]|$|(?:{_STOP})\b)|\s+\w+-(?:t-)?(?:ils?|elles?|on)\b)"
    # "of the Act require": a name would continue in capitals, or with "of".
    r"|\s*,?\s*(?:of|in|under)\s+the\s+(?:act|law|code)(?=\s+(?-i:[a-z]))(?!\s+(?:of|on|for"
    r"|relating|concerning|respecting|governing|regarding|civil|p[ée]nal|du|de|des)\b)",
)
_PRIVATE_AFTER = re.compile(
    rf"(?i)\s*,?\s*(?:(?:{_OF})\s*)(?:(?:{_DETERMINER}|an?|une?)\s*)?"
    rf"(?P<law>(?:{_MINE})\s+\S+(?:\s+(?:{PRIVATE_PAPER})\b)?"
    rf"|(?:{_TITLE}\s+){{0,2}}?(?:{PRIVATE_PAPER})\b)"
)
_PRIVATE_BEFORE = re.compile(
    rf"(?i)(?P<law>(?:{PRIVATE_PAPER}))(?:['’]s)?\s*[,:(]?\s*(?:in|at)?\s*$"
)
_NAMED_AFTER = re.compile(
    rf"(?i)\s*,?\s*\(?(?:{_OF})\s*(?:(?:{_DETERMINER})\s*)?"
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
    rf"|(?:{_VIETNAMESE})\s+(?!này){_TITLE}(?:\s+{_TITLE})?)"
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
    rf"(?i)\s*,?\s*\(?(?:(?:{_OF})\s*(?:(?:{_DETERMINER})\s*)?)?(?P<law>{_BY_NUMBER})"
)
_DIRECTLY_BEHIND = re.compile(
    rf"(?i)[^\S\n]+(?:{_ABBREVIATION}|{_BY_NUMBER}"
    r"|(?-i:(?!(?:AND|IN|OF|THE|IS|OR\s+(?:\d|§|[Aa]rt|[Ss]ec))\b)[A-ZÄÖÜ][a-zäöü]{0,4}[A-ZÄÖÜ]\w{0,6}\b))"
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
_LEAD = "|".join(plain_words("openers"))
_ENGLISH_NAME = (
    # "Under the Housing Code": in names "the" only follows "of" and "and".
    rf"\b(?!(?:{_LEAD})\b)(?:[A-Z]\w*\s+(?:(?:of|and)\s+(?:the\s+)?)?){{0,9}}\b{_ENGLISH_SOURCE}\b"
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
    re.compile(rf"(?i)(?P<law>{_BY_NUMBER}){_BETWEEN}"),
    re.compile(rf"(?P<law>{_ENGLISH_NAME}){_BETWEEN}"),
    re.compile(
        r"(?P<law>\b[A-Z]{1,3} \d{4}-\d{2}-\d{2}(?:/\w+)?"  # "L 2001-04-29/39" in Belgian notes
        r"|\b(?!(?:AND|OR|IN|UNDER|THE|OF|SEE|DOES|IS|WITH|BY|PER|ON|TO|WHAT|SAYS?)\b)"
        r"[A-Z][A-Z&]*[A-Z]\b|\bC\.\s?\w+\.)(?:['’]s)?\s*[,(]?\s*$"
    ),
    re.compile(
        rf"(?i)(?P<law>{_CONTINENTAL_NAME}"
        r"|\b(?!(?:the|this|that|same|any|an?|must|may|shall|can|will|to|not)\b)\w+\s+(?:code|act)"
        rf"){_BETWEEN}",
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
    r"(?i)(?:\s*,?\s*(?:of|in|du|de la|de l['’]|des)\s*(?:the\s+)?(?:part|chapter|title|book"
    r"|division|table(?:\s+of)?(?=\s+\d)|chapitre|titre|livre|partie)\s+[\w.-]+)+"
)
_ASIDE = re.compile(
    r"(?i)(?:\s*,?\s*(?:et suivants|et s\.|ff?\.|et seq\.))?"
    r"(?:\s*(?:\([^()]{1,80}\)|[\[【][^\[\]【】]{1,24}[\]】])(?=\s*,?\s+(?:of|du|de|des|del)\b))*"
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


# What announces a number.

_MARKER = re.compile(
    r"(?i)(?=[adđlprs§\d])(?<![\w-])(?:"
    r"(?P<article>(?:articles?|artikel)(?=\d)|art(?:icle|ikel|ikele|[íi]culo|icol[oi]|igo|t)?[sn]?\b\.?|điều)"
    r"|(?P<section>sections?(?:\b|(?=\d))|sects?\.|secs?\.|(?-i:Sec[st]?)\b|(?<!['’])(?-i:ss?\.)|§§?)"
    r"|(?P<rule>rules?\b)"
    r"|(?P<regulation>regulations?\b|regs?\.|(?-i:Regs?)\b)"
    r"|(?P<paragraph>(?<!sub-)(?<!sub )paragraphs?\b|paras?\b\.?)"
    # "10 s 5" is a time, "Housing Act 1988 s 21" is not.
    r"|(?<!['’])(?:(?<!\d )|(?<=\b1[5-9]\d\d )|(?<=\b20\d\d ))"
    r"(?:(?P<short_section>(?-i:ss?|secs?|(?<=U/)S)(?=\.?\s?\d))|(?P<short_regulation>(?-i:regs?)(?=\s\d))"
    r"|(?P<short_rule>(?-i:rr?)(?=\.?\s\d)))\.?"
    # "L. 1221-1" needs no marker; "L 2014-05-12" is a date.
    # "CPR 3.4(2)", "FPR 9.12": the rules have no other marker.
    r"|(?P<bare_rule>(?<=\bCPR )(?=\d+\.\d)|(?<=\bFPR )(?=\d+\.\d))"
    r"|(?P<bare_article>\b(?=[lrd]\.?\s?\*?\s?\d{3,4}-\d)(?!\w+\s?\d{4}-\d\d-\d\d))"
    # "No. 5", "n° 5", "#5", ": 5", "(5)": of a unit's number.
    r")\s*(?:(?:(?:nos?\.?|n\.?\s?[°º]?|n[uú]m(?:ber|éro|ero|\.)s?)(?=[\s\d])|dal?(?=\s\d)|[#№])\s*|:[^\S\n]*"
    r"|\((?!(?:19|20)\d\d\))(?=\d{1,4}[a-z]{0,2}\)))?"
    rf"(?=(?:[a-z]{{1,2}}[\s.*]{{0,4}})?\d|(?:{FIRST})\b|(?<!\n)(?<!cle\.)(?<!cle\. ){ROMAN})"
)
_PLURAL = re.compile(r"(?i)(?:\ws|§§|artikele?n|articoli|artt)\.?$")
_ROMANCE = re.compile(r"(?i)art(?:[íi]culos?|icol[oi]|igos?|s|t)\.?$")
# A list behind "art." that only Spanish, Italian and Portuguese join like this: "12 a 14"
_ROMANCE_LIST = re.compile(r"\d[\d.]*[ºª]?\s(?:a|e|o)\s(?=\d)")
# What a short marker stands behind: "under s 24", but not "the tenant s 24 keys".
_LEADS_TO_SHORT = re.compile(
    r"(?i)(?:^|[\n(,;:]\s?|\b[uU]/|\b(?:under|in|see|cf\.?|by|per|and|or|of|to|with|from|both|does|do|is|what"
    r"|says?|breach)\s)$"
)


class Marker(NamedTuple):
    """A unit of law before a number.

    Attributes:
        start: Of the unit.
        end: Where the number begins.
        kind: The unit.
        plural: Whether several numbers are to come: "sections", "ss", "§§".
        sign: Whether it is "§".
        doubtful: Whether it is so short that something else must say that it cites: "s", "reg".
        bracket: Whether the number stands in brackets: "Article (5)".
        romance: Whether it is Spanish, Italian or Portuguese: "artículo", "artt.", "artigos".
    """

    start: int
    end: int
    kind: CitationKind
    plural: bool = False
    sign: bool = False
    doubtful: bool = False
    bracket: bool = False
    romance: bool = False


def _next_marker(text: str, position: int) -> Marker | None:
    """The first marker from a position on."""
    while match := _MARKER.search(text, position):
        name = match.lastgroup or ""
        # A bare code ("L. 1221-1") is its own marker, of no length: the search must still move on.
        position = max(match.end(), match.start() + 1)
        kind = cast(CitationKind, name.rpartition("_")[2])  # "short_section" is a section
        between = text[match.end(name) : match.end()]
        before = max(0, match.start() - 12)
        if "(" in between and kind != "article":
            continue  # "sections (2) and (3)" are paragraphs
        if ":" in between and kind not in ("article", "section"):
            continue
        short = name.startswith("short")
        romance = _ROMANCE.match(match[name]) or (
            kind == "article" and _ROMANCE_LIST.match(text, match.end())
        )
        return Marker(
            *match.span(),
            kind,
            plural=_PLURAL.search(match[name]) is not None,
            sign=match[name].startswith("§"),
            doubtful=short and _LEADS_TO_SHORT.search(text, before, match.start()) is None,
            bracket="(" in between,
            romance=bool(romance),
        )
    return None


# The numbers after one marker, "articles 12, 13-1 and 15 to 18", and their levels, "§ 1er".


_PLAIN_AND = rf"(?:{any_language('and')}|&)"
_AND = rf"(?:{any_language('short and')}|{_PLAIN_AND})"

# Parts of a sentence or list. They are skipped, since no article number goes that deep.
_SMALL = rf"(?:{any_language('small')})"
_NOUN_LEVEL = rf"(?:{any_language('level')})"
_ORDINALS = {
    name: value
    for row in read_tables("words").values()
    for name, value in ordinals(row.get("ordinals", "")).items()
}
_ORDINAL = (
    rf"(?:{'|'.join(sorted(_ORDINALS, key=len, reverse=True))}"
    r"|(?:avant-)?derni(?:er|ère)|last|final|penultimate|\d{1,2}\s?(?:er|[eè]re|[eè]?me|e|st|nd|rd|th))"
)
_ABBREVIATED_LAW = r"(?-i:[A-ZÄÖÜ][a-zäöü]*[A-ZÄÖÜ])"  # BGB, GmbHG
_LETTER = r"(?:[a-z]|(?P<twice>[a-z])(?P=twice)|[ivx]{2,4})"
_LEVEL = re.compile(
    r"(?i)"
    r"(?:\.?| )\(\s?(?P<bracket>\d{1,3}[A-Z]{0,2}|(?<=\w\()\d{4}|[a-z]{1,2}|[ivxl]{1,5}|[A-Z])\s?\)"
    # "1) article 12, 2) article 13" is a list of two.
    rf"|(?:,?[^\S\n]?|\.(?=[a-z]\)))(?P<closed>\d{{1,3}}|{_LETTER})\)(?!\s(?:the\s|l['’]\s?)?(?:art|sec|rule|§|[LRD]\.))"
    rf"|,?\s?(?:(?P<sign>§§?)|{_NOUN_LEVEL})\s?\(?(?P<noun>\d+|[a-zđ]\b)\)?(?:er\b|\.?[ºª])?"
    rf"|,?\s?p[áa]rrafo\s(?P<behind>{_ORDINAL})"
    r"|,?\s?(?P<degree>\d+)°"
    rf"|,?\s?(?P<ordinal>{_ORDINAL})(?:\s{_AND}\s(?:the\s)?{_ORDINAL})?\s"
    rf"(?:(?P<small>{_SMALL})|alinéas?|paragraphe?s?|sub-?paragraphs?|sub-?sections?|absatz|comm[ai]|párrafo)\b"
    # In "..., second paragraph of section 13" the paragraph is of section 13.
    r"(?!\s(?:of|de|du)\s(?:the\s|l['’]\s?|même\s|cet\s)?(?:art|sec|rule))"
    rf"|,?\s?(?P<part>{_SMALL}\s\d{{1,2}}\b|in\sfine\b)"
    # "article 4, I, du Code": but in "Articles I, II" it is an article.
    r"|(?<![IVXLC]),?\s(?P<roman>(?-i:[IVXLC]{1,6}))(?=,\s?\d+°|\s?(?:,\s?)?(?:du|d[aeo]s?|del|della|of)\b)"
    # "§ 823 II BGB", "Art. 2 I 1 GG": German for Abs. 2, for Abs. 1 Satz 1.
    r"|\s(?P<absatz>(?-i:[IVX]{1,4}))(?:(?:\s\d)?(?:,| und| u\.)\s(?-i:[IVX]{1,4})){0,3}"
    rf"(?=\s(?:\d\s|(?-i:S\.|Nr\.|Alt\.)\s?\d+\s)?{_ABBREVIATED_LAW}"
    rf"|,\s\d[^.;\n]{{0,40}}\s{_ABBREVIATED_LAW})"
    rf"|(?<=[IVX])\s(?P<sentence>\d)(?=\s{_ABBREVIATED_LAW})"
    r"|\s(?-i:S\.|HS\.?|Alt\.)\s?(?P<short>\d)\b"
)
_NAMED_LEVELS = ("bracket", "closed", "noun", "degree", "roman", "sentence", "short")
_DEEPEST = 8  # levels below an article
_MORE_BRACKETS = re.compile(
    rf"\s*(?:,\s*{_AND}?|{_AND}|to|à|bis|[-–])\s*(\((?:\w{{1,4}})\)(?:\(\w{{1,4}}\))*)"
)
_MORE_LEVELS = re.compile(
    rf"\s*(?:,\s*{_AND}?|{_AND}|to|à|bis|-|–)\s*(?P<again>(?i:{_NOUN_LEVEL})\s?)?(?:\d+°|\d{{1,2}}(?:/\d{{1,2}}|er)?(?![\d/.-]|\s?{LATIN_SUFFIX}))"
)
_PLURAL_LEVEL = re.compile(
    r"(?i)§§|alinéas|paragraphe?s\b|paras\b|subs|points|items|nos\b|absätze|lines|lignes|phrases"
    r"|sentences|limbs|indents|tirets"
)
_BRACKET_REACH = 200  # characters that are searched for an open bracket


# Each by whether the marker is Spanish, Italian or Portuguese: "1382 a 3" is a range there alone.
# A list stays on its line, except for French code numbers, which are unmistakable. A number may
# be followed by "(deposits)" or a reference mark.
_SEPARATOR = [
    re.compile(
        rf"(?i)(?: ?(?:\([^()\n\d]{{3,80}}\)|[\[【][^\[\]【】\n]{{1,24}}[\]】]))?"
        rf" *(?:,\s*(?=[LRD]\.? ?\d)|[,;] *(?:{words} +)?| {words} +|&(?=\d))"
    )
    for words in (_PLAIN_AND, _AND)
]
_RANGE = [
    re.compile(rf"(?i)\s?(?:\b(?:{words})\b|–|—|\s-)\s?")
    for words in (any_language("to"), f"{any_language('to')}|{any_language('short to')}")
]
# "article 12 to article 15": the same unit may be repeated.
_UNIT_AGAIN = {
    "article": re.compile(r"(?i)(?:l['’]\s?)?(?:art(?:icle|ikel|[íi]culo)?s?\b\.?|điều)\s*"),
    "section": re.compile(r"(?i)(?:sections?|ss?\b\.?|secs?\b\.?|§§?)\s*"),
    "rule": re.compile(r"(?i)rules?\s*"),
    "regulation": re.compile(r"(?i)reg(?:ulation)?s?\b\.?\s*"),
    "paragraph": re.compile(r"(?i)para(?:graph)?s?\b\.?\s*"),
}
# "§§ 535 ff.", "art. 5 et suivants": the article and those that follow it.
_ONWARD = re.compile(
    r"(?i),?[^\S\n]*(?:(?<=[\d\s])ff?\.|ff\b|et\s+seq\b\.?|et\s+(?:suivants?|suiv\.|s\.)|y\s+(?:siguientes|ss\.)"
    r"|e\s+(?:segg\.|seguenti|seguintes|ss\.)|and\s+following|(?:und\s)?fortfolgende|en\s+volgende)"
)
_HYPHENED = re.compile(r"(\d+[A-Za-z]?)[-/](\d+[A-Za-z]?)")
# Behind a quantity, or an editor's note of an article's earlier number.
_NO_NUMBER = re.compile(
    rf"(?i)\s*(?:°|%|€|\$|(?:{any_language('counted')})\b)|\s+renumérotée?s?\s*\)"
)
_SIGN = re.compile(r"§§?\s?")
# "the Markets Regulations 2015" and "Regulation 2016/679" are names of laws.
_YEAR = re.compile(r"(?:1[89]|20)\d\d(?:/\d+)?")
_LIST_CONTINUES = re.compile(
    rf"(?i)\s*(?:$|[,;.:?!)\]\"”»—–&]|(?:{_AND}|of|in|under|to|du|de|des|d['’]|der|của|ff?\.|does|do|is|are"
    r"|must|may|shall|can|appl(?:y|ies)|says?|provides?)\b)"
)
# "L. 3162-1 et 2" is L. 3162-2 too.
_PREFIXED = re.compile(r"([lrd]\d+(?:-\d+)*-)\d+")


def _items(text: str, marker: Marker) -> list[Citation]:
    """The numbers that follow a marker, each still without text, law and group."""
    items: list[Citation] = []
    whole = ""  # the last number with more than digits
    position = marker.end
    while number := NUMBER.match(text, position):
        if _counts_something(text, marker, number):
            break
        closed = number.end() + marker.bracket  # "(5)"
        closes = text.startswith(")", closed) and not marker.bracket
        if items and closes and not _in_brackets(text, closed):
            break  # "7)" is a level of the article before
        paragraph, end, others = levels_after(text, closed, sign=marker.sign, plural=marker.plural)
        if (
            items
            and not marker.plural
            and not (_LIST_CONTINUES.match(text, end) or hint_after(text, end))
        ):
            break  # it counts something
        core = canonical_core(number[0])
        unread, longer = "", longer_numbers(text, number[0], number.end())
        through: str | None = None
        otherwise: tuple[str, str | None] | None = None
        to = _RANGE[marker.romance].match(text, end)
        again = to and _UNIT_AGAIN[marker.kind].match(text, to.end())
        last = to and NUMBER.match(text, (again or to).end())
        # "14 to 12" is meant as "12 to 14"; "artículo 12 a 3 meses" and "12 bis 1" are no ranges.
        forwards = marker.romance or (to and to[0].strip().lower() == "bis")
        if to and last and not (forwards and _runs_backwards(core, to[0], last[0])):
            through, longer = canonical_core(last[0]), ()
            end = levels_after(text, last.end(), sign=marker.sign)[1]
            if to[0] in "–—":  # some publishers print a number's own hyphen like this
                otherwise = (canonical_core(f"{number[0]}-{last[0]}"), None)
        elif marker.plural and (both := _HYPHENED.fullmatch(number[0])):
            otherwise = (canonical_core(both[1]), canonical_core(both[2]))
        otherwise = otherwise or _in_full(core, through, whole)
        whole = whole if core.isdigit() else core
        onward = None if through else _ONWARD.match(text, end)
        if onward:
            end = onward.end()
        elif not others:
            unread = unread_after(text, end, levels=end > number.end())
        item = Citation(number.start(), end, "", core, paragraph, None, marker.kind)
        items.append(
            item._replace(
                through=through,
                otherwise=otherwise,
                longer=longer,
                unread=unread,
                onward=onward is not None,
            )
        )
        for start, stop, other in others:
            items.append(Citation(start, stop, "", core, other, None, marker.kind))
        separator = _SEPARATOR[marker.romance].match(text, items[-1].end)
        if separator is None:
            break
        position = separator.end()
        if marker.sign and (sign := _SIGN.match(text, position)):
            position = sign.end()  # "§ 12, § 13"
    return items


def _runs_backwards(core: str, to: str, last: str) -> bool:
    """Whether what looks like a range ends below its start: "12 a 3"."""
    end = canonical_core(last)
    if to in "–—" or core[0].isdigit() != end[0].isdigit():
        return False  # "14–1" may be a number, "L. 3162-1 to 4" shares its prefix
    low, high = ([int(digits) for digits in re.findall(r"\d+", each)] for each in (end, core))
    return low < high


def _in_full(core: str, through: str | None, before: str) -> tuple[str, str | None] | None:
    """A number and its range end with the prefix of an earlier number; None if they share none."""
    if core.isdigit() and (shared := _PREFIXED.fullmatch(before)):
        return f"{shared[1]}{core}", through and f"{shared[1]}{through}"
    if through and through.isdigit() and (shared := _PREFIXED.fullmatch(core)):
        return core, f"{shared[1]}{through}"
    return None


def _counts_something(text: str, marker: Marker, number: re.Match[str]) -> bool:
    """Whether a number is not an article's."""
    printed = number[0]
    return bool(
        (marker.sign and printed.endswith("er"))  # "§ 1er" is a paragraph of an article
        # "Section IV" is a division
        or (printed[-1].isupper() and marker.kind != "article" and printed.isalpha())
        or (marker.kind in ("rule", "regulation") and _YEAR.fullmatch(printed))
        or _NO_NUMBER.match(text, number.end())
    )


def levels_after(
    text: str, position: int, *, sign: bool = False, plural: bool = False
) -> tuple[str | None, int, list[tuple[int, int, str]]]:
    """The levels named after a number, where they end, and further ones of the same article.

    "48K(1)(b), (2)" gives "(1)(b)" and the further "(2)".

    Args:
        text: The text.
        position: Where the number ends.
        sign: Whether the number's unit is "§": a further "§" then begins another article.
        plural: Whether the unit is plural: "§§ 5 Abs. 1 und 7" names § 7.
    """
    levels: list[str] = []
    others: list[tuple[int, int, str]] = []
    while not others and len(levels) < _DEEPEST and (level := _LEVEL.match(text, position)):
        if level["sign"] and sign:
            break
        if (level["closed"] or "")[:1].isdigit() and _in_brackets(text, level.start("closed")):
            break  # the ")" closes a bracket
        position = level.end()
        ordinal = level["ordinal"]
        value = next(filter(None, level.group(*_NAMED_LEVELS)), None) or (
            canonical_core(level["absatz"]) if level["absatz"] else _ordinal_value(level)
        )
        if value:
            levels.append(value.lower())
        if level["bracket"]:
            bracket_end = position
            while more := _MORE_BRACKETS.match(text, bracket_end):
                others.append((more.start(1), more.end(), _replaced(levels, more[1])))
                bracket_end = more.end()
        elif not (ordinal or level["closed"]):
            while more := _MORE_LEVELS.match(text, position):
                again, word = more["again"], level[0].strip(" ,")
                if again and not word.startswith(again.strip()):
                    break
                if ("°" in more[0]) != bool(level["degree"]) or not (again or _many(level, plural)):
                    break
                position = more.end()
    named = "".join(f"({level})" for level in levels)
    return named or None, position, others


def _in_brackets(text: str, position: int) -> bool:
    """Whether a bracket is open at a position: in "(see Articles 12, 13)" none is a level."""
    depth = 0
    line = text.rfind("\n", max(0, position - _BRACKET_REACH), position) + 1
    for character in reversed(text[max(line, position - _BRACKET_REACH) : position]):
        depth += (character == ")") - (character == "(")
        if depth < 0:
            return True
    return False


def _ordinal_value(level: re.Match[str]) -> str:
    """The number of "deuxième alinéa"; "" for "last" and for the part of a sentence."""
    ordinal = "" if level["small"] else (level["ordinal"] or level["behind"] or "").lower()
    digits = re.match(r"\d+", ordinal)
    return digits[0] if digits else _ORDINALS.get(ordinal, "")


def _many(level: re.Match[str], plural: bool) -> bool:
    """Whether others of the same sort may follow a level: "§§ 4 et 5", "Abs. 1 und 2"."""
    several = level["degree"] or _PLURAL_LEVEL.search(level[0])
    return bool(several or ((level["noun"] or level["part"]) and not (plural or level["sign"])))


def _replaced(levels: list[str], other: str) -> str:
    """The levels, those of `other` in place of the first one of the same sort and all after it."""
    further = re.findall(r"\w+", other.lower())
    digit = further[0][0].isdigit()
    place = next((n for n, x in enumerate(levels) if x[0].isdigit() == digit), len(levels))
    return "".join(f"({level})" for level in [*levels[:place], *further])


# Citations.

# In French a "section" is a division and "§" a paragraph of an article.
_FRENCH_DIVISION = re.compile(r"(?i)(?:\b(?:la|une|cette|présente|même|dite|de)|sous[- ])\s*$")
_LEVEL_BEFORE = re.compile(r"(?i)(?:điểm\s+(?P<b>[a-zđ])[\s,]*)?(?:khoản\s+(?P<a>\d+)[\s,]*)$")
_PART_OF_ANOTHER = re.compile(
    r"(?i)[\w(),. -]{1,20}\s+(?:of|de|du|des)\s+(?:(?:the|cet|même)\s+|l['’]\s?)?"
    r"(?:art|sec|rule|s\.)"
)
_NEAR = 160  # characters of a sentence in which a list may continue
_FURTHER = re.compile(rf"(?i)(?:,|\b{_AND})\s+(?=\d[\w/.()-]{{0,16}}\s+(?:of|du|de|des|del)\b)")
_SENTENCE_END = re.compile(r"[.!?](?=\s)|\n")
_SCHEDULE = re.compile(
    r"(?i)\s*,?\s*(?:of|in|to)\s+(?:the\s+)?(?:(?:part|chapter)\s+\w+\s+of\s+)*"
    r"(?:(?P<unit>schedule|sch\b\.?|annex|app(?:endix)?)\s*(?P<number>\d+[A-Z]?)\b"
    r"|(?:that|the same|the said)\s+(?P<same>schedule|annex|appendix)\b)"
)
_SCHEDULE_NUMBER = re.compile(
    r"(?i)\b(?P<unit>schedule|sch\b\.?|annex|appendix)\s+(?P<number>\d+[A-Z]?)\b(?P<next>,?\s?$)?"
)
_BEFORE = 400  # characters that are searched for what "that Schedule" means
# "paragraph 25 above" is an item of the same list.
_NEARBY = re.compile(r"(?i)\s*,?\s*(?:above|below|ci-dessus|ci-dessous)\b")
# Invisible characters, spaces, typographic hyphens, and a quotation mark that counts as a letter.
# One for one, so that spans stay valid.
PLAIN_CHARACTERS = str.maketrans(
    dict.fromkeys("\u00a0\u00ad\u200b\u200c\u200d\u200e\u200f\u202f\u2009\u2060\ufeff\u3000", " ")
    | dict.fromkeys("\u2010\u2011\u2012\u2212", "-")
    | {"\u02ee": '"'}
)


def find_citations(text: str, language: str | None = None) -> list[Citation]:
    """The citations of a text in order; an enumeration gives one per article.

    Args:
        text: Any text.
        language: BCP 47 tag of the text, where known. In French "section 2" and "§ 2" are parts
            of something else, not cited articles; without the tag the context decides.
    """
    return read_citations(text, language)[0]


def read_citations(
    text: str, language: str | None = None, most: int | None = None
) -> tuple[list[Citation], int]:
    """The citations of a text, and where reading ended.

    Args:
        text: Any text.
        language: As in `find_citations`.
        most: The most citations to read, and the most markers (words like "section" before a
            number) to try; None reads the whole text.
    """
    plain = text.translate(PLAIN_CHARACTERS)
    limit = len(plain) if most is None else most
    american = list(find_american(plain))
    found = [_with_continuation(cited, plain) for part in american for cited in part.citations]
    plain = _without(plain, american, "\n")  # nothing around them belongs to them
    others = islice(find_in_forms_of_countries(plain), limit + 1)
    of_countries = [_with_continuation(cited, plain) for cited in others]
    found += of_countries
    plain = _without(plain, of_countries, "\ufffc")  # they are not read twice
    read_end = len(plain)
    tried = 0
    french = (language or "").lower().startswith("fr")
    group: list[Citation] = []  # the last enumeration
    position = taken = 0
    while True:
        marker = _next_marker(plain, position)
        gap = marker.start if marker else len(plain)
        while group and (group := _further(plain, group[0].kind, taken, gap)):
            found.extend(group)
            taken = group[-1].end
        if marker is None:
            break
        position = max(marker.end, marker.start + 1)
        if _cites_nothing(plain, marker, french):
            continue
        if tried == limit:
            read_end = marker.start
            break
        tried += 1
        group = _enumeration(plain, marker, taken)
        if group:
            position = taken = max(group[-1].end, group[-1].group[1])
            found.extend(group)
    if plain != text:
        found = [c._replace(text=text[c.start : c.end]) for c in found]
    found.sort(key=lambda citation: citation.start)
    if len(found) > limit:
        read_end = min(read_end, found[limit].start)
    return [citation for citation in found if citation.start < read_end], read_end


def _with_continuation(citation: Citation, text: str) -> Citation:
    """A citation with what is attached to it, or with the "et seq." behind it.

    A unit behind the number ends it: "12. §-a".
    """
    end, levels = citation.end, citation.paragraph is not None
    if citation.through is not None:
        return citation
    if onward := _ONWARD.match(text, end):
        words = text[citation.start : onward.end()]
        return citation._replace(end=onward.end(), text=words, onward=True)
    if not (text[end - 1].isalnum() or text[end - 1] == ")"):
        return citation
    longer = () if levels else longer_numbers(text, citation.number, end)
    return citation._replace(longer=longer, unread=unread_after(text, end, levels=levels))


def _without(text: str, spans: Sequence[American | Citation], sign: str) -> str:
    """The text with a sign that is read as nothing in place of each character of some spans."""
    parts: list[str] = []
    end = 0
    for each in spans:
        parts += text[end : each.start], sign * (each.end - each.start)
        end = each.end
    return "".join([*parts, text[end:]])


def _cites_nothing(text: str, marker: Marker, french: bool) -> bool:
    """Whether a marker names a part of something other than a law."""
    if (marker.kind == "paragraph" or marker.sign) and _PART_OF_ANOTHER.match(text, marker.end):
        return True
    if french or marker.kind != "section":
        return french and marker.kind != "article"
    return _FRENCH_DIVISION.search(text, max(0, marker.start - 12), marker.start) is not None


def _further(text: str, kind: CitationKind, position: int, end: int) -> list[Citation]:
    """Citations without a marker after a citation's law: "... and 13 of the Work Code".

    Args:
        text: The text.
        kind: The kind of the citation before.
        position: Where that citation ends.
        end: Where the next one begins.
    """
    sentence_end = _SENTENCE_END.search(text, position, min(end, position + _NEAR))
    end = sentence_end.start() if sentence_end else min(end, position + _NEAR)
    for match in _FURTHER.finditer(text, position, end):
        start = match.end()
        further = _enumeration(text, Marker(start, start, kind, doubtful=True), position)
        if further and further[-1].end <= end:
            return further
    return []


def _enumeration(text: str, marker: Marker, taken: int) -> list[Citation]:
    """The citations after one marker; the text up to `taken` belongs to others."""
    start = marker.start
    items = _items(text, marker)
    if not items:
        return []
    before = _LEVEL_BEFORE.search(text, max(taken, start - 40), start)
    if before:
        start = before.start()
    end = items[-1].end
    if items[-1].unread:  # the name of the law follows what is attached to the number
        end = levels_after(text, end + len(items[-1].unread))[1]
    division: str | None = None
    if marker.kind == "paragraph":
        division, end = _division(text, start, end)
    if final := FINAL_TITLE.match(text, end):
        division, end = IN_FINAL_TITLE, final.end()
    hint, reference = law_hint(text, start, end, taken)
    if marker.doubtful and reference == "none" and items[0].paragraph is None:
        return []
    if before and items[0].paragraph is None:
        levels = f"({before['a']})" + (f"({before['b']})" if before["b"] else "")
        items[0] = items[0]._replace(paragraph=levels)
    items[0] = items[0]._replace(start=start)
    return [
        item._replace(
            text=text[item.start : item.end],
            law_hint=hint,
            reference=reference,
            division=division,
            group=(start, end),
        )
        for item in items
    ]


def _division(text: str, start: int, end: int) -> tuple[str | None, int]:
    """The division named after the paragraphs text[start:end], and where its name ends."""
    if _NEARBY.match(text, end):
        return LISTED_PARAGRAPH, end
    named = _SCHEDULE.match(text, end, end + 80)
    if named and named["unit"]:
        return f"{named['unit'][:3].lower()} {named['number'].lower()}", named.end()
    reach = _BEFORE if named else _NEAR
    before = list(_SCHEDULE_NUMBER.finditer(text, max(0, start - reach), start))
    if named is None:  # "Schedule 2, paragraph 3"
        last = next((each for each in before if each["next"] is not None), None)
        return last and f"{last['unit'][:3].lower()} {last['number'].lower()}", end
    unit = named["same"][:3].lower()  # "that Schedule": the last that was named, if any was
    numbers = [each["number"].lower() for each in before if each["unit"][:3].lower() == unit]
    return f"{unit} {numbers[-1] if numbers else ''}", named.end()
