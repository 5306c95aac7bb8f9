"""HTML of what could not be shown: what was wrong, and where to go from there."""

from __future__ import annotations

from collections.abc import Sequence

from ui.article_text import words
from ui.language import Language, address
from ui.law.links import LAW
from ui.texts.refusals import TEXTS

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
    texts = TEXTS[language]
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
