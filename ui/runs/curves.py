"""The curves of a run: what is drawn of it, and what is said for those who do not see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeVar, get_args

from ui.language import Language, decimal, number
from ui.runs.drawing import DARK, LIGHT, MAX_PARTS, Axes, line_chart, percent, stacked_chart
from ui.runs.records import Epoch
from ui.runs.run import Run
from ui.texts.curves import TEXTS

Chart = Literal["loss", "dev", "buckets", "views"]
CHARTS: tuple[Chart, ...] = get_args(Chart)
Item = TypeVar("Item")

_MAX_BARS = 120


def charts_of(run: Run) -> list[Chart]:
    """The charts that there is something to draw in."""
    there = {
        "loss": any(
            epoch.losses or (epoch.loss is not None and epoch.step is not None)
            for epoch in run.shown
        ),
        "dev": bool(_measured(run)),
        "buckets": bool(_shares(run, "buckets")),
        "views": bool(_shares(run, "views")),
    }
    return [chart for chart in CHARTS if there[chart]]


def draw(run: Run, chart: Chart, language: Language, *, dark: bool) -> str:
    """A chart of a run, one of `charts_of`, as an SVG document."""
    texts = TEXTS[language]
    palette = DARK if dark else LIGHT
    if chart == "loss":
        axes = Axes(texts.axis_steps, texts.axis_loss)
        return line_chart(_losses(run), axes, language, palette, from_zero=True)
    if chart == "dev":
        points = _measured(run)
        kept = next((point for point in points if point[0] == run.best), None)
        return line_chart(
            points,
            Axes(texts.axis_epochs, metric_name(run.metric or "", language)),
            language,
            palette,
            kept=kept,
            kept_label=texts.kept,
        )
    bars = evenly(_shares(run, chart), _MAX_BARS)
    columns = [(_epoch_label(epoch), shares) for epoch, shares in bars]
    axes = Axes(texts.axis_epoch, texts.axis_share)
    return stacked_chart(columns, parts_of(run, chart, language), axes, language, palette)


def alternative(run: Run, chart: Chart, language: Language) -> str:
    """What a chart shows, in a sentence with its first and its last numbers."""
    texts = TEXTS[language]
    if chart == "loss":
        points = _losses(run)
        single = _of_single_steps(run)
        part = max(1, len(points) // 10) if single else 1
        first, last = _mean(points[:part]), _mean(points[-part:])
        steps = number(points[-1][0], language)
        said = texts.alt_loss if single else texts.alt_mean_loss
        return said.format(
            steps=steps, first=decimal(first, language, 2), last=decimal(last, language, 2)
        )
    if chart == "dev":
        points = _measured(run)
        return texts.alt_dev.format(
            metric=metric_name(run.metric or "", language),
            first=measure(points[0][1], language),
            last=measure(points[-1][1], language),
            epochs=epoch_name(points[-1][0], language),
        )
    columns = _shares(run, chart)
    parts = parts_of(run, chart, language)
    ends = [
        texts.list_separator.join(
            f"{part} {percent(share, language)}" for part, share in zip(parts, shares, strict=True)
        )
        for _, shares in (columns[0], columns[-1])
    ]
    said = texts.alt_shares.format(first=ends[0], last=ends[1])
    return f"{said} {some_bars(run, chart, language)}".rstrip()


def some_bars(run: Run, chart: Chart, language: Language) -> str:
    """How many of a run's epochs have a bar; "" where all do, or the chart has none."""
    epochs = len(_shares(run, chart)) if chart in ("buckets", "views") else 0
    if epochs <= _MAX_BARS:
        return ""
    counts = {"epochs": epochs, "shown": _MAX_BARS}
    return TEXTS[language].some_bars.format(**{k: number(v, language) for k, v in counts.items()})


def chart_title(run: Run, chart: Chart, language: Language) -> str:
    """What stands above a chart."""
    texts = TEXTS[language]
    if chart == "loss" and not _of_single_steps(run):
        return texts.mean_loss_title
    return texts.chart_titles[chart]


def chart_note(run: Run, chart: Chart, language: Language) -> str:
    """What a chart means, for who does not know."""
    texts = TEXTS[language]
    if chart == "loss" and run.kind == "pretraining":
        return texts.hidden_words_note
    return texts.chart_notes[chart]


def parts_of(run: Run, chart: Chart, language: Language) -> list[str]:
    """What the parts of a chart's bars are called, from the lowest up."""
    texts = TEXTS[language]
    if chart == "buckets":
        return [bucket_name(bucket, run.buckets, language) for bucket in range(run.buckets)]
    return [texts.view_names.get(view, view) for view in run.views]


def bucket_name(bucket: int, buckets: int, language: Language) -> str:
    """How difficult a part of the ranking is, in words."""
    texts = TEXTS[language]
    if buckets == len(texts.three_buckets) and bucket < buckets:
        return texts.three_buckets[bucket]
    if buckets == 1:
        return texts.one_bucket
    return texts.bucket_of.format(bucket=bucket + 1, buckets=buckets)


def metric_name(metric: str, language: Language) -> str:
    """What a metric is called."""
    return TEXTS[language].metric_names.get(metric, metric)


def measure(value: float, language: Language) -> str:
    """A metric's value; perplexities need no digits behind the point."""
    return decimal(value, language, 3) if abs(value) < 10 else decimal(value, language, 1)


def epoch_name(epoch: float, language: Language) -> str:
    """How often everything had been learnt; with digits behind the point within an epoch."""
    return decimal(epoch, language, 0 if epoch.is_integer() else 2)


def evenly(found: Sequence[Item], most: int) -> list[Item]:
    """All, or so many of them at even steps, the first and the last among them."""
    last = len(found) - 1
    shown = min(len(found), most)
    return [found[place * last // max(shown - 1, 1)] for place in range(shown)]


def _epoch_label(epoch: Epoch) -> str:
    return f"{epoch.number + 1:g}"


def _losses(run: Run) -> list[tuple[float, float]]:
    if not _of_single_steps(run):
        return [
            (float(epoch.step), epoch.loss)
            for epoch in run.shown
            if epoch.step is not None and epoch.loss is not None
        ]
    points: list[tuple[float, float]] = []
    for epoch in run.shown:
        # The epoch before may be missing, its line being damaged.
        done = max(epoch.step or 0, points[-1][0] if points else 0)
        points += [(done + step, loss) for step, loss in enumerate(epoch.losses, start=1)]
    return points


def _of_single_steps(run: Run) -> bool:
    """Whether losses are of each step; else they are means of the steps between measurements."""
    return any(epoch.losses for epoch in run.shown)


def _measured(run: Run) -> list[tuple[float, float]]:
    if run.metric is None:
        return []
    return [
        (epoch.number, epoch.measured[run.metric])
        for epoch in run.shown
        if run.metric in epoch.measured
    ]


def _shares(run: Run, chart: Chart) -> list[tuple[Epoch, Sequence[float]]]:
    """Epochs that negatives were drawn in, with the share of each part."""
    found: list[tuple[Epoch, Sequence[float]]] = []
    for epoch in run.shown:
        counts = (
            list(epoch.buckets)
            if chart == "buckets"
            else [epoch.views.get(view, 0) for view in run.views]
        )
        whole = run.buckets if chart == "buckets" else len(run.views)
        if sum(counts) and len(counts) == whole and 2 <= whole <= MAX_PARTS:
            found.append((epoch, [count / sum(counts) for count in counts]))
    return found


def _mean(points: Sequence[tuple[float, float]]) -> float:
    return sum(y for _, y in points) / len(points)
