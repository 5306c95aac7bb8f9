"""Libraries that would talk between our own lines."""

from __future__ import annotations

import logging


def quiet_libraries() -> None:
    """Leave out bars for each file that is read or written, and warnings about fresh heads."""
    # Imported here, so that --help answers without waiting for torch.
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    # It is meant that an encoder is made a cross-encoder.
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
