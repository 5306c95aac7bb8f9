"""An article of law, the unit that is indexed, encoded and found."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import date
from functools import cache
from typing import Any, Literal

from components.statutes.languages import TYPED, whole_words, words_of
from components.statutes.sources.units import unit_pattern

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


def listed(names: Sequence[str], most: int) -> str:
    """The first of some names, and how many more there are.

    >>> listed(["1", "2", "3"], 2)
    '1, 2 and 1 more'
    """
    more = f" and {len(names) - most:,} more" if names[most:] else ""
    return ", ".join(names[:most]) + more


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


# Notes that stand in place of repealed law: "(weggefallen)", "Abrogé par la loi n° 7 de 1999".

_UNIT = f"(?:{unit_pattern('before')}|{unit_pattern('after')}|{words_of('repealed units')['*']})"
_NUMBER = r"(?:(?:\d[\w.\-–—/()]*|(?:[ivxlc]+|und|bis|and|to|et|al|[^\W\d_])\b[.,]?|[,.–—-])\s*)*+"
_WAS, _ITSELF = words_of("was")["*"], words_of("this")["*"]
_IS = f"{_WAS}|is|are|ist|est|es|está|queda|é|è"
# The history of an article that was added later: "Inserted by ... (AS 1984 778). Repealed by ...",
# "[1995 c.758 §3; repealed by ...".
_INSERTED = rf"(?:(?:{words_of('inserted')['*']})\b.*?\d.*?[.)]\s+|\d{{4}} c\.[^\]]*;\s+)?"
_OPENED = r"[\s\[({（【〔<«*_\"'-]*"


@cache
def _note() -> re.Pattern[str]:
    repealed = "|".join(words_of("repealed").values())
    return re.compile(
        rf"{_OPENED}{_INSERTED}(?:(?:{_ITSELF})\s+{_UNIT}\s+(?:(?:{_IS})\s+)?"
        rf"|(?:(?:\d[\w.–-]*\s*)?(?:{_UNIT}\s*{_NUMBER})+)?(?:(?:{_WAS})\s+)?)[\s.:–—-]*{_OPENED}"
        rf"(?:{repealed})(?!\w)(?P<rest>.*)",
        re.IGNORECASE | re.DOTALL,
    )


# An act or a day has a number.
_ACT_OR_DAY = re.compile(
    rf"\s*(?:[^\w\s]|\d|(?:{words_of('repealed by')['*']})(?!\w)).*\d", re.IGNORECASE | re.DOTALL
)
_OBLIGES = re.compile(rf"\b(?:{words_of('obliges')['*']})\b", re.IGNORECASE)
# A full stop behind a short word or a number is an abbreviation's: "Abs. 2", "15. Dez.".
_NEXT_SENTENCE = re.compile(
    r"(?:[^\W\d_]{5,}\.|[)\]](?:\.|(?=\s+(?-i:[A-ZÀ-Þ]))))\s+(?P<words>\w.*)", re.DOTALL
)
_IN_BRACKETS = re.compile(r"[\s*]*[\[({（【〔<].*[\])}）】〕>]\W*$", re.DOTALL)
_MARKUP = re.compile(r"\]\([^()\s]*\)|<sup>.*?</sup>|\[\^\w+\]|[¹²³⁴-⁹]+")
_OF_ARTICLE = re.compile(rf"{_OPENED}{_UNIT}\s", re.IGNORECASE)
_PARAGRAPH = re.compile(r"^\s*(?:\((\d+)[a-z]?\)|(\d+)[.)]|stk\. ?(\d+)\.)\s+", re.IGNORECASE)
_DASHES = re.compile(r"[\s–—-]*")
_DOTS = re.compile(r"[\w()]{0,6}[\s.…·]{4,}")
_SENTENCE_ENDS = (".", ":", ";", ",")
_LONGEST, _LONGEST_TITLE = 600, 120  # characters


def is_repeal_note(text: str) -> bool:
    """Whether a text only notes that its article was repealed, moved or left empty.

    The note may name the act and the day, and the article's title may stand above it. A text that
    repeals something else is not one.

    >>> is_repeal_note("(weggefallen)"), is_repeal_note("Repealed by Act 7 of 1999, s. 4.")
    (True, True)
    >>> is_repeal_note("The Barge Act is repealed.")
    False
    """
    if len(text) > _LONGEST:
        return False
    lines = _lines(_MARKUP.sub(" ", text))
    if all(map(_is_note, lines)):
        return bool(text.strip())
    return len(lines) > 1 and _is_title(lines[0], lines[1]) and all(map(_is_note, lines[1:]))


def _lines(text: str) -> list[str]:
    """Lines that hold words; one within open brackets goes on with the next."""
    lines: list[str] = []
    for line in text.splitlines():
        if lines and lines[-1].count("(") > lines[-1].count(")"):
            lines[-1] += f" {line}"
        elif not _DASHES.fullmatch(line):
            lines.append(line)
    return lines


def _is_title(line: str, note: str) -> bool:
    """Whether a line is the title above a note, not a provision above a repealed one."""
    if len(line) > _LONGEST_TITLE or _PARAGRAPH.match(line) or _OBLIGES.search(line):
        return False
    numbered = _PARAGRAPH.match(note)
    if numbered and numbered[numbered.lastindex or 0] != "1":
        return False
    # Titles that end with a full stop look like sentences, unless the note speaks of the article.
    return not line.rstrip().endswith(_SENTENCE_ENDS) or bool(_OF_ARTICLE.match(note))


def _is_note(line: str) -> bool:
    line = _PARAGRAPH.sub("", line)
    if _DOTS.fullmatch(line):
        return True
    note = _note().match(line)
    if note is None:
        return False
    rest = note["rest"]
    if not re.search(r"\w", rest):
        return True
    is_bracketed = _IN_BRACKETS.match(line)
    if not (is_bracketed or _ACT_OR_DAY.match(rest)) or _OBLIGES.search(rest):
        return False
    following = _NEXT_SENTENCE.search(rest)
    if following is None:
        return True
    small = [word for word in re.findall(r"[^\W\d_]{2,}", following["words"]) if word.islower()]
    return len(small) < (4 if re.search(r"\d", following["words"]) else 2)


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
        jurisdiction: Whose law it is: "us/or/portland" stands below "us/or".
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
    jurisdiction: str | None = None

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
        record = {each.name: getattr(self, each.name) for each in fields(self)}
        record |= {
            "headings": list(self.headings),
            "valid_from": self.valid_from and self.valid_from.isoformat(),
            "valid_to": self.valid_to and self.valid_to.isoformat(),
            "law_names": list(self.law_names) or None,
        }
        return {name: value for name, value in record.items() if value is not None}


def spoken_number(number: str, form: str = "Article {number}") -> str:
    """An article's number as a heading: "Article 12"; "Art. 12", "Section 5", "第一条" as is.

    Args:
        number: As the corpus has it.
        form: How a bare number is written.
    """
    return form.format(number=number) if _BARE_NUMBER.fullmatch(number) else number


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
