"""What stands beside the articles in a file that a reader takes away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ui.language import Language


@dataclass(frozen=True)
class TakeawayTexts:
    """Texts of what is taken away; `day` is that of the retrieval, or that of the state."""

    retrieved: str
    state: str


TEXTS: Mapping[Language, TakeawayTexts] = {
    "en": TakeawayTexts(
        retrieved="Retrieved with Lexarbor on {day}.",
        state="As of {day}: {state}.",
    ),
    "fr": TakeawayTexts(
        retrieved="Consulté avec Lexarbor le {day}.",
        state="À la date du {day} : {state}.",
    ),
}
