"""Haystack components: converters."""
