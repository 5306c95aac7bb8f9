"""CitedAnswerBuilder: an answer in which every citation and quotation has a verdict."""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from haystack import Document, component
from haystack.dataclasses import GeneratedAnswer

from components.builders.prompt import NO_ANSWER
from components.converters.articles import article_of, language_of, law_of, number_of, passages_of
from components.parameters import StatuteComponent, check_count
from components.retrievers.validity import ANY, TODAY, asked_day, state_on
from components.statutes.excerpts import provision_at, quotation
from components.statutes.question import clean_question
from components.statutes.replies.citations import CheckedCitation
from components.statutes.replies.quotations import (
    TOO_SHORT,
    CheckedQuotation,
    CheckedReply,
    CheckedStatement,
)

_BLANK_LINES = re.compile(r"\n\s*\n")


def verbatim_reply(documents: Sequence[Document], whole: Collection[str] = ()) -> CheckedReply:
    """Excerpts of articles that bear on a question, word for word, each with its citation.

    It takes the passage that `StatutePassageRanker` found best, with its exceptions. An article
    without passages is quoted whole, and one without text is skipped.

    Args:
        documents: the articles; [1] is the first.
        whole: ids of the articles to quote whole.
    """
    text = ""
    statements = []
    for label, document in enumerate(documents, start=1):
        content = document.content or ""
        for first, last in _excerpt(document, whole=document.id in whole):
            text += "\n\n" * bool(text)
            words = _BLANK_LINES.sub("\n", content[first:last])  # one would end the quotation
            start, end, mark = len(text), len(text) + len(words) + 2, f"[{label}]"
            text += f"“{words}” {mark}"
            passage = (first, last)
            quoted = CheckedQuotation(start, end, words, "verified", document.id, passage)
            cited = CheckedCitation(end + 1, len(text), mark, "verified", (document.id,))
            statement = (start, len(text), text[start:], True, False, (cited,), (quoted,))
            statements.append(CheckedStatement(*statement))
    return CheckedReply(text, tuple(statements))


def _excerpt(document: Document, *, whole: bool) -> Sequence[tuple[int, int]]:
    """The spans of an article to quote, in order."""
    content = document.content or ""
    passages = [] if whole else passages_of(document.meta).get("passages", [])
    chosen = provision_at(content, passages[0]) if passages else None
    if chosen is not None:
        return quotation(content, chosen, language_of(document.meta))
    return [(0, len(content))] if content.strip() else []


# In capitals, as instructed, whatever follows; in small letters only as a sentence of its own.
_NOTHING = re.compile(rf"\W*(?:{NO_ANSWER}\b|(?i:{NO_ANSWER})\W*(?:[.!:;\n]|\Z))")
_NOT_BINDING = ("repealed", "not yet in force")
_OF_A_SOURCE = re.findall(
    r"\w+",
    "law number headings language valid_from valid_to source_url jurisdiction relation related_to "
    "shown_chars",
)


@component
class CitedAnswerBuilder(StatuteComponent):
    """Builds the answer that a person reads, from a checked reply or the articles' own words.

    ```python
    from haystack import Document

    from components.builders.cited_answer import CitedAnswerBuilder

    article = Document(id="h12", content="The deposit is returned within thirty days.")
    given = CitedAnswerBuilder().run("When do I get my deposit back?", [article])
    given["answers"][0].meta["state"]  # "verbatim"
    ```

    Unverified parts are neither left out nor shown as verified: each sentence has its citations and
        quotations with their states. Without a reply the answer quotes the best articles word for
        word.
    """

    def __init__(self, max_articles: int = 3) -> None:
        """Keep the parameters.

        Args:
            max_articles: how many articles to quote where there is no reply.

        Raises:
            ValueError: that is not a whole number from 1.
        """
        self.max_articles = max_articles
        check_count("CitedAnswerBuilder.max_articles", max_articles, 1)

    @component.output_types(answers=list[GeneratedAnswer])
    def run(
        self,
        query: str,
        documents: list[Document],
        shown: list[Document] | None = None,
        checked: list[CheckedReply] | None = None,
        failure: str = "",
        closest: dict[str, Any] | None = None,
        pinned: list[Document] | None = None,
        left_out: list[Document] | None = None,
        as_of: str | None = None,
    ) -> dict[str, list[GeneratedAnswer]]:
        """Build the answer.

        Args:
            query: the question.
            documents: the articles found, best first; empty if nothing answers.
            shown: the articles from which the reply was written, as `StatutePromptBuilder` returns
                them; None means `documents`.
            checked: the reply, checked against them.
            failure: why the expected reply is missing.
            closest: how near the best article came (`AnswerabilityGate`).
            pinned: articles that the question cites without doubt: without a reply these are
                quoted, whole.
            left_out: articles that the question cites without doubt but the filters leave out.
            as_of: the day of the articles' states, as YYYY-MM-DD; None, "today" and "any" mean
                today.

        Returns:
            `answers`: one. `data` is its text; `meta` are plain values:
            `state`: "generated", "verbatim" or "nothing found".
            `statements`: the sentences in order, each with `start`, `end` and `text` in
            `data`, whether it is `cited`, its `citations` (`start`, `end`, `text`, `state`, `ids`,
            `why`) and its `quotations` (these, and the `id` of the article and the `passage` in
            its text). A state is "verified", "not found" or "not checked".
            `sources`: the articles by their numbers in the text (`label`), each with its `state`:
            "in force", "repealed", "not yet in force" or "unknown".
            `closest`: as given. `notices`: what the reader should know: `code`, `text`, and the
            facts in it (`count`, `articles`, `failure`).

        Raises:
            QuestionError: the question is empty or too long.
            ValueError: `as_of` is neither "today", "any" nor a day.
        """
        question = clean_question(query)
        on = asked_day("CitedAnswerBuilder", as_of or TODAY) or date.today()
        notices = []
        if failure:
            text = f"No answer was written: {failure}."
            notices.append(_notice("generator_failed", text, failure=failure))
        reply = checked[0] if checked else None
        # In small letters the words may begin an answer: "Nothing found in these articles forbids".
        if reply is not None and _NOTHING.match(reply.text):
            # The articles may still answer it, so they are quoted.
            text = "The generator found no answer in these articles."
            notices.append(_notice("not_answered", text))
            reply = None
        if not documents:
            state, sources, reply = "nothing found", [], CheckedReply("", ())
        elif reply is None:
            state = "verbatim"
            named = {each.id for each in pinned or []}
            # A question that names an article gets that one.
            sources = [each for each in documents if each.id in named]
            sources = sources or documents[: self.max_articles]
            reply = verbatim_reply(sources, named)
        else:
            state = "generated"
            sources = documents if shown is None else shown
            notices += _doubts(reply, sources)
        sources = [replace(each, embedding=None) for each in sources]
        notices += _not_in_force(reply, sources, on)
        notices += _left_out(left_out or [], on, by_day=as_of != ANY)
        meta = {
            "state": state,
            "statements": reply.to_dict()["statements"],
            "sources": [_source(label, each, on) for label, each in enumerate(sources, start=1)],
            "closest": closest or None,
            "notices": notices,
        }
        return {"answers": [GeneratedAnswer(reply.text, question, sources, meta)]}


def _notice(code: str, text: str, **facts: Any) -> dict[str, Any]:
    return {"code": code, "text": text, **facts}


def _counted(code: str, count: int, one: str, many: str) -> list[dict[str, Any]]:
    """A notice of how many of something there are; none of nothing."""
    text = f"{count} {one if count == 1 else many}."
    return [_notice(code, text, count=count)] if count else []


def _doubts(reply: CheckedReply, sources: list[Document]) -> list[dict[str, Any]]:
    """Notices about the reply as a whole, from its check."""
    # A word between quotation marks is rarely a quotation.
    quotations = [each.state for each in reply.quotations if each.why != TOO_SHORT]
    states = [each.state for each in reply.citations] + quotations
    one, many = "citation or quotation", "citations or quotations"
    failed, unsure = states.count("not found"), states.count("not checked")
    unchecked = "could not be checked"
    uncited = sum(each.uncited for each in reply.statements)
    cut = sum(type(each.meta.get("shown_chars")) is int for each in sources)
    longer = "longer than what the generator was given of it"
    return [
        *_counted("not_found", failed, f"{one} was not found", f"{many} were not found"),
        *_counted("not_checked", unsure, f"{one} {unchecked}", f"{many} {unchecked}"),
        *_counted("uncited", uncited, "sentence names no article", "sentences name no article"),
        *_counted("cut", cut, f"article was {longer}", f"articles were {longer}"),
    ]


def _not_in_force(reply: CheckedReply, sources: list[Document], on: date) -> list[dict[str, Any]]:
    """Which of the cited articles are not binding on the day."""
    cited = {id_ for citation in reply.citations for id_ in citation.ids}
    articles = [_named(each, on) for each in sources if each.id in cited]
    articles = [each for each in articles if each["state"] in _NOT_BINDING]
    named = "; ".join(f"{each['law']}, {each['number']} is {each['state']}" for each in articles)
    return [_notice("not_in_force", f"{named}.", articles=articles)] if articles else []


def _left_out(documents: list[Document], on: date, *, by_day: bool) -> list[dict[str, Any]]:
    """Articles that the question names but the answer leaves out."""
    articles = [_named(each, on) for each in documents]
    reasons = []
    for document, each in zip(documents, articles, strict=True):
        why, article = "by the filters", article_of(document)
        if by_day and each["state"] == "repealed":
            last = f"; its last day in force was {article.valid_to}" if article.valid_to else ""
            why = f"repealed{last}"
        elif by_day and each["state"] == "not yet in force":
            why = f"this wording is not yet in force; its first day is {article.valid_from}"
        reasons.append(f"{each['law']}, {each['number']} ({why})")
    text = f"Named in the question, and left out: {'; '.join(reasons)}."
    return [_notice("left_out", text, articles=articles)] if reasons else []


def _named(document: Document, on: date) -> dict[str, str]:
    """An article by its name, and its state on the day."""
    return {
        "id": document.id,
        "law": law_of(document.meta),
        "number": number_of(document.meta),
        "state": state_on(on, document),
    }


def _source(label: int, document: Document, on: date) -> dict[str, Any]:
    meta = {key: document.meta[key] for key in _OF_A_SOURCE if document.meta.get(key) is not None}
    return {"label": label, "id": document.id, **meta, "state": state_on(on, document)}
