"""Haystack's name for `components.builders.prompt`."""

from components.builders.prompt import StatutePromptBuilder as StatutePromptBuilder
