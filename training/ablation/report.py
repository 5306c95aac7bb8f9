"""The results of a grid on one dataset, as Markdown tables and as plots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from components.statutes.significance import ArmScore, Line, apart, compare_arms, unseen_mean
from training.ablation.arms import (
    BUCKETS,
    DENSE_METRICS,
    DYNAMICS,
    FUSED,
    METRICS,
    NUMBERS,
    RANKER_METRICS,
    SCHEDULES,
    SEMI_HARD,
    STRATEGIES,
    ranker_arm,
)
from training.records import figure_at, files_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NONE = "–"

Lines = Mapping[str, Sequence[Line]]
"""Arm to the lines of its runs, in the order of the tables."""


@dataclass(frozen=True)
class Report:
    """What the tables of one system show.

    Attributes:
        metrics: What is measured of each run.
        caption: Describes how the lines were measured.
        columns: Further columns of the table of means: header to a function that makes an arm's
            cell from its lines and the metric that `{metric}` in the header stands for.
        details: Further tables: title to a function that makes the rows, header first, from the
            lines, that metric and the baseline.
        opponents: What arms are compared with besides the baseline: label to the opponent of each
            arm.
    """

    metrics: Sequence[str]
    caption: Callable[[Lines], str]
    columns: Mapping[str, Callable[[Sequence[Line], str], str]]
    details: Mapping[str, Callable[[Lines, str, str], list[list[str]]]]
    opponents: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def tables(
    name: str, lines: Lines, n_runs: int, compare: Sequence[str], baseline: str, report: Report
) -> str:
    """All tables of a dataset.

    Args:
        name: The dataset's.
        lines: Arm to the lines of its finished runs.
        n_runs: How many runs the grid has for each arm.
        compare: Metrics; each gets a table with intervals and significance.
        baseline: The arm that the others are compared with.
        report: What to show.
    """
    lines = {arm: of_arm for arm, of_arm in lines.items() if of_arm}
    if not lines:
        return f"## {name}\n\nNothing is measured yet.\n"
    opponents: dict[str, str | Mapping[str, str]] = {baseline: baseline, **report.opponents}
    parts = [
        f"## {name}\n\n{report.caption(lines)}",
        markdown(_means(lines, n_runs, compare[0], baseline, report)),
        *(markdown(_comparison(lines, metric, baseline, opponents)) for metric in compare),
    ]
    for title, rows in report.details.items():
        parts.append(f"{title}:\n\n{markdown(rows(lines, compare[0], baseline))}")
    return "\n\n".join(parts) + "\n"


def _means(
    lines: Lines, n_runs: int, metric: str, baseline: str, report: Report
) -> list[list[str]]:
    """Every metric's mean, and what the runs cost."""
    scores = [{s.arm: s for s in compare_arms(lines, m, baseline)} for m in report.metrics]
    header = ["arm", "runs", *report.metrics]
    return [
        [*header, *(name.format(metric=metric) for name in report.columns)],
        *(
            [
                arm_name(arm, baseline),
                f"{len(of_arm)}/{n_runs}",
                *(number(by_arm[arm].mean) for by_arm in scores),
                *(cell(of_arm, metric) for cell in report.columns.values()),
            ]
            for arm, of_arm in lines.items()
        ),
    ]


def _comparison(
    lines: Lines, metric: str, baseline: str, opponents: Mapping[str, str | Mapping[str, str]]
) -> list[list[str]]:
    """One metric with its interval, compared with each opponent."""
    scores = compare_arms(lines, metric, baseline)
    against = [{s.arm: s for s in compare_arms(lines, metric, each)} for each in opponents.values()]
    judged = ("p (Holm)", "smallest detectable difference (uncorrected)")
    header = ["arm", metric]
    for label in opponents:
        header += [f"difference to {label}", *judged]
    return [
        header,
        *(
            [
                arm_name(score.arm, baseline),
                _with_interval(score),
                *(cell for by_arm in against for cell in _difference_cells(by_arm[score.arm])),
            ]
            for score in scores
        ),
    ]


def _with_interval(score: ArmScore) -> str:
    return f"{number(score.mean)} [{number(score.interval[0])}, {number(score.interval[1])}]"


def _difference_cells(score: ArmScore) -> list[str]:
    """Difference with its interval, p, and the smallest detectable difference."""
    if score.against is None or score.p is None:
        return [NONE] * 3
    low, high = score.against.interval
    detectable = score.against.detectable
    return [
        f"{score.against.difference:+.3f} [{low:+.3f}, {high:+.3f}]",
        f"{score.p:.4f}",
        NONE if detectable is None else number(detectable),
    ]


def arm_name(name: str, baseline: str) -> str:
    """An arm's name in the table; the baseline's stands out."""
    return f"**{name}**" if name == baseline else name


def number(value: float) -> str:
    """A metric's value."""
    return f"{value:.3f}"


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A table, header first, whose first column is text and whose others are numbers."""
    header, *others = rows
    columns = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, columns, *others))


def _mean_of_known(values: Iterable[float | None], places: int = 3) -> str:
    known = [value for value in values if value is not None]
    return f"{fmean(known):.{places}f}" if known else NONE


def _mean_of(name: str, form: str) -> Callable[[Sequence[Line], str], str]:
    """A column with the mean of one number per line; "." in the name joins levels."""

    def cell(lines: Sequence[Line], _: str) -> str:
        outer, _, inner = name.partition(".")
        return format(
            fmean(line[outer].get(inner, 0) if inner else line[outer] for line in lines), form
        )

    return cell


def _flat(lines: Lines) -> list[Line]:
    return [line for of_arm in lines.values() for line in of_arm]


def _machines(lines: Lines) -> str:
    """Where the runs were made."""
    environments = [line["environment"] for line in _flat(lines)]
    return "; ".join(
        sorted({f"{of['device']} ({of['dtype']}, torch {of['torch']})" for of in environments})
    )


def _asked_and_seeds(lines: Lines) -> tuple[int, str]:
    """How many questions were measured, and with which seeds."""
    questions = {question for line in _flat(lines) for question in line["questions"]}
    return len(questions), ", ".join(map(str, sorted({line["seed"] for line in _flat(lines)})))


def _selected_by(lines: Lines) -> list[str]:
    return sorted(
        {metric for line in _flat(lines) if (metric := line["settings"].get("select_by"))}
    )


# Bi-encoders and graph networks.


def _learner_caption(lines: Lines) -> str:
    n_questions, seeds = _asked_and_seeds(lines)
    folds = max(line["folds"] for line in _flat(lines))
    split = f"{folds}-fold cross-validation over train and dev" if folds > 1 else "dev"
    chosen = f" by {' or '.join(select_by)}" if (select_by := _selected_by(lines)) else ""
    return (
        f"Questions: {n_questions} ({split}); seeds: {seeds}. Each run's epoch, 0 for none, is "
        f'chosen{chosen} on the questions that it is measured on, in every arm alike; "last '
        'epoch" is without that choice. Intervals: bootstrap over questions, 95%. '
        f"Measured on {_machines(lines)}."
    )


def _last_epoch(lines: Sequence[Line], metric: str) -> str:
    """A dense metric's mean at the end of training; each question counts the same."""
    ended = [
        (line["epochs"][-1]["dev"], len(line["questions"])) for line in lines if line["epochs"]
    ]
    if not ended or metric not in DENSE_METRICS:
        return NONE
    return number(sum(dev[metric] * n for dev, n in ended) / sum(n for _, n in ended))


def _unseen(lines: Sequence[Line], metric: str) -> str:
    mean, n_questions = unseen_mean(lines, metric)
    return NONE if mean is None else f"{number(mean)} ({n_questions})"


def _drawn(lines: Lines, _: str, baseline: str) -> list[list[str]]:
    """Where an arm's negatives came from, how far away they are, and how hard they were."""
    rows = [
        [
            *("arm", "tree distance, first", "tree distance, last", "drawn before too"),
            *("above the best positive, first", "above the best positive, last"),
            *("own mass, first", "own mass, last"),
        ]
    ]
    for arm, of_arm in lines.items():
        trained = [[e for e in line["epochs"] if e.get("negatives")] for line in of_arm]
        trained = [epochs for epochs in trained if epochs and epochs[0]["negatives"]["drawn"]]
        drawn = [[epoch["negatives"] for epoch in epochs] for epochs in trained]
        if drawn:
            columns = [
                [epochs[0]["mean_tree_distance"] for epochs in drawn],
                [epochs[-1]["mean_tree_distance"] for epochs in drawn],
                [epoch["overlap"] for epochs in drawn for epoch in epochs],
                [_above_best(epochs[0]) for epochs in drawn],
                [_above_best(epochs[-1]) for epochs in drawn],
                [_own_mass(epochs[0]) for epochs in trained],
                [_own_mass(epochs[-1]) for epochs in trained],
            ]
            rows.append([arm_name(arm, baseline), *(_mean_of_known(each, 2) for each in columns)])
    return rows


def _own_mass(epoch: Line) -> float | None:
    """Share of the gradient on negatives that falls on the question's own; None in old lines."""
    return sum(epoch["own_mass"]) if "own_mass" in epoch else None


def _above_best(negatives: Line) -> float | None:
    """Share of an epoch's negatives that score above their question's best positive."""
    if not negatives["audit"]:
        return None
    shares = zip(negatives["audit"]["above_best_positive"], negatives["buckets"], strict=True)
    return float(sum(share * n for share, n in shares if n) / sum(negatives["buckets"]))


_COSTS: dict[str, Any] = {
    "steps": _mean_of("steps", ",.0f"),
    "epoch": _mean_of("epoch", ".1f"),
    "seconds": _mean_of("seconds.total", ",.0f"),
}
LEARNERS = Report(
    METRICS,
    _learner_caption,
    {
        "{metric}, last epoch": _last_epoch,
        "{metric}, unseen articles (questions)": _unseen,
        "articles encoded": _mean_of("articles_encoded", ",.0f"),
        "passes saved": _mean_of("passes_saved", ".0%"),
        **_COSTS,
    },
    {
        'What was drawn, means over the runs; "first" and "last" are epochs, "own mass" is the '
        "share of the gradient on negatives that falls on those drawn for the question": _drawn
    },
)


# Rankers: Tables 2 and 3 of Le et al. (2025).


def _ranker_caption(lines: Lines) -> str:
    first = _flat(lines)[0]
    n_questions, seeds = _asked_and_seeds(lines)
    chosen = (
        'The epoch, and the weight of the first stage\'s rank in "fused", are chosen on dev'
        + "".join(f" by {metric}" for metric in _selected_by(lines))
    )
    if first["measured_on"] == "dev":
        chosen += (
            ", the split that is measured: the choice of the epoch flatters the trained arms, all "
            'alike, and nothing of the first stage ("last epoch" is without it); the weight of a '
            "question is chosen by the other four fifths of dev"
        )
    ceiling = ", ".join(f"{name} {number(value)}" for name, value in first["ceiling"].items())
    return (
        f"{n_questions} questions of the split {first['measured_on']}, seeds {seeds}; "
        f"{first['settings']['candidates']} candidates. The first stage's ceiling, which no "
        f"re-ranking passes: {ceiling}. {chosen}. Intervals: bootstrap over questions, 95%. "
        f"Measured on {_machines(lines)}."
    )


def _last_epoch_on_dev(lines: Sequence[Line], metric: str) -> str:
    return _mean_of_known(line["epochs"][-1]["dev"].get(metric) for line in lines if line["epochs"])


def _seen(lines: Lines, metric: str, baseline: str) -> list[list[str]]:
    """One metric on questions with and without an article that was trained on."""
    header = ["arm"]
    rows = {arm: [arm_name(arm, baseline)] for arm in lines}
    for seen in (False, True):
        part = {arm: apart(of_arm, seen=seen) for arm, of_arm in lines.items()}
        part = {arm: of_arm for arm, of_arm in part.items() if of_arm[0]["questions"]}
        scores, to_semi_hard = (
            {score.arm: score for score in compare_arms(part, metric, each)}
            for each in (baseline, SEMI_HARD)
        )
        n_questions = max((score.n_questions for score in scores.values()), default=0)
        header += [
            f"{metric}, {'seen' if seen else 'unseen'} articles ({n_questions} questions)",
            *(f"difference to {baseline}", "difference to semi_hard"),
        ]
        for arm, row in rows.items():
            score = scores.get(arm)
            row += [
                NONE if score is None else number(score.mean),
                *(_difference(each.get(arm)) for each in (scores, to_semi_hard)),
            ]
    return [header, *rows.values()]


def _difference(score: ArmScore | None) -> str:
    if score is None or score.against is None:
        return NONE
    return f"{score.against.difference:+.3f} (p {score.against.p:.4f})"


def _scores(lines: Lines, _: str, baseline: str) -> list[list[str]]:
    """How the ranker scores its negatives, before training and after one epoch."""
    parts = ("below_0.5", "0.5_to_0.8", "0.8_to_0.9", "from_0.9", "mean")
    rows = [["arm", "scored by", *(part.replace("_", " ") for part in parts)]]
    for arm, of_arm in lines.items():
        scored = [[e["negatives"] for e in line["epochs"] if "negatives" in e] for line in of_arm]
        if not any(scored):
            continue
        # A run shorter than an epoch has no score after it.
        judges = {
            "ranker, before": [epochs[0]["ranker"] for epochs in scored if epochs],
            "ranker, one epoch": [e["ranker"] for epochs in scored for e in epochs[1:]],
            "bi-encoder": [epochs[0]["biencoder"] for epochs in scored if epochs],
        }
        for judge, own in judges.items():
            means = (_mean_of_known(each[part] for each in own) for part in parts)
            rows.append([arm_name(arm, baseline), judge, *means])
    return rows


RANKERS = Report(
    RANKER_METRICS,
    _ranker_caption,
    {
        "{metric} on dev, last epoch": _last_epoch_on_dev,
        "examples": _mean_of("mined.examples", ",.0f"),
        **_COSTS,
    },
    {
        "By whether a question has an article that is a training positive, as a ranker may learn "
        "which articles answer at all (p uncorrected)": _seen,
        "How high the negatives score (shares, mean), as probabilities of the ranker and as "
        "cosines of the bi-encoder": _scores,
    },
    {"semi_hard, as many negatives": SEMI_HARD},
)


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
