"""Haystack's name for `components.rankers.gate`."""

from components.rankers.gate import AnswerabilityGate as AnswerabilityGate
