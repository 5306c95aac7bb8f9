"""Text as BM25 sees it: the terms of an article or a question, by language.

One analyser serves indexing and asking alike, so a lay person's "demission" meets the law's
"démission". What is particular to law: numbers stay whole ("1382-1", "6.1.3", "492/1"), and the
French "L. 1221-1" and "l 1221-1" are the one term "l1221-1".
"""

from __future__ import annotations

import logging
import re
import threading
import unicodedata
from collections.abc import Callable
from functools import cache
from itertools import pairwise

import Stemmer

from components.statutes.stop_words import STOP_WORDS
from components.statutes.word_segmentation import HOW_TO_INSTALL, segmenter, words_joined

logger = logging.getLogger(__name__)

KNOWN_LANGUAGES = tuple(STOP_WORDS)

# Goes up whenever the same text would give other terms.
_VERSION = 2

_STEMMERS = {"en": "porter", "fr": "french", "de": "german", "nl": "dutch", "es": "spanish"}
_TONAL = frozenset({"vi"})  # marks tell words apart: má, mà and ma are three words
_MAX_CACHED_TERMS = 500_000  # a cache, not a leak: hostile questions cannot grow it without end

# Letters of scripts that put no space between words.
_UNSPACED = (
    "\u3005\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"  # CJK
    "\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2\u0eb3\u0ebd-\u0ec6"  # Thai, Lao
    "\u1000-\u102a\u103f\u1050-\u1055\u1780-\u17b3"  # Burmese, Khmer
)
# Vowels and tones that stand on, under or beside a letter: to Python's \w they belong to no word.
_MARK = "".join(c for c in map(chr, range(0x10000)) if unicodedata.category(c) in ("Mn", "Mc"))
_TERM = re.compile(
    rf"[{_UNSPACED}][{_UNSPACED}{_MARK}]*"
    rf"|\d+[^\W\d_{_UNSPACED}]*(?:[-./,]\d+[^\W\d_{_UNSPACED}]*)*"  # 1382-1, 6.1.3, 203quater
    rf"|[^\W\d_{_UNSPACED}]{{1,2}}\d+(?:[-./]\d+)*"  # L1221-1, A4.12.8
    rf"|[^\W_{_UNSPACED}]+(?:[{_MARK}]+[^\W_{_UNSPACED}]*)*"
)
_LETTER = re.compile(rf"[{_UNSPACED}][{_MARK}]*")
_SYLLABLE = rf"[^\W\d_{_UNSPACED}]+"
_JOINED = re.compile(rf"{_SYLLABLE}(?:_{_SYLLABLE})+|{_TERM.pattern}")
# Letters that Unicode does not take apart: "cœur" and "coeur" are one word.
_LETTERS = str.maketrans({"ß": "ss", "œ": "oe", "æ": "ae", "ø": "o", "ł": "l", "đ": "d", "ı": "i"})
# Accents, and the vowel points of Arabic and Hebrew. An Indic or Thai mark is a letter like others.
_ACCENT = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+"
)
_FRENCH_CODE_NUMBER = re.compile(r"\b([lrd])(?:\.\s?|\s)(?:\*\s?)?(?=\d)")


def analysis_version() -> str:
    """What the terms of a text depend on; an index kept under another version is out of date."""
    return f"{_VERSION}+{segmenter()}" if segmenter() else f"{_VERSION}"


def analyzer(language: str | None) -> Callable[[str], list[str]]:
    """The analyser of a language: text in, terms in their order out.

    Lower case, accents folded (not in Vietnamese, whose tone marks make the word), elision
    undone, stop words dropped, words stemmed (Snowball), numbers whole. Runs of Chinese,
    Japanese, Thai, Lao, Burmese or Khmer characters, with the marks on them, become their bigrams
    and their single characters, in a text of any language. A
    Vietnamese word of several syllables becomes itself ("hợp_đồng") and its syllables, where pyvi
    is installed; its syllables alone otherwise, which is said once.

    Args:
        language: BCP 47 tag; its primary part decides ("fr-BE" is "fr"). Languages: en, fr, de,
            nl, es, vi, zh. None or any other gives the neutral analyser: folding alone, no
            stemming and no stop words.

    Returns:
        A function that may be called from several threads.
    """
    known = known_language(language)
    return _analyzers.setdefault(known, _Analyzer(known)) if known else _neutral


def known_language(tag: str | None) -> str | None:
    """The one of `KNOWN_LANGUAGES` that a BCP 47 tag means; None for any other, and for none."""
    primary = (tag or "").replace("_", "-").split("-")[0].lower()
    return primary if primary in KNOWN_LANGUAGES else None


class _Analyzer:
    """One language's rules, with the term of every word form that it has met."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._stop_words = STOP_WORDS.get(language, frozenset())
        # A Snowball stemmer is not thread-safe; the cache makes the lock a rare cost.
        self._lock = threading.Lock()
        algorithm = _STEMMERS.get(language)
        self._stemmer = Stemmer.Stemmer(algorithm) if algorithm else None
        self._terms: dict[str, str] = {}

    def __call__(self, text: str) -> list[str]:
        if not text.isascii():
            text = unicodedata.normalize("NFKC", text).replace("\u00ad", "")
        pattern = _TERM
        if self._language == "vi" and _tells_words_apart():
            # Before capitals are gone: they help to tell names apart.
            text, pattern = words_joined(text), _JOINED
        text = text.lower()
        if self._language == "fr":
            text = _FRENCH_CODE_NUMBER.sub(r"\1", text)
        terms: list[str] = []
        known = self._terms
        for word in pattern.findall(text):
            if "_" in word:
                syllables = list(filter(None, map(self._term, word.split("_"))))
                # "như thế nào", of stop words alone, is one itself.
                terms.extend([word, *syllables] if syllables else ())
                continue
            term = known.get(word)
            if term is None:
                if _LETTER.match(word):
                    terms.extend(self._unspaced_terms(word))
                    continue
                term = self._term(word)
            if term:
                terms.append(term)
        return terms

    def _term(self, word: str) -> str:
        """The term of one word form; "" for a stop word."""
        # Accents go before stemming, so that a word typed without them gets the same stem.
        term = word if self._language in _TONAL else folded(word)
        if term in self._stop_words:
            term = ""
        elif self._stemmer is not None and term.isalpha():
            with self._lock:
                term = self._stemmer.stemWord(term)
        if len(self._terms) < _MAX_CACHED_TERMS:
            self._terms[word] = term
        return term

    def _unspaced_terms(self, run: str) -> list[str]:
        """Bigrams in order, then the characters that carry meaning alone."""
        characters = list(run) if run.isalpha() else _LETTER.findall(run)  # no marks on them
        pairs = map("".join, pairwise(characters))
        return [*pairs, *(c for c in characters if c not in STOP_WORDS["zh"])]


def folded(word: str) -> str:
    """A word without its accents, as the terms of a text are compared."""
    if word.isascii():
        return word
    return _ACCENT.sub("", unicodedata.normalize("NFKD", word)).translate(_LETTERS)


@cache
def _tells_words_apart() -> bool:
    """Whether Vietnamese words can be told apart; if not, it is said, once."""
    if segmenter() is None:
        logger.warning(
            "Vietnamese is searched by its syllables, not its words, because pyvi is missing: %s",
            HOW_TO_INSTALL,
        )
    return segmenter() is not None


_analyzers: dict[str, _Analyzer] = {}
_neutral = _Analyzer("")
