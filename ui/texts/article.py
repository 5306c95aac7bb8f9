"""The view of an article in its place in the law."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ui.language import Language


@dataclass(frozen=True)
class ArticleTexts:
    """Texts of this view; in braces, what is put in."""

    states_on: str
    ask_day: str
    day: str
    show: str
    today: str
    no_text: str
    official: str
    take_away: str
    citation: str
    permalink: str
    copy_link: str
    save: str
    json: str
    ris: str
    csl: str
    # Its place.
    place: str
    above: str
    step: str
    sequence: str
    previous: str
    next: str
    first_of_law: str
    last_of_law: str
    where: str
    beside: str
    alone: str
    this_one: str
    more_before: str
    more_after: str
    cites: str
    cited_by: str
    cites_none: str
    cited_by_none: str
    more: str
    not_listed: tuple[str, str]
    reading_note: str
    citations_being_read: str
    citations_unread: str
    nowhere: str
    picture: str
    picture_alt: str
    picture_whole: str


TEXTS: Mapping[Language, ArticleTexts] = {
    "en": ArticleTexts(
        states_on="On {day}:",
        ask_day="Was it in force on another day?",
        day="Day",
        show="Show",
        today="Back to today",
        no_text="This article has no text here.",
        official="The official text",
        take_away="Cite and save",
        citation="Citation",
        permalink="Permanent link",
        copy_link="Copy this link",
        save="Save as a file",
        json="JSON",
        ris="RIS",
        csl="CSL-JSON",
        place="Place in the law",
        above="It stands in",
        step="{place} of {of}",
        sequence="Before and after",
        previous="Previous:",
        next="Next:",
        first_of_law="It is the first article of its law.",
        last_of_law="It is the last article of its law.",
        where="in {place}",
        beside="Beside it",
        alone="No other article stands right below this division.",
        this_one="this article",
        more_before="{count} more before",
        more_after="{count} more after",
        cites="It cites",
        cited_by="It is cited by",
        cites_none="No article that is searched here.",
        cited_by_none="No article that is searched here.",
        more="{count} more",
        not_listed=("more is not listed.", "more are not listed."),
        reading_note=(
            "Citations are those that a program reads in the texts; it may miss some, or read one"
            " wrongly."
        ),
        citations_being_read=(
            "The citations are being read in the texts of the law just now. This takes a moment."
        ),
        citations_unread=(
            "The citations could not be read. Whoever runs this page finds the reason in the"
            " terminal."
        ),
        nowhere="No law is on record for this article, so that it has no place in one.",
        picture="As a picture",
        picture_alt=(
            "Picture of the place of {name}. The lists on this page say the same in words, and what"
            " does not bind."
        ),
        picture_whole="Open the picture alone",
    ),
    "fr": ArticleTexts(
        states_on="Le {day} :",
        ask_day="Était-il en vigueur un autre jour ?",
        day="Jour",
        show="Afficher",
        today="Revenir à aujourd’hui",
        no_text="Le texte de cet article ne figure pas ici.",
        official="Le texte officiel",
        take_away="Citer et enregistrer",
        citation="Référence",
        permalink="Lien permanent",
        copy_link="Copier ce lien",
        save="Enregistrer en fichier",
        json="JSON",
        ris="RIS",
        csl="CSL-JSON",
        place="Place dans la loi",
        above="Il fait partie de",
        step="{place} sur {of}",
        sequence="Avant et après",
        previous="Précédent :",
        next="Suivant :",
        first_of_law="C’est le premier article de sa loi.",
        last_of_law="C’est le dernier article de sa loi.",
        where="dans {place}",
        beside="Articles voisins",
        alone="C’est le seul article placé directement dans cette division.",
        this_one="cet article",
        more_before="{count} de plus avant",
        more_after="{count} de plus après",
        cites="Il cite",
        cited_by="Il est cité par",
        cites_none="Aucun article des lois consultées ici.",
        cited_by_none="Aucun article des lois consultées ici.",
        more="{count} de plus",
        not_listed=("autre n’est pas énuméré.", "autres ne sont pas énumérés."),
        reading_note=(
            "Ces renvois sont relevés dans les textes par un programme ; il peut en"
            " manquer, ou en lire un de travers."
        ),
        citations_being_read=(
            "Un programme relève en ce moment les renvois dans les textes de la loi. Cela"
            " prend un instant."
        ),
        citations_unread=(
            "Les renvois n’ont pas pu être relevés. L’exploitant du site en trouvera la"
            " raison dans le terminal."
        ),
        nowhere="Cet article n’est rattaché à aucune loi : il n’a donc pas de place à montrer.",
        picture="En image",
        picture_alt=(
            "Image de la place de {name} dans la loi. Les listes de cette page disent la"
            " même chose en toutes lettres, et ce qui n’est pas en vigueur."
        ),
        picture_whole="Ouvrir l’image seule",
    ),
}
