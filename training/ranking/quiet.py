"""Libraries that would talk between our own lines."""

from __future__ import annotations

import logging


def quiet_warnings() -> None:
    """Leave out what sentence-transformers warns of."""
    # Turning an encoder into a cross-encoder is intended; the warning about its fresh head says
    # nothing new.
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
