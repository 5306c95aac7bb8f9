"""Texts compared word for word, whatever their blanks, quotation marks and dashes."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from dataclasses import dataclass

# Single or double, straight or curved: a quotation within a quotation changes its marks.
QUOTATION_MARKS = "\"'“”„‟‘’‚‛«»‹›「」『』＂＇`´′″"
_DASHES = "-‐‑‒–—―−﹘﹣－"
# French puts a blank there, other languages none, and who copies law either.
_NO_BLANK_BEFORE = "-»›;:!?%"
_CLUSTER = re.compile(r"\s+|\S", re.DOTALL)
# "non-|refundable", "(un)|lawful", "-|50"; and "non|-refundable".
_JOINED_BEFORE = re.compile(rf"(?:\w[{_DASHES}]|\w\)|(?:^|\s|\()[-−])\Z")
# A line may end behind the hyphen: "non-\n|refundable", "non|-\nrefundable".
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
# "n'|oblige" in French, and "can|'t".
_NOT_BEFORE = re.compile(r"(?:^|\W)n['’ʼ]\Z", re.IGNORECASE)
_NOT_AFTER = re.compile(r"['’ʼ]t(?!\w)", re.IGNORECASE)
# They show what follows in another order: "14" as "41".
_REORDERING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@dataclass(frozen=True, slots=True)
class PlainText:
    """A text as it is compared, and where each of its characters stands in the original.

    Attributes:
        original: The text as it is.
        text: Unicode's NFC; every run of blanks a space, every quotation mark `'`, every run of
            dashes `-`; without invisible characters but those that reorder what is shown, and
            without blanks beside a dash, inside guillemets and before `;`, `:`, `!`, `?` and `%`.
        starts, ends: `[len(text)]`, each character's span in the original.
    """

    original: str
    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def find(self, words: str, begin: int = 0) -> tuple[int, int] | None:
        """Span in the original of the first place from `begin` on where some words stand, or None.

        They must begin and end between words and numbers: "lawful to keep" does not stand in
        "unlawful to keep", "refundable" not in "non-refundable", "000 crowns" not in "1,000 crowns"
        or "1 000 crowns", "50 degrees" not in "-50 degrees", "oblige" not in "n'oblige", 得扣留 not
        in 不得扣留, and 十日 not in 二十日.

        Args:
            words: As `plain_text` makes them.
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
    before, after = _seen(text[max(0, place - 16) : place]), _seen(text[place : place + 16])
    before, after = _BROKEN_BEFORE.sub(r"\1", before)[-8:], _BROKEN_AFTER.sub(r"\1", after)[:8]
    if not before or not after:
        return False
    if _spaced(before[-1]) and _spaced(after[0]):
        return True
    if _JOINED_BEFORE.search(before) and _spaced(after[0]):
        return True
    if _spaced(before[-1]) and _JOINED_AFTER.match(after):
        return True
    if _DIGITS_BEFORE.search(before) and _DIGITS_AFTER.match(after):
        return True
    if _NOT_BEFORE.search(before) and after[0].isalnum():
        return True
    if before[-1].isalnum() and _NOT_AFTER.match(after):
        return True
    if (before[-1] in _NUMERALS or before[-1].isdigit()) and after[0] in _NUMERALS:
        return True
    return before[-1] in _NEGATIONS and not after[0].isspace()


def _seen(text: str) -> str:
    """A text without the signs that are not seen: "un\u00adlawful" is one word."""
    return "".join(each for each in text if unicodedata.category(each) != "Cf")


def plain_text(text: str) -> PlainText:
    """A text as it is compared."""
    characters: list[tuple[str, int, int]] = []
    for start, end in _clusters(text):
        for character in _visible(text[start:end]):
            if characters and character in " -" and characters[-1][0] == character:
                characters[-1] = (character, characters[-1][1], end)
            elif characters and character == " " and characters[-1][0] in "-«‹":
                continue  # a blank there is a matter of typesetting
            else:
                if character in _NO_BLANK_BEFORE and characters and characters[-1][0] == " ":
                    characters.pop()
                    if character == "-" and characters and characters[-1][0] == "-":
                        characters[-1] = (character, characters[-1][1], end)
                        continue
                characters.append((character, start, end))
    while characters and characters[-1][0] == " ":
        characters.pop()
    if characters and characters[0][0] == " ":
        del characters[0]
    return PlainText(
        text,
        "".join("'" if each in QUOTATION_MARKS else each for each, _, _ in characters),
        tuple(start for _, start, _ in characters),
        tuple(end for _, _, end in characters),
    )


def _clusters(text: str) -> list[tuple[int, int]]:
    """Spans of the runs of blanks, and of the other characters with their combining marks."""
    spans: list[tuple[int, int]] = []
    for match in _CLUSTER.finditer(text):
        start, end = match.span()
        if spans and unicodedata.combining(match[0][0]):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return spans


def _visible(cluster: str) -> str:
    if cluster.isspace():
        return " "
    if cluster in _DASHES:
        return "-"
    if cluster == "…":
        return "..."
    composed = unicodedata.normalize("NFC", cluster)
    return "".join(
        each for each in composed if each in _REORDERING or unicodedata.category(each) != "Cf"
    )


def _spaced(character: str) -> bool:
    """Whether the character belongs to a word of a script that puts blanks between words."""
    return character.isalnum() and not unicodedata.name(character, "").startswith(
        ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")
    )
