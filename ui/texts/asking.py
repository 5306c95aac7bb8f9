"""The view "Ask": the question box, what narrows it, the results, and every message."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ui.language import Language


@dataclass(frozen=True)
class AskTexts:
    """Texts of asking."""

    question: str
    question_info: str
    search: str
    examples: str
    examples_note: str
    # What narrows a search.
    narrow: str
    laws: str
    laws_info: str
    many_laws: str
    which: str
    all_articles: str
    in_force: str
    not_in_force: str
    day: str
    day_info: str
    # Messages.
    too_long: tuple[str, str]
    empty: tuple[str, str]
    nothing: tuple[str, str]
    nothing_narrowed: str
    not_near: tuple[str, str]
    closest: str
    no_day: tuple[str, str]
    no_choice: tuple[str, str]
    failed: tuple[str, str]
    unsure: tuple[str, str]
    # Results.
    found: tuple[str, str]
    announced: tuple[str, str]
    asked: str
    narrowed: str
    states_on: str
    place: str
    marked: str
    rest: str
    read_in_part: str
    official: str
    in_the_law: str
    found_by: str
    rank: str
    save: str
    json: str
    ris: str
    csl: str
    copy_link: str
    print: str


TEXTS: Mapping[Language, AskTexts] = {
    "en": AskTexts(
        question="Your question",
        question_info="In your own words, or the number of an article. Up to {most} characters.",
        search="Search",
        examples="Questions to try",
        examples_note="",
        narrow="Filters",
        laws="Laws",
        laws_info="None chosen: all of them.",
        many_laws="{laws} are too many to list here. Name the law in your question.",
        which="Which articles",
        all_articles="All",
        in_force="In force on the day, or not known",
        not_in_force="Repealed by then, or not yet in force",
        day="Day",
        day_info="Such as 2026-03-31. Empty: today.",
        too_long=(
            "Your question is too long.",
            "It has {length} characters; at most {most} are read. Ask it in fewer words.",
        ),
        empty=(
            "There is no question yet.",
            "Write what happened, or name an article, and press Search.",
        ),
        nothing=(
            "Nothing was found.",
            "No article matches your question. Try other words: those that a law might use,"
            " such as “tenant” for a person who rents.",
        ),
        nothing_narrowed="The search was narrowed: take that back, and more may be found.",
        not_near=(
            "Nothing that was found is near enough to your question.",
            "This law may not answer it.{closest} Try other words, or name an article.",
        ),
        closest=(" The closest is {place}: its score is {score}, and {threshold} is asked for."),
        no_day=(
            "The day is not one.",
            "Write it as year, month and day, such as 2026-03-31, or leave it empty for today.",
        ),
        no_choice=(
            "There is no such choice.",
            "The page may be older than the law that is now searched. Load it again.",
        ),
        failed=(
            "Something failed on our side.",
            "Your question is not the cause. Try again; if it fails again, whoever runs this page"
            " finds the reason in the terminal.",
        ),
        unsure=(
            "Low confidence: read these with care.",
            "No article is near the top both by its words and by its meaning. The law may not"
            " answer your question; other words, those that a law might use, may find what does.",
        ),
        found=("article found", "articles found"),
        announced=("article found.", "articles found."),
        asked="For {question}, best first, in {ms} ms",
        narrowed="Narrowed to: {how}.",
        states_on="states as of {day}",
        place="Place in the law:",
        marked="The part that fits your question best is marked.",
        rest="Read the rest of the article ({words} words)",
        read_in_part=(
            "The search by meaning read only the beginning of this article: about {read} of its"
            " {words} words."
        ),
        official="The official text",
        in_the_law="In its place in the law",
        found_by="Found by:",
        rank="rank {rank}",
        save="Save these articles:",
        json="JSON",
        ris="RIS",
        csl="CSL-JSON",
        copy_link="Copy a link to this question",
        print="Print",
    ),
    "fr": AskTexts(
        question="Votre question",
        question_info=(
            "Avec vos propres mots, ou le numéro d'un article. {most} caractères au plus."
        ),
        search="Chercher",
        examples="Questions à essayer",
        examples_note="Les lois de démonstration sont en anglais ; les questions aussi.",
        narrow="Filtres",
        laws="Lois",
        laws_info="Aucune choisie : toutes.",
        many_laws=("{laws}, c'est trop pour une liste. Nommez la loi dans votre question."),
        which="Quels articles",
        all_articles="Tous",
        in_force="En vigueur ce jour-là, ou sans date connue",
        not_in_force="Abrogés à cette date, ou pas encore en vigueur",
        day="Jour",
        day_info="Par exemple 2026-03-31. Vide : aujourd'hui.",
        too_long=(
            "Votre question est trop longue.",
            "Elle compte {length} caractères ; {most} au plus sont lus. Posez-la en moins de mots.",
        ),
        empty=(
            "Il n'y a pas encore de question.",
            "Écrivez ce qui s'est passé, ou nommez un article, puis appuyez sur Chercher.",
        ),
        nothing=(
            "Rien n'a été trouvé.",
            "Aucun article ne correspond à votre question. Essayez d'autres mots, ceux qu'une loi"
            " emploierait : « locataire » pour une personne qui loue, par exemple.",
        ),
        nothing_narrowed=(
            "La recherche était restreinte : sans cela, elle trouvera peut-être davantage."
        ),
        not_near=(
            "Rien de ce qui a été trouvé n'est assez proche de votre question.",
            "Cette loi n'y répond peut-être pas.{closest} Essayez d'autres mots, ou nommez un"
            " article.",
        ),
        closest=(
            " Le plus proche est {place} : son score est de {score}, et il en faut {threshold}."
        ),
        no_day=(
            "Ce jour n'existe pas.",
            "Écrivez l'année, le mois et le jour, par exemple 2026-03-31, ou laissez vide pour"
            " aujourd'hui.",
        ),
        no_choice=(
            "Ce choix n'existe pas.",
            "La page est peut-être plus ancienne que la loi consultée. Rechargez-la.",
        ),
        failed=(
            "Une erreur s'est produite de notre côté.",
            "Votre question n'y est pour rien. Réessayez ; si l'erreur persiste, la personne qui"
            " tient cette page en trouvera la raison dans le terminal.",
        ),
        unsure=(
            "Confiance faible : lisez ces articles avec prudence.",
            "Aucun article n'est en tête à la fois par ses mots et par son sens. La loi ne répond"
            " peut-être pas à votre question ; d'autres mots, ceux qu'une loi emploierait,"
            " trouveront peut-être mieux.",
        ),
        found=("article trouvé", "articles trouvés"),
        announced=("article trouvé.", "articles trouvés."),
        asked="Pour {question}, les meilleurs d'abord, en {ms} ms",
        narrowed="Recherche restreinte à : {how}.",
        states_on="états au {day}",
        place="Place dans la loi :",
        marked="La partie la plus proche de votre question est surlignée.",
        rest="Lire la suite de l'article ({words} mots)",
        read_in_part=(
            "La recherche par le sens n'a lu que le début de cet article : environ {read} mots"
            " sur {words}."
        ),
        official="Le texte officiel",
        in_the_law="À sa place dans la loi",
        found_by="Trouvé par :",
        rank="rang {rank}",
        save="Enregistrer ces articles :",
        json="JSON",
        ris="RIS",
        csl="CSL-JSON",
        copy_link="Copier le lien vers cette question",
        print="Imprimer",
    ),
}
