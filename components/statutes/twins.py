"""Texts that say the same: articles printed twice, questions asked twice."""

from __future__ import annotations

import unicodedata


def normalised(text: str) -> str:
    """A text as it is compared with others: twins and questions asked twice are equal in it.

    Case, white space and compatibility characters (NFKC) make no difference. Headings are no part
    of an article's text.
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
