"""Haystack's name for `components.evaluators.retrieval`."""

from components.evaluators.retrieval import RetrievalEvaluator as RetrievalEvaluator
