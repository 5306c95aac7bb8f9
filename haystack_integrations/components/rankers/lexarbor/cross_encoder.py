"""Haystack's name for `components.rankers.cross_encoder`."""

from components.rankers.cross_encoder import StatuteRanker as StatuteRanker
