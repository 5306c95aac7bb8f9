"""Vietnamese words: which syllables belong together.

Vietnamese puts a space between syllables, not words: "hợp đồng" (contract) is one word. pyvi (the
`vi` extra) tells words apart with a conditional random field. It takes a second to import, and
unpickles that model from its own package, so it is loaded when the first text asks for it.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Literal

Segmentation = Literal["vi"]
"""Languages whose words can be told apart before a text is encoded."""

HOW_TO_INSTALL = "pip install 'lexarbor[vi]'"

# Words end where a line ends. Nothing so long without a space is Vietnamese, and pyvi's patterns
# would go over it once for each of its characters.
_APART = re.compile(r"(\n|\S{100,})")

# The tagger keeps the text that it reads: one thread at a time.
_lock = threading.Lock()


@cache
def segmenter() -> str | None:
    """Name and version of what tells words apart, such as "pyvi 0.1.1"; None where it is missing.

    Nothing is loaded.
    """
    try:
        return f"pyvi {version('pyvi')}"
    except PackageNotFoundError:
        return None


def words_joined(text: str) -> str:
    """A Vietnamese text with "_" between the syllables of a word: "hợp_đồng lao_động".

    Everything else stays as it is, numbers and line ends too. May be called from several threads.

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
            # What is no space between two syllables, such as "_" itself, stood there before.
            parts += ["_" if number and between.isspace() else between, syllable]
            position = start + len(syllable)
    return "".join([*parts, text[position:]])


@cache
def _loaded() -> Callable[[str], list[str]]:
    """Gives the words of a text that is not blank, the syllables of each joined by "_"."""
    if segmenter() is None:
        raise ImportError(f"Vietnamese words cannot be told apart without pyvi: {HOW_TO_INSTALL}")
    try:
        from pyvi.ViTokenizer import spacy_tokenize
    except Exception as error:
        # Its model is a pickle: newer libraries may fail on it in ways of their own.
        raise ImportError(
            f"{segmenter()} is installed and cannot be loaded ({type(error).__name__}: {error}). "
            f"Install it anew ({HOW_TO_INSTALL}), or uninstall it to do without."
        ) from error
    return lambda text: list(spacy_tokenize(text)[0])
