"""Haystack components: retrievers."""
