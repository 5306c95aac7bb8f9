"""The texts of the interface, from `ui/locale/LANGUAGE.po`.

An entry's context is its place: "ask.search" is `ASK_TEXTS[language].search`. `en.po` has the texts
themselves, every other catalogue their translations. Contexts that end in a number are items of a
tuple, such as the title and the explanation of a message; plural entries are a noun for one and
for many. Those of the context "answer.whys.*" translate words that other packages give in English.
Names in braces are for `str.format`.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from types import SimpleNamespace
from typing import Any, NamedTuple

from babel.messages.pofile import read_po

from ui.language import LANGUAGES, Language


@cache
def _catalogue(language: Language) -> dict[str, dict[str, Any]]:
    """Sections by name; each of their texts is a string, a tuple, or a dictionary of such."""
    tree: dict[str, Any] = {}
    with files("ui").joinpath("locale", f"{language}.po").open("rb") as file:
        for message in read_po(file, locale=language):
            if message.context is None:  # the file's header
                continue
            *path, name = message.context.split(".")
            below = tree
            for step in path:
                below = below.setdefault(step, {})
            key = str(message.id) if name == "*" else name
            below[key] = message.id if language == "en" else message.string
    return {section: _with_tuples(texts) for section, texts in tree.items()}


def _with_tuples(texts: dict[str, Any]) -> dict[str, Any]:
    return {name: _tuple(each) if isinstance(each, dict) else each for name, each in texts.items()}


def _tuple(texts: dict[str, Any]) -> Any:
    numbered = texts and all(name.isdecimal() for name in texts)
    return tuple(texts.values()) if numbered else _with_tuples(texts)


def _texts(section: str) -> dict[Language, SimpleNamespace]:
    return {each: SimpleNamespace(**_catalogue(each)[section]) for each in LANGUAGES}


ABOUT_TEXTS = _texts("about")
# `whys`, `named_whys` and `failures` translate words that the checks and the generator give in
# English; the keys of `named_whys` are patterns of them, whose groups `why` and `state` are
# themselves such a reason and the state of a check.
ANSWER_TEXTS = _texts("answer")
ARTICLE_TEXTS = _texts("article")
ASK_TEXTS = _texts("ask")
COMPARE_TEXTS = _texts("compare")
FRAME_TEXTS = _texts("frame")
GUARD_TEXTS = _texts("guard")
LAW_TEXTS = _texts("law")
PICTURE_TEXTS = {each: _catalogue(each)["picture"] for each in LANGUAGES}
REFUSAL_TEXTS = _texts("refusal")
STATE_TEXTS = _texts("states")
TAKEAWAY_TEXTS = _texts("takeaway")


class StageTexts(NamedTuple):
    """A stage: its name, why it found an article in few words, and in a sentence."""

    name: str
    meaning: str
    sentence: str


# In the order in which results name them.
STAGE_TEXTS = {
    each: {stage: StageTexts(**texts) for stage, texts in _catalogue(each)["stages"].items()}
    for each in LANGUAGES
}


def stage_texts(stage: str, language: Language) -> StageTexts:
    """Texts of a stage; one that is not Lexarbor's has only its name."""
    return STAGE_TEXTS[language].get(stage, StageTexts(stage, "", ""))
