"""An answer: its head, the verdicts on what it quotes and cites, and its notices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ui.language import Language


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


TEXTS: Mapping[Language, AnswerTexts] = {
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
