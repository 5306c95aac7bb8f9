"""An article of law, the unit that is indexed, encoded and found."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

from components.statutes.languages import TYPED, whole_words
from components.statutes.repeal import is_repeal_note

# Days as people and files write them.


_YEAR_MONTH_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def iso_day(text: str) -> date:
    """The day that a text names as YYYY-MM-DD.

    Raises:
        ValueError: It is not a day, or is written in another way.
    """
    # fromisoformat alone also takes weeks and dates without dashes.
    if not _YEAR_MONTH_DAY.fullmatch(text):
        raise ValueError(f"{text!r} is not written as YYYY-MM-DD")
    return date.fromisoformat(text)


# How much law there is, in words.


def counted(count: int, noun: str) -> str:
    """A number with a regular English noun.

    >>> counted(1, "law"), counted(1200, "law")
    ('1 law', '1,200 laws')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def articles_of_laws(articles: int, laws: int) -> str:
    """How many articles of how many laws.

    >>> articles_of_laws(315, 1)
    '315 articles of 1 law'
    """
    return f"{counted(articles, 'article')} of {counted(laws, 'law')}"


# Equal texts: articles printed twice, questions asked twice.


class _Compared(dict[int, str]):
    """What each character is in a comparison: punctuation and what is not seen become blanks."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        kept = character in "%‰" or (category[0] not in "PZC" and category != "Sk")
        self[code] = character if kept else " "
        return self[code]


# Turkish has capitals of its own for i and ı.
_COMPARED = _Compared(TYPED | str.maketrans({"ı": "i", "\u0307": ""}))
_BETWEEN_WORDS = re.compile(r" (?!\d)|(?<!\d) ")


def normalised(text: str) -> str:
    r"""A text in the form in which texts are compared: twins and repeated questions are equal.

    Case, punctuation, white space, invisible and compatibility characters (NFKC) make no
    difference, nor does the script of digits. A blank remains only between two numbers: "1.5" is
    not "15". A text of nothing but punctuation stays as it is. Headings are not part of an
    article's text.

    >>> normalised("What is the land-\nlord’s duty within 1,000 days ?")
    'whatisthelandlordsdutywithin1 000days'
    """
    words = whole_words(text).casefold().translate(_COMPARED).split()
    return _BETWEEN_WORDS.sub("", " ".join(words)) or text.strip()


ArticleState = Literal["in force", "repealed", "not yet in force", "unknown"]
TextRule = Literal["headings_text", "text"]


_BARE_NUMBER = re.compile(r"(?!(?i:art|ss?|sec|reg)\b)[A-Za-z]{0,3}\.? ?\d[\w.\-/]*")


@dataclass(frozen=True, slots=True)
class Article:
    """One article of a law, as printed.

    Attributes:
        id: Unique in the corpus.
        law: The code or act that it belongs to.
        number: As printed: "1382", "L1221-1", "第一条".
        headings: The divisions above it, from the top; may be empty.
        text: The article's words.
        language: BCP 47 tag, where known.
        valid_from: First day in force.
        valid_to: Last day in force.
        source_url: The official text.
        law_id: What tells the law from another one of its title: ELI, CELEX, the file's identifier;
            None if the title does.
        law_names: Other names of the law that its source gives: short title, abbreviation.
    """

    id: str
    law: str
    number: str
    headings: tuple[str, ...]
    text: str
    language: str | None = None
    valid_from: date | None = None
    valid_to: date | None = None
    source_url: str | None = None
    law_id: str | None = None
    law_names: tuple[str, ...] = ()

    @property
    def is_stub(self) -> bool:
        """Whether its text only notes that it was repealed, moved or left empty."""
        return is_repeal_note(self.text)

    def state(self, on: date) -> ArticleState:
        """Whether the article binds on a day; "unknown" when neither date is recorded.

        A stub without a last day is repealed.
        """
        if self.valid_from is not None and on < self.valid_from:
            return "not yet in force"
        if self.valid_to is not None:
            return "repealed" if on > self.valid_to else "in force"
        if self.is_stub:
            return "repealed"
        return "unknown" if self.valid_from is None else "in force"

    def to_json(self) -> dict[str, Any]:
        """The article as one object of the native format; absent optionals are left out."""
        record = {
            "id": self.id,
            "law": self.law,
            "number": self.number,
            "headings": list(self.headings),
            "text": self.text,
        }
        optional = {
            "language": self.language,
            "valid_from": self.valid_from and self.valid_from.isoformat(),
            "valid_to": self.valid_to and self.valid_to.isoformat(),
            "source_url": self.source_url,
            "law_id": self.law_id,
            "law_names": list(self.law_names) or None,
        }
        return record | {name: value for name, value in optional.items() if value is not None}


def spoken_number(number: str) -> str:
    """An article's number as a heading: "Article 12"; "Art. 12", "Section 5", "第一条" as is."""
    return f"Article {number}" if _BARE_NUMBER.fullmatch(number) else number


def indexed_text(headings: Sequence[str], text: str, rule: TextRule = "headings_text") -> str:
    """The text of an article for indexing and encoding.

    Args:
        headings: The divisions above the article, from the top.
        text: The article's words.
        rule: "headings_text" is the headings joined by spaces, a space, the text; "text" is the
            text alone.

    Raises:
        ValueError: The rule is unknown.
    """
    if rule == "headings_text":
        return " ".join([*headings, text])
    if rule == "text":
        return text
    raise ValueError(f"text_rule must be 'headings_text' or 'text', not {rule!r}")
