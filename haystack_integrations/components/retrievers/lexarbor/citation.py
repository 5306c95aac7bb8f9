"""Haystack's name for `components.retrievers.citation`."""

from components.retrievers.citation import CitationRetriever as CitationRetriever
