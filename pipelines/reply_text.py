"""A reply's words as they may be shown: none passes for a verdict, none turns others round."""

from __future__ import annotations

# A verdict begins with one of them, which no reply can write; so none can write a verdict.
VERIFIED, DOUBT = "✓", "⚠"

# They, and what looks like them.
_SIGNS = "✓✔✅☑🗸🗹🮱𐄂⍻√⚠🛆"
# Signs that are not seen, and change the order in which others are: "14" would be shown as "41".
_TURNING = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_SHOWN = str.maketrans({**dict.fromkeys(_SIGNS, "\ufffd"), **dict.fromkeys(_TURNING, "")})


def as_written(text: str) -> str:
    """Words of a reply in the order in which they are written, without the signs of verdicts.

    Args:
        text: a reply, or a part of one; places in what is returned may be others.
    """
    return text.translate(_SHOWN)
