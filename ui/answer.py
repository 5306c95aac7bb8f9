"""HTML of an answer: its sentences, and in words what the check found of each.

As all of the page's HTML (see `ui.render`) it stands on one line.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from ui.article_text import words

_VERDICTS = {
    "verified": "word for word in the article",
    "not found": "not found",
    "not checked": "could not be checked",
}


def answer_panel(answer: Mapping[str, Any]) -> str:
    """An answer as `pipelines.asking.ask` gives it; empty where nothing was found."""
    if answer["state"] == "nothing found":
        return ""
    if answer["state"] == "verbatim":
        head = '<h2 tabindex="-1">In the law&#x27;s own words</h2>'
        body = _quoted(answer)
    else:
        head = (
            '<h2 tabindex="-1">An answer</h2><p class="written">Written by a language model from'
            " the articles below. Whatever it quotes or cites was looked up there; that the words"
            " stand in the law does not mean that they answer you. Read the article.</p>"
        )
        body = "".join(f"<p>{_checked(statement)}</p>" for statement in answer["statements"])
        body += f'<ol class="sources">{_sources(answer)}</ol>'
    notices = "".join(f"<li>{words(notice['text'])}</li>" for notice in answer["notices"])
    notices = f'<ul class="notices">{notices}</ul>' if notices else ""
    return f'<div class="answer">{head}{body}{notices}</div>'


def closest(answer: Mapping[str, Any]) -> str:
    """How close the best article came, in words; empty where nobody knows."""
    best = answer.get("closest")
    if not best or best["enough"]:
        return ""
    return (
        f" The closest is {best['law']}, {best['number']}: its score is {best['score']:.2f}, and"
        f" {best['threshold']:.2f} is asked for."
    )


def _quoted(answer: Mapping[str, Any]) -> str:
    """Passages of articles; behind the last of each stands where they are from."""
    of = {source["id"]: source for source in answer["sources"]}
    quotations = [each for statement in answer["statements"] for each in statement["quotations"]]
    return "".join(
        "".join(f"<blockquote><p>{words(each['text'])}</p></blockquote>" for each in passages)
        + f'<p class="from">{_place(of[id_])}</p>'
        for id_, passages in groupby(quotations, key=lambda each: each["id"])
    )


def _place(source: Mapping[str, Any]) -> str:
    state = source["state"]
    told = "not known whether in force" if state == "unknown" else state
    return f"{words(source['law'])}, {words(source['number'])} <span>({words(told)})</span>"


def _sources(answer: Mapping[str, Any]) -> str:
    """Those of the sources that the answer cites, under the numbers that it gives them."""
    cited = {
        id_
        for statement in answer["statements"]
        for citation in statement["citations"]
        for id_ in citation["ids"]
    }
    return "".join(
        f'<li value="{int(source["label"])}">{_place(source)}</li>'
        for source in answer["sources"]
        if source["id"] in cited
    )


def _checked(statement: Mapping[str, Any]) -> str:
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
            why = f": {words(check['why'])}" if check["why"] else ""
            first, last = check["start"] - start, check["end"] - start
            opened[first] = opened.get(first, "") + f'<span class="{css}">'
            # What begins later ends first, so that spans stay within one another.
            closed[last] = (
                f'</span> <span class="verdict {css}">({_VERDICTS[state]}{why})</span>'
                + closed.get(last, "")
            )
    places = sorted({0, len(text), *opened, *closed})
    parts = []
    for place, after in zip(places, [*places[1:], len(text)], strict=True):
        parts += [closed.get(place, ""), opened.get(place, ""), words(text[place:after])]
    uncited = (
        "" if not statement["uncited"] else ' <span class="verdict doubt">(no article named)</span>'
    )
    return "".join(parts) + uncited
