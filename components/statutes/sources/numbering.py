"""Which lines of a running text begin its articles.

Every line that could is a candidate: one that begins with a unit's word ("Article 5", "§ 12a",
"第一条") or with a number ("90.105", "12."). Candidates of one style are written alike. In each
style the heaviest sequence of rising numbers is looked for, where a candidate weighs more the more
it looks like a heading (a longest increasing subsequence, weighted). Numbers may start again below
a division. The style whose sequence weighs most and covers most of the text gives the articles.

A reference at the start of a line ("Article 5 shall not ...") loses because it weighs little or
breaks the order. A table of contents loses because its entries are found again with text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

from components.statutes.article import is_repeal_note
from components.statutes.citations.patterns import chinese_integer, roman_integer
from components.statutes.languages import words_of
from components.statutes.sources import units
from components.statutes.sources.layout import Line

_BARE = re.compile(
    r"(?P<number>[A-Z]{0,2}-?\d{1,5}[A-Za-z]{0,2}(?:[.:–-]\d{1,5}[A-Za-z]{0,2}){0,4})"
    r"(?P<end>\.?)(?=\s|$)\s*"
)
_FIRST = re.compile(r"[^\W\d_]+|\S")
_JOINED = re.compile(r"[,)]|\s*(?:\([^()]{1,5}\)\s*)*(?:[,;]|(?:and|or|et|und|y|e|to|bis|à)\s)")
_RANGE = re.compile(r",|\s(?:und|bis|and|to|et|à|y|a|e)\s(?=\d)")
_ROMAN = re.compile(r"(?=[IVXLC])(?:XC|XL|L?X{0,4})(?:IX|IV|V?I{0,4})|C{1,3}(?:XC|XL|L?X{0,4})\w*")
_CJK_NUMERAL = r"\d+|[零〇○一二三四五六七八九十百千]+"
_SUFFIXES = words_of("latin suffixes")["*"].split()
_NO_SUFFIX = frozenset({"er", "re", "ère", "ere", "º", "ª", "°"})
# "unique" stands before the first.
_ORDINALS = {
    word: value
    for value, words in enumerate(words_of("ordinal numbers")["*"].split())
    for word in words.split("|")
}
_CARDINALS = {
    **{word: n for n, word in enumerate(words_of("cardinal numbers")["es"].split(), 1)},
    **{word: 10 * n for n, word in enumerate(words_of("tens")["es"].split(), 1)},
}

Key = tuple[tuple[int, int], ...]

_WIDE = 80  # characters of a line, where the text is not wrapped
_SHORT_ENTRY = 250  # characters of an entry of contents
_FEWEST_ENTRIES = 3
_MOST_NAMED = 30  # times that an article's number begins a line
_RESTART = 3.0  # what starting again costs
_LIKELY = {"art": 1.6, "§": 1.6, "第": 1.6, "제": 1.6}
_BARE_STYLE = "0"
_LEAST_OF_REPEATS = 0.7  # of the usual weight
_NUMBER_AGAIN = 2  # lines from a heading to the text that repeats its number
_MOST_WORDS_OF_TITLE = 10  # where a law has no words for its articles
_COMPARED_TITLE = 16  # characters


@dataclass(slots=True)
class Candidate:
    """A line that may begin an article.

    Attributes:
        index: Of its line.
        style: What is alike in the candidates of one style: "art", "§", "0." for 90.100.
        number: As printed, with its unit where the number is cited so.
        rest: The line behind the number.
        key: Its number, for comparison.
        weight: How much it looks like an article's heading; 0 or less for a reference.
        size: Characters up to the next candidate of its style.
        is_repeat: Whether it is a further wording of a number.
    """

    index: int
    style: str
    number: str
    rest: str
    key: Key
    weight: float = 0.0
    size: int = 0
    is_repeat: bool = False


@dataclass(slots=True)
class Numbering:
    """The articles of a text, as far as lines begin them.

    Attributes:
        articles: In the order of the text.
        contents: Lines of tables of contents, by index.
        tried: How many candidates each style had, and how many of them ran.
    """

    articles: list[Candidate] = field(default_factory=list)
    contents: set[int] = field(default_factory=set)
    tried: dict[str, tuple[int, int]] = field(default_factory=dict)


def key_of(number: str) -> Key:
    """A number in parts that compare as the law counts: 2 < 2a < 2 bis < 3, 90.100 < 90.105."""
    number = re.sub(r"^[A-Z]{1,2}[.\s*-]*(?=\d)", "", number)
    number = _RANGE.split(number, maxsplit=1)[0]
    parts = re.findall(r"\d+|[^\W\d_ºª]+", number)
    if parts and parts[0][0] in "第제":
        parts = [str(chinese_integer(each)) for each in re.findall(_CJK_NUMERAL, number)]
    found: list[tuple[int, int]] = []
    if parts and parts[0].casefold() in _CARDINALS:  # "treinta y uno"
        return ((1, sum(_CARDINALS.get(part.casefold(), 0) for part in parts)),)
    for place, part in enumerate(parts):
        small = part.casefold()
        if part.isdecimal():
            found.append((1, int(part)))
        elif place == 0 and _ROMAN.fullmatch(part):
            found.append((1, roman_integer(part)))
        elif place == 0 and small in _ORDINALS:
            found.append((1, _ORDINALS[small]))
        elif small in _SUFFIXES:
            found.append((2, 100 + _SUFFIXES.index(small)))
        elif small not in _NO_SUFFIX:
            found.append((2, ord(small[0]) % 90 if len(small) == 1 else 90))
    return tuple(found)


@cache
def _unit_words() -> frozenset[str]:
    words = " ".join(units.WORDS_BEFORE.values()).split()
    return frozenset(word.rstrip(".") + end for word in words for end in ("", "s"))


@cache
def _english_words() -> frozenset[str]:
    """Words for articles that no other language has: a section is cited with its word."""
    english, others = (units.WORDS_BEFORE[language].split() for language in ("en", "fr"))
    return frozenset(word.rstrip(".") for word in {*english} - {*others})


def candidate(index: int, text: str, language: str | None) -> Candidate | None:
    """The candidate that a line is, if it is one."""
    first = _FIRST.match(text)
    if first is None:
        return None
    head = first[0]
    is_number = head.isdecimal()
    if not is_number and head[0] not in "第제§" and head.casefold() not in _unit_words():
        bare = _BARE.match(text) if text[:6].isascii() and text[:2].isupper() else None
        return _bare(index, text, bare) if bare and bare["number"][-1].isdigit() else None
    if not is_number or re.match(r"\d[\w.]*\s?(?:§|[^\W\d_])", text):
        found = units.numbered_heading(text, language)
        if found is not None and (found.unit or found.number[:1] in ("第", "제")):
            key = key_of(found.number)
            unit = found.unit.rstrip(".")
            if not key or (unit and not is_number and unit[0].islower()):
                return None
            style = unit.casefold()[:3] if unit and unit[0] != "§" else unit[:1] or found.number[0]
            number = found.number
            if unit.startswith("§"):
                number = f"{unit} {number}" if text.startswith("§") else f"{number} §"
            elif unit and (language == "en" or unit.casefold() in _english_words()):
                name = unit.capitalize() if unit.isupper() or unit.islower() else unit
                stop = "." if found.unit.endswith(".") or name == "Sec" else ""
                number = f"{name}{stop} {number}"
            weight = 1.0 if found.is_set_off else 0.0
            if found.title[:1].islower() and not found.is_set_off:
                weight = 0.0 if is_repeal_note(found.title) else -3.0
            rest = found.title
            behind = text[text.rfind(rest) - 1 :] if rest else ""
            if rest and _JOINED.match(behind) and not found.is_set_off:
                weight = -3.0
            return Candidate(index, style, number, rest, key, weight)
    bare = _BARE.match(text) if is_number else None
    return _bare(index, text, bare) if bare else None


def _bare(index: int, text: str, bare: re.Match[str]) -> Candidate | None:
    number, rest = bare["number"], text[bare.end() :]
    separators = re.sub(r"[^.:–-]", "", number).lstrip("-")
    style = f"0{separators}" if separators else _BARE_STYLE
    if not separators and not (bare["end"] or rest[:1].isupper()):
        return None
    weight = -3.0 if rest[:1].islower() or rest[:1] in ",;" else 0.5 * bool(bare["end"])
    return Candidate(index, style, number, rest, key_of(number), weight)


def find_articles(
    lines: Sequence[Line],
    width: int,
    language: str | None,
    is_division: Callable[[int], bool],
) -> Numbering:
    """The articles of a text.

    Args:
        lines: Of the text.
        width: Of its full lines; 0 where it is not wrapped.
        language: Primary tag, if known.
        is_division: Whether the line at an index is a division's heading, below which numbers may
            start again.
    """
    result = Numbering()
    styles: defaultdict[str, list[Candidate]] = defaultdict(list)
    for index, line in enumerate(lines):
        if line.is_contents:
            result.contents.add(index)
        elif (found := candidate(index, line.text, language)) is not None:
            styles[found.style].append(found)
    starts = [0]  # characters before each line
    for line in lines:
        starts.append(starts[-1] + len(line.text))
    best, articles, entries = 0.0, [], set[int]()
    for style, candidates in styles.items():
        for each, following in zip(candidates, [*candidates[1:], None], strict=True):
            end = following.index if following else len(lines)
            each.size = starts[end] - starts[each.index]
        listed = _contents(candidates, lines)
        weighed = [each for each in candidates if each.index not in listed]
        for each in weighed:
            each.weight += _weight(each, lines, width)
        _favour_the_common_form(weighed, lines)
        likely = [each for each in weighed if each.weight > 0]
        chain = _heaviest(likely, is_division)
        result.tried[style] = (len(weighed), len(chain))
        if not chain or not _is_plausible(style, chain, likely, lines):
            continue
        chain = _without_outliers(chain)
        covered = sum(min(each.size, 20_000) for each in chain) / max(starts[-1], 1)
        span = (starts[-1] - starts[chain[0].index]) / max(starts[-1], 1)
        kind = _LIKELY.get(style, 0.8 if style == _BARE_STYLE else 1.2)
        value = sum(each.weight for each in chain) * kind * min(covered, 1.0) * span
        if value > best:
            best, entries = value, listed
            articles = _with_repeats(chain, likely)
    result.articles = articles
    result.contents |= entries
    return result


def _contents(candidates: Sequence[Candidate], lines: Sequence[Line]) -> set[int]:
    """Entries of tables of contents: short runs of titles that are found again with text."""
    by_key: defaultdict[Key, list[tuple[Candidate, str]]] = defaultdict(list)
    for each in candidates:
        by_key[each.key].append((each, _title(each, lines)))
    if len(by_key) == len(candidates):
        return set()

    def is_found_again(entry: Candidate) -> bool:
        named = by_key[entry.key]
        if len(named) > _MOST_NAMED:
            return False
        title = next(own for each, own in named if each is entry)
        return any(other.size > entry.size and own.startswith(title) for other, own in named)

    runs: list[list[Candidate]] = [[]]
    for each in candidates:
        last = runs[-1][-1] if runs[-1] else None
        if last is not None and (last.size > _SHORT_ENTRY or each.key <= last.key):
            runs.append([])
        runs[-1].append(each)
    listed: set[int] = set()
    for run in runs:
        if len(run) >= _FEWEST_ENTRIES and sum(map(is_found_again, run)) >= 0.6 * len(run):
            listed.update(each.index for each in run)
    return listed


def _title(entry: Candidate, lines: Sequence[Line]) -> str:
    text = entry.rest
    if not text and entry.index + 1 < len(lines):
        text = lines[entry.index + 1].text
    return re.sub(r"\W+", "", text.casefold())[:_COMPARED_TITLE]


def _weight(each: Candidate, lines: Sequence[Line], width: int) -> float:
    line = lines[each.index]
    above = lines[each.index - 1] if each.index else None
    weight = 1.0 + 2.0 * bool(line.level) + 2.0 * line.is_bold
    weight += 1.0 * (not each.rest or (len(line.text) <= 120 and line.text[-1] not in ".,;:"))
    weight += 1.0 * (each.size > len(line.text) + 20 or len(each.rest) > 40)
    if above is None or line.is_apart or line.level or line.is_bold:
        return weight + 1.0
    is_within = not (above.ends_sentence or above.text.isupper() or above.page != line.page)
    if is_within and above.width > 0.6 * (width or _WIDE):
        return weight - (4.0 if width else 1.5)
    return weight + 0.5


def _favour_the_common_form(candidates: Sequence[Candidate], lines: Sequence[Line]) -> None:
    """Weigh down the candidates that are printed otherwise than most of their style."""

    def form(each: Candidate) -> tuple[bool, ...]:
        line = lines[each.index]
        return (line.level > 0, line.is_bold, not each.rest)

    forms = Counter(form(each) for each in candidates if each.weight > 0)
    most = max(forms.values(), default=1)
    for each in candidates:
        if each.weight > 0:
            each.weight *= 0.4 + 0.6 * forms[form(each)] / most


def _heaviest(
    candidates: Sequence[Candidate], is_division: Callable[[int], bool]
) -> list[Candidate]:
    """The heaviest sequence of rising numbers, which may start again below a division.

    A Fenwick tree over the numbers holds the heaviest sequence that ends at or below each.
    """
    keys = sorted({each.key for each in candidates})
    tree: list[tuple[float, int]] = [(0.0, -1)] * (len(keys) + 1)
    heaviest, came_from = (0.0, -1), [-1] * len(candidates)
    for place, each in enumerate(candidates):
        rank = bisect_left(keys, each.key)
        before, node = (0.0, -1), rank
        while node > 0:
            before = max(before, tree[node])
            node &= node - 1
        if heaviest[0] - _RESTART > before[0] and is_division(each.index):
            before = (heaviest[0] - _RESTART, heaviest[1])
        total = before[0] + each.weight
        came_from[place] = before[1]
        node = rank + 1
        while node <= len(keys):
            tree[node] = max(tree[node], (total, place))
            node += node & -node
        heaviest = max(heaviest, (total, place))
    chain, place = [], heaviest[1]
    while place >= 0:
        chain.append(candidates[place])
        place = came_from[place]
    return chain[::-1]


def _is_plausible(
    style: str, chain: Sequence[Candidate], likely: Sequence[Candidate], lines: Sequence[Line]
) -> bool:
    if len(chain) < 0.35 * len(likely):
        return False  # numbers in any order: paragraphs of articles, or references
    if style == _BARE_STYLE:
        # Judgments number their paragraphs; a law's sections have titles.
        titled = sum(map(_is_titled, chain))
        return len(chain) > 2 and titled >= 0.6 * len(chain)
    if len(chain) > 1:
        return True
    return style[0] != "0" and len(likely) == 1 and len(lines[chain[0].index].text) < 120


def _is_titled(each: Candidate) -> bool:
    is_title = 0 < len(each.rest) <= 100 and each.rest[-1] not in ".,;:"
    found = catchline(each.rest)
    return is_title or (found is not None and len(found[0].split()) <= _MOST_WORDS_OF_TITLE)


def _without_outliers(chain: list[Candidate]) -> list[Candidate]:
    """The sequence without a reference behind its end: § 826 after § 45."""
    weights = sorted(each.weight for each in chain)
    common = weights[len(weights) // 2]
    while len(chain) > 3 and chain[-1].weight < 0.6 * common:
        last, before = chain[-1].key[-1], chain[-2].key[-1]
        if chain[-1].key[:-1] == chain[-2].key[:-1] and last[1] - before[1] < 10:
            break
        chain = chain[:-1]
    return chain


def _with_repeats(chain: list[Candidate], likely: Sequence[Candidate]) -> list[Candidate]:
    """The sequence, and what looks like its articles but stands out of order.

    That is a second wording next to the first, or a number that stands nowhere else.
    """
    weights = sorted(each.weight for each in chain)
    enough = _LEAST_OF_REPEATS * weights[len(weights) // 2]
    keys, found = {each.key for each in chain}, list(chain)
    places = [each.index for each in chain]
    for each in likely:
        place = bisect_left(places, each.index)
        if not place or each.weight < enough or each.index in places[place : place + 1]:
            continue
        above, neighbours = chain[place - 1], {each.key for each in chain[place - 1 : place + 1]}
        if each.key == above.key and each.index - above.index <= _NUMBER_AGAIN:
            continue  # "Section 1. Scope" and below it "1. This Act applies"
        if each.key in neighbours or each.key not in keys:
            found.append(each)
            keys.add(each.key)
    found.sort(key=lambda each: each.index)
    for above, each in pairwise(found):
        each.is_repeat = each.key == above.key
    return found


_OF_SENTENCE = re.compile(
    r"(?P<title>.{3,220}?[^\s.][.?])\s+(?=[A-Z“\"(\d])(?P<words>.+)", re.DOTALL
)
_ABBREVIATED = re.compile(
    r"(?:^|[\s(])(?:[A-Z]|No|Nos|Art|Sec|U\.S|etc|vs?|St|Co|Inc|al|e\.g|i\.e)\.$"
)


def catchline(text: str) -> tuple[str, str] | None:
    """The title that stands on an article's line, and the words behind it.

    >>> catchline("Short title. This chapter shall be known as the Barge Act.")
    ('Short title.', 'This chapter shall be known as the Barge Act.')
    """
    found = _OF_SENTENCE.match(text)
    if found is None or _ABBREVIATED.search(found["title"]) or len(found["title"].split()) > 30:
        return None
    words = re.findall(r"[^\W\d_]+", found["title"])
    if {"shall", "must", "may", "is", "are"} & set(words[:-1]) and len(words) > 12:
        return None
    return found["title"], found["words"]
