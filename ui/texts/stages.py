"""The stages that find and rank articles, by their names in an answer's ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ui.language import Language


class StageTexts(NamedTuple):
    """A stage: its name, why it found an article in few words, and in a sentence."""

    name: str
    meaning: str
    sentence: str


TEXTS: Mapping[Language, Mapping[str, StageTexts]] = {
    "en": {
        "citation": StageTexts("Citation", "you named it", "Your question names the article."),
        "bm25": StageTexts(
            "BM25",
            "words in common",
            "The article shares words with your question; rare words count more.",
        ),
        "dense": StageTexts(
            "Dense",
            "close in meaning",
            "A language model places the article near your question in meaning.",
        ),
        "graph": StageTexts(
            "Graph",
            "close in meaning and place",
            "A language model places the article, seen among its neighbours in the law, near your"
            " question.",
        ),
        "reranker": StageTexts(
            "Re-ranker",
            "read with your question",
            "A second language model reads the best articles together with your question. Where it"
            " reads a part of an article only, the part that fits best is marked.",
        ),
    },
    "fr": {
        "citation": StageTexts("Citation", "vous le nommez", "Votre question nomme l’article."),
        "bm25": StageTexts(
            "BM25",
            "mots en commun",
            "L’article partage des mots avec votre question ; les mots rares comptent davantage.",
        ),
        "dense": StageTexts(
            "Dense",
            "proche par le sens",
            "Pour un modèle de langue, l’article est proche de votre question par le sens.",
        ),
        "graph": StageTexts(
            "Graphe",
            "proche par le sens et la place",
            (
                "Pour un modèle de langue qui voit l’article parmi ses voisins dans la loi, il"
                " est proche de votre question."
            ),
        ),
        "reranker": StageTexts(
            "Reclassement",
            "lu avec votre question",
            (
                "Un second modèle de langue lit les meilleurs articles avec votre question."
                " S’il ne lit qu’une partie d’un article, celle qui convient le mieux est"
                " surlignée."
            ),
        ),
    },
}


def stage_texts(stage: str, language: Language) -> StageTexts:
    """Of one stage; a stage of somebody else's has its own name and no more."""
    return TEXTS[language].get(stage, StageTexts(stage, "", ""))
