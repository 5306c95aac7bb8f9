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
    law: str
    law_info: str
    laws_named: str
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
    no_law: tuple[str, str]
    near_laws: str
    failed: tuple[str, str]
    unsure: tuple[str, str]
    foreign: tuple[str, str]
    missing: str
    also_found: str
    not_followed: tuple[str, str]
    left_out: str
    widen: str
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
    ranker_read_in_part: str
    ranked_in_part: str
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
        question_info="In your own words, or by article (“art. 12”). Up to {most} characters.",
        search="Search",
        examples="Questions to try",
        examples_note="",
        narrow="Filters",
        laws="Laws",
        laws_info="If you choose none, all are searched.",
        law="Law",
        law_info="Words of its name. If you give none, all {laws} are searched.",
        laws_named="{laws} with “{words}” in the name",
        which="Which articles",
        all_articles="All",
        in_force="In force on the day, or undated",
        not_in_force="Repealed by then, or not yet in force",
        day="Day",
        day_info="If you give none: today.",
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
        nothing_narrowed="The search was narrowed by filters: without them, more may be found.",
        not_near=(
            "Nothing near enough to your question was found.",
            "This law may not answer it.{closest} Try other words, or name an article.",
        ),
        closest=(
            " The closest is {place}: its score is {score}, and at least {threshold} is needed."
        ),
        no_day=(
            "This is not a day.",
            "Write it as year, month and day, such as 2026-03-31, or leave it empty for today.",
        ),
        no_choice=(
            "There is no such choice.",
            "The page may be older than the law that is now searched. Load it again.",
        ),
        no_law=(
            "No law has such a name.",
            "“{law}” stands in the name of none of the {laws} that are searched.{near}",
        ),
        near_laws=" Nearest are: {laws}.",
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
        foreign=(
            "The articles found are in {languages}; your question does not seem to be.",
            "Asked in the language of the law, it may find more.",
        ),
        missing="Not in the law that is searched here: {articles}.",
        also_found="What follows is what was found for your question.",
        not_followed=(
            "Too much for one question, and not looked up in full: {citations}.",
            "Up to 30 citations and 8 ranges are looked up, and 200 articles of a range. Ask for"
            " the rest separately.",
        ),
        left_out="Named in your question, but left out of the search: {articles}.",
        widen="Search all the law, in force or not, to read it.",
        found=("article found", "articles found"),
        announced=("article found.", "articles found."),
        asked="For {question}, best first, in {ms} ms",
        narrowed="Narrowed to: {how}.",
        states_on="States as of {day}.",
        place="Place in the law:",
        marked="The part that fits your question best is marked.",
        rest="Read the rest of the article ({words} words)",
        read_in_part=(
            "The search by meaning read only the beginning of this article: about {read} of its"
            " {words} words."
        ),
        ranker_read_in_part=(
            "The re-ranker read only the passages of this article that are nearest to your"
            " question: {read} of its {words} words."
        ),
        ranked_in_part=(
            "The re-ranker had time to read {ranked} of {candidates} articles. Those that it did"
            " not read stand below the others, in the order in which they were found."
        ),
        official="The official text",
        in_the_law="See its place in the law",
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
            "Avec vos mots, ou par article («\u00a0art.\u00a012\u00a0»). {most} caractères au plus."
        ),
        search="Rechercher",
        examples="Questions à essayer",
        examples_note="Les lois de démonstration sont en anglais ; les questions aussi.",
        narrow="Filtres",
        laws="Lois",
        laws_info="Si vous n’en choisissez aucune, toutes sont consultées.",
        law="Loi",
        law_info="Des mots de son nom. Si vous n’en donnez aucun, les {laws} sont consultées.",
        laws_named="{laws} dont le nom contient « {words} »",
        which="Quels articles",
        all_articles="Tous",
        in_force="En vigueur ce jour-là, ou sans date connue",
        not_in_force="Abrogés ou pas encore en vigueur ce jour-là",
        day="Jour",
        day_info="Si vous n’en indiquez aucun : aujourd’hui.",
        too_long=(
            "Votre question est trop longue.",
            (
                "Elle compte {length} caractères ; la limite est de {most}. Posez-la en moins"
                " de mots."
            ),
        ),
        empty=(
            "Vous n’avez pas encore posé de question.",
            "Écrivez ce qui s’est passé, ou citez un article, puis appuyez sur Rechercher.",
        ),
        nothing=(
            "Rien n’a été trouvé.",
            (
                "Aucun article ne correspond à votre question. Essayez d’autres mots, ceux"
                " qu’une loi emploierait : « locataire » pour une personne qui loue un"
                " logement, par exemple."
            ),
        ),
        nothing_narrowed=(
            "Vous avez mis des filtres : sans eux, la recherche trouvera peut-être davantage."
        ),
        not_near=(
            "Rien d’assez proche de votre question n’a été trouvé.",
            (
                "Cette loi n’y répond peut-être pas.{closest} Essayez d’autres mots, ou citez"
                " un article."
            ),
        ),
        closest=(
            " Le plus proche est {place} : son score est de {score}, il faudrait au moins"
            " {threshold}."
        ),
        no_day=(
            "Ce n’est pas une date.",
            (
                "Écrivez l’année, le mois et le jour, par exemple 2026-03-31, ou laissez le"
                " champ vide pour aujourd’hui."
            ),
        ),
        no_choice=(
            "Ce choix n’existe pas.",
            "La page est peut-être plus ancienne que la loi consultée. Rechargez-la.",
        ),
        no_law=(
            "Aucune loi ne porte un tel nom.",
            "« {law} » ne figure dans le nom d’aucune des {laws} consultées.{near}",
        ),
        near_laws=" Les plus proches : {laws}.",
        failed=(
            "Une erreur s’est produite de notre côté.",
            (
                "Votre question n’y est pour rien. Réessayez ; si l’erreur persiste,"
                " l’exploitant du site en trouvera la raison dans le terminal."
            ),
        ),
        unsure=(
            "Résultats peu sûrs : lisez ces articles avec prudence.",
            "Aucun article n’est en tête à la fois par ses mots et par son sens. La loi ne répond"
            " peut-être pas à votre question ; d’autres mots, ceux qu’une loi emploierait,"
            " trouveront peut-être mieux.",
        ),
        foreign=(
            "Les articles trouvés sont en {languages} ; votre question ne semble pas l’être.",
            "Posée dans la langue de la loi, elle trouvera peut-être mieux.",
        ),
        missing="Absent du droit consulté ici : {articles}.",
        also_found="Ce qui suit est ce qui a été trouvé pour votre question.",
        not_followed=(
            "Trop pour une seule question, et non recherché en entier : {citations}.",
            "Au plus 30 citations et 8 suites d’articles sont recherchées, et 200 articles par"
            " suite. Demandez le reste séparément.",
        ),
        left_out=(
            "Nommé dans votre question, mais écarté par les limites de la recherche : {articles}."
        ),
        widen="Cherchez dans tout le droit, en vigueur ou non, pour le lire.",
        found=("article trouvé", "articles trouvés"),
        announced=("article trouvé.", "articles trouvés."),
        asked="Pour {question}, les plus proches d’abord, en {ms} ms",
        narrowed="Recherche limitée à : {how}.",
        states_on="États au {day}.",
        place="Place dans la loi :",
        marked="La partie la plus proche de votre question est surlignée.",
        rest="Lire la suite de l’article ({words} mots)",
        read_in_part=(
            "La recherche par le sens n’a lu que le début de cet article : environ {read} mots"
            " sur {words}."
        ),
        ranker_read_in_part=(
            "Le reclassement n’a lu de cet article que les passages les plus proches de votre"
            " question : {read} mots sur {words}."
        ),
        ranked_in_part=(
            "Le reclassement a eu le temps de lire {ranked} articles sur {candidates}. Ceux qu’il"
            " n’a pas lus suivent les autres, dans l’ordre où ils ont été trouvés."
        ),
        official="Le texte officiel",
        in_the_law="Voir sa place dans la loi",
        found_by="Trouvé par :",
        rank="rang {rank}",
        save="Enregistrer :",
        json="JSON",
        ris="RIS",
        csl="CSL-JSON",
        copy_link="Copier le lien de la question",
        print="Imprimer",
    ),
}
