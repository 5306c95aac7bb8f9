"""The view "Ask": the question box, what narrows it, the results, and every message."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ui.language import Language

# An answer: its head, the verdicts on what it quotes and cites, and its notices.


@dataclass(frozen=True)
class AnswerTexts:
    """Texts of the answer.

    Attributes:
        verdicts: by the state of a check.
        states: of an article, as they stand behind its name.
        whys: what speaks against a citation or quotation, by its English words; what is not among
            them is shown in those.
        named_whys: the same of what names something, by patterns of its English words. Of their
            groups, `why` is such a reason itself, and `state` that of a check.
        failures: why there is no reply, by its English words without what they hold in brackets;
            shown as `whys` are.
        counted: notices that count, by their code: what follows the number, for one and many.
    """

    verbatim: str
    generated: str
    written: str
    uncited: str
    verdicts: Mapping[str, str]
    states: Mapping[str, str]
    because: str
    whys: Mapping[str, str]
    named_whys: Mapping[str, str]
    failures: Mapping[str, str]
    counted: Mapping[str, tuple[str, str]]
    generator_failed: str
    not_answered: str
    not_in_force: str
    left_out: str


ANSWER_TEXTS: Mapping[Language, AnswerTexts] = {
    "en": AnswerTexts(
        verbatim="In the law's own words",
        generated="An answer",
        written=(
            "Written by a language model from the articles below. Whatever it quotes or cites was"
            " looked up there; that the words stand in the law does not mean that they answer you."
            " Read the article. What was found stands behind ✓ or ⚠, signs that no answer can"
            " write itself."
        ),
        uncited="no article named",
        verdicts={
            "verified": "word for word in the article",
            "not found": "not found",
            "not checked": "could not be checked",
        },
        states={
            "in force": "in force",
            "repealed": "repealed",
            "not yet in force": "not yet in force",
            "unknown": "not known whether in force",
        },
        because="{verdict}: {why}",
        whys={},
        named_whys={},
        failures={},
        counted={
            "not_found": (
                "citation or quotation was not found.",
                "citations or quotations were not found.",
            ),
            "not_checked": (
                "citation or quotation could not be checked.",
                "citations or quotations could not be checked.",
            ),
            "uncited": ("sentence names no article.", "sentences name no article."),
            "cut": (
                "article was longer than what the generator was given of it.",
                "articles were longer than what the generator was given of them.",
            ),
        },
        generator_failed="No answer was written: {failure}.",
        not_answered="The generator found no answer in these articles.",
        not_in_force="Does not bind on the day that is looked at: {articles}.",
        left_out="Named in the question, and left out of the search: {articles}.",
    ),
    "fr": AnswerTexts(
        verbatim="Le texte même de la loi",
        generated="Réponse",
        written=(
            "Écrite par un modèle de langue à partir des articles ci-dessous. Ses citations"
            " et ses références y ont été recherchées ; qu’un passage figure dans la loi ne"
            " veut pas dire qu’il réponde à votre question. Lisez l’article. Le résultat de la"
            " vérification suit un signe, ✓ ou ⚠, que la réponse ne peut pas écrire elle-même."
        ),
        uncited="aucun article nommé",
        verdicts={
            "verified": "mot pour mot dans l’article",
            "not found": "introuvable",
            "not checked": "vérification impossible",
        },
        states={
            "in force": "en vigueur",
            "repealed": "abrogé",
            "not yet in force": "pas encore en vigueur",
            "unknown": "on ignore s’il est en vigueur",
        },
        because="{verdict} : {why}",
        whys={
            "shorter than 12 characters": "moins de 12 caractères",
            "its quotation marks do not pair": "ses guillemets ne sont pas appariés",
            "no article is cited for it": "aucun article n’est cité à l’appui",
            "several articles are cited for it": "plusieurs articles sont cités à l’appui",
            "none of the articles says it so": "aucun des articles ne le dit ainsi",
            "none of the articles given is this one": "l’article visé n’est pas parmi ceux fournis",
            "it names several articles": "la référence vise plusieurs articles",
            "it fits several of the articles given": (
                "la référence peut désigner plusieurs des articles fournis"
            ),
            "it does not say of which law": "la référence ne précise pas de quelle loi il s’agit",
            "it names the law otherwise": "la référence désigne la loi sous un autre nom",
            "its paragraph was not found in the article": (
                "le paragraphe visé est introuvable dans l’article"
            ),
            "what it means is not known": "on ignore ce qu’elle désigne",
            "the law has no rules": "cette loi n’a pas de «\u00a0rules\u00a0»",
            "the law has no regulations": "cette loi n’a pas de «\u00a0regulations\u00a0»",
            "1 article was given; it names another": (
                "un seul article a été fourni\u00a0; la référence en désigne un autre"
            ),
        },
        named_whys={
            r"(?P<count>\d+) articles were given; it names another": (
                "{count} articles ont été fournis\u00a0; la référence en désigne un autre"
            ),
            r"it stands in (?P<place>.+), not in the article cited": (
                "le passage figure dans {place}, et non dans l’article cité"
            ),
            r"(?P<why>.+); it stands in (?P<place>.+)": (
                "{why}\u00a0; le passage figure dans {place}"
            ),
            r"(?P<named>.+), which is cited for it, is (?P<state>not found|not checked)": (
                "{named}, cité à l’appui\u00a0: {state}"
            ),
            r"(?P<named>.+) beside it names another article": (
                "{named}, juste à côté, désigne un autre article"
            ),
        },
        failures={
            "the generator did not reply in time": "le modèle n’a pas répondu à temps",
            "the generator refused or failed": "le modèle a refusé de répondre ou a échoué",
            "the generator cannot be reached": "le modèle est injoignable",
            "the generator failed": "le modèle a échoué",
            "the generator still has earlier questions to answer": (
                "le modèle traite encore des questions précédentes"
            ),
            "the generator's reply is empty": "la réponse du modèle est vide",
            "the generator's reply broke off": "la réponse du modèle s’est interrompue",
            "the generator's reply is longer than 10,000 characters": (
                "la réponse du modèle dépasse 10\u00a0000 caractères"
            ),
        },
        counted={
            "not_found": (
                "référence ou citation est introuvable.",
                "références ou citations sont introuvables.",
            ),
            "not_checked": (
                "référence ou citation n’a pas pu être vérifiée.",
                "références ou citations n’ont pas pu être vérifiées.",
            ),
            "uncited": (
                "phrase ne nomme aucun article.",
                "phrases ne nomment aucun article.",
            ),
            "cut": (
                "article n’a été transmis au modèle qu’en partie.",
                "articles n’ont été transmis au modèle qu’en partie.",
            ),
        },
        generator_failed="Aucune réponse n’a été écrite : {failure}.",
        not_answered="Le modèle n’a pas trouvé de réponse dans ces articles.",
        not_in_force="Sans force à la date considérée : {articles}.",
        left_out="Nommé dans la question, mais laissé hors de la recherche : {articles}.",
    ),
}


# The stages that find and rank articles, by their names in an answer's ranks.


class StageTexts(NamedTuple):
    """A stage: its name, why it found an article in few words, and in a sentence."""

    name: str
    meaning: str
    sentence: str


STAGE_TEXTS: Mapping[Language, Mapping[str, StageTexts]] = {
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
    return STAGE_TEXTS[language].get(stage, StageTexts(stage, "", ""))


# Whether an article is in force, in words.


@dataclass(frozen=True)
class StateTexts:
    """Texts of states; `start` and `end` are days in words."""

    in_force: str
    in_force_since: str
    until: str
    repealed: str
    coming: str
    no_earlier: str
    unknown: str
    earlier: str
    later: str
    other: str


STATE_TEXTS: Mapping[Language, StateTexts] = {
    "en": StateTexts(
        in_force="In force",
        in_force_since="In force since {start}",
        until=", until {end}",
        repealed="Repealed; last day in force {end}",
        coming="Not yet in force; from {start}",
        no_earlier="An earlier wording, if there was one, is not here",
        unknown="Not known whether in force",
        earlier="Earlier wording, until {end}",
        later="Later wording, from {start}",
        other="Another wording, without dates",
    ),
    "fr": StateTexts(
        in_force="En vigueur",
        in_force_since="En vigueur depuis le {start}",
        until=", jusqu’au {end}",
        repealed="Abrogé ; dernier jour en vigueur : {end}",
        coming="Pas encore en vigueur ; le sera à partir du {start}",
        no_earlier="Une rédaction antérieure, s’il y en a eu une, n’est pas ici",
        unknown="On ignore s’il est en vigueur",
        earlier="Rédaction antérieure, jusqu’au {end}",
        later="Rédaction postérieure, à partir du {start}",
        other="Autre rédaction, sans dates",
    ),
}


# What stands beside the articles in a file that a reader takes away.


@dataclass(frozen=True)
class TakeawayTexts:
    """Texts of what is taken away; `day` is that of the retrieval, or that of the state."""

    retrieved: str
    state: str


TAKEAWAY_TEXTS: Mapping[Language, TakeawayTexts] = {
    "en": TakeawayTexts(
        retrieved="Retrieved with Lexarbor on {day}.",
        state="As of {day}: {state}.",
    ),
    "fr": TakeawayTexts(
        retrieved="Consulté avec Lexarbor le {day}.",
        state="À la date du {day} : {state}.",
    ),
}


# The names of the languages in which law is known here.


LANGUAGE_NAMES: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "en": "English",
        "fr": "French",
        "de": "German",
        "nl": "Dutch",
        "es": "Spanish",
        "vi": "Vietnamese",
        "zh": "Chinese",
    },
    "fr": {
        "en": "anglais",
        "fr": "français",
        "de": "allemand",
        "nl": "néerlandais",
        "es": "espagnol",
        "vi": "vietnamien",
        "zh": "chinois",
    },
}


# What is searched, how far the search has learnt it, and where a question goes.


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


ABOUT_TEXTS: Mapping[Language, AboutTexts] = {
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


ASK_TEXTS: Mapping[Language, AskTexts] = {
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
