"""HTML of an article's place in the law, as lists that can be heard as well as seen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from components.statutes.article import Article
from pipelines.tree_view.layout import Neighbourhood
from pipelines.tree_view.picture import window
from ui.article_text import law_attributes, words
from ui.language import Language, counted, number
from ui.law.division import PAGE
from ui.law.links import division_link, picture_link
from ui.law.parts import article_item, shown_items
from ui.law.reading import Law
from ui.naming import article_title
from ui.texts import law as law_texts
from ui.texts.article import TEXTS

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
    texts = TEXTS[language]
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
    texts = TEXTS[language]
    if law.citations is not None:
        return ""
    return texts.citations_unread if law.unread else texts.citations_being_read


def picture_figure(article: Article, language: Language) -> str:
    """The picture of the same, which says nothing that the lists do not."""
    texts = TEXTS[language]
    link = words(picture_link(article.id, language))
    name = f"{article_title(article.number)}, {article.law}"
    alt = words(texts.picture_alt.format(name=name))
    return (
        f'<section class="picture" aria-labelledby="picture"><h2 id="picture">'
        f'{words(texts.picture)}</h2><p><a href="{link}">{words(texts.picture_whole)}</a></p>'
        f'<img src="{link}" alt="{alt}" loading="lazy"></section>'
    )


def _above(place: Neighbourhood, language: Language, on: date | None) -> str:
    texts = TEXTS[language]
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
    texts = TEXTS[language]
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
        said = words(TEXTS[language].where).format(place=f"<span{tongue}>{words(name)}</span>")
        where = f' <span class="where">{said}</span>'
    return f"<li>{words(role)} {article_item(article, language, on, where)}</li>"


def _siblings(law: Law, place: Neighbourhood, language: Language, on: date | None) -> str:
    """The nearest of the articles right below the same division, in their order."""
    texts = TEXTS[language]
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
    return counted(count, law_texts.TEXTS[language].articles, language)
