"""HTML of an answer: its sentences, and in words what the check found of each.

As all of the page's HTML (see `ui.results`) it stands on one line.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from ui.article_text import law_attributes, whole_text, words
from ui.language import Language, counted
from ui.law.links import article_link
from ui.naming import citation
from ui.texts.answers import TEXTS, AnswerTexts


def answer_panel(answer: Mapping[str, Any], language: Language) -> str:
    """An answer as `pipelines.asking.ask` gives it; empty where nothing was found."""
    texts = TEXTS[language]
    if answer["state"] == "nothing found":
        return ""
    if answer["state"] == "verbatim":
        head = f'<h2 tabindex="-1">{words(texts.verbatim)}</h2>'
        body = _quoted(answer, language)
    else:
        head = (
            f'<h2 tabindex="-1">{words(texts.generated)}</h2>'
            f'<p class="written">{words(texts.written)}</p>'
        )
        body = "".join(
            f'<p dir="auto">{_checked(each, texts)}</p>' for each in answer["statements"]
        )
        body += f'<ol class="sources">{_sources(answer, language)}</ol>'
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


def _quoted(answer: Mapping[str, Any], language: Language) -> str:
    """Passages of articles; behind the last of each stands where they are from."""
    of = {source["id"]: source for source in answer["sources"]}
    quotations = [each for statement in answer["statements"] for each in statement["quotations"]]
    return "".join(
        "".join(
            f'<blockquote class="law"{law_attributes(of[id_].get("language"))}>'
            f"{whole_text(str(each['text']))}</blockquote>"
            for each in passages
        )
        + f'<p class="from">{_place(of[id_], language)}</p>'
        for id_, passages in groupby(quotations, key=lambda each: each["id"])
    )


def _place(source: Mapping[str, Any], language: Language) -> str:
    link = words(article_link(str(source["id"]), language))
    state = words(TEXTS[language].states[source["state"]])
    return f'<a href="{link}"><bdi>{words(citation(source))}</bdi></a> <span>({state})</span>'


def _sources(answer: Mapping[str, Any], language: Language) -> str:
    """Those of the sources that the answer cites, under the numbers that it gives them."""
    cited = {
        id_
        for statement in answer["statements"]
        for citation in statement["citations"]
        for id_ in citation["ids"]
    }
    return "".join(
        f'<li value="{int(source["label"])}">{_place(source, language)}</li>'
        for source in answer["sources"]
        if source["id"] in cited
    )


def _checked(statement: Mapping[str, Any], texts: AnswerTexts) -> str:
    """A sentence; behind each quotation, and each citation in doubt, stands what was found."""
    text, start = str(statement["text"]), int(statement["start"])
    opened: dict[int, str] = {}
    closed: dict[int, str] = {}
    for kind in ("quotations", "citations"):
        for check in statement[kind]:
            state = check["state"]
            if kind == "citations" and state == "verified":
                continue
            css = "verified" if state == "verified" else "doubt"
            told = _verdict(check, texts)
            first, last = check["start"] - start, check["end"] - start
            opened[first] = opened.get(first, "") + f'<span class="{css}">'
            # What begins later ends first, so that spans stay within one another.
            closed[last] = (
                f'</span> <span class="verdict {css}" dir="auto">({told})</span>'
                + closed.get(last, "")
            )
    places = sorted({0, len(text), *opened, *closed})
    parts = []
    for place, after in zip(places, [*places[1:], len(text)], strict=True):
        parts += [closed.get(place, ""), opened.get(place, ""), words(text[place:after])]
    if statement["uncited"]:
        parts.append(f' <span class="verdict doubt" dir="auto">({words(texts.uncited)})</span>')
    return "".join(parts)


def _verdict(check: Mapping[str, Any], texts: AnswerTexts) -> str:
    verdict, why = words(texts.verdicts[check["state"]]), str(check["why"])
    if not why:
        return verdict
    # What names an article or a number is told in the words of the check.
    return words(texts.because).format(verdict=verdict, why=_told(why, texts.whys, texts))
