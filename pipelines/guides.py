"""python -m pipelines.guides: look after the guides of a store.

It lists the guides whose law has changed since their review, the articles that questions ask for
and no guide covers, and the guides that their own questions do not find. With --calibrate it
chooses how near a question must be to a guide's own, by questions whose right guides someone has
labelled. With --from it makes a file of guides from a spreadsheet (docs/guides.md).

  python -m pipelines.guides --store law.db
  python -m pipelines.guides --store law.db --calibrate questions.jsonl --labels labels.jsonl
  python -m pipelines.guides --from sheet.csv --output guides.jsonl
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from tqdm import tqdm

from pipelines import command_line
from pipelines.checking import LoadingError
from pipelines.command_line import DONE, FAILED, say, show

if TYPE_CHECKING:
    from haystack import Pipeline

    from components.retrievers.guides import GuideThreshold, StatuteGuideRetriever
    from components.stores.sqlite import StatuteDocumentStore

_PRECISION = 0.95
_MARGINS = tuple(each / 50 for each in range(31))  # 0 to .6
_LISTED = 20  # articles
# Of fewer guides shown, .95 is the same as none wrong.
_FEWEST = 20


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = command_line.parser("guides", "Look after the guides of a store.", __doc__)
    add = parser.add_argument
    command_line.add_store(parser)
    add("--calibrate", metavar="PATH", help="questions that choose the threshold, or 'aldermere'")
    add("--labels", metavar="FILE", help="which of them to ask, and the right guide for each")
    add("--from", dest="table", metavar="CSV", help="the spreadsheet to make a file of guides from")
    add("--output", type=command_line.named, metavar="FILE", help="the file to make")
    add("--json", action="store_true", help="print the result as JSON")
    options = parser.parse_args(arguments)
    if (options.table is None) != (options.output is None):
        parser.error("--from and --output go together")
    if (options.calibrate is None) != (options.labels is None):
        parser.error("--calibrate and --labels go together")
    work = _convert if options.table else _calibrate if options.calibrate else _list
    return command_line.run(lambda: work(options))


def _convert(options: argparse.Namespace) -> int:
    from components.statutes.guides import guides_from_table

    output = command_line.new_file(options.output)
    guides = guides_from_table(options.table, date.today())
    lines = (json.dumps(each.to_json(), ensure_ascii=False) for each in guides)
    output.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    say(f"wrote {len(guides):,} guides to {output}")
    return DONE


def _opened(options: argparse.Namespace) -> tuple[Pipeline, StatuteGuideRetriever]:
    """The pipeline that is asked for guides, and its component that finds them.

    Raises:
        LoadingError: its store has none.
    """
    from pipelines.home import resolve
    from pipelines.loading import load_pipeline

    plan = resolve(None, options.store, options.model, say)
    pipeline = load_pipeline(*plan.arguments)
    pipeline.warm_up()
    component = cast("StatuteGuideRetriever", pipeline.get_component("guide"))
    if component.index() is None:
        raise LoadingError(
            f"{plan.store} has no guides. Give it some with python -m pipelines.index --store "
            f"{plan.store} --guides FILE."
        )
    return pipeline, component


# What needs care.


def _list(options: argparse.Namespace) -> int:
    from components.retrievers.guides import articles_in, kept_guides
    from pipelines.asking import ask

    pipeline, component = _opened(options)
    assert component.document_store is not None
    store = component.document_store
    article, today = articles_in(store), date.today()
    guides = [each.compared(article, today) for each in kept_guides(store).kept]
    covered = {id_ for each in guides for id_ in each.guide.articles}
    asked = _asked_for(store)
    never_found = []
    for each in tqdm(guides, desc="Asking the guides' own questions", disable=None):
        found = (ask(pipeline, question)["guide"] or {} for question in each.guide.when)
        if not any(guide.get("id") == each.guide.id for guide in found):
            never_found.append(each.guide.key)
    result = {
        "guides": len(guides),
        "stale": {each.guide.key: each.changed for each in guides if each.changed},
        "never_found": never_found,
        "uncovered": {id_: n for id_, n in asked.most_common() if id_ not in covered},
        "threshold": asdict(component.threshold()),
        "store": str(store.path),
    }
    show(result if options.json else _report(result, answered=bool(asked)))
    return DONE


def _asked_for(store: StatuteDocumentStore) -> Counter[str]:
    """How many of the store's answered questions ask for each article."""
    from components.retrievers.answered import AnsweredQuestions, recorded_questions

    record = recorded_questions(store)
    questions = AnsweredQuestions.read(store, record).relevant if record else []
    return Counter(id_ for ids in questions for id_ in ids)


def _report(result: Mapping[str, Any], *, answered: bool) -> str:
    lines = [f"{result['store']}: {result['guides']:,} guides", ""]
    lines.append(f"The law has changed under {len(result['stale']):,}:")
    for guide, changed in result["stale"].items():
        lines.append(f"  {guide}: {', '.join(f'{id_} on {day}' for id_, day in changed.items())}")
    lines += ["", f"Not found by any of their own questions: {len(result['never_found']):,}"]
    lines += [f"  {each}" for each in result["never_found"]]
    uncovered = [f"  {id_}: {n:,} questions" for id_, n in result["uncovered"].items()]
    lines += ["", f"Articles that questions ask for and no guide covers: {len(uncovered):,}"]
    lines += uncovered[:_LISTED]
    if len(uncovered) > _LISTED:
        lines.append("  ... (--json lists all)")
    if not answered:
        lines[-1] = (
            "It is unknown which articles people ask for: the store has no answered questions "
            "(python -m pipelines.index --answered)."
        )
    return "\n".join(lines)


# How near a question must be.


class Candidate(NamedTuple):
    """The guide that fits a question best.

    Attributes:
        similarity, margin: as of `GuideMatch`.
        is_right: whether it is a guide for the question.
    """

    similarity: float
    margin: float
    is_right: bool


def _calibrate(options: argparse.Namespace) -> int:
    from components.retrievers.guides import save_threshold, scores_of
    from components.statutes.article import normalised
    from components.statutes.corpus import read_questions
    from components.statutes.guides import read_labels
    from pipelines.asking import ask

    pipeline, component = _opened(options)
    store, index = component.document_store, component.index()
    assert store is not None
    assert index is not None
    guides = [each.guide for each in index.guides.kept]
    texts = {each.id: each.text for each in read_questions(options.calibrate)}
    labels = read_labels(options.labels, texts, {each.id for each in guides})
    # A guide's own question is found whatever the threshold.
    own = {normalised(text) for each in guides for text in (*each.when, *each.unless)}
    if left_out := {id_ for id_ in labels if normalised(texts[id_]) in own}:
        say(f"Left out, as questions of the guides themselves: {', '.join(sorted(left_out))}.")
    candidates = []
    asked = {texts[id_]: right for id_, right in labels.items() if id_ not in left_out}
    for text, right in tqdm(asked.items(), desc="Asking", disable=None):
        documents = ask(pipeline, text)["documents"]
        match = component.match(text, scores_of((each["id"], each["score"]) for each in documents))
        if match and not match.is_excluded:
            is_right = match.kept.guide.id in right
            candidates.append(Candidate(match.similarity, match.margin, is_right))
    answerable = sum(map(bool, asked.values()))
    threshold = best_threshold(candidates, answerable, len(asked), Path(options.labels).name)
    with_guide = f"{len(asked):,} questions, {answerable:,} with a guide"
    if threshold is None or threshold.shown < _FEWEST:
        say(
            f"{with_guide}: {threshold.shown if threshold else 0:,} can get one with a precision "
            f"of {_PRECISION}; at least {_FEWEST} must, to measure that. No threshold is written. "
            "Label more questions."
        )
        return FAILED
    save_threshold(store, component.compares_by, threshold)
    result = {**asdict(threshold), "answerable": answerable, "store": str(store.path)}
    report = (
        f"{with_guide}: {threshold.shown:,} get one, "
        f"precision {threshold.precision:.3f}, coverage {threshold.coverage:.3f}\n"
        f"similarity {threshold.similarity:.3f}, margin {threshold.margin:.2f}, written into "
        f"{store.path}"
    )
    show(result if options.json else report)
    return DONE


def best_threshold(
    candidates: Sequence[Candidate], answerable: int, asked: int, name: str
) -> GuideThreshold | None:
    """The threshold that shows the most right guides at a precision of at least .95.

    Of those that show as many it is the strictest, with the similarity halfway to the nearest
    candidate that is not shown.

    Args:
        candidates: as measured.
        answerable: questions that have a right guide.
        asked: questions asked.
        name: of the labels, for the record.

    Returns:
        None where no threshold reaches that precision.
    """
    from components.retrievers.guides import GuideThreshold

    best: tuple[tuple[float, ...], GuideThreshold] | None = None
    ordered = sorted(candidates, reverse=True)
    for margin in _MARGINS:
        near = [each for each in ordered if each.margin >= margin]
        right = 0
        for shown, (each, below) in enumerate(zip_longest(near, near[1:]), start=1):
            right += each.is_right
            precision = right / shown
            is_tie = below is not None and below.similarity == each.similarity
            if is_tie or precision < _PRECISION:
                continue
            rank = (right, precision, margin)
            if best is None or rank > best[0]:
                halfway = (each.similarity + (below or each).similarity) / 2
                measured = (precision, right / max(answerable, 1), shown, asked, name)
                today = date.today().isoformat()
                best = (rank, GuideThreshold(halfway, margin, *measured, today))
    return best[1] if best else None


if __name__ == "__main__":
    sys.exit(main())
