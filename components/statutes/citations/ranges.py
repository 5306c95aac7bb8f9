"""Several articles that are printed as one: "§§ 15 bis 20", "150–158", "Arts. 1912 a 1920."."""

from __future__ import annotations

import re
from math import inf

from components.statutes.citations.patterns import parse_number

# A hyphen behind a singular unit is part of one number: Norwegian "§ 1-4", "Article 10-12".
_PLURAL = r"§§|articles|artikels?|artikeln|artículos|articoli|artigos|arts?\.|artt\.|sections|ss\."
_SINGULAR = r"§|article|artikel|artículo|articolo|artigo|section|s\."
_NUMBER = r"(?:第[^第条條]+[条條](?:[之の]\S+?)?|제\d+조(?:의\d+)?|\d+[º°]?\.?(?:\s?[a-z]{1,2}\b)?)"
_JOINED = r"\s*(?P<through>bis|to|through|à|au|al?|t/m|tot|до|по|から|至|내지|부터|–|-)\s*"
_PAIRED = r"\s+(?P<pair>und|and|et|y|e|en|och|og|i|и)\s+"
_RANGE = re.compile(
    rf"\[?(?:\(x+\)\s*)?(?:(?P<plural>{_PLURAL})|(?P<singular>{_SINGULAR}))?\s*"
    rf"(?P<first>{_NUMBER})(?:{_JOINED}|{_PAIRED})(?:§\s*)?(?P<last>{_NUMBER})(?:まで|까지)?[\s.]*",
    re.IGNORECASE,
)


def printed_range(printed: str) -> tuple[str, str] | None:
    """The canonical first and last number of articles that are printed as one; None if it is one.

    >>> printed_range("(XXXX) §§ 195 bis 198"), printed_range("28d–28f")
    (('195', '198'), ('28d', '28f'))
    >>> printed_range("§ 1-4")
    """
    found = _RANGE.fullmatch(printed.strip())
    if found is None or (found["through"] in ("-", "–") and found["singular"]):
        return None
    numbers = (parse_number(found[end].replace("條", "条")) for end in ("first", "last"))
    first, last = (number.core if number else "" for number in numbers)
    low, high = number_order(first), number_order(last)
    # A pair is a range only where no number lies between its two: "§§ 114 und 115".
    if low >= high or (found["pair"] and high[0] - low[0] > 1):
        return None
    return first, last


def number_order(core: str) -> tuple[float, str]:
    """The key by which canonical numbers are ordered: 9, 10, 10a, 10b, 11."""
    found = re.match(r"\d+", core)
    digits = found[0] if found else "0"
    # Python refuses to convert thousands of digits.
    return (int(digits) if len(digits) < 19 else inf), core.removeprefix(digits)
