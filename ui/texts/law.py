"""The views of laws and divisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from pipelines.tree_view.picture import ENGLISH, Wording
from ui.language import Language, day, number

# The view of an article in its place in the law.


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


ARTICLE_TEXTS: Mapping[Language, ArticleTexts] = {
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


# The words of the picture of an article's place, in each language.


PICTURE_TEXTS: Mapping[Language, Wording] = {
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


# What was asked wrongly of the law, and where to go from there.


@dataclass(frozen=True)
class RefusalTexts:
    """Texts of refusals; in braces, what is put in."""

    wrong: str
    missing: str
    failed: str
    failed_why: str
    unknown_parameter: str
    absent_parameter: str
    twice: str
    empty: str
    too_long: str
    wrong_day: str
    wrong_kind: str
    wrong_page: str
    no_article: str
    no_such_law: str
    no_division: str
    no_page: str
    pages: tuple[str, str]
    meant: str
    go_on: str
    to_laws: str
    to_search: str


REFUSAL_TEXTS: Mapping[Language, RefusalTexts] = {
    "en": RefusalTexts(
        wrong="This address is not right.",
        missing="This address leads nowhere.",
        failed="The law cannot be read just now.",
        failed_why=(
            "You did nothing wrong. Try again; if it fails again, whoever runs this page finds the"
            " reason in the terminal."
        ),
        unknown_parameter="It asks for “{name}”, which this page does not know. It knows {known}.",
        absent_parameter="It must say “{name}”.",
        twice="It gives “{name}” more than once.",
        empty="It gives “{name}” without a value.",
        too_long="It is too long. An address has at most {most} characters here.",
        wrong_day=(
            "“{value}” is no day. A day is written as year, month and day, such as 2026-03-31."
        ),
        wrong_kind="An article can be saved as {known}, not as “{value}”.",
        wrong_page="“{value}” is no page. Pages are numbered from 1.",
        no_article="No article that is searched here has the id “{id}”.",
        no_such_law="No law that is searched here is called “{law}”.",
        no_division="“{law}” has no division “{heading}” in this place.",
        no_page="This list has {pages}; there is no page {page}.",
        pages=("page", "pages"),
        meant="Did you mean",
        go_on="Where to go from here",
        to_laws="All laws",
        to_search="Ask a question, or give the number of an article",
    ),
    "fr": RefusalTexts(
        wrong="Cette adresse n’est pas correcte.",
        missing="Cette adresse ne mène nulle part.",
        failed="La loi ne peut pas être lue pour l’instant.",
        failed_why=(
            "Vous n’y êtes pour rien. Réessayez ; si l’erreur persiste, l’exploitant du"
            " site en trouvera la raison dans le terminal."
        ),
        unknown_parameter=(
            "Elle contient « {name} », que cette page ne connaît pas. La page connaît {known}."
        ),
        absent_parameter="Elle doit indiquer « {name} ».",
        twice="Elle donne « {name} » plus d’une fois.",
        empty="Elle donne « {name} » sans valeur.",
        too_long="Elle est trop longue : {most} caractères au plus sont admis ici.",
        wrong_day=(
            "« {value} » n’est pas une date. Une date s’écrit année, mois, jour :"
            " 2026-03-31, par exemple."
        ),
        wrong_kind="Un article s’enregistre en {known}, et non en « {value} ».",
        wrong_page=(
            "« {value} » n’est pas un numéro de page. Les pages sont numérotées à partir de 1."
        ),
        no_article="Aucun article consulté ici n’a l’identifiant « {id} ».",
        no_such_law="Aucune loi consultée ici ne s’appelle « {law} ».",
        no_division="« {law} » n’a pas de division « {heading} » à cet endroit.",
        no_page="Cette liste compte {pages} ; il n’y a pas de page {page}.",
        pages=("page", "pages"),
        meant="Vouliez-vous dire",
        go_on="Pour continuer",
        to_laws="Toutes les lois",
        to_search="Poser une question, ou donner le numéro d’un article",
    ),
}

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


LAW_TEXTS: Mapping[Language, LawTexts] = {
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
