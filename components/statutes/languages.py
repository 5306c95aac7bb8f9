"""The languages of law: tags, stemmers, stop words, and language detection."""

from __future__ import annotations

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
            "repealed by", "countries", "eur-lex", "ordinals", "was", "this" or "obliges"; the
            last four, and "repealed by", for all languages ("*").
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
    them do (docs/results/notebook.md).
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
