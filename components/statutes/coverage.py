"""How much of a question a text says in the question's own words."""

from __future__ import annotations

from components.statutes.lexical import analyzer
from components.statutes.term_weights import question_terms


def coverage(question: str, text: str, language: str | None) -> float:
    """The share of a question's distinct terms that stand in a text, from 0 to 1.

    Terms are those that BM25 searches by: stems, without stop words. Each counts alike, so that
    nothing has to be known of the other texts, which an engine keeps to itself.

    Args:
        question: as it was asked.
        text: an article's words.
        language: of the text; the question is analysed by its rules.

    Returns:
        The share; 0 for a question without terms.
    """
    asked = set(question_terms(question, [language]))
    return len(asked.intersection(analyzer(language)(text))) / len(asked) if asked else 0.0


def trust(covered: float, full_coverage: float) -> float:
    """What share of its weight a list keeps whose first text covers so much of the question.

    All of it from `full_coverage` on, and below in proportion. A question in other words than the
    law's shares words with the law by chance alone, and the list that goes by words is chance too.
    """
    return min(1.0, covered / full_coverage)
