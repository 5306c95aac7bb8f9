"""The result of checking a reply.

There are three states, not two: what was looked up and is there is verified, what was looked up and
is not there is not found, and what could not be looked up is not checked. A verified citation names
an article that was given; it does not mean that the article supports the sentence.
"""

# No postponed annotations: Haystack's tools resolve them where these names are not known.
import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

CheckState = Literal["verified", "not found", "not checked"]


@dataclass(frozen=True, slots=True)
class CheckedCitation:
    """A citation of a reply.

    Attributes:
        start, end: Its span in the reply.
        text: Its words.
        state: Whether it names an article that was given.
        ids: Ids of the articles that it names.
        why: What speaks against it; "" if verified.
    """

    start: int
    end: int
    text: str
    state: CheckState
    ids: tuple[str, ...]
    why: str = ""


@dataclass(frozen=True, slots=True)
class CheckedQuotation:
    """A quotation of a reply.

    Attributes:
        start, end: Its span in the reply, with its marks.
        text: What is quoted.
        state: Whether it is, in one piece, in the article cited for it; "[...]" may stand for whole
            sentences of it.
        id: The article in which it was looked up; None if none is cited.
        passage: Its span in that article's text.
        why: What speaks against it; "" when verified.
    """

    start: int
    end: int
    text: str
    state: CheckState
    id: str | None = None
    passage: tuple[int, int] | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class CheckedStatement:
    """A sentence of a reply.

    Attributes:
        start, end: Its span in the reply.
        text: Its words.
        cited: Whether it contains a verified citation.
        uncited: Whether it makes a statement without naming any article.
        citations, quotations: Those within it, in order.
    """

    start: int
    end: int
    text: str
    cited: bool
    uncited: bool
    citations: tuple[CheckedCitation, ...]
    quotations: tuple[CheckedQuotation, ...]


@dataclass(frozen=True, slots=True)
class CheckedReply:
    """A reply, sentence by sentence.

    Attributes:
        text: As written.
        statements: Its sentences, in order.
    """

    text: str
    statements: tuple[CheckedStatement, ...]

    def to_dict(self) -> dict[str, Any]:
        """The reply in plain values, as JSON has them."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "CheckedReply":
        """The reply that `to_dict` described."""
        statements = []
        for fields in data["statements"]:
            citations = tuple(
                CheckedCitation(**(each | {"ids": tuple(each["ids"])}))
                for each in fields["citations"]
            )
            quotations = tuple(
                CheckedQuotation(**(each | {"passage": each["passage"] and tuple(each["passage"])}))
                for each in fields["quotations"]
            )
            checks = {"citations": citations, "quotations": quotations}
            statements.append(CheckedStatement(**(fields | checks)))
        return cls(data["text"], tuple(statements))

    @property
    def citations(self) -> list[CheckedCitation]:
        """All citations, in order."""
        return [each for statement in self.statements for each in statement.citations]

    @property
    def quotations(self) -> list[CheckedQuotation]:
        """All quotations, in order."""
        return [each for statement in self.statements for each in statement.quotations]
