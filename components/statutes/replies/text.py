"""The sentences of a reply, and those of an article with their exceptions."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, NamedTuple

import yaml

from components.statutes.citations.patterns import Forms
from components.statutes.languages import known_language

# Reference marks in a reply are [1], [1, 3], [2-4], [1 and 2], 【9†source】, ⁹.
# The match is possessive: a reply can hold thousands of blanks after "[1".
_MARK_FORMS = Forms("marks")
MARK = _MARK_FORMS.compiled("mark")
_MARK_OR_UNREAD = _MARK_FORMS.compiled("mark_or_unread")
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_LONGEST_RANGE = 50


class ReferenceMark(NamedTuple):
    """One mark.

    Attributes:
        start, end: Its span in the reply, brackets included.
        numbers: The numbers that it names; of a range that is too long or turned round, its ends.
            () for brackets with a number among words, whose meaning is unknown.
    """

    start: int
    end: int
    numbers: tuple[int, ...]


def find_reference_marks(reply: str) -> Iterator[ReferenceMark]:
    """The reference marks of a reply, in order."""
    for found in _MARK_OR_UNREAD.finditer(reply):
        numbers: dict[int, None] = {}
        for item in reply_form("item").finditer(
            found["list"] or (found["raised"] or "").translate(_RAISED)
        ):
            first, last = int(item[1]), int(item[2] or item[1])
            fits = 0 <= last - first < _LONGEST_RANGE
            numbers |= dict.fromkeys(range(first, last + 1) if fits else (first, last))
        yield ReferenceMark(*found.span(), tuple(numbers))


# Single or double, straight or curved: a quotation within a quotation changes its marks.
QUOTATION_MARKS = "\"'“”„‟‘’‚‛«»‹›「」『』＂＇`´′″❮❯ˮ⌜⌝⌞⌟〔〕"
_DASHES = "-‐‑‒–—―−﹘﹣－"
# What a text consists of: a run of dashes, a run of blanks, or a character. Blanks next to dashes,
# at either end, inside guillemets and, as in French, before punctuation are only typesetting.
_SIGN = re.compile(
    r" *(-(?:[ -]*-)?) *|(?:\A|(?<=[«‹])) +| +(?:\Z|(?=[»›;:!?%]))|( +|[^ ])", re.DOTALL
)
_CLUSTER = re.compile(r"\s+|\S", re.DOTALL)
# "non-|refundable", "(un)|lawful", "-|50"; and "non|-refundable".
_JOINED_BEFORE = re.compile(rf"(?:\w[{_DASHES}]|\w\)|(?:^|\s|\()[-−])\Z")
# A line may end after the hyphen: "non-\n|refundable", "non|-\nrefundable".
_BROKEN_BEFORE = re.compile(rf"(\w[{_DASHES}])\s+\Z")
_BROKEN_AFTER = re.compile(rf"^([{_DASHES}])\s+")
_JOINED_AFTER = re.compile(rf"[{_DASHES}]\w")
# "1,|000", "1 |000", "12:|30", "1/|50", on either side of what stands between the figures.
# "1·|5" is how older British statutes write it, "3 1⁄|2" and "1 |½" a fraction, "10^|6" a power.
_BETWEEN = r"[.,:/'’_·⁄^]"
_BLANK = r"[^\S\n]"
_FRACTION = r"(?:[¼½¾⅐-⅞]|\d{1,2}[/⁄]\d)"
_DIGITS_BEFORE = re.compile(rf"\d{_BETWEEN}?\Z|(?<!\d)\d{{1,3}}{_BLANK}\Z")
_DIGITS_AFTER = re.compile(rf"{_BETWEEN}?\d|{_BLANK}?(?:\d{{3}}(?!\d)|{_FRACTION})")
_NEGATIONS = "不未无無非毋勿"
_NUMERALS = "〇零一二三四五六七八九十百千万亿萬億两兩廿卅壹贰貳叁參肆伍陆陸柒捌玖拾佰仟"
# They show what follows in another order: "14" as "41".
_REORDERING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
# So do these in a text without a letter that is written from right to left: "3<RLM>6" is shown as
# "63". Hebrew and Arabic have them for punctuation, where copies may lose them.
_TURNING = "\u200f\u061c"
_RIGHT_TO_LEFT = re.compile("[\u05d0-\u05ea\u0620-\u064a\u066e-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")


@dataclass(frozen=True, slots=True)
class PlainText:
    """A text in its form for comparison, with the position of each character in the original.

    Attributes:
        original: The text as it is.
        text: Unicode's NFC; every run of blanks a space, every quotation mark `'`, every run of
            dashes `-`; without invisible characters but those that reorder what is shown, and
            without blanks next to a dash, inside guillemets and before `;`, `:`, `!`, `?` and `%`.
        starts, ends: `[len(text)]`, each character's span in the original.
    """

    original: str
    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def find(self, words: str, begin: int = 0) -> tuple[int, int] | None:
        """Span in the original of the first occurrence of some words from `begin` on, or None.

        They must begin and end between words and numbers: "lawful to keep" does not stand in
        "unlawful to keep", "refundable" not in "non-refundable", "000 crowns" not in "1,000 crowns"
        or "1 000 crowns", "50 degrees" not in "-50 degrees", "oblige" not in "n'oblige", 得扣留 not
        in 不得扣留, and 十日 not in 二十日.

        Args:
            words: As made by `plain_text`.
            begin: A place in the original.
        """
        place = self.text.find(words, bisect_left(self.starts, begin))
        while words and place >= 0:
            span = self.starts[place], self.ends[place + len(words) - 1]
            if not _cuts(self.original, span[0]) and not _cuts(self.original, span[1]):
                return span
            place = self.text.find(words, place + 1)
        return None


def _cuts(text: str, place: int) -> bool:
    """Whether a cut at a place of a text goes through a word or a number."""
    # Without invisible characters: "un\u00adlawful" is one word.
    before, after = (
        "".join(each for each in part if unicodedata.category(each) != "Cf")
        for part in (text[max(0, place - 16) : place], text[place : place + 16])
    )
    before, after = _BROKEN_BEFORE.sub(r"\1", before)[-8:], _BROKEN_AFTER.sub(r"\1", after)[:8]
    if not before or not after:
        return False
    word_before, word_after = _spaced(before[-1]), _spaced(after[0])
    numeral_before = before[-1] in _NUMERALS or before[-1].isdigit()
    return bool(
        (word_before and word_after)
        or (_JOINED_BEFORE.search(before) and word_after)
        or (word_before and _JOINED_AFTER.match(after))
        or (_DIGITS_BEFORE.search(before) and _DIGITS_AFTER.match(after))
        or (reply_form("not_before").search(before) and after[0].isalnum())
        or (before[-1].isalnum() and reply_form("not_after").match(after))
        or (numeral_before and after[0] in _NUMERALS)
        or (before[-1] in _NEGATIONS and not after[0].isspace())
    )


@lru_cache(maxsize=64)  # a reply's quotations are looked up in the same articles
def plain_text(text: str) -> PlainText:
    """A text as it is compared."""
    kept = _REORDERING if _RIGHT_TO_LEFT.search(text) else _REORDERING + _TURNING
    visible = [
        (character, start, end)
        for start, end in _clusters(text)
        for character in _visible(text[start:end], kept)
    ]
    signs = _SIGN.finditer("".join(character for character, _, _ in visible))
    spans = [sign.span(sign.lastindex) for sign in signs if sign.lastindex]
    plain = (visible[first][0] for first, _ in spans)
    return PlainText(
        text,
        "".join("'" if each in QUOTATION_MARKS else each for each in plain),
        tuple(visible[first][1] for first, _ in spans),
        tuple(visible[end - 1][2] for _, end in spans),
    )


def _clusters(text: str) -> list[tuple[int, int]]:
    """Spans of the runs of blanks, and of the other characters with their combining marks."""
    spans: list[tuple[int, int]] = []
    for match in _CLUSTER.finditer(text):
        start, end = match.span()
        if spans and unicodedata.combining(match[0][0]):
            start, _ = spans.pop()
        spans.append((start, end))
    return spans


def _visible(cluster: str, kept: str) -> str:
    if cluster.isspace():
        return " "
    if cluster in _DASHES:
        return "-"
    composed = "..." if cluster == "…" else unicodedata.normalize("NFC", cluster)
    return "".join(each for each in composed if each in kept or unicodedata.category(each) != "Cf")


def _spaced(character: str) -> bool:
    """Whether the character belongs to a word of a script that puts blanks between words."""
    return character.isalnum() and not unicodedata.name(character, "").startswith(
        ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")
    )


_END = _MARK_FORMS.compiled("end")

# A heading announces what follows; with a verb of law, or a full stop, it asserts law.


@cache
def reply_words() -> dict[str, Any]:
    """The table of words in `replies.yaml`."""
    text = files("components.statutes").joinpath("replies.yaml").read_text("utf-8")
    words: dict[str, Any] = yaml.safe_load(text)
    return words


@cache
def reply_form(name: str) -> re.Pattern[str]:
    """A form of the table "replies", in which the words of `replies.yaml` are filled in."""
    words = {key: "|".join(each) for key, each in reply_words().items()}
    return Forms("replies", **words).compiled(name)


def sentence_spans(
    reply: str,
    whole: Iterable[tuple[int, int]] = (),
    citations: Iterable[tuple[int, int]] = (),
) -> list[tuple[int, int]]:
    """Spans of the sentences of a reply, without the blanks around them.

    The end of a line ends a sentence, except after a colon. Citations after a full stop that are
    alone in a sentence belong to the sentence before.

    Args:
        reply: the text.
        whole: spans in which no sentence ends, such as quotations.
        citations: spans of citations.
    """
    kept, cited = joined_spans(whole), joined_spans(citations)
    cuts = []
    start = 0
    for end in _END.finditer(reply):
        is_line = end["line"] is not None
        cut = end.start() if is_line else end.end("after")
        inside = bisect_left(kept, (cut,)) - 1
        if cut <= start or (inside >= 0 and cut < kept[inside][1]):
            continue
        if is_line and reply[start:cut].rstrip("*_ ").endswith((":", "：")):
            continue
        if not is_line and end["stop"] == "." and not end["after"].strip():
            head = reply[start : end.end("stop")].strip()
            if (
                reply_form("abbreviation").search(head[-12:])
                or reply_form("list_number").fullmatch(head.rsplit("\n", 1)[-1])
                or (
                    reply_form("before_number").search(head[-12:])
                    and reply_form("starred_number").match(reply, cut)
                )
                or reply_form("small").match(reply, cut)
            ):
                continue
        cuts.append(cut)
        start = cut
    merged: list[tuple[int, int]] = []
    for span in pairwise([0, *cuts, len(reply)]):
        first, last = trimmed(reply, *span)
        if merged and first < last and _only_cites(reply, first, last, cited):
            merged[-1] = (merged[-1][0], last)
        elif first < last:
            merged.append((first, last))
    return merged


def joined_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order, those that overlap joined."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if joined and first < joined[-1][1]:
            first, before = joined.pop()
            last = max(before, last)
        joined.append((first, last))
    return joined


def _only_cites(reply: str, start: int, end: int, cited: list[tuple[int, int]]) -> bool:
    """Whether a sentence is nothing but citations, and the name of their law."""
    within = cited[bisect_left(cited, (start,)) : bisect_left(cited, (end,))]
    bracketed = reply[start] in "([（" and reply[end - 1] in ")].）"
    around = pairwise([(start, start), *within, (end, end)])
    rest = (reply[last:first] for (_, last), (first, _) in around)
    return bool(within) and (bracketed or not any(map(str.isalnum, "".join(rest))))


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """A span without the white space at its ends."""
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), end - (len(part) - len(part.rstrip()))


def says_something(sentence: str, behind: str) -> bool:
    """Whether a sentence can assert law: not a ruler, a mere introduction or a bare heading.

    A line that ends in a colon introduces what follows; with nothing after it, it asserts.

    Args:
        sentence: A sentence of a reply.
        behind: The reply's text after it.
    """
    lines = sentence.splitlines()
    return any(
        _asserts(line, "\n".join(lines[place + 1 :]) or behind) for place, line in enumerate(lines)
    )


def _asserts(line: str, behind: str) -> bool:
    line = line.strip()
    if reply_form("rule").match(line) or not any(each.isalpha() for each in line):
        return False
    if line.rstrip("*_ ").endswith((":", "：")) and behind.strip():
        return False
    if line.startswith("#"):
        asks = line.rstrip("#*_ ").endswith(("?", "？"))
        return reply_form("tells_law").search(line) is not None and not asks
    return not (line.startswith("|") and reply_form("below_table_head").match(behind))


@dataclass(frozen=True, slots=True)
class ArticleSentence:
    """A sentence of an article.

    Attributes:
        start, end: Its span.
        qualifies: Whether it may restrict the sentence before: it says "unless" or "within".
    """

    start: int
    end: int
    qualifies: bool


def article_sentences(article: str, language: str | None = None) -> list[ArticleSentence]:
    """The sentences of an article, in order.

    A list is one sentence with its introduction ("The tenant must:"), over all its lines and
    whatever its items contain.

    Args:
        article: Its text.
        language: BCP 47 tag of the article, where known.
    """
    spans: list[tuple[int, int]] = []
    before = kind_of_lead = ""
    in_list = False
    for line in reply_form("line").finditer(article):
        # How the line is numbered: "figure" for "(2)"; "" if it is not.
        item = reply_form("list_item").match(line[0].lstrip())
        kind = (item.lastgroup or "") if item else ""
        for place, (first, last) in enumerate(sentence_spans(line[0])):
            start, end = line.start() + first, line.start() + last
            part = article[start:end]
            begins_line = place == 0
            closed = not spans or reply_form("closed").search(before) is not None
            if begins_line and closed and kind in ("", "section", kind_of_lead):
                in_list = False
            runs_on = (
                begins_line
                and not closed
                and (
                    part[0].islower()
                    or kind != ""
                    or reply_form("runs_on").search(before) is not None
                )
            )
            behind_mark = (
                not begins_line and reply_form("list_item").fullmatch(before) is not None
            )  # "§ 2."
            if in_list or runs_on or behind_mark:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((start, end))
            if not in_list and ((runs_on and kind) or reply_form("leads_to_list").search(part)):
                in_list, kind_of_lead = True, kind
            before = part
    qualifying = _qualifying(known_language(language))
    return [
        ArticleSentence(start, end, qualifying.search(article, start, end) is not None)
        for start, end in spans
    ]


@cache
def _qualifying(language: str | None) -> re.Pattern[str]:
    """What shows that a sentence restricts the one before it; of an unknown language, of any."""
    by_language = {each: "|".join(words) for each, words in reply_words()["qualifying"].items()}
    chinese = by_language.pop("zh")
    if language == "zh":
        return re.compile(chinese)
    known = by_language.get(language or "")
    words = "|".join([*reply_words()["not_applying"], known or "|".join(by_language.values())])
    unspaced = "" if known else f"|{chinese}"
    return re.compile(rf"\b(?:{words})\b{unspaced}", re.IGNORECASE)
