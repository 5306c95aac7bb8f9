"""Haystack's name for `components.embedders.document`."""

from components.embedders.document import StatuteDocumentEmbedder as StatuteDocumentEmbedder
