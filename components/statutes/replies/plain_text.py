"""Texts compared word for word, whatever their blanks, quotation marks and dashes."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

# Single or double, straight or curved: a quotation within a quotation changes its marks.
QUOTATION_MARKS = "\"'“”„‟‘’‚‛«»‹›「」『』＂＇`´′″"
_DASHES = "-‐‑‒–—―−﹘﹣－"
_CLUSTER = re.compile(r"\s+|\S", re.DOTALL)
_BEHIND_POINT = re.compile(r"\d[.,]\Z")
_BEFORE_POINT = re.compile(r"[.,]\d")


@dataclass(frozen=True, slots=True)
class PlainText:
    """A text as it is compared, and where each of its characters stands in the original.

    Attributes:
        text: Unicode's NFC; every run of blanks a space, every quotation mark `'`, every run of
            dashes `-`; without invisible characters, and without blanks beside a dash or inside
            guillemets.
        starts, ends: `[len(text)]`, each character's span in the original.
    """

    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def find(self, words: str) -> tuple[int, int] | None:
        """Span in the original of the first place where some words stand, or None.

        They must begin and end between words: "lawful to keep" does not stand in "unlawful to
        keep", nor "000 crowns" in "1,000 crowns".

        Args:
            words: As `plain_text` makes them.
        """
        place = self.text.find(words)
        while words and place >= 0:
            end = place + len(words)
            if not self._cuts(place) and not self._cuts(end):
                return self.starts[place], self.ends[end - 1]
            place = self.text.find(words, place + 1)
        return None

    def _cuts(self, place: int) -> bool:
        """Whether a cut at a place goes through a word or a number."""
        if not 0 < place < len(self.text):
            return False
        before, after = self.text[max(0, place - 2) : place], self.text[place : place + 2]
        if _BEHIND_POINT.search(before) and after[0].isdigit():
            return True
        if before[-1].isdigit() and _BEFORE_POINT.match(after):
            return True
        return _spaced(before[-1]) and _spaced(after[0])


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
                if character in "-»›" and characters and characters[-1][0] == " ":
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
    return "".join(each for each in composed if unicodedata.category(each) != "Cf")


def _spaced(character: str) -> bool:
    """Whether the character belongs to a word of a script that puts blanks between words."""
    return character.isalnum() and not unicodedata.name(character, "").startswith(
        ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")
    )
