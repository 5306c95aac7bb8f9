"""HTML of a division: what stands in it, in the law's order, page by page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from components.statutes.article import Article
from components.statutes.tree import ROOT
from ui.article_text import law_attributes, words
from ui.language import Language, counted, day, number
from ui.law.links import division_link
from ui.law.parts import article_item, trail
from ui.law.reading import Law
from ui.texts import article as article_texts
from ui.texts.law import TEXTS

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
    texts = TEXTS[language]
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
    told = TEXTS[language].states_on.format(day=day(shown.on, language))
    back = words(division_link(*shown.law.way_to(shown.node), language, shown.page))
    today = words(article_texts.TEXTS[language].today)
    return f'<p class="that-day">{words(told)} <a href="{back}">{today}</a></p>' + (
        f'<p class="limit">{words(limit)}</p>' if limit else ""
    )


def _counts(shown: Shown, language: Language) -> str:
    """How many laws, divisions and articles stand right below, and how many articles in all."""
    texts = TEXTS[language]
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
    count = counted(int(law.structure.articles_below[node]), TEXTS[language].articles, language)
    own = law_attributes(spoken or law.language_of(node))
    label = words(law.structure.tree.label[node])
    return (
        f'<a class="inner" href="{link}"{own}>{label}</a> <span class="count">{words(count)}</span>'
    )


def _beside(shown: Shown, spoken: str | None, language: Language) -> str:
    """The division before this one, and the one after, below the same."""
    if shown.node == ROOT:
        return ""
    texts = TEXTS[language]
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
    texts = TEXTS[language]
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
