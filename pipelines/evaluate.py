"""python -m pipelines.evaluate: measure a pipeline on questions, and compare it with others."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines import command_line
from pipelines.checking import LoadingError
from pipelines.command_line import DONE, say, show

if TYPE_CHECKING:
    from components.statutes.question import Question

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

    store = StatuteDocumentStore(str(path))
    try:
        record = recorded_questions(store)
        known = set(AnsweredQuestions.read(store, record).texts) if record else set()
    finally:
        store.close()
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
    from pipelines.plotting import check_target, plot_recall, plot_stages
    from pipelines.stages import ANSWERED

    names = distinct_names([options.pipeline, *options.compare])
    if options.plot:
        check_target(Path(options.plot), "--plot")
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
        plot_recall(measured, plot, about)
        stages = [plot.with_name(f"{plot.stem}-stages{suffix}") for suffix in (".png", ".svg")]
        plot_stages(result["stages"], stages, f"{result['pipeline']}, {about}")
        for path in (plot, *stages):
            say(f"wrote {path}")
    return DONE


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
