"""The routes of the law: `/law`, `/article` and `/picture`, in every language."""

from __future__ import annotations

import html
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any

from haystack import Document
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from components.converters.articles import article_of
from components.retrievers.resident import validity_of
from components.statutes.article import Article
from components.statutes.tree import ROOT
from components.stores.rows import StoreError
from pipelines.asking import found_article
from pipelines.tree_view.layout import Neighbourhood
from pipelines.tree_view.picture import SHOWN as CITATIONS_DRAWN
from pipelines.tree_view.picture import draw_picture, window
from pipelines.tree_view.svg import beginning
from ui.article import (
    FILE_SUFFIX,
    MEDIA_TYPES,
    Kind,
    article_title,
    citation,
    export,
    law_attributes,
    state_line,
    state_mark,
    web_address,
    whole_text,
    wordings_list,
    words,
)
from ui.frame import Collection, beyond, document, notice
from ui.language import (
    ARTICLE,
    LANGUAGES,
    LAW,
    PICTURE,
    Language,
    address,
    article_link,
    counted,
    day,
    division_link,
    language_of,
    number,
    picture_link,
)
from ui.law_reader import (
    KINDS,
    MOST_CHARACTERS,
    Asked,
    Law,
    Places,
    WrongRequestError,
    near_names,
    shortened,
)
from ui.texts.law import ARTICLE_TEXTS, LAW_TEXTS, PICTURE_TEXTS, REFUSAL_TEXTS

# HTML of what could not be shown: what was wrong, and where to go from there.


# What may be meant: its name and its address.
Near = tuple[str, str]


def refusal_main(title: str, told: str, near: Sequence[Near], language: Language) -> str:
    """The content of the view.

    Args:
        title: What happened.
        told: Why, in a sentence or two; not escaped yet.
        near: What may have been meant, best first.
        language: Of the interface.
    """
    texts = REFUSAL_TEXTS[language]
    meant = "".join(f'<li><a href="{words(link)}">{words(name)}</a></li>' for name, link in near)
    ways = "".join(
        f'<li><a href="{address(path, language)}">{words(name)}</a></li>'
        for path, name in ((LAW, texts.to_laws), ("/", texts.to_search))
    )
    return (
        f'<div class="refusal"><h1>{words(title)}</h1><p>{words(told)}</p>'
        f"{f'<h2>{words(texts.meant)}</h2><ul>{meant}</ul>' if meant else ''}"
        f"<h2>{words(texts.go_on)}</h2><ul>{ways}</ul></div>"
    )


# Parts of the views of the law: where one is, links to articles, their first words.


_FIRST_WORDS = 130  # characters


def trail(
    law: str,
    headings: Sequence[str],
    here: str | None,
    tongue: str,
    language: Language,
    on: date | None = None,
) -> str:
    """The way from all laws down to what is shown; every step but the last opens it.

    Args:
        law: Its name; "" where there is none.
        headings: From the top of the law down.
        here: The last step, below the headings; None where the last heading is it.
        tongue: Attributes of the law's words.
        language: Of the interface.
        on: The day of which states are shown; None for today.
    """
    texts = LAW_TEXTS[language]
    names = [law, *headings] if law else []
    steps = [_step(texts.law, division_link("", (), language, on=on), "")]
    for level, name in enumerate(names):
        steps.append(_step(name, division_link(law, headings[:level], language, on=on), tongue))
    if here is not None:
        steps.append(f'<li aria-current="page">{words(here)}</li>')
    else:
        last = f"<span{tongue}>{words(names[-1])}</span>" if law else words(texts.law)
        steps[-1] = f'<li aria-current="page">{last}</li>'
    return (
        f'<nav class="trail" aria-label="{words(texts.you_are_here)}"><ol>{"".join(steps)}</ol>'
        "</nav>"
    )


def article_item(
    article: Article, language: Language, on: date | None = None, where: str = ""
) -> str:
    """A link to an article, its first words, whether it does not bind, and where it stands.

    Args:
        article: With its text, or without words to show.
        language: Of the interface.
        on: The day of the page, where one was chosen; None for today.
        where: HTML; empty where that is not to be said.
    """
    link = words(article_link(article.id, language, on))
    mark = state_mark(article.state(on or date.today()), language)
    tongue = law_attributes(article.language)
    told = first_words(article)
    said = f' <span class="words"{tongue}>{words(told)}</span>' if told else ""
    return f'<a href="{link}">{words(article_title(article.number))}</a>{mark}{where}{said}'


def first_words(article: Article) -> str:
    """The beginning of an article, cut between words where it can be."""
    text = beginning(article)
    if len(text) <= _FIRST_WORDS:
        return text
    cut = text[:_FIRST_WORDS]
    whole = cut.rsplit(" ", 1)[0]
    return (whole if 2 * len(whole) > len(cut) else cut).rstrip(" ,;:.") + "…"


def _step(name: str, link: str, tongue: str) -> str:
    return f'<li><a href="{words(link)}"{tongue}>{words(name)}</a></li>'


def shown_items(items: Sequence[str], seen: int, count: int, language: Language) -> str:
    """A list of which the first items are seen and the others are in a fold.

    Args:
        items: HTML of each.
        seen: How many are seen; one more, where it would be alone in the fold.
        count: How many there are, more than the items if not all of them are listed.
        language: Of the interface.
    """
    texts = ARTICLE_TEXTS[language]
    if len(items) <= seen + 1:
        seen = len(items)
    first, rest = (
        "".join(f"<li>{item}</li>" for item in some) for some in (items[:seen], items[seen:])
    )
    listed = f"<ul>{first}</ul>"
    if rest:
        told = texts.more.format(count=number(count - seen, language))
        left = count - len(items)
        unlisted = counted(left, texts.not_listed, language) if left else ""
        listed += (
            f"<details><summary>{words(told)}</summary><ul>{rest}</ul>"
            f"{f'<p>{words(unlisted)}</p>' if unlisted else ''}</details>"
        )
    return listed


# HTML of a division: what stands in it, in the law's order, page by page.


# Entries of a page.
PAGE = 100
_NEAR_PAGES = 2


@dataclass(frozen=True)
class Shown:
    """A page of what stands right below all laws, a law or a division.

    Attributes:
        law: Everything.
        node: Of the division in the tree; the root stands for all laws.
        page: From 1.
        on: The day of which states are shown; None for today.
    """

    law: Law
    node: int
    page: int
    on: date | None = None

    @property
    def label(self) -> str:
        """The division's heading, or the law's title; "" for all laws."""
        return self.law.structure.tree.label[self.node]

    @cached_property
    def children(self) -> list[int]:
        """Nodes right below it, in the law's order."""
        return self.law.structure.tree.children(self.node)

    @property
    def pages(self) -> int:
        """How many pages there are, at least one."""
        return max(1, -(-len(self.children) // PAGE))

    @property
    def entries(self) -> list[int]:
        """The nodes of this page."""
        return self.children[(self.page - 1) * PAGE : self.page * PAGE]

    @property
    def articles(self) -> list[int]:
        """Positions of the articles of this page."""
        positions = (self.law.position_at(node) for node in self.entries)
        return [position for position in positions if position is not None]


def division_main(
    shown: Shown, articles: Mapping[int, Article], limit: str, language: Language
) -> str:
    """The content of the view.

    Args:
        shown: What is shown.
        articles: Its articles with their texts, by position.
        limit: What the day leaves open of which the states are.
        language: Of the interface.
    """
    texts = LAW_TEXTS[language]
    law, node = shown.law, shown.node
    spoken = law.language_of(node)
    tongue = law_attributes(spoken)
    name, headings = law.way_to(node)
    is_all = node == ROOT
    title = words(texts.law) if is_all else words(shown.label)
    intro = f"<p>{words(texts.intro)}</p>" if is_all else ""
    entries = "".join(
        f"<li>{_entry(shown, each, articles, spoken, language)}</li>" for each in shown.entries
    )
    listed = f'<ol class="contents">{entries}</ol>' if entries else f"<p>{words(texts.no_law)}</p>"
    return (
        f"{'' if is_all else trail(name, headings, None, tongue, language, shown.on)}"
        f'<div class="division"><h1{"" if is_all else tongue}>{title}</h1>{intro}'
        f"{_that_day(shown, limit, language)}"
        f'<p class="counts">{words(_counts(shown, language))}</p>'
        f"{_beside(shown, spoken, language)}"
        f'<h2 class="unseen">{words(texts.contents)}</h2>{listed}'
        f"{_pages(shown, language)}</div>"
    )


def _that_day(shown: Shown, limit: str, language: Language) -> str:
    """Of which day the states are, where it is not today."""
    if shown.on is None:
        return ""
    told = LAW_TEXTS[language].states_on.format(day=day(shown.on, language))
    back = words(division_link(*shown.law.way_to(shown.node), language, shown.page))
    today = words(ARTICLE_TEXTS[language].today)
    return f'<p class="that-day">{words(told)} <a href="{back}">{today}</a></p>' + (
        f'<p class="limit">{words(limit)}</p>' if limit else ""
    )


def _counts(shown: Shown, language: Language) -> str:
    """How many laws, divisions and articles stand right below, and how many articles in all."""
    texts = LAW_TEXTS[language]
    children = len(shown.children)
    own = sum(shown.law.position_at(node) is not None for node in shown.children)
    inner = texts.laws if shown.node == ROOT else texts.divisions
    said = [
        counted(count, forms, language)
        for count, forms in ((children - own, inner), (own, texts.articles))
        if count
    ]
    if children > own:
        total = int(shown.law.structure.articles_below[shown.node])
        said.append(texts.in_all.format(articles=counted(total, texts.articles, language)))
    return ", ".join(said)


def _entry(
    shown: Shown, node: int, articles: Mapping[int, Article], spoken: str | None, language: Language
) -> str:
    law = shown.law
    position = law.position_at(node)
    if position is not None:
        return article_item(articles[position], language, shown.on)
    name, headings = law.way_to(node)
    link = words(division_link(name, headings, language, on=shown.on))
    count = counted(int(law.structure.articles_below[node]), LAW_TEXTS[language].articles, language)
    own = law_attributes(spoken or law.language_of(node))
    label = words(law.structure.tree.label[node])
    return (
        f'<a class="inner" href="{link}"{own}>{label}</a> <span class="count">{words(count)}</span>'
    )


def _beside(shown: Shown, spoken: str | None, language: Language) -> str:
    """The division before this one, and the one after, below the same."""
    if shown.node == ROOT:
        return ""
    texts = LAW_TEXTS[language]
    law = shown.law
    tree = law.structure.tree
    beside = [
        each
        for each in tree.children(int(tree.parent[shown.node]))
        if law.position_at(each) is None
    ]
    place = beside.index(shown.node)
    links = []
    for rel, told, index in (
        ("prev", texts.previous_division, place - 1),
        ("next", texts.next_division, place + 1),
    ):
        if 0 <= index < len(beside):
            link = words(division_link(*law.way_to(beside[index]), language, on=shown.on))
            own = law_attributes(law.language_of(beside[index]) or spoken)
            links.append(
                f'<li><a rel="{rel}" href="{link}">{words(told)}'
                f" <span{own}>{words(tree.label[beside[index]])}</span></a></li>"
            )
    if not links:
        return ""
    return f'<nav class="beside" aria-label="{words(texts.level)}"><ul>{"".join(links)}</ul></nav>'


def _pages(shown: Shown, language: Language) -> str:
    """Links to the other pages of the list, where there are more than one."""
    if shown.pages == 1:
        return ""
    texts = LAW_TEXTS[language]
    law, headings = shown.law.way_to(shown.node)
    first = (shown.page - 1) * PAGE
    numbers = {"first": first + 1, "last": first + len(shown.entries), "count": len(shown.children)}
    told = texts.shown.format_map({key: number(n, language) for key, n in numbers.items()})

    def link(page: int, label: str, attributes: str = "") -> str:
        to = words(division_link(law, headings, language, page, shown.on))
        return f'<li><a href="{to}"{attributes}>{words(label)}</a></li>'

    items = []
    if shown.page > 1:
        items.append(link(shown.page - 1, texts.previous_page, ' rel="prev"'))
    last = 0
    for page in range(1, shown.pages + 1):
        if page not in (1, shown.pages) and abs(page - shown.page) > _NEAR_PAGES:
            continue
        if page > last + 1:
            items.append("<li>…</li>")
        label = texts.page.format(page=number(page, language))
        current = ' aria-current="page"' if page == shown.page else ""
        items.append(link(page, label, current))
        last = page
    if shown.page < shown.pages:
        items.append(link(shown.page + 1, texts.next_page, ' rel="next"'))
    return (
        f'<nav class="pages" aria-label="{words(texts.pages)}"><p>{words(told)}</p>'
        f"<ul>{''.join(items)}</ul></nav>"
    )


# HTML of an article's place in the law, as lists that can be heard as well as seen.


# Citations listed at once, and with those in the fold.
_SEEN = 8
LISTED = 100


def place_section(law: Law, position: int, language: Language, on: date | None = None) -> str:
    """The lists of what stands around an article.

    Args:
        law: Everything.
        position: Of the article.
        language: Of the interface.
        on: The day of the page, where one was chosen; None for today.

    Raises:
        StoreError: The store cannot be read.
    """
    texts = ARTICLE_TEXTS[language]
    missing = citations_missing(law, language)
    place = law.neighbourhood(position, LISTED)
    if not missing:
        cited_by = (texts.cited_by, texts.cited_by_none)
        citations = (
            f"{_citations(place, place.cites, (texts.cites, texts.cites_none), language, on)}"
            f"{_citations(place, place.cited_by, cited_by, language, on)}"
            f'<p class="note">{words(texts.reading_note)}</p>'
        )
    else:
        citations = (
            f"<h3>{words(texts.cites)} · {words(texts.cited_by)}</h3>"
            f'<p class="note">{words(missing)}</p>'
        )
    return (
        f'<section class="place" aria-labelledby="place"><h2 id="place">{words(texts.place)}</h2>'
        f"{_above(place, language, on)}{_sequence(place, language, on)}"
        f"{_siblings(law, place, language, on)}{citations}</section>"
    )


def citations_missing(law: Law, language: Language) -> str:
    """Why nothing is said of citations; empty where it is."""
    texts = ARTICLE_TEXTS[language]
    if law.citations is not None:
        return ""
    return texts.citations_unread if law.unread else texts.citations_being_read


def picture_figure(article: Article, language: Language) -> str:
    """The picture of the same, which says nothing that the lists do not."""
    texts = ARTICLE_TEXTS[language]
    link = words(picture_link(article.id, language))
    name = f"{article_title(article.number)}, {article.law}"
    alt = words(texts.picture_alt.format(name=name))
    return (
        f'<section class="picture" aria-labelledby="picture"><h2 id="picture">'
        f'{words(texts.picture)}</h2><p><a href="{link}">{words(texts.picture_whole)}</a></p>'
        f'<img src="{link}" alt="{alt}" loading="lazy"></section>'
    )


def _above(place: Neighbourhood, language: Language, on: date | None) -> str:
    texts = ARTICLE_TEXTS[language]
    law = place.article.law
    tongue = law_attributes(place.article.language)
    headings = [division.label for division in place.path[1:]]
    items = []
    for level, division in enumerate(place.path):
        link = words(division_link(law, headings[:level], language, on=on))
        told = [_articles(division.articles, language)]
        if level and division.of > 1:
            step = {"place": division.place, "of": division.of}
            told.insert(
                0, texts.step.format_map({key: number(n, language) for key, n in step.items()})
            )
        items.append(
            f'<li><a href="{link}"{tongue}>{words(division.label)}</a>'
            f' <span class="count">{words(" · ".join(told))}</span></li>'
        )
    return f'<h3>{words(texts.above)}</h3><ol class="above">{"".join(items)}</ol>'


def _sequence(place: Neighbourhood, language: Language, on: date | None) -> str:
    """The article before, and the one after, in the whole law."""
    texts = ARTICLE_TEXTS[language]
    items = [
        _neighbour(place, place.previous, (texts.previous, texts.first_of_law), language, on),
        _neighbour(place, place.next, (texts.next, texts.last_of_law), language, on),
    ]
    return f'<h3>{words(texts.sequence)}</h3><ul class="sequence">{"".join(items)}</ul>'


def _neighbour(
    place: Neighbourhood,
    article: Article | None,
    told: tuple[str, str],
    language: Language,
    on: date | None,
) -> str:
    role, none = told
    if article is None:
        return f"<li>{words(none)}</li>"
    where = ""
    if article.headings != place.article.headings:
        tongue = law_attributes(article.language)
        name = article.headings[-1] if article.headings else article.law
        said = words(ARTICLE_TEXTS[language].where).format(
            place=f"<span{tongue}>{words(name)}</span>"
        )
        where = f' <span class="where">{said}</span>'
    return f"<li>{words(role)} {article_item(article, language, on, where)}</li>"


def _siblings(law: Law, place: Neighbourhood, language: Language, on: date | None) -> str:
    """The nearest of the articles right below the same division, in their order."""
    texts = ARTICLE_TEXTS[language]
    head = f"<h3>{words(texts.beside)}</h3>"
    if len(place.siblings) == 1:
        return f"{head}<p>{words(texts.alone)}</p>"
    here = place.siblings.index(place.article)
    first, last = window(len(place.siblings), here)
    items = []
    for article in place.siblings[first:last]:
        if article == place.article:
            title = words(article_title(article.number))
            items.append(
                f'<li aria-current="true"><strong>{title}</strong>'
                f" <span>{words(texts.this_one)}</span></li>"
            )
        else:
            items.append(f"<li>{article_item(article, language, on)}</li>")

    def rest(count: int, told: str, neighbour: Article) -> str:
        """A link to the page of the division on which the next of the rest stands."""
        page = law.page_of(law.position_of[neighbour.id], PAGE)
        link = division_link(place.article.law, place.article.headings, language, page, on)
        said = words(told.format(count=number(count, language)))
        return f'<li class="rest"><a href="{words(link)}">{said}</a></li>'

    if first:
        items.insert(0, rest(first, texts.more_before, place.siblings[first - 1]))
    left = len(place.siblings) - last
    if left:
        items.append(rest(left, texts.more_after, place.siblings[last]))
    return f'{head}<ol class="siblings">{"".join(items)}</ol>'


def _citations(
    place: Neighbourhood,
    articles: Sequence[Article],
    told: tuple[str, str],
    language: Language,
    on: date | None,
) -> str:
    title, none = told
    count = f" <span>{_articles(len(articles), language)}</span>" if articles else ""
    head = f"<h3>{words(title)}{count}</h3>"
    if not articles:
        return f"{head}<p>{words(none)}</p>"
    items = [_cited(place, article, language, on) for article in articles[:LISTED]]
    return head + shown_items(items, _SEEN, len(articles), language)


def _cited(place: Neighbourhood, article: Article, language: Language, on: date | None) -> str:
    foreign = article.law != place.article.law
    tongue = law_attributes(article.language)
    where = f' <span class="where"{tongue}>{words(article.law)}</span>' if foreign else ""
    return article_item(article, language, on, where)


def _articles(count: int, language: Language) -> str:
    return counted(count, LAW_TEXTS[language].articles, language)


# HTML of an article: its words, its state, what to take away, and its place in the law.


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
    texts = ARTICLE_TEXTS[language]
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
    texts = ARTICLE_TEXTS[language]
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
    texts = ARTICLE_TEXTS[language]
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
        f"{words(ARTICLE_TEXTS[language].official)}</a></p>"
    )


def _place(article: Article, law: Law | None, on: date | None, language: Language) -> str:
    if law is not None and _is_placed(article, law):
        return place_section(law, law.position_of[article.id], language, on)
    texts = ARTICLE_TEXTS[language]
    waiting = LAW_TEXTS[language]
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
    texts = ARTICLE_TEXTS[language]
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


logger = logging.getLogger(__name__)

# From a request, and the page's address in English.
Answering = Callable[[Request, str], Response]

# Seconds after which a view that was not ready can be asked for again.
_RETRY = "2"
_LONGEST_NAME = 80


class _MissingError(Exception):
    """What was asked for is not there."""

    def __init__(self, told: str, near: Sequence[Near] = ()) -> None:
        super().__init__(told)
        self.near = near


class LawViews:
    """Answers requests about the law.

    Args:
        places: where the articles stand.
        searched: tells what is searched now, for the notice.
    """

    def __init__(self, places: Places, searched: Callable[[], Collection]) -> None:
        self._places = places
        self._collection = searched

    def law(self, request: Request, here: str) -> Response:
        """All laws, or a law or division."""
        asked = Asked.of(request, once=("of", "page", "on"), often=("in",))
        language = asked.language
        page, on = asked.page("page"), asked.day("on")
        name, headings = asked.one("of") or "", asked.values.get("in", [])
        if headings and not name:
            asked.required("of")
        law = self._places.law()
        if law is None:
            return _being_read(here, language)
        node = _node(law, name, headings, on, language)
        shown = Shown(law, node, page, on)
        if page > shown.pages:
            texts = REFUSAL_TEXTS[language]
            pages = counted(shown.pages, texts.pages, language)
            raise _MissingError(
                texts.no_page.format(pages=pages, page=number(page, language)),
                [
                    (
                        shown.label or LAW_TEXTS[language].law,
                        division_link(name, headings, language, on=on),
                    )
                ],
            )
        articles = law.with_texts(shown.articles)
        collection = self._collection()
        limit = beyond(collection, on, language)
        main = division_main(shown, articles, limit, language) + notice(collection, language)
        return _page(language, shown.label or LAW_TEXTS[language].law, main, here)

    def article(self, request: Request, here: str) -> Response:
        """An article in its place, or as a file."""
        asked = Asked.of(request, once=("id", "on", "as"))
        language = asked.language
        on, kind = asked.day("on"), asked.kind("as")
        document_ = self._found(asked)
        article = article_of(document_)
        found = _found_on(on or date.today(), document_, article)
        if kind is not None:
            return self._file(found, kind, on, language)
        site = f"{request.url.scheme}://{request.url.netloc}"
        main = article_main(
            article, found, self._places.law(), on, site, self._collection(), language
        )
        return _page(language, citation(found), main, here)

    def picture(self, request: Request, here: str) -> Response:
        """The picture of an article's place, as SVG."""
        asked = Asked.of(request, once=("id",))
        language = asked.language
        id_ = self._found(asked).id
        law = self._places.law()
        if law is None:
            return _being_read(here, language)
        if id_ not in law.position_of:
            raise _MissingError(ARTICLE_TEXTS[language].nowhere)
        note = citations_missing(law, language)
        place = law.neighbourhood(law.position_of[id_], CITATIONS_DRAWN)
        drawn = draw_picture(place, None, note, PICTURE_TEXTS[language])
        return _response(drawn, "image/svg+xml")

    def _found(self, asked: Asked) -> Document:
        """The document with the id that was asked for."""
        id_ = asked.required("id")
        store = self._places.store
        for found in validity_of(store).with_wordings(store.fetch(store.keys_of([id_]))):
            return found
        told = REFUSAL_TEXTS[asked.language].no_article.format(id=shortened(id_))
        law = self._places.law()
        raise _MissingError(
            told, _near_articles(law, id_, asked.day("on"), asked.language) if law else ()
        )

    def _file(
        self, found: dict[str, Any], kind: Kind, on: date | None, language: Language
    ) -> Response:
        """An article to keep."""
        today = date.today()
        content = export(kind, [found], language, self._collection(), on or today, today)
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", str(found["id"]))[:_LONGEST_NAME].strip("-")
        response = _response(content, MEDIA_TYPES[kind])
        file_name = f"{name or 'article'}{FILE_SUFFIX[kind]}"
        response.headers["Content-Disposition"] = f'attachment; filename="{file_name}"'
        return response


def law_routes(places: Places, searched: Callable[[], Collection]) -> list[Route]:
    """The routes of the law.

    Args:
        places: where the articles stand.
        searched: tells what is searched now, for the notice.
    """
    views = LawViews(places, searched)
    answers = {LAW: views.law, ARTICLE: views.article, PICTURE: views.picture}
    return [
        Route(address(path, language), _refusing(answer, path), methods=["GET"])
        for path, answer in answers.items()
        for language in LANGUAGES
    ]


def _refusing(answer: Answering, path: str) -> Callable[[Request], Response]:
    """An answer that says in words why there is none."""

    def answering(request: Request) -> Response:
        language = language_of(request.url.path)
        texts = REFUSAL_TEXTS[language]
        query = request.url.query
        here = f"{path}?{query}" if 0 < len(query) <= MOST_CHARACTERS else path
        try:
            return answer(request, here)
        except WrongRequestError as error:
            main = refusal_main(texts.wrong, str(error), (), language)
            return _page(language, texts.wrong, main, here, 400)
        except _MissingError as error:
            main = refusal_main(texts.missing, str(error), error.near, language)
            return _page(language, texts.missing, main, here, 404)
        except StoreError:
            logger.exception("The law could not be read from its store.")
            main = refusal_main(texts.failed, texts.failed_why, (), language)
            return _page(language, texts.failed, main, here, 503)

    return answering


def _node(law: Law, name: str, headings: Sequence[str], on: date | None, language: Language) -> int:
    """The node of a law or a division; the root where no law is named."""
    if not name:
        return ROOT
    node, level = law.find(name, headings)
    texts = REFUSAL_TEXTS[language]
    if node is None:
        near = near_names(name, law.structure.tree.laws)
        raise _MissingError(
            texts.no_such_law.format(law=shortened(name)),
            [(each, division_link(each, (), language, on=on)) for each in near],
        )
    if level == len(headings):
        return node
    tree = law.structure.tree
    labels = [tree.label[each] for each in tree.children(node) if law.position_at(each) is None]
    way = headings[:level]
    near_ways = [(each, [*way, each]) for each in near_names(headings[level], labels)]
    near_ways.append((tree.label[node], list(way)))
    raise _MissingError(
        texts.no_division.format(
            law=shortened(tree.label[node]), heading=shortened(headings[level])
        ),
        [(label, division_link(name, each, language, on=on)) for label, each in near_ways],
    )


def _found_on(on: date, found: Document, article: Article) -> dict[str, Any]:
    """The article as `found_article` makes it for a day; what other stores hold is put right."""
    told = found_article(found, on)
    right = article.to_json()
    for key in ("language", "valid_from", "valid_to", "source_url"):
        told.pop(key, None)
    return {**told, **{key: right[key] for key in right if key != "text"}}


def _near_articles(law: Law, id_: str, on: date | None, language: Language) -> list[Near]:
    near = near_names(id_, list(law.position_of))
    articles = [law.articles[law.position_of[each]] for each in near]
    return [
        (
            f"{article_title(article.number)}, {article.law} ({article.id})",
            article_link(article.id, language, on),
        )
        for article in articles
    ]


def _being_read(here: str, language: Language) -> Response:
    """The law is not ready to be shown; there is a link to ask again."""
    texts = LAW_TEXTS[language]
    link = words(address(here, language))
    main = (
        f'<div class="refusal"><h1>{words(texts.law)}</h1><p>{words(texts.being_read)}</p>'
        f'<p><a href="{link}">{words(texts.again)}</a></p></div>'
    )
    response = _page(language, texts.law, main, here, 503)
    response.headers["Retry-After"] = _RETRY
    return response


def _page(language: Language, title: str, main: str, here: str, status: int = 200) -> Response:
    html = document("law", language, " ".join(title.split()), main, here)
    return _response(html, "text/html", status)


def _response(content: str, media_type: str, status: int = 200) -> Response:
    # A store other than Lexarbor's may hold half a character.
    body = content.encode("utf-8", "replace")
    return Response(body, status, {"Cache-Control": "no-cache"}, media_type)
