"""What stands beside the articles in a file that a reader takes away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ui.language import Language


@dataclass(frozen=True)
class TakeawayTexts:
    """Texts of what is taken away; `day` is that of the retrieval, or that of the state."""

    retrieved: str
    states: Mapping[str, str]


TEXTS: Mapping[Language, TakeawayTexts] = {
    "en": TakeawayTexts(
        retrieved="Retrieved with Lexarbor on {day}.",
        states={
            "in force": "In force on {day}.",
            "repealed": "Repealed by {day}.",
            "not yet in force": "Not yet in force on {day}.",
            "unknown": "Whether it is in force on {day} is not known.",
        },
    ),
    "fr": TakeawayTexts(
        retrieved="Consulté avec Lexarbor le {day}.",
        states={
            "in force": "En vigueur le {day}.",
            "repealed": "Abrogé à la date du {day}.",
            "not yet in force": "Pas encore en vigueur le {day}.",
            "unknown": "On ignore s’il est en vigueur le {day}.",
        },
    ),
}
