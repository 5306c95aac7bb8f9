"""Fitting words into a drawing without its reader's fonts: estimated widths, lines, shortening."""

from __future__ import annotations

import re
import unicodedata

# Widths in ems, a little above those of Arial; Times leaves some room free.
_NARROW = frozenset("iIjlftr|!.,:;'`()[]{}/\\-’‘·°")
_BROAD = frozenset("mwQOGDHNU&œæ")
_BROADEST = frozenset("MW@%—…ŒÆ№")
_WIDTHS = {
    "space": 0.285,
    "narrow": 0.34,
    "small": 0.54,
    "capital": 0.665,
    "broad": 0.84,
    "broadest": 1.0,
}
_BOLD = 1.07

_CJK = r"\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uff60\U00020000-\U0003ffff"
# A line of Chinese may end after any character, but none begins with a closing mark.
_CLOSING = r"，。、；：？！）》」』】〉〕”’…·％"
_PIECE = re.compile(rf"[（《「『【〈〔“]?[{_CJK}][{_CLOSING}]*|[^\s{_CJK}]+[{_CLOSING}]*|\s+")


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Width that a text needs at a font size, in the units of the size; errs on the broad side."""
    return sum(map(_em, text)) * size * (_BOLD if bold else 1.0)


def is_from_right(text: str) -> bool:
    """Whether a text's first letter is of a script that is written from right to left."""
    sides = (unicodedata.bidirectional(letter) for letter in text)
    return next((side for side in sides if side in ("L", "R", "AL")), "L") != "L"


def fitted(text: str, room: float, size: float, *, lines: int = 1, bold: bool = False) -> list[str]:
    """A text cut into lines; what does not fit is left out, and the last line ends with "…".

    Args:
        text: Runs of white space in it count as one space.
        room: Width of a line.
        size: Font size, in the same units.
        lines: How many lines there may be.
        bold: Whether the letters are bold.

    Returns:
        At most `lines` lines; none for an empty text.
    """
    pieces = _PIECE.findall(text.strip())
    done: list[str] = []
    line = ""
    while pieces:
        piece = pieces.pop(0) if not pieces[0].isspace() else pieces.pop(0) and " "
        if text_width((line + piece).rstrip(), size, bold=bold) <= room:
            line += piece if line or piece != " " else ""
            continue
        if len(done) == lines - 1:
            done.append(_shortened(line + piece, room, size, bold))
            return done
        if not line:  # one piece is broader than a line
            fits = _fitting(piece, room, size, bold)
            line, rest = piece[:fits], piece[fits:]
            pieces.insert(0, rest)
        elif piece != " ":
            pieces.insert(0, piece)
        done.append(line.rstrip())
        line = ""
    if line.strip():
        done.append(line.rstrip())
    return done


def _shortened(line: str, room: float, size: float, bold: bool) -> str:
    kept = line[: _fitting(line, room - text_width("…", size, bold=bold), size, bold)]
    # At a space if one is near, so that no half word stands before the mark.
    whole = kept.rsplit(" ", 1)[0]
    if 2 * len(whole) > len(kept) and len(kept) < len(line) and line[len(kept)] != " ":
        kept = whole
    return kept.rstrip(" ,;:.，、；：。") + "…"


def _fitting(text: str, room: float, size: float, bold: bool) -> int:
    """How many characters of a text fit, at least one."""
    used = 0.0
    for index, character in enumerate(text):
        used += text_width(character, size, bold=bold)
        if used > room:
            return max(index, 1)
    return len(text)


def _em(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return _WIDTHS["broadest"]
    if character == " ":
        return _WIDTHS["space"]
    base = unicodedata.normalize("NFD", character)[0]
    if base in _BROADEST:
        return _WIDTHS["broadest"]
    if base in _BROAD:
        return _WIDTHS["broad"]
    if base in _NARROW:
        return _WIDTHS["narrow"]
    return _WIDTHS["capital"] if base.isupper() else _WIDTHS["small"]
