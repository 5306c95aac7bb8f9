"""What stands beside the articles in a file that a reader takes away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ui.language import Language


@dataclass(frozen=True)
class TakeawayTexts:
    """Texts of what is taken away."""

    retrieved: str
    states: Mapping[str, str]


TEXTS: Mapping[Language, TakeawayTexts] = {
    "en": TakeawayTexts(
        retrieved="Retrieved with Lexarbor on {day}.",
        states={
            "in force": "In force on that day.",
            "repealed": "Repealed by that day.",
            "not yet in force": "Not yet in force on that day.",
            "unknown": "Whether it was in force on that day is not known.",
        },
    ),
    "fr": TakeawayTexts(
        retrieved="Obtenu avec Lexarbor le {day}.",
        states={
            "in force": "En vigueur ce jour-là.",
            "repealed": "Abrogé à cette date.",
            "not yet in force": "Pas encore en vigueur à cette date.",
            "unknown": "On ne sait pas s'il était en vigueur à cette date.",
        },
    ),
}
