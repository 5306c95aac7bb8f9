"""The views of laws and divisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ui.language import Language

Forms = tuple[str, str]


@dataclass(frozen=True)
class LawTexts:
    """Texts of these views; in braces, what is put in."""

    law: str
    you_are_here: str
    articles: Forms
    divisions: Forms
    laws: Forms
    being_read: str
    again: str
    intro: str
    contents: str
    in_all: str
    level: str
    previous_division: str
    next_division: str
    pages: str
    page: str
    previous_page: str
    next_page: str
    shown: str
    no_law: str
    states_on: str


TEXTS: Mapping[Language, LawTexts] = {
    "en": LawTexts(
        law="The law",
        you_are_here="Where you are",
        articles=("article", "articles"),
        divisions=("division", "divisions"),
        laws=("law", "laws"),
        states_on="States as of {day}.",
        being_read="The law is being read just now. This takes a few seconds.",
        again="Show this page again",
        intro="Every law that is searched here, from its title down to its articles.",
        contents="Contents",
        in_all="{articles} in all",
        level="Divisions beside this one",
        previous_division="Previous:",
        next_division="Next:",
        pages="Pages of this list",
        page="Page {page}",
        previous_page="Previous page",
        next_page="Next page",
        shown="{first} to {last} of {count}",
        no_law="There is no law here yet.",
    ),
    "fr": LawTexts(
        law="La loi",
        you_are_here="Où vous êtes",
        articles=("article", "articles"),
        divisions=("division", "divisions"),
        laws=("loi", "lois"),
        states_on="États au {day}.",
        being_read="La loi est en cours de lecture. Cela prend quelques secondes.",
        again="Afficher de nouveau cette page",
        intro="Toutes les lois consultées ici, de leur titre jusqu’à leurs articles.",
        contents="Sommaire",
        in_all="{articles} en tout",
        level="Divisions voisines",
        previous_division="Précédente :",
        next_division="Suivante :",
        pages="Pages de cette liste",
        page="Page {page}",
        previous_page="Page précédente",
        next_page="Page suivante",
        shown="{first} à {last} sur {count}",
        no_law="Il n’y a encore aucune loi ici.",
    ),
}
