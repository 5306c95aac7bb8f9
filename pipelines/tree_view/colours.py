"""The colours of the picture of an article's place, by day and by night."""

from __future__ import annotations

# Ink on paper, as on the web page; every colour of letters meets 4.5:1 on paper, sheet and wash.
PAPER, SHEET, WASH, LINE = "#fbfaf6", "#ffffff", "#eef3ee", "#bdbbb0"
INK, QUIET = "#1f2522", "#59625c"
TREE, SEQUENCE, CITATION = "#1c5f47", "#24568f", "#8a3b12"

AT_NIGHT = {
    PAPER: "#151917",
    SHEET: "#1b201d",
    WASH: "#202923",
    LINE: "#4d5751",
    INK: "#e7e5dd",
    QUIET: "#a9b2ab",
    TREE: "#8bcfae",
    SEQUENCE: "#9dbdea",
    CITATION: "#e9a983",
}


def night_style() -> str:
    """CSS for readers who read light on dark; on paper the picture stays as it is."""
    rules = (
        f'[{attribute}="{day}"]{{{attribute}:{night}}}'
        for day, night in AT_NIGHT.items()
        for attribute in ("fill", "stroke")
    )
    return f"@media screen and (prefers-color-scheme:dark){{{''.join(rules)}}}"
