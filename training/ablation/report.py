"""The results of a grid of rankers as Markdown: the paper's Tables 2 and 3."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from components.statutes.significance import ArmScore, Line, apart, compare_arms, unseen_mean
from training.ablation.arms import DENSE_METRICS, METRICS, RANKER_METRICS, SEMI_HARD

# Pieces of the tables that every grid ends with, as Markdown.


NONE = "–"


def comparison(lines: Mapping[str, Sequence[Line]], metric: str, baseline: str) -> str:
    """One metric with its interval, and beside the baseline.

    Args:
        lines: Arm to the lines of its runs.
        metric: A key of the lines' values.
        baseline: The arm that the others are compared with.
    """
    rows = [
        [arm_name(score.arm, baseline), with_interval(score), *against(score)]
        for score in compare_arms(lines, metric, baseline)
    ]
    header = [
        *("arm", metric, f"difference to {baseline}", "p (Holm)"),
        "smallest detectable difference (uncorrected)",
    ]
    return markdown(header, rows)


def with_interval(score: ArmScore) -> str:
    """A mean with its interval."""
    return f"{number(score.mean)} [{number(score.interval[0])}, {number(score.interval[1])}]"


def against(score: ArmScore) -> list[str]:
    """Difference with its interval, p, and the smallest difference that would have shown."""
    if score.against is None or score.p is None:
        return [NONE] * 3
    low, high = score.against.interval
    detectable = score.against.detectable
    return [
        f"{_signed(score.against.difference)} [{_signed(low)}, {_signed(high)}]",
        f"{score.p:.4f}",
        NONE if detectable is None else number(detectable),
    ]


def machines(lines: Mapping[str, Sequence[Line]]) -> str:
    """Where the runs were made."""
    environments = [line["environment"] for of_arm in lines.values() for line in of_arm]
    return "; ".join(
        sorted({f"{of['device']} ({of['dtype']}, torch {of['torch']})" for of in environments})
    )


def asked_and_seeds(lines: Mapping[str, Sequence[Line]]) -> tuple[int, str]:
    """How many questions were measured, and with which seeds."""
    flat = [line for of_arm in lines.values() for line in of_arm]
    questions = {question for line in flat for question in line["questions"]}
    return len(questions), ", ".join(map(str, sorted({line["seed"] for line in flat})))


def arm_name(name: str, baseline: str) -> str:
    """The baseline's stands out."""
    return f"**{name}**" if name == baseline else name


def number(value: float) -> str:
    """A metric's value."""
    return f"{value:.3f}"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column is text and whose others are numbers."""
    columns = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, columns, *rows))


def _signed(value: float) -> str:
    return f"{value:+.3f}"


# The results of a dataset as Markdown.


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


# Of `training.negatives.semihard.score_statistics`.
_PARTS = ("below_0.5", "0.5_to_0.8", "0.8_to_0.9", "from_0.9", "mean")


def ranker_tables(
    name: str,
    lines: Mapping[str, Sequence[Line]],
    n_runs: int,
    compare: Sequence[str],
    baseline: str,
) -> str:
    """All tables of a dataset; arguments as for `training.ablation.report.tables`."""
    measured = {arm: of_arm for arm, of_arm in lines.items() if of_arm}
    if not measured:
        return f"## {name}\n\nNothing is measured yet.\n"
    parts = [
        f"## {name}\n\n{_ranker_caption(measured)}",
        _ranker_means(measured, n_runs, compare[0], baseline),
        *(_comparison(measured, metric, baseline) for metric in compare),
        "By whether a question has an article that is a training positive, as a ranker may learn "
        "which articles answer at all (p uncorrected):\n\n" + _seen(measured, compare[0], baseline),
        "How high the negatives score (shares, mean), as probabilities of the ranker and as "
        "cosines of the bi-encoder:\n\n" + _scores(measured, baseline),
    ]
    return "\n\n".join(parts) + "\n"


def _ranker_caption(lines: Mapping[str, Sequence[Line]]) -> str:
    flat = [line for of_arm in lines.values() for line in of_arm]
    first = flat[0]
    n_questions, seeds = asked_and_seeds(lines)
    select_by = {line["settings"]["select_by"] for line in flat if "select_by" in line["settings"]}
    chosen = (
        'The epoch, and the weight of the first stage\'s rank in "fused", are chosen on dev'
        + "".join(f" by {metric}" for metric in sorted(select_by))
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
        f"Measured on {machines(lines)}."
    )


def _ranker_means(
    lines: Mapping[str, Sequence[Line]], n_runs: int, metric: str, baseline: str
) -> str:
    """Every metric's mean, and what the runs cost."""
    scores = {
        each: {s.arm: s for s in compare_arms(lines, each, baseline)} for each in RANKER_METRICS
    }
    rows = []
    for arm, of_arm in lines.items():
        last = [line["epochs"][-1]["dev"].get(metric) for line in of_arm if line["epochs"]]
        rows.append(
            [
                arm_name(arm, baseline),
                f"{len(of_arm)}/{n_runs}",
                *(number(scores[each][arm].mean) for each in RANKER_METRICS),
                _mean_of_known(last),
                f"{fmean(line['mined'].get('examples', 0) for line in of_arm):,.0f}",
                f"{fmean(line['steps'] for line in of_arm):,.0f}",
                f"{fmean(line['epoch'] for line in of_arm):.1f}",
                f"{fmean(line['seconds']['total'] for line in of_arm):,.0f}",
            ]
        )
    header = [
        *("arm", "runs", *RANKER_METRICS),
        *(f"{metric} on dev, last epoch", "examples", "steps", "epoch", "seconds"),
    ]
    return markdown(header, rows)


def _comparison(lines: Mapping[str, Sequence[Line]], metric: str, baseline: str) -> str:
    """One metric with its interval, beside the first stage and beside semi-hard negatives."""
    beside = {score.arm: score for score in compare_arms(lines, metric, SEMI_HARD)}
    rows = [
        [
            arm_name(score.arm, baseline),
            with_interval(score),
            *against(score),
            *against(beside[score.arm]),
        ]
        for score in compare_arms(lines, metric, baseline)
    ]
    judged = ("p (Holm)", "smallest detectable difference (uncorrected)")
    header = [
        *("arm", metric, f"difference to {baseline}", *judged),
        *("difference to semi_hard, as many negatives", *judged),
    ]
    return markdown(header, rows)


def _seen(lines: Mapping[str, Sequence[Line]], metric: str, baseline: str) -> str:
    """One metric on questions with and without an article that was trained on."""
    header = ["arm"]
    columns: dict[str, list[str]] = {arm: [] for arm in lines}
    for seen in (False, True):
        part = {arm: apart(of_arm, seen=seen) for arm, of_arm in lines.items()}
        part = {arm: of_arm for arm, of_arm in part.items() if of_arm[0]["questions"]}
        beside = {score.arm: score for score in compare_arms(part, metric, SEMI_HARD)}
        scores = {score.arm: score for score in compare_arms(part, metric, baseline)}
        n_questions = max((score.n_questions for score in scores.values()), default=0)
        header += [
            f"{metric}, {'seen' if seen else 'unseen'} articles ({n_questions} questions)",
            *(f"difference to {baseline}", "difference to semi_hard"),
        ]
        for arm, column in columns.items():
            of_it = scores.get(arm)
            column += [
                NONE if of_it is None else number(of_it.mean),
                *(_difference(each.get(arm)) for each in (scores, beside)),
            ]
    return markdown(header, [[arm_name(arm, baseline), *columns[arm]] for arm in lines])


def _difference(score: ArmScore | None) -> str:
    if score is None or score.against is None:
        return NONE
    return f"{score.against.difference:+.3f} (p {score.against.p:.4f})"


def _scores(lines: Mapping[str, Sequence[Line]], baseline: str) -> str:
    """The paper's Table 3: what the ranker makes of its negatives, before and after an epoch."""
    rows = []
    for arm, of_arm in lines.items():
        # A run of less than an epoch has none after it.
        scored = [
            [epoch["negatives"] for epoch in line["epochs"] if "negatives" in epoch]
            for line in of_arm
        ]
        scored = [epochs for epochs in scored if epochs]
        if not scored:
            continue
        judges = (
            ("ranker, before", [epochs[0]["ranker"] for epochs in scored]),
            ("ranker, one epoch", [e["ranker"] for epochs in scored for e in epochs[1:]]),
            ("bi-encoder", [epochs[0]["biencoder"] for epochs in scored]),
        )
        rows += [
            [
                arm_name(arm, baseline),
                judge,
                *(_mean_of_known(each[part] for each in own) for part in _PARTS),
            ]
            for judge, own in judges
        ]
    header = ["arm", "scored by", *(part.replace("_", " ") for part in _PARTS)]
    return markdown(header, rows)


def _mean_of_known(values: Iterable[float | None]) -> str:
    there = [value for value in values if value is not None]
    return number(fmean(there)) if there else NONE
