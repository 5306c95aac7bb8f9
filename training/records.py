"""What a run records: metrics by epoch, its environment, and figures."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from components.models.folder import whole_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METRICS_FILE = "metrics.jsonl"

_PACKAGES = ("torch", "transformers", "sentence-transformers", "accelerate", "numpy", "lexarbor")


def write_metrics(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write the records of all epochs so far, one JSON object per line, replacing the file."""
    with whole_file(path) as partial:
        partial.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")


def refresh_shares(record: Mapping[str, Any], n_articles: int, n_pairs: int) -> dict[str, float]:
    """Share of an epoch's time spent encoding the law, and the share to expect.

    Training on a text costs a forward and a backward pass, about three times as much as encoding
        it: with N articles, Q questions of P positives and n negatives each, the share should be
    N / (N + 3 Q (P + n)).

    Args:
        record: The epoch's record, its steps done.
        n_articles: N.
        n_pairs: Q P.
    """
    encoding, training = record["seconds_encoding"], record["seconds_training"]
    trained_on = n_pairs + record["negatives"]["drawn"]
    return {
        "refresh_share": encoding / (encoding + training),
        "predicted_refresh_share": n_articles / (n_articles + 3 * trained_on),
    }


LEAST_OWN_MASS = 0.1
"""Below this share of the gradient, where a question's own negatives come from hardly matters."""


def own_mass_warning(records: Sequence[Mapping[str, Any]], n_epochs: int) -> str | None:
    """A warning if the drawn negatives have got almost none of the gradient from the beginning on.

    It comes once: after the second epoch, or the only one.

    Args:
        records: Of the epochs so far, the last one's steps done.
        n_epochs: Epochs of the whole run.
    """
    trained = [each for each in records if each.get("own_mass") is not None]
    masses = [sum(each["own_mass"]) for each in trained if each["negatives"]["drawn"]]
    if len(trained) != min(2, n_epochs) or not masses or max(masses) >= LEAST_OWN_MASS:
        return None
    return (
        f"These negatives teach almost nothing: {max(masses):.3f} at most of the gradient of an "
        "epoch's negatives falls on those drawn for the question, the rest on the batch's other "
        "articles. Draw harder ones (candidates 100), or compare with them alone (in_batch false)"
    )


def environment(device: str) -> dict[str, Any]:
    """What a result may depend on besides the settings.

    Args:
        device: The kind of device, such as "cuda".
    """
    packages: dict[str, str | None] = {}
    for name in _PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            packages[name] = None
    name = torch.cuda.get_device_name() if device == "cuda" else platform.machine()
    return {"python": platform.python_version(), "device": name, **packages}


def numbers_of(record: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """The numbers of a record under one-level names, joined by "/"."""
    numbers: dict[str, float] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            numbers |= numbers_of(value, f"{prefix}{name}/")
        elif isinstance(value, int | float):
            numbers[prefix + name] = value
    return numbers


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
    size, n = (27, 4 * len(trainings)), len(trainings)
    with figure_at(folder / "metrics", n, 6, figsize=size, squeeze=False) as (_, rows):
        for row, own, name in zip(rows, trainings, ("", " (train and dev together)"), strict=False):
            _plot_training(row, own, metric, name)


def _plot_training(
    axes: Sequence[Axes], records: Sequence[Mapping[str, Any]], metric: str, name: str
) -> None:
    loss, dev, by_bucket, by_view, apart, mass = axes
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
