"""A guard against work that explodes with the length of a text."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

# Some hundred times what such a text takes; one that is gone through again at each of its signs,
# or worse, takes far longer. The processor's time, so that other work beside it does not count.
_SECONDS = 20.0


@contextmanager
def bounded_effort() -> Iterator[None]:
    """Fail when what is done within takes out of all proportion."""
    start = time.process_time()
    try:
        yield
    finally:
        assert time.process_time() - start < _SECONDS
