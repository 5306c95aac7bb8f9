"""What is said beside the negatives of single questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ui.language import Language


@dataclass(frozen=True)
class CurriculumTexts:
    """Texts of the curriculum at three moments."""

    curriculum: str
    curriculum_note: str
    distance_note: str
    other_laws_note: str
    no_examples: str
    no_curriculum: str
    questions: str
    question: str
    answered_by: str
    moment_first: str
    moment_middle: str
    moment_last: str
    moment_only: str
    moment_latest: str
    epoch_of: str
    mostly: str
    mixed: str
    nothing_drawn: str
    some_drawn: str
    mean_distance: str
    distance: str
    sibling: str
    other_law: str
    hardest_in: str
    unknown_article: str
    other_version: str


TEXTS: Mapping[Language, CurriculumTexts] = {
    "en": CurriculumTexts(
        curriculum="The negatives of one question",
        curriculum_note=(
            "Three of the questions that it learns from are followed through the training. This is"
            " what was drawn against the answer at the beginning, in the middle and at the end."
        ),
        distance_note=(
            "Tree distance counts steps: from one article up to the division that holds both, and"
            " down to the other. Siblings, right below the same division, are at 2; articles of"
            " two neighbouring divisions at 4."
        ),
        other_laws_note="An article of another law counts as farther than any of the same law.",
        no_examples=(
            "This run kept no examples: it was made by an earlier version, or its first epoch has"
            " not begun. A training made now keeps them."
        ),
        no_curriculum="A run of this kind has no curriculum.",
        questions="Questions that are followed",
        question="Question {number}",
        answered_by="Answered by",
        moment_first="At the beginning",
        moment_middle="In the middle",
        moment_last="At the end",
        moment_only="The only epoch",
        moment_latest="The latest so far",
        epoch_of="epoch {epoch}",
        mostly="mostly {bucket}",
        mixed="mixed",
        nothing_drawn="No negatives of its own: the other articles of a batch served.",
        some_drawn="{shown} of {drawn} are listed, at even steps.",
        mean_distance="mean tree distance {distance}",
        distance="tree distance {distance}",
        sibling="sibling",
        other_law="another law",
        hardest_in="hardest by {view}",
        unknown_article="not in the law that is searched here",
        other_version=(
            "Titles are those of the law that is searched here; the training may have been on"
            " another version of it, or on another law."
        ),
    ),
    "fr": CurriculumTexts(
        curriculum="Les négatifs d’une question",
        curriculum_note=(
            "Trois des questions d’entraînement sont suivies tout au long de"
            " l’apprentissage. Voici les négatifs qui ont été opposés à la réponse au"
            " début, au milieu et à la fin."
        ),
        distance_note=(
            "La distance dans l’arbre compte des pas : d’un article, on monte à la division"
            " qui contient les deux, puis on redescend à l’autre. Deux articles frères,"
            " placés directement dans la même division, sont à 2 ; des articles de deux"
            " divisions voisines, à 4."
        ),
        other_laws_note=(
            "Un article d’une autre loi compte comme plus éloigné que tout article de la même loi."
        ),
        no_examples=(
            "Cet apprentissage n’a pas gardé d’exemples : il date d’une version antérieure,"
            " ou sa première époque n’a pas commencé. Un nouvel apprentissage en gardera."
        ),
        no_curriculum="Un apprentissage de cette nature n’a pas de progression.",
        questions="Questions suivies",
        question="Question {number}",
        answered_by="Réponse",
        moment_first="Au début",
        moment_middle="Au milieu",
        moment_last="À la fin",
        moment_only="La seule époque",
        moment_latest="Le dernier moment connu",
        epoch_of="époque {epoch}",
        mostly="surtout {bucket}",
        mixed="mélangé",
        nothing_drawn="Pas de négatifs propres : les autres articles du lot en ont tenu lieu.",
        some_drawn="{shown} sur {drawn} figurent ici, à intervalles réguliers.",
        mean_distance="distance moyenne dans l’arbre {distance}",
        distance="distance dans l’arbre {distance}",
        sibling="frère",
        other_law="autre loi",
        hardest_in="le plus difficile par : {view}",
        unknown_article="absent de la loi consultée ici",
        other_version=(
            "Les titres sont ceux de la loi consultée ici ; l’apprentissage a pu porter sur"
            " une autre version, ou sur une autre loi."
        ),
    ),
}
