"""SVG as text: elements, their attributes, and words that come from anywhere."""

from __future__ import annotations

import re
from html import escape

# What XML 1.0 cannot hold, escaped or not.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

Attribute = str | float | None


def words(text: str) -> str:
    """A text as character data: escaped, on one line, and without what XML forbids."""
    return escape(_FORBIDDEN.sub("\ufffd", " ".join(text.split())))


def element(name: str, *children: str, **attributes: Attribute) -> str:
    """One element.

    Args:
        name: Its tag.
        children: Elements, or text from `words`.
        attributes: Underscores stand for hyphens; numbers are rounded to tenths, and None leaves
            an attribute out.
    """
    given = "".join(
        f' {key.replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{given}>{''.join(children)}</{name}>" if children else f"<{name}{given}/>"


def path(*steps: str | float, **attributes: Attribute) -> str:
    """A path without a fill: letters and coordinates in turn, `path("M", 0, 0, "H", 9)`."""
    drawn = " ".join(_value(step) for step in steps)
    return element("path", d=drawn, fill="none", **attributes)


def _value(value: str | float) -> str:
    return words(value) if isinstance(value, str) else f"{round(value, 1):g}"
