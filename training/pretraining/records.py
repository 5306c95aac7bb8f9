"""What a pretraining run has to show: its losses, as records and as a plot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from training.hf_trainer.records import EVAL_LOSS, measurings


def make_records(
    history: Sequence[Mapping[str, Any]], blocks_a_step: int, n_blocks: int
) -> list[dict[str, Any]]:
    """One record for each time that the held-out blocks were measured.

    Args:
        history: What the Trainer logged, in its order.
        blocks_a_step: Blocks that a step reads.
        n_blocks: Blocks of an epoch.

    Returns:
        `step`; `epoch`, times that each block was read; `held_out_loss`, the mean over held-out
        blocks of the cross-entropy of a hidden token (natural logarithm); `perplexity`, its
        exponential; after step 0 also `loss`, the mean of the training steps since the last record,
        and `learning_rate` of the last of them.
    """
    records = []
    for entry, trained in measurings(history, lambda entry: EVAL_LOSS in entry):
        record = {
            "step": entry["step"],
            "epoch": round(entry["step"] * blocks_a_step / n_blocks, 3),
            "held_out_loss": entry[EVAL_LOSS],
            "perplexity": perplexity(entry[EVAL_LOSS]),
        }
        records.append(record | trained)
    return records


def perplexity(loss: float) -> float:
    """The exponential of a loss, at most that of 700: JSON holds no number far beyond it."""
    return math.exp(min(loss, 700.0))


def plot_losses(records: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Draw the loss in training and on held-out blocks over the steps: `metrics.png`, `.svg`."""
    # Imported here: only the end of a run draws.
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for name, label in (("loss", "training"), ("held_out_loss", "held-out blocks")):
        points = [(record["step"], record[name]) for record in records if name in record]
        axes.plot(*zip(*points, strict=True), marker="o", label=label)
    axes.set(xlabel="step", ylabel="loss of a hidden token", title="Masked-language modelling")
    axes.legend()
    for suffix in ("png", "svg"):
        figure.savefig(folder / f"metrics.{suffix}", dpi=150)
    plt.close(figure)
