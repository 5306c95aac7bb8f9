"""Haystack components: stores."""
