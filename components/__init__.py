"""Haystack components for retrieval over statute law."""
