"""HTML of what is searched, of how to read a result, and of how far the search has learnt."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING

from ui.article import words
from ui.frame import VIEWS, Collection
from ui.language import Language, address, counted
from ui.learning import Standing
from ui.texts.ask import ABOUT_TEXTS, STAGE_TEXTS, AboutTexts

if TYPE_CHECKING:
    from ui.serving import Recipient

_LISTED_LAWS = 8
# A fold of more laws than these would slow the page; the view of the law has them page by page.
_MOST_LAWS = 200


def about(
    collection: Collection,
    stages: Sequence[str],
    language: Language,
    *,
    sent_to: Set[Recipient] = frozenset(),
) -> str:
    """What is searched, how to read a result of these stages, and where a question goes.

    Args:
        collection: what is searched.
        stages: names as in an answer's ranks.
        language: of the interface.
        sent_to: who gets the question beside this machine.
    """
    texts = ABOUT_TEXTS[language]
    told = "".join(
        f"<div><dt>{words(each.name)}</dt><dd>{words(each.sentence)}</dd></div>"
        for stage, each in STAGE_TEXTS[language].items()
        if stage in stages
    )
    held = texts.articles_of.format(
        articles=counted(collection.articles, texts.articles, language),
        laws=counted(len(collection.laws), texts.laws, language),
    )
    return (
        f'<div class="about"><h2>{words(texts.searched)}</h2><p>{words(held)}</p>'
        f"{_laws(collection.laws, texts.which_laws, language)}"
        f"<h2>{words(texts.how_found)}</h2><p>{words(texts.how_to_read)}</p><dl>{told}</dl>"
        f"<h2>{words(texts.your_question)}</h2>"
        f"<p>{words(_where_it_goes(texts, sent_to))}</p></div>"
    )


def _where_it_goes(texts: AboutTexts, sent_to: Set[Recipient]) -> str:
    if not sent_to:
        return texts.kept_here
    searched = texts.searched_in_engine if "engine" in sent_to else texts.searched_here
    return f"{searched} {texts.sent_on}" if "generator" in sent_to else searched


def learning() -> str:
    """Where the page says how far the search has learnt the law; the script fills it in."""
    return '<div class="learning"><p class="told"></p><p class="share"></p></div>'


def standing(standing: Standing, language: Language) -> dict[str, str]:
    """The standing in plain words, `told`, and its share, empty once there is no more to come."""
    texts = ABOUT_TEXTS[language]
    if standing.state == "learnt":
        told = texts.learnt
    elif standing.state == "failed":
        told = texts.learning_failed
    else:
        told = texts.learning.format(time=_time_left(standing.minutes_left, texts))
    share = f"{standing.share:.0%}" if standing.state == "learning" else ""
    return {"state": standing.state, "told": told, "share": share}


def _time_left(minutes: int | None, texts: AboutTexts) -> str:
    if minutes is None:
        return texts.some_minutes
    if minutes < 1:
        return texts.no_minute
    return texts.one_minute if minutes == 1 else texts.minutes.format(count=minutes)


def _laws(laws: Sequence[str], which: str, language: Language) -> str:
    if len(laws) > _MOST_LAWS:
        return f'<p><a href="{address(VIEWS["law"], language)}">{words(which)}</a></p>'
    listed = "".join(f"<li><bdi>{words(law)}</bdi></li>" for law in laws)
    if len(laws) <= _LISTED_LAWS:
        return f"<ul>{listed}</ul>"
    return f"<details><summary>{words(which)}</summary><ul>{listed}</ul></details>"
