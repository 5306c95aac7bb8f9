"""Haystack components: embedders."""
