"""What the curves and the numbers of a training are called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ui.language import Language


@dataclass(frozen=True)
class CurveTexts:
    """Texts of curves; names of views and metrics are by what files call them."""

    curves: str
    no_curves: str
    chart_titles: Mapping[str, str]
    mean_loss_title: str
    chart_notes: Mapping[str, str]
    hidden_words_note: str
    axis_steps: str
    axis_loss: str
    axis_epochs: str
    axis_epoch: str
    axis_share: str
    kept: str
    alt_loss: str
    alt_mean_loss: str
    alt_dev: str
    alt_shares: str
    some_bars: str
    list_separator: str
    metric_names: Mapping[str, str]
    metric_help: Mapping[str, str]
    numbers: str
    numbers_caption: str
    some_epochs: str
    measured_columns: str
    drawn_columns: str
    epochs_learnt: str
    loss: str
    loss_before: str
    tree_distance: str
    overlap: str
    final_row: str
    untold: str
    three_buckets: tuple[str, str, str]
    one_bucket: str
    bucket_of: str
    view_names: Mapping[str, str]


TEXTS: Mapping[Language, CurveTexts] = {
    "en": CurveTexts(
        curves="Curves",
        no_curves="There is nothing to draw yet.",
        chart_titles={
            "loss": "Loss of each step",
            "dev": "On questions held back",
            "buckets": "How difficult the negatives are",
            "views": "Which view finds them hardest",
        },
        mean_loss_title="Mean loss between measurements",
        chart_notes={
            "loss": (
                "How far the model is from telling answers and negatives apart; lower is better."
                " It may rise where the negatives grow harder."
            ),
            "dev": "Measured on questions that it does not learn from.",
            "buckets": "Shares of the negatives drawn in each epoch.",
            "views": "Of the views, the one in which a negative stands nearest to an answer.",
        },
        hidden_words_note=(
            "How far the model is from guessing the words that are hidden from it; lower is better."
        ),
        axis_steps="step",
        axis_loss="loss",
        axis_epochs="epochs learnt",
        axis_epoch="epoch",
        axis_share="share of the negatives",
        kept="kept",
        alt_loss=(
            "Curve of the loss over {steps} steps: {first} on average in the first tenth, {last}"
            " in the last."
        ),
        alt_mean_loss=(
            "Curve of the mean loss between measurements, over {steps} steps: {first} at"
            " first, {last} at the end."
        ),
        alt_dev="Curve of {metric}: {first} at first, {last} at epoch {epochs}.",
        alt_shares="Stacked bars, each of one epoch. First epoch: {first}. Last: {last}.",
        some_bars="Of {epochs} epochs, {shown} at even steps have a bar.",
        list_separator=", ",
        metric_names={
            "perplexity": "perplexity",
            "held_out_loss": "loss on text held back",
        },
        metric_help={
            "R": (
                "{metric}: the share of the articles that answer a question which are among the"
                " first {k} found, averaged over questions."
            ),
            "MRR": (
                "{metric}: 1 divided by the place of the first article that answers, 0 behind place"
                " {k}, averaged over questions."
            ),
            "MAP": (
                "{metric}: 1 when all articles that answer stand at the very top, less otherwise."
            ),
            "perplexity": (
                "Perplexity: among how many words it hesitates, so to speak, when it guesses a"
                " hidden one; lower is better."
            ),
        },
        numbers="The numbers",
        numbers_caption="The run {name}, epoch by epoch",
        some_epochs="Of {epochs} epochs, {shown} at even steps are listed.",
        measured_columns="On questions held back",
        drawn_columns="In the epoch that follows",
        epochs_learnt="Epochs learnt",
        loss="Loss",
        loss_before="Loss until then",
        tree_distance="Mean tree distance",
        overlap="Drawn before too",
        final_row="{epoch}, all questions",
        untold="–",
        three_buckets=("easy", "medium", "difficult"),
        one_bucket="any difficulty",
        bucket_of="difficulty {bucket} of {buckets}",
        view_names={
            "tree": "tree",
            "sequence": "sequence",
            "semantic": "meaning",
            "bm25": "words",
            "run": "given ranking",
        },
    ),
    "fr": CurveTexts(
        curves="Courbes",
        no_curves="Il n’y a encore rien à tracer.",
        chart_titles={
            "loss": "Perte à chaque pas",
            "dev": "Sur les questions mises de côté",
            "buckets": "Difficulté des négatifs",
            "views": "Vue qui les juge les plus difficiles",
        },
        mean_loss_title="Perte moyenne entre deux mesures",
        chart_notes={
            "loss": (
                "Ce qui manque encore au modèle pour bien distinguer réponses et négatifs ;"
                " plus la perte est basse, mieux c’est. Elle peut remonter quand les négatifs"
                " deviennent plus difficiles."
            ),
            "dev": "Mesuré sur des questions qui ne servent pas à l’apprentissage.",
            "buckets": "Parts des négatifs tirés à chaque époque.",
            "views": "Parmi les vues, celle où un négatif est le plus proche d’une réponse.",
        },
        hidden_words_note=(
            "Ce qui manque encore au modèle pour deviner les mots qu’on lui cache ; plus la perte"
            " est basse, mieux c’est."
        ),
        axis_steps="pas",
        axis_loss="perte",
        axis_epochs="époques effectuées",
        axis_epoch="époque",
        axis_share="part des négatifs",
        kept="gardé",
        alt_loss=(
            "Courbe de la perte sur {steps} pas : {first} en moyenne dans le premier dixième,"
            " {last} dans le dernier."
        ),
        alt_mean_loss=(
            "Courbe de la perte moyenne entre deux mesures, sur {steps} pas : {first} au"
            " début, {last} à la fin."
        ),
        alt_dev="Courbe de {metric} : {first} au début, {last} à l’époque {epochs}.",
        alt_shares=(
            "Barres empilées, chacune pour une époque. Première époque : {first}."
            " Dernière : {last}."
        ),
        some_bars="Sur {epochs} époques, {shown} à intervalles réguliers ont une barre.",
        list_separator=", ",
        metric_names={
            "perplexity": "perplexité",
            "held_out_loss": "perte sur le texte mis de côté",
        },
        metric_help={
            "R": (
                "{metric} : parmi les articles qui répondent à une question, la part qui se trouve"
                " dans les {k} premiers trouvés, en moyenne sur les questions."
            ),
            "MRR": (
                "{metric} : 1 divisé par le rang du premier article qui répond, 0 au-delà du rang"
                " {k}, en moyenne sur les questions."
            ),
            "MAP": (
                "{metric} : 1 quand tous les articles qui répondent sont en tête de liste,"
                " moins sinon."
            ),
            "perplexity": (
                "Perplexité : entre combien de mots il hésite, pour ainsi dire, quand il devine un"
                " mot caché ; plus c’est bas, mieux c’est."
            ),
        },
        numbers="Les chiffres",
        numbers_caption="L’apprentissage {name}, époque par époque",
        some_epochs="Sur {epochs} époques, {shown} à intervalles réguliers figurent ici.",
        measured_columns="Sur les questions mises de côté",
        drawn_columns="Dans l’époque qui suit",
        epochs_learnt="Époques effectuées",
        loss="Perte",
        loss_before="Perte jusque-là",
        tree_distance="Distance moyenne dans l’arbre",
        overlap="Déjà tirés auparavant",
        final_row="{epoch}, toutes les questions",
        untold="–",
        three_buckets=("facile", "moyen", "difficile"),
        one_bucket="toute difficulté",
        bucket_of="difficulté {bucket} sur {buckets}",
        view_names={
            "tree": "arbre",
            "sequence": "suite",
            "semantic": "sens",
            "bm25": "mots",
            "run": "classement donné",
        },
    ),
}
