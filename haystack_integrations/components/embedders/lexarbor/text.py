"""Haystack's name for `components.embedders.text`."""

from components.embedders.text import StatuteTextEmbedder as StatuteTextEmbedder
