"""A small law for the views of the law, and what has read it."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Sequence
from typing import Any

from haystack import Document

from components.retrievers.resident import ReadableStore
from ui.law import Places

HOUSING = "Housing Code"
WORK = "Work Code"
RENT, REPAIRS = ("Book I", "Chapter 1. General"), ("Book I", "Chapter 2. Repairs")


def document(number: object, headings: Sequence[str] = RENT, **given: Any) -> Document:
    """An article as a document; `id`, `text` and any metadata can be given."""
    meta = {"law": HOUSING, "number": str(number), "headings": list(headings), "language": "en"}
    id_ = given.pop("id", f"h{number}")
    text = given.pop("text", f"Rule {number}.")
    return Document(id=id_, content=text, meta={**meta, **given})


def small_law() -> list[Document]:
    """Two laws; article 3 of the first ends its chapter, cites 1 and Work 7, and 5 cites it."""
    return [
        document(1, valid_from="2019-01-01", source_url="https://law.example/1"),
        document(2, valid_from="2010-01-01", valid_to="2015-12-31"),
        document(3, text="As article 1 and article 7 of the Work Code say."),
        document(4, REPAIRS),
        document(5, REPAIRS, text="Article 3 holds here too."),
        document(6, ("Book II", "Chapter 1. General")),
        document(7, ("Part 1",), law=WORK, id="w7"),
    ]


def in_order(documents: Sequence[Document]) -> list[Document]:
    """The same documents with their positions."""
    for position, each in enumerate(documents):
        each.meta["position"] = position
    return list(documents)


def read_places(store: ReadableStore) -> Places:
    """Places that have read everything of a store."""
    places = Places(store)
    law = places.law()
    assert law is not None
    while law.citations is None and not law.unread:
        time.sleep(0.01)
    return places


def links(page: str) -> list[tuple[str, str]]:
    """Address and words of every link in the content."""
    content = page[page.index("<main") : page.index("</main>")]
    found = re.findall(r'<a [^>]*?href="([^"]*)"[^>]*>(.*?)</a>', content)
    return [(html.unescape(to), told(words)) for to, words in found]


def told(part: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", part))


def section(page: str, heading: str) -> str:
    """What stands between a heading of the third level and the next heading."""
    return re.split(r"<h[123]", page.split(f"<h3>{heading}", 1)[1])[0]
