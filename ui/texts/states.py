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
    no_earlier: str
    unknown: str
    earlier: str
    later: str
    other: str


TEXTS: Mapping[Language, StateTexts] = {
    "en": StateTexts(
        in_force="In force",
        in_force_since="In force since {start}",
        until=", until {end}",
        repealed="Repealed; last day in force {end}",
        coming="Not yet in force; from {start}",
        no_earlier="An earlier wording, if there was one, is not here",
        unknown="Not known whether in force",
        earlier="Earlier wording, until {end}",
        later="Later wording, from {start}",
        other="Another wording, without dates",
    ),
    "fr": StateTexts(
        in_force="En vigueur",
        in_force_since="En vigueur depuis le {start}",
        until=", jusqu’au {end}",
        repealed="Abrogé ; dernier jour en vigueur : {end}",
        coming="Pas encore en vigueur ; le sera à partir du {start}",
        no_earlier="Une rédaction antérieure, s’il y en a eu une, n’est pas ici",
        unknown="On ignore s’il est en vigueur",
        earlier="Rédaction antérieure, jusqu’au {end}",
        later="Rédaction postérieure, à partir du {start}",
        other="Autre rédaction, sans dates",
    ),
}
