"""Which articles the quotations of a reply claim to be from."""

from __future__ import annotations

import re
from bisect import bisect_left
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


def articles_of(
    quotations: Sequence[Quotation], citations: Sequence[CheckedCitation], reply: str
) -> list[tuple[tuple[str, ...], str]]:
    """Ids of the article cited for each quotation of a sentence, and what makes it doubtful.

    It is the citation right behind the quotation (or behind a second one joined to it), else the
    last one before it, else the only one of the sentence. Where two name different articles, nobody
    knows.

    Args:
        quotations: Of the sentence, in their order.
        citations: Of the sentence, in their order.
        reply: What was written.

    Returns:
        For each quotation the ids, () in doubt; and the doubt, "" where there is none.
    """
    attached = _attached(quotations, citations, reply)
    taken = {id(each) for each in attached if each is not None}
    free = [each for each in citations if id(each) not in taken]
    # Behind the last quotation, and attached to none.
    trailing = [each for each in free if quotations and each.start >= quotations[-1].end]
    found = []
    for quotation, own in zip(quotations, attached, strict=True):
        before = next((each for each in reversed(free) if each.end <= quotation.start), None)
        claims = [each for each in (own, before, *trailing) if each is not None]
        if not claims:
            # What is cited for another quotation is not cited for this one.
            claims = [each for each in free if each.start >= quotation.end][:1]
        found.append(_agreed(claims))
    return found


def _agreed(claims: Sequence[CheckedCitation]) -> tuple[tuple[str, ...], str]:
    """The articles that all citations name, and what makes them doubtful."""
    if not claims:
        return (), "no article is cited for it"
    for each in claims:
        if each.state != "verified":
            return (), f"{each.text}, which is cited for it, is {each.state}"
    shared = set(claims[0].ids).intersection(*(each.ids for each in claims))
    doubt = "" if shared else "several articles are cited for it"
    return tuple(id_ for id_ in claims[0].ids if id_ in shared), doubt


def _attached(
    quotations: Sequence[Quotation], citations: Sequence[CheckedCitation], reply: str
) -> list[CheckedCitation | None]:
    """The citation right behind each quotation, or behind the next where "and" joins the two."""
    starts = [each.start for each in citations]
    attached: list[CheckedCitation | None] = [None] * len(quotations)
    for place in reversed(range(len(quotations))):
        quotation = quotations[place]
        next_one = bisect_left(starts, quotation.end)
        if next_one and citations[next_one - 1].start > quotation.start:
            attached[place] = citations[next_one - 1]  # right before the closing mark
        elif next_one < len(citations) and _ATTACHING.fullmatch(
            reply, quotation.end, citations[next_one].start
        ):
            attached[place] = citations[next_one]
        elif place + 1 < len(quotations) and _JOINING.fullmatch(
            reply, quotation.end, quotations[place + 1].start
        ):
            attached[place] = attached[place + 1]
    return attached
