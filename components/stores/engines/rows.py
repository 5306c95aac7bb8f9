"""An article as an engine holds it: every field always there, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from haystack import Document

from components.converters.articles import DAY_FIELDS
from components.statutes.citations.patterns import parse_number
from components.stores.engines.filters import day_number

_OPTIONAL = ("language", "valid_from", "valid_to", "source_url")
_ALWAYS = ("law", "number", "headings", "position")
MATCHED = ("law", "number", "position", *DAY_FIELDS)
"""What `ArticleEngine.matching` reads of an article."""


def as_row(document: Document, text_digest: str) -> dict[str, Any]:
    """The metadata that an engine keeps of an article, all fields set.

    Beside the article's own (a missing one is ""): `valid_from_day` and `valid_to_day` as whole
    numbers, `core` for citations (the canonical number; "" where none can name it), `text_digest`
    of what was encoded, and `row_digest` of everything.

    Args:
        document: with the metadata that `as_document` gives.
        text_digest: of the text that its vector stands for.
    """
    meta = document.meta
    row: dict[str, Any] = {key: meta[key] for key in _ALWAYS}
    row |= {key: meta.get(key) or "" for key in _OPTIONAL}
    row |= {f"{field}_day": day_number(row[field]) for field in DAY_FIELDS}
    number = parse_number(row["number"])
    row |= {"core": number.core if number else "", "text_digest": text_digest}
    return {**row, "row_digest": digest_of([row, document.content])}


def article_meta(row: Mapping[str, Any]) -> dict[str, Any]:
    """The article's own metadata, as the embedded store has it."""
    optional = {key: row[key] for key in _OPTIONAL if row.get(key)}
    return {**{key: row[key] for key in _ALWAYS if key in row}, **optional}


def digest_of(value: object) -> str:
    """128 bits of the digest of a JSON value, in hexadecimal."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
