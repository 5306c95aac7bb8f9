"""Haystack's name for `components.builders.cited_answer`."""

from components.builders.cited_answer import CitedAnswerBuilder as CitedAnswerBuilder
