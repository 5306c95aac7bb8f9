"""A question in plain words, with the articles that answer it."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from components.statutes.languages import JOINT, rejoined

MAX_QUESTION_CHARS = 10_000

# Zero-width joiners and the word joiner hold letters together in Persian, Indic scripts and emoji.
_JOINERS = frozenset(f"{JOINT}\u200d\u2060")


class QuestionError(ValueError):
    """A text cannot be asked as a question."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a benchmark or a training set.

    Attributes:
        id: Unique among the questions.
        text: The question's words.
        relevant: Ids of the articles that answer it, each once; empty only if not answerable.
        split: "train", "dev" or "test", where known.
        answerable: False for a question that no article answers; ranking metrics leave it out.
        synthetic: Whether a model wrote it; it is learnt from, and chooses and measures nothing.
        passages: Of relevant articles, by id, the paragraphs that decide, as
            `provisions.Provision.labels` names them; empty where nobody labelled them.
        extra: Every other field of its line.
    """

    id: str
    text: str
    relevant: tuple[str, ...]
    split: str | None = None
    answerable: bool = True
    synthetic: bool = False
    passages: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)


def clean_question(text: object) -> str:
    """The question in the form that every component expects; cleaning is idempotent.

    A word broken at the end of a line becomes whole. Control characters (Unicode Cc, Cs) become
    spaces, format characters (Cf) other than joiners go; the rest is composed to NFC and stripped.

    Raises:
        QuestionError: Not text, longer than `MAX_QUESTION_CHARS` characters, or nothing is left.
    """
    if not isinstance(text, str):
        raise QuestionError(f"a question must be text, not {type(text).__name__}")
    if len(text) > MAX_QUESTION_CHARS:
        raise QuestionError(
            f"the question has {len(text):,} characters; at most {MAX_QUESTION_CHARS:,} are read. "
            "Ask it in fewer words."
        )
    return _cleaned(text)


@lru_cache(maxsize=64)  # a pipeline gives one question to several components
def _cleaned(text: str) -> str:
    if not text.isprintable():
        text = "".join(map(_visible, rejoined(text, joint="")))
    text = unicodedata.normalize("NFC", text).strip()
    if not text or all(character in _JOINERS for character in text):
        raise QuestionError("the question is empty. Ask it in words.")
    return text


def _visible(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Cf":
        return character if character in _JOINERS else ""
    return " " if category in ("Cc", "Cs") else character
