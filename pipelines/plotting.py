"""Plots of an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipelines.evaluating import Measured


def plot_recall(measured: Sequence[Measured], path: Path, title: str) -> None:
    """Draw recall against the number of articles looked at, one line a pipeline.

    Args:
        measured: the pipelines; the metrics R@k are drawn, with their 95% intervals.
        path: the file; its suffix says the format.
        title: what was measured.

    Raises:
        ValueError: matplotlib does not write files of this suffix.
    """
    # Imported here: without --plot, nobody should wait for it.
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for each in measured:
        recall = {name: value for name, value in each.means().items() if name.startswith("R@")}
        depths = [int(name.removeprefix("R@")) for name in recall]
        low, high = zip(*(each.intervals()[name] for name in recall), strict=True)
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
