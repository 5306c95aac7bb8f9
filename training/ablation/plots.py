"""The results of a dataset as plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from components.statutes.significance import ArmScore, Line, compare_arms
from training.ablation.arms import (
    BUCKETS,
    DYNAMICS,
    FUSED,
    NUMBERS,
    SCHEDULES,
    STRATEGIES,
    ranker_arm,
)
from training.plotting import figure_at, files_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_arms(
    name: str,
    lines: Mapping[str, Sequence[Line]],
    compare: Sequence[str],
    folder: Path,
    baseline: str,
) -> list[Path]:
    """Draw the metrics of all arms, by schedule, and by number of buckets or negatives.

    `NAME-arms` has each arm with its interval, one panel per metric; `NAME-schedules` and
    `NAME-dynamics` (CuSINeS's Figures 1a to 1c) the first metric by epoch, for schedules and for
    static against dynamic difficulty; `NAME-buckets` (Figure 1d) by number of buckets;
    `NAME-negatives`, of rankers, by number of negatives, one line per strategy. A plot with fewer
    than two arms to show is left out.

    Args:
        name: The dataset's.
        lines: Arm to the lines of its runs.
        compare: Metrics to draw.
        folder: Where PNG and SVG files go.
        baseline: The arm that the others are compared with.

    Returns:
        The files.
    """
    scores = {
        metric: {s.arm: s for s in compare_arms(lines, metric, baseline)} for metric in compare
    }
    arms = [arm for arm, of_arm in lines.items() if of_arm]
    drawn = []

    def stem(kind: str) -> Path:
        return folder / f"{name}-{kind}"

    title = name if _drawable(name) else ""
    first = compare[0]
    if len(arms) > 1:
        drawn.append("arms")
        size = (1.5 + 3 * len(compare), 1.6 + 0.3 * len(arms))
        with figure_at(stem("arms"), 1, len(compare), figsize=size, sharey=True, squeeze=False) as (
            figure,
            panels,
        ):
            figure.suptitle(title)
            for panel, metric in zip(panels[0], compare, strict=True):
                _draw_arms(panel, [scores[metric][arm] for arm in arms], metric, baseline)
            # Next to the panels, where it covers no arm.
            handles, labels = panels[0][0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside lower center", ncols=2)
    # The fusion with BM25 is measured only at the end of a run.
    by_epochs = next((metric for metric in compare if metric != FUSED), None)
    for kind, named in (("schedules", SCHEDULES), ("dynamics", DYNAMICS)):
        chosen = {arm: lines[arm] for arm in named if arm in arms}
        if len(chosen) > 1 and by_epochs is not None:
            drawn.append(kind)
            with figure_at(stem(kind), figsize=(6, 4)) as (_, panel):
                _draw_epochs(panel, chosen, by_epochs, _titled(title, kind))
    buckets = [arm for arm in BUCKETS if arm in arms]
    if len(buckets) > 1:
        drawn.append("buckets")
        with figure_at(stem("buckets"), figsize=(6, 4)) as (_, panel):
            _draw_buckets(panel, [scores[first][arm] for arm in buckets], first, title)
    numbered = {
        strategy: {n: arm for n in NUMBERS if (arm := ranker_arm(strategy, n)) in arms}
        for strategy in STRATEGIES
    }
    if sum(map(len, numbered.values())) > 1:
        drawn.append("negatives")
        with figure_at(stem("negatives"), figsize=(6, 4)) as (_, panel):
            _draw_negatives(panel, numbered, scores[first], first, title, baseline)
    return [file for kind in drawn for file in files_at(stem(kind))]


def _drawable(name: str) -> bool:
    """Whether the font has the letters of a law's name; file names always contain it."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    letters = get_font(findfont(FontProperties())).get_charmap()
    return all(ord(letter) in letters for letter in name)


def _titled(name: str, what: str) -> str:
    return f"{name}: {what}" if name else what


def _draw_arms(panel: Axes, scores: Sequence[ArmScore], metric: str, baseline: str) -> None:
    places = range(len(scores))
    panel.errorbar(
        [score.mean for score in scores],
        list(places),
        xerr=_errors(scores),
        fmt="o",
        capsize=3,
        label="95% interval",
        clip_on=False,  # a value of 1 lies on the edge
    )
    for score in scores:
        if score.arm == baseline:
            panel.axvline(score.mean, color="grey", linewidth=0.8, linestyle="--", label=baseline)
    panel.set(xlabel=metric, yticks=list(places), yticklabels=[score.arm for score in scores])
    low, high = panel.get_xlim()
    panel.set_xlim(max(low, 0.0), min(high, 1.0))  # every metric is a share
    if not panel.yaxis_inverted():
        panel.invert_yaxis()


def by_epoch(lines: Sequence[Line], metric: str) -> tuple[list[int], list[float]]:
    """The epochs at which an arm's runs were measured, and its mean there.

    Each question counts the same, as in the tables; a run that stopped early keeps its last value.
    """
    runs = [
        (
            len(line["questions"]),
            {e["epoch"]: e["dev"][metric] for e in line["epochs"] if "dev" in e},
        )
        for line in lines
    ]
    runs = [(n, values) for n, values in runs if values]
    epochs = sorted({epoch for _, values in runs for epoch in values})
    means = []
    for epoch in epochs:
        # Runs may be measured at different epochs: take each one's latest value.
        there = [
            (n, values[max(each for each in values if each <= epoch)])
            for n, values in runs
            if min(values) <= epoch
        ]
        means.append(sum(n * value for n, value in there) / sum(n for n, _ in there))
    return epochs, means


def _draw_epochs(panel: Axes, lines: Mapping[str, Sequence[Line]], metric: str, title: str) -> None:
    from matplotlib.ticker import MaxNLocator

    for arm, of_arm in lines.items():
        epochs, means = by_epoch(of_arm, metric)
        panel.plot(epochs, means, marker="o", label=arm)
    panel.set(xlabel="epochs trained", ylabel=metric, title=title)
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    panel.legend()


def _draw_buckets(panel: Axes, scores: Sequence[ArmScore], metric: str, name: str) -> None:
    numbers = [int(score.arm.rpartition("_")[2]) for score in scores]
    panel.errorbar(
        numbers, [score.mean for score in scores], yerr=_errors(scores), fmt="o-", capsize=3
    )
    panel.set(xlabel="buckets", ylabel=metric, xticks=numbers)
    panel.set_title(_titled(name, "number of buckets"))


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
            # Next to each other, so that the intervals can be told apart.
            where = [n + 0.15 * (place - 1) for n in arms]
            means = [score.mean for score in own]
            panel.errorbar(where, means, yerr=_errors(own), fmt="o-", capsize=3, label=strategy)
    if baseline in scores:
        panel.axhline(scores[baseline].mean, color="grey", linestyle="--", label=baseline)
    panel.set(xlabel="negatives per question", ylabel=metric, xticks=NUMBERS)
    panel.set_title(_titled(name, "negatives"))
    panel.legend()


def _errors(scores: Sequence[ArmScore]) -> list[list[float]]:
    """How far the interval reaches below and above the mean."""
    below = [max(0.0, score.mean - score.interval[0]) for score in scores]
    above = [max(0.0, score.interval[1] - score.mean) for score in scores]
    return [below, above]
