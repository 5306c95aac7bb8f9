"""Characters as they are compared: one form for a question, for law and for training data.

Law is always shown as it is printed. For a comparison, a word is the same word whether it is broken
at the end of a line, holds an invisible character, or is typed with the letters and digits that a
keyboard has. `whole_words` prepares a text before it is split into words, `folded` a single word.
"""

from __future__ import annotations

import re
import unicodedata

JOINT = "\u200c"
"""Stands between the parts of a word that is written both in one piece and in several.

It is the zero-width non-joiner, which Persian writes between the parts of a word.
"""

INVISIBLE = (
    "\u00ad\u034f\u061c\u180e\u200b\u200d-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
)
"""What is not seen within a word, `JOINT` aside, for a regular expression's class."""

MARKS = "".join(c for c in map(chr, range(0x10000)) if unicodedata.category(c) in ("Mn", "Mc"))
"""Vowels and tones on, under or next to a letter, which Python's \\w does not match."""

DIGITS = str.maketrans(
    {c: str(unicodedata.decimal(c)) for c in map(chr, range(0x80, 0x10000)) if c.isdecimal()}
)
"""The decimal digits of all scripts as ASCII, for `str.translate`."""

# Arabic script as it is printed and as it is typed: another keyboard's letter, or none.
TYPED = DIGITS | str.maketrans(
    {
        **dict.fromkeys("أإآٱ", "ا"),
        **dict.fromkeys("ةۃہە", "ه"),
        **dict.fromkeys("ىی", "ي"),
        "ک": "ك",
        "ـ": "",
    }
)
"""Letters and digits as people type them, for `str.translate`."""

_LETTERS = (
    TYPED
    # Letters that Unicode does not decompose: "cœur" and "coeur" are the same word.
    | str.maketrans({"ß": "ss", "œ": "oe", "æ": "ae", "ø": "o", "ł": "l", "đ": "d", "ı": "i"})
    # Malayalam's final consonants, which older texts write as a letter, a virama and a joiner.
    | str.maketrans({"ൺ": "ണ്", "ൻ": "ന്", "ർ": "ര്", "ൽ": "ല്", "ൾ": "ള്", "ൿ": "ക്"})
    # Arabic's decimal point and thousands separator.
    | str.maketrans({"٫": ".", "٬": ",", JOINT: ""})
)
# Accents, and the vowel points of Arabic and Hebrew. An Indic or Thai mark is an ordinary letter.
_ACCENT = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+"
)

_INVISIBLE = re.compile(f"[{INVISIBLE}]")
_LINE_END = "\n\v\f\r\x85\u2028\u2029"
# A soft hyphen before a blank is one that was printed, at the end of a line.
_PRINTED_SOFT_HYPHEN = re.compile(r"\u00ad\s+")
# Not in "Haupt-\nund Nebenkosten", whose hyphen is for a word that follows. Begins with its
# hyphen, which is quick to find.
_BROKEN = re.compile(
    rf"-(?<=[^\W\d_]-|[{MARKS}]-)[^\S{_LINE_END}]*[{_LINE_END}]\s*(?=[^\W\d_])"
    r"(?!(?:and|or|und|oder|bzw|sowie|bis|et|ou|y|och|og|eller)\b)"
)


def whole_words(text: str) -> str:
    r"""A text in compatibility characters (NFKC) without what cuts a word.

    The halves of a word that is broken at the end of a line have a `JOINT` between them, since the
    hyphen may be the word's own: "land-\nlord", but also "non-\nresident".
    """
    if not text.isascii():
        # NFKC would take a spacing acute accent, typed as an apostrophe, for a blank and a mark.
        text = text.replace("\u00b4", "'").replace("\u02bc", "'")
        text = unicodedata.normalize("NFKC", text).replace("\u2010", "-")
    text = rejoined(text, JOINT)
    return text if text.isascii() else _INVISIBLE.sub("", text)


def rejoined(text: str, joint: str) -> str:
    """A text in which the halves of a word that a line's end breaks have only a joint between them.

    They are letters on both sides, with no capital after a small letter.
    """
    if "\u00ad" in text:
        text = _PRINTED_SOFT_HYPHEN.sub("-\n", text)

    def joined(broken: re.Match[str]) -> str:
        before, after = text[broken.start() - 1], text[broken.end()]
        return broken[0] if after.isupper() and not before.isupper() else joint

    return _BROKEN.sub(joined, text)


def folded(word: str) -> str:
    """A word without its accents and in the letters that people type, as terms are compared."""
    if word.isascii():
        return word
    return _ACCENT.sub("", unicodedata.normalize("NFKD", word)).translate(_LETTERS)
