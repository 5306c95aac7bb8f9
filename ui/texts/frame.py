"""What stands around every view: its name, where else one can go, and what must be known first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ui.language import Language


@dataclass(frozen=True)
class FrameTexts:
    """Texts of the frame."""

    language: str
    tagline: str
    description: str
    skip: str
    views: str
    ask: str
    law: str
    compare: str
    training: str
    languages: str
    no_script: str
    copy_citation: str
    copied: str
    copy_by_hand: str
    unanswered: str
    not_advice: str
    aldermere: str
    some_invented: str
    snapshot: str
    indexed: str
    beyond: str
    beyond_indexed: str


FRAME_TEXTS: Mapping[Language, FrameTexts] = {
    "en": FrameTexts(
        language="English",
        tagline="Ask in your own words. Read the articles of law that answer.",
        description="Ask a question, read the articles of law that answer it.",
        skip="Go to the content",
        views="Views",
        ask="Ask",
        law="The law",
        compare="Compare",
        training="Training",
        languages="Language",
        no_script="Asking here needs JavaScript. Without it: python -m pipelines.ask",
        copy_citation="Copy the citation",
        copied="Copied",
        copy_by_hand="Copy this:",
        unanswered=(
            "No answer came. Check that you are connected and that this site is running, and"
            " try again."
        ),
        not_advice="Information, not legal advice.",
        aldermere=(
            "Aldermere is an invented country, made for this demonstration:"
            " its laws have no force anywhere."
        ),
        some_invented="The laws marked as invented have no force anywhere.",
        snapshot="The law as it stood on {day}; what changed later is not here.",
        indexed="The law as it was indexed on {day}; what changed later is not here.",
        beyond="The text here is of {day}: what changed between then and {on} is not known here.",
        beyond_indexed=(
            "The text here was indexed on {day}, and may be older: what changed by {on} is not"
            " known here."
        ),
    ),
    "fr": FrameTexts(
        language="Français",
        tagline="Posez votre question avec vos mots. Lisez les articles de loi qui y répondent.",
        description="Posez une question, lisez les articles de loi qui y répondent.",
        skip="Aller au contenu",
        views="Rubriques",
        ask="Question",
        law="La loi",
        compare="Comparer",
        training="Apprentissage",
        languages="Langue",
        no_script=(
            "Pour poser une question ici, il faut JavaScript. Sans lui : python -m pipelines.ask"
        ),
        copy_citation="Copier la référence",
        copied="Copié",
        copy_by_hand="À copier :",
        unanswered=(
            "Aucune réponse n’est arrivée. Vérifiez votre connexion et que ce site fonctionne,"
            " puis réessayez."
        ),
        not_advice="Ceci est une information, non un conseil juridique.",
        aldermere=(
            "Aldermere est un pays inventé pour cette démonstration : ses lois ne"
            " s’appliquent nulle part."
        ),
        some_invented="Les lois signalées comme inventées ne s’appliquent nulle part.",
        snapshot=(
            "La loi dans son état au {day} ; les modifications ultérieures n’y figurent pas."
        ),
        indexed=(
            "La loi telle qu’indexée le {day} ; les modifications ultérieures n’y figurent pas."
        ),
        beyond=(
            "Le texte est ici dans son état au {day} : ce qui a changé entre cette date et le"
            " {on} n’est pas connu ici."
        ),
        beyond_indexed=(
            "Le texte a été indexé ici le {day} et peut être plus ancien : ce qui a changé"
            " jusqu’au {on} n’est pas connu ici."
        ),
    ),
}
