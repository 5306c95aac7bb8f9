"""Places beside the name of a law: the "Code civil suisse" is not any other Code civil."""

from __future__ import annotations

import re
import unicodedata

# The names of one place, and what is of it, in English and French, without accents. Names in
# capitals are known as such; these are for adjectives and for questions in small letters.
_PLACES = [
    re.compile(rf"\b(?:{names})\b", re.IGNORECASE)
    for names in (
        "belg(?:ique|es?|ium|ians?)",
        "france|francais(?:es?)?|french",
        "suisses?|switzerland|swiss|schweiz(?:erisch\\w*)?|suiz[oa]s?",
        "quebec(?:ois(?:es?)?)?|quebecers?",
        "canada|canadi(?:an|ens?|ennes?)",
        "pays-bas|neerlandais(?:es?)?|netherlands|dutch|holland(?:e|ais(?:es?)?)?",
        "luxembourg(?:eois(?:es?)?)?",
        "allemagne|allemand(?:e?s?)|germany|german",
        "autriche|autrichien(?:ne)?s?|austrian?|osterreich(?:isch\\w*)?",
        "itali(?:e|enne?s?|ens?|ans?)|italy",
        "espagne|espagnole?s?|spain|spanish",
        "portug(?:al|ais(?:es?)?|uese)",
        "pologne|polonais(?:es?)?|poland|polish",
        "roumanie|roumaine?s?|romanian?",
        "grece|grec(?:que)?s?|greece|greek",
        "irland(?:e|ais(?:es?)?)|ireland|irish",
        "angleterre|anglais(?:es?)?|england|english",
        "royaume-uni|britanniques?|united kingdom|uk|british|britain",
        "ecoss(?:e|ais(?:es?)?)|scotland|scottish",
        "norv(?:ege|egien(?:ne)?s?)|norway|norwegian",
        "sue(?:de|dois(?:es?)?)|sweden|swedish",
        "danemark|danois(?:es?)?|denmark|danish",
        "finland(?:e|ais(?:es?)?)?|finnish",
        "etats-unis|americaine?s?|united states|usa|american",
        "californi(?:e|an?)",
        "louisian(?:a|e)",
        "texas|texan",
        "new york",
        "maroc(?:aine?s?)?|morocc(?:o|an)",
        "algeri(?:e|enne?s?|ens?|an?)",
        "tunisi(?:e|enne?s?|ens?|an?)",
        "senegal(?:ais(?:es?)?|ese)?",
        "cameroun(?:ais(?:es?)?)?|cameroon(?:ian)?",
        "congo(?:lais(?:es?)?|lese)?",
        "cote d['’]ivoire|ivoirien(?:ne)?s?|ivory coast|ivorian",
        "mali(?:en(?:ne)?s?|an)?",
        "rwanda(?:is(?:es?)?|n)?",
        "haiti(?:enne?s?|ens?|an)?",
        "monegasques?|monaco",
        "andorre|andorra",
        "turquie|turc(?:s|que)?s?|turkey|turkish",
        "russ(?:e|es|ie|ia|ian)",
        "chin(?:e|ois(?:es?)?|a|ese)",
        "japon(?:ais(?:es?)?)?|japan(?:ese)?",
        "coree|coreen(?:ne)?s?|korean?",
        "ind(?:e|ia|ienne?s?|iens?|ian)",
        "singap(?:our|ore)(?:ien(?:ne)?s?|an)?",
        "malaysi(?:a|an|e)",
        "indonesi(?:a|an|e)",
        "thai(?:land)?",
        "philippines?",
        "vietnam(?:ese|ien(?:ne)?s?)?",
        "austral(?:ia|ian|ie|ienne?s?|iens?)|cth",
        "new south wales|nsw",
        "queensland|qld",
        "new zealand|nouvelle-zelande",
        "afrique du sud|sud-africaine?s?|south africa|south african",
        "kenyan?",
        "nigerian?",
        "ghana(?:ian)?",
        "egypt(?:e|ian|ienne?s?|iens?)?",
        "dubai",
        "emirates|uae",
        "saudi",
        "liban(?:ais(?:es?)?)?|leban(?:on|ese)",
        "israel(?:i|ien(?:ne)?s?)?",
        "bresil(?:ienne?s?|iens?)?|brazil(?:ian)?",
        "argentin[ea]s?",
        "mexi(?:co|can|que)",
        "chile(?:an)?",
    )
]
_KNOWN = re.compile(rf"(?:{'|'.join(place.pattern for place in _PLACES)})", re.IGNORECASE)
_CHINESE = re.compile(
    "(德国|法国|日本|美国|英国|韩国|朝鲜|俄罗斯|意大利|西班牙|葡萄牙|荷兰|比利时|瑞士|瑞典|挪威|丹麦|芬兰|波兰"
    "|奥地利|欧盟|加拿大|澳大利亚|新西兰|新加坡|马来西亚|印度|印度尼西亚|泰国|菲律宾|越南|土耳其|以色列|埃及"
    "|南非|巴西|墨西哥|台湾|香港|澳门)(?:地区|特别行政区)?的?$"
)
_OF = r"(?:(?:of|in|du|des|de|del|der|von|van)\b|d['’]|de l['’])"
_LINK = re.compile(rf"\.?\s+(?:{_OF}\s*(?:(?:the|la|le|les)\s+|l['’]\s?)?|\()?", re.IGNORECASE)
# "of Norway", "du Valais"; "of Part 2" and "of May 2001" are of no place.
_WORD = (
    r"(?!(?:Part|Chapter|Title|Book|Art|Article|Sec|Section|Rule|Schedule|January|February|March"
    r"|April|May|June|July|August|September|October|November|December|M|MM|Mme|Monsieur|Madame|Mr|Mrs|Ms"
    r"|Dr)\b)"
    r"[A-ZÀ-Ý][\w-]+"
)
_CAPITAL = re.compile(
    r"\s+(?:of\s+(?:the\s+)?|(?:du|de la|de)\s+|(?:de l|d)['’]\s?)"
    rf"(?P<place>{_WORD}(?:\s+{_WORD})*)"
)
_BEFORE = re.compile(rf"({_KNOWN.pattern})(?:['’]s)?\s+$", re.IGNORECASE)
_IN_FRONT = re.compile(rf"{_KNOWN.pattern}\s+(?=\w)", re.IGNORECASE)
_ENDING = re.compile(rf"{_LINK.pattern}{_KNOWN.pattern}\)?$", re.IGNORECASE)
# English puts these in front of a name; behind it, "Housing Code British tenants" and "Code civil
# in English", they are of what follows, or name a language.
_ENGLISH = re.compile(
    r"(?:\w*(?:[ei]an|ish|[lmng]ese|guese)|french|swiss|dutch|greek|german|american|mexican|moroccan"
    r"|rwandan|african|south african|kenyan|israeli|saudi|thai|texan)",
    re.IGNORECASE,
)
# "Northern Ireland" is not Ireland, nor New Mexico Mexico.
_LONGER = re.compile(r"\b(?:new|north(?:ern)?|south(?:ern)?|east(?:ern)?|west(?:ern)?)\s+$")
_NEAR = 60  # characters in which the place is named


def place_behind(text: str, end: int) -> str | None:
    """The place, or what is of a place, that stands behind a law's name ending there.

    >>> place_behind("Housing Code of Norway", 12), place_behind("Code civil suisse", 10)
    ('Norway', 'suisse')
    """
    if capital := _CAPITAL.match(text, end):
        return capital["place"]
    link = _LINK.match(text, end)
    if link is None:
        return None
    known = _KNOWN.match(folded(text[link.end() : link.end() + _NEAR]))
    if known is None or (link[0].strip() in ("", "in") and _ENGLISH.fullmatch(known[0])):
        return None
    return text[link.end() : link.end() + known.end()]


def place_before(text: str, start: int) -> str | None:
    """The same in front of a name: "Norwegian Housing Code"."""
    known = _BEFORE.search(folded(text[max(0, start - _NEAR) : start]))
    return known[1] if known else None


def place_ending(text: str, start: int, end: int) -> int | None:
    """Where the place begins that text[start:end] ends with: "Code civil suisse"."""
    known = _ENDING.search(folded(text[start:end]))
    return start + known.start() if known else None


def chinese_place_ending(text: str) -> str | None:
    """The place that ends a Chinese text in front of a law's name: 德国 of 德国民法典."""
    known = _CHINESE.search(text)
    return known[1] if known else None


def without_place_in_front(name: str) -> str:
    """The name of a law without a known place at its beginning: "Canada Labour Code"."""
    known = _IN_FRONT.match(folded(name))
    return name[known.end() :] if known else name


def is_place_of(law: str, words: str) -> bool:
    """Whether words are nothing but a known place, and a law's name tells it."""
    name, wanted = folded(law).casefold(), folded(words).casefold()
    return any(
        each.fullmatch(wanted) and any(_is_whole(name, found) for found in each.finditer(name))
        for each in _PLACES
    )


def is_of(law: str, place: str) -> bool:
    """Whether a law's full name tells that place: "Code civil (Belgique)" is "belge"."""
    name, wanted = folded(law).casefold(), folded(place).casefold()
    if any(
        each.match(wanted) and any(_is_whole(name, found) for found in each.finditer(name))
        for each in _PLACES
    ):
        return True
    words, sought = re.findall(r"[\w-]+|\W", name), re.findall(r"[\w-]+", wanted)
    words = [word for word in words if not word.isspace()]
    for index, word in enumerate(words):
        if word == sought[0] and not (index and _LONGER.match(f"{words[index - 1]} ")):
            # "New Zealand" is not New York; what stands behind "Aldermere" may be the next word.
            behind = words[index + 1 : index + len(sought)]
            return not behind or not behind[0].isalpha() or behind == sought[1:]
    return False


def _is_whole(name: str, found: re.Match[str]) -> bool:
    return _LONGER.search(name, 0, found.start()) is None


def folded(text: str) -> str:
    """A text without accents, one character for one."""
    return "".join(unicodedata.normalize("NFKD", character)[:1] or " " for character in text)
