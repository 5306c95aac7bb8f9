"""Words: the terms of an article or a question as BM25 sees them, by language, and spelling.

The same analyser serves indexing and search, so a lay person's "demission" matches the law's
"démission". Two rules are specific to law: numbers stay whole ("1382-1", "6.1.3", "492/1"), and the
French "L. 1221-1" and "l 1221-1" are the same term "l1221-1".
"""

from __future__ import annotations

import json
import logging
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from itertools import islice, pairwise
from typing import Literal

import Stemmer
from rapidfuzz import process
from rapidfuzz.distance import OSA

from components.statutes.languages import (
    JOINT,
    MARKS,
    STEMMERS,
    STOP_WORDS,
    folded,
    known_language,
    stop_words,
    whole_words,
)
from components.statutes.question import MAX_QUESTION_CHARS

# Vietnamese word segmentation: which syllables belong together.
#
# Vietnamese puts a space between syllables, not words: "hợp đồng" (contract) is one word. pyvi (the
# `vi` extra) segments words with a conditional random field. It takes a second to import, and
# unpickles that model from its own package, so it is loaded when the first text needs it.


Segmentation = Literal["vi"]
"""Languages whose words can be segmented before a text is encoded."""

HOW_TO_INSTALL = "pip install 'lexarbor[vi]'"

# Words end where a line ends. Nothing this long without a space is Vietnamese, and pyvi's patterns
# take quadratic time on it.
_APART = re.compile(r"(\n|\S{100,})")

# The tagger stores the text that it reads: one thread at a time.
_lock = threading.Lock()


@cache
def segmenter() -> str | None:
    """Name and version of the word segmenter, such as "pyvi 0.1.1"; None if it is missing.

    Nothing is loaded.
    """
    try:
        return f"pyvi {version('pyvi')}"
    except PackageNotFoundError:
        return None


def words_joined(text: str) -> str:
    """A Vietnamese text with "_" between the syllables of a word: "hợp_đồng lao_động".

    Everything else is unchanged, including numbers and line ends. Thread-safe.

    Raises:
        ImportError: pyvi is missing or cannot be loaded; says what to install.
    """
    with _lock:
        words_of = _loaded()
        return "".join(
            piece if apart % 2 or piece.isspace() else _joined(piece, words_of)
            for apart, piece in enumerate(_APART.split(unicodedata.normalize("NFC", text)))
        )


def _joined(text: str, words_of: Callable[[str], list[str]]) -> str:
    """One line. pyvi's own output would have spaces around every comma and within numbers."""
    if not text:
        return text
    parts: list[str] = []
    position = 0
    for word in words_of(text):
        for number, syllable in enumerate(word.split("_")):
            start = text.index(syllable, position)
            between = text[position:start]
            # Anything but a space between two syllables, such as "_" itself, was in the text
            # before.
            parts += ["_" if number and between.isspace() else between, syllable]
            position = start + len(syllable)
    return "".join([*parts, text[position:]])


@cache
def _loaded() -> Callable[[str], list[str]]:
    """A function that segments a text that is not blank, joining syllables by "_"."""
    if segmenter() is None:
        raise ImportError(f"Vietnamese words cannot be segmented without pyvi: {HOW_TO_INSTALL}")
    try:
        from pyvi.ViTokenizer import spacy_tokenize
    except Exception as error:
        # Its model is a pickle, on which newer libraries may fail with any error.
        raise ImportError(
            f"{segmenter()} is installed but cannot be loaded ({type(error).__name__}: {error}). "
            f"Reinstall it ({HOW_TO_INSTALL}), or uninstall it to do without."
        ) from error
    return lambda text: list(spacy_tokenize(text)[0])


logger = logging.getLogger(__name__)

# Increase whenever the same text would give different terms.
_VERSION = 4

# Accents of these are removed before stemming, so that a word typed without them has the same stem.
# Elsewhere the stemmer's suffixes have accents of their own (Russian "й", Finnish "ä").
_FOLDED_FIRST = frozenset({"ar", "de", "en", "es", "fa", "fr", "nl"})
_TONAL = frozenset({"vi"})  # accents distinguish words: má, mà and ma are three words
_MAX_CACHED_TERMS = 500_000  # bounded: hostile questions cannot grow the cache without end

# Letters of scripts that are indexed by pairs of characters: most put no space between words, and
# Korean joins its particles to them.
_UNSPACED = (
    "\u3005\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"  # CJK
    "\uac00-\ud7a3"  # Korean
    "\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2\u0eb3\u0ebd-\u0ec6"  # Thai, Lao
    "\u1000-\u102a\u103f\u1050-\u1055\u1780-\u17b3"  # Burmese, Khmer
)
_TERM = re.compile(
    rf"[{_UNSPACED}][{_UNSPACED}{MARKS}{JOINT}]*"
    rf"|\d+[^\W\d_{_UNSPACED}]*(?:[-./,٫٬]\d+[^\W\d_{_UNSPACED}]*)*"  # 1382-1, 6.1.3, 203quater
    rf"|[^\W\d_{_UNSPACED}]{{1,2}}\d+(?:[-./]\d+)*"  # L1221-1, A4.12.8
    rf"|[^\W_{_UNSPACED}]+(?:[{MARKS}{JOINT}]+[^\W_{_UNSPACED}]*)*"
)
_LETTER = re.compile(rf"[{_UNSPACED}][{MARKS}]*")
_HAN = re.compile("[\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
_DIGIT = re.compile(r"\d")
_SYLLABLE = rf"[^\W\d_{_UNSPACED}]+"
_JOINED = re.compile(rf"{_SYLLABLE}(?:_{_SYLLABLE})+|{_TERM.pattern}")
# Typed for a taa marbuta, on which the Arabic stemmer relies; after "ت" it is a pronoun.
_ARABIC_FINAL_HEH = re.compile("(?<!ت)ه$")
_FRENCH_CODE_NUMBER = re.compile(r"\b([lrd])(?:\.\s?|\s)(?:\*\s?)?(?=\d)")


def analysis_version() -> str:
    """Version of the analysis; an index with another version is out of date."""
    return f"{_VERSION}+{segmenter()}" if segmenter() else f"{_VERSION}"


def analyzer(language: str | None) -> Callable[[str], list[str]]:
    """The analyser of a language: text in, terms in order out.

    Lower case, accents folded (not in Vietnamese, whose tone marks make the word), elision
    undone, stop words dropped, words stemmed (Snowball), numbers whole. Runs of Chinese,
    Japanese, Korean, Thai, Lao, Burmese or Khmer characters, with the marks on them, become their
    bigrams, in a text of any language; Chinese characters also stand alone. If pyvi is installed, a
    Vietnamese word of several syllables becomes itself ("hợp_đồng") and its syllables; otherwise
    only its syllables, which is reported once.

    Args:
        language: BCP 47 tag; its primary part decides ("fr-BE" is "fr"). None or an unknown
            language (`known_language`) gives the neutral analyser: folding only, no stemming and no
            stop words.

    Returns:
        A function that may be called from several threads.
    """
    known = known_language(language)
    if known is None:
        return _neutral
    # Making one folds a whole list of stop words: only where there is none yet.
    return _analyzers.get(known) or _analyzers.setdefault(known, _Analyzer(known))


@cache
def phrase_analyzer(language: str | None) -> Callable[[str], list[str]]:
    """As `analyzer`, with stop words: for phrases whose sense they carry, such as "owes me"."""
    known = known_language(language)
    return _neutral if known is None else _Analyzer(known, drops_stop_words=False)


class _Analyzer:
    """One language's rules, with a cache of the terms of word forms."""

    def __init__(self, language: str, *, drops_stop_words: bool = True) -> None:
        self._language = language
        self._fold = str if language in _TONAL else folded
        dropped = stop_words(language) if drops_stop_words else ()
        self._stop_words = frozenset(map(self._fold, dropped))
        # A Snowball stemmer is not thread-safe; thanks to the cache the lock is rarely taken.
        self._lock = threading.Lock()
        algorithm = STEMMERS.get(language)
        self._stemmer = Stemmer.Stemmer(algorithm) if algorithm else None
        self._terms: dict[str, str] = {}

    def __call__(self, text: str) -> list[str]:
        text = whole_words(text)
        pattern = _TERM
        if self._language == "vi" and _tells_words_apart():
            # Before lowercasing: capitals help the segmenter with names.
            text, pattern = words_joined(text), _JOINED
        text = text.lower()
        if self._language == "fr":
            text = _FRENCH_CODE_NUMBER.sub(r"\1", text)
        terms: list[str] = []
        known = self._terms
        for word in pattern.findall(text):
            if "_" in word:
                syllables = list(filter(None, map(self._term, word.split("_"))))
                # "như thế nào", made of stop words alone, is a stop word itself.
                terms.extend([word, *syllables] if syllables else ())
                continue
            term = known.get(word)
            if term is None:
                if _LETTER.match(word):
                    terms.extend(self._unspaced_terms(word))
                    continue
                if JOINT in word:
                    forms = dict.fromkeys([word.replace(JOINT, ""), *word.split(JOINT)])
                    terms.extend(filter(None, map(self._term, forms)))
                    continue
                term = self._term(word)
            if term:
                terms.append(term)
        return terms

    def _term(self, word: str) -> str:
        """The term of one word form; "" for a stop word."""
        term = self._fold(word)
        if term in self._stop_words:
            term = ""
        elif self._stemmer is not None and not _DIGIT.search(term):
            with self._lock:
                if self._language == "ar":
                    term = _ARABIC_FINAL_HEH.sub("ة", term)
                if self._language in _FOLDED_FIRST:
                    term = self._stemmer.stemWord(term)
                else:
                    term = self._fold(self._stemmer.stemWord(word))
        if len(self._terms) < _MAX_CACHED_TERMS:
            self._terms[word] = term
        return term

    def _unspaced_terms(self, run: str) -> list[str]:
        """Bigrams in order, then the Chinese characters that carry meaning alone."""
        characters = list(run) if run.isalpha() else _LETTER.findall(run)  # no marks on them
        pairs = list(map("".join, pairwise(characters)))
        alone = [c for c in characters if _HAN.match(c) and c not in STOP_WORDS["zh"]]
        return [*pairs, *alone] if pairs or _HAN.match(run) else [run]


@cache
def _tells_words_apart() -> bool:
    """Whether Vietnamese words can be segmented; if not, warns once."""
    if segmenter() is None:
        logger.warning(
            "Vietnamese is searched by its syllables, not its words, because pyvi is missing: %s",
            HOW_TO_INSTALL,
        )
    return segmenter() is not None


_analyzers: dict[str, _Analyzer] = {}
_neutral = _Analyzer("")


# Terms as numbers, for engines that hold words as sparse vectors.
#
# A term's number is 32 bits of its digest, so that every process that indexes or asks gives it the
# same one without a shared vocabulary. Among a million terms about one in four thousand shares its
# number with another; these count as one.


K1, B = 1.5, 0.75
# Chinese has at most two per character, alone and in a pair, so the longest question is read whole.
MAX_QUESTION_TERMS = 2 * MAX_QUESTION_CHARS


def term_number(term: str) -> int:
    """A term's number, from 0 to 2**32 - 1."""
    return int.from_bytes(blake2b(term.encode("utf-8"), digest_size=4).digest(), "big")


def term_counts(text: str, language: str | None) -> dict[int, int]:
    """How often each term occurs in a text, by the term's number, ascending."""
    counts = Counter(term_number(term) for term in analyzer(language)(text))
    return dict(sorted(counts.items()))


def question_terms(question: str, languages: Iterable[str | None]) -> list[str]:
    """The distinct terms of a question by the rules of each language, at most `MAX_QUESTION_TERMS`.

    They are cut without regard to the law's vocabulary, which is unknown when asking an engine.
    """
    ordered = sorted(set(languages), key=lambda language: language or "")
    return distinct_terms(question, map(analyzer, ordered))


def distinct_terms(question: str, analyzers: Iterable[Callable[[str], list[str]]]) -> list[str]:
    """As `question_terms`, for a caller that keeps the analysers of its languages."""
    # Languages may share an analyser ("fr", "fr-BE"): each runs once.
    terms = dict.fromkeys(
        term for analyze in dict.fromkeys(analyzers) for term in analyze(question)
    )
    return list(islice(terms, MAX_QUESTION_TERMS))


def question_numbers(question: str, languages: Iterable[str | None]) -> list[int]:
    """The numbers of a question's terms, ascending."""
    return sorted({term_number(term) for term in question_terms(question, languages)})


def saturated(counts: dict[int, int], average_length: float) -> dict[int, float]:
    """BM25's share of a text, without the IDF: `tf / (tf + k1 * (1 - b + b * |d| / avg))`.

    Summed over the terms of a question with Lucene's IDF this is the score that `LexicalIndex`
    gives.

    Args:
        counts: as returned by `term_counts`.
        average_length: mean number of terms of the corpus's texts, above 0.
    """
    length = sum(counts.values())
    norm = K1 * (1 - B + B * length / average_length)
    return {number: tf / (tf + norm) for number, tf in counts.items()}


# How much of a question's wording a text shares.


def coverage(question: str, text: str, language: str | None) -> float:
    """The share of a question's distinct terms that occur in a text, from 0 to 1.

    Terms are those of BM25: stems, without stop words. All count the same, so that nothing has to
    be known of the other texts, which an engine does not reveal.

    Args:
        question: as asked.
        text: an article's words.
        language: of the text; the question is analysed by its rules.

    Returns:
        The share; 0 for a question without terms.
    """
    asked = set(question_terms(question, [language]))
    return len(asked.intersection(analyzer(language)(text))) / len(asked) if asked else 0.0


def trust(covered: float, full_coverage: float) -> float:
    """The share of its weight that a list keeps, by how much of the question its first text covers.

    1 from `full_coverage` on, and proportionally less below. A question in other words than the
    law's shares words with the law only by chance, so its list by words is random too.
    """
    return min(1.0, covered / full_coverage)


# Whether a question is in another language than the law that it searches.


_WORD = re.compile(r"[^\W\d_]+")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")

# The fewest function words of another language.
_ENOUGH = 2


def in_another_language(question: str, tags: Collection[str | None]) -> bool:
    """Whether a question is in none of some languages, judging by its function words.

    It must have at least two that belong to another language and not to these, and none that belong
    to these and not to that one. The answer is never yes for a short question, or if the law's
    language is unknown.

    Args:
        question: The question.
        tags: BCP 47 tags of the law's languages.
    """
    spoken = {known_language(tag) for tag in tags}
    if not spoken or None in spoken:
        return False
    if _CHINESE.search(question):
        return spoken.isdisjoint({"zh", "ja"})
    # The list keeps the accents of Vietnamese words.
    words = [{word, folded(word)} for word in _WORD.findall(question.casefold())]
    return any(
        sum(not word.isdisjoint(others) for word in words) >= _ENOUGH
        and all(word.isdisjoint(own) for word in words)
        for others, own in _distinguishing_words(frozenset(filter(None, spoken)))
    )


@cache
def _distinguishing_words(spoken: frozenset[str]) -> list[tuple[frozenset[str], frozenset[str]]]:
    """For each language that is not spoken: its stop words that no spoken one has, and theirs."""
    own = frozenset().union(*map(stop_words, spoken))
    return [
        (others - own, own - others)
        for language, others in STOP_WORDS.items()
        if language not in spoken
    ]


# Spelling: words of a question that a law lacks, and words of the law that they may stand for.
#
# A word is corrected only if neither the law nor the reader of the question knows it. Lay words
# that a law does not use ("dress") are correct, and their nearest neighbours in the law ("address")
# would mislead; so whoever searches by meaning asks the vocabulary of its model first.

# A short word has too many neighbours, and typing errors rarely touch the first letter. Measured on
# training questions, as they are and with one word of each misspelt: docs/results/findings.md.
_FEWEST_LETTERS = 5
_LETTERS_FOR_TWO_ERRORS = 9
_MOST_CORRECTED = 20  # in one question; each costs a look at every word of the law

_LETTERS = re.compile(r"[^\W\d_]+")


class Spelling:
    """The words of a law, and corrections towards them.

    ```python
    from components.statutes.lexical import Spelling

    spelling = Spelling.of(["The landlord returns the deposit."])
    spelling.corrections("my lanldord", known=lambda word: word == "my")  # {"lanldord": "landlord"}
    ```

    Args:
        counts: how often each word form occurs, lower case, without accents.
    """

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts = counts
        by_first: dict[str, list[str]] = {}
        for word in counts:
            if len(word) >= _FEWEST_LETTERS - 1:
                by_first.setdefault(word[0], []).append(word)
        self._by_first = by_first

    @classmethod
    def of(cls, texts: Iterable[str]) -> Spelling:
        """Count the words of texts."""
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(_LETTERS.findall(folded(whole_words(text)).lower()))
        return cls(counts)

    def corrections(self, question: str, known: Callable[[str], bool]) -> dict[str, str]:
        """The unknown words of a question with the nearest word of the law.

        Nearest is the fewest letters inserted, deleted, replaced or exchanged with the next one
        (optimal string alignment), then the most frequent. One error is corrected, from nine
        letters on two; the first letter must be right.

        Args:
            question: the words.
            known: whether a word, lower case, is spelled correctly though the law may lack it.

        Returns:
            `{as written: as in the law}`, without accents; empty if nothing is to be corrected.
        """
        found: dict[str, str] = {}
        for written in dict.fromkeys(_LETTERS.findall(question)):
            word = folded(written.lower())
            if len(word) < _FEWEST_LETTERS or word in self._counts or known(written.lower()):
                continue
            near = process.extract(
                word,
                self._by_first.get(word[0], ()),
                scorer=OSA.distance,
                score_cutoff=1 + (len(word) >= _LETTERS_FOR_TWO_ERRORS),
                limit=None,
            )
            if near:
                found[written] = min(near, key=lambda each: (each[1], -self._counts[each[0]]))[0]
            if len(found) == _MOST_CORRECTED:
                break
        return found

    def to_bytes(self) -> bytes:
        """The words as JSON."""
        return json.dumps(self._counts, ensure_ascii=False).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> Spelling:
        """The words that `to_bytes` wrote.

        Raises:
            ValueError: the bytes are not such words.
        """
        counts = json.loads(content)
        if not isinstance(counts, dict) or not all(type(each) is int for each in counts.values()):
            raise ValueError("no words can be read from the stored bytes")
        return cls(counts)


def corrected(question: str, corrections: Mapping[str, str]) -> str:
    """The question with its corrections in place.

    Args:
        question: as asked.
        corrections: as of `Spelling.corrections`.
    """
    return _LETTERS.sub(lambda each: corrections.get(each.group(), each.group()), question)
