"""Citations of articles in running text: questions, articles of law, answers.

Forms: English ("Section 14(2)", "s. 5", "Articles 27 and 28", "Rule 6.1.3(a)"), French
("article L. 1221-1 du Code du travail", "art. 1382 C. civ."), German ("§ 823 Abs. 1 BGB"),
Spanish, Italian and Portuguese ("artículo 21, apartado 3", "artt. 3 e 4", "art. 5º, § 1º"),
Vietnamese ("khoản 2 Điều 12 Bộ luật Dân sự"), Chinese ("民法典第12条", "第一百二十条第二款") and
Japanese ("民法第三条の二第一項"), besides those of `data/countries.ini`, `data/forms.ini` and
`united_states`.
A number needs its marker: "I worked 12 hours" cites nothing.

The words around a citation say which law is meant: any, "this Act", or one by name. A name that is
not of the corpus matters just as much: "section 5 of my contract" must find nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple, cast

from components.statutes.citations import patterns
from components.statutes.citations.laws import (
    BY_NUMBER,
    abbreviations,
    bracketed_name,
    place_ending,
)
from components.statutes.citations.patterns import (
    Citation,
    CitationKind,
    Enumeration,
    Forms,
    LawReference,
)
from components.statutes.citations.united_states import find_american
from components.statutes.sources.units import WORDS_AFTER, WORDS_BEFORE, any_of

# The words around a citation that name its law.

_NEXT_LINE = 160  # characters read on either side of a citation

_ORDINALS = {
    name: value
    for row in patterns.read_tables("words").values()
    for name, value in patterns.ordinals(row.get("ordinals", "")).items()
}
_FORMS = Forms(
    "citations",
    abbreviations=any_of(abbreviations()),
    by_number=BY_NUMBER,
    lead="|".join(patterns.plain_words("openers")),
    ordinals=any_of(_ORDINALS),
    vietnamese=patterns.read_tables("words")["vi"]["law"],
)
_form = cache(_FORMS.compiled)
PRIVATE_PAPER = patterns.any_language("paper")
"""Papers whose numbered clauses are not law."""
_REFERENCES: dict[str, LawReference] = {"same": "same", "own": "own", "generic": "none"}
GENERIC_NAMES = frozenset({"Code", "Act", "Law"})
"""On their own they mean whichever law the text is about: "the Act, section 5"."""
_NAMED_BEFORE = tuple(
    _FORMS.compiled(f"{name}_before") for name in ("number", "english", "capitals", "continental")
)
NAME_OF_A_LAW = _FORMS.compiled("name_of_a_law")
"""A law's whole name, as far as it can be recognised, or capitals that can be its initials."""

OTHER_LAW = _FORMS.compiled("other_law")
"""A law by name, anywhere in a question: it is then uncertain which one a citation means."""


def after_divisions(text: str, end: int) -> tuple[int, bool]:
    """Where the name of a law may begin, past "of Chapter 2", and whether there was a division."""
    aside = _form("aside").match(text, end, end + _NEXT_LINE)
    end = aside.end() if aside else end
    division = _form("divisions").match(text, end, end + _NEXT_LINE)
    return (division.end(), True) if division else (end, False)


def law_hint(text: str, start: int, end: int, since: int = 0) -> tuple[str | None, LawReference]:
    """The words that name the law of the citation text[start:end], and the kind of reference.

    Words before `since` do not belong to it.
    """
    if following := hint_after(text, end):
        return following
    opening = max(since, start - _NEXT_LINE)
    for pattern in (_form("private_before"), *_NAMED_BEFORE):
        if match := pattern.search(text, opening, start):
            name = match["law"].strip()
            return (None, "none") if name in GENERIC_NAMES else (name, "named")
    between = _form("between").search(text, opening, start)
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
    for form, reference in _REFERENCES.items():
        if _form(form).match(text, end, limit):
            return None, reference
    for form in ("private_after", "by_number_after", "named_after", "capitals_after"):
        if match := _form(form).match(text, end, limit):
            name = (match["law"] or match["short"]).strip()
            return name if _form("dotted").fullmatch(name) else name.strip(" ,.'’-"), "named"
    return None


def is_named_behind(text: str, end: int) -> bool:
    """Whether initials or an act by its number follow a citation directly: "Art. 5 BV"."""
    return _form("directly_behind").match(text, end) is not None


def is_of_something(text: str, end: int) -> bool:
    """Whether a citation that ends at `end` is of something that may not be a law.

    "Section 13 of the consent form" is; "of the Act" and "of the PDPA" name a law.
    """
    found = _form("of_something").match(text, after_divisions(text, end)[0])
    return found is not None and hint_after(text, end) is None


# What announces a number.


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
    while match := _form("marker").search(text, position):
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
        romance = _form("romance").match(match[name]) or (
            kind == "article" and _form("romance_list").match(text, match.end())
        )
        return Marker(
            *match.span(),
            kind,
            plural=_form("plural").search(match[name]) is not None,
            sign=match[name].startswith("§"),
            doubtful=short and _form("leads_to_short").search(text, before, match.start()) is None,
            bracket="(" in between,
            romance=bool(romance),
        )
    return None


# The numbers after one marker, "articles 12, 13-1 and 15 to 18", and their levels, "§ 1er".


_NAMED_LEVELS = ("bracket", "closed", "noun", "degree", "roman", "sentence", "short")
_DEEPEST = 8  # levels below an article
_BRACKET_REACH = 200  # characters that are searched for an open bracket


# Each by whether the marker is Spanish, Italian or Portuguese: "1382 a 3" is a range there alone.
# A list stays on its line, except for French code numbers, which are unmistakable. A number may
# be followed by "(deposits)" or a reference mark.
_SEPARATOR = [_FORMS.compiled(name) for name in ("separator", "romance_separator")]
_RANGE = [_FORMS.compiled(name) for name in ("range", "romance_range")]


def _items(text: str, marker: Marker) -> list[Citation]:
    """The numbers that follow a marker, each still without text, law and group."""
    items: list[Citation] = []
    whole = ""  # the last number with more than digits
    position = marker.end
    while number := patterns.NUMBER.match(text, position):
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
            and not (_form("list_continues").match(text, end) or hint_after(text, end))
        ):
            break  # it counts something
        core = patterns.canonical_core(number[0])
        unread, longer = "", patterns.longer_numbers(text, number[0], number.end())
        through: str | None = None
        otherwise: tuple[str, str | None] | None = None
        to = _RANGE[marker.romance].match(text, end)
        # "article 12 to article 15": the same unit may be repeated.
        again = to and _form(f"{marker.kind}_again").match(text, to.end())
        last = to and patterns.NUMBER.match(text, (again or to).end())
        # "14 to 12" is meant as "12 to 14"; "artículo 12 a 3 meses" and "12 bis 1" are no ranges.
        forwards = marker.romance or (to and to[0].strip().lower() == "bis")
        if to and last and not (forwards and _runs_backwards(core, to[0], last[0])):
            through, longer = patterns.canonical_core(last[0]), ()
            end = levels_after(text, last.end(), sign=marker.sign)[1]
            if to[0] in "–—":  # some publishers print a number's own hyphen like this
                otherwise = (patterns.canonical_core(f"{number[0]}-{last[0]}"), None)
        elif marker.plural and (both := _form("hyphened").fullmatch(number[0])):
            otherwise = (patterns.canonical_core(both[1]), patterns.canonical_core(both[2]))
        otherwise = otherwise or _in_full(core, through, whole)
        whole = whole if core.isdigit() else core
        onward = None if through else _form("onward").match(text, end)
        if onward:
            end = onward.end()
        elif not others:
            unread = patterns.unread_after(text, end, levels=end > number.end())
        item = Citation(number.start(), end, "", core, paragraph, None, marker.kind)
        item = item._replace(through=through, otherwise=otherwise, longer=longer)
        items.append(item._replace(unread=unread, onward=onward is not None))
        for start, stop, other in others:
            items.append(Citation(start, stop, "", core, other, None, marker.kind))
        separator = _SEPARATOR[marker.romance].match(text, items[-1].end)
        if separator is None:
            break
        position = separator.end()
        if marker.sign and (sign := _form("sign").match(text, position)):
            position = sign.end()  # "§ 12, § 13"
    return items


def _runs_backwards(core: str, to: str, last: str) -> bool:
    """Whether what looks like a range ends below its start: "12 a 3"."""
    end = patterns.canonical_core(last)
    if to in "–—" or core[0].isdigit() != end[0].isdigit():
        return False  # "14–1" may be a number, "L. 3162-1 to 4" shares its prefix
    low, high = ([int(digits) for digits in re.findall(r"\d+", each)] for each in (end, core))
    return low < high


def _in_full(core: str, through: str | None, before: str) -> tuple[str, str | None] | None:
    """A number and its range end with the prefix of an earlier number; None if they share none."""
    if core.isdigit() and (shared := _form("prefixed").fullmatch(before)):
        return f"{shared[1]}{core}", through and f"{shared[1]}{through}"
    if through and through.isdigit() and (shared := _form("prefixed").fullmatch(core)):
        return core, f"{shared[1]}{through}"
    return None


def _counts_something(text: str, marker: Marker, number: re.Match[str]) -> bool:
    """Whether a number is not an article's."""
    printed = number[0]
    return bool(
        (marker.sign and printed.endswith("er"))  # "§ 1er" is a paragraph of an article
        # "Section IV" is a division
        or (printed[-1].isupper() and marker.kind != "article" and printed.isalpha())
        or (marker.kind in ("rule", "regulation") and _form("year").fullmatch(printed))
        or _form("no_number").match(text, number.end())
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
    while not others and len(levels) < _DEEPEST and (level := _form("level").match(text, position)):
        if level["sign"] and sign:
            break
        if (level["closed"] or "")[:1].isdigit() and _in_brackets(text, level.start("closed")):
            break  # the ")" closes a bracket
        position = level.end()
        ordinal = level["ordinal"]
        value = next(filter(None, level.group(*_NAMED_LEVELS)), None) or (
            patterns.canonical_core(level["absatz"]) if level["absatz"] else _ordinal_value(level)
        )
        if value:
            levels.append(value.lower())
        if level["bracket"]:
            bracket_end = position
            while more := _form("more_brackets").match(text, bracket_end):
                others.append((more.start(1), more.end(), _replaced(levels, more[1])))
                bracket_end = more.end()
        elif not (ordinal or level["closed"]):
            while more := _form("more_levels").match(text, position):
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
    several = level["degree"] or _form("plural_level").search(level[0])
    return bool(several or ((level["noun"] or level["part"]) and not (plural or level["sign"])))


def _replaced(levels: list[str], other: str) -> str:
    """The levels, those of `other` in place of the first one of the same sort and all after it."""
    further = re.findall(r"\w+", other.lower())
    digit = further[0][0].isdigit()
    place = next((n for n, x in enumerate(levels) if x[0].isdigit() == digit), len(levels))
    return "".join(f"({level})" for level in [*levels[:place], *further])


# Citations.

_NEAR = 160  # characters of a sentence in which a list may continue
_BEFORE = 400  # characters that are searched for what "that Schedule" means
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
    if onward := _form("onward").match(text, end):
        words = text[citation.start : onward.end()]
        return citation._replace(end=onward.end(), text=words, onward=True)
    if not (text[end - 1].isalnum() or text[end - 1] == ")"):
        return citation
    longer = () if levels else patterns.longer_numbers(text, citation.number, end)
    return citation._replace(longer=longer, unread=patterns.unread_after(text, end, levels=levels))


def _without(text: str, spans: Sequence[Enumeration | Citation], sign: str) -> str:
    """The text with a sign that is read as nothing in place of each character of some spans."""
    parts: list[str] = []
    end = 0
    for each in spans:
        parts += text[end : each.start], sign * (each.end - each.start)
        end = each.end
    return "".join([*parts, text[end:]])


def _cites_nothing(text: str, marker: Marker, french: bool) -> bool:
    """Whether a marker names a part of something other than a law."""
    is_part = marker.kind == "paragraph" or marker.sign
    if is_part and _form("part_of_another").match(text, marker.end):
        return True
    if french or marker.kind != "section":
        return french and marker.kind != "article"
    before = max(0, marker.start - 12)
    return _form("french_division").search(text, before, marker.start) is not None


def _further(text: str, kind: CitationKind, position: int, end: int) -> list[Citation]:
    """Citations without a marker after a citation's law: "... and 13 of the Work Code".

    Args:
        text: The text.
        kind: The kind of the citation before.
        position: Where that citation ends.
        end: Where the next one begins.
    """
    sentence_end = _form("sentence_end").search(text, position, min(end, position + _NEAR))
    end = sentence_end.start() if sentence_end else min(end, position + _NEAR)
    for match in _form("further").finditer(text, position, end):
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
    before = _form("level_before").search(text, max(taken, start - 40), start)
    if before:
        start = before.start()
    end = items[-1].end
    if items[-1].unread:  # the name of the law follows what is attached to the number
        end = levels_after(text, end + len(items[-1].unread))[1]
    division: str | None = None
    if marker.kind == "paragraph":
        division, end = _division(text, start, end)
    if final := patterns.FINAL_TITLE.match(text, end):
        division, end = patterns.IN_FINAL_TITLE, final.end()
    hint, reference = law_hint(text, start, end, taken)
    if marker.doubtful and reference == "none" and items[0].paragraph is None:
        return []
    if before and items[0].paragraph is None:
        levels = f"({before['a']})" + (f"({before['b']})" if before["b"] else "")
        items[0] = items[0]._replace(paragraph=levels)
    items[0] = items[0]._replace(start=start)
    return patterns.completed(
        items, text, law_hint=hint, reference=reference, division=division, group=(start, end)
    )


def _division(text: str, start: int, end: int) -> tuple[str | None, int]:
    """The division named after the paragraphs text[start:end], and where its name ends."""
    if _form("nearby").match(text, end):
        return patterns.LISTED_PARAGRAPH, end
    named = _form("schedule").match(text, end, end + 80)
    if named and named["unit"]:
        return f"{named['unit'][:3].lower()} {named['number'].lower()}", named.end()
    reach = _BEFORE if named else _NEAR
    before = list(_form("schedule_number").finditer(text, max(0, start - reach), start))
    if named is None:  # "Schedule 2, paragraph 3"
        last = next((each for each in before if each["next"] is not None), None)
        return last and f"{last['unit'][:3].lower()} {last['number'].lower()}", end
    unit = named["same"][:3].lower()  # "that Schedule": the last that was named, if any was
    numbers = [each["number"].lower() for each in before if each["unit"][:3].lower() == unit]
    return f"{unit} {numbers[-1] if numbers else ''}", named.end()


# Citations as single countries write them: `data/countries.ini`, and one reader for all of it.
# "형법 제329조의2", "民法第184條第1項", "6:162 BW", "art. 22 § 1 k.p.", "12 kap. 8 § jordabalken",
# "§ 12, stk. 2", "7 §:n 2 momentti", "п. 3 ч. 1 ст. 81 ТК РФ", "TBK m. 49", "มาตรา ๑๑๒ วรรคสอง".
#
# A form that begins like one of the shared words ("art. 12", "§ 5") is read here only if something
# shows its country: a level, the law's name, or how a list is joined.

_NEVER = r"(?!)"
_WITHOUT_BLANKS = frozenset({"ko", "th", "zh"})
# Units of several languages: something else must show whose they are.
_SHARED = re.compile(
    r"(?i)(?:art(?:t?\.?|ikel\w?|ikkel|icles?|icol[oi]|igos?|ículos?)|§§?|m\.|p\.|str\.|l\.)"
)
_PLURAL_UNITS = frozenset({"artikelen", "artt", "artt.", "§§"})
_LONGEST_LIST = 30  # numbers behind one unit
_REACH_OF_NAME = 100  # characters in front of a citation that are searched for its law
_REACH_OF_LEVELS = 60  # and for its parts
_MOST_LEVELS = 5  # levels
# What "the Act" is called: whichever law the text is about.
_COUNTRIES = patterns.read_tables("countries")
_GENERIC_IN_COUNTRIES = frozenset(" ".join(row["the_act"] for row in _COUNTRIES.values()).split())


def find_in_forms_of_countries(text: str) -> Iterator[Citation]:
    """Each citation that is written in a form of the table, in order.

    Where two languages read one place, the one that reads more of it wins.
    """
    lowered = text.lower()
    found = [
        enumeration
        for language, row in _COUNTRIES.items()
        if any(word in lowered for word in row["words"].split("|"))
        for enumeration in _reader(language).enumerations(text)
    ]
    found.sort(key=lambda each: each.start)  # stable: of equals, the table's first
    chosen: list[Enumeration] = []
    for each in found:
        if not chosen or each.start >= chosen[-1].end:
            chosen.append(each)
        elif each.end - each.start > chosen[-1].end - chosen[-1].start:
            chosen[-1] = each
    for each in chosen:
        yield from each.citations


class CountryReader:
    """Reads the citations of one language.

    Attributes:
        head: A unit with its numbers, or numbers with their unit.
        number: A further number of a list.
        join: What stands between two numbers; group "to" if it makes a range of them.
        level: A part of an article with its number; "value", "ordinal" or "bracket" holds it.
        after, before: The law's name behind a citation ("law", "own" or "same") or in front of it.
    """

    def __init__(self, language: str) -> None:
        """Compile the row of a language."""
        self._language = language
        self._row = row = _COUNTRIES[language]
        self._values = patterns.ordinals(row["ordinals"])
        spacing = "without_blanks" if language in _WITHOUT_BLANKS else "with_blanks"
        digits = patterns.CHINESE_NUMERAL if language == "zh" else r"\d{1,3}"
        values = {
            **row,
            "before": _alternatives(row["before"], WORDS_BEFORE.get(language, "")),
            "after": _alternatives(row["after"], WORDS_AFTER.get(language, "")),
            "digits": digits,
            "ordinal": "|".join([digits, *(rf"{stem}\w*" for stem in self._values)]),
        }
        never = {name: value or _NEVER for name, value in values.items()}
        forms = Forms("countries", **never, **patterns.read_tables("forms")[spacing])
        heads = [forms.text(f"{name}_head") for name in ("before", "after", "bare") if values[name]]
        self.head = re.compile("|".join(heads), re.IGNORECASE)
        self.number = forms.compiled("further_number", re.IGNORECASE)
        self.join = forms.compiled("joint", re.IGNORECASE)
        self.level = forms.compiled("any_level", re.IGNORECASE)
        self.after = forms.compiled("law_after", re.IGNORECASE)
        self.before = forms.compiled("law_before", re.IGNORECASE)

    def enumerations(self, text: str) -> Iterator[Enumeration]:
        """What the language's forms read in a text."""
        position = taken = 0  # where to search on, and what belongs to the last citation
        while head := self.head.search(text, position):
            bare_law = _group(head, "bare_law")
            start = head.start("bare") if bare_law else head.end() - len(head[0].lstrip())
            leading: list[re.Match[str]] = []
            if self._row["leading"]:
                leading, start = self._levels_before(
                    text, max(taken, start - _REACH_OF_LEVELS), start
                )
            items, position, certain = self._items(text, head)
            if not items or (self._language == "zh" and _is_printed_head(text, start, position)):
                continue
            items[0] = items[0]._replace(start=start)  # with the levels in front of it
            if leading:
                items[0] = items[0]._replace(paragraph=self._paragraph(leading))
            hint, reference, reach = self._law(text, taken, start, position)
            if not certain and not bare_law and reach == (start, position):
                continue
            if bare_law:
                hint, reference, reach = bare_law, "named", (head.start(), reach[1])
            taken = max(position, reach[1])
            if _group(head, "unit") and self._language not in _WITHOUT_BLANKS:
                for n, item in enumerate(items):
                    unread = patterns.unread_after(
                        text, item.end, levels=item.paragraph is not None
                    )
                    items[n] = item._replace(unread=unread)
            shared = {"law_hint": hint, "reference": reference, "group": (start, position)}
            items = patterns.completed(items, text, **shared)
            yield Enumeration(min(start, reach[0]), taken, items)

    def _items(self, text: str, head: re.Match[str]) -> tuple[list[Citation], int, bool]:
        """The numbers behind a unit, where they end, and whether they are of this language."""
        items: list[Citation] = []
        certain = _is_certain(text, head)
        plural = _unit_of(head) in _PLURAL_UNITS
        following: re.Match[str] | None = head
        join: re.Match[str] | None = None
        position = head.end()
        while following and len(items) < _LONGEST_LIST:
            position = following.end()
            for item in self._numbers(text, following):
                if join and join["to"]:
                    items[-1] = items[-1]._replace(through=item.number, end=item.end)
                else:
                    items.append(item)
                join = None
            if not items:
                break
            levels, position = self._levels_after(text, position, plural)
            items[-1] = items[-1]._replace(paragraph=self._paragraph(levels), end=position)
            # "(2)", "§ 2" and "nr. 2" are of several languages.
            certain = certain or any(
                not level["bracket"] and level["word"] not in ("§", "/", "nr", "nr.", "Nr.")
                for level in levels
            )
            join = self.join.match(text, position)
            following = join and self.head.match(text, join.end())
            if following and _unit_of(following)[:1] != _unit_of(head)[:1]:
                following = None  # Portuguese "§ 1º do art. 5"
            ends = bool(items[-1].paragraph) and not (self._row["mark"] or plural)
            if join and not following and not ends and head.groupdict().get("unit") is not None:
                following = self.number.match(text, join.end())
            if join and following:
                certain = certain or join[0].strip(" –—,;") != ""
        return items, position, certain

    def _numbers(self, text: str, match: re.Match[str]) -> Iterator[Citation]:
        """The numbers of a head, or one further number of a list; ranges with their ends."""
        if _group(match, "numbers"):
            span = match.span("numbers")
            printed = [(each.start(), each[0]) for each in self.number.finditer(text, *span)]
        else:
            number = _group(match, "number") or _group(match, "bare") or match[0]
            printed = [(match.start(), number)]
        unit, chapter, letter = (_group(match, name) for name in ("unit", "chapter", "letter"))
        front = f"{unit} " if unit.lower().endswith(" madde") else ""
        front += f"{chapter} kap. " if chapter else ""
        item: Citation | None = None
        for start, number in printed:
            parsed = patterns.parse_number(f"{front}{number}{letter and f' {letter}'}")
            if parsed is None:
                break
            core = parsed.core
            end = start + len(number) if len(printed) > 1 else match.end()
            if item and self._is_range(text[item.end : start]):
                item = item._replace(through=core, end=end)
                continue
            if item:
                yield item
            otherwise: tuple[str, str | None] | None = None
            # "제3조의22" is not a range, though its canonical form has a hyphen.
            ends = _form("dashed").search(number)
            if ends and not self._row["dashed"] and core == ends[0] and int(ends[1]) < int(ends[2]):
                otherwise = (ends[1], ends[2])
            elif self._language == "ro" and _form("thousands").fullmatch(core):
                otherwise = (core.replace(".", ""), None)
            item = Citation(start, end, "", core, None, None, "article", otherwise=otherwise)
            item = item._replace(division=parsed.division or None)
        if item:
            yield item

    def _is_range(self, between: str) -> bool:
        """Whether what stands between two numbers makes them the ends of a range."""
        join = self.join.fullmatch(between)
        return between.strip() == "-" or (join is not None and join["to"] is not None)

    def _levels_after(
        self, text: str, position: int, plural: bool
    ) -> tuple[list[re.Match[str]], int]:
        """The parts named behind a number, from the outside in, and where they end.

        Behind a plural unit the numbers that follow are articles: "artikelen 5 lid 1, 7 en 9".
        """
        levels: list[re.Match[str]] = []
        while len(levels) < _MOST_LEVELS and (level := self.level.match(text, position)):
            if level["word"] and any(level["word"] == outer["word"] for outer in levels):
                break  # "ust. 2, ust. 3"
            levels.append(level)
            one = plural and level["value"] and not level["word"].lower().endswith(("en", "s"))
            position = level.end("value") if one else level.end()
        return levels, position

    def _levels_before(self, text: str, since: int, start: int) -> tuple[list[re.Match[str]], int]:
        """The parts named in front of an article, from the outside in, and where they begin."""
        levels: list[re.Match[str]] = []
        end = since
        for level in self.level.finditer(text, since, start):
            if text[end : level.start()].strip(" ,"):
                levels = []
            levels.append(level)
            end = level.end()
        if not levels or text[end:start].strip(" ,"):
            return [], start
        return levels[::-1], levels[0].end() - len(levels[0][0].lstrip(" ,."))

    def _paragraph(self, levels: Iterable[re.Match[str]]) -> str | None:
        return "".join(f"({value})" for value in map(self._value, levels) if value) or None

    def _value(self, level: re.Match[str]) -> str:
        """The number of a part of an article; "" for one that is too small."""
        value = (level["value"] or level["ordinal"] or level["bracket"] or "").lower()
        if re.fullmatch(patterns.CHINESE_NUMERAL, value):
            return str(patterns.chinese_integer(value))
        return next((n for stem, n in self._values.items() if value.startswith(stem)), value)

    def _law(
        self, text: str, since: int, start: int, end: int
    ) -> tuple[str | None, LawReference, tuple[int, int]]:
        """The law of a citation text[start:end], how it is named, and the span of its name."""
        if self._language == "zh":
            return *_chinese_law(text, start), (start, end)
        opening = max(since, start - _REACH_OF_NAME)
        match = self.after.match(text, end) or self.before.search(text, opening, start)
        if match is None:
            return None, "none", (start, end)
        if law := match["law"]:
            if law.lower() in _GENERIC_IN_COUNTRIES:
                return None, "none", match.span()
            return law.strip(" 「」"), "named", match.span()
        return None, "own" if match["own"] else "same", match.span()


_reader = cache(CountryReader)
"""The reader of a language, made when a text first holds its words."""


def _alternatives(pattern: str, words: str) -> str:
    """A pattern and some words in one expression, longer ones first; "" if there are none."""
    return "|".join(filter(None, (pattern, any_of(words.split()))))


def _group(match: re.Match[str], name: str) -> str:
    """A group of a match; "" for one that the language's pattern lacks."""
    return match.groupdict().get(name) or ""


def _unit_of(head: re.Match[str]) -> str:
    return (_group(head, "unit") or _group(head, "unit_after")).lower()


def _is_certain(text: str, head: re.Match[str]) -> bool:
    """Whether a unit or a number is of no language but this one: "стаття 5", "§ 19 b"."""
    if unit_after := _group(head, "unit_after"):
        return unit_after.lower() not in ("str.", "p.")
    if _SHARED.fullmatch(_unit_of(head)) is None or _form("rare_number").search(head[0]):
        return True
    letter_apart = head[0][-1].isalpha() and head[0][-2].isspace()
    return letter_apart and _form("apart").match(text, head.end()) is not None


def _is_printed_head(text: str, start: int, end: int) -> bool:
    """Whether 第六条 begins a line, with a blank behind it: it is an article, not a citation."""
    return text[end : end + 1].isspace() and (
        _form("printed_head").search(text, max(0, start - 4), start) is not None
    )


_chinese_form = cache(Forms("chinese").compiled)


def _chinese_law(text: str, start: int) -> tuple[str | None, LawReference]:
    """The law of a Chinese citation, which precedes it, and how it is named."""
    opening = max(0, start - 80)
    if closing := _chinese_form("bracketed").search(text, opening, start):
        return bracketed_name(text[: closing.start() + 1]), "named"
    if _chinese_form("own").search(text, opening, start):
        return None, "own"
    if _chinese_form("same").search(text, opening, start):
        return None, "same"
    named = _chinese_form("named").search(text, opening, start)
    # 法 alone is "the Act", in a regulation.
    return (named[1], "named") if named and named[1] != "法" else (None, "none")
