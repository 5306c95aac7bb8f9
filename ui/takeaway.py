"""Takeaway: found articles as JSON, RIS and CSL-JSON, with the date and the disclaimer inside."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Literal

from ui.collection import Collection
from ui.language import Language, day
from ui.notice import plain_notice
from ui.states import state_said
from ui.texts.takeaway import TEXTS

Kind = Literal["json", "ris", "csl"]

MEDIA_TYPES: Mapping[Kind, str] = {
    "json": "application/json",
    "ris": "application/x-research-info-systems",
    "csl": "application/vnd.citationstyles.csl+json",
}
FILE_SUFFIX: Mapping[Kind, str] = {"json": ".json", "ris": ".ris", "csl": ".csl.json"}


def export(
    kind: Kind,
    articles: Sequence[Mapping[str, Any]],
    language: Language,
    collection: Collection,
    on: date,
    today: date,
    question: str | None = None,
) -> str:
    """Articles as a file.

    Args:
        kind: "json" has everything that is known, "ris" and "csl" (CSL-JSON) are read by programs
            that keep references.
        articles: as `pipelines.asking.found_article` makes them.
        language: of the disclaimer.
        collection: what they are from.
        on: the day of which their states are.
        today: the day on which they are taken.
        question: what they were found for.
    """
    texts = TEXTS[language]
    told = (
        f"{texts.retrieved.format(day=day(today, language))} {plain_notice(collection, language)}"
    )

    def note(article: Mapping[str, Any]) -> str:
        state = state_said(article, language)
        return f"{told} {texts.state.format(day=day(on, language), state=state)}"

    if kind == "ris":
        return "".join(_ris(article, note(article), today) for article in articles)
    if kind == "csl":
        content: Any = [_csl(article, note(article), today) for article in articles]
    else:
        content = {
            "disclaimer": plain_notice(collection, language),
            "date": today.isoformat(),
            "states_on": on.isoformat(),
            "snapshot": collection.snapshot,
            "indexed": collection.indexed,
            "question": question,
            "articles": list(articles),
        }
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def _csl(article: Mapping[str, Any], note: str, today: date) -> dict[str, Any]:
    """One item of CSL-JSON, type "legislation": the law is its title, the article its section.

    It has no date of issue: that is of the law, and known is when this text came into force.
    """
    item = {
        "id": article["id"],
        "type": "legislation",
        "title": article["law"],
        "section": article["number"],
        "abstract": article["content"],
        "language": article.get("language"),
        "URL": web_address(article.get("source_url")),
        "accessed": {"date-parts": [[today.year, today.month, today.day]]},
        "note": note,
    }
    return {name: value for name, value in item.items() if value}


def _ris(article: Mapping[str, Any], note: str, today: date) -> str:
    """One reference of RIS, type STAT; without a date, for the same reason."""
    fields = [
        ("TY", "STAT"),
        ("ID", article["id"]),
        ("TI", article["law"]),
        ("SE", article["number"]),
        *(("KW", heading) for heading in article["headings"]),
        ("LA", article.get("language")),
        ("UR", web_address(article.get("source_url"))),
        ("AB", article["content"]),
        ("N1", note),
        ("Y2", today.isoformat().replace("-", "/")),
        ("ER", ""),
    ]
    # A line break would begin another field.
    return "".join(
        f"{tag}  - {' '.join(str(value or '').split())}\r\n"
        for tag, value in fields
        if value or tag == "ER"
    )


def web_address(url: object) -> str | None:
    """An address on the web; None for anything else: a corpus could hold javascript: or file:."""
    known = isinstance(url, str) and url.lower().startswith(("https://", "http://"))
    return str(url) if known else None
