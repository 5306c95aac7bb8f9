"""Terms as numbers, for engines that hold words as sparse vectors.

A term's number is 32 bits of its digest, so that every process that indexes or asks gives it the
same one without a vocabulary in common. Two terms of a million share a number about once in four
thousand; they then count as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b
from itertools import islice

from components.statutes.lexical import analyzer
from components.statutes.question import MAX_QUESTION_CHARS

K1, B = 1.5, 0.75
# Chinese has at most two a character, alone and in a pair: the longest question is read to its end.
MAX_QUESTION_TERMS = 2 * MAX_QUESTION_CHARS

_LETTERS = "abcdefghijklmnop"


def term_number(term: str) -> int:
    """A term's number, from 0 to 2**32 - 1."""
    return int.from_bytes(blake2b(term.encode("utf-8"), digest_size=4).digest(), "big")


def term_counts(text: str, language: str | None) -> dict[int, int]:
    """How often each term of a text stands in it, by the term's number, ascending."""
    counts = Counter(term_number(term) for term in analyzer(language)(text))
    return dict(sorted(counts.items()))


def question_terms(question: str, languages: Iterable[str | None]) -> list[str]:
    """The distinct terms of a question by the rules of each language, at most `MAX_QUESTION_TERMS`.

    They are cut before anyone knows which the law has: an engine's asker does not.
    """
    ordered = sorted(set(languages), key=lambda language: language or "")
    # Languages may share an analyser ("fr", "fr-BE"): each is asked once.
    analyzers = dict.fromkeys(analyzer(language) for language in ordered)
    terms = dict.fromkeys(term for analyze in analyzers for term in analyze(question))
    return list(islice(terms, MAX_QUESTION_TERMS))


def question_numbers(question: str, languages: Iterable[str | None]) -> list[int]:
    """The numbers of a question's terms, ascending."""
    return sorted({term_number(term) for term in question_terms(question, languages)})


def saturated(counts: dict[int, int], average_length: float) -> dict[int, float]:
    """BM25's share of a text, without the IDF: `tf / (tf + k1 * (1 - b + b * |d| / avg))`.

    Summed over the terms of a question with Lucene's IDF this is the score that `LexicalIndex`
    gives.

    Args:
        counts: as `term_counts` gives them.
        average_length: mean number of terms of the corpus's texts, above 0.
    """
    length = sum(counts.values())
    norm = K1 * (1 - B + B * length / average_length)
    return {number: tf / (tf + norm) for number, tf in counts.items()}


def spelled(numbers: Iterable[int]) -> str:
    """Numbers as words of eight letters, which any tokenizer leaves whole."""
    return " ".join(
        "".join(_LETTERS[number >> shift & 15] for shift in range(28, -1, -4)) for number in numbers
    )
