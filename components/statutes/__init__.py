"""Law as data: articles, questions, corpora, and the tree of law."""

from components.statutes.article import Article, ArticleState, TextRule, indexed_text
from components.statutes.citations.finding import find_citations
from components.statutes.citations.patterns import Citation
from components.statutes.citations.resolver import CitationResolver, ResolvedCitation
from components.statutes.corpus import QuestionSet, StatuteCorpus, iter_articles, read_questions
from components.statutes.graph import (
    EDGE_KINDS,
    CrossReferences,
    LegislativeGraph,
    cross_references,
)
from components.statutes.question import MAX_QUESTION_CHARS, Question, QuestionError, clean_question
from components.statutes.sources.reading import CorpusError, Problem
from components.statutes.tree import LegislativeTree

__all__ = [
    "EDGE_KINDS",
    "MAX_QUESTION_CHARS",
    "Article",
    "ArticleState",
    "Citation",
    "CitationResolver",
    "CorpusError",
    "CrossReferences",
    "LegislativeGraph",
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
