"""python -m pipelines.calibrate: choose the score below which nothing was found."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from pipelines import command_line
from pipelines.checking import LoadingError
from pipelines.command_line import DONE, FAILED, say, show

_EPILOG = """\
The score is the highest that the pipeline's ranker, or else its dense retriever, gives any
article; over a store with answered questions, the first score of their list. Questions without an
answer are those marked "answerable": false. Where the split has fewer than 20 of them, every
answerable question is also asked without its relevant articles, their twins and their divisions.
The threshold with the highest recall of both kinds together (Youden's J) is written into the store,
unless the score does not tell the two kinds apart.

  python -m pipelines.calibrate --store law.db --questions law.jsonl --pipeline hybrid_rerank"""

_MEASURES = {
    "precision": "answered, precision",
    "recall": "answered, recall",
    "nothing_precision": "nothing found, precision",
    "nothing_recall": "nothing found, recall",
    "j": "J (sum of recalls - 1)",
}


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = command_line.parser(
        "calibrate", "Choose the score below which nothing was found.", _EPILOG
    )
    command_line.add_questions(parser, "dev")
    command_line.add_store(parser)
    options = parser.parse_args(arguments)
    return command_line.run(lambda: _calibrate(options))


def _calibrate(options: argparse.Namespace) -> int:
    from components.stores.sqlite import StatuteDocumentStore
    from pipelines.calibration import calibrate, keep_threshold, report
    from pipelines.evaluation import asked_questions
    from pipelines.home import resolve
    from pipelines.loading import article_ids

    plan = resolve(options.pipeline, options.store, options.model, say)
    if plan.asks_engine:
        raise LoadingError(
            f"The pipeline {options.pipeline} asks an engine, which keeps no threshold. Calibrate "
            "on a store, and write the threshold into the pipeline's file."
        )
    path = Path(plan.store)
    questions, split = asked_questions(options, "dev", article_ids(path))
    found = calibrate(options.pipeline, questions, split, store=path, model=options.model)
    result = {"split": split, **report(found), "store": str(path)}
    show(result if options.json else _table(result))
    if not found.separation.separates:
        low, high = found.separation.intervals["auc"]
        say(
            f"The {found.scorer.stage} score does not tell questions with an answer from those "
            f"without (AUC {low:.3f} to {high:.3f}). No threshold is written."
        )
        return FAILED
    with closing(StatuteDocumentStore(str(path))) as store:
        keep_threshold(store, found, options.questions, questions, split)
    say(f"wrote the threshold of the stage {found.scorer.stage} into {path}")
    return DONE


def _table(result: dict[str, Any]) -> str:
    from pipelines.evaluation import spoken

    lines = [
        f"{result['pipeline']}, best score of the stage '{result['stage']}', "
        f"{spoken(result['split'])}",
        "",
        f"{'questions':<26}{'n':>6}{'median':>9}",
    ]
    for kind, counts in result["kinds"].items():
        lines.append(f"{kind:<26}{counts['n']:>6}{counts['median']:>9.3f}")
    low, high = result["intervals"]["auc"]
    threshold = f"threshold {result['threshold']:.4f}, AUC {result['auc']:.3f}"
    lines += ["", f"{threshold} ({low:.3f} to {high:.3f})", ""]
    lines.append(f"{'':<26}{'held out':>9}   95% interval")
    for measure, title in _MEASURES.items():
        value, (low, high) = result["held_out"][measure], result["intervals"][measure]
        share = "none" if value is None else f"{value:.3f}"
        lines.append(f"{title:<26}{share:>9}   {low:.3f} to {high:.3f}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
