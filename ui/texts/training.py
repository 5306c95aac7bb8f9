"""What the view of trainings says about itself and its runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ui.language import Language


@dataclass(frozen=True)
class TrainingTexts:
    """Texts of runs. `kinds` and `settings_names` are by what files call them."""

    title: str
    explanation: tuple[str, ...]
    runs: str
    runs_note: str
    older: str
    unlisted: tuple[str, str]
    no_runs: str
    no_runs_command: str
    changed: str
    unfinished: str
    kinds: Mapping[str, str]
    started_from: str
    kept_epoch: str
    chosen_by: str
    going: str
    going_steps: str
    final: str
    settings: str
    settings_names: Mapping[str, str]
    missing: str
    damaged: tuple[str, str]
    cut: str
    no_run: str
    no_question: str
    bad_request: str
    refused_title: str
    back: str


TEXTS: Mapping[Language, TrainingTexts] = {
    "en": TrainingTexts(
        title="How the search learns",
        explanation=(
            "A search by meaning learns from pairs: a question, and an article that answers it."
            " Beside each pair it is shown articles that do not answer: the negatives. It learns"
            " to place the question nearer to its answer than to them.",
            "Not every negative teaches equally much. An article of another law is told apart at"
            " once; the neighbour of the right one is hard. The method used here, CuSINeS, ranks"
            " all articles by difficulty in three views: how near they stand in the tree of titles"
            " and chapters, how near in the sequence of the law, how near in meaning to the model"
            " as it is at that moment.",
            "The three rankings become one, cut into easy, medium and difficult. A training begins"
            " with mostly easy negatives and ends with mostly difficult ones, as a good course"
            " does.",
        ),
        runs="Trainings",
        runs_note="The latest first. Each has its curves and its negatives below.",
        older="Older ones",
        unlisted=(
            "more is not listed; it opens by its name, with run=NAME in the address.",
            "more are not listed; they open by their names, with run=NAME in the address.",
        ),
        no_runs="No training has written anything down yet in the folders that this page reads.",
        no_runs_command=(
            "This makes one on the demo law, in some minutes; name its folder to the page with"
            " --runs:"
        ),
        changed="written on {day}",
        unfinished="not finished",
        kinds={
            "biencoder": "Search by meaning (bi-encoder)",
            "graph": "Network over the tree of the law",
            "ranker": "Re-ranker",
            "pretraining": "Reading the law (hidden words)",
            "unknown": "A training of unknown kind",
        },
        started_from="It started from {model}.",
        kept_epoch="The weights after epoch {epoch} were kept.",
        chosen_by="They were the best by {metric} on the questions held back.",
        going="This training is not finished: it goes on at this moment, or was interrupted.",
        going_steps="{step} of {steps} steps are done.",
        final=(
            "The curves show the training that chose the epoch. Then it was trained anew on all"
            " questions; that one is marked in the table."
        ),
        settings="Settings",
        settings_names={
            "views": "Views",
            "negatives_per_question": "Negatives of a question",
            "buckets": "Degrees of difficulty",
            "schedule": "Schedule",
            "candidates": "Candidates of a question",
            "strategy": "Negatives from",
            "negatives": "Negatives of a question",
            "epochs": "Epochs",
            "max_steps": "Steps at most",
            "batch_size": "Pairs in a batch",
            "learning_rate": "Learning rate",
            "temperature": "Temperature",
            "dropout": "Dropout",
            "seed": "Seed",
        },
        missing="Its metrics are not there yet, or cannot be read.",
        damaged=(
            "line of its metrics could not be read and is left out.",
            "lines of its metrics could not be read and are left out.",
        ),
        cut="Its metrics are longer than what is read here; the end is left out.",
        no_run="There is no training of this name here.",
        no_question="This training follows no such question.",
        bad_request=(
            "This address is not one of this page: a value is no number, or is given twice."
        ),
        refused_title="Not found",
        back="All trainings",
    ),
    "fr": TrainingTexts(
        title="Comment la recherche apprend",
        explanation=(
            (
                "Une recherche par le sens apprend à partir de paires : une question et un"
                " article qui y répond. À chaque paire, on lui montre aussi des articles qui"
                " n’y répondent pas : les négatifs. Elle apprend à placer la question plus près"
                " de sa réponse que de ces négatifs."
            ),
            (
                "Tous les négatifs ne sont pas également instructifs. Un article d’une autre"
                " loi se distingue aussitôt ; le voisin du bon article est difficile. La"
                " méthode employée ici, CuSINeS, classe tous les articles par difficulté selon"
                " trois vues : leur proximité dans l’arbre des titres et des chapitres, leur"
                " proximité dans la suite de la loi, et leur proximité de sens pour le modèle"
                " tel qu’il est à ce moment-là."
            ),
            (
                "Les trois classements sont réunis en un seul, découpé en facile, moyen et"
                " difficile. L’apprentissage commence surtout par des négatifs faciles et finit"
                " surtout par des négatifs difficiles, comme un bon cours."
            ),
        ),
        runs="Apprentissages",
        runs_note="Le plus récent d’abord. Chacun a ses courbes et ses négatifs ci-dessous.",
        older="Plus anciens",
        unlisted=(
            "autre ne figure pas ici ; il s’ouvre par son nom, avec run=NOM dans l’adresse.",
            "autres ne figurent pas ici ; ils s’ouvrent par leur nom, avec run=NOM dans l’adresse.",
        ),
        no_runs=(
            "Aucun apprentissage n’a encore laissé de mesures dans les dossiers que lit cette page."
        ),
        no_runs_command=(
            "Cette commande en fait un sur la loi de démonstration, en quelques minutes ; indiquez"
            " son dossier à la page avec --runs :"
        ),
        changed="enregistré le {day}",
        unfinished="inachevé",
        kinds={
            "biencoder": "Recherche par le sens (bi-encodeur)",
            "graph": "Réseau sur l’arbre de la loi",
            "ranker": "Reclasseur",
            "pretraining": "Lecture de la loi (mots cachés)",
            "unknown": "Apprentissage de nature inconnue",
        },
        started_from="Point de départ : {model}.",
        kept_epoch="Les poids obtenus après l’époque {epoch} ont été conservés.",
        chosen_by="C’étaient les meilleurs selon {metric} sur les questions mises de côté.",
        going=(
            "Cet apprentissage n’est pas achevé : il se poursuit en ce moment, ou a été interrompu."
        ),
        going_steps="{step} pas sur {steps} ont été effectués.",
        final=(
            "Les courbes montrent l’apprentissage qui a servi à choisir l’époque. Le modèle"
            " a ensuite été entraîné de nouveau sur toutes les questions ; le tableau"
            " signale cet entraînement."
        ),
        settings="Réglages",
        settings_names={
            "views": "Vues",
            "negatives_per_question": "Négatifs par question",
            "buckets": "Degrés de difficulté",
            "schedule": "Progression",
            "candidates": "Candidats d’une question",
            "strategy": "Origine des négatifs",
            "negatives": "Négatifs par question",
            "epochs": "Époques",
            "max_steps": "Nombre maximal de pas",
            "batch_size": "Paires par lot",
            "learning_rate": "Taux d’apprentissage",
            "temperature": "Température",
            "dropout": "Abandon (dropout)",
            "seed": "Graine aléatoire",
        },
        missing="Ses mesures n’existent pas encore, ou sont illisibles.",
        damaged=(
            "ligne de ses mesures est illisible et a été ignorée.",
            "lignes de ses mesures sont illisibles et ont été ignorées.",
        ),
        cut="Ses mesures dépassent ce qui est lu ici ; la fin a été laissée de côté.",
        no_run="Il n’y a pas ici d’apprentissage de ce nom.",
        no_question="Cet apprentissage ne suit pas cette question.",
        bad_request=(
            "Cette adresse n’existe pas ici : une valeur n’est pas un nombre, ou est donnée deux"
            " fois."
        ),
        refused_title="Introuvable",
        back="Tous les apprentissages",
    ),
}
