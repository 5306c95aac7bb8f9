"""The words of a picture that are not the law's, so that it can be drawn in another language."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

# A sentence or noun for one, and for many.
Forms = tuple[str, str]


@dataclass(frozen=True)
class Wording:
    """What a picture says; in braces, what is put in.

    Attributes:
        lang: BCP 47 tag of these words.
        number: Writes a whole number.
        day: Writes a date.
        zero_is_one: Whether nouns after 0 are singular.
    """

    lang: str
    number: Callable[[int], str]
    day: Callable[[date], str]
    zero_is_one: bool
    articles: Forms
    place: str
    divisions: str
    more: str
    and_more: Forms
    together: str
    role_previous: str
    role_next: str
    own_text: str
    within: str
    below_law: str
    cites: str
    cited_by: str
    in_force: str
    from_day: str
    to_day: str
    stands_in: str
    in_sequence: str
    citation: str
    places: str
    citations: str
    told_place: str
    told_joint: str
    told_beside: Forms
    told_before: str
    told_after: str
    told_cites: str
    told_cited_by: str
    told_of_law: str
    told_division_share: str
    told_own_share: str

    def counted(self, count: int, forms: Forms) -> str:
        """One of the forms with `{count}` put in."""
        one = count == 1 or (count == 0 and self.zero_is_one)
        return forms[0 if one else 1].format(count=self.number(count))


ENGLISH = Wording(
    lang="en",
    number="{:,}".format,
    day=date.isoformat,
    zero_is_one=False,
    articles=("{count} article", "{count} articles"),
    place="{place} of {of}",
    divisions="{label}: {articles}, {place} divisions beside each other",
    more="{count} more articles, {first} to {last}",
    and_more=("and {count} more", "and {count} more"),
    together=", {share} together",
    role_previous="previous",
    role_next="next",
    own_text="its own text",
    within="in {heading}",
    below_law="right below the law",
    cites="It cites {articles}",
    cited_by="It is cited by {articles}",
    in_force="In force",
    from_day=" from {day}",
    to_day=" to {day}",
    stands_in="stands in",
    in_sequence="comes before or after",
    citation="cites, the arrow at the cited article",
    places="“1 of 3” is the place of a division among those beside it. ",
    citations=(
        "Citations are those that a program reads in the texts; it may miss some, or read one"
        " wrongly."
    ),
    told_place="{name} stands in {places}.",
    told_joint=", in ",
    told_beside=(
        "{count} other article stands beside it.",
        "{count} other articles stand beside it.",
    ),
    told_before="Before it comes {name}.",
    told_after="After it comes {name}.",
    told_cites="It cites {names}.",
    told_cited_by="It is cited by {names}.",
    told_of_law=" of {law}",
    told_division_share="It attends to that division with {share}.",
    told_own_share="Of its own it keeps {share}.",
)
