"""The words of the picture of an article's place, in each language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from pipelines.tree_view.picture import ENGLISH, Wording
from ui.language import Language, day, number

TEXTS: Mapping[Language, Wording] = {
    # Files that the command line writes keep ISO days.
    "en": replace(ENGLISH, day=partial(day, language="en")),
    "fr": Wording(
        lang="fr",
        number=partial(number, language="fr"),
        day=partial(day, language="fr"),
        zero_is_one=True,
        articles=("{count} article", "{count} articles"),
        place="{place} sur {of}",
        divisions="{label} : {articles}, {place} divisions voisines",
        more="{count} autres articles, de {first} à {last}",
        and_more=("et {count} autre", "et {count} autres"),
        together=", {share} ensemble",
        role_previous="précédent",
        role_next="suivant",
        own_text="son propre texte",
        within="dans {heading}",
        below_law="directement dans la loi",
        cites="Il cite {articles}",
        cited_by="Il est cité par {articles}",
        in_force="En vigueur",
        from_day=" à partir du {day}",
        to_day=" jusqu’au {day}",
        stands_in="se trouve dans",
        in_sequence="vient avant ou après",
        citation="cite : la flèche touche l’article cité",
        places="« 1 sur 3 » est le rang d’une division parmi ses voisines. ",
        citations=(
            "Ces renvois sont relevés dans les textes par un programme ; il peut en"
            " manquer, ou en lire un de travers."
        ),
        told_place="{name} se trouve dans {places}.",
        told_joint=", dans ",
        told_beside=(
            "{count} autre article se trouve à côté de lui.",
            "{count} autres articles se trouvent à côté de lui.",
        ),
        told_before="Avant lui vient {name}.",
        told_after="Après lui vient {name}.",
        told_cites="Il cite {names}.",
        told_cited_by="Il est cité par {names}.",
        told_of_law=" de {law}",
        told_division_share="Il accorde {share} de son attention à cette division.",
        told_own_share="Il garde {share} de son attention pour son propre texte.",
    ),
}
