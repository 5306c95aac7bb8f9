"""Checks a reply against the articles that it was written from."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

from components.statutes.article import Article
from components.statutes.replies.checked import (
    CheckedCitation,
    CheckedQuotation,
    CheckedReply,
    CheckedStatement,
    CheckState,
)
from components.statutes.replies.citations import checked_citations
from components.statutes.replies.quotations import Quotation, find_quotations
from components.statutes.replies.text import (
    ArticleSentence,
    PlainText,
    article_sentences,
    plain_text,
    says_something,
    sentence_spans,
    trimmed,
)

SHORTEST_QUOTATION = 12
TOO_SHORT = f"shorter than {SHORTEST_QUOTATION} characters"
# In some styles the sentence's punctuation goes inside the closing mark.
_ENDING = ".,;:!?。，；：！？、 "
_EMPHASIS = re.compile(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)")
_SENTENCES_LEFT_OUT = re.compile(r"\s*\[ ?\.\.\. ?\]\s*")
_LEFT_OUT = re.compile(r"^(?:\[?\s?\.\.\.\s?\]?\s*)|(?:\s*\[?\s?\.\.\.\s?\]?)$")
# Text that may come between a quotation and the citation attached to it.
_ATTACHING = re.compile(
    r"(?:[\s.,;:!?()*_\"'”’»]|\b(?:as|in|of|under|see|per|the|cf|according|to|says|laut|gemäß|nach|vgl"
    r"|selon|voir|dans|theo|pursuant)\b)*",
    re.IGNORECASE,
)
_JOINING = re.compile(r"(?:[\s,;&]|\b(?:and|or|et|ou|und|oder|that)\b)*", re.IGNORECASE)


def check_reply(reply: str, sources: Sequence[Article]) -> CheckedReply:
    """Check every citation and quotation of a reply.

    - A citation is a reference mark ([1], [2, 3]), or one in words ("section 12 of the Housing
      Code"). It must name one of the sources.
    - A quotation must be one piece of the text of *the* article that is cited for it, from word to
      word, of 12 characters at least, after blanks, quotation marks and dashes are made alike.
      `articles_of` says which article that is; of several, each must have it. "[...]" may stand
      for whole sentences, but for none that may restrict the sentence before ("unless", "within").
    - A list of sources that the reply adds ("[1]: Criminal Code, section 99") must name the article
      that was given under that number. Otherwise the number is not found.

    Args:
        reply: What was written.
        sources: The articles that it was written from, each id once.
    """
    quotations = find_quotations(reply)
    citations = checked_citations(reply, sources, quotations)
    cited = [(each.start, each.end) for each in citations]
    quoted = [(each.start, _with_source(each, cited)) for each in quotations]
    # A block may begin with blanks, but a sentence does not.
    begun = [(each, trimmed(reply, each.start, each.end)[0]) for each in quotations]
    texts = _Texts(sources)
    statements = []
    for start, end in sentence_spans(reply, [*quoted, *cited], cited):
        own = [each for each in citations if start <= each.start < end]
        near = [each for each, begin in begun if start <= begin < end]
        cited_for = articles_of(near, own, reply)
        checked = [texts.checked(*each) for each in zip(near, cited_for, strict=True)]
        text = reply[start:end]
        statements.append(
            CheckedStatement(
                start,
                end,
                text,
                any(each.state == "verified" for each in own),
                not own and says_something(text, reply[end:]),
                tuple(own),
                tuple(checked),
            )
        )
    return CheckedReply(reply, tuple(statements))


def _with_source(quotation: Quotation, cited: Sequence[tuple[int, int]]) -> int:
    """Where a quotation ends, with the line after it where that cites an article."""
    end, source_end = quotation.end, quotation.source_end
    if source_end is None or not any(end <= first < source_end for first, _ in cited):
        return end
    return source_end


class _Texts:
    """The sources' texts as they are compared, each made once."""

    def __init__(self, sources: Sequence[Article]) -> None:
        self._sources = {each.id: each for each in sources}
        self._plain: dict[str, PlainText] = {}

    def checked(
        self, quotation: Quotation, cited_for: tuple[tuple[str, ...], str]
    ) -> CheckedQuotation:
        """A quotation, looked up.

        Args:
            quotation: What is quoted.
            cited_for: The articles that it claims to be from, and what makes them doubtful.
        """
        state: CheckState = "not checked"
        id_: str | None = None
        passage: tuple[int, int] | None = None
        words = _LEFT_OUT.sub("", plain_text(_EMPHASIS.sub("", quotation.text)).text)
        # The law itself may contain such signs: "R. *231-1".
        as_written = _LEFT_OUT.sub("", plain_text(quotation.text).text)
        if len(words.rstrip(_ENDING)) < SHORTEST_QUOTATION:
            why = TOO_SHORT
        elif not quotation.closed:
            why = "its quotation marks do not pair"
        else:
            ids, why = cited_for
            having = {
                each: span
                for each in ids
                if (span := self._passage(each, as_written) or self._passage(each, words))
            }
            id_ = next(iter([*having, *ids]), None)
            if id_ is not None and len(having) == len(ids):
                state, passage = "verified", having[id_]
            elif id_ is not None and having:
                why = f"several articles are cited for it; it stands in {self._place(id_)}"
            else:
                state, why = self._elsewhere(as_written, words, id_, why)
        return CheckedQuotation(
            quotation.start, quotation.end, quotation.text, state, id_, passage, why
        )

    def _elsewhere(
        self, as_written: str, words: str, id_: str | None, doubt: str
    ) -> tuple[CheckState, str]:
        """State of a quotation that is not in the article cited for it, and why."""
        for source in self._sources.values():
            if self._passage(source.id, as_written) or self._passage(source.id, words):
                place = self._place(source.id)
                if id_ is not None:
                    return "not found", f"it stands in {place}, not in the article cited"
                return "not checked", f"{doubt}; it stands in {place}"
        return "not found", "none of the articles says it so"

    def _place(self, id_: str) -> str:
        source = self._sources[id_]
        return f"{source.law}, {source.number}"

    def _passage(self, id_: str, words: str) -> tuple[int, int] | None:
        if id_ not in self._plain:
            self._plain[id_] = plain_text(self._sources[id_].text)
        article = self._plain[id_]
        return (
            article.find(words)
            or article.find(words.rstrip(_ENDING))
            or self._sentences(self._sources[id_], article, _SENTENCES_LEFT_OUT.split(words))
        )

    def _sentences(
        self, source: Article, article: PlainText, parts: Sequence[str]
    ) -> tuple[int, int] | None:
        """The span of parts of an article between which whole sentences are left out, or None."""
        if len(parts) < 2:
            return None
        sentences = article_sentences(source.text, source.language)
        spans: list[tuple[int, int]] = []
        begin = 0
        for part in parts:
            span = article.find(part, begin)
            while span and spans and not _begins_sentence(source.text, sentences, span[0]):
                span = article.find(part, span[0] + 1)
            if span is None or not part:
                return None
            if spans and not _may_be_cut_behind(source.text, sentences, spans[-1][1]):
                return None
            spans.append(span)
            begin = span[1]
        return spans[0][0], spans[-1][1]


def _begins_sentence(article: str, sentences: Sequence[ArticleSentence], place: int) -> bool:
    return any(
        each.start <= place < each.end and not _has_words(article[each.start : place])
        for each in sentences
    )


def _may_be_cut_behind(article: str, sentences: Sequence[ArticleSentence], place: int) -> bool:
    """Whether a sentence ends there, and the next one does not restrict it."""
    return any(
        each.start < place <= each.end
        and not _has_words(article[place : each.end])
        and not behind.qualifies
        for each, behind in pairwise(sentences)
    )


def _has_words(text: str) -> bool:
    return any(character.isalnum() for character in text)


def articles_of(
    quotations: Sequence[Quotation], citations: Sequence[CheckedCitation], reply: str
) -> list[tuple[tuple[str, ...], str]]:
    """Ids of the article cited for each quotation of a sentence, and what makes it doubtful.

    It is the citation right after the quotation (or after a second one joined to it), else the
    last one before it, else the only one of the sentence. If two name different articles, it is
    unknown.

    Args:
        quotations: Quotations of the sentence, in order.
        citations: Citations of the sentence, in order.
        reply: What was written.

    Returns:
        For each quotation the ids, () in doubt; and the doubt, "" where there is none.
    """
    attached = _attached(quotations, citations, reply)
    taken = {id(each) for each in attached if each is not None}
    free = [each for each in citations if id(each) not in taken]
    # After the last quotation, and attached to none.
    trailing = [each for each in free if quotations and each.start >= quotations[-1].end]
    found = []
    for quotation, own in zip(quotations, attached, strict=True):
        before = next((each for each in reversed(free) if each.end <= quotation.start), None)
        claims = [each for each in (own, before, *trailing) if each is not None]
        if not claims:
            # A citation attached to another quotation does not count for this one.
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
    """The citation right after each quotation, or after the next where "and" joins the two."""
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
