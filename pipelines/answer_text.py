"""An answer as a terminal shows it, every doubt beside what it is about."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from pipelines.reply_text import DOUBT, as_written

WIDTH = 97
_HEADS = {
    "generated": (
        f"Answer, written by a language model and checked against the articles; {DOUBT} is a doubt:"
    ),
    "verbatim": "What the articles say:",
    "nothing found": "Nothing that was found is near enough to answer this.",
}


def answer_lines(answer: Mapping[str, Any]) -> str:
    """The answer, its sources and its notices; `answer` as `pipelines.asking.ask` gives it."""
    closest = answer["closest"]
    nothing = answer["state"] == "nothing found"
    lines = [_HEADS[answer["state"]] if closest or not nothing else "Nothing was found.", ""]
    for statement in answer["statements"]:
        told = _marked(statement) if answer["state"] == "generated" else statement["text"]
        lines += [line for part in told.splitlines() for line in textwrap.wrap(part, WIDTH)]
    lines += [] if not answer["statements"] else [""]
    for source in answer["sources"]:
        place = f"[{source['label']}] {source.get('law', '')}, {source.get('number', '')}"
        lines.append(place if source["state"] == "unknown" else f"{place} · {source['state']}")
    if nothing and closest and not closest["enough"]:
        lines.append(
            f"The closest is {closest['law']}, {closest['number']}: score {closest['score']:.3f}, "
            f"and {closest['threshold']:.3f} is asked for."
        )
    lines += [f"Note: {notice['text']}" for notice in answer["notices"]]
    return textwrap.indent("\n".join(lines).rstrip(), "   ").lstrip()


def _marked(statement: Mapping[str, Any]) -> str:
    """A sentence with its doubts in brackets, each behind the words that it is about."""
    text: str = statement["text"]
    doubts = [
        (check["end"] - statement["start"], f"{check['state']}: {as_written(check['why'])}")
        for check in (*statement["citations"], *statement["quotations"])
        if check["state"] != "verified"
    ]
    parts, last = [], 0
    for end, doubt in sorted(doubts):
        parts.append(f"{as_written(text[last:end])} <{DOUBT} {doubt}>")
        last = end
    return "".join(parts) + as_written(text[last:])
