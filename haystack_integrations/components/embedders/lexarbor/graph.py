"""Haystack's name for `components.embedders.graph`."""

from components.embedders.graph import LegislativeGraphEmbedder as LegislativeGraphEmbedder
