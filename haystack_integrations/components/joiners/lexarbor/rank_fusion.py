"""Haystack's name for `components.joiners.rank_fusion`."""

from components.joiners.rank_fusion import StatuteRankFuser as StatuteRankFuser
