"""python -m training.bm25_table: measure search by words alone, with published BM25 variants.

    python -m training.bm25_table --corpus aldermere --questions aldermere --split dev
    python -m training.bm25_table --corpus aldermere --questions aldermere --grid true --output heat

Prints Table 1 of Le et al. (2025) for any law as Markdown, or with `--grid` R@200 by k1 and b;
`--output FILE` keeps the numbers as JSON, and next to it the grid as a heat map.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi, BM25Plus
from scipy.sparse import csr_array

from components.statutes.article import Article, TextRule, indexed_text
from components.statutes.lexical import analyzer, segmenter, words_joined
from components.statutes.question import Question
from training.command_line import (
    Place,
    SettingsError,
    Target,
    markdown,
    run,
    say,
    settings_from,
)
from training.settings import share

# rank-bm25's scores as a product of sparse matrices.
#
# Its `get_scores` looks every word up in every article, which takes a hundred times as long.


def rows_of(counts: Sequence[dict[int, int]], n_words: int) -> csr_array:
    """Counts of words as a matrix, float64 `[len(counts), n_words]`."""
    ends = np.cumsum([0, *(len(each) for each in counts)])
    words = np.fromiter((word for each in counts for word in each), np.int32, ends[-1])
    times = np.fromiter((n for each in counts for n in each.values()), np.float64, ends[-1])
    return csr_array((times, words, ends), shape=(len(counts), n_words))


def word_weights(statistics: BM25Okapi | BM25Plus, counts: csr_array) -> csr_array:
    """What a word in a question adds to an article's score, float64 `[n_words, n_articles]`:

        idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean length))

    A question's counts times this are `get_scores`. BM25Plus adds delta * idf for each word of the
    question, to every article, those without the word included: that moves no rank and is left out.

    Args:
        statistics: Of articles whose words are numbers from 0; its idf, lengths, k1 and b count.
        counts: `rows_of` of these articles, `[n_articles, n_words]`.
    """
    k1, b = statistics.k1, statistics.b
    lengths = np.array(statistics.doc_len) / statistics.avgdl
    saturation = np.repeat(k1 * (1 - b + b * lengths), np.diff(counts.indptr))
    idf = np.array([statistics.idf[word] for word in range(counts.shape[1])])
    weights = idf[counts.indices] * (counts.data * (k1 + 1) / (counts.data + saturation))
    return csr_array((weights, counts.indices, counts.indptr), shape=counts.shape).T.tocsr()


Terms = Literal["lower_cased", "analysed"]

_QUESTIONS_AT_A_TIME = 32
_WORD = re.compile(r"\w+")

Ranking = NDArray[np.int64]


class Variant(NamedTuple):
    """One row of the table: a formula and its parameters.

    Attributes:
        kind: rank-bm25's class.
        k1: Saturation of term frequency.
        b: Weight of length.
    """

    kind: type[BM25Okapi] | type[BM25Plus]
    k1: float
    b: float


# Le et al. (2025), Table 1: rank-bm25's BM25Okapi and BM25Plus at their defaults, and BM25Plus with
# nine pairs of parameters.
VARIANTS = (
    Variant(BM25Okapi, 1.5, 0.75),
    Variant(BM25Plus, 1.5, 0.75),
    *(Variant(BM25Plus, k1, b) for k1 in (0.8, 1.2, 2.0) for b in (0.0, 0.75, 1.0)),
)


class CountedLaw:
    """The words of a law and of questions, counted once for every variant.

    Args:
        articles: The law.
        questions: A repeated word counts as often as it occurs. Words are analysed in the language
            of the first article.
        terms: How words are made from text. If pyvi is installed, Vietnamese words are whole.
        text_rule: Which parts of an article are searched.

    Attributes:
        asked: How often each word stands in a question, float64 `[n_questions, n_words]`.

    Raises:
        ValueError: No article has a word.
    """

    def __init__(
        self,
        articles: Sequence[Article],
        questions: Sequence[Question],
        *,
        terms: Terms,
        text_rule: TextRule = "headings_text",
    ) -> None:
        numbers: dict[str, int] = {}
        self._documents = []
        for article in articles:
            text = indexed_text(article.headings, article.text, text_rule)
            words = _reader(terms, article.language)(text)
            self._documents.append([numbers.setdefault(word, len(numbers)) for word in words])
        if not numbers:
            raise ValueError("no article of the corpus has a word. Give articles text")
        self._counts = rows_of([Counter(each) for each in self._documents], len(numbers))
        # idf depends on the class alone; k1 and b are read when articles are scored.
        self._statistics: dict[Any, BM25Okapi | BM25Plus] = {}
        read = _reader(terms, articles[0].language)
        asked = [
            Counter(numbers[word] for word in read(question.text) if word in numbers)
            for question in questions
        ]
        self.asked = rows_of(asked, len(numbers))

    def weights(self, variant: Variant) -> csr_array:
        """What a word in a question adds to an article's score, float64 `[n_words, n_articles]`.

        A question's row of `asked` times this are rank-bm25's `get_scores`; of BM25Plus without
        what it adds to all articles alike.
        """
        if variant.kind not in self._statistics:
            self._statistics[variant.kind] = variant.kind(self._documents)
        statistics = self._statistics[variant.kind]
        statistics.k1, statistics.b = variant.k1, variant.b
        return word_weights(statistics, self._counts)

    def rankings(
        self, variant: Variant, depth: int, rows: Sequence[int] | None = None
    ) -> list[Ranking]:
        """For every question the positions of the best articles.

        An article that shares no word with the question scores 0 and is not found.

        Args:
            variant: The formula.
            depth: At most this many.
            rows: Of the questions; default: all.

        Returns:
            int64 `[at most depth]` for each question, best first; equal scores in the order of the
            law.
        """
        weights = self.weights(variant)
        asked = self.asked if rows is None else self.asked[list(rows)]
        rankings: list[Ranking] = []
        for start in range(0, asked.shape[0], _QUESTIONS_AT_A_TIME):
            scores = (asked[start : start + _QUESTIONS_AT_A_TIME] @ weights).tocsr()
            for first, end in zip(scores.indptr[:-1], scores.indptr[1:], strict=True):
                rankings.append(_best(scores.indices[first:end], scores.data[first:end], depth))
        return rankings


def _best(positions: NDArray[np.int32], scores: NDArray[np.float64], depth: int) -> Ranking:
    """The best positions, by score, then position."""
    if len(scores) > depth:
        # Keep all that tie with the last one until their positions decide.
        kept = scores >= np.partition(scores, -depth)[-depth]
        positions, scores = positions[kept], scores[kept]
    return positions[np.lexsort((positions, -scores))][:depth].astype(np.int64)


def _segmenter(language: str | None) -> str | None:
    """Name and version of what segments the words of a language; None if nothing does."""
    return segmenter() if language and language.partition("-")[0] == "vi" else None


def _reader(terms: Terms, language: str | None) -> Callable[[str], list[str]]:
    if terms == "analysed":
        return analyzer(language)
    if _segmenter(language):
        return lambda text: _lower_cased(words_joined(text))
    return _lower_cased


def _lower_cased(text: str) -> list[str]:
    # Compose a letter and its mark into one character: a separate mark would end the word.
    return _WORD.findall(unicodedata.normalize("NFC", text).lower())


# The settings of `python -m training.bm25_table`.


@dataclass(frozen=True, kw_only=True)
class Bm25TableSettings:
    """rank-bm25's BM25 with the parameters of a published table or of a grid, on any law.

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
            word segmentation, as the pipelines search). Vietnamese words are whole in both, where
            pyvi is installed. Paper: lower_cased.
        grid: Measure R@200 of BM25Okapi for each k1 and b of a grid, in place of the table
            (BSARD's heat map, by which its k1 2.5 and b .2 were chosen).
        output: JSON file that also gets the numbers; the heat map of a grid, PNG and SVG, stands
            next to it under the same name.

    Raises:
        SettingsError: A value is out of its range.
    """

    corpus: Place
    questions: Place
    split: str = "dev"
    dev_share: float = 0.1
    text_rule: TextRule = "headings_text"
    terms: Terms = "lower_cased"
    grid: bool = False
    output: Target | None = None

    def __post_init__(self) -> None:
        share(self, "dev_share")


METRICS: tuple[str, ...] = ("Exist@90", "MRR@10")
DEPTH = 90

GRID_METRIC = "R@200"
GRID_DEPTH = 200
GRID_K1 = tuple(step / 2 for step in range(1, 9))
GRID_B = tuple(step / 10 for step in range(11))

_DESCRIPTION = """\
Searches a law with rank-bm25 (BM25Okapi and BM25Plus at their defaults; BM25Plus with k1 in .8,
1.2, 2 and b in 0, .75, 1) and prints a table of Exist@90 and MRR@10, each with its 95% bootstrap
interval over questions; or with --grid R@200 of BM25Okapi for k1 from .5 to 4 and b from 0 to 1."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    settings = settings_from("bm25_table", _DESCRIPTION, Bm25TableSettings, arguments)
    return run(lambda: _measure(settings))


def _measure(settings: Bm25TableSettings) -> None:
    """Print the table; with an output, also write the numbers there.

    Raises:
        CorpusError: A file cannot be read.
        SettingsError: No question is of the split, or no article has a word.
        OSError: The output cannot be written.
    """
    # Imported here, so that --help answers at once.
    from components.models.folder import whole_file
    from components.statutes.corpus import StatuteCorpus
    from components.statutes.significance import bootstrap_interval
    from training import plots
    from training.data import evaluated

    corpus = StatuteCorpus.read(settings.corpus)
    questions = _asked(settings, corpus.ids)
    try:
        law = CountedLaw(
            corpus.articles, questions, terms=settings.terms, text_rule=settings.text_rule
        )
    except ValueError as error:
        raise SettingsError(f"corpus: {error}.") from error
    variants, metrics, depth = VARIANTS, METRICS, DEPTH
    if settings.grid:
        variants = tuple(Variant(BM25Okapi, k1, b) for k1 in GRID_K1 for b in GRID_B)
        metrics, depth = (GRID_METRIC,), GRID_DEPTH
    rows: list[dict[str, Any]] = []
    for variant in variants:
        found = ([corpus.ids[place] for place in row] for row in law.rankings(variant, depth))
        rows.append({"name": variant.kind.__name__, "k1": variant.k1, "b": variant.b})
        for metric, values in evaluated(questions, found, metrics, depth).items():
            rows[-1][metric] = {"mean": fmean(values.values())}
            if not settings.grid:
                rows[-1][metric]["interval"] = bootstrap_interval(list(values.values()))
    segmented = _segmenter(corpus.articles[0].language)
    title = (
        f"{len(questions):,} questions of the split '{settings.split}', {len(corpus):,} articles, "
        f"{settings.terms.replace('_', '-')} words" + (f" ({segmented})" if segmented else "")
    )
    shown = _heat_table(rows) if settings.grid else _rows_table(rows)
    print(f"{title}.\n\n{shown}", flush=True)  # noqa: T201
    if settings.output is None:
        return
    output = Path(settings.output)
    output.parent.mkdir(parents=True, exist_ok=True)
    names = ("corpus", "questions", "split", "terms", "text_rule")
    kept = {
        **{name: getattr(settings, name) for name in names},
        "segmenter": segmented,
        "n_articles": len(corpus),
        "n_questions": len(questions),
        "rows": rows,
    }
    with whole_file(output) as partial:
        partial.write_text(json.dumps(kept, indent=2, ensure_ascii=False), encoding="utf-8")
    if settings.grid:
        means = np.array([row[GRID_METRIC]["mean"] for row in rows]).reshape(len(GRID_K1), -1)
        stem = output.with_suffix("")
        plots.plot_heat(stem, means.tolist(), GRID_K1, GRID_B, metric=GRID_METRIC, title=title)


def _rows_table(rows: Sequence[dict[str, Any]]) -> str:
    """Each variant with the means and 95% intervals (bootstrap over questions) of the metrics."""
    lines = [
        [row["name"], f"{row['k1']:g}", f"{row['b']:g}"]
        + ["{:.3f} [{:.3f}, {:.3f}]".format(row[m]["mean"], *row[m]["interval"]) for m in METRICS]
        for row in rows
    ]
    return markdown([["BM25", "k1", "b", *METRICS], *lines])


def _heat_table(rows: Sequence[dict[str, Any]]) -> str:
    """A grid of R@200 of BM25Okapi, k1 down and b across; the first of the best stands out."""
    means = {(row["k1"], row["b"]): row[GRID_METRIC]["mean"] for row in rows}
    best = max(means, key=means.__getitem__)
    cells = {at: f"**{mean:.3f}**" if at == best else f"{mean:.3f}" for at, mean in means.items()}
    lines = [[f"{k1:g}", *(cells[k1, b] for b in GRID_B)] for k1 in GRID_K1]
    return markdown([["k1 \\ b", *(f"{b:g}" for b in GRID_B)], *lines])


def _asked(settings: Bm25TableSettings, known: Sequence[str]) -> list[Question]:
    """The questions to measure, without those that no article answers."""
    from components.statutes.corpus import read_questions
    from training.data import held_out

    answered = [q for q in read_questions(settings.questions, corpus_ids=known) if q.relevant]
    asked = [question for question in answered if question.split == settings.split]
    if not asked and settings.split == "dev":
        training = [question for question in answered if question.split == "train"]
        asked = held_out(training, settings.dev_share)[1]
        if asked:
            say(f"No question is of the split dev: {len(asked)} of train are measured")
    if not asked:
        splits = ", ".join(sorted({question.split or "(none)" for question in answered}))
        raise SettingsError(
            f"split: {settings.questions} has no answerable question of the split "
            f"'{settings.split}'. It has the splits {splits}."
        )
    return asked


if __name__ == "__main__":
    sys.exit(main())
