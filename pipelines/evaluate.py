"""python -m pipelines.evaluate: measure a pipeline on questions, and compare it with others."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from functools import partial
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
value comes with its 95% bootstrap interval, a comparison with the difference (the pipeline less the
other), its interval, the p of a paired randomisation test, and the smallest difference that the
test could have detected. Each stage has its gain over the stage before it; below a re-ranker stands
its ceiling: the recall of its m candidates (R@m), and how often one of them is relevant (Exist@m).

  python -m pipelines.evaluate --store law.db --questions questions.jsonl --compare lexical"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = command_line.parser("evaluate", "Measure a pipeline on questions.", _EPILOG)
    command_line.add_questions(parser, "test")
    add = parser.add_argument
    help_ = "another pipeline on the same questions; may be repeated"
    add("--compare", action="append", default=[], metavar="NAME", help=help_)
    command_line.add_store(parser)
    help_ = "how many articles to ask for, as top_k (default: 1000)"
    add("--depth", type=command_line.positive, default=1000, metavar="N", help=help_)
    add("--run-dir", metavar="DIR", help="write each pipeline's TREC run file here")
    add("--plot", metavar="FILE", help="draw recall against depth (.png, .svg, .pdf)")
    options = parser.parse_args(arguments)
    return command_line.run(lambda: _evaluate(options))


def _say_of_answered(path: str, questions: Sequence[Question]) -> None:
    """Warn of questions that the store was made with: finding their articles proves little."""
    from components.retrievers.answered import AnsweredQuestions, recorded_questions
    from components.stores.sqlite import StatuteDocumentStore
    from pipelines.home import DEMO_QUESTIONS

    with closing(StatuteDocumentStore(path)) as store:
        record = recorded_questions(store)
        known = set(AnsweredQuestions.read(store, record).texts) if record else set()
        is_demo = store.load_blob(DEMO_QUESTIONS) is not None
    if n := sum(each.text in known for each in questions):
        say(
            f"{n:,} of the {len(questions):,} questions are among the store's answered questions, "
            "so the figures of hybrid are too good."
        )
    if is_demo and any(each.split == "dev" for each in questions):
        say(
            "The split 'dev' chose the weight of the demo's answered questions, so the figures of "
            "hybrid are too good; 'test' is held out."
        )


def _evaluate(options: argparse.Namespace) -> int:
    from components.statutes.metrics import write_trec_run
    from pipelines import evaluation
    from pipelines.home import resolve
    from pipelines.loading import article_ids, article_text
    from pipelines.stages import ANSWERED

    names = evaluation.distinct_names([options.pipeline, *options.compare])
    if options.plot:  # before a long evaluation
        command_line.require("--plot", "training", "matplotlib")
        if Path(options.plot).suffix not in (".png", ".svg", ".pdf"):
            raise LoadingError(f"--plot {options.plot}: the suffix must be .png, .svg or .pdf.")
    for folder in filter(None, (options.run_dir, options.plot and Path(options.plot).parent)):
        Path(folder).mkdir(parents=True, exist_ok=True)
    plan = resolve(options.pipeline, options.store, options.model, say, others=names)
    # Do not ask an engine for all its ids: it may hold more than this machine can.
    ids, text_of = None, None
    if not plan.asks_engine:
        ids, text_of = article_ids(plan.store), partial(article_text, plan.store)
    everything, split = evaluation.asked_questions(options, "test", ids, text_of)
    asked = evaluation.of_split(everything, split)
    questions = [question for question in asked if question.answerable]
    if not questions:
        raise LoadingError(
            f"--split: {options.questions} has no answerable question of "
            f"{evaluation.spoken(split)}."
        )
    measured = [
        evaluation.measure(
            name, questions, store=plan.store, model=options.model, depth=options.depth
        )
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
        **evaluation.report(measured[0], measured[1:], questions, training),
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


def _plot_recall(measured: Sequence[Measured], path: Path, title: str) -> None:
    """Draw recall against the number of articles looked at, one line per pipeline."""
    from matplotlib.figure import Figure

    from pipelines.evaluation import summary

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for pipeline in measured:
        found = summary(pipeline.values)
        names = [name for name in found["metrics"] if name.startswith("R@")]
        depths = [int(name.removeprefix("R@")) for name in names]
        recalls = [found["metrics"][name] for name in names]
        low, high = zip(*(found["intervals"][name] for name in names), strict=True)
        axes.plot(depths, recalls, marker="o", label=pipeline.pipeline)
        axes.fill_between(depths, low, high, alpha=0.15)
    axes.set(xscale="log", ylim=(0, 1), xlabel="articles looked at (k)", ylabel="R@k", title=title)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)


def _table(result: dict[str, Any]) -> str:
    from pipelines.evaluation import spoken, table

    n, unseen = result["n_unanswerable"], result["unseen"]
    left_out = f" ({n} that no article answers left out)" if n else ""
    lines = [
        f"{result['pipeline']}, {result['n_questions']} questions of {spoken(result['split'])}"
        f"{left_out}, {result['depth']} deep, {result['p50_ms']:.0f} ms per question (median)",
        "",
        f"{'metric':<14}{'value':>7}   95% interval",
    ]
    for metric, value in result["metrics"].items():
        low, high = result["intervals"][metric]
        lines.append(f"{metric:<14}{value:>7.3f}   {low:.3f} to {high:.3f}")
    if len(result["stages"]) > 1:
        lines += ["", table(result["stages"])]
    if unseen and unseen["metrics"]:
        lines += ["", f"{unseen['n_questions']} questions whose articles no training question has:"]
        lines += [f"{metric:<14}{value:>7.3f}" for metric, value in unseen["metrics"].items()]
    for name, metrics in result["comparison"].items():
        header = f"{'value':>7}{'difference':>12}   {'95% interval':<18}{'p':>7}   detectable"
        lines += ["", f"{'less ' + name:<14}{header}"]
        for metric, test in metrics.items():
            interval = "{:+.3f} to {:+.3f}".format(*test["interval"])
            values = f"{test['value']:>7.3f}{test['difference']:>+12.3f}   {interval:<18}"
            detectable = "" if test["detectable"] is None else f"{test['detectable']:.3f}"
            lines.append(f"{metric:<14}{values}{test['p']:>7.4f}   {detectable}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
