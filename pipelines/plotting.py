"""Plots of an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipelines.evaluating import Measured
from pipelines.files import LoadingError


def check_target(path: Path) -> None:
    """Refuse a file that could not be written, before any work is done for it.

    Raises:
        LoadingError: there is no such folder, or matplotlib writes no files of this suffix.
    """
    from matplotlib.backend_bases import FigureCanvasBase

    formats = FigureCanvasBase.get_supported_filetypes()
    if path.suffix.removeprefix(".") not in formats:
        raise LoadingError(
            f"--plot {path}: the suffix must be one of {', '.join(sorted(formats))}."
        )
    if not path.absolute().parent.is_dir():
        raise LoadingError(f"--plot {path}: there is no folder {path.absolute().parent}. Make it.")


def plot_recall(measured: Sequence[Measured], path: Path, title: str) -> None:
    """Draw recall against the number of articles looked at, one line a pipeline.

    Args:
        measured: the pipelines; the metrics R@k are drawn, with their 95% intervals.
        path: the file, which `check_target` let pass; its suffix says the format.
        title: what was measured.
    """
    # Imported here: without --plot, nobody should wait for it.
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
