"""What is said of experiments, and what their arms are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ui.language import Language


@dataclass(frozen=True)
class ExperimentTexts:
    """Texts of experiments. `systems`, `splits` and `arms` (by system) are by what files say."""

    title: str
    note: str
    reading: str
    working: str
    failed: str
    none: str
    damaged: tuple[str, str]
    cut: str
    caption: str
    systems: Mapping[str, str]
    questions: tuple[str, str]
    folds: str
    start: str
    given_split: str
    splits: Mapping[str, str]
    arm: str
    runs: str
    seeds: tuple[str, str]
    difference: str
    p: str
    baseline: str
    untold: str
    tells: str
    tells_nothing: str
    detectable: str
    no_baseline: str
    chosen_on: str
    list_separator: str
    arms: Mapping[str, Mapping[str, str]]


TEXTS: Mapping[Language, ExperimentTexts] = {
    "en": ExperimentTexts(
        title="What each part is worth",
        note=(
            "The same training with one part exchanged, everything else equal, is called an"
            " arm. Side by side, arms show what a part is worth. Each value is the mean"
            " over questions, with its 95% interval in brackets: where the true value lies,"
            " as far as this many questions can tell."
        ),
        reading=(
            "Compare arms by the column of differences. Intervals of two arms may overlap although"
            " they differ, since both were asked the same questions; what counts is whether the"
            " interval of the difference leaves out 0, and p, corrected for the number of"
            " comparisons (Holm), is at most 0.05. The other arms are not compared among"
            " themselves."
        ),
        working="The tables are being worked out. Load the page again in a moment.",
        failed="The tables could not be worked out; the log of this page says why.",
        none="No results of experiments are at hand. python -m training.ablate makes them.",
        damaged=(
            "line is no result of a run, and is left out.",
            "lines are no results of runs, and are left out.",
        ),
        cut="There is more than is shown here.",
        caption="{system}, on {dataset}",
        systems={
            "cusines": "Negatives of the search by meaning",
            "graph": "Networks over the tree of the law",
            "ranker": "Negatives of the re-ranker",
        },
        questions=("question", "questions"),
        folds="cross-validation in {folds} parts",
        start="from the model {model}",
        given_split="the questions held back (dev)",
        splits={"dev": "the questions held back (dev)", "test": "the test questions"},
        arm="Arm",
        runs="Runs",
        seeds=("seed", "seeds"),
        difference="{metric}, difference",
        p="p",
        baseline="what the others are compared with",
        untold="–",
        tells="In {metric} these differ from “{baseline}” by more than chance explains: {arms}.",
        tells_nothing=(
            "In {metric} no arm differs from “{baseline}” by more than chance explains: these"
            " numbers do not rank the arms."
        ),
        detectable=(
            "In a single comparison so many questions would have shown, in four of five cases,"
            " a difference of about {smallest}; of smaller ones they say nothing."
        ),
        no_baseline="What arms are compared with is not among them, so no difference is told.",
        chosen_on=(
            "The best epoch was chosen on the questions that are measured, in every arm alike,"
            " which flatters all trained arms."
        ),
        list_separator=", ",
        arms={
            "cusines": {
                "untrained": "Untrained: the model as training starts from it",
                "in_batch": "No negatives of its own; larger batches instead",
                "random": "Negatives at random",
                "bm25_fixed": "The best by words (BM25), the same in every epoch",
                "bm25_drawn": "Of the forty best by words (BM25), others in every epoch",
                "tree": "One view: the tree",
                "sequence": "One view: the sequence",
                "semantic": "One view: meaning",
                "structural": "Two views: tree and sequence",
                "permuted": "Control: articles change places in the tree",
                "constant": "All difficulties alike from beginning to end",
                "reversed": "From difficult to easy",
                "hardest": "The hardest from the start",
                "static": "Words in place of meaning: the ranking never changes",
                "cusines": "CuSINeS: three views, from easy to difficult",
                "mixed": "CuSINeS with words as a fourth view",
            },
            "graph": {
                "untrained": "The search by meaning alone",
                "mlp": "Control: a network in which no article sees another",
                "permuted": "Control: articles change places in the tree",
                "gdsr": "The tree, negatives by words (G-DSR)",
                "gdsr_cusines": "The tree, negatives by CuSINeS",
                "neighbours": "The same, articles that follow each other joined",
                "citations": "The same, articles joined to those that they cite",
            },
            "ranker": {
                "first_stage": "Not re-ranked: the order of the search",
                "untrained": "Re-ranked by an untrained model",
                **{
                    f"{strategy}_{number}": f"{number} {name}"
                    for number in (2, 5, 10)
                    for strategy, name in (
                        ("easy", "negatives from the whole law"),
                        ("semi_hard", "negatives at random from what the search finds"),
                        ("hard", "negatives, the best that the search finds"),
                    )
                },
            },
        },
    ),
    "fr": ExperimentTexts(
        title="Ce que vaut chaque élément",
        note=(
            "Un apprentissage dont un seul élément est changé, toutes choses égales par"
            " ailleurs, s’appelle un bras. Côte à côte, les bras montrent ce que vaut un"
            " élément. Chaque valeur est la moyenne sur les questions, avec entre crochets"
            " son intervalle à 95 % : là où se trouve la vraie valeur, pour autant que ces"
            " questions permettent d’en juger."
        ),
        reading=(
            "Comparez les bras par la colonne des différences. Les intervalles de deux bras"
            " peuvent se recouvrir alors que ces bras diffèrent, car les mêmes questions"
            " leur ont été posées ; ce qui compte, c’est que l’intervalle de la différence"
            " exclue 0 et que p, corrigé du nombre de comparaisons (Holm), ne dépasse pas"
            " 0,05. Les autres bras ne sont pas comparés entre eux."
        ),
        working="Les tableaux sont en cours de calcul. Rechargez la page dans un instant.",
        failed="Les tableaux n’ont pas pu être calculés ; le journal de cette page dit pourquoi.",
        none="Aucun résultat d’expérience n’est disponible. python -m training.ablate en produit.",
        damaged=(
            "ligne n’est pas le résultat d’un apprentissage et a été ignorée.",
            "lignes ne sont pas des résultats d’apprentissages et ont été ignorées.",
        ),
        cut="Tout n’est pas montré ici.",
        caption="{system}, sur {dataset}",
        systems={
            "cusines": "Négatifs de la recherche par le sens",
            "graph": "Réseaux sur l’arbre de la loi",
            "ranker": "Négatifs du reclasseur",
        },
        questions=("question", "questions"),
        folds="validation croisée en {folds} parties",
        start="à partir du modèle {model}",
        given_split="les questions mises de côté (dev)",
        splits={"dev": "les questions mises de côté (dev)", "test": "les questions de test"},
        arm="Bras",
        runs="Essais",
        seeds=("graine", "graines"),
        difference="{metric}, différence",
        p="p",
        baseline="la référence de la comparaison",
        untold="–",
        tells=(
            "En {metric}, ceux-ci diffèrent de « {baseline} » plus que le hasard ne l’explique :"
            " {arms}."
        ),
        tells_nothing=(
            "En {metric}, aucun bras ne diffère de « {baseline} » plus que le hasard ne"
            " l’explique : ces nombres ne classent pas les bras."
        ),
        detectable=(
            "Avec ce nombre de questions, et pour une seule comparaison, une différence"
            " d’environ {smallest} aurait été décelée quatre fois sur cinq ; de différences plus"
            " petites, elles ne disent rien."
        ),
        no_baseline=(
            "La référence de la comparaison n’est pas parmi les bras : aucune différence"
            " n’est donnée."
        ),
        chosen_on=(
            "La meilleure époque a été choisie sur les questions mêmes qui servent à la"
            " mesure, de la même façon dans chaque bras, ce qui flatte tous les bras"
            " entraînés."
        ),
        list_separator=", ",
        arms={
            "cusines": {
                "untrained": "Non entraîné : le modèle d’où part l’apprentissage",
                "in_batch": "Sans négatifs propres, mais avec de plus grands lots",
                "random": "Négatifs au hasard",
                "bm25_fixed": "Les meilleurs par les mots (BM25), les mêmes à chaque époque",
                "bm25_drawn": (
                    "Parmi les quarante meilleurs par les mots (BM25), d’autres à chaque époque"
                ),
                "tree": "Une vue : l’arbre",
                "sequence": "Une vue : la suite",
                "semantic": "Une vue : le sens",
                "structural": "Deux vues : l’arbre et la suite",
                "permuted": "Témoin : les articles changent de place dans l’arbre",
                "constant": "Toutes les difficultés à parts égales du début à la fin",
                "reversed": "Du difficile au facile",
                "hardest": "Les plus difficiles dès le début",
                "static": "Les mots au lieu du sens : le classement ne change jamais",
                "cusines": "CuSINeS : trois vues, du facile au difficile",
                "mixed": "CuSINeS avec les mots pour quatrième vue",
            },
            "graph": {
                "untrained": "La recherche par le sens seule",
                "mlp": "Témoin : un réseau où aucun article n’en voit un autre",
                "permuted": "Témoin : les articles changent de place dans l’arbre",
                "gdsr": "L’arbre, négatifs par les mots (G-DSR)",
                "gdsr_cusines": "L’arbre, négatifs par CuSINeS",
                "neighbours": "Idem, avec des liens entre articles qui se suivent",
                "citations": "Idem, avec des liens vers les articles cités",
            },
            "ranker": {
                "first_stage": "Non reclassé : l’ordre de la recherche",
                "untrained": "Reclassé par un modèle non entraîné",
                **{
                    f"{strategy}_{number}": f"{number} négatifs {name}"
                    for number in (2, 5, 10)
                    for strategy, name in (
                        ("easy", "pris dans toute la loi"),
                        ("semi_hard", "tirés au hasard parmi les articles trouvés"),
                        ("hard", "pris en tête des articles trouvés"),
                    )
                },
            },
        },
    ),
}
