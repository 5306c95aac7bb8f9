"""What goes wrong with models and vectors, each message with its repair."""

from __future__ import annotations


class ModelError(ValueError):
    """A model cannot be found, opened, trusted or written; the message says how to mend it."""


class VectorError(ValueError):
    """A vector is not one that can be searched: not a number, of no length, of another size."""
