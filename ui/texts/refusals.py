"""What was asked wrongly of the law, and where to go from there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ui.language import Language


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


TEXTS: Mapping[Language, RefusalTexts] = {
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
