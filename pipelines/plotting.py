"""Plots of what the commands measure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from components.joiners.rank_fusion import CITATION
from components.statutes.metrics import metric_depth
from pipelines.checking import LoadingError
from pipelines.command_line import require
from pipelines.evaluation import Measured, StageGain, metrics_of

_SIGNIFICANT = 0.05


def check_target(path: Path, option: str) -> None:
    """Refuse a file that could not be written, before any work is done.

    Args:
        path: the file.
        option: the flag that names it, for the message.

    Raises:
        LoadingError: there is no such folder, matplotlib is not installed, or it does not write
            files with this suffix.
    """
    require(option, "training", "matplotlib")
    from matplotlib.backend_bases import FigureCanvasBase

    formats = FigureCanvasBase.get_supported_filetypes()
    if path.suffix.removeprefix(".") not in formats:
        raise LoadingError(
            f"{option} {path}: the suffix must be one of {', '.join(sorted(formats))}."
        )
    if not path.absolute().parent.is_dir():
        raise LoadingError(
            f"{option} {path}: there is no folder {path.absolute().parent}. Make it."
        )


def plot_recall(measured: Sequence[Measured], path: Path, title: str) -> None:
    """Draw recall against the number of articles looked at, one line per pipeline.

    Args:
        measured: the pipelines; the metrics R@k are drawn, with their 95% intervals.
        path: the file, accepted by `check_target`; its suffix gives the format.
        title: what was measured.
    """
    # Imported here: without --plot, nobody should wait for matplotlib.
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for each in measured:
        recall = {name: value for name, value in each.means().items() if name.startswith("R@")}
        depths = [int(name.removeprefix("R@")) for name in recall]
        intervals = each.intervals()
        low, high = zip(*(intervals[name] for name in recall), strict=True)
        axes.plot(depths, list(recall.values()), marker="o", label=each.pipeline)
        axes.fill_between(depths, low, high, alpha=0.15)
    axes.set_xscale("log")
    axes.set_xticks(depths, [str(depth) for depth in depths])
    axes.minorticks_off()
    axes.set_ylim(0, 1)
    axes.set_xlabel("articles looked at (k)")
    axes.set_ylabel("R@k")
    axes.set_title(title)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)
    plt.close(figure)


def plot_stages(stages: Sequence[StageGain], paths: Sequence[Path], title: str) -> None:
    """Draw each stage's measures one below the other, and below a re-ranker its ceiling.

    Recall and average precision cannot exceed the recall of the candidates (R@m), nor can the
    reciprocal rank exceed the share of questions with a relevant candidate (Exist@m). Citations,
    which few questions have, are only in the table.

    Args:
        stages: what is drawn, with its 95% intervals.
        paths: the files, whose suffixes say the formats.
        title: what was measured.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    drawn = [each for each in stages if each["metrics"] and each["stage"] != CITATION]
    metrics = metrics_of(drawn)
    rows = [row for each in drawn for row in _stage_rows(each)]
    figure, panels = plt.subplots(
        *(2, 2), figsize=(10, len(rows) + 2), sharey=True, layout="constrained"
    )
    for axes, metric in zip_longest(panels.flat, metrics):
        if metric is None:  # a run of depth 10 or less has only one recall
            axes.set_axis_off()
            continue
        for place, (_, marks) in enumerate(rows):
            if metric not in marks:
                continue
            mean, interval, text, color = marks[metric]
            axes.hlines(place, *interval, color=color, alpha=0.4, linewidth=5)
            axes.plot(mean, place, "o", color=color, markersize=5)
            axes.annotate(
                *(text, (mean, place)),
                xytext=(0, 8),
                textcoords="offset points",
                ha="center",
                fontsize=9,
                color=color,
            )
        axes.set_title(metric)
        axes.margins(x=0.2)
        axes.grid(axis="x", alpha=0.3)
    panels[0, 0].set_yticks(range(len(rows)), [name for name, _ in rows])
    panels[0, 0].set_ylim(len(rows) - 0.5, -0.8)
    figure.suptitle(
        f"{title}: value with its 95% interval (gain over the stage before, "
        f"* p < {_SIGNIFICANT}, uncorrected)"
    )
    for path in paths:
        figure.savefig(path, dpi=150)
    plt.close(figure)


class _Mark(NamedTuple):
    mean: float
    interval: tuple[float, float]
    text: str
    color: str


def _stage_rows(stage: StageGain) -> list[tuple[str, dict[str, _Mark]]]:
    """The rows of a stage and of its ceiling: a name, and what to draw for each metric."""
    own = {}
    for metric, mean in stage["metrics"].items():
        gain = stage["gain"].get(metric)
        star = "*" if gain and gain["p"] < _SIGNIFICANT else ""
        change = f" ({gain['difference']:+.3f}{star})" if gain else ""
        own[metric] = _Mark(mean, stage["intervals"][metric], f"{mean:.3f}{change}", "C0")
    rows = [(stage["stage"], own)]
    ceiling = stage["ceiling"]
    if ceiling:
        m = ceiling["n_candidates"]
        reached = {}
        for metric in stage["metrics"]:
            if metric_depth(metric) <= m:
                name = f"Exist@{m}" if metric.startswith("MRR") else f"R@{m}"
                mean = ceiling["metrics"][name]
                text = f"{name} {mean:.3f}"
                reached[metric] = _Mark(mean, ceiling["intervals"][name], text, "0.45")
        rows.append((f"ceiling at {m}", reached))
    return rows
