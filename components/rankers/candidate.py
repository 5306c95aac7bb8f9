"""A document as the ranker reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from haystack import Document

from components.converters.articles import headings_of, ranks_of
from components.models.cross_encoder import Span
from components.statutes.article import TextRule, indexed_text

_WRITTEN = ("passage", "passages_read")


@dataclass(frozen=True)
class Candidate:
    """A document and the text that is read of it.

    Attributes:
        document: As it came in.
        place: In the first stage's list, from 0.
        text: Metadata and headings where asked for, then the content.
        content_start: Where in `text` the content begins.
    """

    document: Document
    place: int
    text: str
    content_start: int

    def in_content(self, passage: Span) -> dict[str, int]:
        """A passage of the text as characters `start` to `end` of the content."""
        start, end = (max(0, place - self.content_start) for place in passage)
        return {"start": start, "end": end}

    def is_whole(self, read: Sequence[Span]) -> bool:
        """Whether some passages, in their order, hold every word of the content."""
        ends = [max(self.content_start, end) for end in (0, *(end for _, end in read))]
        starts = [*(start for start, _ in read), len(self.text)]
        between = zip(ends, starts, strict=True)
        return not any(self.text[end:start].strip() for end, start in between)


def candidates_of(
    documents: Sequence[Document], rule: TextRule, meta_fields: Sequence[str] | None
) -> list[Candidate]:
    """The documents that can be read; one without text, or of blanks, cannot.

    Args:
        documents: in the first stage's order.
        rule: whether headings are read before the content.
        meta_fields: metadata that is read before both; a field that a document lacks is left out.
    """
    candidates = []
    for place, document in enumerate(documents):
        content = document.content
        if not content or content.isspace():
            continue
        values = [document.meta.get(name) for name in meta_fields or ()]
        before = [str(value) for value in values if value is not None]
        before += [indexed_text(headings_of(document.meta), "", rule).strip()]
        text = " ".join([*filter(None, before), content])
        candidates.append(Candidate(document, place, text, len(text) - len(content)))
    return candidates


def unranked(document: Document) -> Document:
    """A document without what an earlier ranker, or another question, left in its metadata."""
    meta = {key: each for key, each in document.meta.items() if key not in _WRITTEN}
    ranks = ranks_of(meta)
    if "reranker" in ranks:
        del ranks["reranker"]
        meta["ranks"] = ranks
        if not ranks:
            del meta["ranks"]
    return document if meta == document.meta else replace(document, meta=meta)
