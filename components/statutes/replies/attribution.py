"""Which article a quotation of a reply claims to be from."""

from __future__ import annotations

import re
from collections.abc import Sequence

from components.statutes.replies.checked import CheckedCitation
from components.statutes.replies.quotations import Quotation

# What may stand between a quotation and the citation that is attached to it.
_ATTACHING = re.compile(
    r"(?:[\s.,;:!?()*_\"'”’»]|\b(?:as|in|of|under|see|per|the|cf|according|to|says|laut|gemäß|nach|vgl"
    r"|selon|voir|dans|theo|pursuant)\b)*",
    re.IGNORECASE,
)
_JOINING = re.compile(r"(?:[\s,;&]|\b(?:and|or|et|ou|und|oder|that)\b)*", re.IGNORECASE)


def article_of(
    quotation: Quotation,
    quotations: Sequence[Quotation],
    citations: Sequence[CheckedCitation],
    reply: str,
) -> tuple[tuple[str, ...], str]:
    """Ids of the article that is cited for a quotation, and what makes it doubtful.

    It is the citation right behind the quotation (or behind a second one joined to it), else the
    last one before it, else the only one of the sentence. Where two name different articles, nobody
    knows.

    Args:
        quotation: One of the sentence.
        quotations: Of the sentence, in their order.
        citations: Of the sentence, in their order.
        reply: What was written.

    Returns:
        The ids, () in doubt; and the doubt, "" where there is none.
    """
    taken = [_attached(each, quotations, citations, reply) for each in quotations]
    attached = taken[list(quotations).index(quotation)]
    free = [each for each in citations if each not in taken]
    before = [each for each in free if each.end <= quotation.start]
    # Behind the last quotation, and attached to none.
    trailing = [each for each in free if each.start >= quotations[-1].end]
    claims = [each for each in (attached, *before[-1:], *trailing) if each is not None]
    if not claims:
        # What is cited for another quotation is not cited for this one.
        claims = [each for each in free if each.start >= quotation.end][:1]
    named = {each.ids for each in claims}
    if not claims:
        return (), "no article is cited for it"
    doubtful = next((each for each in claims if each.state != "verified"), None)
    if doubtful is not None:
        return (), f"{doubtful.text}, which is cited for it, is {doubtful.state}"
    shared = set(claims[0].ids).intersection(*(each.ids for each in claims))
    if not shared:
        return (), "several articles are cited for it"
    return tuple(id_ for id_ in claims[0].ids if id_ in shared) if len(named) > 1 else claims[
        0
    ].ids, ""


def _attached(
    quotation: Quotation,
    quotations: Sequence[Quotation],
    citations: Sequence[CheckedCitation],
    reply: str,
) -> CheckedCitation | None:
    """The citation right behind a quotation, or behind the next one where "and" joins the two."""
    inside = [each for each in citations if quotation.start < each.start < quotation.end]
    if inside:
        return inside[-1]  # right before the closing mark
    behind = [each for each in citations if each.start >= quotation.end]
    if behind and _ATTACHING.fullmatch(reply[quotation.end : behind[0].start]):
        return behind[0]
    following = [each for each in quotations if each.start >= quotation.end]
    if following and _JOINING.fullmatch(reply[quotation.end : following[0].start]):
        return _attached(following[0], quotations, citations, reply)
    return None
