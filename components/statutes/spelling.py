"""Spelling: words of a question that a law lacks, and the words of the law that they may stand for.

A word is corrected only if neither the law nor the reader of the question knows it. Lay words that
a law does not use ("dress") are correct, and their nearest neighbours in the law ("address") would
mislead; so whoever searches by meaning asks the vocabulary of its model first.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from rapidfuzz import process
from rapidfuzz.distance import OSA

from components.statutes.languages import folded, whole_words

# A short word has too many neighbours, and typing errors rarely touch the first letter. Measured on
# training questions, as they are and with one word of each misspelt: docs/results/findings.md.
_FEWEST_LETTERS = 5
_LETTERS_FOR_TWO_ERRORS = 9
_MOST_CORRECTED = 20  # in one question; each costs a look at every word of the law

_WORD = re.compile(r"[^\W\d_]+")


class Spelling:
    """The words of a law, and corrections towards them.

    ```python
    from components.statutes.spelling import Spelling

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
    def of(cls, texts: Iterable[str]) -> "Spelling":
        """Count the words of texts."""
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(_WORD.findall(folded(whole_words(text)).lower()))
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
        for written in dict.fromkeys(_WORD.findall(question)):
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
    def from_bytes(cls, content: bytes) -> "Spelling":
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
    return _WORD.sub(lambda each: corrections.get(each.group(), each.group()), question)
