"""Notice: what the reader must know before relying on a result, the same beside all of them."""

from __future__ import annotations

import html
from datetime import date

from ui.collection import Collection
from ui.language import Language, day
from ui.texts.frame import TEXTS


def notice(collection: Collection, language: Language) -> str:
    """The notice as HTML on one line."""
    return (
        '<p class="notice" role="note">'
        f"<strong>{html.escape(TEXTS[language].not_advice)}</strong>"
        f"{''.join(f' {html.escape(each)}' for each in _known(collection, language))}</p>"
    )


def plain_notice(collection: Collection, language: Language) -> str:
    """The notice as text, for what is taken away."""
    return " ".join([TEXTS[language].not_advice, *_known(collection, language)])


def beyond(collection: Collection, on: date | None, language: Language) -> str:
    """What a day that is asked about leaves open: the text may have changed by then.

    Args:
        collection: what is searched.
        on: the day; None for today, of which the notice tells.
        language: of the interface.

    Returns:
        A sentence; empty where the text is of that day or a later one, or its day is not known.
    """
    known = collection.snapshot or collection.indexed
    if on is None or known is None or on.isoformat() <= known:
        return ""
    texts = TEXTS[language]
    told = texts.beyond if collection.snapshot else texts.beyond_indexed
    return told.format(day=day(known, language), on=day(on, language))


def _known(collection: Collection, language: Language) -> list[str]:
    texts = TEXTS[language]
    told = []
    if collection.is_aldermere:
        told.append(texts.aldermere)
    elif collection.invented:
        told.append(texts.some_invented)
    if collection.snapshot:
        told.append(texts.snapshot.format(day=day(collection.snapshot, language)))
    elif collection.indexed:
        told.append(texts.indexed.format(day=day(collection.indexed, language)))
    return told
