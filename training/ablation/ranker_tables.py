"""The results of a grid of rankers as Markdown: the paper's Tables 2 and 3."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from components.statutes.significance import ArmScore, Line, apart, compare_arms
from training.ablation.arms import SEMI_HARD
from training.ablation.markdown import (
    NONE,
    against,
    arm_name,
    asked_and_seeds,
    machines,
    markdown,
    number,
    with_interval,
)
from training.ablation.metrics import RANKER_METRICS

# Of `training.negatives.semihard.score_statistics`.
_PARTS = ("below_0.5", "0.5_to_0.8", "0.8_to_0.9", "from_0.9", "mean")


def tables(
    name: str,
    lines: Mapping[str, Sequence[Line]],
    n_runs: int,
    compare: Sequence[str],
    baseline: str,
) -> str:
    """All tables of a dataset; arguments as for `training.ablation.tables.tables`."""
    measured = {arm: of_arm for arm, of_arm in lines.items() if of_arm}
    if not measured:
        return f"## {name}\n\nNothing is measured yet.\n"
    parts = [
        f"## {name}\n\n{_caption(measured)}",
        _means(measured, n_runs, compare[0], baseline),
        *(_comparison(measured, metric, baseline) for metric in compare),
        "By whether a question has an article that is a training positive, as a ranker may learn "
        "which articles answer at all (p uncorrected):\n\n" + _seen(measured, compare[0], baseline),
        "How high the negatives score (shares, mean), as probabilities of the ranker and as "
        "cosines of the bi-encoder:\n\n" + _scores(measured, baseline),
    ]
    return "\n\n".join(parts) + "\n"


def _caption(lines: Mapping[str, Sequence[Line]]) -> str:
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


def _means(lines: Mapping[str, Sequence[Line]], n_runs: int, metric: str, baseline: str) -> str:
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
                _mean(last),
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
                *(_mean(each[part] for each in own) for part in _PARTS),
            ]
            for judge, own in judges
        ]
    header = ["arm", "scored by", *(part.replace("_", " ") for part in _PARTS)]
    return markdown(header, rows)


def _mean(values: Iterable[float | None]) -> str:
    there = [value for value in values if value is not None]
    return number(fmean(there)) if there else NONE
