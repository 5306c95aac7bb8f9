"""Plots of one training run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_run(records: Sequence[Mapping[str, Any]], folder: Path, metric: str) -> None:
    """Draw loss, `metric` on dev and the negatives over the epochs: `metrics.png`, `.svg`.

    Args:
        records: As they stand in `metrics.jsonl`; a second training (`final`) has a row of its own.
        folder: Where the files go.
        metric: The one that chose the model.
    """
    # Imported here: only the end of a run draws.
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    trainings = [
        [each for each in records if each.get("final", False) is own] for own in (False, True)
    ]
    trainings = [each for each in trainings if each]
    size = (22, 4 * len(trainings))
    figure, rows = plt.subplots(
        len(trainings), 5, figsize=size, layout="constrained", squeeze=False
    )
    for row, own, name in zip(rows, trainings, ("", " (train and dev together)"), strict=False):
        _plot_training(row, own, metric, name)
    for suffix in ("png", "svg"):
        figure.savefig(folder / f"metrics.{suffix}", dpi=150)
    plt.close(figure)


def _plot_training(
    axes: Sequence[Axes], records: Sequence[Mapping[str, Any]], metric: str, name: str
) -> None:
    loss, dev, by_bucket, by_view, apart = axes
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
    lines = {
        "mean distance in the tree": [each["mean_tree_distance"] for each in negatives],
        "share drawn before too": [each["overlap"] for each in negatives],
    }
    for (label, values), axis, color in zip(
        lines.items(), (apart, apart.twinx()), ("tab:blue", "tab:orange"), strict=True
    ):
        known = [(e, value) for e, value in zip(epochs, values, strict=True) if value is not None]
        if known:
            axis.plot(*zip(*known, strict=True), marker="o", color=color)
        axis.set_ylabel(label, color=color)
        axis.set_ylim(bottom=0)
    apart.set(xlabel="epoch", title="How near, and how many again")


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
    # Beside the bars, which fill the axis.
    axis.legend(title=title, loc="upper left", bbox_to_anchor=(1, 1))
