"""The figures of trainings and of comparisons, each saved as PNG and SVG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components.statutes.significance import ArmScore
from training.checkpoint import LEAST_OWN_MASS
from training.command_line import say

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The same results give the same files, and a law's name is not parsed as a formula.
_STYLE: Any = {"svg.hashsalt": "lexarbor", "svg.fonttype": "none", "text.parse_math": False}


@contextmanager
def figure_at(stem: Path, rows: int = 1, columns: int = 1, **options: Any) -> Iterator[Any]:
    """A figure and its axes, saved as `STEM.png` and `STEM.svg` when the block ends.

    Args:
        stem: Where it goes, without suffix.
        rows: Rows of axes.
        columns: Columns of axes.
        options: As for `pyplot.subplots`.
    """
    # Imported here: only the end of a run draws figures.
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure: Figure
    with mpl.rc_context(_STYLE):
        figure, axes = plt.subplots(rows, columns, layout="constrained", **options)
        yield figure, axes
        for suffix, metadata in (("png", None), ("svg", {"Date": None})):
            figure.savefig(stem.with_name(f"{stem.name}.{suffix}"), dpi=150, metadata=metadata)
        plt.close(figure)


# What a training draws of itself.


def plot_run(records: Sequence[Mapping[str, Any]], folder: Path, metric: str) -> None:
    """Draw loss, `metric` on dev and the negatives over the epochs: `metrics.png`, `.svg`.

    Args:
        records: As in `metrics.jsonl`; a second training (`final`) has a row of its own.
        folder: Where the files go.
        metric: The one that chose the model.
    """
    trainings = [
        [each for each in records if each.get("final", False) is own] for own in (False, True)
    ]
    trainings = [each for each in trainings if each]
    size, n = (23, 4 * len(trainings)), len(trainings)
    with figure_at(folder / "metrics", n, 5, figsize=size, squeeze=False) as (_, rows):
        for row, own, name in zip(rows, trainings, ("", " (train and dev together)"), strict=False):
            _plot_training(row, own, metric, name)


def _plot_training(
    axes: Sequence[Axes], records: Sequence[Mapping[str, Any]], metric: str, name: str
) -> None:
    loss, dev, by_bucket, by_view, mass = axes
    losses = [value for record in records for value in record.get("losses", ())]
    loss.plot(range(1, len(losses) + 1), losses, linewidth=0.8)
    loss.set(xlabel="step", ylabel="loss", title=f"Loss of each step{name}")
    measured = [record for record in records if "dev" in record]
    if measured:
        epochs = [record["epoch"] for record in measured]
        dev.plot(epochs, [record["dev"][metric] for record in measured], marker="o")
        dev.set(xlabel="epochs trained", ylabel=metric, title="Dev questions")
    else:
        dev.set_axis_off()
    drawn = [record for record in records if record.get("negatives")]
    epochs = [record["epoch"] + 1 for record in drawn]
    negatives = [record["negatives"] for record in drawn]
    buckets = [dict(enumerate(each["buckets"])) for each in negatives]
    _stack(by_bucket, epochs, buckets, "bucket, 0 easiest")
    _stack(by_view, epochs, [each["views"] for each in negatives], "hardest in the view")
    for axis in (by_bucket, by_view):
        axis.set(xlabel="epoch", ylabel="negatives drawn", title="Where negatives come from")
    trained = [record for record in drawn if record.get("own_mass") is not None]
    shares = [dict(enumerate(record["own_mass"])) for record in trained]
    _stack(mass, [record["epoch"] + 1 for record in trained], shares, "bucket, 0 easiest")
    mass.axhline(LEAST_OWN_MASS, color="grey", linewidth=0.8, linestyle="--")
    mass.set(
        xlabel="epoch", ylabel="own mass", title="Gradient on the drawn negatives", ylim=(0, 1)
    )


def _stack(axis: Axes, epochs: Sequence[float], counts: Sequence[Any], title: str) -> None:
    """Bars of counts by name, one on another."""
    if not counts or not counts[0]:
        return
    bottom = [0.0] * len(counts)
    for name in counts[0]:
        own = [each[name] for each in counts]
        axis.bar(epochs, own, bottom=bottom, label=str(name))
        bottom = [low + count for low, count in zip(bottom, own, strict=True)]
    axis.set_xticks(list(epochs))
    # Next to the bars, which fill the axis.
    axis.legend(title=title, loc="upper left", bbox_to_anchor=(1, 1))


def plot_records(records: Sequence[Mapping[str, Any]], folder: Path, metric: str) -> None:
    """Draw `metric` on dev over the epochs and how the negatives score: `metrics.png`, `.svg`."""
    with figure_at(folder / "metrics", 1, 2, figsize=(10, 4)) as (_, (dev, scores)):
        measured = [record for record in records if "dev" in record]
        epochs = [record["epoch"] for record in measured]
        values = [record["dev"][metric] for record in measured]
        dev.plot(epochs, values, marker="o", label="re-ranked")
        if "first_stage" in records[0]:
            dev.axhline(records[0]["first_stage"][metric], color="grey", label="first stage")
        dev.set(xlabel="epochs", ylabel=metric, title="Dev questions")
        for record in records:
            for judge, statistics in record.get("negatives", {}).items():
                shares = {n: v for n, v in statistics.items() if n not in ("n", "mean")}
                label = f"{judge}, epoch {record['epoch']:g}"
                scores.plot(*zip(*shares.items(), strict=True), marker="o", label=label)
        scores.set(xlabel="score", ylabel="share", title="How the negatives score")
        for axes in (dev, scores):
            axes.legend()


# Comparisons of arms.


def plot_arms(
    stem: Path,
    scores: Mapping[str, Sequence[ArmScore]],
    baseline: str,
    published: Mapping[str, Mapping[str, float]],
    title: str,
) -> None:
    """Draw every arm with its interval, one panel a metric, and published values as diamonds.

    Args:
        stem: Where the files go, without suffix.
        scores: Metric to the scores of the arms, in one order.
        baseline: The arm whose mean is drawn as a line.
        published: Arm to metric to value.
        title: Above the panels.
    """
    size = (1.5 + 3 * len(scores), 1.6 + 0.3 * len(next(iter(scores.values()))))
    options = {"figsize": size, "sharey": True, "squeeze": False}
    with figure_at(stem, 1, len(scores), **options) as (figure, panels):
        figure.suptitle(title)
        labels: dict[str, Any] = {}
        for panel, (metric, own) in zip(panels[0], scores.items(), strict=True):
            names, means = [score.arm for score in own], [score.mean for score in own]
            bars = {"xerr": _errors(own), "fmt": "o", "capsize": 3, "label": "95% interval"}
            panel.errorbar(means, range(len(own)), **bars)
            for place, score in enumerate(own):
                if score.arm == baseline:
                    panel.axvline(score.mean, color="grey", linestyle="--", label=baseline)
                if (value := published.get(score.arm, {}).get(metric)) is not None:
                    panel.plot(value, place, "kD", label="the paper")
            panel.set(xlabel=metric, yticks=range(len(own)), yticklabels=names)
            labels |= dict(zip(*reversed(panel.get_legend_handles_labels()), strict=True))
        panels[0][0].invert_yaxis()  # the panels share it
        # Below the panels, where it covers no arm.
        figure.legend(labels.values(), labels, loc="outside lower center", ncols=3)
    say(f"Drawn: {stem}.png")


Points = Sequence[tuple[float, float]]


def plot_epochs(stem: Path, curves: Mapping[str, Points], metric: str) -> None:
    """Draw a metric on dev by epoch, one line an arm.

    Args:
        stem: Where the files go, without suffix.
        curves: Arm to its epochs and values.
        metric: What is drawn.
    """
    with figure_at(stem, figsize=(6, 4)) as (_, panel):
        for arm, points in curves.items():
            panel.plot(*zip(*points, strict=True), marker="o", label=arm)
        panel.set(xlabel="epochs trained", ylabel=f"{metric} on dev")
        panel.legend()
    say(f"Drawn: {stem}.png")


def plot_setting(
    stem: Path,
    lines: Mapping[str, Sequence[tuple[float, ArmScore]]],
    setting: str,
    metric: str,
    baseline: ArmScore | None,
) -> None:
    """Draw a metric by a setting, with intervals.

    Args:
        stem: Where the files go, without suffix.
        lines: Label of a line, "" for none, to values of the setting and scores.
        setting: Its name.
        metric: What is drawn.
        baseline: An arm whose mean is drawn as a line.
    """
    with figure_at(stem, figsize=(6, 4)) as (_, panel):
        for place, (label, points) in enumerate(lines.items()):
            own = [score for _, score in points]
            # Next to each other, so that the intervals can be told apart.
            where = [value + 0.15 * (place - (len(lines) - 1) / 2) for value, _ in points]
            means = [score.mean for score in own]
            panel.errorbar(where, means, yerr=_errors(own), fmt="o-", capsize=3, label=label)
        if baseline is not None:
            panel.axhline(baseline.mean, color="grey", linestyle="--", label=baseline.arm)
        ticks = sorted({value for points in lines.values() for value, _ in points})
        panel.set(xlabel=setting.replace("_", " "), ylabel=metric, xticks=ticks)
        if len(lines) > 1 or baseline is not None:
            panel.legend()
    say(f"Drawn: {stem}.png")


def _errors(scores: Sequence[ArmScore]) -> list[list[float]]:
    """How far the interval reaches below and above the mean."""
    below = [max(0.0, score.mean - score.interval[0]) for score in scores]
    above = [max(0.0, score.interval[1] - score.mean) for score in scores]
    return [below, above]
