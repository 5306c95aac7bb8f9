"""Haystack components: rankers."""
