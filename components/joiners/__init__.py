"""Haystack components: joiners."""
