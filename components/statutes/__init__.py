"""Law as data: articles, questions, corpora, and the tree they stand in."""

from components.statutes.article import Article, ArticleState, TextRule, indexed_text
from components.statutes.citation_resolver import (
    CitationResolver,
    ResolvedCitation,
    cross_references,
)
from components.statutes.citations import Citation, find_citations
from components.statutes.corpus import QuestionSet, StatuteCorpus, iter_articles, read_questions
from components.statutes.problems import CorpusError, Problem
from components.statutes.question import (
    MAX_QUESTION_CHARS,
    Question,
    QuestionError,
    clean_question,
)
from components.statutes.tree import LegislativeTree

__all__ = [
    "MAX_QUESTION_CHARS",
    "Article",
    "ArticleState",
    "Citation",
    "CitationResolver",
    "CorpusError",
    "LegislativeTree",
    "Problem",
    "Question",
    "QuestionError",
    "QuestionSet",
    "ResolvedCitation",
    "StatuteCorpus",
    "TextRule",
    "clean_question",
    "cross_references",
    "find_citations",
    "indexed_text",
    "iter_articles",
    "read_questions",
]
