"""Notes that stand in place of repealed law: "(weggefallen)", "Abrogé par la loi n° 7 de 1999"."""

from __future__ import annotations

import re
from functools import cache

from components.statutes.languages import words_of
from components.statutes.sources.units import unit_pattern

_UNIT = f"(?:{unit_pattern('before')}|{unit_pattern('after')}|{words_of('repealed units')['*']})"
_NUMBER = r"(?:(?:\d[\w.\-–—/()]*|(?:[ivxlc]+|und|bis|and|to|et|al|[^\W\d_])\b[.,]?|[,.–—-])\s*)*+"
_WAS, _ITSELF = words_of("was")["*"], words_of("this")["*"]
_IS = f"{_WAS}|is|are|ist|est|es|está|queda|é|è"
# The history of an article that was added later: "Inserted by ... (AS 1984 778). Repealed by ...",
# "[1995 c.758 §3; repealed by ...".
_INSERTED = rf"(?:(?:{words_of('inserted')['*']})\b.*?\d.*?[.)]\s+|\d{{4}} c\.[^\]]*;\s+)?"
_OPENED = r"[\s\[({（【〔<«*_\"'-]*"


@cache
def _note() -> re.Pattern[str]:
    repealed = "|".join(words_of("repealed").values())
    return re.compile(
        rf"{_OPENED}{_INSERTED}(?:(?:{_ITSELF})\s+{_UNIT}\s+(?:(?:{_IS})\s+)?"
        rf"|(?:(?:\d[\w.–-]*\s*)?(?:{_UNIT}\s*{_NUMBER})+)?(?:(?:{_WAS})\s+)?)[\s.:–—-]*{_OPENED}"
        rf"(?:{repealed})(?!\w)(?P<rest>.*)",
        re.IGNORECASE | re.DOTALL,
    )


@cache
def _act_or_day() -> re.Pattern[str]:
    """An act or a day has a number."""
    by = words_of("repealed by")["*"]
    return re.compile(rf"\s*(?:[^\w\s]|\d|(?:{by})(?!\w)).*\d", re.IGNORECASE | re.DOTALL)


_OBLIGES = re.compile(rf"\b(?:{words_of('obliges')['*']})\b", re.IGNORECASE)
# A full stop behind a short word or a number is an abbreviation's: "Abs. 2", "15. Dez.".
_NEXT_SENTENCE = re.compile(
    r"(?:[^\W\d_]{5,}\.|[)\]](?:\.|(?=\s+(?-i:[A-ZÀ-Þ]))))\s+(?P<words>\w.*)", re.DOTALL
)
_IN_BRACKETS = re.compile(r"[\s*]*[\[({（【〔<].*[\])}）】〕>]\W*$", re.DOTALL)
_MARKUP = re.compile(r"\]\([^()\s]*\)|<sup>.*?</sup>|\[\^\w+\]|[¹²³⁴-⁹]+")
_OF_ARTICLE = re.compile(rf"{_OPENED}{_UNIT}\s", re.IGNORECASE)
_PARAGRAPH = re.compile(r"^\s*(?:\((\d+)[a-z]?\)|(\d+)[.)]|stk\. ?(\d+)\.)\s+", re.IGNORECASE)
_DASHES = re.compile(r"[\s–—-]*")
_DOTS = re.compile(r"[\w()]{0,6}[\s.…·]{4,}")
_SENTENCE_ENDS = (".", ":", ";", ",")
_LONGEST, _LONGEST_TITLE = 600, 120  # characters


def is_repeal_note(text: str) -> bool:
    """Whether a text only notes that its article was repealed, moved or left empty.

    The note may name the act and the day, and the article's title may stand above it. A text that
    repeals something else is not one.

    >>> is_repeal_note("(weggefallen)"), is_repeal_note("Repealed by Act 7 of 1999, s. 4.")
    (True, True)
    >>> is_repeal_note("The Barge Act is repealed.")
    False
    """
    if len(text) > _LONGEST:
        return False
    lines = _lines(_MARKUP.sub(" ", text))
    if all(map(_is_note, lines)):
        return bool(text.strip())
    return len(lines) > 1 and _is_title(lines[0], lines[1]) and all(map(_is_note, lines[1:]))


def _lines(text: str) -> list[str]:
    """Lines that hold words; one within open brackets goes on with the next."""
    lines: list[str] = []
    for line in text.splitlines():
        if lines and lines[-1].count("(") > lines[-1].count(")"):
            lines[-1] += f" {line}"
        elif not _DASHES.fullmatch(line):
            lines.append(line)
    return lines


def _is_title(line: str, note: str) -> bool:
    """Whether a line is the title above a note, not a provision above a repealed one."""
    if len(line) > _LONGEST_TITLE or _PARAGRAPH.match(line) or _OBLIGES.search(line):
        return False
    numbered = _PARAGRAPH.match(note)
    if numbered and numbered[numbered.lastindex or 0] != "1":
        return False
    # Titles that end with a full stop look like sentences, unless the note speaks of the article.
    return not line.rstrip().endswith(_SENTENCE_ENDS) or bool(_OF_ARTICLE.match(note))


def _is_note(line: str) -> bool:
    line = _PARAGRAPH.sub("", line)
    if _DOTS.fullmatch(line):
        return True
    note = _note().match(line)
    if note is None:
        return False
    rest = note["rest"]
    if not re.search(r"\w", rest):
        return True
    is_bracketed = _IN_BRACKETS.match(line)
    if not (is_bracketed or _act_or_day().match(rest)) or _OBLIGES.search(rest):
        return False
    following = _NEXT_SENTENCE.search(rest)
    if following is None:
        return True
    small = [word for word in re.findall(r"[^\W\d_]{2,}", following["words"]) if word.islower()]
    return len(small) < (4 if re.search(r"\d", following["words"]) else 2)
