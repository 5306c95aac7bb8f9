"""python -m training.bm25_table: measure search by words alone, with published BM25 variants.

    python -m training.bm25_table --corpus aldermere --questions aldermere --split dev

Prints Table 1 of Le et al. (2025) for any law as Markdown; `--output FILE` keeps it as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from components.statutes.article import TextRule
from training.bm25 import Terms
from training.command_line import Place, SettingsError, Target, run, say, settings_from
from training.settings import share

if TYPE_CHECKING:
    from components.statutes.question import Question


# The settings of `python -m training.bm25_table`.


@dataclass(frozen=True, kw_only=True)
class Bm25TableSettings:
    """rank-bm25's BM25 with the parameters of a published table, on any law.

    "Paper" is Le, Nguyen, Nguyen, Nguyen (2025), Table 1, on the SoICT Hackathon 2024.

    Args:
        corpus: The law: a native file or folder, "aldermere", or a name that
            StatuteCorpus.read knows.
        questions: Questions with their articles and splits.
        split: The split that is measured: train, dev or test.
        dev_share: Share of the training questions that is measured as dev, where no question is of
            that split; the same questions that training.cusines sets aside. Paper: 0.1.
        text_rule: Which parts of an article are searched.
        terms: lower_cased (words as they stand, in small letters) or analysed (stems, stop words,
            word segmentation, as the pipelines search). Paper: lower_cased.
        output: JSON file that also gets the numbers.

    Raises:
        SettingsError: A value is out of its range.
    """

    corpus: Place
    questions: Place
    split: str = "dev"
    dev_share: float = 0.1
    text_rule: TextRule = "headings_text"
    terms: Terms = "lower_cased"
    output: Target | None = None

    def __post_init__(self) -> None:
        share(self, "dev_share")


METRICS = ("Exist@90", "MRR@10")
DEPTH = 90

_DESCRIPTION = """\
Searches a law with rank-bm25 (BM25Okapi; BM25Plus with k1 in .8, 1.2, 2 and b in 0, .75, 1) and
prints a table of Exist@90 and MRR@10, each with its 95% bootstrap interval over questions."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    settings = settings_from("bm25_table", _DESCRIPTION, Bm25TableSettings, arguments)
    return run(lambda: _table(settings))


def _table(settings: Bm25TableSettings) -> None:
    """Print the table; with an output, also write the numbers there.

    Raises:
        CorpusError: A file cannot be read.
        SettingsError: As `measure`, or the output cannot be written.
        OSError: The output can no longer be written.
    """
    from components.models.folder import whole_file

    output = None if settings.output is None else Path(settings.output)
    measured = measure(settings)
    # Print first: the disk may be full.
    print(markdown(measured), flush=True)  # noqa: T201
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(output) as partial:
            text = json.dumps(measured, indent=2, ensure_ascii=False)
            partial.write_text(text, encoding="utf-8")


def measure(settings: Bm25TableSettings) -> dict[str, Any]:
    """Measure every variant.

    Returns:
        The settings, `n_articles`, `n_questions` and `rows`: name, k1, b and for each metric its
        mean and 95% interval.

    Raises:
        CorpusError: A file cannot be read.
        SettingsError: No question is of the split, or no article has a word.
    """
    # Imported here, so that --help answers at once.
    from components.statutes.corpus import StatuteCorpus
    from components.statutes.metrics import evaluate
    from components.statutes.significance import bootstrap_interval
    from training.bm25 import VARIANTS, CountedLaw

    corpus = StatuteCorpus.read(settings.corpus)
    questions = _asked(settings, corpus.ids)
    try:
        law = CountedLaw(
            corpus.articles, questions, terms=settings.terms, text_rule=settings.text_rule
        )
    except ValueError as error:
        raise SettingsError(f"corpus: {error}.") from error
    qrels = {question.id: question.relevant for question in questions}
    rows = []
    for variant in VARIANTS:
        found = law.rankings(variant, DEPTH)
        ranked = {
            question.id: [corpus.articles[place].id for place in ranking]
            for question, ranking in zip(questions, found, strict=True)
        }
        values = evaluate(ranked, qrels, METRICS, depth=DEPTH)
        row: dict[str, Any] = {"name": variant.name, "k1": variant.k1, "b": variant.b}
        for metric in METRICS:
            of_questions = list(values[metric].values())
            row[metric] = {
                "mean": fmean(of_questions),
                "interval": bootstrap_interval(of_questions),
            }
        rows.append(row)
    return {
        "corpus": settings.corpus,
        "questions": settings.questions,
        "split": settings.split,
        "terms": settings.terms,
        "text_rule": settings.text_rule,
        "n_articles": len(corpus.articles),
        "n_questions": len(questions),
        "rows": rows,
    }


def markdown(measured: Mapping[str, Any]) -> str:
    """What `measure` found, as a table."""
    terms = str(measured["terms"]).replace("_", "-")
    lines = [
        f"{measured['n_questions']:,} questions of the split '{measured['split']}', "
        f"{measured['n_articles']:,} articles, {terms} words; mean and 95% interval (bootstrap "
        "over questions).",
        "",
        f"| BM25 | k1 | b | {' | '.join(METRICS)} |",
        f"| --- | ---: | ---: |{' ---: |' * len(METRICS)}",
    ]
    for row in measured["rows"]:
        scores = [
            "{:.3f} [{:.3f}, {:.3f}]".format(row[metric]["mean"], *row[metric]["interval"])
            for metric in METRICS
        ]
        lines.append(f"| {row['name']} | {row['k1']:g} | {row['b']:g} | {' | '.join(scores)} |")
    return "\n".join(lines)


def _asked(settings: Bm25TableSettings, known: Sequence[str]) -> list[Question]:
    """The questions to measure, without those that no article answers."""
    from components.statutes.corpus import read_questions
    from training.data import held_out

    everything = read_questions(settings.questions, corpus_ids=known)
    answered = [question for question in everything if question.relevant]
    asked = [question for question in answered if question.split == settings.split]
    if not asked and settings.split == "dev":
        training = [question for question in answered if question.split == "train"]
        asked = held_out(training, settings.dev_share)[1]
        if asked:
            say(f"No question is of the split dev: {len(asked)} of train are measured")
    if not asked:
        splits = sorted({question.split or "(none)" for question in everything})
        raise SettingsError(
            f"split: {settings.questions} has no answerable question of the split "
            f"'{settings.split}'. It has the splits {', '.join(splits)}."
        )
    return asked


if __name__ == "__main__":
    sys.exit(main())
