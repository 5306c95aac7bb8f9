"""Haystack's name for `components.rankers.passages`."""

from components.rankers.passages import StatutePassageRanker as StatutePassageRanker
