"""Haystack's name for `components.embedders.sparse_text`."""

from components.embedders.sparse_text import StatuteSparseTextEmbedder as StatuteSparseTextEmbedder
