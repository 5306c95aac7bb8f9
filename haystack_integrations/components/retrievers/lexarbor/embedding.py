"""Haystack's name for `components.retrievers.embedding`."""

from components.retrievers.embedding import StatuteEmbeddingRetriever as StatuteEmbeddingRetriever
