"""Charts as SVG: lines and stacked bars, readable without colour, on paper of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.tree_view.svg import words
from ui.language import Language, decimal

WIDTH, HEIGHT = 440, 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 54, WIDTH - 14, 34, HEIGHT - 46

# Points that a line of this width can show; more are drawn as means, with their range behind.
_POINTS = 220
_MARKED_POINTS = 40
_LABELLED_BARS = 8
_LOWEST_LABEL = 0.09
_SAME = 1e-9

# Densities from light to dark, each with a pattern of its own; of a few, the farthest apart.
_FILLS: dict[int, tuple[int, ...]] = {
    1: (5,),
    2: (0, 5),
    3: (0, 2, 5),
    4: (0, 2, 3, 5),
    5: (0, 1, 2, 3, 5),
    6: (0, 1, 2, 3, 4, 5),
}
MAX_PARTS = len(_FILLS)

_Point = tuple[float, float]


@dataclass(frozen=True)
class Palette:
    """Colours of a chart; the same as the page's."""

    paper: str
    ink: str
    quiet: str
    line: str
    accent: str
    wash: str


LIGHT = Palette("#ffffff", "#1f2522", "#59625c", "#dedbd0", "#1c5f47", "#cfe0d6")
DARK = Palette("#1b201d", "#e7e5dd", "#a9b2ab", "#343b37", "#8bcfae", "#2f4a3d")


@dataclass(frozen=True)
class Axes:
    """What stands at the axes of a chart."""

    x: str
    y: str


def line_chart(
    points: Sequence[_Point],
    axes: Axes,
    language: Language,
    palette: Palette,
    *,
    from_zero: bool = False,
    kept: _Point | None = None,
    kept_label: str = "",
) -> str:
    """A line through points, as a document.

    Args:
        points: in the order of their x; at least one.
        axes: what they are of.
        language: of the numbers.
        palette: colours.
        from_zero: whether the scale begins at 0.
        kept: a point to ring.
        kept_label: what is written at it.
    """
    values = [y for _, y in points]
    y_ticks = _ticks(min(0.0, *values) if from_zero else min(values), max(values))
    first, last = min(x for x, _ in points), max(x for x, _ in points)
    scale = _Scale((first, last if last > first else first + 1), (y_ticks[0], y_ticks[-1]))
    x_ticks = [t for t in _ticks(*scale.x, whole=True) if scale.x[0] <= t <= scale.x[1]]
    drawn = [_grid(y_ticks, scale, language), _below(x_ticks, scale, language)]
    if len(points) > _POINTS:
        bands = _bands(points)
        upper = [scale.at(x, high) for x, _, _, high in bands]
        lower = [scale.at(x, low) for x, _, low, _ in reversed(bands)]
        drawn.append(f'<polygon class="band" points="{_joined(upper + lower)}"/>')
        points = [(x, mean) for x, mean, _, _ in bands]
    places = [scale.at(*point) for point in points]
    drawn.append(f'<polyline class="curve" points="{_joined(places)}"/>')
    if len(places) <= _MARKED_POINTS:
        drawn += [f'<circle class="point" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in places]
    if kept is not None:
        x, y = scale.at(*kept)
        anchor = "end" if x > (_LEFT + _RIGHT) / 2 else "start"
        drawn.append(
            f'<circle class="kept" cx="{x:.1f}" cy="{y:.1f}" r="8"/>'
            f'<text class="share" x="{x + (-12 if anchor == "end" else 12):.1f}" y="{y + 20:.1f}"'
            f' text-anchor="{anchor}">{words(kept_label)}</text>'
        )
    return _document("".join(drawn), axes, palette)


def stacked_chart(
    columns: Sequence[tuple[str, Sequence[float]]],
    parts: Sequence[str],
    axes: Axes,
    language: Language,
    palette: Palette,
) -> str:
    """Bars whose parts make up a whole, as a document.

    Args:
        columns: label of each bar and its parts' shares, which add up to 1; at least one.
        parts: what the parts are, from the lowest up, at most `MAX_PARTS`.
        axes: what they are of.
        language: of the numbers.
        palette: colours.
    """
    fills = _FILLS[len(parts)]
    scale = _Scale((0, len(columns)), (0, 1))
    drawn = [_grid([0, 0.25, 0.5, 0.75, 1], scale, language, shares=True)]
    gap = 0.18 if len(columns) <= _MARKED_POINTS else 0
    every = max(1, math.ceil(len(columns) / 10))
    for place, (label, shares) in enumerate(columns):
        left, right = scale.at(place + gap, 0)[0], scale.at(place + 1 - gap, 0)[0]
        middle = (left + right) / 2
        bottom = 0.0
        for fill, share in zip(fills, shares, strict=True):
            low, high = scale.at(0, bottom)[1], scale.at(0, bottom + share)[1]
            drawn.append(
                f'<rect class="part" x="{left:.1f}" y="{high:.1f}" width="{right - left:.1f}"'
                f' height="{low - high:.1f}" fill="url(#fill{fill})"/>'
            )
            if len(columns) <= _LABELLED_BARS and share >= _LOWEST_LABEL:
                drawn.append(
                    f'<text class="share" x="{middle:.1f}" y="{(low + high) / 2 + 5:.1f}"'
                    f' text-anchor="middle">{percent(share, language)}</text>'
                )
            bottom += share
        if place % every == 0:
            drawn.append(
                f'<text class="tick" x="{middle:.1f}" y="{_BOTTOM + 18}"'
                f' text-anchor="middle">{words(label)}</text>'
            )
    return _document("".join(drawn), axes, palette, _legend(parts, fills))


def percent(share: float, language: Language) -> str:
    """A share in per cent."""
    space = "\N{NO-BREAK SPACE}" if language == "fr" else ""
    return f"{round(100 * share)}{space}%"


@dataclass(frozen=True)
class _Scale:
    """From values to places in the drawing."""

    x: _Point
    y: _Point

    def at(self, x: float, y: float) -> _Point:
        return (
            _LEFT + (x - self.x[0]) / (self.x[1] - self.x[0]) * (_RIGHT - _LEFT),
            _BOTTOM - (y - self.y[0]) / (self.y[1] - self.y[0]) * (_BOTTOM - _TOP),
        )


def _ticks(low: float, high: float, *, whole: bool = False) -> list[float]:
    """Round numbers around a range, some four of them."""
    largest = max(abs(low), abs(high))
    if high - low <= _SAME * max(1.0, largest):
        margin = 0.5 * (largest if largest > _SAME else 1.0)
        low, high = low - margin, high + margin
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= rough * 0.999)
    if whole:
        step = max(1.0, step)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def _bands(points: Sequence[_Point]) -> list[tuple[float, float, float, float]]:
    """Neighbouring points together: x of their middle, mean, least and most."""
    bands = []
    for number in range(_POINTS):
        part = points[number * len(points) // _POINTS : (number + 1) * len(points) // _POINTS]
        values = [y for _, y in part]
        middle = (part[0][0] + part[-1][0]) / 2
        bands.append((middle, math.fsum(values) / len(values), min(values), max(values)))
    return bands


def _grid(
    ticks: Sequence[float], scale: _Scale, language: Language, *, shares: bool = False
) -> str:
    drawn = []
    for tick, label in zip(ticks, _labels(ticks, language, shares=shares), strict=True):
        y = scale.at(scale.x[0], tick)[1]
        drawn.append(
            f'<path class="grid" d="M{_LEFT} {y:.1f}H{_RIGHT}"/>'
            f'<text class="tick" x="{_LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
        )
    return "".join(drawn)


def _below(ticks: Sequence[float], scale: _Scale, language: Language) -> str:
    labels = zip(ticks, _labels(ticks, language), strict=True)
    return "".join(
        f'<text class="tick" x="{scale.at(tick, 0)[0]:.1f}" y="{_BOTTOM + 18}"'
        f' text-anchor="middle">{label}</text>'
        for tick, label in labels
    )


def _labels(ticks: Sequence[float], language: Language, *, shares: bool = False) -> list[str]:
    if shares:
        return [percent(tick, language) for tick in ticks]
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1
    digits = max(0, min(6, -math.floor(math.log10(abs(step)) + 1e-9)))
    return [decimal(tick, language, digits) for tick in ticks]


def _joined(places: Sequence[_Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def _legend(parts: Sequence[str], fills: Sequence[int]) -> str:
    drawn = []
    room = (_RIGHT - _LEFT) / len(parts)
    for place, (part, fill) in enumerate(zip(parts, fills, strict=True)):
        x = _LEFT + place * room
        drawn.append(
            f'<rect class="part" x="{x:.1f}" y="8" width="16" height="14" fill="url(#fill{fill})"/>'
            f'<text class="tick" x="{x + 22:.1f}" y="20">{words(part)}</text>'
        )
    return "".join(drawn)


def _document(drawn: str, axes: Axes, palette: Palette, legend: str = "") -> str:
    middle = (_TOP + _BOTTOM) / 2
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
        f' width="{WIDTH}" height="{HEIGHT}">{_style(palette)}<defs>{_patterns(palette)}</defs>'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{palette.paper}"/>{legend}{drawn}'
        f'<path class="axis" d="M{_LEFT} {_BOTTOM}H{_RIGHT}"/>'
        f'<text class="name" x="{(_LEFT + _RIGHT) / 2:.1f}" y="{HEIGHT - 8}"'
        f' text-anchor="middle">{words(axes.x)}</text>'
        f'<text class="name" text-anchor="middle" transform="translate(13 {middle:.1f})'
        f' rotate(-90)">{words(axes.y)}</text></svg>'
    )


def _style(palette: Palette) -> str:
    fonts = "-apple-system,'Segoe UI',Roboto,'Noto Sans','Liberation Sans',sans-serif"
    return (
        f"<style>text{{font:13px {fonts};fill:{palette.ink}}}"
        f".tick,.name{{fill:{palette.quiet};font-size:12.5px}}"
        f".share{{paint-order:stroke;stroke:{palette.paper};stroke-width:4px;font-weight:600}}"
        f".grid{{stroke:{palette.line}}}.axis{{stroke:{palette.quiet}}}"
        f".part{{stroke:{palette.ink};stroke-width:.6}}"
        f".band{{fill:{palette.wash}}}"
        f".curve{{fill:none;stroke:{palette.accent};stroke-width:2}}"
        f".point{{fill:{palette.accent}}}"
        f".kept{{fill:none;stroke:{palette.ink};stroke-width:1.6}}</style>"
    )


def _patterns(palette: Palette) -> str:
    ink = f'stroke="{palette.accent}" stroke-width="1.3" fill="none"'
    marks = (
        "",
        f'<circle cx="4" cy="4" r="1.1" fill="{palette.accent}"/>',
        f'<path d="M-1 1l2-2M0 8l8-8M7 9l2-2" {ink}/>',
        f'<path d="M0 0l8 8M0 8l8-8" {ink}/>',
        f'<path d="M0 2h8M0 6h8" stroke="{palette.accent}" stroke-width="2.4"/>',
        f'<rect width="8" height="8" fill="{palette.accent}"/>',
    )
    return "".join(
        f'<pattern id="fill{number}" width="8" height="8" patternUnits="userSpaceOnUse">'
        f'<rect width="8" height="8" fill="{palette.wash}"/>{mark}</pattern>'
        for number, mark in enumerate(marks)
    )
