"""The texts of the interface, from `ui/locale/LANGUAGE/VIEW.json`.

Each section of a file is an object here; its texts are attributes. Two texts in a list are a noun
for one and for many, or the title and the explanation of a message. Names in braces are for
`str.format`.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from types import SimpleNamespace
from typing import Any, NamedTuple

from ui.language import LANGUAGES, Language


@cache
def _catalogue(language: Language, view: str) -> dict[str, dict[str, Any]]:
    file = files("ui").joinpath("locale", language, f"{view}.json")
    content: dict[str, dict[str, Any]] = json.loads(file.read_text("utf-8"))
    return content


def _texts(view: str, section: str) -> dict[Language, SimpleNamespace]:
    return {each: SimpleNamespace(**_catalogue(each, view)[section]) for each in LANGUAGES}


ABOUT_TEXTS = _texts("ask", "about")
# `whys`, `named_whys` and `failures` translate words that the checks and the generator give in
# English; the keys of `named_whys` are patterns of them, whose groups `why` and `state` are
# themselves such a reason and the state of a check.
ANSWER_TEXTS = _texts("ask", "answer")
ARTICLE_TEXTS = _texts("law", "article")
ASK_TEXTS = _texts("ask", "ask")
COMPARE_TEXTS = _texts("compare", "compare")
FRAME_TEXTS = _texts("frame", "frame")
GUARD_TEXTS = _texts("frame", "guard")
LAW_TEXTS = _texts("law", "law")
REFUSAL_TEXTS = _texts("law", "refusal")
STATE_TEXTS = _texts("ask", "states")
TAKEAWAY_TEXTS = _texts("ask", "takeaway")
TRAINING_TEXTS = _texts("training", "training")

# English has the words of pipelines.tree_view.
FRENCH_PICTURE = _catalogue("fr", "law")["picture"]


class StageTexts(NamedTuple):
    """A stage: its name, why it found an article in few words, and in a sentence."""

    name: str
    meaning: str
    sentence: str


# In the order in which results name them.
STAGE_TEXTS = {
    each: {stage: StageTexts(**texts) for stage, texts in _catalogue(each, "ask")["stages"].items()}
    for each in LANGUAGES
}


def stage_texts(stage: str, language: Language) -> StageTexts:
    """Texts of a stage; one that is not Lexarbor's has only its name."""
    return STAGE_TEXTS[language].get(stage, StageTexts(stage, "", ""))
