"""HTML of a comparison, on one line; everything from a law or a question is escaped here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pipelines.comparison import SHOWN, Comparison, Fact, Found, Moved, Told
from ui.article_text import law_attributes, words
from ui.compare.times import times
from ui.language import Language, counted, number
from ui.law.links import article_link
from ui.naming import article_title
from ui.states import state_mark
from ui.texts.compare import TEXTS
from ui.texts.stages import stage_texts

_QUESTION_SHOWN = 300
_RERANKER = "reranker"


def announced(comparison: Comparison, language: Language) -> str:
    """What is told to those who hear the page; it is not seen."""
    return f'<p class="unseen">{words(_in_common(comparison, language))}</p>'


def comparison(question: str, compared: Comparison, language: Language) -> str:
    """The whole comparison: what is in common, the two lists, the time of each stage.

    Args:
        question: as it was asked.
        compared: what came of it.
        language: of the interface.
    """
    texts = TEXTS[language]
    asked = question[:_QUESTION_SHOWN] + ("…" if len(question) > _QUESTION_SHOWN else "")
    for_what = words(texts.asked).format(question=f"<q><bdi>{words(asked)}</bdi></q>")
    return (
        f'<div class="comparison"><h2 tabindex="-1">{words(_in_common(compared, language))}</h2>'
        f'<p class="asked">{for_what}</p><p class="summed">{words(_summed(compared, language))}</p>'
        f'<div class="sides">{_left(compared, language)}{_right(compared, language)}</div>'
        f"{times(compared, language)}</div>"
    )


def _in_common(compared: Comparison, language: Language) -> str:
    shown = [len(side.articles[:SHOWN]) for side in (compared.left, compared.right)]
    shared = compared.count("same", "up", "down")
    return TEXTS[language].in_common.format(shared=shared, most=max(shown))


def _summed(compared: Comparison, language: Language) -> str:
    texts = TEXTS[language]
    counts = (
        (compared.count("same"), texts.same),
        (compared.count("up", "down"), texts.moved),
        (compared.count("gone"), texts.gone),
        (compared.count("new"), texts.new),
    )
    told = ", ".join(counted(count, forms, language) for count, forms in counts if count)
    summed = texts.identical if compared.count("same") == len(compared.moved) else f"{told}."
    took = texts.took.format(
        left=number(compared.left.took_ms, language),
        right=number(compared.right.took_ms, language),
    )
    return f"{summed} {took}"


def _left(compared: Comparison, language: Language) -> str:
    texts = TEXTS[language]
    movements = {
        "same": texts.same_as_right,
        "up": texts.up_to,
        "down": texts.down_to,
        "gone": texts.gone_to,
    }
    missing = (texts.gone_unfound, texts.gone_cut)
    places = {id_: moved.right for id_, moved in compared.moved.items()}
    side = _Side(texts.left, compared.left, compared.right, places, movements, missing)
    return _drawn(side, compared, language)


def _right(compared: Comparison, language: Language) -> str:
    texts = TEXTS[language]
    movements = {
        "same": texts.same_as_left,
        "up": texts.up_from,
        "down": texts.down_from,
        "new": texts.new_from,
    }
    missing = (texts.new_unfound, texts.new_cut)
    places = {id_: moved.left for id_, moved in compared.moved.items()}
    side = _Side(texts.right, compared.right, compared.left, places, movements, missing)
    return _drawn(side, compared, language)


class _Side(NamedTuple):
    """One of the two lists.

    Attributes:
        name: what it is called.
        found: what stands in it.
        other: what stands in the other one.
        places: of each article's id its place in the other one, None where it has none.
        movements: how each movement is said.
        missing: how it is said that the other one lacks an article: altogether, beyond its end.
    """

    name: str
    found: Found
    other: Found
    places: Mapping[str, int | None]
    movements: Mapping[str, str]
    missing: tuple[str, str]


def _drawn(side: _Side, compared: Comparison, language: Language) -> str:
    texts = TEXTS[language]
    title = texts.side.format(side=side.name, pipeline=side.found.pipeline)
    items = []
    for place, article in enumerate(side.found.articles[:SHOWN], start=1):
        moved = compared.moved[article["id"]]
        there, cut = side.places[article["id"]], side.other.cut
        unfound, beyond = side.missing
        if there is not None:
            said = side.movements[moved.movement].format(by=abs(moved.by), place=there)
        else:
            said = unfound if cut is None else beyond.format(cut=cut)
        items.append(_item(place, article, moved, said, language))
    listed = f'<ol class="places">{"".join(items)}</ol>'
    return (
        f'<section class="side"><h3>{words(title)}</h3>'
        f"{listed if items else f'<p>{words(texts.found_nothing)}</p>'}</section>"
    )


def _item(
    place: int, article: Mapping[str, Any], moved: Moved, said: str, language: Language
) -> str:
    tongue = law_attributes(article.get("language"))
    link = article_link(str(article["id"]), language)
    facts = "".join(f"<li>{_fact(fact, language)}</li>" for fact in moved.facts)
    why = f'<ul class="facts">{facts}</ul>' if facts else ""
    return (
        f'<li class="{moved.movement}"><p class="place"><span class="unseen">'
        f"{words(TEXTS[language].place)} </span>{place}</p>"
        f'<div><p class="title"><a href="{words(link)}">{words(article_title(article["number"]))}'
        f"</a> <span{tongue}>{words(article['law'])}</span>"
        f"{state_mark(article.get('state'), language)}</p>"
        f'<p class="movement">{words(said)}</p>{why}</div></li>'
    )


def _fact(fact: Fact, language: Language) -> str:
    texts = TEXTS[language]
    name = texts.fused if fact.stage == "fused" else stage_texts(fact.stage, language).name
    stage = f"<strong>{words(name)}</strong>"
    left, right = fact.left, fact.right
    if left is None or right is None:
        template = texts.on_left if right is None else texts.on_right
        told = left or right
        assert told is not None
        return words(template).format(stage=stage, told=words(_told(fact.stage, told, language)))
    if left.rank is None and right.rank is None:
        # Lists of different lengths: what is true of both.
        cuts = [told.cut for told in (left, right) if told.cut is not None]
        left = right = Told(None, min(cuts, default=None))
    said = [words(_told(fact.stage, told, language)) for told in (left, right)]
    if left == right:
        return words(texts.on_both).format(stage=stage, told=said[0])
    return words(texts.on_each).format(stage=stage, left=said[0], right=said[1])


def _told(stage: str, told: Told, language: Language) -> str:
    texts = TEXTS[language]
    if told.rank is not None:
        return texts.ranked.format(rank=number(told.rank, language))
    if told.cut is not None:
        return texts.cut.format(cut=number(told.cut, language))
    return texts.unread if stage == _RERANKER else texts.unfound
