"""HTML of an article: its words, its state, what to take away, and its place in the law."""

from __future__ import annotations

import html
from collections.abc import Mapping
from datetime import date
from typing import Any

from components.statutes.article import Article
from ui.article_text import law_attributes, whole_text, words
from ui.collection import Collection
from ui.language import Language, address, day
from ui.law.asked import KINDS
from ui.law.links import ARTICLE, article_link
from ui.law.neighbours import picture_figure, place_section
from ui.law.parts import trail
from ui.law.reading import Law
from ui.naming import article_title, citation
from ui.notice import beyond, notice
from ui.states import state_line, wordings_list
from ui.takeaway import web_address
from ui.texts import law as law_texts
from ui.texts.article import TEXTS


def article_main(
    article: Article,
    found: Mapping[str, Any],
    law: Law | None,
    on: date | None,
    site: str,
    collection: Collection,
    language: Language,
) -> str:
    """The content of the view.

    Args:
        article: The article.
        found: The same, as `pipelines.asking.found_article` makes it for the day.
        law: Everything; None while it is being read.
        on: The day that was asked for; None for today.
        site: Scheme and host of this page, for the permanent link.
        collection: What is searched.
        language: Of the interface.

    Raises:
        StoreError: The store cannot be read.
    """
    tongue = law_attributes(article.language)
    title = article_title(article.number)
    of = f" <span{tongue}>{words(article.law)}</span>" if article.law else ""
    texts = TEXTS[language]
    text = whole_text(article.text) or f"<p>{words(texts.no_text)}</p>"
    open_ = beyond(collection, on, language)
    return (
        f"{trail(article.law, article.headings, title, tongue, language, on)}"
        f'<div class="reading"><article><h1>{words(title)}{of}</h1>'
        f"{_state(article, found, on, open_, language)}{notice(collection, language)}"
        f'<div class="law"{tongue}>{text}</div>{_official(article, language)}</article>'
        f"{_place(article, law, on, language)}{_take_away(found, on, site, language)}</div>"
        f"{picture_figure(article, language) if _is_placed(article, law) else ''}"
    )


def _state(
    article: Article, found: Mapping[str, Any], on: date | None, open_: str, language: Language
) -> str:
    """The state on the day, what that day leaves open, and how to ask for another day."""
    texts = TEXTS[language]
    that_day = words(texts.states_on.format(day=day(on, language))) if on else ""
    back = (
        f'<p class="today"><a href="{words(article_link(article.id, language))}">'
        f"{words(texts.today)}</a></p>"
        if on
        else ""
    )
    limit = f"<p>{words(open_)}</p>" if open_ else ""
    return (
        f'<div class="standing">{f"<p>{that_day}</p>" if on else ""}{state_line(found, language)}'
        f"{wordings_list(found, language, on)}"
        f"{limit}{back}{_ask_day(article, on, language)}</div>"
    )


def _ask_day(article: Article, on: date | None, language: Language) -> str:
    """The form for another day; none where no day would say more."""
    if on is None and article.valid_from is None and article.valid_to is None:
        return ""
    texts = TEXTS[language]
    value = f' value="{on.isoformat()}"' if on else ""
    return (
        f"<details{' open' if on else ''}><summary>{words(texts.ask_day)}</summary>"
        f'<form action="{address(ARTICLE, language)}" method="get">'
        f'<input type="hidden" name="id" value="{html.escape(article.id)}">'
        f'<label>{words(texts.day)} <input type="date" name="on" required{value}></label>'
        f'<button type="submit">{words(texts.show)}</button></form></details>'
    )


def _official(article: Article, language: Language) -> str:
    url = web_address(article.source_url)
    if not url:
        return ""
    return (
        f'<p class="source"><a href="{words(url)}" rel="noopener noreferrer">'
        f"{words(TEXTS[language].official)}</a></p>"
    )


def _place(article: Article, law: Law | None, on: date | None, language: Language) -> str:
    if law is not None and _is_placed(article, law):
        return place_section(law, law.position_of[article.id], language, on)
    texts = TEXTS[language]
    waiting = law_texts.TEXTS[language]
    told = waiting.being_read if law is None else texts.nowhere
    again = (
        f' <a href="{words(article_link(article.id, language, on))}">{words(waiting.again)}</a>'
        if law is None
        else ""
    )
    return (
        f'<section class="place" aria-labelledby="place"><h2 id="place">{words(texts.place)}</h2>'
        f"<p>{words(told)}{again}</p></section>"
    )


def _take_away(found: Mapping[str, Any], on: date | None, site: str, language: Language) -> str:
    texts = TEXTS[language]
    id_ = str(found["id"])
    permalink = site + article_link(id_, language, on)
    files = [
        (article_link(id_, language, on, **{"as": kind}), getattr(texts, kind)) for kind in KINDS
    ]
    saved = "".join(f'<li><a href="{words(link)}">{words(name)}</a></li>' for link, name in files)
    return (
        f'<section class="keep" aria-labelledby="take"><h2 id="take">'
        f"{words(texts.take_away)}</h2><h3>{words(texts.citation)}</h3>"
        f'<p><span class="copyable" dir="auto">{words(citation(found))}</span></p>'
        f"<h3>{words(texts.permalink)}</h3>"
        f'<p><span class="copyable" data-button="{words(texts.copy_link)}">{words(permalink)}'
        "</span></p>"
        f"<h3>{words(texts.save)}</h3><ul>{saved}</ul></section>"
    )


def _is_placed(article: Article, law: Law | None) -> bool:
    return law is not None and article.id in law.position_of
