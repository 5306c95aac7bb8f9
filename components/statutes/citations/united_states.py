"""Citations of American law, in which the title or the code decides.

Forms: the United States Code and the Code of Federal Regulations ("15 U.S.C. § 1681b(a)",
"29 CFR 825.100", "section 552(b) of title 5"), the codes of the states by initials, abbreviation
and name ("ORS 90.425(6)(b)", "Cal. Civ. Code § 1950.5", "M.G.L. c. 93A, § 9"), public laws, bills
and orders ("Pub. L. 111-148, § 1101"), constitutions ("Tex. Const. art. I, § 8").

Section 362 of title 11 and section 362 of title 15 have nothing in common. A citation therefore
carries its title or code as `Citation.code`, written out, and `AmericanCodes` finds the stored laws
that are this title or code. If there are none, no other law is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from components.statutes.citations.patterns import (
    Citation,
    CitationKind,
    Enumeration,
    Forms,
    canonical_core,
    completed,
    read_tables,
)

_TABLES = read_tables("united_states")
_STATES, _WORDS = _TABLES["states"], _TABLES["words"]
# Initials, each with the code and, where they have other meanings, how its numbers look.
_INITIALS = {printed: row.partition("; ")[::2] for printed, row in _TABLES["initials"].items()}
for _code, _ in [*_INITIALS.values()]:
    if _code.startswith("Federal Rules"):  # "Federal Rule of Evidence 403"
        _INITIALS |= {_code: (_code, ""), _code.replace("Rules", "Rule"): (_code, "")}
# A title, or in Illinois a chapter, comes before them: "9 V.S.A. § 4461".
_NUMBERED = re.compile("Delaware|Illinois|Maine|Oklahoma|Pennsylvania|Puerto Rico|Vermont")


def _letters(text: str) -> str:
    return re.sub("[^a-z]", "", text.lower())


_CODE_OF_INITIALS = {_letters(printed): code for printed, code in _INITIALS.items()}
_END = r"(?![A-Za-z])\.?"


def _spelled(printed: str) -> str:
    """An expression for initials, in small letters too if they have no other meaning."""
    if "." in printed:
        return re.sub(r"\\?\s", r"\\s?", re.escape(printed).replace(r"\.", r"\.\s?"))
    if " " in printed:
        return printed.replace(" ", r"\s")
    spelled = r"(?:\.\s?)?".join(printed) + _END
    return spelled if _INITIALS[printed][1] else rf"(?i:{spelled})"


_STATE = "|".join(
    rf"(?i:{name})\b" + (rf"|(?:{short}){_END}" if short else "")
    for name, short in sorted(_STATES.items(), key=lambda state: -len(state[0]))
)
_FORMS = Forms(
    "united_states",
    beginnings="|".join(
        sorted({name[:3].lower() for name in (*_STATES, *_INITIALS) if "." not in name[:3]})
    ),
    end=_END,
    initials_spelled="|".join(map(_spelled, _INITIALS)),
    meanings="|".join(_WORDS.values()),
    plain=_TABLES["lists"]["plain"],
    state=_STATE,
    words="|".join(_WORDS),
)
_form = cache(_FORMS.compiled)

_DASH = _FORMS.text("dash")

_TITLED = re.compile(r"^Title \w+, ")


def find_american(text: str) -> Iterator[Enumeration]:
    """Where a text names American law, in order."""
    position = 0
    while opening := _form("opening").search(text, position):
        found = _before(text, opening) if opening["behind"] else _behind(text, opening)
        if isinstance(found, Enumeration):
            yield found
        position = found.end if isinstance(found, Enumeration) else found


def _behind(text: str, name: re.Match[str]) -> Enumeration | int:
    """The numbers behind the name of a code, or where to read on."""
    if name["union"] or name["place"]:
        return _of_constitution(text, name)
    if division := _form("to_division").match(text, name.end()):
        return Enumeration(name.start(), division.end(), [])
    to = _form("to_number").match(text, name.end())
    code = _code_of(name, to)
    if to and code and _leads(text, name, to):
        kind: CitationKind = "article" if to["article"] else "rule" if to["rule"] else "section"
        if to["act"]:
            code = f"{code}, Act {to['act'][:-1]}"
        if _form("proposed").search(text, max(0, name.start() - 9), name.start()):
            code = f"Proposed {_TITLED.sub('', code)}"
        items = _items(text, to.end(), _is_plural(to), code)
        if items:
            return _american(text, (name.start(), items[-1].end), items, code, kind)
    if name["public"] or name["session"] or name["paper"] or name["title"]:
        return Enumeration(name.start(), (to or name).end(), [])
    return name.end()


def _before(text: str, mark: re.Match[str]) -> Enumeration | int:
    """The numbers in front of the name of a code, or where to read on."""
    items = _items(text, mark.end(), _is_plural(mark), "")
    end = items[-1].end if items else mark.end()
    to, division = _form("to_name").match(text, end), None
    if to is None or not items:
        return end
    name = _form("name").match(text, to.end())
    if name is None and (division := _form("to_whole").match(text, end)):
        name = _form("name").match(text, division.end())
    if name is None or name["union"] or name["place"]:
        return end
    if to["apart"] and (name["bare"] or _form("to_number").match(text, name.end())):
        return end  # "§ 5, 15 U.S.C. § 1" are two citations
    code = _code_of(name, division)
    if code is None or not _fits(name, text[mark.end() : end]):
        return end
    items = _items(text, mark.end(), _is_plural(mark), code)
    kind: CitationKind = "rule" if mark["rule"] else "section"
    return _american(text, (mark.start(), name.end()), items, code, kind)


def _leads(text: str, name: re.Match[str], to: re.Match[str]) -> bool:
    """Whether a name and the words behind it lead to the number of a section."""
    if name["bare"]:
        before = text[max(0, name.start() - 16) : name.start()]
        in_code = _form("of_a_law").search(before) is None
        return in_code and bool(to["mark"]) and not (to["article"] or to["rule"])
    if name["public"] or name["session"] or name["paper"]:
        return to["mark"] is not None
    number = text[to.end() : to.end() + 40]
    if not _fits(name, number):
        return False
    if to["mark"] or to["act"] or not (name["initials"] or name["state"]):
        return True
    if (_code_of(name) or "").startswith("Federal Rules"):
        return True
    whole = _form("number_here").match(number)
    assert whole
    if not whole[0].isdecimal():
        return True
    plain = (name["words"] or "").lower() in ("code", "law", "laws")  # "California law"
    return len(whole[0]) > 2 and not (plain or _form("year").fullmatch(whole[0]))


def _fits(name: re.Match[str], number: str) -> bool:
    """Whether a number can be of the code that the initials mean."""
    form = _CODE_OF_INITIALS[_letters(name["initials"])][1] if name["initials"] else ""
    return re.match(form, number) is not None


def _of_constitution(text: str, name: re.Match[str]) -> Enumeration | int:
    """The article of a constitution; amendments are numbered by themselves, and are not read."""
    to = _form("to_article").match(text, name.end())
    if to is None:
        return name.end()
    span = (name.start(), to.end())
    if to["number"] is None:
        return Enumeration(*span, [])
    levels = [f"({to[level]})" for level in ("section", "clause") if to[level]]
    number = canonical_core(to["number"])
    item = _cited(to.start("number"), to.end(), number, "".join(levels).lower() or None)
    return _american(text, span, [item], _code_of(name) or "", "article")


def _american(
    text: str, span: tuple[int, int], items: list[Citation], code: str, kind: CitationKind
) -> Enumeration:
    if code.endswith("Federal Regulations"):  # "29 CFR 825" is a part, not a section
        items = [item for item in items if "." in item.number]
    if items:  # the name in front or behind is part of a citation
        items[0] = items[0]._replace(start=span[0])
        items[-1] = items[-1]._replace(end=span[1])
    shared = {"law_hint": code, "code": code, "kind": kind, "reference": "named", "group": span}
    return Enumeration(*span, completed(items, text, **shared))


# What a name means.


def _code_of(name: re.Match[str], to: re.Match[str] | None = None) -> str | None:
    """A code's name written out, with the title or chapter in front of it or behind.

    None if it needs a title in front and has none.
    """
    if title := name["title"] or name["title_behind"]:
        federal = name["cfr"] or name["cfr_before"]
        code = "Code of Federal Regulations" if federal else "United States Code"
        return f"Title {title.lower()}{'a' if name['appendix'] else ''}, {code}"
    for group, form in _TABLES["names"].items():
        if name[group]:
            return form.format(**name.groupdict()).replace("–", "-")
    if name["paper"]:
        kind = "H.R." if name["paper"][0] == "H" else "Executive Order"
        return f"{kind} {name['paper_number']}"
    if name["place"]:
        return f"{_state_of(name['place'])} Constitution"
    if name["initials"]:
        code = _CODE_OF_INITIALS[_letters(name["initials"])][0]
    else:
        code = f"{_state_of(name['state'])} {_written_out(name['words'])}"
    has_title = _NUMBERED.match(code)
    if name["front"] and has_title:
        return f"{code}, {'Chapter' if code.startswith('Illinois') else 'Title'} {name['front']}"
    if to and to["unit"]:
        return f"{code}, {'Title' if to['unit'][0] in 'tT' else 'Chapter'} {to['value']}"
    return None if name["initials"] and has_title else code


@lru_cache(maxsize=1024)
def _state_of(written: str) -> str:
    """The state that its name or an abbreviation means."""
    bare = written.removesuffix(".")
    for state, short in _STATES.items():
        if state.lower() == bare.lower() or (short and re.fullmatch(f"(?:{short})\\.?", written)):
            return state
    raise AssertionError(written)


@lru_cache(maxsize=1024)
def _written_out(words: str) -> str:
    """The name of a code without abbreviations: "Bus. & Prof. Code" is "Business and …"."""
    found: list[str] = []
    for word in re.findall(r"[\w.'’]+|&", words):
        bare = re.sub("['’]", "", word.strip(".")).lower()
        known = _WORDS.get(bare) or ("and" if word == "&" else word.removesuffix("."))
        found.append(known if known in ("and", "of") else known[:1].upper() + known[1:])
    name = " ".join(word for word in found if word not in ("Annotated", "West's"))
    for phrase, meant in _TABLES["phrases"].items():
        name = re.sub(rf"\b{re.escape(phrase)}(?!\w)", meant, name)
    return name


# The numbers.


def _cited(start: int, end: int, number: str, paragraph: str | None) -> Citation:
    """A number of a list whose law and text are still to be filled in."""
    return Citation(start, end, "", number, paragraph, None, "section")


def _is_plural(match: re.Match[str]) -> bool:
    return re.search(r"§§|s\.?$", match["mark"] or "", re.IGNORECASE) is not None


def _items(text: str, position: int, plural: bool, code: str) -> list[Citation]:
    """The numbers from a position on."""
    items: list[Citation] = []
    while number := _form("number_here").match(text, position):
        levels = _form("levels_here").match(text, number.end())
        assert levels
        end = levels.end()
        if items and (
            re.match(r"[%/$\w]", text[end : end + 1])
            or _form("volume").match(text, number.start())
            or not (plural or _form("list_goes_on").match(text, end))
        ):
            break
        items.append(_read(text, number, levels, plural, code))
        while more := _form("more_levels").match(text, items[-1].end):
            last = items[-1]
            if last.through:
                break
            named = _levels_in_place(levels[0], more["levels"])
            items.append(_cited(more.start("levels"), more.end(), last.number, named))
        following = _form("next").match(text, items[-1].end)
        if following is None:
            break
        plural = plural or "§" in following[0]
        position = following.end()
    if items and not items[-1].through and (more := _form("et_seq").match(text, items[-1].end)):
        items[-1] = items[-1]._replace(end=more.end(), onward=True)
    return items


def _read(
    text: str, number: re.Match[str], levels: re.Match[str], plural: bool, code: str
) -> Citation:
    """One number with its levels, or a range."""
    printed, paragraph, end = number[0], _paragraph(levels[0]), levels.end()
    parts = re.split(_DASH, printed)
    at = next((n for n in range(1, len(parts)) if _is_range(parts[:n], parts[n:])), None)
    through: str | None = None
    otherwise: tuple[str, str | None] | None = None
    if at is not None:
        first, *inner = re.split(r"(?=\()", "-".join(parts[:at]), maxsplit=1)
        printed, through, paragraph = first, "-".join(parts[at:]), _paragraph("".join(inner))
    elif len(parts) == 2 and all(part.isdecimal() for part in parts):
        # "§§ 551-559"; some publishers leave out what the numbers share: "§§ 1531-44".
        first, last = parts
        if plural and len(last) == 2 < len(first):
            last = first[: -len(last)] + last
        if int(last[:9]) > int(first[:9]) and len(last) < 9:
            joined, both = (canonical_core(printed), None), (first, last)
            if code.endswith("United States Code"):
                (printed, through), otherwise = both, joined
            elif plural:
                otherwise = both
    if through is None and (to := _form("through").match(text, end)):
        last_number = _form("number_here").match(text, to.end() + (to["rest"] is not None))
        if last_number and (to["rest"] or _order(last_number[0]) >= _order(printed)):
            shared = printed.rpartition(to["rest"].replace("–", "-"))[0] if to["rest"] else ""
            through = f"{shared}{to['rest'] or ''}{last_number[0]}"
            behind = _form("levels_here").match(text, last_number.end())
            end = (behind or last_number).end()
    item = _cited(number.start(), end, canonical_core(printed), paragraph)
    return item._replace(through=through and canonical_core(through), otherwise=otherwise)


def _is_range(first: list[str], last: list[str]) -> bool:
    """Whether a dash joins two numbers: "1681-1681x", "83.40-83.682", not "1.704-1", "1a-1"."""
    begins, ends = first[0], last[0]
    if len(last) < len(first) or not (begins[:1].isdigit() and ends[:1].isdigit()):
        return False
    if _order(begins) != _order(ends) or ("." in begins and "." not in ends):
        return False
    return "." in begins or begins[1:2].isdigit()


def _order(number: str) -> int:
    """The number that a number begins with."""
    leading = re.match(r"\d{1,9}", number)
    return int(leading[0]) if leading else 0


def _paragraph(levels: str) -> str | None:
    return "".join(f"({level})" for level in re.findall(r"\w+", levels.lower())) or None


def _levels_in_place(levels: str, further: str) -> str | None:
    """The levels with others in place of the last one of their sort: "(a)(1)(A) and (B)"."""
    named, others = re.findall(r"\w+", levels), re.findall(r"\w+", further)
    sorts = [(level[0].isdigit(), level.isupper()) for level in (*named, others[0])]
    place = next((n for n in reversed(range(len(named))) if sorts[n] == sorts[-1]), len(named))
    return _paragraph(" ".join([*named[:place], *others]))


# The laws of a store.


class _Title(NamedTuple):
    """What the title of a law says.

    Attributes:
        names: The codes that it may be, each as its state and its words.
        divisions: Its numbers, each with the division before it: ("title", "11"), ("", "118-1").
    """

    names: frozenset[tuple[str, frozenset[str]]]
    divisions: frozenset[tuple[str, str]]


_PLACES_BY_LENGTH = sorted([*_STATES, "United States"], key=len, reverse=True)
_PLACES = re.compile(rf"(?i)\b(?:{'|'.join(_PLACES_BY_LENGTH)})\b".replace(" ", r"\s"))
_IGNORED = frozenset(_TABLES["lists"]["ignored"].split())


@lru_cache(maxsize=65_536)
def _title(law: str) -> _Title:
    written = _form("name").sub(lambda name: f" {_code_of(name) or name[0]} ", law)
    divisions = {
        ((each["unit"] or "").lower(), each["value"].lower().replace("–", "-"))
        for each in _form("division").finditer(written)
        if each["unit"] or not _form("year").fullmatch(each["value"])
    }
    places = {"", *(" ".join(each[0].lower().split()) for each in _PLACES.finditer(written))}
    parts = _form("parted").split(_form("division").sub(",", _PLACES.sub(" ", written)))
    named = list(filter(None, map(_compared, parts)))
    named.append(frozenset().union(*named[:2]))  # "Maryland Code, Real Property"
    names = frozenset((place, words) for place in places for words in named if words)
    return _Title(names, frozenset(divisions))


def _compared(name: str) -> frozenset[str]:
    """The words of a name without endings: "Commercial" and "Commerce" are alike."""
    words = re.findall(r"[a-z]+", name.lower().replace("'", "").replace("’", ""))
    return frozenset(word.removesuffix("s")[:4] for word in words if word not in _IGNORED)


class AmericanCodes:
    """Finds the laws of a corpus that are the title or code of a citation.

    The title of the law must name the code by the same words, in any order, and the same title or
    chapter. It may name a part of the code: "Oregon Revised Statutes, Chapter 90".
    """

    def __init__(self, names: Mapping[str, Iterable[str]]) -> None:
        """Read the names of laws: those of each law, its title among them."""
        self._laws: dict[tuple[str, frozenset[str]], list[str]] = {}
        self._titled: list[str] = []
        self._divisions: dict[str, frozenset[tuple[str, str]]] = {}
        for law, names_of_law in names.items():
            for each in names_of_law:
                is_american = _PLACES.search(each) or _form("opening").search(each)
                if not (is_american or each.startswith("Uniform ")):
                    continue  # most laws of a large corpus need not be read any further
                title = _title(each)
                for name in title.names:
                    self._laws.setdefault(name, []).append(law)
                self._divisions[law] = self._divisions.get(law, frozenset()) | title.divisions
                if any(unit == "title" for unit, _ in title.divisions):
                    self._titled.append(law)

    def laws(
        self, code: str, number: str, here: str | None = None
    ) -> tuple[list[str], list[str]] | None:
        """The laws that are a code, and others that are a part of it to which a number may belong.

        None for a title whose code is not named, if no law is a title.

        Args:
            code: `Citation.code`.
            number: `Citation.number`.
            here: The law in whose text the citation stands; its titles are of the same code.
        """
        sought = _title(code)
        if sought.names:
            state = max((place for place, _ in sought.names), key=len)
            names = [name for name in sought.names if name[0] == state]
            found = [law for name in names for law in self._laws.get(name, ())]
        else:  # in the text of a title, those of the same code
            own = _title(here).names if here in self._titled else frozenset()
            found = [law for law in self._titled if here is None or own & _title(law).names]
            if not found:
                return None
        whole: list[str] = []
        parts: list[str] = []
        for law in dict.fromkeys(found):
            divisions = self._divisions[law]
            if all(_is_in(each, divisions, number) for each in sought.divisions):
                others = {value for _, value in divisions - sought.divisions}
                fits = not others or any(_begins(number, value) for value in others)
                (whole if fits else parts).append(law)
        return whole, parts


def _is_in(division: tuple[str, str], divisions: frozenset[tuple[str, str]], number: str) -> bool:
    """Whether a cited title or chapter is one of a law's, or part of the number cited."""
    unit, value = division
    if ("", value) in divisions or division in divisions:
        return True
    has_chapter = any(each == "chapter" for each, _ in divisions)
    return unit == "chapter" and not has_chapter and _begins(number, value)


def _begins(number: str, value: str) -> bool:
    return number == value or (number.startswith(value) and number[len(value)] in ".-:")
