"""Parts of the views of the law: where one is, links to articles, their first words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from components.statutes.article import Article
from pipelines.tree_view.svg import beginning
from ui.article_text import law_attributes, words
from ui.language import Language, counted, number
from ui.law.links import article_link, division_link
from ui.naming import article_title
from ui.states import state_mark
from ui.texts import article as article_texts
from ui.texts.law import TEXTS

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
    texts = TEXTS[language]
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
    texts = article_texts.TEXTS[language]
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
