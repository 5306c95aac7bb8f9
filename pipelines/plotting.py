"""Plots of what the commands measure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipelines.evaluating import Measured
from pipelines.files import LoadingError
from pipelines.tree_view.similarity import NeighbourSimilarity, Similarity


def check_target(path: Path, option: str) -> None:
    """Refuse a file that could not be written, before any work is done for it.

    Args:
        path: the file.
        option: the flag that names it, for the message.

    Raises:
        LoadingError: there is no such folder, or matplotlib writes no files of this suffix.
    """
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


def plot_similarity(measured: NeighbourSimilarity, path: Path, title: str) -> None:
    """Draw mean similarity against distance in sequence and in the tree, beside random pairs.

    Args:
        measured: what is drawn, with its 95% intervals.
        path: the file, which `check_target` let pass; its suffix says the format.
        title: what was measured.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(10, 4.5), sharey=True, layout="constrained")
    series: list[tuple[str, dict[int, Similarity]]] = [
        ("steps in the law's sequence", measured.sequence),
        ("steps in the tree (siblings: 2)", measured.tree),
    ]
    for axes, (label, by_distance) in zip(panels, series, strict=True):
        distances = list(by_distance)
        means = [each.mean for each in by_distance.values()]
        low, high = zip(
            *(each.interval or (each.mean, each.mean) for each in by_distance.values()),
            strict=True,
        )
        axes.plot(distances, means, marker="o", label="articles of one law")
        axes.fill_between(distances, low, high, alpha=0.15)
        axes.axhline(measured.random.mean, color="0.4", linestyle="--", label="random pairs")
        axes.set_xticks(distances)
        axes.set_xlabel(label)
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("mean cosine similarity")
    panels[0].legend()
    figure.suptitle(title)
    figure.savefig(path, dpi=150)
    plt.close(figure)
