"""How much the lists of a hybrid retriever weigh over a store's law, measured at indexing.

Vectors: a model that does not know a law's language finds random articles, and fused at full weight
these push out what the words have found. No labels are needed to detect it: a division's heading
serves as a question, and its articles are the answers. Words find most of them, since the heading
is in the articles' indexed text; a model that knows the language finds nearly as many.

Answered questions: earlier answers are the best guide to the next one, since whoever asks the same
in other words needs the same articles. No training is needed, and a new answer counts at once.
Whether the list helps differs from law to law, so its weight is chosen on questions that are not in
it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from components.converters.articles import headings_of, law_of
from components.models.folder import FUSION_PART, find_model, manifest_of
from components.retrievers.answered import AnsweredQuestions
from components.retrievers.bm25 import StatuteBM25Retriever
from components.retrievers.embedding import DenseVectors, record_weight
from components.retrievers.hybrid import StatuteHybridRetriever
from components.retrievers.validity import ANY
from components.statutes.article import normalised
from components.statutes.corpus import read_questions
from components.statutes.question import MAX_QUESTION_CHARS, Question, clean_question
from components.stores.sqlite import StatuteDocumentStore
from pipelines.checking import LoadingError

if TYPE_CHECKING:
    from components.models.biencoder import BiEncoder

_DEPTH = 10

_DIVISIONS = 300
_FEWEST_DIVISIONS = 20
# Per division: a heading such as "General provisions of the code" is not a question.
_MOST_ARTICLES = 50
# Dense R@10 divided by BM25's, at which the weight is 0 and 1. With MiniLM the Belgian Civil Code's
# Book I has .65 (best weight on its questions: .1 to .3), ObliQA .69 (.5), the PDPA .80 (1); with
# the multilingual model Book I has .86 and the PDPA .92 (1 for both).
_NOTHING, _EVERYTHING = 0.55, 0.8


def measure_weight(store: StatuteDocumentStore, model: BiEncoder) -> float:
    """Measure and record the weight of the dense list in this store, where words have 1.

    It asks for at most 300 of the lowest divisions, with up to 50 articles each. The weight grows
    with the ratio of the mean R@10 of vectors and words.

    Args:
        store: with vectors of the model.
        model: embeds questions.

    Returns:
        The weight, 0 to 1; 1 if there are fewer than 20 such divisions.
    """
    divisions: dict[tuple[str, tuple[str, ...]], set[int]] = {}
    for key, _, meta in store.metas():
        if headings := headings_of(meta):
            divisions.setdefault((law_of(meta), headings), set()).add(key)
    small = [
        (path[-1], keys)
        for (_, path), keys in divisions.items()
        if len(keys) <= _MOST_ARTICLES and _can_be_asked(path[-1])
    ]
    weight = _measured(store, model, small) if len(small) >= _FEWEST_DIVISIONS else 1.0
    record_weight(store, weight)
    return weight


def _can_be_asked(heading: str) -> bool:
    return len(heading) <= MAX_QUESTION_CHARS and any(map(str.isalpha, heading))


def _measured(
    store: StatuteDocumentStore, model: BiEncoder, divisions: list[tuple[str, set[int]]]
) -> float:
    asked = random.Random(0).sample(divisions, min(_DIVISIONS, len(divisions)))  # noqa: S311
    embeddings = model.encode_queries([heading for heading, _ in asked]).float().numpy()
    by_words = StatuteBM25Retriever(store).current_index()
    vectors = DenseVectors.read(store, None)
    words, meaning = [], []
    for (heading, keys), embedding in zip(asked, embeddings, strict=True):
        words.append(_recall(by_words.search(clean_question(heading), _DEPTH)[0], keys))
        meaning.append(_recall(vectors.search(embedding, _DEPTH)[0], keys))
    ratio = float(np.mean(meaning)) / max(float(np.mean(words)), 1e-9)
    return round(min(max((ratio - _NOTHING) / (_EVERYTHING - _NOTHING), 0.0), 1.0), 2)


def _recall(found: NDArray[np.int64], relevant: set[int]) -> float:
    """R@10, with at most 10 relevant articles to find."""
    return len(relevant.intersection(found.tolist())) / min(len(relevant), _DEPTH)


_WEIGHTS = (0.5, 1.0, 2.0, 4.0, 8.0)
_METRIC = "MAP@10"
_MOST_ASKED = 150
_PARTS = 5
_FEWEST_QUESTIONS = 20


def read_answered(
    source: str | Path, texts: Mapping[str, str]
) -> tuple[list[Question], list[Question]]:
    """The questions to keep and those that choose their weight.

    Questions of the split "train", or of no split, are kept, also those that no article answers;
    those of the split "dev" choose. If there are none of these, the kept ones choose.

    Args:
        source: file of questions, or "aldermere".
        texts: of all articles of the store, by id.

    Raises:
        CorpusError: the questions cannot be read, or name an article that does not exist.
        LoadingError: there are fewer than 20 to keep, or to choose the weight.
    """
    questions = read_questions(source, corpus_ids=texts, text_of=texts.__getitem__)
    kept = [each for each in questions if each.split in ("train", None)]
    answered = [each for each in kept if each.answerable]
    choosing = [
        each for each in questions if each.split == "dev" and each.answerable and not each.synthetic
    ]
    if not choosing:
        choosing = answered
    if min(len(answered), len(choosing)) < _FEWEST_QUESTIONS:
        raise LoadingError(
            f"--answered {source}: {len(answered)} questions of the split 'train' (or of none) "
            f"have an answer, and {len(choosing)} choose their weight. At least "
            f"{_FEWEST_QUESTIONS} of each are needed: give more, or leave --answered out."
        )
    return kept, choosing


def has_learned_fusion(store: StatuteDocumentStore) -> bool:
    """Whether the folder of the store's model holds a learned fusion."""
    manifest = manifest_of(find_model(store.model.path)) if store.model else None
    return manifest is not None and FUSION_PART in manifest.parts


def keep_answered(
    store: StatuteDocumentStore,
    model: BiEncoder,
    answered: Sequence[Question],
    choosing: Sequence[Question],
    say: Callable[[str], object],
) -> str:
    """Embed answered questions, choose the weight of their list, and keep both with the store.

    The weight is the one of .5, 1, 2, 4 and 8 with the best MAP@10, if leaving the list out is
    worse by more than one standard error of the difference; else 0. Without the list the model's
    learned fusion counts, where it has one. The questions choose in five parts, and while a part
    does, its questions are not in the list.

    Args:
        store: with vectors of the model.
        model: embeds the questions.
        answered: to keep; those without an answer say only when a question has none.
        choosing: questions that choose the weight; at most 150 of them are asked.
        say: takes lines for the user.

    Returns:
        A line for the user: how many are kept, their weight, and what it was chosen by.
    """
    from components.statutes.metrics import evaluate

    say(f"Encoding {len(answered):,} questions and choosing the weight of the answered ones")
    texts = [each.text for each in answered]
    vectors = model.answered_vectors(texts).numpy()
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    relevant = [each.relevant for each in answered]
    everything = AnsweredQuestions(texts, relevant, vectors, 1.0)
    asked = list(choosing)
    if len(asked) > _MOST_ASKED:
        asked = random.Random(0).sample(asked, _MOST_ASKED)  # noqa: S311
    assert store.model is not None
    retriever, without = (
        StatuteHybridRetriever(store, store.model.path, top_k=_DEPTH, as_of=ANY) for _ in range(2)
    )
    without.search_answered(None)
    runs: dict[float, dict[str, list[str]]] = {weight: {} for weight in (0.0, *_WEIGHTS)}
    for part in (asked[first::_PARTS] for first in range(_PARTS)):
        retriever.search_answered(everything.without({normalised(each.text) for each in part}))
        for each in part:
            # The answered questions take a learned fusion's place, so they must do better than it.
            ranked = [
                *without.by_weight(each.text, [0.0]),
                *retriever.by_weight(each.text, _WEIGHTS),
            ]
            for run, ids in zip(runs.values(), ranked, strict=True):
                run[each.id] = ids
    qrels = {each.id: each.relevant for each in asked}
    scores = {
        weight: np.array(list(evaluate(run, qrels, [_METRIC], depth=_DEPTH)[_METRIC].values()))
        for weight, run in runs.items()
    }
    best = max(_WEIGHTS, key=lambda weight: scores[weight].mean())
    gain = scores[best] - scores[0.0]
    if gain.mean() <= gain.std(ddof=1) / len(gain) ** 0.5:
        best = 0.0
    everything.weight = best
    everything.keep(store)
    with_answer = sum(question.answerable for question in answered)
    if not best:
        return (
            f"{with_answer:,} answered questions are kept but not used: they did not help on "
            f"{len(asked)} other questions"
        )
    replaced = " and no learned fusion" if has_learned_fusion(store) else ""
    return (
        f"{with_answer:,} answered questions are searched too, with the weight {best:g}{replaced}: "
        f"MAP@10 on {len(asked)} other questions is {scores[0.0].mean():.3f} without them and "
        f"{scores[best].mean():.3f} with them"
    )
