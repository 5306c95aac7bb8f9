"""Figures: one way to draw and save them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
        for file in files_at(stem):
            date = {"Date": None} if file.suffix == ".svg" else None
            figure.savefig(file, dpi=150, metadata=date)
        plt.close(figure)


def files_at(stem: Path) -> list[Path]:
    """The files of a saved figure."""
    return [stem.with_name(f"{stem.name}.{suffix}") for suffix in ("png", "svg")]
