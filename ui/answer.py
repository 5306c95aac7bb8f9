"""HTML of an answer: its sentences, and in words what the check found of each.

As all of the page's HTML (see `ui.results`) it stands on one line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import groupby
from typing import Any

from pipelines.asking import DOUBT, VERIFIED, as_written
from ui.article_text import law_attributes, whole_text, words
from ui.language import Language, counted
from ui.law.links import article_link
from ui.naming import citation
from ui.texts.answers import TEXTS, AnswerTexts

_LINE_ENDS = re.compile("[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")


def answer_panel(answer: Mapping[str, Any], language: Language, on: date | None = None) -> str:
    """An answer; empty where nothing was found.

    Args:
        answer: as `pipelines.asking.ask` gives it.
        language: of the interface.
        on: the day on which the articles that it links to are shown; None for today.
    """
    texts = TEXTS[language]
    if answer["state"] == "nothing found":
        return ""
    if answer["state"] == "verbatim":
        head = f'<h2 tabindex="-1">{words(texts.verbatim)}</h2>'
        body = _quoted(answer, language, on)
    else:
        head = (
            f'<h2 tabindex="-1">{words(texts.generated)}</h2>'
            f'<p class="written">{words(texts.written)}</p>'
        )
        body = "".join(
            f'<p dir="auto">{_checked(each, language, on)}</p>' for each in answer["statements"]
        )
        body += f'<ol class="sources">{_sources(answer, language, on)}</ol>'
    told = "".join(f"<li>{_notice(each, texts, language)}</li>" for each in answer["notices"])
    notices = f'<ul class="notices">{told}</ul>' if told else ""
    return f'<div class="answer">{head}{body}{notices}</div>'


def _notice(notice: Mapping[str, Any], texts: AnswerTexts, language: Language) -> str:
    code = notice["code"]
    if code in texts.counted:
        return words(counted(notice["count"], texts.counted[code], language))
    articles = "; ".join(
        f"{citation(each)} ({texts.states[each['state']]})" for each in notice.get("articles", [])
    )
    failure = _told(str(notice.get("failure", "")), texts.failures, texts)
    return words(getattr(texts, code)).format(articles=words(articles), failure=failure)


def _told(english: str, table: Mapping[str, str], texts: AnswerTexts) -> str:
    """HTML of words that are English, in the page's language where a table has them.

    What stands behind them in brackets is told as it is.
    """
    if texts is TEXTS["en"]:
        return words(english)
    for known in (english, english.partition(" (")[0]):
        if known in table:
            rest = english[len(known) :]
            return words(table[known]) + (
                f' <span lang="en">{words(rest.strip())}</span>' * bool(rest)
            )
    return f'<span lang="en">{words(english)}</span>'


def _quoted(answer: Mapping[str, Any], language: Language, on: date | None) -> str:
    """Passages of articles; behind the last of each stands where they are from."""
    of = {source["id"]: source for source in answer["sources"]}
    quotations = [each for statement in answer["statements"] for each in statement["quotations"]]
    return "".join(
        "".join(
            f'<blockquote class="law"{law_attributes(of[id_].get("language"))}>'
            f"{whole_text(str(each['text']))}</blockquote>"
            for each in passages
        )
        + f'<p class="from">{_place(of[id_], language, on)}</p>'
        for id_, passages in groupby(quotations, key=lambda each: each["id"])
    )


def _place(source: Mapping[str, Any], language: Language, on: date | None) -> str:
    link = words(article_link(str(source["id"]), language, on))
    state = words(TEXTS[language].states[source["state"]])
    law = str(source["law"])
    article = words(citation(source).removeprefix(law))
    # The law's name is in the law's language, and the rest in the page's.
    name = f"<span{law_attributes(source.get('language'))}>{words(law)}</span>" if law else ""
    return f'<a href="{link}"><bdi>{name}{article}</bdi></a> <span>({state})</span>'


def _sources(answer: Mapping[str, Any], language: Language, on: date | None) -> str:
    """Those of the sources that the answer cites, under the numbers that it gives them."""
    cited = {
        id_
        for statement in answer["statements"]
        for citation in statement["citations"]
        for id_ in citation["ids"]
    }
    return "".join(
        f'<li value="{int(source["label"])}">{_place(source, language, on)}</li>'
        for source in answer["sources"]
        if source["id"] in cited
    )


def _checked(statement: Mapping[str, Any], language: Language, on: date | None) -> str:
    """A sentence; behind each quotation, and each citation in doubt, stands what was found.

    A citation that holds is a link to the one article that it names.
    """
    texts = TEXTS[language]
    text, start = str(statement["text"]), int(statement["start"])
    spans = [(each["start"], each["end"]) for each in _checks(statement)]
    opened: dict[int, str] = {}
    closed: dict[int, str] = {}
    for check in _checks(statement):
        verified, cites = check["state"] == "verified", "ids" in check
        css = "verified" if verified else "doubt"
        begins = f'<span class="{css}">'
        ends = f"</span> {_said(css, _verdict(check, texts))}"
        if verified and cites:
            if len(check["ids"]) > 1 or _crossed((check["start"], check["end"]), spans):
                continue
            link = words(article_link(check["ids"][0], language, on))
            begins, ends = f'<a href="{link}">', "</a>"
        first, last = check["start"] - start, check["end"] - start
        opened[first] = opened.get(first, "") + begins
        # What begins later ends first, so that elements stay within one another.
        closed[last] = ends + closed.get(last, "")
    places = sorted({0, len(text), *opened, *closed})
    parts = []
    for place, after in zip(places, [*places[1:], len(text)], strict=True):
        parts += [closed.get(place, ""), opened.get(place, ""), _lines(text[place:after])]
    if statement["uncited"]:
        parts.append(f" {_said('doubt', words(texts.uncited))}")
    return "".join(parts)


def _checks(statement: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*statement["quotations"], *statement["citations"]]


def _crossed(span: tuple[int, int], others: Sequence[tuple[int, int]]) -> bool:
    """Whether another span begins or ends within this one: a link must hold no other."""
    start, end = span
    return any(
        first < end and start < last and not (first <= start and end <= last)
        for first, last in others
    )


def _lines(text: str) -> str:
    """A reply's words, line by line, on one line of HTML."""
    return "<br>".join(words(line) for line in _LINE_ENDS.split(as_written(text)))


def _said(css: str, verdict: str) -> str:
    """A verdict behind the sign that none of the reply's own words has."""
    sign = VERIFIED if css == "verified" else DOUBT
    return f'<span class="verdict {css}" dir="auto">({sign} {verdict})</span>'


def _verdict(check: Mapping[str, Any], texts: AnswerTexts) -> str:
    verdict, why = words(texts.verdicts[check["state"]]), as_written(str(check["why"]))
    if not why:
        return verdict
    return words(texts.because).format(verdict=verdict, why=_why(why, texts))


def _why(english: str, texts: AnswerTexts) -> str:
    """HTML of what speaks against a citation or quotation, with the names in it as they are."""
    if english not in texts.whys:
        for pattern, told in texts.named_whys.items():
            named = re.fullmatch(pattern, english, re.DOTALL)
            if named:
                return words(told).format_map(
                    {name: _named(name, part, texts) for name, part in named.groupdict().items()}
                )
    return _told(english, texts.whys, texts)


def _named(name: str, part: str, texts: AnswerTexts) -> str:
    if name == "why":
        return _why(part, texts)
    return words(texts.verdicts[part] if name == "state" else part)
