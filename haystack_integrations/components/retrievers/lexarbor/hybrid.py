"""Haystack's name for `components.retrievers.hybrid`."""

from components.retrievers.hybrid import StatuteHybridRetriever as StatuteHybridRetriever
