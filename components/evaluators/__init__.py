"""Haystack components: evaluators."""
