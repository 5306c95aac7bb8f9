"""The colours of the picture: told apart by who reads on paper and by who reads at night."""

from __future__ import annotations

from itertools import product

import pytest

from pipelines.tree_view.colours import (
    AT_NIGHT,
    CITATION,
    INK,
    PAPER,
    QUIET,
    SEQUENCE,
    SHEET,
    TREE,
    WASH,
    night_style,
)


def luminance(colour: str) -> float:
    """Relative luminance, WCAG 2.2."""
    shares = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize(
    ("letters", "ground"),
    product((INK, QUIET, TREE, SEQUENCE, CITATION), (PAPER, SHEET, WASH)),
)
def test_letters_are_read_by_day_and_by_night(letters: str, ground: str) -> None:
    assert contrast(letters, ground) >= 4.5
    assert contrast(AT_NIGHT[letters], AT_NIGHT[ground]) >= 4.5


def test_night_is_dark_and_for_screens_alone() -> None:
    assert luminance(AT_NIGHT[PAPER]) < 0.02
    style = night_style()
    assert style.startswith("@media screen and (prefers-color-scheme:dark){")
    assert f'[fill="{INK}"]{{fill:{AT_NIGHT[INK]}}}' in style
    assert f'[stroke="{TREE}"]{{stroke:{AT_NIGHT[TREE]}}}' in style
