"""Notice: what the reader must know before relying on a result, the same beside all of them."""

from __future__ import annotations

import html

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
