"""An answer in the articles' own words."""

import re
from collections.abc import Collection, Sequence

from haystack import Document

from components.converters.articles import language_of, passages_of
from components.statutes.replies.checked import (
    CheckedCitation,
    CheckedQuotation,
    CheckedReply,
    CheckedStatement,
)
from components.statutes.replies.excerpts import Excerpt, bearing_excerpts

_BLANK_LINES = re.compile(r"\n\s*\n")


def verbatim_reply(
    question: str, documents: Sequence[Document], whole: Collection[str] = ()
) -> CheckedReply:
    """What articles say that bears on a question, word for word, each excerpt cited.

    The paragraph of the passage that a re-ranker found best (`meta["passage"]`) is taken, else
    those that share most words with the question. An article without text says nothing.

    Args:
        question: in plain words.
        documents: the articles; [1] is the first.
        whole: ids of those that are quoted whole.
    """
    text = ""
    statements = []
    for label, document in enumerate(documents, start=1):
        for excerpt in _excerpts(question, document, document.id in whole):
            start = len(text) + len("\n\n") * bool(text)
            words = _BLANK_LINES.sub("\n", excerpt.text)  # one would end the quotation
            quoted = f"“{words}”"
            mark = f"[{label}]"
            end = start + len(quoted)
            quotation = CheckedQuotation(
                start, end, words, "verified", document.id, (excerpt.start, excerpt.end)
            )
            citation = CheckedCitation(
                end + 1, end + 1 + len(mark), mark, "verified", (document.id,)
            )
            text += "\n\n" * bool(text) + f"{quoted} {mark}"
            statements.append(
                CheckedStatement(
                    start, len(text), text[start:], True, False, (citation,), (quotation,)
                )
            )
    return CheckedReply(text, tuple(statements))


def _excerpts(question: str, document: Document, whole: bool) -> list[Excerpt]:
    content = document.content or ""
    if whole and content.strip():
        return [Excerpt(content, 0, len(content))]
    passage = passages_of(document.meta).get("passage")
    best = None
    if passage and passage["start"] < passage["end"] <= len(content):
        best = passage["start"], passage["end"]
    return bearing_excerpts(question, content, language_of(document.meta), best)
