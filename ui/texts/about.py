"""What is searched, how far the search has learnt it, and where a question goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ui.language import Language


@dataclass(frozen=True)
class AboutTexts:
    """Texts beside the results."""

    searched: str
    articles_of: str
    articles: tuple[str, str]
    laws: tuple[str, str]
    which_laws: str
    how_found: str
    how_to_read: str
    your_question: str
    kept_here: str
    sent_on: str
    learnt: str
    learning_failed: str
    learning: str
    some_minutes: str
    no_minute: str
    one_minute: str
    minutes: str


TEXTS: Mapping[Language, AboutTexts] = {
    "en": AboutTexts(
        searched="What is searched",
        articles_of="{articles} of {laws}.",
        articles=("article", "articles"),
        laws=("law", "laws"),
        which_laws="Which laws",
        how_found="How an article was found",
        how_to_read=(
            "Each result says who found it, and at which place of that list."
            " The longer the bar, the nearer the top."
        ),
        your_question="Your question",
        kept_here=(
            "It is answered on the machine that serves this page. It is sent nowhere else, and it"
            " is not written down."
        ),
        sent_on=(
            "It is searched on the machine that serves this page. The question and the articles"
            " found are then sent to the language model that whoever runs this page has chosen."
        ),
        learnt="The search has learnt this law. Ask again: the answers should be better now.",
        learning_failed=(
            "The search could not learn this law, and goes on as before. Whoever runs this page"
            " finds the reason in the terminal."
        ),
        learning=(
            "The search is still learning this law. Its answers should get better in {time}."
        ),
        some_minutes="a few minutes",
        no_minute="less than a minute",
        one_minute="about a minute",
        minutes="about {count} minutes",
    ),
    "fr": AboutTexts(
        searched="Ce qui est consulté",
        articles_of="{articles}, {laws}.",
        articles=("article", "articles"),
        laws=("loi", "lois"),
        which_laws="Quelles lois",
        how_found="Comment un article a été trouvé",
        how_to_read=(
            "Chaque résultat dit par quoi il a été trouvé, et à quel rang."
            " Plus la barre est longue, plus il était haut."
        ),
        your_question="Votre question",
        kept_here=(
            "La réponse vient de la machine qui sert cette page. La question n'est envoyée nulle"
            " part ailleurs, et n'est pas conservée."
        ),
        sent_on=(
            "La recherche se fait sur la machine qui sert cette page. La question et les articles"
            " trouvés sont ensuite envoyés au modèle de langue choisi par la personne qui tient"
            " cette page."
        ),
        learnt=(
            "La recherche a appris cette loi. Reposez votre question : les réponses devraient être"
            " meilleures."
        ),
        learning_failed=(
            "La recherche n'a pas pu apprendre cette loi et continue comme avant. La personne qui"
            " tient cette page en trouvera la raison dans le terminal."
        ),
        learning=(
            "La recherche apprend encore cette loi. Ses réponses devraient s'améliorer d'ici"
            " {time}."
        ),
        some_minutes="quelques minutes",
        no_minute="moins d'une minute",
        one_minute="une minute environ",
        minutes="{count} minutes environ",
    ),
}
