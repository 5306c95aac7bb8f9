"""python -m pipelines.evaluate: measure a pipeline on questions, and compare it with others."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines import command_line
from pipelines.checking import LoadingError
from pipelines.command_line import DONE, say, show

if TYPE_CHECKING:
    from components.statutes.question import Question
    from pipelines.evaluation import Measured

_EPILOG = """\
Only each question's text is asked; all its relevant articles count; means are over questions. A
value comes with its 95% bootstrap interval. A comparison gives the difference (the pipeline less
the other), its interval, the p of a paired randomisation test, and the smallest difference that the
test could have detected. Questions that no article answers are left out and counted.

The pipeline's stages are measured in the same run, each with its gain over the stage before it:
the better of the stages that it takes its lists from, or for one that searches the store the last
listed that does so too. Below a re-ranker is its ceiling: the recall of its m candidates (R@m) and
the share of questions that have a relevant one among them (Exist@m).

  python -m pipelines.evaluate --store law.db --questions questions.jsonl --split dev
  python -m pipelines.evaluate --store law.db --questions questions.jsonl --compare lexical"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    options = _parse(arguments)
    return command_line.run(lambda: _evaluate(options))


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = command_line.parser("evaluate", "Measure a pipeline on questions.", _EPILOG)
    command_line.add_questions(parser, "test")
    add = parser.add_argument
    add(
        "--compare",
        action="append",
        default=[],
        metavar="NAME",
        help="another pipeline on the same questions; may be repeated",
    )
    command_line.add_store(parser)
    add(
        "--depth",
        type=command_line.positive,
        default=1000,
        metavar="N",
        help="how many articles to ask for, as top_k (default: 1000)",
    )
    add("--run-dir", metavar="DIR", help="write each pipeline's TREC run file here")
    add("--plot", metavar="FILE", help="draw recall against depth (.png, .svg, .pdf)")
    return parser.parse_args(arguments)


def _say_of_answered(path: str, questions: Sequence[Question]) -> None:
    """Warn of questions whose answers the store has: finding these proves nothing."""
    from components.retrievers.answered import AnsweredQuestions, recorded_questions
    from components.stores.sqlite import StatuteDocumentStore

    with closing(StatuteDocumentStore(path)) as store:
        record = recorded_questions(store)
        known = set(AnsweredQuestions.read(store, record).texts) if record else set()
    if n := sum(each.text in known for each in questions):
        say(
            f"{n:,} of the {len(questions):,} questions are among the store's answered questions, "
            "so the figures of hybrid are too good."
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
    # Do not ask an engine for all its ids: it may hold more than this machine can.
    ids = None if plan.asks_engine else article_ids(plan.store)
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
            f"--split: {options.questions} has no answerable question of {spoken(split)}."
        )
    if options.run_dir:  # before a long evaluation
        Path(options.run_dir).mkdir(parents=True, exist_ok=True)
    measured = [
        measure(name, questions, store=plan.store, model=options.model, depth=options.depth)
        for name in names
    ]
    if any(each.stage.name == ANSWERED for one in measured for each in one.stages):
        _say_of_answered(plan.store, questions)
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
        for each in measured:
            path = Path(options.run_dir) / f"{each.pipeline}.trec"
            write_trec_run(path, each.run, each.pipeline)
            say(f"wrote {path}")
    if options.plot:
        _plot_recall(measured, Path(options.plot), f"{len(questions)} questions ({split})")
        say(f"wrote {options.plot}")
    return DONE


def _check_target(path: Path) -> None:
    """Refuse a file that could not be written, before any work is done."""
    command_line.require("--plot", "training", "matplotlib")
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise LoadingError(f"--plot {path}: the suffix must be .png, .svg or .pdf.")
    if not path.absolute().parent.is_dir():
        raise LoadingError(f"--plot {path}: there is no folder {path.absolute().parent}. Make it.")


def _plot_recall(measured: Sequence[Measured], path: Path, title: str) -> None:
    """Draw recall against the number of articles looked at, one line per pipeline."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for pipeline in measured:
        found = pipeline.summary()
        recall = {name: mean for name, mean in found["metrics"].items() if name.startswith("R@")}
        depths = [int(name.removeprefix("R@")) for name in recall]
        low, high = zip(*(found["intervals"][name] for name in recall), strict=True)
        axes.plot(depths, list(recall.values()), marker="o", label=pipeline.pipeline)
        axes.fill_between(depths, low, high, alpha=0.15)
    axes.set_xscale("log")
    axes.set_xticks(depths, [str(depth) for depth in depths])
    axes.minorticks_off()
    axes.set(ylim=(0, 1), xlabel="articles looked at (k)", ylabel="R@k", title=title)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)


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
        for metric, test in metrics.items():
            interval = "{:+.3f} to {:+.3f}".format(*test["interval"])
            detectable = "" if test["detectable"] is None else f"{test['detectable']:.3f}"
            lines.append(
                f"{metric:<14}{test['value']:>7.3f}{test['difference']:>+12.3f}   {interval:<18}"
                f"{test['p']:>7.4f}   {detectable}"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
