"""The results of a dataset as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from components.statutes.significance import Line, compare_arms, unseen_mean
from training.ablation.markdown import (
    NONE,
    arm_name,
    asked_and_seeds,
    comparison,
    machines,
    markdown,
    number,
)
from training.ablation.metrics import DENSE_METRICS, METRICS


def tables(
    name: str,
    lines: Mapping[str, Sequence[Line]],
    n_runs: int,
    compare: Sequence[str],
    baseline: str,
) -> str:
    """All tables of a dataset.

    Args:
        name: The dataset's.
        lines: Arm to the lines of its runs, in the order of the table.
        n_runs: How many runs the grid has for each arm.
        compare: Metrics that get a table with intervals and significance each.
        baseline: The arm that the others are compared with.
    """
    measured = {arm: of_arm for arm, of_arm in lines.items() if of_arm}
    if not measured:
        return f"## {name}\n\nNothing is measured yet.\n"
    parts = [
        f"## {name}\n\n{_caption(measured)}",
        _means(measured, n_runs, compare[0], baseline),
        *(comparison(measured, metric, baseline) for metric in compare),
        'What was drawn, means over the runs; "first" and "last" are epochs:\n\n'
        + _negatives(measured, baseline),
    ]
    return "\n\n".join(parts) + "\n"


def _caption(lines: Mapping[str, Sequence[Line]]) -> str:
    flat = [line for of_arm in lines.values() for line in of_arm]
    n_questions, seeds = asked_and_seeds(lines)
    folds = max(line["folds"] for line in flat)
    split = f"{folds}-fold cross-validation over train and dev" if folds > 1 else "dev"
    select_by = {line["settings"]["select_by"] for line in flat if line["trained"]}
    chosen = f" by {' or '.join(sorted(select_by))}" if select_by else ""
    return (
        f"Questions: {n_questions} ({split}); seeds: {seeds}. Each run's epoch, 0 for none, is "
        f'chosen{chosen} on the questions that it is measured on, in every arm alike; "last '
        'epoch" is without that choice. Intervals: bootstrap over questions, 95%. '
        f"Measured on {machines(lines)}."
    )


def _means(lines: Mapping[str, Sequence[Line]], n_runs: int, metric: str, baseline: str) -> str:
    """Every metric's mean, and what the runs cost."""
    scores = {each: {s.arm: s for s in compare_arms(lines, each, baseline)} for each in METRICS}
    rows = []
    for arm, of_arm in lines.items():
        unseen, n_unseen = unseen_mean(of_arm, metric)
        rows.append(
            [
                arm_name(arm, baseline),
                f"{len(of_arm)}/{n_runs}",
                *(number(scores[each][arm].mean) for each in METRICS),
                _last_epoch(of_arm, metric),
                NONE if unseen is None else f"{number(unseen)} ({n_unseen})",
                f"{fmean(line['articles_encoded'] for line in of_arm):,.0f}",
                f"{fmean(line['passes_saved'] for line in of_arm):.0%}",
                f"{fmean(line['steps'] for line in of_arm):,.0f}",
                f"{fmean(line['epoch'] for line in of_arm):.1f}",
                f"{fmean(line['seconds']['total'] for line in of_arm):,.0f}",
            ]
        )
    header = [
        *(
            "arm",
            "runs",
            *METRICS,
            f"{metric}, last epoch",
            f"{metric}, unseen articles (questions)",
        ),
        *("articles encoded", "passes saved", "steps", "epoch", "seconds"),
    ]
    return markdown(header, rows)


def _last_epoch(lines: Sequence[Line], metric: str) -> str:
    """A dense metric's mean at the end of training, each question counted alike."""
    ended = [
        (line["epochs"][-1]["dev"], len(line["questions"])) for line in lines if line["epochs"]
    ]
    if not ended or metric not in DENSE_METRICS:
        return NONE
    return number(sum(dev[metric] * n for dev, n in ended) / sum(n for _, n in ended))


def _negatives(lines: Mapping[str, Sequence[Line]], baseline: str) -> str:
    """Where an arm's negatives came from, how far they stand, how hard they were."""
    rows = []
    for arm, of_arm in lines.items():
        drawn = [
            [epoch["negatives"] for epoch in line["epochs"] if epoch.get("negatives")]
            for line in of_arm
        ]
        drawn = [epochs for epochs in drawn if epochs and epochs[0]["drawn"]]
        if not drawn:
            continue
        every = [epoch for epochs in drawn for epoch in epochs]
        rows.append(
            [
                arm_name(arm, baseline),
                _mean(epochs[0]["mean_tree_distance"] for epochs in drawn),
                _mean(epochs[-1]["mean_tree_distance"] for epochs in drawn),
                _mean(epoch["overlap"] for epoch in every),
                _mean(_above_best(epochs[0]) for epochs in drawn),
                _mean(_above_best(epochs[-1]) for epochs in drawn),
            ]
        )
    header = [
        *("arm", "tree distance, first", "tree distance, last", "drawn before too"),
        *("above the best positive, first", "above the best positive, last"),
    ]
    return markdown(header, rows)


def _above_best(negatives: Line) -> float | None:
    """Share of an epoch's negatives that score above their question's best positive."""
    if not negatives["audit"]:
        return None
    shares = zip(negatives["audit"]["above_best_positive"], negatives["buckets"], strict=True)
    return float(sum(share * n for share, n in shares if n) / sum(negatives["buckets"]))


def _mean(values: Iterable[float | None]) -> str:
    there = [value for value in values if value is not None]
    return f"{fmean(there):.2f}" if there else NONE
