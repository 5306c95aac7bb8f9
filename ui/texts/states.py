"""Whether an article is in force, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ui.language import Language


@dataclass(frozen=True)
class StateTexts:
    """Texts of states; `start` and `end` are days in words."""

    in_force: str
    in_force_since: str
    until: str
    repealed: str
    coming: str
    unknown: str


TEXTS: Mapping[Language, StateTexts] = {
    "en": StateTexts(
        in_force="In force",
        in_force_since="In force since {start}",
        until=", until {end}",
        repealed="Repealed; last day in force {end}",
        coming=(
            "Not yet in force; from {start}. An earlier wording, if there was one, is not here"
        ),
        unknown="Not known whether in force",
    ),
    "fr": StateTexts(
        in_force="En vigueur",
        in_force_since="En vigueur depuis le {start}",
        until=", jusqu’au {end}",
        repealed="Abrogé ; dernier jour en vigueur : {end}",
        coming=(
            "Pas encore en vigueur ; le sera à partir du {start}. Une rédaction antérieure, s’il y"
            " en a eu une, n’est pas ici"
        ),
        unknown="On ignore s’il est en vigueur",
    ),
}
