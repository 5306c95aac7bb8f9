"""python -m pipelines.evaluate: measure a pipeline on questions, and compare it with others."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines import command_line
from pipelines.checking import LoadingError
from pipelines.command_line import DONE, say, show

if TYPE_CHECKING:
    from components.statutes.question import Question
    from pipelines.evaluation import Measured, StageGain

_EPILOG = """\
Only each question's text is asked; all its relevant articles count; means are over questions. A
value comes with its 95% bootstrap interval. A comparison gives the difference (the pipeline less
the other), its interval, the p of a paired randomisation test, and the smallest difference that the
test could have detected. Questions that no article answers are left out and counted.

The pipeline's stages are measured in the same run, each with its gain over the stage before it:
the better of the stages that it takes its lists from, or for one that searches the store the last
listed that does so too. Below a re-ranker is its ceiling: the recall of its m candidates (R@m) and
the share of questions that have a relevant one among them (Exist@m). If the vectors went through a
graph network, the row above shows what they found before it.

  python -m pipelines.evaluate --store law.db --questions questions.jsonl --split dev
  python -m pipelines.evaluate --store law.db --questions questions.jsonl --compare lexical"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    options = _parse(arguments)
    return command_line.run(lambda: _evaluate(options))


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = command_line.parser("evaluate", "Measure a pipeline on questions.", _EPILOG)
    command_line.add_questions(parser, "test")
    parser.add_argument(
        "--compare",
        action="append",
        default=[],
        metavar="NAME",
        help="another pipeline on the same questions; may be repeated",
    )
    command_line.add_store(parser)
    parser.add_argument(
        "--depth",
        type=command_line.positive,
        default=1000,
        metavar="N",
        help="how many articles to ask for, as top_k; lists before a fusion stay as they are "
        "served (default: 1000)",
    )
    parser.add_argument("--run-dir", metavar="DIR", help="write each pipeline's TREC run file here")
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="draw recall against depth (.png, .svg, .pdf), and the stages into "
        "NAME-stages.png and .svg next to it",
    )
    return parser.parse_args(arguments)


def _say_of_answered(path: Path, questions: Sequence[Question]) -> None:
    """Warn of questions whose answers the store has: finding these proves nothing."""
    from components.retrievers.answered import AnsweredQuestions, recorded_questions
    from components.stores.sqlite import StatuteDocumentStore

    with closing(StatuteDocumentStore(str(path))) as store:
        record = recorded_questions(store)
        known = set(AnsweredQuestions.read(store, record).texts) if record else set()
    if n := sum(each.text in known for each in questions):
        say(
            f"{n:,} of the {len(questions):,} questions are among the store's answered questions, "
            "so the figures of hybrid are too good. Take other questions, or a store without them."
        )


def _evaluate(options: argparse.Namespace) -> int:
    from components.statutes.corpus import read_questions
    from components.statutes.metrics import write_trec_run
    from pipelines.evaluation import (
        chosen_split,
        distinct_names,
        measure,
        of_split,
        report,
        spoken,
        stage_gains,
    )
    from pipelines.home import resolve
    from pipelines.loading import article_ids
    from pipelines.stages import ANSWERED

    names = distinct_names([options.pipeline, *options.compare])
    if options.plot:
        _check_target(Path(options.plot))
    plan = resolve(options.pipeline, options.store, options.model, say, others=names)
    store = Path(plan.store)
    # Do not ask an engine for all its ids: it may hold more than this machine can.
    ids = None if plan.asks_engine else article_ids(store)
    everything = read_questions(options.questions, corpus_ids=ids, skip_bad=options.skip_bad)
    for problem in everything.problems:
        say(str(problem))
    if everything.repeated_relevant:
        say(f"{everything.repeated_relevant} repeated ids in 'relevant' count once.")
    split = chosen_split(everything, options.split, "test", options.questions, say)
    asked = of_split(everything, split)
    questions = [question for question in asked if question.answerable]
    if not questions:
        raise LoadingError(
            f"--split: {options.questions} has no answerable question of {spoken(split)}, so "
            "nothing could be measured. Name another file, or another split."
        )
    if options.run_dir:  # before a long evaluation
        try:
            Path(options.run_dir).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LoadingError(
                f"--run-dir {options.run_dir} cannot be made ({error.strerror}). Name another."
            ) from error
    measured = [
        measure(name, questions, store=store, model=options.model, depth=options.depth)
        for name in names
    ]
    if any(each.stage.name == ANSWERED for one in measured for each in one.stages):
        _say_of_answered(store, questions)
    training = [question for question in everything if question.split == "train"]
    result = {
        "pipeline": measured[0].pipeline,
        "split": split,
        "n_questions": len(questions),
        "n_unanswerable": len(asked) - len(questions),
        "repeated_relevant": everything.repeated_relevant,
        "depth": options.depth,
        **report(measured[0], measured[1:], questions, training),
        "stages": stage_gains(measured[0], questions),
    }
    show(result if options.json else _table(result))
    if options.run_dir:
        folder = Path(options.run_dir)
        for each in measured:
            write_trec_run(folder / f"{each.pipeline}.trec", each.run, each.pipeline)
            say(f"wrote {folder / f'{each.pipeline}.trec'}")
    if options.plot:
        plot = Path(options.plot)
        about = f"{len(questions)} questions ({split})"
        _plot_recall(measured, plot, about)
        stages = [plot.with_name(f"{plot.stem}-stages{suffix}") for suffix in (".png", ".svg")]
        _plot_stages(result["stages"], stages, f"{result['pipeline']}, {about}")
        for path in (plot, *stages):
            say(f"wrote {path}")
    return DONE


_SIGNIFICANT = 0.05


def _check_target(path: Path) -> None:
    """Refuse a file that could not be written, before any work is done."""
    command_line.require("--plot", "training", "matplotlib")
    from matplotlib.backend_bases import FigureCanvasBase

    formats = FigureCanvasBase.get_supported_filetypes()
    if path.suffix.removeprefix(".") not in formats:
        raise LoadingError(
            f"--plot {path}: the suffix must be one of {', '.join(sorted(formats))}."
        )
    if not path.absolute().parent.is_dir():
        raise LoadingError(f"--plot {path}: there is no folder {path.absolute().parent}. Make it.")


def _plot_recall(measured: Sequence[Measured], path: Path, title: str) -> None:
    """Draw recall against the number of articles looked at, one line per pipeline."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for pipeline in measured:
        recall = {name: value for name, value in pipeline.means().items() if name.startswith("R@")}
        depths = [int(name.removeprefix("R@")) for name in recall]
        intervals = pipeline.intervals()
        low, high = zip(*(intervals[name] for name in recall), strict=True)
        axes.plot(depths, list(recall.values()), marker="o", label=pipeline.pipeline)
        axes.fill_between(depths, low, high, alpha=0.15)
    axes.set_xscale("log")
    axes.set_xticks(depths, [str(depth) for depth in depths])
    axes.minorticks_off()
    axes.set(ylim=(0, 1), xlabel="articles looked at (k)", ylabel="R@k", title=title)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)


def _plot_stages(stages: Sequence[StageGain], paths: Sequence[Path], title: str) -> None:
    """Draw each stage's measures one below the other, and below a re-ranker its ceiling.

    Recall and average precision cannot exceed the recall of the candidates (R@m), nor can the
    reciprocal rank exceed the share of questions with a relevant candidate (Exist@m). Citations,
    which few questions have, are only in the table.
    """
    from matplotlib.figure import Figure

    from components.joiners.rank_fusion import CITATION
    from pipelines.evaluation import metrics_of

    drawn = [stage for stage in stages if stage["metrics"] and stage["stage"] != CITATION]
    rows = [row for stage in drawn for row in _stage_rows(stage)]
    figure = Figure(figsize=(10, len(rows) + 2), layout="constrained")
    panels = figure.subplots(2, 2, sharey=True)
    for axes, metric in zip_longest(panels.flat, metrics_of(drawn)):
        if metric is None:  # a run of depth 10 or less has only one recall
            axes.set_axis_off()
            continue
        for place, (_, marks) in enumerate(rows):
            if metric in marks:
                mean, interval, text, color = marks[metric]
                axes.hlines(place, *interval, color=color, alpha=0.4, linewidth=5)
                axes.plot(mean, place, "o", color=color, markersize=5)
                axes.annotate(
                    *(text, (mean, place), (0, 8)),
                    textcoords="offset points",
                    ha="center",
                    fontsize=9,
                    color=color,
                )
        axes.set_title(metric)
        axes.margins(x=0.2)
        axes.grid(axis="x", alpha=0.3)
    panels[0, 0].set_yticks(range(len(rows)), [name for name, _ in rows])
    panels[0, 0].set_ylim(len(rows) - 0.5, -0.8)
    figure.suptitle(
        f"{title}: value with its 95% interval (gain over the stage before, "
        f"* p < {_SIGNIFICANT}, uncorrected)"
    )
    for path in paths:
        figure.savefig(path, dpi=150)


# Mean, interval, text and colour of what is drawn for a metric.
_Mark = tuple[float, tuple[float, float], str, str]


def _stage_rows(stage: StageGain) -> list[tuple[str, dict[str, _Mark]]]:
    """The rows of a stage and of its ceiling: a name, and what to draw for each metric."""
    from components.statutes.metrics import metric_depth

    own: dict[str, _Mark] = {}
    for metric, mean in stage["metrics"].items():
        gain = stage["gain"].get(metric)
        star = "*" if gain and gain["p"] < _SIGNIFICANT else ""
        change = f" ({gain['difference']:+.3f}{star})" if gain else ""
        own[metric] = (mean, stage["intervals"][metric], f"{mean:.3f}{change}", "C0")
    rows = [(stage["stage"], own)]
    if ceiling := stage["ceiling"]:
        m = ceiling["n_candidates"]
        reached: dict[str, _Mark] = {}
        for metric in stage["metrics"]:
            if metric_depth(metric) <= m:
                name = f"Exist@{m}" if metric.startswith("MRR") else f"R@{m}"
                mean = ceiling["metrics"][name]
                reached[metric] = (mean, ceiling["intervals"][name], f"{name} {mean:.3f}", "0.45")
        rows.append((f"ceiling at {m}", reached))
    return rows


def _table(result: dict[str, Any]) -> str:
    from pipelines.evaluation import spoken, table

    left_out = result["n_unanswerable"]
    lines = [
        f"{result['pipeline']}, {result['n_questions']} questions of {spoken(result['split'])}"
        + (f" ({left_out} that no article answers left out)" if left_out else "")
        + f", {result['depth']} deep, {result['p50_ms']:.0f} ms per question (median)",
        "",
        f"{'metric':<14}{'value':>7}   95% interval",
    ]
    for metric, value in result["metrics"].items():
        low, high = result["intervals"][metric]
        lines.append(f"{metric:<14}{value:>7.3f}   {low:.3f} to {high:.3f}")
    if len(result["stages"]) > 1:
        lines += ["", table(result["stages"])]
    unseen = result["unseen"]
    if unseen:
        lines += ["", f"{unseen['n_questions']} questions whose articles no training question has:"]
        lines += [f"{metric:<14}{value:>7.3f}" for metric, value in unseen["metrics"].items()]
    for name, metrics in result["comparison"].items():
        lines += [
            "",
            f"{'less ' + name:<14}{'value':>7}{'difference':>12}   {'95% interval':<18}{'p':>7}"
            "   detectable",
        ]
        for metric, of in metrics.items():
            interval = "{:+.3f} to {:+.3f}".format(*of["interval"])
            detectable = "" if of["detectable"] is None else f"{of['detectable']:.3f}"
            lines.append(
                f"{metric:<14}{of['value']:>7.3f}{of['difference']:>+12.3f}   {interval:<18}"
                f"{of['p']:>7.4f}   {detectable}"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
