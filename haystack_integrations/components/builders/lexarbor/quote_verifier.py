"""Haystack's name for `components.builders.quote_verifier`."""

from components.builders.quote_verifier import QuoteVerifier as QuoteVerifier
