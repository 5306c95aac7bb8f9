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
answerable question is also asked without its relevant articles, their twins and everything in their
divisions, and then counts as a question without an answer.

The threshold has the highest recall of both kinds together (Youden's J), which does not depend on
how many there are of each; precision does. It is written into the store, for this stage and model,
with the precision and recall of questions that were held out one by one when it was chosen. A score
that does not tell the two kinds apart gives no threshold: nothing is written, and what was written
before stays.

  python -m pipelines.calibrate --questions aldermere
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
    options = _parse(arguments)
    return command_line.run(lambda: _calibrate(options))


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = command_line.parser(
        "calibrate", "Choose the score below which nothing was found.", _EPILOG
    )
    command_line.add_questions(parser, "dev")
    command_line.add_store(parser)
    return parser.parse_args(arguments)


def _calibrate(options: argparse.Namespace) -> int:
    from components.statutes.corpus import read_questions
    from components.stores.sqlite import StatuteDocumentStore
    from pipelines.calibration import calibrate, keep_threshold, report
    from pipelines.evaluation import chosen_split
    from pipelines.home import resolve
    from pipelines.loading import article_ids

    plan = resolve(options.pipeline, options.store, options.model, say)
    if plan.asks_engine:
        raise LoadingError(
            f"The pipeline {options.pipeline} asks an engine, which keeps no threshold. Calibrate "
            "on a store, and write the threshold into the pipeline's file."
        )
    path = Path(plan.store)
    questions = read_questions(
        options.questions, corpus_ids=article_ids(path), skip_bad=options.skip_bad
    )
    for problem in questions.problems:
        say(str(problem))
    split = chosen_split(questions, options.split, "dev", options.questions, say)
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
        f"{'questions':<26}{'n':>6}{'median':>9}{'nothing found':>15}",
    ]
    for kind, counts in result["kinds"].items():
        if counts["n"]:
            shares = f"{counts['median']:>9.3f}{counts['nothing_found']:>15.3f}"
            lines.append(f"{kind:<26}{counts['n']:>6}{shares}")
        if counts["n_without_score"]:
            lines.append(f"  left out, since no article was read: {counts['n_without_score']}")
    intervals = result["intervals"]
    low, high = intervals["auc"]
    lines += [
        "",
        f"threshold {result['threshold']:.4f}, AUC {result['auc']:.3f} ({low:.3f} to {high:.3f})",
        "",
        f"{'':<26}{'held out':>9}   {'95% interval':<18}in sample",
    ]
    for measure, title in _MEASURES.items():
        low, high = intervals[measure]
        held_out, in_sample = (
            "none" if result[which][measure] is None else f"{result[which][measure]:.3f}"
            for which in ("held_out", "in_sample")
        )
        lines.append(f"{title:<26}{held_out:>9}   {f'{low:.3f} to {high:.3f}':<18}{in_sample:>9}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
