"""The words for an article of law, a table for all languages: readers and citations share it."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple


class UnitWords(NamedTuple):
    """How a language writes an article's number.

    Attributes:
        before: Words in front of the number, in small letters, separated by blanks: "article art."
        after: Words behind it: Lithuanian "1 straipsnis", Icelandic "3. gr."
    """

    before: str = ""
    after: str = ""


UNIT_WORDS = {
    "bg": UnitWords("член чл. §"),
    "ca": UnitWords("article art."),
    "cs": UnitWords("článek čl. §"),
    "da": UnitWords("§ artikel art."),
    "de": UnitWords("§ artikel art."),
    "el": UnitWords("άρθρο άρθρου άρθρα αρ."),
    "en": UnitWords("article art. section sec. s. § rule regulation reg."),
    "es": UnitWords("artículo articulo art."),
    "et": UnitWords("§ artikkel", "artikkel"),
    "fi": UnitWords("pykälä", "§"),
    "fr": UnitWords("article art."),
    "hr": UnitWords("članak čl."),
    "hu": UnitWords("", "§ cikk"),
    "id": UnitWords("pasal"),
    "is": UnitWords("", "gr. grein"),
    "it": UnitWords("articolo art."),
    "ko": UnitWords(),  # 제3조
    "lt": UnitWords("", "straipsnis straipsnio str."),
    "lv": UnitWords("", "pants panta p."),
    "nl": UnitWords("artikel art."),
    "no": UnitWords("§ artikkel"),
    "pl": UnitWords("artykuł art. §"),
    "pt": UnitWords("artigo art."),
    "ro": UnitWords("articolul articol art."),
    "ru": UnitWords("статья статьи статьей статье ст."),
    "sk": UnitWords("článok čl. §"),
    "sl": UnitWords("", "člen člena čl."),
    "sv": UnitWords("artikel", "§"),
    "sw": UnitWords("ibara"),
    "th": UnitWords("มาตรา"),
    "tr": UnitWords("madde md.", "madde"),
    "uk": UnitWords("стаття статті статтею ст."),
    "vi": UnitWords("điều"),
}
"""By language; Chinese, Japanese and Korean write the number between two signs."""


@cache
def unit_pattern(place: str, language: str | None = None) -> str:
    """A regular expression for the unit words of one language, or of all.

    Args:
        place: "before" or "after" the number.
        language: Primary language tag; None for all languages.
    """
    rows = [UNIT_WORDS[language]] if language else list(UNIT_WORDS.values())
    words = {word for row in rows for word in getattr(row, place).split()}
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
