"""The result of checking a reply, and of auditing a document.

There are three states, not two: what was looked up and is there is verified, what was looked up and
is not there is not found, and what could not be looked up is not checked. A verified citation names
an article that was given; it does not mean that the article supports the sentence.
"""

# No postponed annotations: Haystack's tools resolve them where these names are not known.
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

CheckState = Literal["verified", "not found", "not checked"]
Verdict = Literal[
    "verified",
    "not given",
    "does not exist",
    "not in force",
    "subject differs",
    "unknown law",
    "not checked",
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
FALSE: frozenset[Verdict] = frozenset(("does not exist", "not in force", "subject differs"))
"""The verdicts that speak against a citation."""


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


@dataclass(frozen=True, slots=True)
class AuditedCitation:
    """A citation of a document, checked against a collection of laws.

    Attributes:
        start, end: Its span in the text.
        text: Its words.
        verdict: "verified": the article exists and, as far as its dates tell, was in force on the
            day. "not given": likewise, but it is not among the articles that the text was written
            from. "does not exist": the law has no such article, or no such paragraph. "not in
            force": it was repealed, or was not yet in force. "subject differs": it exists, but the
            sentence has the words of another article. "unknown law": the collection does not hold
            the law. "not checked": what it names is in doubt.
        ids: Ids of the articles that it names; of several wordings the one of the day.
        law: The law that it names; None if unknown.
        why: What speaks against it, or why it was not checked; "" if verified.
    """

    start: int
    end: int
    text: str
    verdict: Verdict
    ids: tuple[str, ...] = ()
    law: str | None = None
    why: str = ""


def verdict_counts(citations: Iterable[AuditedCitation]) -> dict[str, int]:
    """How many citations have each verdict that occurs; "not checked" always."""
    counts = Counter(each.verdict for each in citations)
    return {each: counts[each] for each in VERDICTS if counts[each] or each == "not checked"}
