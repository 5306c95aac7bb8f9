"""The languages of law and their characters.

Tags, stemmers, stop words and language detection come first, then characters as they are compared:
one form for a question, for law and for training data. Law is always shown as it is printed. For a
comparison, a word is the same word whether it is broken at the end of a line, holds an invisible
character, or is typed with the letters and digits that a keyboard has. `whole_words` prepares a
text before it is split into words, `folded` a single word.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

_WORDS = Path(__file__).with_name("words.tsv")


@cache
def _tables() -> dict[str, dict[str, str]]:
    tables: dict[str, dict[str, str]] = {}
    for line in _WORDS.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            table, language, words = line.split("\t")
            tables.setdefault(table, {})[language] = words
    return tables


def words_of(table: str) -> dict[str, str]:
    """A table of `words.tsv`: words by language, in the order of the file.

    Args:
        table: "stop words", "stemmer", "article before", "article after", "divisions", "repealed",
            "countries" or "eur-lex"; or one for all languages, whose words stand under "*".
    """
    return _tables()[table]


STOP_WORDS = {
    language: frozenset(words.split()) for language, words in words_of("stop words").items()
}
"""Our own lists, by language. For every other language see `stop_words`."""

STEMMERS = words_of("stemmer")
"""Snowball's stemmer by the primary part of a BCP 47 tag."""

# Languages without a stemmer, indexed by pairs of characters or segmented by pyvi.
_WITHOUT_STEMMER = frozenset({"ja", "ko", "th", "vi", "zh"})
_ALIASES = {"nb": "no", "nn": "no", "mo": "ro", "iw": "he", "in": "id", "cmn": "zh", "yue": "zh"}
_LONGEST_STOP_WORD = 4  # of a list that is not our own
SAMPLE_CHARS = 4_000
"""Characters of a law that `detected_language` looks at."""
_SHORTEST_SAMPLE = 200
_SURE = 0.9  # probability


def known_language(tag: str | None) -> str | None:
    """The language of a BCP 47 tag, as used by `analyzer`; None without rules of its own."""
    primary = (tag or "").replace("_", "-").split("-")[0].lower()
    primary = _ALIASES.get(primary, primary)
    return primary if primary in known_languages() else None


@cache
def known_languages() -> frozenset[str]:
    """Primary tags of the languages with stop words, a stemmer or pairs of characters."""
    import stopwordsiso

    return _WITHOUT_STEMMER.union(STEMMERS, stopwordsiso.langs())


@cache
def stop_words(language: str) -> frozenset[str]:
    """Our own list, else the short words of the list that stopwordsiso has; lower case.

    Its lists also name content words ("state", "system", "majority"). On English and French law,
    for which we have our own lists, its words of at most four letters cost no recall, but all of
    them do (docs/results/findings.md).
    """
    import stopwordsiso

    if language in STOP_WORDS or not stopwordsiso.has_lang(language):
        return STOP_WORDS.get(language, frozenset())
    words = map(str.lower, stopwordsiso.stopwords(language))
    return frozenset(word for word in words if len(word) <= _LONGEST_STOP_WORD)


def detected_language(sample: str) -> str | None:
    """The language that a law is written in; None if it cannot be detected.

    Args:
        sample: Texts of several of its articles: a single short text is often mistaken for another
            language. `SAMPLE_CHARS` are read, and at least 200 are needed.
    """
    if len(sample) < _SHORTEST_SAMPLE:
        return None
    language, probability = _identifier().classify(sample[:SAMPLE_CHARS])
    return known_language(language) if probability >= _SURE else None


@cache
def _identifier() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    known = {label for label in identifier.nb_classes if known_language(label)}
    identifier.set_languages(sorted(known))
    return identifier


# Characters as they are compared.

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
