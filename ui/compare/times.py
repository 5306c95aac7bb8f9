"""HTML of the time that each part of two pipelines took, as a table with bars."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.comparison import Comparison, Found
from ui.article_text import words
from ui.language import Language, decimal
from ui.texts.compare import TEXTS, CompareTexts
from ui.texts.stages import TEXTS as STAGES


def times(compared: Comparison, language: Language) -> str:
    """The table, and what must be known of its figures.

    Args:
        compared: what is told of.
        language: of the interface.
    """
    texts = TEXTS[language]
    sides = (compared.left, compared.right)
    lefts, rights = ({lap.name: lap.ms for lap in side.laps} for side in sides)
    longest = max([*lefts.values(), *rights.values(), *(side.rest_ms for side in sides), 0.001])
    rows = "".join(
        _row(_name(name, texts, language), [lefts.get(name), rights.get(name)], longest, language)
        for name in _merged(list(lefts), list(rights))
    )
    rest = _row(words(texts.rest), [side.rest_ms for side in sides], longest, language)
    total = _row(words(texts.total), [side.took_ms for side in sides], None, language)
    heads = _head(texts.left, compared.left, texts) + _head(texts.right, compared.right, texts)
    return (
        f'<div class="times"><table><caption>{words(texts.times)}</caption>'
        f'<thead><tr><th scope="col">{words(texts.stage)}</th>{heads}</tr></thead>'
        f"<tbody>{rows}{rest}</tbody><tfoot>{total}</tfoot></table>"
        f'<p class="note">{words(texts.times_note)}</p></div>'
    )


def _head(side: str, found: Found, texts: CompareTexts) -> str:
    told = texts.side.format(side=side, pipeline=found.pipeline)
    return f'<th scope="col">{words(told)}</th>'


def _row(
    name: str, values: Sequence[float | None], longest: float | None, language: Language
) -> str:
    cells = "".join(_cell(value, longest, language) for value in values)
    return f'<tr><th scope="row">{name}</th>{cells}</tr>'


def _cell(value: float | None, longest: float | None, language: Language) -> str:
    if value is None:
        return f'<td>–<span class="unseen">{words(TEXTS[language].not_there)}</span></td>'
    figure = f'<span class="figure">{decimal(value, language, 1)}</span>'
    if longest is None:
        return f"<td>{figure}</td>"
    bar = f'<span class="bar"><span style="width:{value / longest:.0%}"></span></span>'
    return f"<td>{bar}{figure}</td>"


def _name(name: str, texts: CompareTexts, language: Language) -> str:
    """A stage by its name in words, a component by that of the file."""
    if name == "fused":
        return words(texts.fused)
    known = STAGES[language].get(name)
    return words(known.name) if known else f"<code>{words(name)}</code>"


def _merged(left: list[str], right: list[str]) -> list[str]:
    """Names of both, each once, in an order that is that of either wherever one can be."""
    merged, place = list(left), 0
    for name in right:
        if name in merged:
            place = merged.index(name) + 1
        else:
            merged.insert(place, name)
            place += 1
    return merged
