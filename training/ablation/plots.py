"""The results of a dataset as plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from components.statutes.arm_scores import ArmScore, Line, compare_arms
from training.ablation.arms import BUCKETS, NUMBERS, SCHEDULES, STRATEGIES, ranker_arm
from training.ablation.metrics import FUSED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_arms(
    name: str,
    lines: Mapping[str, Sequence[Line]],
    compare: Sequence[str],
    folder: Path,
    baseline: str,
) -> list[Path]:
    """Draw what the arms reach: all of them, the schedules, and the numbers of what they take.

    `NAME-arms` has each arm with its interval, a panel a metric; `NAME-schedules` (the paper's
    Figures 1a to 1c) the first metric by epoch; `NAME-buckets` (Figure 1d) by number of buckets;
    `NAME-negatives`, of rankers, by number of negatives, a line a strategy. A plot with fewer than
    two arms to show is left out.

    Args:
        name: The dataset's.
        lines: Arm to the lines of its runs.
        compare: Metrics.
        folder: Where PNG and SVG files go.
        baseline: The arm that the others are compared with.

    Returns:
        The files.
    """
    # Imported here: only the end of a grid draws.
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    scores = {
        metric: {s.arm: s for s in compare_arms(lines, metric, baseline)} for metric in compare
    }
    arms = [arm for arm, of_arm in lines.items() if of_arm]
    written = []
    # The same results give the same files.
    with mpl.rc_context({"svg.hashsalt": "lexarbor", "svg.fonttype": "none"}):
        if len(arms) > 1:
            figure, panels = plt.subplots(
                1,
                len(compare),
                figsize=(1.5 + 3 * len(compare), 1.2 + 0.3 * len(arms)),
                sharey=True,
                squeeze=False,
                layout="constrained",
            )
            figure.suptitle(name)
            for panel, metric in zip(panels[0], compare, strict=True):
                _draw_arms(panel, [scores[metric][arm] for arm in arms], metric, baseline)
            written += _save(figure, folder / f"{name}-arms")
        schedules = [arm for arm in SCHEDULES if arm in arms]
        # BM25's help is measured at the end of a run only.
        by_epoch = next((metric for metric in compare if metric != FUSED), None)
        if len(schedules) > 1 and by_epoch is not None:
            figure, panel = plt.subplots(figsize=(6, 4), layout="constrained")
            _draw_epochs(panel, {arm: lines[arm] for arm in schedules}, by_epoch, name)
            written += _save(figure, folder / f"{name}-schedules")
        buckets = [arm for arm in BUCKETS if arm in arms]
        if len(buckets) > 1:
            figure, panel = plt.subplots(figsize=(6, 4), layout="constrained")
            _draw_buckets(panel, [scores[compare[0]][arm] for arm in buckets], compare[0], name)
            written += _save(figure, folder / f"{name}-buckets")
        numbered = {
            strategy: {
                n: ranker_arm(strategy, n) for n in NUMBERS if ranker_arm(strategy, n) in arms
            }
            for strategy in STRATEGIES
        }
        if sum(map(len, numbered.values())) > 1:
            figure, panel = plt.subplots(figsize=(6, 4), layout="constrained")
            _draw_negatives(panel, numbered, scores[compare[0]], compare[0], name, baseline)
            written += _save(figure, folder / f"{name}-negatives")
        plt.close("all")
    return written


def _draw_arms(panel: Axes, scores: Sequence[ArmScore], metric: str, baseline: str) -> None:
    places = range(len(scores))
    panel.errorbar(
        [score.mean for score in scores],
        list(places),
        xerr=_errors(scores),
        fmt="o",
        capsize=3,
    )
    for score in scores:
        if score.arm == baseline:
            panel.axvline(score.mean, color="grey", linewidth=0.8, linestyle="--")
    panel.set(xlabel=metric, yticks=list(places), yticklabels=[score.arm for score in scores])
    if not panel.yaxis_inverted():
        panel.invert_yaxis()


def _draw_epochs(panel: Axes, lines: Mapping[str, Sequence[Line]], metric: str, name: str) -> None:
    for arm, of_arm in lines.items():
        measured: dict[int, list[float]] = {}
        for line in of_arm:
            for epoch in line["epochs"]:
                if "dev" in epoch:
                    measured.setdefault(epoch["epoch"], []).append(epoch["dev"][metric])
        epochs = sorted(measured)
        panel.plot(epochs, [fmean(measured[epoch]) for epoch in epochs], marker="o", label=arm)
    panel.set(xlabel="epochs trained", ylabel=metric, title=f"{name}: schedules")
    panel.set_xticks(range(max(len(line["epochs"]) for each in lines.values() for line in each)))
    panel.legend()


def _draw_buckets(panel: Axes, scores: Sequence[ArmScore], metric: str, name: str) -> None:
    numbers = [int(score.arm.rpartition("_")[2]) for score in scores]
    panel.errorbar(
        numbers, [score.mean for score in scores], yerr=_errors(scores), fmt="o-", capsize=3
    )
    panel.set(xlabel="buckets", ylabel=metric, xticks=numbers)
    panel.set_title(f"{name}: number of buckets")


def _draw_negatives(
    panel: Axes,
    numbered: Mapping[str, Mapping[int, str]],
    scores: Mapping[str, ArmScore],
    metric: str,
    name: str,
    baseline: str,
) -> None:
    for place, (strategy, arms) in enumerate(numbered.items()):
        if arms:
            own = [scores[arm] for arm in arms.values()]
            # Beside each other, so that the intervals can be told apart.
            where = [n + 0.15 * (place - 1) for n in arms]
            means = [score.mean for score in own]
            panel.errorbar(where, means, yerr=_errors(own), fmt="o-", capsize=3, label=strategy)
    if baseline in scores:
        panel.axhline(scores[baseline].mean, color="grey", linestyle="--", label=baseline)
    panel.set(xlabel="negatives of a question", ylabel=metric, xticks=NUMBERS)
    panel.set_title(f"{name}: negatives")
    panel.legend()


def _errors(scores: Sequence[ArmScore]) -> list[list[float]]:
    """How far the interval reaches below and above the mean."""
    below = [max(0.0, score.mean - score.interval[0]) for score in scores]
    above = [max(0.0, score.interval[1] - score.mean) for score in scores]
    return [below, above]


def _save(figure: Figure, stem: Path) -> list[Path]:
    files = [stem.with_name(f"{stem.name}.{suffix}") for suffix in ("png", "svg")]
    for file in files:
        # Without a date in it, the same plot is the same file.
        figure.savefig(file, dpi=150, metadata={"Date": None} if file.suffix == ".svg" else None)
    return files
