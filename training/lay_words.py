"""python -m training.lay_words: propose a list of lay words from answered questions.

    python -m training.lay_words --corpus PATH --questions PATH --output proposed.tsv

Read the list, strike what is wrong, and give the rest to python -m pipelines.index --lay-words.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from components.models.folder import whole_file
from components.statutes.corpus import StatuteCorpus, read_questions
from components.statutes.languages import known_language
from components.statutes.lexical import analyzer
from training.command_line import (
    Place,
    Target,
    TrainingError,
    new_file,
    run,
    say,
    settings_from,
)

_DESCRIPTION = """\
Proposes lay words (docs/data.md) from questions whose articles are known: words that predict
articles in which they do not stand, with the words that are typical of these articles. The first
column has the number of such questions. Only questions of the split train, or of none, are read.
Each line is a guess: a person confirms it."""

_FEWEST_QUESTIONS = 5
_FEWEST_LETTERS = 3
_MOST_TARGETS = 4
# Of z: very many words and articles are paired, but only the best few words of an article count.
_PREDICTS, _TYPICAL = 3.0, 2.0
# Of a word's answers, those that it predicts: less is a word of every question ("says", "never").
_LEAST_SHARE = 0.25
_PRIOR = 10.0  # pseudo-counts

_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, kw_only=True)
class LayWordsSettings:
    """Where to find the words, and where to write them.

    Args:
        corpus: The law: a native file or folder, "aldermere", or a name that
            StatuteCorpus.read knows.
        questions: Questions with their articles, in the same forms.
        output: File to write, in the form that pipelines.index --lay-words reads.
    """

    corpus: Place
    questions: Place
    output: Target


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    settings = settings_from("lay_words", _DESCRIPTION, LayWordsSettings, arguments)
    return run(lambda: propose(settings))


def propose(settings: LayWordsSettings) -> None:
    """Write the list and report.

    Raises:
        CorpusError: The law or the questions cannot be read.
        SettingsError: The output exists already.
        TrainingError: No word predicts an article without standing in it.
    """
    output = new_file(settings.output)
    law = StatuteCorpus.read(settings.corpus)
    language = Counter(known_language(each.language) for each in law).most_common(1)[0][0]
    texts = {each.id: _words(each.text, language) for each in law}
    asked = [
        (_words(each.text, language), each.relevant)
        for each in read_questions(settings.questions, corpus_ids=texts)
        if each.relevant and each.split in ("train", None)
    ]
    entries = list(_entries(texts, asked))
    if not entries:
        raise TrainingError(
            f"no word predicts an article without standing in it, in {len(asked):,} questions"
        )
    with whole_file(output) as partial:
        lines = (f"{n}\t{said}\t{'|'.join(targets)}\n" for n, said, targets in entries)
        partial.write_text("".join(lines), encoding="utf-8")
    say(f"{len(entries):,} entries are proposed, from {len(asked):,} questions: {output}")


Words = dict[str, Counter[str]]
"""How often each form of a term occurs in a text."""


def _words(text: str, language: str | None) -> Words:
    found: Words = defaultdict(Counter)
    for word in _WORD.findall(text.lower()):
        for term in analyzer(language)(word)[:1] if len(word) >= _FEWEST_LETTERS else ():
            found[term][word] += 1
    return found


def _entries(
    texts: dict[str, Words], asked: Sequence[tuple[Words, Sequence[str]]]
) -> Iterable[tuple[int, str, list[str]]]:
    """Questions, what people say and what the law says, most questions first."""
    forms_of_law, forms_asked = _all_forms(texts.values()), _all_forms(each for each, _ in asked)
    of_article = Counter(id_ for _, ids in asked for id_ in ids)
    with_term: dict[str, Counter[str]] = defaultdict(Counter)
    n_with = Counter(term for words, _ in asked for term in words)
    for words, ids in asked:
        for term in words:
            with_term[term].update(ids)
    predicted: dict[str, Counter[str]] = {}
    for term, answers in with_term.items():
        kept = {
            id_: n
            for id_, n in answers.items()
            if n >= _FEWEST_QUESTIONS
            and term not in texts[id_]
            and _z(n, n_with[term], of_article[id_], len(asked)) > _PREDICTS
        }
        if sum(kept.values()) >= max(1, _LEAST_SHARE * answers.total()):
            predicted[term] = Counter(kept)
    lengths = {id_: sum(map(Counter.total, words.values())) for id_, words in texts.items()}
    in_law = {term: forms.total() for term, forms in forms_of_law.items()}
    targets_so_far: set[str] = set()
    # What one line adds is not what another replaces: a list has no cycles.
    for term, articles in sorted(predicted.items(), key=lambda each: -each[1].total()):
        here: Counter[str] = Counter()
        for id_ in articles:
            here.update({each: forms.total() for each, forms in texts[id_].items()})
        length = sum(lengths[id_] for id_ in articles)
        z = {each: _z(n, length, in_law[each], sum(lengths.values())) for each, n in here.items()}
        best = sorted((each for each in z if z[each] > _TYPICAL), key=lambda each: -z[each])
        best = [each for each in best if each not in predicted][:_MOST_TARGETS]
        if best and term not in targets_so_far:
            targets_so_far.update(best)
            law = [forms_of_law[each].most_common(1)[0][0] for each in best]
            yield articles.total(), forms_asked[term].most_common(1)[0][0], law


def _all_forms(texts: Iterable[Words]) -> Words:
    found: Words = defaultdict(Counter)
    for words in texts:
        for term, forms in words.items():
            found[term].update(forms)
    return found


def _z(k: int, n: int, k_of_all: int, n_of_all: int) -> float:
    """The z of the log odds of k in n against the rest, with a prior of the odds in all.

    `z = (l(k, n) - l(k', n')) / sqrt(1 / (k + a) + 1 / (k' + a))`, where k' and n' are the rest,
    `l(k, n) = log((k + a) / (n - k + a0 - a))` and `a = a0 * K / N` (Monroe, Colaresi and Quinn,
    2008).
    """
    a = _PRIOR * k_of_all / n_of_all

    def log_odds(k: int, n: int) -> float:
        return math.log((k + a) / (n - k + _PRIOR - a))

    rest, n_rest = k_of_all - k, n_of_all - n
    error = math.sqrt(1 / (k + a) + 1 / (rest + a))
    return (log_odds(k, n) - log_odds(rest, n_rest)) / error


if __name__ == "__main__":
    sys.exit(main())
