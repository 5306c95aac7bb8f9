"""What a ranker's run has to show: metrics on dev and how its negatives score, by epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from training.hf_trainer.records import measurings

MEASURED = "eval_"
"""What the Trainer puts before the name of everything that is measured."""

START_RANKS = "start_ranks"
"""In the record before the first step: whether training starts from a cross-encoder."""

_NOT_MEASURED = ("eval_runtime", "eval_samples_per_second", "eval_steps_per_second")


def make_records(history: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One record for each measuring.

    Args:
        history: What the Trainer logged, in its order; "/" in a name joins levels.

    Returns:
        `step`; `epoch`, times that each example was seen; what was measured, such as `dev` (metric
        to mean) and `negatives` (see `training.ranking.measuring`); after step 0 also `loss`, the
        mean of the training steps since the last record, and `learning_rate` of the last of them.
    """
    return [
        {
            "step": entry["step"],
            "epoch": round(entry.get("epoch") or 0.0, 3),
            **nested(_measured(entry)),
            **trained,
        }
        for entry, trained in measurings(history, lambda entry: bool(_measured(entry)))
    ]


def _measured(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What of a logged entry was measured, by name."""
    return {
        name.removeprefix(MEASURED): value
        for name, value in entry.items()
        if name.startswith(MEASURED) and name not in _NOT_MEASURED
    }


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """`{"dev/R@1": .5}` as `{"dev": {"R@1": .5}}`."""
    levels: dict[str, Any] = {}
    for name, value in flat.items():
        *above, last = name.split("/")
        level = levels
        for each in above:
            level = level.setdefault(each, {})
        level[last] = value
    return levels


def best_record(records: Sequence[Mapping[str, Any]], metric: str) -> Mapping[str, Any] | None:
    """The record of the highest `metric` on dev, the first of several; None where there is none.

    Before the first step a fresh head is chance, so that record does not count. What was a
    cross-encoder before (`START_RANKS`) may be the best, where training does harm.
    """
    measured = [
        record
        for record in records
        if "dev" in record and (record["step"] or record.get(START_RANKS))
    ]
    return max(measured, key=lambda record: record["dev"][metric], default=None)


def plot_records(records: Sequence[Mapping[str, Any]], folder: Path, metric: str) -> None:
    """Draw `metric` on dev over the epochs and how the negatives score: `metrics.png`, `.svg`."""
    # Imported here: only the end of a run draws.
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (dev, scores) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    measured = [record for record in records if "dev" in record]
    dev.plot(
        [record["epoch"] for record in measured],
        [record["dev"][metric] for record in measured],
        marker="o",
        label="re-ranked",
    )
    for record in records[:1]:
        if "first_stage" in record:
            dev.axhline(record["first_stage"][metric], color="grey", label="first stage")
    dev.set(xlabel="epochs", ylabel=metric, title="Dev questions")
    dev.legend()
    for record in records:
        for judge, statistics in record.get("negatives", {}).items():
            shares = {n: v for n, v in statistics.items() if n not in ("n", "mean")}
            scores.plot(
                *zip(*shares.items(), strict=True),
                marker="o",
                label=f"{judge}, epoch {record['epoch']:g}",
            )
    scores.set(xlabel="score", ylabel="share", title="How the negatives score")
    scores.legend()
    for suffix in ("png", "svg"):
        figure.savefig(folder / f"metrics.{suffix}", dpi=150)
    plt.close(figure)
