"""Questions that do nothing but cite: "art. 12 Housing Code", "What does article 12 say?"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from components.statutes.citation_resolver import ResolvedCitation
from components.statutes.law_hints import is_of_something
from components.statutes.law_names import initials_of
from components.statutes.lexical import folded
from components.statutes.stop_words import STOP_WORDS

# Words that ask for an article's text, in folded form.
_ASKING = """
    apply applies content contents exactly explain find full give look lookup mean means open
    please provide provides quote read regulate regulates require requires said say says show
    state states still tell text wording write written
    abolished amended effect force forced repealed valid
    abroge abrogee encore modifie modifiee toujours vigueur
    aufgehoben gilt gueltig gultig kraft noch
    affiche afficher applique appliquer clair contenu contient dispose dit donne donner enonce
    explique expliquer lire lis montre montrer plait prevoit regle signifie stipule texte trouve
    trouver veut dire
    bedeutet bitte besagt erklare gib heisst inhalt lautet lesen regelt sagt steht text wortlaut
    zeige
    betekent bepaalt geef inhoud leg luidt regelt staat tekst toon zegt
    contenido derogado dice dispone establece explica muestra por favor significa sigue texto
    todavia vigente vigor
    dinh noi dung nghia quy xem
    规定 规定什么 规定了什么 是什么 的内容是什么 说什么 说了什么 怎么规定
    是怎么规定的 的规定是什么 什么意思
"""
# What is somebody's own is a paper of his: "What does article 5 say in my will?".
_OWN = """
    my mine our ours your yours his her hers their theirs mon ma mes ton ta tes son sa ses notre nos
    votre vos leur leurs mein meine meinem meinen meiner sein seine seinem seinen seiner ihr ihre
    ihrem ihren ihrer unser euer mijn ons onze uw hun haar mi mis tu tus su sus nuestra nuestro toi
"""
_EMPTY = frozenset(_ASKING.split()).union(*STOP_WORDS.values()) - frozenset(_OWN.split())


def only_cites(question: str, citations: Sequence[ResolvedCitation]) -> bool:
    """Whether a question asks for the articles that it cites, and for nothing else.

    Beside the citations stand at most the names of their laws and words without content of their
    own: those of "What does ... say?".

    Args:
        question: The question.
        citations: All that it cites.
    """
    if not citations or _speaks_of_another(citations):
        return False
    if any(not each.laws and is_of_something(question, each.citation.end) for each in citations):
        return False  # "What does article 5 of the will say?"
    known = {word for each in citations for word in _of_names(each)}
    return all(
        word in known or word in _EMPTY or folded(word) in _EMPTY
        for word in _words(_rest(question, citations))
    )


def _speaks_of_another(citations: Sequence[ResolvedCitation]) -> bool:
    """Whether a citation without a law may be of one that is named and not there."""
    absent = any(each.citation.reference == "named" and not each.laws for each in citations)
    return absent and any(each.ids and not each.laws for each in citations)


def _of_names(resolved: ResolvedCitation) -> list[str]:
    """The words that name a citation's law, by its whole name or by another, as "GDPR"."""
    # What stands behind a citation may go on beyond the name: "of the Housing Code bind me".
    behind = re.findall(r"[^\W_]+", resolved.citation.law_hint or "")
    other = [word for word in behind if not word.islower()]
    short = [initials for law in resolved.laws for initials in initials_of(law)]
    return _words(" ".join([*resolved.laws, *short, *other]))


def _rest(question: str, citations: Sequence[ResolvedCitation]) -> str:
    """The question without its citations, whose laws' names stay."""
    rest = question
    for resolved in sorted(citations, key=lambda each: -each.citation.start):
        rest = rest[: resolved.citation.start] + rest[resolved.citation.end :]
    return rest


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())
