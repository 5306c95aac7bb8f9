"""An answer in the articles' own words."""

from collections.abc import Collection, Sequence

from haystack import Document

from components.converters.articles import language_of, passages_of
from components.statutes.replies.bearing import bearing_passages
from components.statutes.replies.checked import (
    CheckedCitation,
    CheckedQuotation,
    CheckedReply,
    CheckedStatement,
)


def verbatim_reply(
    question: str, documents: Sequence[Document], whole: Collection[str] = ()
) -> CheckedReply:
    """What articles say that bears on a question, word for word, each passage cited.

    The passage that a re-ranker found best (`meta["passage"]`) is taken, else those that share most
    words with the question. An article without text says nothing.

    Args:
        question: in plain words.
        documents: the articles; [1] is the first.
        whole: ids of those that are quoted whole.
    """
    text = ""
    statements = []
    for label, document in enumerate(documents, start=1):
        content = document.content or ""
        for passage in _passages(question, document, document.id in whole):
            words = content[slice(*passage)]
            start = len(text) + len("\n\n") * bool(text)
            quoted = f"“{words}”"
            mark = f"[{label}]"
            end = start + len(quoted)
            quotation = CheckedQuotation(start, end, words, "verified", document.id, passage)
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


def _passages(question: str, document: Document, whole: bool) -> list[tuple[int, int]]:
    content = document.content or ""
    if whole and content.strip():
        return [(0, len(content))]
    best = passages_of(document.meta).get("passage")
    if best and best["start"] < best["end"] <= len(content):
        return [(best["start"], best["end"])]
    return bearing_passages(question, content, language_of(document.meta))
