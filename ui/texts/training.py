"""Texts of the view of training runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ui.language import Language


@dataclass(frozen=True)
class TrainingTexts:
    """Texts of runs and grids; `settings_names` and `view_names` go by the names in files."""

    title: str
    explanation: tuple[str, ...]
    runs: str
    older: str
    no_runs: str
    written: str
    unfinished: str
    started_from: str
    kept_epoch: str
    going: str
    going_steps: str
    unreadable: str
    settings: str
    settings_names: Mapping[str, str]
    results: str
    plot: str
    caption: str
    last_rows: str
    no_numbers: str
    epoch: str
    kept: str
    all_questions: str
    loss: str
    held_out_loss: str
    perplexity: str
    buckets: str
    views: str
    tree_distance: str
    overlap: str
    examples: str
    examples_note: str
    answered_by: str
    in_epoch: str
    nothing_drawn: str
    three_buckets: tuple[str, str, str]
    bucket_of: str
    distance: str
    hardest_in: str
    view_names: Mapping[str, str]
    experiments: str
    experiments_note: str
    no_experiments: str
    table: str
    not_found: str
    no_run: str


TEXTS: Mapping[Language, TrainingTexts] = {
    "en": TrainingTexts(
        title="How the search learns",
        explanation=(
            "A search by meaning learns from pairs: a question, and an article that answers it."
            " It also sees articles that are wrong answers, called negatives. It learns to place"
            " the question nearer to its answer than to them.",
            "Some negatives teach more than others. An article from another law is easy to rule"
            " out; the neighbour of the right one is hard. The method used here, CuSINeS, ranks"
            " all articles by difficulty in three views: how near they are in the tree of titles"
            " and chapters, how near in the sequence of the law, and how near in meaning to the"
            " model at that moment.",
            "The three rankings become one, cut into easy, medium and difficult. Training begins"
            " with mostly easy negatives and ends with mostly difficult ones, as a good course"
            " does.",
        ),
        runs="Training runs",
        older="Older runs",
        no_runs=(
            "No training runs found. This command creates one on the demo law in a few minutes;"
            " pass its folder to the page with --runs:"
        ),
        written="trained on {day}",
        unfinished="not finished",
        started_from="Started from {model}.",
        kept_epoch="The weights after epoch {epoch} were kept.",
        going="This run is not finished: it is still training, or was interrupted.",
        going_steps="{step} of {steps} steps are done.",
        unreadable="Could not be read, and is left out: {files}.",
        settings="Settings",
        settings_names={
            "views": "Views",
            "negatives_per_question": "Negatives per question",
            "buckets": "Degrees of difficulty",
            "schedule": "Schedule",
            "candidates": "Candidates per question",
            "strategy": "Negatives from",
            "negatives": "Negatives per question",
            "epochs": "Epochs",
            "max_steps": "Maximum steps",
            "batch_size": "Pairs per batch",
            "learning_rate": "Learning rate",
            "temperature": "Temperature",
            "dropout": "Dropout",
            "select_by": "Best epoch chosen by",
            "seed": "Seed",
        },
        results="Results",
        plot="Plot of the run {name}, as training drew it. Its numbers are in the table below.",
        caption="The run {name}, epoch by epoch",
        last_rows="{caption} (the last {shown} of {rows} measurements)",
        no_numbers="There are no measurements yet.",
        epoch="Epochs trained",
        kept="{epoch} (kept)",
        all_questions="{epoch} (trained on all questions)",
        loss="Loss",
        held_out_loss="Loss on held-out text",
        perplexity="Perplexity",
        buckets="Negatives, from easy to difficult",
        views="Negatives, by the view that ranks them hardest",
        tree_distance="Mean tree distance",
        overlap="Drawn before too",
        examples="Example questions",
        examples_note=(
            "What the model saw as wrong answers to a few questions, in the first epoch and in the"
            " latest. Tree distance counts the steps from one article up to the division that"
            " holds both, and down to the other: articles of the same division are at 2. Articles"
            " are named as in the law that is searched here."
        ),
        answered_by="Answered by",
        in_epoch="Negatives in epoch {epoch}",
        nothing_drawn="None of its own: the other articles of each batch were used.",
        three_buckets=("Easy", "Medium", "Difficult"),
        bucket_of="Difficulty {bucket} of {buckets}",
        distance="tree distance {distance}",
        hardest_in="hardest by {view}",
        view_names={
            "tree": "tree",
            "sequence": "sequence",
            "semantic": "meaning",
            "bm25": "words",
            "run": "given ranking",
        },
        experiments="What each part is worth",
        experiments_note=(
            "The same training with one part exchanged, everything else equal, is called an arm."
            " These are the tables that training.ablate wrote."
        ),
        no_experiments=(
            "No tables found. python -m training.ablate writes them; pass its output folder to the"
            " page with --runs."
        ),
        table="{name}, table {number}",
        not_found="Not found",
        no_run="There is no training run of this name here.",
    ),
    "fr": TrainingTexts(
        title="Comment la recherche apprend",
        explanation=(
            "Une recherche par le sens apprend à partir de paires : une question et un article qui"
            " y répond. On lui montre aussi des articles qui sont de mauvaises réponses, les"
            " négatifs. Elle apprend à placer la question plus près de sa réponse que de ces"
            " négatifs.",
            "Tous les négatifs ne sont pas également instructifs. Un article d’une autre loi"
            " s’écarte facilement ; le voisin du bon article est difficile. La méthode employée"
            " ici, CuSINeS, classe tous les articles par difficulté selon trois vues : leur"
            " proximité dans l’arbre des titres et des chapitres, leur proximité dans la suite de"
            " la loi, et leur proximité de sens pour le modèle tel qu’il est à ce moment-là.",
            "Les trois classements sont réunis en un seul, découpé en facile, moyen et difficile."
            " L’apprentissage commence surtout par des négatifs faciles et finit surtout par des"
            " négatifs difficiles, comme un bon cours.",
        ),
        runs="Apprentissages",
        older="Plus anciens",
        no_runs=(
            "Aucun apprentissage trouvé. Cette commande en fait un sur la loi de démonstration en"
            " quelques minutes ; indiquez son dossier à la page avec --runs :"
        ),
        written="entraîné le {day}",
        unfinished="inachevé",
        started_from="Point de départ : {model}.",
        kept_epoch="Les poids obtenus après l’époque {epoch} ont été conservés.",
        going="Cet apprentissage n’est pas achevé : il se poursuit, ou a été interrompu.",
        going_steps="{step} pas sur {steps} ont été effectués.",
        unreadable="Illisible, et laissé de côté : {files}.",
        settings="Réglages",
        settings_names={
            "views": "Vues",
            "negatives_per_question": "Négatifs par question",
            "buckets": "Degrés de difficulté",
            "schedule": "Progression",
            "candidates": "Candidats par question",
            "strategy": "Origine des négatifs",
            "negatives": "Négatifs par question",
            "epochs": "Époques",
            "max_steps": "Nombre maximal de pas",
            "batch_size": "Paires par lot",
            "learning_rate": "Taux d’apprentissage",
            "temperature": "Température",
            "dropout": "Abandon (dropout)",
            "select_by": "Meilleure époque choisie selon",
            "seed": "Graine aléatoire",
        },
        results="Résultats",
        plot=(
            "Graphique de l’apprentissage {name}, tel que l’entraînement l’a tracé. Ses chiffres"
            " figurent dans le tableau ci-dessous."
        ),
        caption="L’apprentissage {name}, époque par époque",
        last_rows="{caption} (les {shown} dernières mesures sur {rows})",
        no_numbers="Il n’y a pas encore de mesures.",
        epoch="Époques effectuées",
        kept="{epoch} (conservée)",
        all_questions="{epoch} (sur toutes les questions)",
        loss="Perte",
        held_out_loss="Perte sur le texte mis de côté",
        perplexity="Perplexité",
        buckets="Négatifs, du facile au difficile",
        views="Négatifs, par la vue qui les juge les plus difficiles",
        tree_distance="Distance moyenne dans l’arbre",
        overlap="Déjà tirés auparavant",
        examples="Exemples de questions",
        examples_note=(
            "Les mauvaises réponses montrées au modèle pour quelques questions, à la première"
            " époque et à la plus récente. La distance dans l’arbre compte les pas : d’un article,"
            " on monte à la division qui contient les deux, puis on redescend à l’autre ; deux"
            " articles d’une même division sont à 2. Les articles portent leur nom dans la loi"
            " consultée ici."
        ),
        answered_by="Réponse",
        in_epoch="Négatifs à l’époque {epoch}",
        nothing_drawn="Pas de négatifs propres : les autres articles de chaque lot ont servi.",
        three_buckets=("Facile", "Moyen", "Difficile"),
        bucket_of="Difficulté {bucket} sur {buckets}",
        distance="distance dans l’arbre {distance}",
        hardest_in="le plus difficile par : {view}",
        view_names={
            "tree": "arbre",
            "sequence": "suite",
            "semantic": "sens",
            "bm25": "mots",
            "run": "classement donné",
        },
        experiments="Ce que vaut chaque élément",
        experiments_note=(
            "Un apprentissage dont un seul élément est changé, toutes choses égales par ailleurs,"
            " s’appelle un bras. Voici les tableaux écrits par training.ablate."
        ),
        no_experiments=(
            "Aucun tableau trouvé. python -m training.ablate en écrit ; indiquez son dossier de"
            " sortie à la page avec --runs."
        ),
        table="{name}, tableau {number}",
        not_found="Introuvable",
        no_run="Il n’y a pas ici d’apprentissage de ce nom.",
    ),
}
