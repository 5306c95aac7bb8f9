"""Haystack's name for `components.embedders.sparse_document`."""

from components.embedders.sparse_document import (
    StatuteSparseDocumentEmbedder as StatuteSparseDocumentEmbedder,
)
