"""The view "Compare": two pipelines on one question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ui.language import Language


@dataclass(frozen=True)
class CompareTexts:
    """Texts of comparing."""

    title: str
    lead: str
    left: str
    right: str
    # What each pipeline does; a file of somebody's own has its name alone.
    pipelines: Mapping[str, str]
    compare: str
    only_one: tuple[str, str]
    # Messages.
    empty_explained: str
    twice: tuple[str, str]
    # What is summed up.
    in_common: str
    asked: str
    identical: str
    same: tuple[str, str]
    moved: tuple[str, str]
    gone: tuple[str, str]
    new: tuple[str, str]
    took: str
    # The two lists: of one side, then of the other.
    side: str
    found_nothing: str
    place: str
    same_as_right: str
    same_as_left: str
    up_to: str
    up_from: str
    down_to: str
    down_from: str
    gone_to: str
    gone_cut: str
    gone_unfound: str
    new_from: str
    new_cut: str
    new_unfound: str
    # What the stages said of an article.
    ranked: str
    unfound: str
    cut: str
    unread: str
    on_both: str
    on_each: str
    on_left: str
    on_right: str
    # The time of each stage.
    times: str
    stage: str
    fused: str
    rest: str
    total: str
    not_there: str
    times_note: str


COMPARE_TEXTS: Mapping[Language, CompareTexts] = {
    "en": CompareTexts(
        title="Compare two pipelines",
        lead=(
            "Ask one question in two ways: see what moves from the left list to the right one,"
            " and what each stage said of it."
        ),
        left="Left",
        right="Right",
        pipelines={
            "lexical": "lexical: words in common",
            "dense": "dense: close in meaning",
            "hybrid": "hybrid: words and meaning",
            "hybrid_rerank": "hybrid_rerank: words and meaning, the best read once more",
        },
        compare="Compare",
        only_one=(
            "There is nothing to compare here.",
            "This law can be searched in one way only. Where it is indexed with a model, it can be"
            " searched by words, by meaning, and by both.",
        ),
        empty_explained="Write what happened, or name an article, and press Compare.",
        twice=(
            "Both sides are the same.",
            "Choose another pipeline on the left or on the right.",
        ),
        in_common="{shared} of the first {most} in common",
        asked="For {question}",
        identical="Both lists are the same, in the same order.",
        same=("keeps its place", "keep their place"),
        moved=("moves", "move"),
        gone=("stands on the left only", "stand on the left only"),
        new=("stands on the right only", "stand on the right only"),
        took="The left took {left} ms, the right {right} ms.",
        side="{side}: {pipeline}",
        found_nothing="Nothing was found.",
        place="Place",
        same_as_right="Same place on the right",
        same_as_left="Same place on the left",
        up_to="Up {by}, to place {place} on the right",
        up_from="Up {by}, from place {place} on the left",
        down_to="Down {by}, to place {place} on the right",
        down_from="Down {by}, from place {place} on the left",
        gone_to="Gone: at place {place} on the right",
        gone_cut="Gone: not among the first {cut} on the right",
        gone_unfound="Gone: not found on the right",
        new_from="New: at place {place} on the left",
        new_cut="New: not among the first {cut} on the left",
        new_unfound="New: not found on the left",
        ranked="place {rank}",
        unfound="not found",
        cut="not among its first {cut}",
        unread="not read",
        on_both="{stage}: {told} on both sides",
        on_each="{stage}: {left} on the left, {right} on the right",
        on_left="{stage}, on the left only: {told}",
        on_right="{stage}, on the right only: {told}",
        times="Time of each stage, in milliseconds",
        stage="Stage",
        fused="Fusion",
        rest="The rest: copying, scheduling",
        total="In all",
        not_there="Not a part of this pipeline",
        times_note=(
            "One run of each, the left one first, on the machine that serves this page; the next"
            " run differs a little. What is no stage has the name that the pipeline's file gives"
            " it: the embedder turns the question into a vector."
        ),
    ),
    "fr": CompareTexts(
        title="Comparer deux pipelines",
        lead=(
            "Posez une même question de deux façons : voyez ce qui change de rang entre la"
            " liste de gauche et celle de droite, et ce que chaque étape en a dit."
        ),
        left="Gauche",
        right="Droite",
        pipelines={
            "lexical": "lexical : mots en commun",
            "dense": "dense : proche par le sens",
            "hybrid": "hybrid : mots et sens",
            "hybrid_rerank": "hybrid_rerank : mots et sens, les meilleurs relus",
        },
        compare="Comparer",
        only_one=(
            "Il n’y a rien à comparer ici.",
            (
                "Cette loi ne peut être interrogée que d’une seule façon. Indexée avec un"
                " modèle, elle pourrait l’être par les mots, par le sens, ou par les deux."
            ),
        ),
        empty_explained=(
            "Écrivez ce qui s’est passé, ou citez un article, puis appuyez sur Comparer."
        ),
        twice=(
            "Les deux côtés sont identiques.",
            "Choisissez un autre pipeline à gauche ou à droite.",
        ),
        in_common="{shared} des {most} premiers en commun",
        asked="Pour {question}",
        identical="Les deux listes sont les mêmes, dans le même ordre.",
        same=("garde son rang", "gardent leur rang"),
        moved=("change de rang", "changent de rang"),
        gone=("ne figure qu’à gauche", "ne figurent qu’à gauche"),
        new=("ne figure qu’à droite", "ne figurent qu’à droite"),
        took="Durée : {left} ms à gauche, {right} ms à droite.",
        side="{side} : {pipeline}",
        found_nothing="Rien n’a été trouvé.",
        place="Rang",
        same_as_right="Même rang à droite",
        same_as_left="Même rang à gauche",
        up_to="Monte de {by}, au rang {place} à droite",
        up_from="Monte de {by}, depuis le rang {place} à gauche",
        down_to="Descend de {by}, au rang {place} à droite",
        down_from="Descend de {by}, depuis le rang {place} à gauche",
        gone_to="Sorti : au rang {place} à droite",
        gone_cut="Sorti : absent des {cut} premiers à droite",
        gone_unfound="Sorti : non trouvé à droite",
        new_from="Nouveau : au rang {place} à gauche",
        new_cut="Nouveau : absent des {cut} premiers à gauche",
        new_unfound="Nouveau : non trouvé à gauche",
        ranked="rang {rank}",
        unfound="non trouvé",
        cut="absent de ses {cut} premiers",
        unread="non lu",
        on_both="{stage} : {told} des deux côtés",
        on_each="{stage} : {left} à gauche, {right} à droite",
        on_left="{stage}, à gauche seulement : {told}",
        on_right="{stage}, à droite seulement : {told}",
        times="Durée de chaque étape, en millisecondes",
        stage="Étape",
        fused="Fusion",
        rest="Le reste : copies, ordonnancement",
        total="Total",
        not_there="Ne fait pas partie de ce pipeline",
        times_note=(
            "Une seule exécution de chaque pipeline, celui de gauche d’abord, sur la"
            " machine qui héberge cette page ; la suivante différera un peu. Ce qui n’est"
            " pas une étape porte le nom que lui donne le fichier du pipeline :"
            " « embedder » transforme la question en vecteur."
        ),
    ),
}
