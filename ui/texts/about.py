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
    searched_here: str
    searched_in_engine: str
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
            "Each result says what found it, and at which rank. The longer the bar, the"
            " nearer the top of that list."
        ),
        your_question="Your question",
        kept_here=(
            "It is answered on the machine that serves this page. It is sent nowhere else, and it"
            " is not written down."
        ),
        searched_here="It is searched on the machine that serves this page.",
        searched_in_engine=(
            "It is searched by an engine that whoever runs this page has chosen: its words, or"
            " numbers made of them, are sent there."
        ),
        sent_on=(
            "The question and the articles found are then sent to the language model that whoever"
            " runs this page has chosen."
        ),
        learnt="The search has learnt this law. Ask again: the results should be better now.",
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
        searched="Textes consultés",
        articles_of="{articles}, {laws}.",
        articles=("article", "articles"),
        laws=("loi", "lois"),
        which_laws="Liste des lois",
        how_found="Comment les articles sont trouvés",
        how_to_read=(
            "Chaque résultat indique comment il a été trouvé, et à quel rang. Plus la barre"
            " est longue, meilleur est le rang."
        ),
        your_question="Votre question",
        kept_here=(
            "La recherche se fait sur la machine qui héberge cette page. Votre question"
            " n’est transmise à personne et n’est pas enregistrée."
        ),
        searched_here="La recherche se fait sur la machine qui héberge cette page.",
        searched_in_engine=(
            "La recherche se fait dans un moteur choisi par l’exploitant du site : les mots de"
            " votre question, ou des nombres qui en sont tirés, lui sont transmis."
        ),
        sent_on=(
            "Votre question et les articles trouvés sont ensuite transmis au modèle de langue"
            " choisi par l’exploitant du site."
        ),
        learnt=(
            "L’apprentissage de cette loi est terminé. Reposez votre question : les"
            " réponses devraient être meilleures."
        ),
        learning_failed=(
            "L’apprentissage de cette loi a échoué ; la recherche continue comme avant."
            " L’exploitant du site en trouvera la raison dans le terminal."
        ),
        learning=(
            "L’apprentissage de cette loi est en cours. Les réponses devraient s’améliorer"
            " d’ici {time}."
        ),
        some_minutes="quelques minutes",
        no_minute="moins d’une minute",
        one_minute="une minute environ",
        minutes="{count} minutes environ",
    ),
}
