"""Texts of the guard: why a request is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ui.language import Language


@dataclass(frozen=True)
class GuardTexts:
    """Texts of refusals."""

    not_found: str
    not_found_why: str
    too_long: str
    too_slow: str
    password_needed: str
    too_many_tries: str
    other_host: str
    other_site: str
    no_question: str
    busy: str
    failed: str


TEXTS: Mapping[Language, GuardTexts] = {
    "en": GuardTexts(
        not_found="There is no such page.",
        not_found_why="The address may be mistyped, or older than the law that is searched today.",
        too_long="The request is longer than {limit} KiB.",
        too_slow="The request did not come in time.",
        password_needed="A name and a password are needed to read this site.",  # noqa: S106
        too_many_tries="Too many wrong passwords from your address. Try again in a minute.",
        other_host=(
            "This site answers only as localhost, on this machine. To serve it under another name,"
            " start it with --auth or --insecure (docs/demo.md)."
        ),
        other_site="Only this site's own pages may ask questions.",
        no_question="This request does not come from a page of this site. Load the page again.",
        busy="Many people are asking at this moment. Please try again in a few seconds.",
        failed="Something failed on our side. The log of this site has the reason.",
    ),
    "fr": GuardTexts(
        not_found="Cette page n’existe pas.",
        not_found_why=(
            "L’adresse comporte peut-être une erreur, ou date d’avant ce qui est consulté"
            " aujourd’hui."
        ),
        too_long="La requête dépasse {limit} Kio.",
        too_slow="La requête n’est pas arrivée à temps.",
        password_needed="Un nom et un mot de passe sont nécessaires pour lire ce site.",  # noqa: S106
        too_many_tries=(
            "Trop de mots de passe erronés ont été envoyés depuis votre adresse. Réessayez"
            " dans une minute."
        ),
        other_host=(
            "Ce site n’est servi qu’à cette machine, sous le nom de localhost. Pour lui donner un"
            " autre nom, lancez-le avec --auth ou --insecure (docs/demo.md)."
        ),
        other_site="Seules les pages de ce site peuvent poser des questions.",
        no_question=(
            "Cette demande ne vient pas d’une page de ce site. Veuillez recharger la page."
        ),
        busy=(
            "Beaucoup de personnes posent une question en ce moment. Veuillez réessayer dans"
            " quelques secondes."
        ),
        failed=(
            "Une erreur s’est produite de notre côté. L’exploitant du site en trouvera la"
            " cause dans son journal."
        ),
    ),
}
