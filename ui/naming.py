"""What an article is called: in a heading, and where it is cited."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# What is printed as a bare number; "Section 5", "第一条" already say what they are.
_NUMBER = re.compile(r"[A-Za-z]{0,3}\.? ?\d[\w.\-/]*")


def article_title(number: object) -> str:
    """An article's number as a heading; the word is the same in English and French."""
    printed = str(number)
    return f"Article {printed}" if _NUMBER.fullmatch(printed) else printed


def citation(article: Mapping[str, Any]) -> str:
    """How an article is cited: its law, then its number.

    Args:
        article: `law` and `number`, as in `pipelines.asking.found_article`.
    """
    title = article_title(article["number"])
    if title != str(article["number"]):
        title = title[0].lower() + title[1:]
    return ", ".join(part for part in (str(article["law"]), title) if part)
