"""Plots of one training run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def plot_run(records: Sequence[Mapping[str, Any]], folder: Path, metric: str) -> None:
    """Draw loss, `metric` on dev and the negatives' origin over the epochs: `metrics.png`, `.svg`.

    Args:
        records: As they stand in `metrics.jsonl`.
        folder: Where the files go.
        metric: The one that chose the model.
    """
    # Imported here: only the end of a run draws.
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (loss, dev, origin) = plt.subplots(1, 3, figsize=(14, 4), layout="constrained")
    losses = [value for record in records for value in record.get("losses", ())]
    loss.plot(range(1, len(losses) + 1), losses, linewidth=0.8)
    loss.set(xlabel="step", ylabel="loss", title="Loss of each step")
    measured = [record for record in records if "dev" in record]
    if measured:
        epochs = [record["epoch"] for record in measured]
        dev.plot(epochs, [record["dev"][metric] for record in measured], marker="o")
    dev.set(xlabel="epochs trained", ylabel=metric, title="Dev questions")
    drawn = [record for record in records if record.get("negatives")]
    if drawn:
        epochs = [record["epoch"] + 1 for record in drawn]
        bottom = [0.0] * len(drawn)
        for bucket in range(len(drawn[0]["negatives"]["buckets"])):
            counts = [record["negatives"]["buckets"][bucket] for record in drawn]
            origin.bar(epochs, counts, bottom=bottom, label=str(bucket))
            bottom = [low + count for low, count in zip(bottom, counts, strict=True)]
        origin.legend(title="bucket, 0 easiest")
    origin.set(xlabel="epoch", ylabel="negatives drawn", title="Where negatives come from")
    for suffix in ("png", "svg"):
        figure.savefig(folder / f"metrics.{suffix}", dpi=150)
    plt.close(figure)
